//! What clients send, and the checks on it.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use shared_protocol::{
    DurationMs, OutputKind, Priority, Sampler, TimestampMs, UploadId, limits::MAX_BODY_BYTES,
};

use super::page;
use super::ticket::{PLAYBACK_DEFAULT_LIFETIME, PLAYBACK_MAX_LIFETIME};
use crate::digest::sha256_from_hex;

/// Bytes of a JSON body. The largest sensible one, a job with all its metadata, has about 10 KB.
pub const MAX_JSON_BYTES: u64 = 64 * 1024;

/// Characters of a recording's name.
const MAX_NAME_LENGTH: usize = 200;

/// Entries of a job's metadata.
const MAX_METADATA_ENTRIES: usize = 16;

/// Characters of a key, and of a value, of a job's metadata. 16 entries stay far below a row's bound of 2 MB.
const MAX_METADATA_KEY_LENGTH: usize = 64;
const MAX_METADATA_VALUE_LENGTH: usize = 512;

/// How far ahead a start may lie. A forgotten unit (seconds, microseconds) is noticed by it, and a job keeps its place among the
/// live ones all that time.
pub const MAX_START_AHEAD: DurationMs = DurationMs::from_secs(30 * 24 * 3600);

/// A start before that, 1 January 2020, is one in another unit.
const MIN_START: TimestampMs = TimestampMs(1_577_836_800_000);

/// Labels that a job may ask for, and characters of one.
const MAX_LABELS: usize = 8;
const MAX_LABEL_LENGTH: usize = 64;

/// Seconds of a recording that a client may announce: a day.
const MAX_EXPECTED_SECONDS: u32 = 24 * 3600;

/// In their one order; all but the last one are made when nothing else is asked for.
const ALL_OUTPUTS: [OutputKind; 5] =
    [OutputKind::Hls, OutputKind::Wav, OutputKind::Flac, OutputKind::Mp3, OutputKind::Stems];

/// Why a request is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// The body is not JSON, or a value has another type.
    #[error("the body is not what is expected here: {0}")]
    Json(String),
    /// The recording is too large.
    #[error("larger than {limit} bytes")]
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// A value is outside of what is allowed.
    #[error("{field}: {reason}")]
    Field {
        /// Which one.
        field: &'static str,
        /// What would be right.
        reason: String,
    },
}

pub(super) fn field(field: &'static str, reason: impl Into<String>) -> RequestError {
    RequestError::Field { field, reason: reason.into() }
}

/// Reads a JSON body.
///
/// # Errors
/// [`RequestError::Json`] with the parser's words, which name the field and what it expected.
pub fn parse_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, RequestError> {
    serde_json::from_slice(body).map_err(|error| RequestError::Json(error.to_string()))
}

/// Body of `POST /v1/uploads`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreateUpload {
    /// The recording's name.
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub name: String,
    /// Bytes.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_BODY_BYTES)))]
    pub size: u64,
    /// Media type.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = 128), regex(pattern = "^[ -~]*/[ -~]*$")))]
    pub content_type: Option<String>,
    /// SHA-256 of the bytes in hex.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(regex(pattern = "^[0-9A-Fa-f]{64}$")))]
    pub sha256: Option<String>,
}

impl CreateUpload {
    /// Checks the values. The name loses control characters and whatever stands before its last slash.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn checked(self) -> Result<Self, RequestError> {
        self.checked_up_to(MAX_BODY_BYTES)
    }

    /// As [`CreateUpload::checked`], with another bound of its size.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn checked_up_to(mut self, max_bytes: u64) -> Result<Self, RequestError> {
        self.name = clean_name(&self.name);
        if self.name.is_empty() {
            return Err(field("name", "is empty; send the file's name"));
        }
        if self.size == 0 {
            return Err(field("size", "is 0; an empty file cannot be restored"));
        }
        if self.size > max_bytes {
            return Err(RequestError::TooLarge { limit: max_bytes });
        }
        if let Some(kind) = &self.content_type
            && (kind.len() > 128 || !kind.contains('/') || !kind.bytes().all(|c| (0x20..0x7f).contains(&c)))
        {
            return Err(field("contentType", "is not a media type such as audio/mpeg"));
        }
        if let Some(hash) = &self.sha256
            && sha256_from_hex(hash).is_none()
        {
            return Err(field("sha256", "is not 64 hex digits"));
        }
        Ok(self)
    }
}

