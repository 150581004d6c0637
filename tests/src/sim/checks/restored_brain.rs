//! A brain that is restored right now is the brain that is there: the order of the queue, the jobs, what operators decided, the
//! workers and their open slots.

use edge::scheduler::{Job, Meta, Scheduler, WorkerSnapshot};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct RestoredBrain;

impl Check for RestoredBrain {
    fn name(&self) -> &'static str {
        "restored_brain"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        let Fact::TurnEnded { brain, restored: Some(restored), .. } = fact else { return Ok(()) };
        // A job whose start has come, and whose deadline has not been handled yet, waits in one of them only.
        let due = brain.next_deadline().is_some_and(|(at, _)| at <= moment.now);
        let order = |s: &Scheduler| s.waiting(moment.now).cloned().collect::<Vec<_>>();
        if !due && order(brain) != order(restored) {
            return Err(format!("the queue is {:?}, restored {:?}", order(brain), order(restored)));
        }
        // Figures of a decision are for people: written as text, they may lose their last digit.
        let kept = |job: &Job| Job { progress: None, decision: None, ..job.clone() };
        let jobs = |s: &Scheduler| s.jobs().map(kept).collect::<Vec<_>>();
        if let Some((was, is)) = jobs(brain).iter().zip(jobs(restored).iter()).find(|(was, is)| was != is) {
            return Err(format!("{was:?} is restored as {is:?}"));
        }
        let meta = |s: &Scheduler| Meta { last_sequence: 0, ..s.meta() };
        if meta(brain) != meta(restored) {
            return Err(format!("{:?} is restored as {:?}", meta(brain), meta(restored)));
        }
        if !brain.controls().eq(restored.controls()) {
            return Err("what operators decided about workers is restored as something else".to_owned());
        }
        let workers = |s: &Scheduler| {
            let connected = s.workers().filter(|worker| worker.connection.is_some());
            connected
                .map(|worker| (worker.connection, worker.snapshot.clone()))
                .collect::<Vec<(_, WorkerSnapshot)>>()
        };
        let (was, is) = (workers(brain), workers(restored));
        if format!("{was:?}") != format!("{is:?}") {
            return Err(format!("the connected workers {was:?} are restored as {is:?}"));
        }
        Ok(())
    }
}
