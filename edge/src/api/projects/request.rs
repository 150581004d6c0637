//! What clients send about projects, and the checks on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use shared_protocol::limits::{MAX_BODY_BYTES, MAX_PARTS, PART_BYTES};
use shared_protocol::{OutputKind, Priority, ProjectId, Sampler, TenantId, Transcript};

use super::super::request::{
    CreateUpload, RequestError, checked_expected_seconds, checked_metadata, checked_outputs, field,
};
use crate::digest;
use crate::outbox::EndpointId;
use crate::project::{GenerationRequest, TranscriptMode};

/// Bytes of a transcript as JSON: below the 2 MB that a row of the store holds.
pub const MAX_TRANSCRIPT_BYTES: u64 = 1_900_000;

/// Characters of a language's tag.
const MAX_LANGUAGE_LENGTH: usize = 35;

/// Body of `POST /v1/projects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct CreateProject {
    /// The recording's name.
    pub name: String,
    /// Its bytes.
    pub size: u64,
    /// Its media type.
    #[serde(default)]
    pub content_type: Option<String>,
    /// SHA-256 of its bytes in hex.
    #[serde(default)]
    pub sha256: Option<String>,
    /// The client's own notes.
    #[serde(default)]
    pub metadata: BTreeMap<String, String>,
    /// Language of the recording (BCP 47), a hint for the recogniser.
    #[serde(default)]
    pub language: Option<String>,
    /// Have the recording come in parts, which can be taken up again, though it would fit into one request. A larger one does so
    /// anyway.
    #[serde(default)]
    pub in_parts: bool,
}

impl CreateProject {
    /// Checks the values; `max_bytes` is what the tenant may upload.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn checked(mut self, max_bytes: u64) -> Result<Self, RequestError> {
        let upload = CreateUpload {
            name: std::mem::take(&mut self.name),
            size: self.size,
            content_type: self.content_type.take(),
            sha256: self.sha256.take(),
        };
        let largest = PART_BYTES * u64::from(MAX_PARTS);
        let CreateUpload { name, content_type, sha256, .. } = upload.checked_up_to(max_bytes.min(largest))?;
        self.name = name;
        self.content_type = content_type;
        self.sha256 = sha256.map(|hex| hex.to_ascii_lowercase());
        self.metadata = checked_metadata(self.metadata)?;
        self.language = self.language.map(checked_language).transpose()?;
        Ok(self)
    }

    /// Bytes of each part but the last, of a recording that comes in parts.
    pub fn part_size(&self) -> Option<u64> {
        (self.in_parts || self.size > MAX_BODY_BYTES).then_some(PART_BYTES)
    }

    /// Tells this request from another one under the same key.
    pub fn fingerprint(&self) -> String {
        digest::of_json(self).expect("it has text keys only and no fallible serializers")
    }
}

fn checked_language(language: String) -> Result<String, RequestError> {
    let is_tag = (2..=MAX_LANGUAGE_LENGTH).contains(&language.len())
        && language.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    if is_tag { Ok(language) } else { Err(field("language", "is not a language tag such as en or pt-BR")) }
}

/// The id of the project that a tenant's key makes: the same key always finds the same project.
pub fn project_of_key(tenant: &TenantId, key: &str) -> ProjectId {
    let digest = digest::of_text(&format!("{tenant}\n{key}"));
    ProjectId::new(format!("prj_{}", digest.chars().take(32).collect::<String>()))
        .expect("prj_ and 32 hex digits are an id")
}

/// Body of `POST /v1/projects/{projectId}/generations`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct CreateGeneration {
    /// How.
    pub sampler: Sampler,
    /// Whether with a transcript.
    pub transcript: TranscriptMode,
    /// What to leave behind; everything but the stems when absent.
    pub outputs: Option<Vec<OutputKind>>,
    /// Class in the queue.
    pub priority: Priority,
    /// Of the tenant's webhooks, the one that is told; all of them when absent.
    pub webhook_id: Option<EndpointId>,
    /// The client's own notes.
    pub metadata: BTreeMap<String, String>,
    /// Length of the recording in seconds, as far as the client knows it.
    pub expected_seconds: Option<u32>,
}

impl CreateGeneration {
    /// Checks the values.
    ///
    /// # Errors
    /// [`RequestError::Field`].
    pub fn checked(self) -> Result<GenerationRequest, RequestError> {
        Ok(GenerationRequest {
            sampler: self.sampler,
            transcript: self.transcript,
            outputs: checked_outputs(self.outputs)?,
            priority: self.priority,
            webhook: self.webhook_id,
            metadata: checked_metadata(self.metadata)?,
            expected_seconds: checked_expected_seconds(self.expected_seconds)?,
        })
    }
}

/// Reads a transcript.
///
/// # Errors
/// [`RequestError`].
pub fn transcript(body: &[u8]) -> Result<Transcript, RequestError> {
    let transcript: Transcript = super::super::request::parse_json(body)?;
    transcript.checked().map_err(|error| field("transcript", error.to_string()))
}

/// Query of `GET /v1/projects/{projectId}/transcript`: which version; the latest when absent.
///
/// # Errors
/// [`RequestError::Field`].
pub fn transcript_version<'a>(
    pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
) -> Result<Option<u32>, RequestError> {
    let mut version = None;
    for (name, value) in pairs {
        if name.as_ref() != "version" {
            return Err(field("query", "knows version only"));
        }
        let number = value.as_ref().parse().ok().filter(|number| *number > 0);
        version = Some(number.ok_or_else(|| field("version", "is not a number from 1 on"))?);
    }
    Ok(version)
}

/// The number of the last event that a listener has: of the header `Last-Event-ID`, or else of the query's `after`.
///
/// # Errors
/// [`RequestError::Field`].
pub fn last_event<'a>(
    header: Option<&str>,
    pairs: impl Iterator<Item = (impl AsRef<str> + 'a, impl AsRef<str> + 'a)>,
) -> Result<Option<u64>, RequestError> {
    if let Some(header) = header {
        let number = header.trim().parse();
        return number.map(Some).map_err(|_| field("Last-Event-ID", "is not one that this API gave out"));
    }
    let mut after = None;
    for (name, value) in pairs {
        if name.as_ref() != "after" {
            return Err(field("query", "knows after only"));
        }
        let number = value.as_ref().parse();
        after = Some(number.map_err(|_| field("after", "is not a number that this API gave out"))?);
    }
    Ok(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_key_finds_the_same_project_and_no_other_tenants() {
        let (one, two) = (TenantId::new("acme").unwrap(), TenantId::new("acme-2").unwrap());
        assert_eq!(project_of_key(&one, "k"), project_of_key(&one, "k"));
        assert_ne!(project_of_key(&one, "k"), project_of_key(&two, "k"));
        assert_ne!(project_of_key(&one, "k"), project_of_key(&one, "l"));
    }

    #[test]
    fn a_generation_asked_for_with_nothing_is_a_plain_restore() {
        let request = CreateGeneration::default().checked().unwrap();
        assert_eq!((request.sampler, request.transcript), (Sampler::Flash, TranscriptMode::None));
        assert!(!request.outputs.contains(&OutputKind::Stems) && request.outputs.contains(&OutputKind::Hls));
    }
}