fn clean_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    last.chars().filter(|c| !c.is_control()).take(MAX_NAME_LENGTH).collect::<String>().trim().to_owned()
}

/// Body of `POST /v1/jobs`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreateJob {
    /// What to restore.
    pub upload_id: UploadId,
    /// How.
    #[serde(default)]
    pub sampler: Sampler,
    /// What to leave behind; everything, unless said otherwise.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(min = 1)))]
    pub outputs: Option<Vec<OutputKind>>,
    /// Class in the queue.
    #[serde(default)]
    pub priority: Priority,
    /// The client's own notes.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Not to be started before; at once when absent or past.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = MIN_START.0)))]
    pub start_after: Option<TimestampMs>,
    /// Labels that its worker has to have.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(length(max = MAX_LABELS)))]
    pub labels: Vec<String>,
    /// Length of the recording in seconds, as far as the client knows it.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = MAX_EXPECTED_SECONDS)))]
    pub expected_seconds: Option<u32>,
}

impl CreateJob {
    /// Checks the values. Labels come out each once, in one order: two requests for the same are equal.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn checked(mut self, now: TimestampMs) -> Result<Self, RequestError> {
        if let Some(start) = self.start_after {
            if start < MIN_START {
                return Err(field("startAfter", "is not a time in milliseconds since 1970"));
            }
            if start > now + MAX_START_AHEAD {
                let days = MAX_START_AHEAD.0 / (24 * 3600 * 1000);
                return Err(field("startAfter", format!("is more than {days} days ahead")));
            }
        }
        self.labels.sort();
        self.labels.dedup();
        if self.labels.len() > MAX_LABELS {
            return Err(field("labels", format!("has more than {MAX_LABELS} entries")));
        }
        if let Some(label) = self.labels.iter().find(|label| !is_label(label)) {
            let label: String = label.chars().take(MAX_LABEL_LENGTH).collect();
            return Err(field(
                "labels",
                format!("has {label:?}, which is not 1 to {MAX_LABEL_LENGTH} visible characters"),
            ));
        }
        self.expected_seconds = checked_expected_seconds(self.expected_seconds)?;
        self.outputs = Some(checked_outputs(self.outputs)?);
        self.metadata = checked_metadata(self.metadata)?;
        Ok(self)
    }

    /// The outputs asked for, each once, in one order.
    pub fn outputs(&self) -> Vec<OutputKind> {
        checked_outputs(self.outputs.clone()).unwrap_or_default()
    }
}

/// A length that a client announces.
pub(super) fn checked_expected_seconds(seconds: Option<u32>) -> Result<Option<u32>, RequestError> {
    if seconds.is_some_and(|seconds| !(1..=MAX_EXPECTED_SECONDS).contains(&seconds)) {
        return Err(field("expectedSeconds", format!("is not between 1 and {MAX_EXPECTED_SECONDS}")));
    }
    Ok(seconds)
}

/// The outputs asked for, each once, in one order: two requests for the same are equal.
pub(super) fn checked_outputs(asked: Option<Vec<OutputKind>>) -> Result<Vec<OutputKind>, RequestError> {
    let [usual @ .., _] = ALL_OUTPUTS;
    let Some(asked) = asked else { return Ok(usual.to_vec()) };
    if asked.is_empty() {
        return Err(field("outputs", "is empty; leave it out for all of them"));
    }
    Ok(ALL_OUTPUTS.into_iter().filter(|kind| asked.contains(kind)).collect())
}

