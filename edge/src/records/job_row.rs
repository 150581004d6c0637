//! A job's row: the columns that are searched by, and the whole as JSON.

use shared_protocol::TimestampMs;

use serde::{Deserialize, Serialize};

use super::RowError;
use crate::scheduler::{Job, Playlist};

/// A row of the table `jobs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRow {
    /// Place in the order of submission; the primary key.
    pub sequence: u64,
    /// Its name.
    pub job_id: String,
    /// Its owner.
    pub tenant: String,
    /// The client's idempotency key.
    pub idempotency_key: Option<String>,
    /// When it ended; none while it is live.
    pub ended_at_ms: Option<TimestampMs>,
    /// All of it but its progress, and while it is live its playlist.
    pub body: String,
}

/// An ended job's playlist changes no more: it needs no row of its own.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(flatten)]
    job: &'a Job,
    #[serde(skip_serializing_if = "Option::is_none")]
    playlist: Option<&'a Playlist>,
}

#[derive(Deserialize)]
struct PlaylistOfEnded {
    playlist: Option<Playlist>,
}

/// Writes a job.
pub fn encode(job: &Job) -> JobRow {
    let playlist = Some(&job.playlist).filter(|list| job.state.is_ended() && !list.is_empty());
    JobRow {
        sequence: job.sequence,
        job_id: job.id.to_string(),
        tenant: job.tenant.to_string(),
        idempotency_key: job.idempotency_key.clone(),
        ended_at_ms: job.ended_at,
        body: serde_json::to_string(&Body { job, playlist })
            .expect("a job has text keys only and no fallible serializers"),
    }
}

/// Reads a job's body.
///
/// # Errors
/// [`RowError`] when an older or newer release wrote what this one cannot read.
pub fn decode(body: &str) -> Result<Job, RowError> {
    let unreadable = |error| RowError::new("row of a job", error);
    let mut job: Job = serde_json::from_str(body).map_err(unreadable)?;
    if job.state.is_ended() {
        let found: PlaylistOfEnded = serde_json::from_str(body).map_err(unreadable)?;
        job.playlist = found.playlist.unwrap_or_default();
    }
    Ok(job)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::scheduler::{ConnectionId, GenerationRef, JobRequest, JobState};
    use shared_protocol::{
        Attempt, DurationMs, FailureCode, GenerationId, HlsSegment, JobFailure, JobId, OutputKind, Priority,
        ProjectId, Sampler, Source, TenantId, UploadId, WorkerId,
    };
    use std::collections::BTreeMap;

    pub(crate) fn job() -> Job {
        let request = JobRequest {
            source: Source { upload_id: UploadId::new("upl_1").unwrap(), name: "tälk.mp3".into(), size: 9 },
            content_type: Some("audio/mpeg".into()),
            sampler: Sampler::Pro,
            outputs: vec![OutputKind::Hls, OutputKind::Wav],
            priority: Priority::High,
            metadata: BTreeMap::from([("a".into(), "b".into())]),
            not_before: Some(TimestampMs(1)),
            labels: vec!["studio".into()],
            expected_seconds: Some(60),
            generation: Some(GenerationRef {
                project_id: ProjectId::new("prj_1").unwrap(),
                generation_id: GenerationId::new("gen_1").unwrap(),
                transcript_version: Some(2),
            }),
            webhook: Some(crate::outbox::EndpointId::new("wh_1").unwrap()),
        };
        let (id, tenant) = (JobId::new("job_1").unwrap(), TenantId::new("acme").unwrap());
        Job::new(id, tenant, 7, request, Some("key".into()), TimestampMs(1_000))
    }

    #[test]
    fn a_job_comes_back_as_it_was_in_every_state() {
        let worker = WorkerId::new("mini-1").unwrap();
        let offered = JobState::Offered {
            worker: worker.clone(),
            connection: ConnectionId(3),
            offered_at: TimestampMs(2_000),
        };
        for state in [
            JobState::Queued { not_before: TimestampMs(5) },
            offered,
            JobState::Running { worker },
            JobState::Completed,
            JobState::Failed,
            JobState::Cancelled,
            JobState::Quarantined,
        ] {
            let mut job = job();
            job.state = state;
            job.attempt = Attempt(2);
            job.accepted = Some(Attempt(1));
            job.started_at = Some(TimestampMs(3));
            job.first_audio_at = Some(TimestampMs(4));
            job.retries = 1;
            job.workers_lost = 2;
            job.cancel_requested = true;
            job.failure = Some(JobFailure::new(FailureCode::NoAudio, "none"));
            let row = encode(&job);
            assert_eq!(decode(&row.body), Ok(job));
            assert_eq!((row.sequence, row.job_id.as_str(), row.tenant.as_str()), (7, "job_1", "acme"));
        }
    }

    #[test]
    fn an_ended_job_carries_its_playlist_and_a_live_one_does_not() {
        let mut job = job();
        let segment = HlsSegment { sequence: 0, duration_ms: DurationMs(2_005), size: 1 };
        job.playlist.extend(Attempt(1), &[segment]);
        assert!(decode(&encode(&job).body).unwrap().playlist.is_empty());
        job.state = JobState::Completed;
        assert_eq!(decode(&encode(&job).body), Ok(job));
    }

    #[test]
    fn a_newer_releases_fields_are_passed_over() {
        let row = encode(&job());
        let newer = row.body.replacen('{', "{\"fieldOfTomorrow\":{\"a\":1},", 1);
        assert_eq!(decode(&newer), Ok(job()));
        assert!(decode("{}").is_err());
    }
}
