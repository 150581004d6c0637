//! A tenant's limits, as its operator sets them.

use serde::{Deserialize, Serialize};

/// Bytes of one upload, unless an operator said otherwise: what storage takes in one object made of a sensible number of parts.
const DEFAULT_MAX_UPLOAD_BYTES: u64 = 5 * 1024 * 1024 * 1024;

/// Requests of one key within a minute, unless an operator said otherwise: ten a second, which no interactive client reaches.
const DEFAULT_REQUESTS_PER_MINUTE: u32 = 600;

/// What a tenant may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Jobs, of generations and others, that may wait or run at a time. As many as the environment takes when absent.
    pub max_live_jobs: Option<u32>,
}

impl Default for TenantSettings {
    fn default() -> Self {
        Self {
            max_upload_bytes: DEFAULT_MAX_UPLOAD_BYTES,
            media_types: None,
            monthly_audio_seconds: None,
            requests_per_minute: DEFAULT_REQUESTS_PER_MINUTE,
            max_live_jobs: None,
        }
    }
}

/// Why an upload is not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UploadRefused {
    /// It is too large.
    TooLarge {
        /// Bytes.
        limit: u64,
    },
    /// It is of another type.
    MediaType {
        /// Which.
        media_type: String,
        /// Beginnings of what may be.
        allowed: Vec<String>,
    },
}

impl TenantSettings {
    /// Whether jobs of no generation may be made. They are not charged: a quota would be got round with them.
    pub fn allows_plain_jobs(&self) -> bool {
        self.monthly_audio_seconds.is_none()
    }

    /// [`TenantSettings::max_live_jobs`], as the scheduler counts.
    pub fn jobs_at_a_time(&self) -> Option<usize> {
        self.max_live_jobs.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX))
    }

    /// Whether an upload may be of this size and media type.
    ///
    /// # Errors
    /// [`UploadRefused`].
    pub fn check_upload(&self, size: u64, media_type: &str) -> Result<(), UploadRefused> {
        if size > self.max_upload_bytes {
            return Err(UploadRefused::TooLarge { limit: self.max_upload_bytes });
        }
        self.check_media_type(media_type)
    }

    /// Whether an upload may be of this media type. Types are compared by their beginning, in any case.
    ///
    /// # Errors
    /// [`UploadRefused`].
    pub fn check_media_type(&self, media_type: &str) -> Result<(), UploadRefused> {
        let Some(allowed) = &self.media_types else { return Ok(()) };
        let kind = media_type.trim().to_ascii_lowercase();
        if allowed.iter().any(|beginning| kind.starts_with(&beginning.to_ascii_lowercase())) {
            return Ok(());
        }
        Err(UploadRefused::MediaType { media_type: media_type.to_owned(), allowed: allowed.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_are_compared_by_their_beginning_in_any_case() {
        let allowed = Some(vec!["Audio/".to_owned(), "video/mp4".to_owned()]);
        let only = TenantSettings { media_types: allowed, ..TenantSettings::default() };
        for good in ["audio/mpeg", "AUDIO/wav", " audio/x-m4a", "video/mp4"] {
            assert_eq!(only.check_upload(1, good), Ok(()), "{good}");
        }
        for bad in ["", "video/webm", "application/octet-stream", "xaudio/mpeg"] {
            assert!(matches!(only.check_upload(1, bad), Err(UploadRefused::MediaType { .. })), "{bad}");
        }
        assert_eq!(TenantSettings::default().check_upload(1, "application/octet-stream"), Ok(()));
    }

    #[test]
    fn an_upload_of_just_the_limit_is_taken() {
        let small = TenantSettings { max_upload_bytes: 10, ..TenantSettings::default() };
        assert_eq!(small.check_upload(10, "audio/wav"), Ok(()));
        assert_eq!(small.check_upload(11, "audio/wav"), Err(UploadRefused::TooLarge { limit: 10 }));
    }

    #[test]
    fn a_row_of_a_release_that_knew_fewer_limits_gets_the_usual_ones() {
        let old: TenantSettings = serde_json::from_str(r#"{"monthlyAudioSeconds":60}"#).unwrap();
        assert_eq!(old, TenantSettings { monthly_audio_seconds: Some(60), ..TenantSettings::default() });
    }
}
