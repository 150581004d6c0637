//! What workers say, message by message.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{
    Accept, Ack, Attempt, Cancel, CancelReason, Cancelled, Complete, Failed, Hello, JobId, LinkReport,
    PROTOCOL_VERSION, Ping, Pong, Progress, ProtocolError, Ready, Reject, SchedulerMessage, TimestampMs,
    Welcome, WorkerId, WorkerMessage,
    limits::{LIVENESS_TIMEOUT, MAX_SEGMENTS_PER_PROGRESS, MAX_SLOTS, PING_INTERVAL, STEMS_WINDOW},
};

use super::announcement::{JobChange, News};
use super::fleet::WorkerSnapshot;
use super::follow_up::FollowUp;
use super::job::{JobProgress, JobState, worker_lost_failure};
use super::transition::{Reason, Step};
use super::{CloseReason, ConnectionId, Effect, Scheduler, Timer};

/// The optional message types that this scheduler takes.
const CAPABILITIES: [&str; 2] = ["job.stems", "job.quality"];

/// What a worker says of itself is kept with its socket, where 16 KB have room: characters of a text for people, labels,
/// and speeds (one for each sampler).
const MAX_LABEL_LENGTH: usize = 64;
const MAX_LABELS: usize = 16;
const MAX_SPEEDS: usize = 8;

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
        if let Some((message_id, job_id)) = message.terminal() {
            let (message_id, job_id) = (message_id.clone(), job_id.clone());
            if !self.receipts.knows(&message_id) {
                self.terminal(now, &worker, message);
                self.note_receipt(now, &message_id, job_id);
            }
            self.send(connection, SchedulerMessage::Ack(Ack { message_id }));
            self.dispatch(now);
            return;
        }
        match message {
            WorkerMessage::Hello(_) => {}
            WorkerMessage::Ready(ready) => self.ready(now, &worker, connection, ready),
            // The two that come often open no slot and queue nothing.
            WorkerMessage::Ping(ping) => {
                self.ping(&worker, connection, &ping);
                return self.dispatch_if_owed(now);
            }
            WorkerMessage::Accept(accept) => self.accept(now, &worker, accept),
            WorkerMessage::Reject(reject) => self.reject(now, &worker, &reject),
            WorkerMessage::Progress(progress) => {
                self.progress(now, &worker, progress);
                return self.dispatch_if_owed(now);
            }
            // Terminal ones were handled above.
            WorkerMessage::Complete(_)
            | WorkerMessage::Failed(_)
            | WorkerMessage::Cancelled(_)
            | WorkerMessage::Stems(_)
            | WorkerMessage::Quality(_) => {}
        }
        self.dispatch(now);
    }

    fn terminal(&mut self, now: TimestampMs, worker: &WorkerId, message: WorkerMessage) {
        match message {
            WorkerMessage::Complete(complete) => self.complete(now, worker, complete),
            WorkerMessage::Failed(failed) => self.failed(now, worker, failed),
            WorkerMessage::Cancelled(cancelled) => self.cancelled(now, worker, &cancelled),
            WorkerMessage::Stems(stems) => {
                let take = |f: &mut FollowUp| f.take_stems(stems.attempt, stems.files, stems.failure);
                self.follow(now, &stems.job_id, News::Stems, take);
            }
            WorkerMessage::Quality(quality) => {
                self.follow(now, &quality.job_id, News::Quality, |f| f.take_quality(quality.scores));
            }
            WorkerMessage::Hello(_)
            | WorkerMessage::Ready(_)
            | WorkerMessage::Ping(_)
            | WorkerMessage::Accept(_)
            | WorkerMessage::Reject(_)
            | WorkerMessage::Progress(_) => {}
        }
    }

    fn follow(
        &mut self,
        now: TimestampMs,
        id: &JobId,
        news: impl FnOnce(Box<FollowUp>) -> News,
        take: impl FnOnce(&mut FollowUp) -> bool,
    ) {
        if let Some(follow_up) = self.follow_ups.get_mut(id)
            && take(follow_up)
        {
            let follow_up = Box::new(follow_up.clone());
            self.effects.push_back(Effect::SaveFollowUp(follow_up.clone()));
            self.announce_news(now, news(follow_up));
        }
    }

    fn hello(&mut self, now: TimestampMs, connection: ConnectionId, hello: Hello) {
        self.timers.clear(&Timer::HelloDue(connection));
        if hello.protocol != PROTOCOL_VERSION {
            let text =
                format!("this scheduler speaks version {}, not {}", PROTOCOL_VERSION.0, hello.protocol.0);
            self.refuse(connection, "version_mismatch", &text, Some("hello"));
            self.effects.push_back(Effect::Close { connection, reason: CloseReason::VersionMismatch });
            return;
        }
        let worker = hello.worker_id.clone();
        let earlier = self.fleet.get(&worker).map(|w| &w.snapshot);
        let idle_since = earlier.map_or(now, |earlier| earlier.idle_since);
        // A reconnect never lowers a known backlog; its `ready` says what is left of it.
        let same_boot = earlier.filter(|earlier| earlier.boot_id == hello.boot_id);
        let backlog_seconds = same_boot.map_or(0.0, |earlier| earlier.backlog_seconds);
        let in_flight = same_boot.map(|earlier| earlier.in_flight.clone()).unwrap_or_default();
        let link = same_boot.map(|earlier| earlier.link).unwrap_or_default();
        let snapshot = WorkerSnapshot {
            worker_id: hello.worker_id,
            boot_id: hello.boot_id,
            version: short(&hello.version),
            engine: short(&hello.engine),
            slots: hello.slots.min(MAX_SLOTS),
            // Nothing is offered before `ready`, which says what it still has.
            open_slots: 0,
            samplers: hello.samplers.into_iter().collect::<BTreeSet<_>>().into_iter().collect(),
            labels: hello.labels.iter().take(MAX_LABELS).map(|label| short(label)).collect(),
            priority: hello.priority,
            backlog_seconds,
            speeds: Vec::new(),
            link,
            draining: false,
            idle_since,
            in_flight,
        };
        if let Some(old) = self.fleet.connect(connection, snapshot, now) {
            self.effects.push_back(Effect::Close { connection: old, reason: CloseReason::Replaced });
        }
        self.timers.set(Timer::WorkerSilent(worker.clone()), now + LIVENESS_TIMEOUT);
        self.timers.clear(&Timer::WorkerForgotten(worker.clone()));
        self.touch(&worker);
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
                _ => self.attempt_was_lost(&id, Reason::NotListed, now),
            }
        }
        self.report_includes_what_was_answered(worker);
        if let Some(entry) = self.fleet.get_mut(worker) {
            let snapshot = &mut entry.snapshot;
            snapshot.link = ready.link.map_or(snapshot.link, LinkReport::sane);
            snapshot.speeds = ready.speeds;
            snapshot.speeds.truncate(MAX_SPEEDS);
            snapshot.open_slots = ready.slots.min(MAX_SLOTS).saturating_sub(unanswered);
            snapshot.backlog_seconds = sane_seconds(ready.backlog_seconds);
            snapshot.draining = ready.draining;
        }
        self.touch(worker);
    }

    /// Messages come in order: what a worker answered before this report is in it, what it has not answered is not.
    fn report_includes_what_was_answered(&mut self, worker: &WorkerId) {
        let Some(entry) = self.fleet.get(worker) else { return };
        let unanswered = |id: &JobId| {
            self.jobs.get(id).is_some_and(|job| {
                matches!(&job.state, JobState::Offered { worker: w, connection, .. }
                    if w == worker && Some(*connection) == entry.connection)
            })
        };
        let answered: Vec<JobId> =
            entry.snapshot.in_flight.keys().filter(|id| !unanswered(id)).cloned().collect();
        if let Some(entry) = self.fleet.get_mut(worker) {
            for id in answered {
                entry.snapshot.in_flight.remove(&id);
            }
        }
        self.touch(worker);
    }

    fn reconcile_listed(
        &mut self,
        now: TimestampMs,
        worker: &WorkerId,
        connection: ConnectionId,
        id: &JobId,
        attempt: Attempt,
    ) {
        let Some(job) = self.jobs.get(id) else {
            self.send_cancel(connection, id, attempt, CancelReason::Superseded);
            return;
        };
        match &job.state {
            JobState::Running { worker: w } if w == worker && job.attempt == attempt => {}
            // Its accept was lost with the connection before this one.
            JobState::Offered { worker: w, .. } if w == worker && job.attempt == attempt => {
                self.step(now, id, attempt, Step::Run { worker: worker.clone() }, Reason::ListedByWorker);
            }
            // Presumed lost, and nobody else has got it: it keeps it.
            JobState::Queued { .. } if job.attempt == attempt => {
                self.step(now, id, attempt, Step::Run { worker: worker.clone() }, Reason::KeptByWorker);
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
        self.report_includes_what_was_answered(worker);
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.snapshot.backlog_seconds = sane_seconds(ping.backlog_seconds);
        }
        self.send(connection, SchedulerMessage::Pong(Pong { sequence: ping.sequence }));
    }

    fn accept(&mut self, now: TimestampMs, worker: &WorkerId, accept: Accept) {
        let Accept { job_id: id, attempt } = accept;
        if self.jobs.get(&id).is_some_and(|job| job.is_running(worker, attempt)) {
            return;
        }
        // An answer that comes after its time still counts when nobody else has got the job: it is running there.
        let reason = match self.jobs.get(&id).map(|job| &job.state) {
            Some(JobState::Queued { .. }) => Reason::KeptByWorker,
            _ => Reason::Accepted,
        };
        if !self.step(now, &id, attempt, Step::Run { worker: worker.clone() }, reason) {
            self.stop_attempt(worker, &id, attempt);
        }
        // A cancel that was sent while the offer was on its way reaches the worker behind it: it answers to it.
    }

    fn reject(&mut self, now: TimestampMs, worker: &WorkerId, reject: &Reject) {
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.snapshot.open_slots = 0;
        }
        self.touch(worker);
        let offered = self.jobs.get(&reject.job_id).is_some_and(|job| {
            job.is_held(worker, reject.attempt) && matches!(job.state, JobState::Offered { .. })
        });
        if offered {
            self.attempt_was_lost(&reject.job_id, Reason::Rejected, now);
        }
    }

    fn progress(&mut self, now: TimestampMs, worker: &WorkerId, progress: Progress) {
        let id = progress.job_id;
        if self.jobs.get(&id).is_some_and(|job| job.is_held(worker, progress.attempt)) {
            // Whoever reports progress runs it: its accept was lost with a turn that failed. No step when it runs already.
            let step = Step::Run { worker: worker.clone() };
            self.step(now, &id, progress.attempt, step, Reason::ListedByWorker);
        }
        let Some(job) = self.jobs.get_mut(&id).filter(|job| job.is_running(worker, progress.attempt)) else {
            return;
        };
        let earlier = job.progress.as_ref();
        let audio_seconds =
            progress.audio_seconds.map(sane_seconds).or(earlier.and_then(|earlier| earlier.audio_seconds));
        let fraction = if progress.fraction.is_finite() { progress.fraction.clamp(0.0, 1.0) } else { 0.0 };
        let change = JobChange::of_report(earlier, progress.phase, now);
        let announced_at = earlier.filter(|_| change.is_none()).map_or(now, |earlier| earlier.announced_at);
        job.progress = Some(JobProgress { phase: progress.phase, fraction, audio_seconds, announced_at });
        let announced = progress.segments.len().min(MAX_SEGMENTS_PER_PROGRESS);
        let segments = progress.segments.get(..announced).unwrap_or_default();
        let grew = job.playlist.extend(progress.attempt, segments);
        let first_audio = grew && job.first_audio_at.is_none();
        if grew {
            let since = *job.first_audio_at.get_or_insert(now);
            job.playlist.listed_since.get_or_insert(since);
            self.save_playlist(&id);
        }
        if let Some(change) = change {
            self.announce(now, &id, change);
        }
        if first_audio {
            self.announce(now, &id, JobChange::Playable);
        }
    }

    /// Takes a result from whichever attempt of a live job brings it first: late truth wins over running again.
    fn complete(&mut self, now: TimestampMs, worker: &WorkerId, complete: Complete) {
        let Complete { job_id: id, attempt, segments, outcome, .. } = complete;
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.breaker.succeeded();
        }
        let Some(job) = self.jobs.get_mut(&id) else { return };
        if attempt == Attempt::NONE || attempt > job.attempt {
            return;
        }
        let late = !job.is_held(worker, attempt);
        let other = job.state.worker().cloned().filter(|_| job.attempt != attempt);
        let current = job.attempt;
        let follow_up = FollowUp::on(job, attempt, now + STEMS_WINDOW);
        if job.playlist.extend(attempt, &segments) && job.first_audio_at.is_none() {
            job.first_audio_at = Some(now);
            self.announce(now, &id, JobChange::Playable);
        }
        let reason = if late { Reason::CompletedLate } else { Reason::Completed };
        if !self.step(now, &id, attempt, Step::Complete { outcome: Box::new(outcome) }, reason) {
            return;
        }
        self.expect_follow_up(&id, follow_up);
        if let Some(other) = other {
            self.stop_attempt(&other, &id, current);
        }
    }

    fn failed(&mut self, now: TimestampMs, worker: &WorkerId, failed: Failed) {
        let Some(job) = self.jobs.get_mut(&failed.job_id).filter(|job| job.is_held(worker, failed.attempt))
        else {
            return;
        };
        let after = job.charge_failure(&failed.failure, now);
        job.failure = Some(failed.failure.clone());
        let code = failed.failure.code;
        self.after_loss(&failed.job_id, after, Reason::RetryableFailure, failed.failure, now);
        let bench = self.fleet.get_mut(worker).and_then(|entry| entry.breaker.failed(code));
        if let Some(time) = bench {
            self.bench(now, worker, time, "failed job after job");
        }
    }

    fn cancelled(&mut self, now: TimestampMs, worker: &WorkerId, message: &Cancelled) {
        let Some(job) = self.jobs.get_mut(&message.job_id).filter(|job| job.is_held(worker, message.attempt))
        else {
            return;
        };
        if job.cancel_requested {
            self.end_cancelled(&message.job_id, Reason::Cancelled, now);
            return;
        }
        // A worker that stopped an attempt nobody wanted stopped counts as one that lost it.
        let after = job.charge_lost_worker(now);
        let failure = worker_lost_failure(job.workers_lost);
        self.after_loss(&message.job_id, after, Reason::StoppedByWorker, failure, now);
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

/// A text for people, cut to what fits beside a socket.
fn short(text: &str) -> String {
    text.chars().take(MAX_LABEL_LENGTH).collect()
}

/// A worker's number of seconds, whatever it sent: not negative, finite.
fn sane_seconds(seconds: f64) -> f64 {
    if seconds.is_finite() { seconds.max(0.0) } else { 0.0 }
}
