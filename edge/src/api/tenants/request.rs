//! What operators and clients send about tenants, and the checks on it.

use serde::{Deserialize, Deserializer, Serialize};
use shared_protocol::{DurationMs, TenantId, TimestampMs};

use super::super::page;
use super::super::request::{RequestError, field};
use crate::tenant::key::{KeyRow, Role, SecretRow};
use crate::tenant::key_text::{KeyHash, KeyId};
use crate::tenant::{Month, TenantSettings};

/// Characters of a key's label.
const MAX_LABEL_LENGTH: usize = 100;

/// How long a key's older secret stays valid unless said otherwise, and at most: a day to roll it out, a month for whoever is slow.
const DEFAULT_GRACE_SECONDS: u64 = 24 * 3600;
const MAX_GRACE_SECONDS: u64 = 30 * 24 * 3600;

/// Beginnings of media types that a tenant may be bound to, and characters of one.
const MAX_MEDIA_TYPES: usize = 32;
const MAX_MEDIA_TYPE_LENGTH: usize = 64;

/// Requests of one key within a minute at most: what one object behind the API can take.
const MAX_REQUESTS_PER_MINUTE: u32 = 60_000;

/// Body of `POST /v1/admin/tenants/{tenant}/keys`. All of it may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreateKey"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct CreateKeyBody {
    /// What it is for.
    pub label: String,
    /// What it may.
    pub role: Role,
    /// Until when it is valid; for ever when absent.
    pub expires_at_ms: Option<TimestampMs>,
    /// Why, for the audit log.
    pub reason: String,
}

impl CreateKeyBody {
    /// The key as it is to be.
    ///
    /// # Errors
    /// [`RequestError::Field`] that names what is wrong.
    pub fn key(&self, key_id: KeyId, sha256: KeyHash, now: TimestampMs) -> Result<KeyRow, RequestError> {
        let label: String = self.label.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        if label.chars().count() > MAX_LABEL_LENGTH {
            return Err(field("label", format!("is longer than {MAX_LABEL_LENGTH} characters")));
        }
        if self.expires_at_ms.is_some_and(|end| end <= now) {
            return Err(field("expiresAtMs", "is not in the future, in milliseconds since 1970"));
        }
        Ok(KeyRow {
            key_id,
            label,
            role: self.role,
            created_at: now,
            expires_at: self.expires_at_ms,
            revoked_at: None,
            secrets: vec![SecretRow { sha256, until: None }],
        })
    }
}

/// Body of `POST /v1/admin/tenants/{tenant}/keys/{keyId}/rotate`. All of it may be left out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "RotateKey"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct RotateKeyBody {
    /// How long the older secret stays valid.
    pub grace_seconds: Option<u64>,
    /// Why, for the audit log.
    pub reason: String,
}

impl RotateKeyBody {
    /// How long the older secret stays valid.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn grace(&self) -> Result<DurationMs, RequestError> {
        let seconds = self.grace_seconds.unwrap_or(DEFAULT_GRACE_SECONDS);
        if seconds > MAX_GRACE_SECONDS {
            return Err(field("graceSeconds", format!("is more than {MAX_GRACE_SECONDS}")));
        }
        Ok(DurationMs::from_secs(seconds))
    }
}

/// Body of `POST /v1/admin/tenants/{tenant}`: a change of a tenant's limits. What is absent stays; `null` takes a limit back to
/// what is usual. A mistyped limit must not pass for none, so unknown fields are refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "UpdateTenant"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct SettingsChange {
    /// Bytes of one upload.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_upload_bytes: Option<Option<u64>>,
    /// Beginnings of media types.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub media_types: Option<Option<Vec<String>>>,
    /// Seconds of audio in a calendar month.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub monthly_audio_seconds: Option<Option<u64>>,
    /// Requests of one key within a minute.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub requests_per_minute: Option<Option<u32>>,
    /// Jobs that wait or run at a time.
    #[serde(deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub max_live_jobs: Option<Option<u32>>,
    /// Why, for the audit log.
    #[serde(skip_serializing)]
    pub reason: String,
}

