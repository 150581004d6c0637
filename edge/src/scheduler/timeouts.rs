//! What happens when something did not happen.

use shared_protocol::{
    Attempt, DurationMs, JobFailure, JobId, TimestampMs, WorkerId,
    limits::{LIVENESS_TIMEOUT, PING_INTERVAL},
};

use super::fleet::FORGET_AFTER;
use super::job::{AfterLoss, JobState, worker_lost_failure};
use super::transition::{Reason, Step};
use super::{CloseReason, ConnectionId, Effect, Scheduler, Timer};

/// A connection that has not said `hello` within this time is closed: it costs memory, and no worker waits so long.
pub const HELLO_TIMEOUT: DurationMs = DurationMs::from_secs(10);

/// A deadline that is handled so late tells that the scheduler itself stood still: what its workers said meanwhile may wait to
/// be heard.
pub const STOOD_STILL: DurationMs = DurationMs::from_secs(2);

/// Between two times of hearing everybody out: alarms that are always late must not keep the dead alive.
const HEAR_OUT_AGAIN: DurationMs = DurationMs::from_secs(60);

impl Scheduler {
    /// Handles every deadline that is due, then offers what became free.
    pub fn handle_deadline(&mut self, now: TimestampMs) {
        let hears_out = self.hears_out(now);
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                timer if hears_out && timer.waits_for_word() => self.timers.set(timer, now + PING_INTERVAL),
                Timer::WorkerSilent(worker) => self.worker_is_gone(&worker, now),
                Timer::WorkerForgotten(worker) => self.fleet.forget(&worker),
                Timer::OfferUnanswered(job) => self.offer_came_to_nothing(&job, now),
                Timer::JobMayStart(id) => self.job_may_start(&id),
                Timer::CancelUnconfirmed(job) => self.end_cancelled(&job, Reason::CancelUnconfirmed, now),
                Timer::BenchOver(worker) => self.unbench(now, &worker),
                Timer::FollowUpClosed(job) => {
                    self.follow_ups.remove(&job);
                }
                Timer::HelloDue(connection) => {
                    self.effects.push_back(Effect::Close { connection, reason: CloseReason::NoHello });
                }
                Timer::ReceiptsDue => {
                    let pruned = self.receipts.prune(now);
                    self.effects.push_back(Effect::DropReceipts(pruned));
                    self.arm_receipts();
                }
            }
        }
        self.dispatch(now);
    }

    fn job_may_start(&mut self, id: &JobId) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        let begun = job.attempt != Attempt::NONE;
        let start = self.queue.virtual_start(job);
        // One that comes back keeps its place; a new one begins to wait only now.
        let moved = !begun && start > job.virtual_start;
        if moved {
            job.virtual_start = start;
        }
        self.queue.insert(job);
        if moved {
            self.save(id);
        }
    }

    /// A connection was made. It has to say who it is soon.
    pub fn handle_connected(&mut self, now: TimestampMs, connection: ConnectionId) {
        self.timers.set(Timer::HelloDue(connection), now + HELLO_TIMEOUT);
    }

    /// The connection of a worker has ended. Its jobs stay its own until it was silent for too long: most come back at once.
    pub fn handle_closed(&mut self, now: TimestampMs, connection: ConnectionId) {
        self.timers.clear(&Timer::HelloDue(connection));
        let Some(worker) = self.fleet.disconnect(connection) else { return };
        let last_seen = self.fleet.get(&worker).map_or(now, |w| w.last_seen);
        self.timers.set(Timer::WorkerSilent(worker), (last_seen + LIVENESS_TIMEOUT).max(now));
    }

    /// Notes a sign of life.
    pub(super) fn worker_is_alive(&mut self, worker: &WorkerId, now: TimestampMs) {
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.last_seen = now;
            self.timers.set(Timer::WorkerSilent(worker.clone()), now + LIVENESS_TIMEOUT);
            self.timers.clear(&Timer::WorkerForgotten(worker.clone()));
        }
    }

    /// Whether everybody who did not answer in time gets the time of one ping more, because the scheduler stood still.
    fn hears_out(&mut self, now: TimestampMs) -> bool {
        let late = self.timers.next().is_some_and(|(at, _)| now - at > STOOD_STILL);
        let hears_out = late && self.heard_out_at.is_none_or(|at| now - at > HEAR_OUT_AGAIN);
        if hears_out {
            self.heard_out_at = Some(now);
        }
        hears_out
    }

    fn worker_is_gone(&mut self, worker: &WorkerId, now: TimestampMs) {
        if let Some(connection) = self.fleet.get(worker).and_then(|w| w.connection) {
            self.fleet.disconnect(connection);
            self.effects.push_back(Effect::Close { connection, reason: CloseReason::Silent });
        }
        let held: Vec<JobId> = self.held_by(worker).map(|job| job.id.clone()).collect();
        for id in held {
            self.attempt_was_lost(&id, Reason::WorkerSilent, now);
        }
        self.timers.set(Timer::WorkerForgotten(worker.clone()), now + FORGET_AFTER);
    }

    /// A worker no longer has an attempt that it should have.
    pub(super) fn attempt_was_lost(&mut self, id: &JobId, reason: Reason, now: TimestampMs) {
        let Some(job) = self.jobs.get_mut(id) else { return };
        // An offer that nobody accepted was never run: it costs the job nothing.
        let after = match job.state {
            JobState::Offered { .. } if job.cancel_requested => AfterLoss::Cancel,
            JobState::Offered { .. } => AfterLoss::Requeue(now),
            JobState::Running { .. } => job.charge_lost_worker(now),
            _ => return,
        };
        let failure = worker_lost_failure(job.workers_lost);
        self.after_loss(id, after, reason, failure, now);
    }

    pub(super) fn after_loss(
        &mut self,
        id: &JobId,
        after: AfterLoss,
        reason: Reason,
        failure: JobFailure,
        now: TimestampMs,
    ) {
        let Some(job) = self.jobs.get(id) else { return };
        let attempt = job.attempt;
        match after {
            AfterLoss::Requeue(not_before) => {
                self.step(now, id, attempt, Step::Return { not_before }, reason);
            }
            AfterLoss::Cancel => self.end_cancelled(id, Reason::CancelUnconfirmed, now),
            AfterLoss::Fail(reason) => {
                self.step(now, id, attempt, Step::Fail { failure }, reason);
            }
            AfterLoss::Quarantine => {
                self.step(now, id, attempt, Step::Quarantine { failure }, Reason::WorkersUsedUp);
            }
        }
    }

    pub(super) fn end_cancelled(&mut self, id: &JobId, reason: Reason, now: TimestampMs) {
        let Some(attempt) = self.jobs.get(id).map(|job| job.attempt) else { return };
        self.step(now, id, attempt, Step::Cancel, reason);
    }

    fn offer_came_to_nothing(&mut self, id: &JobId, now: TimestampMs) {
        let Some(job) = self.jobs.get(id) else { return };
        let JobState::Offered { worker, .. } = &job.state else { return };
        let worker = worker.clone();
        // A worker that is away may have accepted it: its own deadline decides, or its next `ready`.
        if self.fleet.get(&worker).is_some_and(|w| w.connection.is_none()) {
            return;
        }
        // Whatever it counts as open it did not answer for: nothing new until it says `ready` again.
        if let Some(entry) = self.fleet.get_mut(&worker) {
            entry.snapshot.open_slots = 0;
        }
        self.attempt_was_lost(id, Reason::OfferUnanswered, now);
        self.touch(&worker);
    }
}
