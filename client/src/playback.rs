//! Links for listening without a key.

use std::time::Duration;

use reqwest::Method;
use serde::{Deserialize, Serialize};
use shared_protocol::{JobId, TimestampMs};

use crate::errors::Error;
use crate::http::{Call, Client};

/// A link for listening to one job, while it restores and afterwards. Whoever has it can listen until it expires.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PlaybackLink {
    /// The HLS playlist, for players.
    pub url: String,
    /// A page with a player, for people.
    pub page: String,
    /// When both stop working.
    pub expires_at_ms: TimestampMs,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_in_seconds: Option<u64>,
}

impl Client {
    /// Makes a link; `lifetime` is the service's default when none is given.
    pub async fn playback_link(
        &self,
        job_id: &JobId,
        lifetime: Option<Duration>,
    ) -> Result<PlaybackLink, Error> {
        let url = self.resource(&["jobs", job_id.as_str(), "playback"]);
        let request = Request { expires_in_seconds: lifetime.map(|lifetime| lifetime.as_secs()) };
        let mut link: PlaybackLink = self.call(&Call::new(Method::POST, url).json(&request)).await?.json()?;
        // A service behind a tunnel may answer with a path only.
        link.url = self.resolve(&link.url)?.into();
        link.page = self.resolve(&link.page)?.into();
        Ok(link)
    }
}
