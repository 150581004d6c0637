//! What operators send, and the checks on it.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, TenantId, WorkerId};

use super::super::page;
use super::super::request::{RequestError, field};
use super::call::{Bulk, BulkAct};
use super::filter::{JobFilter, StateFilter};

/// Jobs that one call changes at most: each is a row or two, and all of them are one transaction.
pub const MAX_BULK: usize = 200;

/// Within which time waiting jobs shall start, unless said otherwise.
pub const DEFAULT_TARGET: DurationMs = DurationMs::from_secs(60);

/// How long a bench lasts unless said otherwise, and at most. What shall last longer is a drain.
const DEFAULT_BENCH_SECONDS: u64 = 3600;
const MAX_BENCH_SECONDS: u64 = 7 * 24 * 3600;

/// Characters of a reason.
const MAX_REASON_LENGTH: usize = 500;

/// Reads a JSON body; all of these may be left out.
///
/// # Errors
/// [`RequestError::Json`].
pub fn parse_optional<T: serde::de::DeserializeOwned + Default>(body: &[u8]) -> Result<T, RequestError> {
    if body.is_empty() { Ok(T::default()) } else { super::super::request::parse_json(body) }
}

/// The reason as it is kept.
///
/// # Errors
/// [`RequestError::Field`] when it is too long.
pub fn checked_reason(reason: &str) -> Result<String, RequestError> {
    let reason: String = reason.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    if reason.chars().count() > MAX_REASON_LENGTH {
        return Err(field("reason", format!("is longer than {MAX_REASON_LENGTH} characters")));
    }
    Ok(reason)
}

/// Body of `POST /v1/admin/queue/pause` and `resume`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "PauseQueue"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct PauseBody {
    /// Of whom; of everybody when absent.
    pub tenant: Option<TenantId>,
    /// Why.
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_REASON_LENGTH)))]
    pub reason: String,
}

/// Body of an act on one job or worker.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Act"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReasonBody {
    /// Why.
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_REASON_LENGTH)))]
    pub reason: String,
}

/// Body of `POST /v1/admin/workers/{workerId}/bench`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "BenchWorker"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BenchBody {
    /// For how long.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_BENCH_SECONDS)))]
    pub seconds: Option<u64>,
    /// Why.
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_REASON_LENGTH)))]
    pub reason: String,
}

impl BenchBody {
    /// For how long.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn time(&self) -> Result<DurationMs, RequestError> {
        let seconds = self.seconds.unwrap_or(DEFAULT_BENCH_SECONDS);
        if !(1..=MAX_BENCH_SECONDS).contains(&seconds) {
            let reason = format!("is not between 1 and {MAX_BENCH_SECONDS}; for longer, drain the worker");
            return Err(field("seconds", reason));
        }
        Ok(DurationMs::from_secs(seconds))
    }
}

/// Body of `POST /v1/admin/bulk/cancel` and `retry`. A mistyped field must not widen the circle, so unknown ones are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ActOnJobs"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BulkBody {
    /// Whose jobs.
    pub tenant: Option<TenantId>,
    /// In which state.
    pub state: Option<StateFilter>,
    /// With which worker.
    pub worker: Option<WorkerId>,
    /// Every job is meant, no filter was forgotten.
    pub all: bool,
    /// How many at most in this call.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_BULK)))]
    pub limit: Option<usize>,
    /// Only say which.
    pub dry_run: bool,
    /// Why.
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_REASON_LENGTH)))]
    pub reason: String,
}

impl BulkBody {
    /// What is to be done.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn checked(&self, verb: BulkAct) -> Result<Bulk, RequestError> {
        let filter =
            JobFilter { tenant: self.tenant.clone(), state: self.state, worker: self.worker.clone() };
        if filter.is_empty() && !self.all {
            return Err(field("all", "give tenant, state or worker, or \"all\": true if every job is meant"));
        }
        let fits = |state: StateFilter| match verb {
            BulkAct::Cancel => state.is_live(),
            BulkAct::Retry => matches!(state, StateFilter::Failed | StateFilter::Quarantined),
        };
        if self.state.is_some_and(|state| !fits(state)) {
            let reason = match verb {
                BulkAct::Cancel => "is not one that can be cancelled: queued, offered, running or live",
                BulkAct::Retry => "is not one that can be retried: failed or quarantined",
            };
            return Err(field("state", reason));
        }
        let limit = self.limit.unwrap_or(MAX_BULK);
        if !(1..=MAX_BULK).contains(&limit) {
            return Err(field("limit", format!("is not between 1 and {MAX_BULK}")));
        }
        Ok(Bulk { verb, filter, limit })
    }
}

/// A page of a list, newest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    /// How many at most.
    pub limit: u32,
    /// Only those before this place.
    pub before: Option<u64>,
}

/// Query of `GET /v1/admin/jobs`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PageOfJobs {
    /// Which.
    pub filter: JobFilter,
    /// Of these, which.
    pub page: Page,
}

