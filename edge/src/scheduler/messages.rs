//! What workers say, message by message.

use std::collections::BTreeMap;

use shared_protocol::{
    Accept, Ack, Attempt, Cancel, CancelReason, Cancelled, Complete, Failed, Hello, JobId, MessageId,
    PROTOCOL_VERSION, Ping, Pong, Progress, ProtocolError, Ready, Reject, SchedulerMessage, TimestampMs,
    Welcome, WorkerId, WorkerMessage,
    limits::{LIVENESS_TIMEOUT, MAX_SEGMENTS_PER_PROGRESS, MAX_SLOTS, PING_INTERVAL},
};

use super::fleet::WorkerSnapshot;
use super::job::{AfterLoss, JobProgress, JobState};
use super::{CloseReason, ConnectionId, Effect, Scheduler, Timer};

/// The optional message types that this scheduler takes.
const CAPABILITIES: [&str; 2] = ["job.stems", "job.quality"];

impl Scheduler {
    /// Handles one message of a worker.
    pub fn handle_message(&mut self, now: TimestampMs, connection: ConnectionId, message: WorkerMessage) {
        if let WorkerMessage::Hello(hello) = message {
            self.hello(now, connection, hello);
            return;
        }
        let Some(worker) = self.fleet.speaker(connection).cloned() else {
            let kind = message.kind();
            self.refuse(
                connection,
                "hello_expected",
                "the first message on a connection is hello",
                Some(kind),
            );
            return;
        };
        self.worker_is_alive(&worker, now);
        match message {
            WorkerMessage::Hello(_) => {}
            WorkerMessage::Ready(ready) => self.ready(now, &worker, connection, ready),
            WorkerMessage::Ping(ping) => self.ping(&worker, connection, &ping),
            WorkerMessage::Accept(accept) => self.accept(now, &worker, accept),
            WorkerMessage::Reject(reject) => self.reject(now, &worker, &reject),
            WorkerMessage::Progress(progress) => self.progress(now, &worker, progress),
            WorkerMessage::Complete(complete) => self.complete(now, connection, complete),
            WorkerMessage::Failed(failed) => self.failed(now, &worker, connection, failed),
            WorkerMessage::Cancelled(cancelled) => self.cancelled(now, &worker, connection, cancelled),
            // Taken and acknowledged, so that no worker keeps them for ever; nothing is made of them yet.
            WorkerMessage::Stems(stems) => self.acknowledge(connection, stems.message_id),
            WorkerMessage::Quality(quality) => self.acknowledge(connection, quality.message_id),
        }
        self.dispatch(now);
    }

    fn hello(&mut self, now: TimestampMs, connection: ConnectionId, hello: Hello) {
        if hello.protocol != PROTOCOL_VERSION {
            let text =
                format!("this scheduler speaks version {}, not {}", PROTOCOL_VERSION.0, hello.protocol.0);
            self.refuse(connection, "version_mismatch", &text, Some("hello"));
            self.effects.push_back(Effect::Close { connection, reason: CloseReason::VersionMismatch });
            return;
        }
        let worker = hello.worker_id.clone();
        let idle_since = self.fleet.get(&worker).map_or(now, |w| w.snapshot.idle_since);
        let snapshot = WorkerSnapshot {
            worker_id: hello.worker_id,
            boot_id: hello.boot_id,
            version: hello.version,
            engine: hello.engine,
            slots: hello.slots.min(MAX_SLOTS),
            // Nothing is offered before `ready`, which says what it still has.
            open_slots: 0,
            samplers: hello.samplers,
            backlog_seconds: 0.0,
            draining: false,
            idle_since,
        };
        if let Some(old) = self.fleet.connect(connection, snapshot, now) {
            self.effects.push_back(Effect::Close { connection: old, reason: CloseReason::Replaced });
        }
        self.timers.set(Timer::WorkerSilent(worker.clone()), now + LIVENESS_TIMEOUT);
        self.timers.clear(&Timer::WorkerForgotten(worker.clone()));
        self.remember(&worker);
        let welcome = Welcome {
            protocol: PROTOCOL_VERSION,
            environment: self.config.environment.clone(),
            capabilities: CAPABILITIES.map(str::to_owned).to_vec(),
            ping_interval_ms: PING_INTERVAL,
        };
        self.send(connection, SchedulerMessage::Welcome(welcome));
    }

