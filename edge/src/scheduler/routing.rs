//! Which worker gets a job, and why.
//!
//! `earliest_start` looks at the model alone: where would its inference start first? Two machines with idle models then
//! look equal though one has ten times the uplink. `earliest_finish`, the default, adds download, inference, upload and
//! publishing by what the workers measured themselves.

use serde::{Deserialize, Serialize};
use shared_protocol::WorkerId;

use super::estimate;
use super::fleet::{Fleet, Worker};
use super::job::JobRequest;

/// Estimates within so many seconds of the soonest one count as equal. They are judged against the soonest, never against
/// the best so far: 0, 9 and 18 s must not tie in turn.
pub const TIE_SECONDS: f64 = 10.0;

/// Candidates that a decision keeps for whoever asks later: the best ones.
pub const MAX_CANDIDATES_KEPT: usize = 8;

/// PUTs that a worker has under way at once for one job.
const PARALLEL_REQUESTS: f64 = 8.0;

/// Which estimate decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// Where the inference starts first.
    EarliestStart,
    /// Where the outputs are published first.
    #[default]
    EarliestFinish,
}

/// A text names no policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a policy is earliest_finish or earliest_start")]
pub struct UnknownPolicy;

impl std::str::FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        match text {
            "earliest_start" => Ok(Self::EarliestStart),
            "earliest_finish" => Ok(Self::EarliestFinish),
            _ => Err(UnknownPolicy),
        }
    }
}

/// What decided at last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum DecidedBy {
    /// It was the only one with an open slot.
    OnlyCandidate,
    /// Its estimate was the soonest by more than a tie.
    Soonest,
    /// It tied, and its priority was the highest.
    WorkerPriority,
    /// It tied, and had been idle longest.
    LongestIdle,
}

/// What was expected of one worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Candidate {
    /// Who.
    pub worker: WorkerId,
    /// Seconds until the inference starts.
    pub start_seconds: f64,
    /// Seconds until everything is published.
    pub finish_seconds: f64,
    /// Its priority, set by its operator.
    pub priority: i32,
}

/// Why a job went where it went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Which estimate decided.
    pub policy: Policy,
    /// Who got it.
    pub chosen: WorkerId,
    /// What decided at last.
    pub decided_by: DecidedBy,
    /// How many could have taken it.
    pub considered: usize,
    /// The best of them, the soonest first.
    pub candidates: Vec<Candidate>,
}

fn candidate(worker: &Worker, request: &JobRequest) -> Candidate {
    let seconds = request.expected_audio_seconds();
    let link = &worker.snapshot.link;
    let start = worker.backlog_seconds();
    let inference = worker.inference_seconds(request);
    // The download overlaps with the wait for the model; the uploads begin with the inference.
    let download = request.source.size as f64 / link.download_bytes_per_second;
    let bytes = seconds * estimate::output_bytes_per_second(&request.outputs);
    let requests = estimate::output_requests(&request.outputs, seconds);
    let upload = bytes / link.upload_bytes_per_second + requests * link.request_seconds / PARALLEL_REQUESTS;
    Candidate {
        worker: worker.snapshot.worker_id.clone(),
        start_seconds: start,
        finish_seconds: start.max(download) + inference.max(upload),
        priority: worker.snapshot.priority,
    }
}

/// Chooses a worker for a job, if one can take it now. Cost: one pass over the fleet, and one over those that can take it.
pub fn decide(fleet: &Fleet, request: &JobRequest, policy: Policy) -> Option<Decision> {
    let estimate = |candidate: &Candidate| match policy {
        Policy::EarliestStart => candidate.start_seconds,
        Policy::EarliestFinish => candidate.finish_seconds,
    };
    let mut able: Vec<(&Worker, Candidate)> = fleet
        .iter()
        .filter(|worker| worker.can_take(request))
        .map(|worker| (worker, candidate(worker, request)))
        .collect();
    let soonest = able.iter().map(|(_, candidate)| estimate(candidate)).min_by(f64::total_cmp)?;
    let ties = |candidate: &Candidate| estimate(candidate) <= soonest + TIE_SECONDS;
    let tied: Vec<&(&Worker, Candidate)> = able.iter().filter(|(_, candidate)| ties(candidate)).collect();
    let top = tied.iter().map(|(_, candidate)| candidate.priority).max()?;
    let highest: Vec<&Worker> =
        tied.iter().filter(|(_, candidate)| candidate.priority == top).map(|(worker, _)| *worker).collect();
    // Longest idle first; names decide at last, so that the same state gives the same choice.
    let chosen = highest.iter().min_by(|a, b| {
        (a.snapshot.idle_since, &a.snapshot.worker_id).cmp(&(b.snapshot.idle_since, &b.snapshot.worker_id))
    })?;
    let decided_by = match (able.len(), tied.len(), highest.len()) {
        (1, ..) => DecidedBy::OnlyCandidate,
        (_, 1, _) => DecidedBy::Soonest,
        (_, _, 1) => DecidedBy::WorkerPriority,
        _ => DecidedBy::LongestIdle,
    };
    let (chosen, considered) = (chosen.snapshot.worker_id.clone(), able.len());
    if able.len() > MAX_CANDIDATES_KEPT {
        able.select_nth_unstable_by(MAX_CANDIDATES_KEPT, |(_, a), (_, b)| {
            estimate(a).total_cmp(&estimate(b))
        });
        able.truncate(MAX_CANDIDATES_KEPT);
    }
    let mut candidates: Vec<Candidate> = able.into_iter().map(|(_, candidate)| candidate).collect();
    candidates.sort_by(|a, b| estimate(a).total_cmp(&estimate(b)).then_with(|| a.worker.cmp(&b.worker)));
    Some(Decision { policy, chosen, decided_by, considered, candidates })
}
