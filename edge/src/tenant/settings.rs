//! A tenant's limits, as its operator sets them.

use serde::{Deserialize, Serialize};

/// Bytes of one upload, unless an operator said otherwise: what storage takes in one object made of a sensible number of parts.
const DEFAULT_MAX_UPLOAD_BYTES: u64 = 5 * 1024 * 1024 * 1024;

/// Requests of one key within a minute, unless an operator said otherwise: ten a second, which no interactive client reaches.
const DEFAULT_REQUESTS_PER_MINUTE: u32 = 600;

/// What a tenant may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TenantSettings {
    /// Bytes of one upload.
    pub max_upload_bytes: u64,
    /// What uploads may be: beginnings of media types, such as `audio/`. Anything when absent.
    pub media_types: Option<Vec<String>>,
    /// Seconds of audio in a calendar month (UTC). As many as it likes when absent.
    pub monthly_audio_seconds: Option<u64>,
    /// Requests of one key within a minute.
    pub requests_per_minute: u32,
    /// Generations that may be under way at a time. As many as it likes when absent.
    pub max_live_generations: Option<u32>,
}

impl Default for TenantSettings {
    fn default() -> Self {
        Self {
            max_upload_bytes: DEFAULT_MAX_UPLOAD_BYTES,
            media_types: None,
            monthly_audio_seconds: None,
            requests_per_minute: DEFAULT_REQUESTS_PER_MINUTE,
            max_live_generations: None,
        }
    }
}

impl TenantSettings {
    /// Whether an upload may be of this media type.
    pub fn allows_media_type(&self, media_type: &str) -> bool {
        let kind = media_type.trim().to_ascii_lowercase();
        let begins = |beginning: &String| kind.starts_with(&beginning.to_ascii_lowercase());
        self.media_types.as_ref().is_none_or(|allowed| allowed.iter().any(begins))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_compared_by_their_beginning_in_any_case() {
        let only = TenantSettings {
            media_types: Some(vec!["Audio/".into(), "video/mp4".into()]),
            ..Default::default()
        };
        for good in ["audio/mpeg", "AUDIO/wav", " audio/x-m4a", "video/mp4"] {
            assert!(only.allows_media_type(good), "{good}");
        }
        for bad in ["", "video/webm", "application/octet-stream", "xaudio/mpeg"] {
            assert!(!only.allows_media_type(bad), "{bad}");
        }
        assert!(TenantSettings::default().allows_media_type("application/octet-stream"));
    }

    #[test]
    fn a_row_of_a_release_that_knew_fewer_limits_gets_the_usual_ones() {
        let old: TenantSettings = serde_json::from_str(r#"{"monthlyAudioSeconds":60}"#).unwrap();
        assert_eq!(old, TenantSettings { monthly_audio_seconds: Some(60), ..TenantSettings::default() });
    }
}