/// A client's own notes.
pub(super) fn checked_metadata(
    metadata: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, RequestError> {
    if metadata.len() > MAX_METADATA_ENTRIES {
        return Err(field("metadata", format!("has more than {MAX_METADATA_ENTRIES} entries")));
    }
    let is_long = |(key, value): (&String, &String)| {
        key.chars().count() > MAX_METADATA_KEY_LENGTH || value.chars().count() > MAX_METADATA_VALUE_LENGTH
    };
    if metadata.iter().any(is_long) {
        return Err(field(
            "metadata",
            format!(
                "has a key of more than {MAX_METADATA_KEY_LENGTH} or a value of more than \
                 {MAX_METADATA_VALUE_LENGTH} characters"
            ),
        ));
    }
    Ok(metadata)
}

fn is_label(label: &str) -> bool {
    (1..=MAX_LABEL_LENGTH).contains(&label.chars().count())
        && label.chars().all(|c| !c.is_control() && !c.is_whitespace())
}

/// Body of `POST /v1/jobs/{jobId}/playback`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreatePlayback {
    /// How long the link shall work.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = PLAYBACK_MAX_LIFETIME.0 / 1000)))]
    pub expires_in_seconds: Option<u64>,
}

impl CreatePlayback {
    /// How long the link works.
    ///
    /// # Errors
    /// [`RequestError::Field`] when it is zero or beyond [`PLAYBACK_MAX_LIFETIME`].
    pub fn lifetime(&self) -> Result<DurationMs, RequestError> {
        let Some(seconds) = self.expires_in_seconds else { return Ok(PLAYBACK_DEFAULT_LIFETIME) };
        let longest = PLAYBACK_MAX_LIFETIME.0 / 1000;
        if seconds == 0 || seconds > longest {
            return Err(field("expiresInSeconds", format!("is not between 1 and {longest}")));
        }
        Ok(DurationMs::from_secs(seconds))
    }
}

/// An `Idempotency-Key` header: 1 to 128 visible ASCII characters.
///
/// # Errors
/// [`RequestError::Field`].
pub fn idempotency_key(header: &str) -> Result<String, RequestError> {
    let key = header.trim();
    if (1..=128).contains(&key.len()) && key.bytes().all(|c| c.is_ascii_graphic()) {
        Ok(key.to_owned())
    } else {
        Err(field("Idempotency-Key", "is not 1 to 128 visible ASCII characters"))
    }
}

/// Which jobs a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListState {
    /// All.
    Any,
    /// Those that something will still happen to.
    Live,
    /// Those that have ended.
    Ended,
}

/// Query of `GET /v1/jobs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListJobs {
    /// Which.
    pub state: ListState,
    /// How many at most.
    pub limit: u32,
    /// Only those submitted before this place in the order of submission.
    pub before: Option<u64>,
}

