//! The ledger: one row for each generation that is charged, never changed and never written twice.

use serde::{Deserialize, Serialize};
use shared_protocol::{GenerationId, JobId, ProjectId, Sampler, TenantId, TimestampMs};

/// What one generation used. However often it is told, it is charged once: the generation is its key.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// Whose.
    pub tenant: TenantId,
    /// For what.
    pub generation_id: GenerationId,
    /// Of which project.
    pub project_id: ProjectId,
    /// Which job made it.
    pub job_id: JobId,
    /// How it was restored.
    pub sampler: Sampler,
    /// Length of the recording in seconds.
    pub audio_seconds: f64,
    /// When it was completed: decides in which month it is charged.
    #[serde(rename = "atMs")]
    pub at: TimestampMs,
}

impl UsageRow {
    /// The row as it may be kept: a length that is no length counts as none, because nothing may be charged for it and no sum may
    /// be spoilt by it.
    #[must_use]
    pub fn checked(mut self) -> Self {
        if !self.audio_seconds.is_finite() || self.audio_seconds < 0.0 {
            self.audio_seconds = 0.0;
        }
        self
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn row(audio_seconds: f64) -> UsageRow {
        UsageRow {
            tenant: TenantId::new("acme").unwrap(),
            generation_id: GenerationId::new("gen_1").unwrap(),
            project_id: ProjectId::new("prj_1").unwrap(),
            job_id: JobId::new("job_1").unwrap(),
            sampler: Sampler::Pro,
            audio_seconds,
            at: TimestampMs(1_798_761_599_999),
        }
    }

    #[test]
    fn a_length_that_is_none_spoils_no_sum() {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.5] {
            assert_eq!(row(bad).checked(), row(0.0), "{bad}");
        }
        assert_eq!(row(12.5).checked(), row(12.5));
    }
}
