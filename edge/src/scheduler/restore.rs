//! The scheduler as it was, after the platform took its memory away.

use shared_protocol::{
    JobId, MessageId, TimestampMs, WorkerId,
    limits::{LIVENESS_TIMEOUT, OFFER_TIMEOUT, RECONNECT_GRACE},
};

use super::fleet::{Fleet, WorkerControl, WorkerSnapshot};
use super::follow_up::FollowUp;
use super::job::{CANCEL_TIMEOUT, Job, JobState};
use super::queue::Queue;
use super::{CloseReason, Config, ConnectionId, Effect, Meta, Scheduler, Timer};

/// What the store and the open sockets have.
#[derive(Debug, Clone, Default)]
pub struct Restored {
    /// The row about the whole.
    pub meta: Meta,
    /// The live jobs, playlists included.
    pub jobs: Vec<Job>,
    /// What holds for workers.
    pub controls: Vec<WorkerControl>,
    /// Receipts that are not too old.
    pub receipts: Vec<(MessageId, TimestampMs)>,
    /// Follow-ups whose window is open: of completed jobs that ended less than the window ago.
    pub follow_ups: Vec<FollowUp>,
    /// What was kept with the sockets that are still open.
    pub connections: Vec<(ConnectionId, WorkerSnapshot)>,
    /// Sockets that are open and have not said whose they are.
    pub strangers: Vec<ConnectionId>,
}

impl Scheduler {
    /// The scheduler as it was.
    ///
    /// Workers that run jobs and have no socket get [`RECONNECT_GRACE`] to come back: a restart of the scheduler alone
    /// re-runs nothing.
    pub fn restore(config: Config, now: TimestampMs, restored: Restored) -> Self {
        let mut scheduler = Self::new(config);
        scheduler.last_sequence = restored.meta.last_sequence;
        scheduler.queue = Queue::with_clock(restored.meta.clock);
        scheduler.paused = restored.meta.paused;
        scheduler.paused_tenants = restored.meta.paused_tenants;
        scheduler.pause_notes = restored.meta.pause_notes;
        for tenant in &scheduler.paused_tenants {
            scheduler.queue.pause(tenant);
        }
        for control in &restored.controls {
            if let Some(until) = control.benched_until {
                scheduler.timers.set(Timer::BenchOver(control.worker_id.clone()), until);
            }
        }
        scheduler.fleet = Fleet::with_controls(restored.controls);
        for (message_id, at) in restored.receipts {
            scheduler.receipts.insert(message_id, at);
        }
        scheduler.arm_receipts();
        for follow_up in restored.follow_ups {
            scheduler.timers.set(Timer::FollowUpClosed(follow_up.job_id.clone()), follow_up.closes_at);
            scheduler.follow_ups.insert(follow_up.job_id.clone(), follow_up);
        }
        // Two sockets of one worker can both be open for a moment; ids grow, so the newest connects last and wins.
        let mut connections = restored.connections;
        connections.sort_by_key(|(connection, _)| *connection);
        for (connection, snapshot) in connections {
            let worker = snapshot.worker_id.clone();
            if let Some(old) = scheduler.fleet.connect(connection, snapshot, now) {
                scheduler.effects.push_back(Effect::Close { connection: old, reason: CloseReason::Replaced });
            }
            scheduler.timers.set(Timer::WorkerSilent(worker), now + LIVENESS_TIMEOUT);
        }
        for connection in restored.strangers {
            scheduler.handle_connected(now, connection);
        }
        for job in restored.jobs {
            scheduler.restore_job(job, now);
        }
        scheduler
    }

    fn restore_job(&mut self, mut job: Job, now: TimestampMs) {
        job.first_audio_at = job.first_audio_at.or(job.playlist.listed_since);
        self.last_sequence = self.last_sequence.max(job.sequence);
        match &job.state {
            JobState::Queued { not_before } if *not_before > now => {
                self.timers.set(Timer::JobMayStart(job.id.clone()), *not_before);
            }
            JobState::Queued { .. } => self.queue.insert(&job),
            JobState::Offered { worker, .. } => {
                // An offer that the old instance sent may have been accepted in between: its worker has its say first.
                self.await_worker(&worker.clone(), now);
                self.timers.set(Timer::OfferUnanswered(job.id.clone()), now + OFFER_TIMEOUT);
            }
            JobState::Running { worker } => self.await_worker(&worker.clone(), now),
            JobState::Completed | JobState::Failed | JobState::Cancelled | JobState::Quarantined => return,
        }
        if job.cancel_requested {
            self.timers.set(Timer::CancelUnconfirmed(job.id.clone()), now + CANCEL_TIMEOUT);
        }
        if let Some(worker) = job.state.worker() {
            self.held.insert(worker, &job.id);
        }
        self.jobs.insert(job.id.clone(), job);
    }

    fn await_worker(&mut self, worker: &WorkerId, now: TimestampMs) {
        if self.fleet.get(worker).is_none() {
            self.fleet.expect(worker.clone(), now);
            self.timers.set(Timer::WorkerSilent(worker.clone()), now + RECONNECT_GRACE);
        }
    }

    /// The follow-up of a job that has just been completed.
    pub(super) fn expect_follow_up(&mut self, id: &JobId, follow_up: FollowUp) {
        self.timers.set(Timer::FollowUpClosed(id.clone()), follow_up.closes_at);
        self.follow_ups.insert(id.clone(), follow_up);
    }
}
