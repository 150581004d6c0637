//! What a tenant used.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use crate::errors::Error;
use crate::http::{Call, Client};
use crate::wire::null_as_default;

/// What was charged in a calendar month (UTC), with a page of the generations.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Whose.
    pub tenant: String,
    /// Which month, `YYYY-MM`.
    pub month: String,
    /// Seconds of audio that may be charged in a month; as many as it likes when absent.
    pub quota_seconds: Option<u64>,
    /// Seconds of audio that were charged.
    pub audio_seconds: f64,
    /// Generations that were charged.
    pub generations: u64,
    /// The same by sampler.
    #[serde(default, deserialize_with = "null_as_default")]
    pub samplers: Vec<SamplerUsage>,
    /// The generations, the latest charged first.
    #[serde(default, deserialize_with = "null_as_default")]
    pub rows: Vec<Charged>,
    /// Where the next page of rows begins; none after the last.
    pub next_cursor: Option<String>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// What one sampler was used for.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplerUsage {
    /// Which.
    pub sampler: String,
    /// Generations that were charged.
    pub generations: u64,
    /// Seconds of audio that were charged.
    pub audio_seconds: f64,
}

/// A generation that was charged.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Charged {
    /// Which.
    pub generation_id: String,
    /// Of which project.
    pub project_id: String,
    /// Which job made it.
    pub job_id: String,
    /// How it was restored.
    pub sampler: String,
    /// Length of the recording in seconds.
    pub audio_seconds: f64,
    /// When it was completed.
    pub at_ms: TimestampMs,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: serde_json::Map<String, serde_json::Value>,
}

/// The query of a page of usage.
pub(crate) fn ask(url: &mut url::Url, month: Option<&str>, limit: u32, cursor: Option<&str>) {
    url.query_pairs_mut().append_pair("limit", &limit.to_string());
    for (name, value) in [("month", month), ("cursor", cursor)] {
        if let Some(value) = value {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
}

impl Client {
    /// What this key's tenant used in a month (`YYYY-MM`, the present one without), with a page of at most `limit` generations.
    pub async fn usage(&self, month: Option<&str>, limit: u32, cursor: Option<&str>) -> Result<Usage, Error> {
        let mut url = self.resource(&["usage"]);
        ask(&mut url, month, limit, cursor);
        self.call(&Call::new(Method::GET, url)).await?.json()
    }
}