    /// Compares what the worker has with what it should have, then takes its open slots.
    fn ready(&mut self, now: TimestampMs, worker: &WorkerId, connection: ConnectionId, ready: Ready) {
        let listed: BTreeMap<JobId, Attempt> =
            ready.job_ids.into_iter().map(|r| (r.job_id, r.attempt)).collect();
        for (id, attempt) in &listed {
            self.reconcile_listed(now, worker, connection, id, *attempt);
        }
        let held: Vec<JobId> = self.held_by(worker).map(|job| job.id.clone()).collect();
        let mut unanswered = 0;
        for id in held {
            let Some(job) = self.jobs.get(&id) else { continue };
            if listed.get(&id) == Some(&job.attempt) {
                continue;
            }
            match &job.state {
                // The offer and this message crossed: answers come in order, so it will be answered after it.
                JobState::Offered { connection: over, .. } if *over == connection => unanswered += 1,
                _ => self.attempt_was_lost(&id, now),
            }
        }
        if let Some(entry) = self.fleet.get_mut(worker) {
            let snapshot = &mut entry.snapshot;
            snapshot.open_slots = ready.slots.min(MAX_SLOTS).saturating_sub(unanswered);
            snapshot.backlog_seconds = sane_seconds(ready.backlog_seconds);
            snapshot.draining = ready.draining;
        }
        self.remember(worker);
    }

    fn reconcile_listed(
        &mut self,
        now: TimestampMs,
        worker: &WorkerId,
        connection: ConnectionId,
        id: &JobId,
        attempt: Attempt,
    ) {
        let Some(job) = self.jobs.get_mut(id) else {
            self.send_cancel(connection, id, attempt, CancelReason::Superseded);
            return;
        };
        match &job.state {
            JobState::Running { worker: w } if w == worker && job.attempt == attempt => {}
            // Its accept was lost with the connection before this one.
            JobState::Offered { worker: w, .. } if w == worker && job.attempt == attempt => {
                self.start(id, worker, now);
            }
            // Presumed lost, and nobody else has got it: it keeps it.
            JobState::Queued { .. } if job.attempt == attempt => {
                self.queue.remove(job);
                self.timers.clear(&Timer::JobMayStart(id.clone()));
                self.start(id, worker, now);
            }
            _ => {
                self.send_cancel(connection, id, attempt, CancelReason::Superseded);
                return;
            }
        }
        // A cancel that the worker never heard of.
        if self.jobs.get(id).is_some_and(|job| job.cancel_requested) {
            self.send_cancel(connection, id, attempt, CancelReason::Requested);
        }
    }

