//! A job goes to the worker whose estimate is the soonest; estimates within 10 s of the soonest tie; among those priority decides, and
//! then the longest idle one. An estimate includes what was assigned since the worker's last report.
//!
//! The decision is recomputed from what the scheduler keeps of it, and its figures are compared with what the worker said.

use std::collections::BTreeMap;

use edge::scheduler::{ConnectionId, DecidedBy, Job, Policy, Scheduler, TIE_SECONDS};
use shared_protocol::{JobId, TimestampMs, WorkerId, WorkerMessage};

use super::{Check, Fact, Moment, Verdict};

#[derive(Default)]
struct Known {
    connection: Option<ConnectionId>,
    backlog: f64,
    /// Whether the scheduler knows what was said last.
    certain: bool,
    speeds: Vec<(shared_protocol::Sampler, f64)>,
    /// Expected seconds of jobs that were assigned since the last report.
    since: BTreeMap<JobId, f64>,
}

/// See the module.
#[derive(Default)]
pub struct Routing {
    workers: BTreeMap<(usize, WorkerId), Known>,
    /// Since when each worker was offered nothing, as the scheduler believed at the end of the last turn or since.
    idle: BTreeMap<(usize, WorkerId), TimestampMs>,
}

impl Check for Routing {
    fn name(&self) -> &'static str {
        "routing"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::Heard { env, connection, worker, message } => self.hear(*env, *connection, worker, message),
            Fact::Interrupted { env } | Fact::TurnFailed { env, .. } => {
                self.workers
                    .iter_mut()
                    .filter(|((e, _), _)| e == env)
                    .for_each(|(_, known)| known.certain = false);
            }
            Fact::Restored { env, brain, .. } => self.note_idle(*env, brain),
            Fact::TurnEnded { env, brain, changed: false, .. } if self.idle.is_empty() => {
                self.note_idle(*env, brain)
            }
            Fact::TurnEnded { env, brain, .. } => self.note_new(*env, brain),
            Fact::Saved { env, before: Some(before), after, .. } => {
                if let Some(worker) = before.state.worker()
                    && after.state.worker() != Some(worker)
                    && let Some(known) = self.workers.get_mut(&(*env, worker.clone()))
                {
                    known.since.remove(&after.id);
                }
            }
            Fact::Offered { env, job, .. } => {
                self.decision_follows_the_rule(*env, job)?;
                self.figures_are_true(*env, job)?;
                let Some(worker) = job.state.worker() else { return Ok(()) };
                let key = (*env, worker.clone());
                self.idle.insert(key.clone(), moment.now);
                if let Some(known) = self.workers.get_mut(&key) {
                    let speed = known.speeds.iter().find(|(sampler, _)| *sampler == job.request.sampler);
                    let seconds =
                        job.request.expected_audio_seconds() / speed.map_or(1.0e9, |(_, speed)| *speed);
                    known.since.insert(job.id.clone(), seconds);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl Routing {
    fn hear(&mut self, env: usize, connection: ConnectionId, worker: &WorkerId, message: &WorkerMessage) {
        let known = self.workers.entry((env, worker.clone())).or_default();
        match message {
            WorkerMessage::Hello(_) => *known = Known { connection: Some(connection), ..Known::default() },
            WorkerMessage::Ready(ready) if known.connection == Some(connection) => {
                known.certain = true;
                known.backlog = sane(ready.backlog_seconds);
                known.speeds = ready.speeds.iter().map(|s| (s.sampler, s.audio_seconds_per_second)).collect();
                known.since.clear();
            }
            WorkerMessage::Ping(ping) if known.connection == Some(connection) => {
                known.backlog = sane(ping.backlog_seconds);
                known.since.clear();
            }
            _ => {}
        }
    }

    fn note_idle(&mut self, env: usize, brain: &Scheduler) {
        self.idle.retain(|(e, _), _| *e != env);
        self.note_new(env, brain);
    }

    /// A worker that connects anew begins to be idle by the scheduler's clock.
    fn note_new(&mut self, env: usize, brain: &Scheduler) {
        for worker in brain.workers() {
            let (id, since) = (&worker.snapshot.worker_id, worker.snapshot.idle_since);
            if worker.connection.is_some()
                && self.idle.get(&(env, id.clone())).is_none_or(|known| *known < since)
            {
                self.idle.insert((env, id.clone()), since);
            }
        }
    }

    fn decision_follows_the_rule(&self, env: usize, job: &Job) -> Verdict {
        let id = &job.id;
        let Some(decision) = &job.decision else { return Err(format!("{id} is offered without a decision")) };
        if job.state.worker() != Some(&decision.chosen) {
            return Err(format!(
                "{id} was decided for {} and offered to {:?}",
                decision.chosen,
                job.state.worker()
            ));
        }
        if decision.considered > decision.candidates.len() {
            return Ok(());
        }
        let seconds = |candidate: &edge::scheduler::Candidate| match decision.policy {
            Policy::EarliestStart => candidate.start_seconds,
            Policy::EarliestFinish => candidate.finish_seconds,
        };
        let soonest = decision.candidates.iter().map(seconds).fold(f64::INFINITY, f64::min);
        let tied: Vec<_> =
            decision.candidates.iter().filter(|c| seconds(c) <= soonest + TIE_SECONDS).collect();
        let top = tied.iter().map(|candidate| candidate.priority).max();
        let Some(chosen) = tied.iter().find(|candidate| candidate.worker == decision.chosen) else {
            return Err(format!(
                "{id} went to {}, which is not within {TIE_SECONDS} s of the soonest: {decision:?}",
                decision.chosen
            ));
        };
        if Some(chosen.priority) != top {
            return Err(format!(
                "{id} went to {}, whose priority is not the highest: {decision:?}",
                chosen.worker
            ));
        }
        let idle = |worker: &WorkerId| self.idle.get(&(env, worker.clone())).copied();
        for other in tied.iter().filter(|candidate| Some(candidate.priority) == top) {
            if let (Some(theirs), Some(ours)) = (idle(&other.worker), idle(&chosen.worker))
                && theirs < ours
            {
                return Err(format!(
                    "{id} went to {}, though {} was idle longer: {decision:?}",
                    chosen.worker, other.worker
                ));
            }
        }
        if decision.considered == 1 && decision.decided_by != DecidedBy::OnlyCandidate {
            return Err(format!("{id} had one candidate, and {:?} decided", decision.decided_by));
        }
        Ok(())
    }

    fn figures_are_true(&self, env: usize, job: &Job) -> Verdict {
        for candidate in job.decision.iter().flat_map(|decision| &decision.candidates) {
            let Some(known) = self.workers.get(&(env, candidate.worker.clone())) else { continue };
            if !known.certain {
                continue;
            }
            let least = known.backlog + known.since.values().sum::<f64>();
            let slack = 1.0e-6 * least.abs().max(1.0);
            if candidate.start_seconds < least - slack {
                return Err(format!(
                    "{} was expected to start {} in {} s; it reported {} s and was given {} s since",
                    candidate.worker,
                    job.id,
                    candidate.start_seconds,
                    known.backlog,
                    least - known.backlog
                ));
            }
        }
        Ok(())
    }
}

fn sane(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.max(0.0) } else { 0.0 }
}
