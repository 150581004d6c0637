//! Which worker gets a job: the one where its inference would start first.

use shared_protocol::{Sampler, WorkerId};

use super::fleet::{Fleet, Worker};

/// Starts within so many seconds of the soonest one count as equal. They are judged against the soonest, never against
/// the best so far: 0, 9 and 18 s must not tie in turn.
pub const TIE_SECONDS: f64 = 10.0;

/// The worker for a job, if one can take it now. Cost: two passes over the fleet.
pub fn choose(fleet: &Fleet, sampler: Sampler) -> Option<&WorkerId> {
    let candidates = || fleet.iter().filter(|worker| worker.can_take(sampler));
    let soonest = candidates().map(start_seconds).min_by(f64::total_cmp)?;
    candidates()
        .filter(|worker| start_seconds(worker) <= soonest + TIE_SECONDS)
        // Longest idle first; names decide at last, so that the same state gives the same choice.
        .min_by(|a, b| {
            (a.snapshot.idle_since, &a.snapshot.worker_id)
                .cmp(&(b.snapshot.idle_since, &b.snapshot.worker_id))
        })
        .map(|worker| &worker.snapshot.worker_id)
}

fn start_seconds(worker: &Worker) -> f64 {
    worker.snapshot.backlog_seconds
}
