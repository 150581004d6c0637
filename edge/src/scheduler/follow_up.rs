//! What may still come after a completion: stems and quality scores, each within its window. Neither ever changes the
//! job's state.

use crate::outbox::EndpointId;
use serde::{Deserialize, Serialize};
use shared_protocol::{Attempt, JobFailure, JobId, QualityScores, StemFile, TenantId, TimestampMs};

use super::job::{GenerationRef, Job};

/// What followed on a completed job, so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FollowUp {
    /// The job.
    pub job_id: JobId,
    /// Its owner.
    pub tenant: TenantId,
    /// What the job was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationRef>,
    /// The one of its tenant's webhooks that is told of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<EndpointId>,
    /// Its accepted attempt: what follows on another one is not taken.
    pub attempt: Attempt,
    /// Nothing is taken after that.
    pub closes_at: TimestampMs,
    /// Its stems, once they are stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stems: Option<Vec<StemFile>>,
    /// Why there will be no stems.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stems_failure: Option<JobFailure>,
    /// Its scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quality: Option<QualityScores>,
}

impl FollowUp {
    /// Nothing has followed yet.
    pub fn new(job_id: JobId, tenant: TenantId, attempt: Attempt, closes_at: TimestampMs) -> Self {
        Self {
            job_id,
            tenant,
            generation: None,
            webhook: None,
            attempt,
            closes_at,
            stems: None,
            stems_failure: None,
            quality: None,
        }
    }

    /// Nothing has followed yet on a job that was completed by an attempt.
    pub fn on(job: &Job, attempt: Attempt, closes_at: TimestampMs) -> Self {
        let mut follow_up = Self::new(job.id.clone(), job.tenant.clone(), attempt, closes_at);
        follow_up.generation.clone_from(&job.request.generation);
        follow_up.webhook.clone_from(&job.request.webhook);
        follow_up
    }

    /// Takes the stems of an attempt, the first time. Says whether that changed anything.
    pub fn take_stems(
        &mut self,
        attempt: Attempt,
        files: Vec<StemFile>,
        failure: Option<JobFailure>,
    ) -> bool {
        if attempt != self.attempt || self.stems.is_some() || self.stems_failure.is_some() {
            return false;
        }
        match failure {
            Some(failure) => self.stems_failure = Some(failure),
            None => self.stems = Some(files),
        }
        true
    }

    /// Takes the scores of an attempt, the first time. Says whether that changed anything.
    pub fn take_quality(&mut self, scores: QualityScores) -> bool {
        if scores.attempt != self.attempt || self.quality.is_some() {
            return false;
        }
        self.quality = Some(scores);
        true
    }
}