impl SettingsChange {
    /// Checks the values.
    ///
    /// # Errors
    /// [`RequestError::Field`] that names what is wrong.
    pub fn checked(self) -> Result<Self, RequestError> {
        if self.max_upload_bytes == Some(Some(0)) {
            return Err(field("maxUploadBytes", "is 0; an empty file cannot be restored"));
        }
        if let Some(Some(rate)) = self.requests_per_minute
            && !(1..=MAX_REQUESTS_PER_MINUTE).contains(&rate)
        {
            return Err(field(
                "requestsPerMinute",
                format!("is not between 1 and {MAX_REQUESTS_PER_MINUTE}"),
            ));
        }
        if let Some(Some(types)) = &self.media_types {
            let fits = |kind: &String| {
                (1..=MAX_MEDIA_TYPE_LENGTH).contains(&kind.len())
                    && kind.bytes().all(|c| c.is_ascii_graphic())
            };
            if !(1..=MAX_MEDIA_TYPES).contains(&types.len()) || !types.iter().all(fits) {
                let reason = format!(
                    "is not 1 to {MAX_MEDIA_TYPES} beginnings such as audio/; null allows everything"
                );
                return Err(field("mediaTypes", reason));
            }
        }
        Ok(self)
    }

    /// The limits after the change.
    pub fn applied_to(self, settings: TenantSettings) -> TenantSettings {
        let usual = TenantSettings::default();
        let or_usual =
            |change: Option<Option<u64>>, is: u64, usual: u64| change.map_or(is, |to| to.unwrap_or(usual));
        TenantSettings {
            max_upload_bytes: or_usual(
                self.max_upload_bytes,
                settings.max_upload_bytes,
                usual.max_upload_bytes,
            ),
            media_types: self.media_types.unwrap_or(settings.media_types),
            monthly_audio_seconds: self.monthly_audio_seconds.unwrap_or(settings.monthly_audio_seconds),
            requests_per_minute: self
                .requests_per_minute
                .map_or(settings.requests_per_minute, |to| to.unwrap_or(usual.requests_per_minute)),
            max_live_jobs: self.max_live_jobs.unwrap_or(settings.max_live_jobs),
        }
    }
}

/// Query of `GET /v1/usage` and of the operator's: a page of a month's ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageQuery {
    /// The month, `YYYY-MM`.
    pub month: String,
    /// How many rows at most.
    pub limit: u32,
    /// Only rows before this place.
    pub before: Option<u64>,
}

impl UsageQuery {
    /// Reads the query; the month is the present one unless said otherwise.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn parse<'a>(
        pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
        now: TimestampMs,
    ) -> Result<Self, RequestError> {
        let mut query = Self { month: Month::of(now).to_string(), limit: page::DEFAULT_PAGE, before: None };
        for (name, value) in pairs {
            let value = value.as_ref();
            match name.as_ref() {
                "month" => {
                    let month = Month::parse(value)
                        .ok_or_else(|| field("month", "is not a month such as 2026-11"))?;
                    query.month = month.to_string();
                }
                "limit" => query.limit = page::limit(value)?,
                "cursor" => query.before = Some(page::cursor(value)?),
                _ => {}
            }
        }
        Ok(query)
    }
}

/// Query of `GET /v1/admin/tenants`: a page of all tenants by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantsQuery {
    /// How many at most.
    pub limit: u32,
    /// Only those after this one.
    pub after: Option<TenantId>,
}

impl TenantsQuery {
    /// Reads the query.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn parse<'a>(
        pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
    ) -> Result<Self, RequestError> {
        let mut query = Self { limit: page::DEFAULT_PAGE, after: None };
        for (name, value) in pairs {
            let value = value.as_ref();
            match name.as_ref() {
                "limit" => query.limit = page::limit(value)?,
                "cursor" => {
                    let after = TenantId::new(value).map_err(|_| field("cursor", page::NOT_A_CURSOR))?;
                    query.after = Some(after);
                }
                _ => {}
            }
        }
        Ok(query)
    }
}