impl Page {
    /// Reads the query.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn parse<'a>(
        pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
    ) -> Result<Self, RequestError> {
        PageOfJobs::read(pairs, false).map(|read| read.page)
    }
}

impl PageOfJobs {
    /// Reads the query.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn parse<'a>(
        pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
    ) -> Result<Self, RequestError> {
        Self::read(pairs, true)
    }

    fn read<'a>(
        pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
        with_filter: bool,
    ) -> Result<Self, RequestError> {
        let mut query =
            Self { filter: JobFilter::default(), page: Page { limit: page::DEFAULT_PAGE, before: None } };
        for (name, value) in pairs {
            let value = value.as_ref();
            match name.as_ref() {
                "limit" => query.page.limit = page::limit(value)?,
                "cursor" => query.page.before = Some(page::cursor(value)?),
                "tenant" if with_filter => {
                    query.filter.tenant =
                        Some(TenantId::new(value).map_err(|error| field("tenant", error.to_string()))?);
                }
                "worker" if with_filter => {
                    query.filter.worker =
                        Some(WorkerId::new(value).map_err(|error| field("worker", error.to_string()))?);
                }
                "state" if with_filter => {
                    let names = || StateFilter::ALL.map(StateFilter::name).join(", ");
                    query.filter.state = Some(
                        StateFilter::parse(value)
                            .ok_or_else(|| field("state", format!("is none of {}", names())))?,
                    );
                }
                _ => {}
            }
        }
        Ok(query)
    }
}

/// Query of `GET /v1/admin/queue`: the target of the autoscale hint.
///
/// # Errors
/// [`RequestError::Field`].
pub fn target<'a>(
    pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
) -> Result<DurationMs, RequestError> {
    for (name, value) in pairs {
        if name.as_ref() == "targetSeconds" {
            return value
                .as_ref()
                .parse()
                .ok()
                .filter(|seconds| (1..=86_400).contains(seconds))
                .map(DurationMs::from_secs)
                .ok_or_else(|| field("targetSeconds", "is not between 1 and 86400"));
        }
    }
    Ok(DEFAULT_TARGET)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::request::parse_json;

    #[test]
    fn a_bulk_act_says_whom_it_means() {
        let body = |json: &str| parse_json::<BulkBody>(json.as_bytes());
        let error = BulkBody::default().checked(BulkAct::Cancel).unwrap_err();
        assert!(error.to_string().contains("\"all\": true"), "{error}");
        assert!(body(r#"{"all":true}"#).unwrap().checked(BulkAct::Cancel).is_ok());
        assert!(body(r#"{"tennant":"acme"}"#).is_err(), "a mistyped filter does not mean everybody");
        let bulk = body(r#"{"tenant":"acme","state":"queued","limit":7}"#).unwrap();
        let bulk = bulk.checked(BulkAct::Cancel).unwrap();
        assert_eq!((bulk.filter.words().as_str(), bulk.limit), ("tenant=acme state=queued", 7));
        for (json, verb) in [
            (r#"{"state":"completed"}"#, BulkAct::Cancel),
            (r#"{"state":"running"}"#, BulkAct::Retry),
            (r#"{"all":true,"limit":201}"#, BulkAct::Retry),
            (r#"{"all":true,"limit":0}"#, BulkAct::Retry),
        ] {
            assert!(body(json).unwrap().checked(verb).is_err(), "{json}");
        }
    }

    #[test]
    fn a_reason_stays_within_a_line_and_within_bounds() {
        assert_eq!(checked_reason(" new\ndisk ").unwrap(), "new disk");
        assert!(checked_reason(&"x".repeat(501)).is_err());
    }

    #[test]
    fn queries_are_read_and_nonsense_is_named() {
        let pairs = |query: &'static str| url::form_urlencoded::parse(query.as_bytes());
        let query = PageOfJobs::parse(pairs("tenant=acme&state=quarantined&worker=mini-1&limit=3&cursor=9"));
        let query = query.unwrap();
        assert_eq!(query.filter.words(), "tenant=acme state=quarantined worker=mini-1");
        assert_eq!(query.page, Page { limit: 3, before: Some(9) });
        for bad in ["state=broken", "tenant=../x", "limit=0", "cursor=x"] {
            assert!(PageOfJobs::parse(pairs(bad)).is_err(), "{bad}");
        }
        assert_eq!(target(pairs("targetSeconds=30")), Ok(DurationMs::from_secs(30)));
        assert_eq!(target(pairs("")), Ok(DEFAULT_TARGET));
        assert!(target(pairs("targetSeconds=0")).is_err());
    }

    #[test]
    fn a_bench_ends_within_a_week() {
        let bench = |seconds| BenchBody { seconds, reason: String::new() }.time();
        assert_eq!(bench(None), Ok(DurationMs::from_secs(3600)));
        assert!(bench(Some(0)).is_err() && bench(Some(MAX_BENCH_SECONDS + 1)).is_err());
    }
}