impl ListJobs {
    /// Reads the query.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn parse<'a>(
        pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
    ) -> Result<Self, RequestError> {
        let mut list = Self { state: ListState::Any, limit: page::DEFAULT_PAGE, before: None };
        for (name, value) in pairs {
            let value = value.as_ref();
            match name.as_ref() {
                "state" => {
                    list.state = match value {
                        "live" => ListState::Live,
                        "ended" => ListState::Ended,
                        _ => return Err(field("state", "is neither live nor ended; leave it out for both")),
                    }
                }
                "limit" => list.limit = page::limit(value)?,
                "cursor" => list.before = Some(page::cursor(value)?),
                _ => {}
            }
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: TimestampMs = TimestampMs(1_800_000_000_000);

    #[test]
    fn a_name_is_never_a_path() {
        let named = |name: &str| {
            CreateUpload { name: name.into(), size: 1, content_type: None, sha256: None }
                .checked()
                .map(|u| u.name)
        };
        assert_eq!(named("C:\\a\\talk \u{7}1.mp3").as_deref(), Ok("talk 1.mp3"));
        assert_eq!(named("../../etc/passwd").as_deref(), Ok("passwd"));
        assert_eq!(named(&"ä".repeat(300)).map(|n| n.chars().count()), Ok(200));
        for empty in ["", "/", " \n", "a/"] {
            assert!(named(empty).is_err(), "{empty:?}");
        }
    }

    #[test]
    fn a_job_needs_no_more_than_its_upload() {
        let job: CreateJob = parse_json(br#"{"uploadId":"upl_1","futureField":{}}"#).unwrap();
        assert_eq!((job.sampler, job.priority), (Sampler::Flash, Priority::Normal));
        assert_eq!(job.outputs().len(), 4);
        let job: CreateJob = parse_json(br#"{"uploadId":"upl_1","outputs":["mp3","wav","mp3"]}"#).unwrap();
        assert_eq!(job.outputs(), [OutputKind::Wav, OutputKind::Mp3]);
        let job: CreateJob = parse_json(br#"{"uploadId":"upl_1","outputs":["stems","hls"]}"#).unwrap();
        assert_eq!(job.outputs(), [OutputKind::Hls, OutputKind::Stems], "only when asked for");
    }

    #[test]
    fn what_cannot_be_understood_is_said_in_the_parsers_words() {
        let error = parse_json::<CreateJob>(br#"{"uploadId":"../x"}"#).unwrap_err();
        assert!(error.to_string().contains("an id may hold only"), "{error}");
        let error = parse_json::<CreateJob>(br#"{"uploadId":"u","sampler":"best"}"#).unwrap_err();
        assert!(error.to_string().contains("flash"), "{error}");
        let error =
            parse_json::<CreateJob>(br#"{"uploadId":"u","outputs":[]}"#).unwrap().checked(NOW).unwrap_err();
        assert!(matches!(error, RequestError::Field { field: "outputs", .. }));
    }

    #[test]
    fn a_start_in_another_unit_and_absurd_wishes_are_refused_by_name() {
        let check = |json: &str| parse_json::<CreateJob>(json.as_bytes()).unwrap().checked(NOW);
        let job = check(
            r#"{"uploadId":"u","startAfter":1800000005000,"labels":["b","a","b"],"expectedSeconds":60}"#,
        );
        let job = job.unwrap();
        assert_eq!((job.labels, job.expected_seconds), (vec!["a".to_owned(), "b".to_owned()], Some(60)));
        assert_eq!(job.start_after, Some(TimestampMs(1_800_000_005_000)));
        assert!(check(r#"{"uploadId":"u","startAfter":1700000000000}"#).is_ok(), "past: at once");
        for (json, name) in [
            (r#"{"uploadId":"u","startAfter":1800000000}"#, "startAfter"),
            (r#"{"uploadId":"u","startAfter":1900000000000}"#, "startAfter"),
            (r#"{"uploadId":"u","labels":[""]}"#, "labels"),
            (r#"{"uploadId":"u","labels":["a b"]}"#, "labels"),
            (r#"{"uploadId":"u","labels":["1","2","3","4","5","6","7","8","9"]}"#, "labels"),
            (r#"{"uploadId":"u","expectedSeconds":0}"#, "expectedSeconds"),
        ] {
            let error = check(json).unwrap_err();
            assert!(matches!(&error, RequestError::Field { field, .. } if *field == name), "{json}: {error}");
        }
    }

    #[test]
    fn a_list_is_paged_within_bounds() {
        let parse = |query: &str| ListJobs::parse(url::form_urlencoded::parse(query.as_bytes()));
        assert_eq!(
            parse("state=live&limit=10&cursor=7&x=y"),
            Ok(ListJobs { state: ListState::Live, limit: 10, before: Some(7) })
        );
        for bad in ["state=all", "limit=0", "limit=201", "limit=x", "cursor=-1"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