/// A field that is there, be it `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::request::parse_json;

    const NOW: TimestampMs = TimestampMs(1_798_761_599_999);

    fn change(json: &str) -> Result<SettingsChange, RequestError> {
        parse_json::<SettingsChange>(json.as_bytes())?.checked()
    }

    fn fault(result: Result<impl std::fmt::Debug, RequestError>) -> String {
        result.expect_err("it is refused").to_string()
    }

    #[test]
    fn what_a_change_leaves_out_stays_and_null_brings_back_what_is_usual() {
        let set = change(
            r#"{"maxUploadBytes":5,"mediaTypes":["audio/"],"monthlyAudioSeconds":60,"requestsPerMinute":7}"#,
        );
        let limited = set.unwrap().applied_to(TenantSettings::default());
        assert_eq!((limited.max_upload_bytes, limited.requests_per_minute), (5, 7));
        assert_eq!(change("{}").unwrap().applied_to(limited.clone()), limited);
        let all = r#"{"maxUploadBytes":null,"mediaTypes":null,"monthlyAudioSeconds":null,"requestsPerMinute":null,
            "maxLiveJobs":null}"#;
        assert_eq!(change(all).unwrap().applied_to(limited), TenantSettings::default());
    }

    #[test]
    fn a_change_survives_its_way_to_the_object_with_its_nulls() {
        let asked = change(r#"{"mediaTypes":null,"maxUploadBytes":5}"#).unwrap();
        let sent = serde_json::to_string(&asked).unwrap();
        assert_eq!(serde_json::from_str::<SettingsChange>(&sent).unwrap(), asked);
    }

    #[test]
    fn a_limit_that_cannot_be_meant_is_refused_by_name() {
        assert!(
            fault(change(r#"{"monthlyAudioSecond":60}"#)).contains("monthlyAudioSecond"),
            "a mistyped one"
        );
        assert!(fault(change(r#"{"maxUploadBytes":0}"#)).starts_with("maxUploadBytes"));
        assert!(fault(change(r#"{"requestsPerMinute":0}"#)).starts_with("requestsPerMinute"));
        for types in ["[]", r#"[""]"#, r#"["a b"]"#] {
            assert!(
                fault(change(&format!(r#"{{"mediaTypes":{types}}}"#))).starts_with("mediaTypes"),
                "{types}"
            );
        }
    }

    #[test]
    fn a_key_that_would_be_dead_at_once_is_not_made() {
        let body =
            |end: u64| CreateKeyBody { expires_at_ms: Some(TimestampMs(end)), ..CreateKeyBody::default() };
        let make = |body: CreateKeyBody| body.key(KeyId::new("key_1").unwrap(), KeyHash::of("x"), NOW);
        assert!(make(body(NOW.0 + 1)).is_ok());
        assert!(fault(make(body(NOW.0))).starts_with("expiresAtMs"));
        // Seconds instead of milliseconds.
        assert!(fault(make(body(1_900_000_000))).starts_with("expiresAtMs"));
    }

    #[test]
    fn a_grace_has_an_end() {
        let grace = |seconds| RotateKeyBody { grace_seconds: seconds, ..RotateKeyBody::default() }.grace();
        assert_eq!(grace(None), Ok(DurationMs::from_secs(86_400)));
        assert_eq!(grace(Some(0)), Ok(DurationMs(0)));
        assert!(fault(grace(Some(MAX_GRACE_SECONDS + 1))).starts_with("graceSeconds"));
    }

    #[test]
    fn usage_is_of_the_present_month_unless_another_is_named() {
        let parse = |pairs: &[(&str, &str)]| UsageQuery::parse(pairs.iter().copied(), NOW);
        assert_eq!(parse(&[]).unwrap().month, "2026-12");
        let query = parse(&[("month", "2026-11"), ("limit", "7"), ("cursor", "42")]).unwrap();
        assert_eq!(query, UsageQuery { month: "2026-11".into(), limit: 7, before: Some(42) });
        for bad in [("month", "2026-13"), ("limit", "0"), ("limit", "201"), ("cursor", "x")] {
            assert!(fault(parse(&[bad])).starts_with(bad.0), "{bad:?}");
        }
    }
}