    fn ping(&mut self, worker: &WorkerId, connection: ConnectionId, ping: &Ping) {
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.snapshot.backlog_seconds = sane_seconds(ping.backlog_seconds);
        }
        self.send(connection, SchedulerMessage::Pong(Pong { sequence: ping.sequence }));
    }

    fn accept(&mut self, now: TimestampMs, worker: &WorkerId, accept: Accept) {
        let Some(job) = self.jobs.get(&accept.job_id) else {
            self.stop_attempt(worker, &accept.job_id, accept.attempt);
            return;
        };
        if job.is_running(worker, accept.attempt) {
            return;
        }
        if !job.is_held(worker, accept.attempt) {
            self.stop_attempt(worker, &accept.job_id, accept.attempt);
            return;
        }
        self.start(&accept.job_id, worker, now);
        // A cancel that was sent while the offer was on its way has reached the worker before or after its accept;
        // it answers either way.
    }

    fn start(&mut self, id: &JobId, worker: &WorkerId, now: TimestampMs) {
        self.timers.clear(&Timer::OfferUnanswered(id.clone()));
        if let Some(job) = self.jobs.get_mut(id) {
            job.run(worker.clone(), now);
            self.save(id);
        }
    }

    fn reject(&mut self, now: TimestampMs, worker: &WorkerId, reject: &Reject) {
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.snapshot.open_slots = 0;
        }
        self.remember(worker);
        let offered = self.jobs.get(&reject.job_id).is_some_and(|job| {
            job.is_held(worker, reject.attempt) && matches!(job.state, JobState::Offered { .. })
        });
        if offered {
            self.attempt_was_lost(&reject.job_id, now);
        }
    }

    fn progress(&mut self, now: TimestampMs, worker: &WorkerId, progress: Progress) {
        let id = progress.job_id;
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.is_running(worker, progress.attempt)) else {
            return;
        };
        let earlier = job.progress.as_ref();
        let audio_seconds =
            progress.audio_seconds.map(sane_seconds).or(earlier.and_then(|earlier| earlier.audio_seconds));
        let fraction = if progress.fraction.is_finite() { progress.fraction.clamp(0.0, 1.0) } else { 0.0 };
        job.progress = Some(JobProgress { phase: progress.phase, fraction, audio_seconds });
        let announced = progress.segments.len().min(MAX_SEGMENTS_PER_PROGRESS);
        let segments = progress.segments.get(..announced).unwrap_or_default();
        if job.playlist.extend(progress.attempt, segments) {
            let first_audio = job.first_audio_at.is_none();
            job.first_audio_at.get_or_insert(now);
            self.save_playlist(&id);
            if first_audio {
                self.save(&id);
            }
        }
    }

    /// Takes a result from whichever attempt of a live job brings it first: late truth wins over running again.
    fn complete(&mut self, now: TimestampMs, connection: ConnectionId, complete: Complete) {
        let id = complete.job_id;
        if let Some(job) = self.jobs.get_mut(&id)
            && complete.attempt != Attempt::NONE
            && complete.attempt <= job.attempt
        {
            let other = job.state.worker().cloned().filter(|_| job.attempt != complete.attempt);
            let current = job.attempt;
            if job.playlist.extend(complete.attempt, &complete.segments) {
                job.first_audio_at.get_or_insert(now);
            }
            job.complete(complete.attempt, complete.outcome, now);
            self.retire(&id);
            if let Some(other) = other {
                self.stop_attempt(&other, &id, current);
            }
        }
        self.acknowledge(connection, complete.message_id);
    }

    fn failed(&mut self, now: TimestampMs, worker: &WorkerId, connection: ConnectionId, failed: Failed) {
        if let Some(job) = self.jobs.get_mut(&failed.job_id).filter(|job| job.is_held(worker, failed.attempt))
        {
            let after = job.charge_failure(&failed.failure, now);
            job.failure = Some(failed.failure.clone());
            self.after_loss(&failed.job_id, after, now, || failed.failure);
        }
        self.acknowledge(connection, failed.message_id);
    }

    fn cancelled(
        &mut self,
        now: TimestampMs,
        worker: &WorkerId,
        connection: ConnectionId,
        message: Cancelled,
    ) {
        if let Some(job) =
            self.jobs.get_mut(&message.job_id).filter(|job| job.is_held(worker, message.attempt))
        {
            // A worker that stopped an attempt nobody wanted stopped counts as one that lost it.
            let after = if job.cancel_requested { AfterLoss::Cancel } else { job.charge_lost_worker(now) };
            let lost = job.workers_lost;
            self.after_loss(&message.job_id, after, now, || super::job::worker_lost_failure(lost));
        }
        self.acknowledge(connection, message.message_id);
    }

    fn acknowledge(&mut self, connection: ConnectionId, message_id: MessageId) {
        self.send(connection, SchedulerMessage::Ack(Ack { message_id }));
    }

    fn stop_attempt(&mut self, worker: &WorkerId, id: &JobId, attempt: Attempt) {
        let cancel = Cancel { job_id: id.clone(), attempt, reason: CancelReason::Superseded };
        self.send_to_worker(worker, SchedulerMessage::Cancel(cancel));
    }

    fn send_cancel(&mut self, connection: ConnectionId, id: &JobId, attempt: Attempt, reason: CancelReason) {
        self.send(connection, SchedulerMessage::Cancel(Cancel { job_id: id.clone(), attempt, reason }));
    }

    fn refuse(&mut self, connection: ConnectionId, code: &str, message: &str, regarding: Option<&str>) {
        let error = ProtocolError {
            code: code.to_owned(),
            message: message.to_owned(),
            regarding: regarding.map(str::to_owned),
        };
        self.send(connection, SchedulerMessage::Error(error));
    }
}

/// A worker's number of seconds, whatever it sent: not negative, finite.
fn sane_seconds(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.max(0.0) } else { 0.0 }
}
