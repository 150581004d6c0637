//! Stems as clients get them: whether they are there, and where.

use serde::Serialize;
use shared_protocol::{FailureCode, JobFailure, StemFile, TimestampMs};

use crate::scheduler::FollowUp;

/// Whether stems are there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StemsState {
    /// They may still come.
    Waiting,
    /// All of them.
    Ready,
    /// There will be none.
    Failed,
}

/// The stems of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StemsView {
    /// Whether they are there.
    pub state: StemsState,
    /// The manifest among them says what is what.
    pub files: Vec<StemView>,
    /// Why there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<JobFailure>,
}

/// An object of a job's stems.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct StemView {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Media type.
    pub content_type: &'static str,
    /// SHA-256 in hex.
    pub sha256: String,
    /// Where to get it.
    pub url: String,
}

/// Media type of an object among stems, by its name.
pub fn stem_content_type(name: &str) -> &'static str {
    if name.ends_with(".json") { "application/json" } else { "audio/flac" }
}

impl StemsView {
    /// Of a job that asked for stems; `base` is where their URLs start.
    pub fn of(state: &str, follow_up: Option<&FollowUp>, base: &str, now: TimestampMs) -> Self {
        let none = |state, failure| Self { state, files: Vec::new(), failure };
        let gone = |text: &str| JobFailure::new(FailureCode::UploadFailed, text);
        match follow_up {
            Some(FollowUp { stems: Some(files), .. }) => {
                let view = |file: &StemFile| StemView {
                    name: file.name.clone(),
                    size: file.size,
                    content_type: stem_content_type(&file.name),
                    sha256: file.sha256.clone(),
                    url: format!("{base}{}", file.name),
                };
                Self { state: StemsState::Ready, files: files.iter().map(view).collect(), failure: None }
            }
            Some(FollowUp { stems_failure: Some(failure), .. }) => {
                none(StemsState::Failed, Some(failure.clone()))
            }
            Some(follow_up) if now <= follow_up.closes_at => none(StemsState::Waiting, None),
            _ if state == "completed" => {
                none(StemsState::Failed, Some(gone("The stems did not come within their time.")))
            }
            _ if matches!(state, "failed" | "cancelled" | "quarantined") => {
                none(StemsState::Failed, Some(gone("The job was not completed.")))
            }
            _ => none(StemsState::Waiting, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::{Attempt, JobId, TenantId};

    const NOW: TimestampMs = TimestampMs(1_000);

    fn follow_up(closes_at: TimestampMs) -> FollowUp {
        FollowUp::new(JobId::new("job_1").unwrap(), TenantId::new("acme").unwrap(), Attempt(1), closes_at)
    }

    fn state(job: &str, follow_up: Option<&FollowUp>) -> StemsState {
        StemsView::of(job, follow_up, "/", NOW).state
    }

    #[test]
    fn somebody_waits_for_stems_exactly_as_long_as_they_may_come() {
        assert_eq!(state("running", None), StemsState::Waiting);
        assert_eq!(state("failed", None), StemsState::Failed);
        assert_eq!(state("completed", Some(&follow_up(NOW))), StemsState::Waiting);
        assert_eq!(state("completed", Some(&follow_up(TimestampMs(999)))), StemsState::Failed);
        assert_eq!(state("completed", None), StemsState::Failed, "forgotten by the scheduler");

        let mut failed = follow_up(NOW);
        let failure = JobFailure::new(FailureCode::DiskFull, "no space");
        failed.take_stems(Attempt(1), vec![], Some(failure.clone()));
        assert_eq!(StemsView::of("completed", Some(&failed), "/", NOW).failure, Some(failure));

        let mut ready = follow_up(TimestampMs(0));
        let file = StemFile { name: "manifest.json".into(), size: 7, sha256: "ab".into() };
        ready.take_stems(Attempt(1), vec![file], None);
        let view = StemsView::of("completed", Some(&ready), "/v1/jobs/job_1/stems/", NOW);
        assert_eq!((view.state, view.failure), (StemsState::Ready, None));
        assert_eq!(view.files[0].url, "/v1/jobs/job_1/stems/manifest.json");
        assert_eq!(view.files[0].content_type, "application/json");
    }
}
