//! A scheduler, a clock, and the words of workers.

use edge::scheduler::{
    Announcement, AuditEntry, Config, ConnectionId, Effect, FollowUp, Job, JobRequest, Meta, NewJob, Offer,
    Restored, Scheduler, SubmitError, Submitted, WorkerControl, WorkerSnapshot,
};
use shared_protocol::*;
use std::collections::BTreeMap;

pub struct Rig {
    pub now: TimestampMs,
    pub scheduler: Scheduler,
    /// The rows, as the store would hold them.
    pub rows: BTreeMap<JobId, Job>,
    pub meta: Meta,
    pub controls: BTreeMap<WorkerId, WorkerControl>,
    pub receipts: BTreeMap<MessageId, TimestampMs>,
    pub follow_ups: BTreeMap<JobId, FollowUp>,
    /// What was kept with each open socket.
    pub sockets: BTreeMap<ConnectionId, Option<WorkerSnapshot>>,
    pub sent: Vec<(ConnectionId, SchedulerMessage)>,
    pub offers: Vec<(ConnectionId, Offer)>,
    pub closed: Vec<ConnectionId>,
    pub announced: Vec<Announcement>,
    pub audit: Vec<AuditEntry>,
    next_id: u64,
}

pub fn job_id(n: u64) -> JobId {
    JobId::new(format!("job_{n:06}")).unwrap()
}

pub fn request() -> JobRequest {
    JobRequest {
        source: Source { upload_id: UploadId::new("upl_1").unwrap(), name: "talk.wav".into(), size: 1000 },
        content_type: None,
        sampler: Sampler::Flash,
        outputs: vec![OutputKind::Hls, OutputKind::Wav],
        priority: Priority::Normal,
        metadata: BTreeMap::new(),
        not_before: None,
        labels: vec![],
        expected_seconds: None,
        generation: None,
        webhook: None,
    }
}

pub fn outcome() -> JobOutcome {
    JobOutcome {
        files: vec![],
        hls_segments: 0,
        audio_seconds: 10.0,
        channels: 1,
        real_time_factor: 0.03,
        timings: vec![],
    }
}

pub fn segments(range: std::ops::Range<u32>) -> Vec<HlsSegment> {
    range.map(|sequence| HlsSegment { sequence, duration_ms: DurationMs(2000), size: 9 }).collect()
}

impl Rig {
    pub fn new() -> Self {
        Self::with(Config::default())
    }

    pub fn with(config: Config) -> Self {
        Self {
            now: TimestampMs(1_000_000),
            scheduler: Scheduler::new(config),
            rows: BTreeMap::new(),
            meta: Meta::default(),
            controls: BTreeMap::new(),
            receipts: BTreeMap::new(),
            follow_ups: BTreeMap::new(),
            sockets: BTreeMap::new(),
            sent: vec![],
            offers: vec![],
            closed: vec![],
            announced: vec![],
            audit: vec![],
            next_id: 0,
        }
    }

    /// Does what the shell does after every input.
    pub fn settle(&mut self) {
        while let Some(effect) = self.scheduler.poll_effect() {
            match effect {
                Effect::SaveJob(job) => {
                    let playlist = self.rows.get(&job.id).map(|old| old.playlist.clone()).unwrap_or_default();
                    let mut row = *job;
                    row.progress = None;
                    row.playlist = playlist;
                    self.rows.insert(row.id.clone(), row);
                }
                Effect::SavePlaylist { job_id, playlist } => {
                    self.rows.get_mut(&job_id).expect("the job's row comes first").playlist = playlist;
                }
                Effect::SaveMeta(meta) => self.meta = *meta,
                Effect::SaveControl { worker, control } => {
                    match control {
                        Some(control) => self.controls.insert(worker, control),
                        None => self.controls.remove(&worker),
                    };
                }
                Effect::SaveReceipt { message_id, at, .. } => {
                    self.receipts.insert(message_id, at);
                }
                Effect::DropReceipts(ids) => {
                    for id in ids {
                        self.receipts.remove(&id);
                    }
                }
                Effect::SaveFollowUp(follow_up) => {
                    self.follow_ups.insert(follow_up.job_id.clone(), *follow_up);
                }
                Effect::Remember { connection, snapshot } => {
                    self.sockets.insert(connection, Some(*snapshot));
                }
                Effect::Announce(announcement) => self.announced.push(announcement),
                Effect::SaveAudit(entry) => self.audit.push(*entry),
                Effect::Offer { connection, offer } => self.offers.push((connection, *offer)),
                Effect::Send { connection, message } => self.sent.push((connection, message)),
                Effect::Close { connection, .. } => {
                    self.sockets.remove(&connection);
                    self.closed.push(connection);
                }
            }
        }
        self.scheduler.check_invariants().unwrap();
    }

    /// Lets time pass, deadline by deadline, as the alarm would.
    pub fn pass(&mut self, ms: u64) {
        let until = TimestampMs(self.now.0 + ms);
        while let Some((at, _)) = self.scheduler.next_deadline().filter(|(at, _)| *at <= until) {
            self.now = self.now.max(at);
            self.scheduler.handle_deadline(self.now);
            self.settle();
        }
        self.now = until;
    }

    /// Time passes, and only then whatever was due is handled.
    pub fn stand_still(&mut self, ms: u64) {
        self.now = TimestampMs(self.now.0 + ms);
        self.scheduler.handle_deadline(self.now);
        self.settle();
    }

    pub fn submit(&mut self) -> JobId {
        self.try_submit().unwrap()
    }

    pub fn try_submit(&mut self) -> Result<JobId, SubmitError> {
        self.next_id += 1;
        let new = NewJob {
            id: job_id(self.next_id),
            tenant: TenantId::new("acme").unwrap(),
            request: request(),
            idempotency_key: None,
        };
        let submitted = self.scheduler.submit(self.now, new, None)?;
        self.settle();
        match submitted {
            Submitted::New(id) | Submitted::Known(id) => Ok(id),
        }
    }

    pub fn submit_as(&mut self, tenant: &str, request: JobRequest) -> JobId {
        self.next_id += 1;
        let (id, tenant) = (job_id(self.next_id), TenantId::new(tenant).unwrap());
        let new = NewJob { id: id.clone(), tenant, request, idempotency_key: None };
        self.scheduler.submit(self.now, new, None).unwrap();
        self.settle();
        id
    }

    pub fn worker(&self, name: &str) -> &edge::scheduler::Worker {
        self.scheduler.workers().find(|w| w.snapshot.worker_id.as_str() == name).unwrap()
    }

    pub fn say(&mut self, connection: u64, message: WorkerMessage) {
        self.scheduler.handle_message(self.now, ConnectionId(connection), message);
        self.settle();
    }

    pub fn hello(&mut self, connection: u64, worker: &str) {
        self.hello_after_boot(connection, worker, "boot-1");
    }

    pub fn hello_after_boot(&mut self, connection: u64, worker: &str, boot: &str) {
        self.sockets.insert(ConnectionId(connection), None);
        self.say(
            connection,
            WorkerMessage::Hello(Hello {
                protocol: PROTOCOL_VERSION,
                worker_id: WorkerId::new(worker).unwrap(),
                boot_id: BootId::new(boot).unwrap(),
                version: "0.1.0".into(),
                slots: 6,
                samplers: vec![Sampler::Flash],
                engine: "onnx-cpu".into(),
                labels: vec![],
                priority: 0,
            }),
        );
    }

    pub fn ready(&mut self, connection: u64, slots: u32, running: &[(&JobId, u32)]) {
        let job_ids = running
            .iter()
            .map(|(id, n)| RunningAttempt { job_id: (*id).clone(), attempt: Attempt(*n) })
            .collect();
        let ready =
            Ready { slots, job_ids, backlog_seconds: 0.0, draining: false, speeds: vec![], link: None };
        self.say(connection, WorkerMessage::Ready(ready));
    }

    pub fn ping(&mut self, connection: u64) {
        self.say(connection, WorkerMessage::Ping(Ping { sequence: 1, backlog_seconds: 0.0 }));
    }

    pub fn accept(&mut self, connection: u64, job: &JobId, attempt: u32) {
        self.say(
            connection,
            WorkerMessage::Accept(Accept { job_id: job.clone(), attempt: Attempt(attempt) }),
        );
    }

    pub fn reject(&mut self, connection: u64, job: &JobId, attempt: u32) {
        let reject = Reject { job_id: job.clone(), attempt: Attempt(attempt), reason: RejectReason::NoSlot };
        self.say(connection, WorkerMessage::Reject(reject));
    }

    pub fn progress(&mut self, connection: u64, job: &JobId, attempt: u32, segments: Vec<HlsSegment>) {
        self.say(
            connection,
            WorkerMessage::Progress(Progress {
                job_id: job.clone(),
                attempt: Attempt(attempt),
                phase: Phase::Restoring,
                fraction: 0.5,
                audio_seconds: Some(10.0),
                segments,
            }),
        );
    }

    pub fn complete(&mut self, connection: u64, job: &JobId, attempt: u32) {
        self.say(
            connection,
            WorkerMessage::Complete(Complete {
                message_id: MessageId::new(format!("msg-{job}-{attempt}")).unwrap(),
                job_id: job.clone(),
                attempt: Attempt(attempt),
                segments: vec![],
                outcome: outcome(),
            }),
        );
    }

    pub fn fail(&mut self, connection: u64, job: &JobId, attempt: u32, code: FailureCode) {
        self.say(
            connection,
            WorkerMessage::Failed(Failed {
                message_id: MessageId::new(format!("msg-{job}-{attempt}")).unwrap(),
                job_id: job.clone(),
                attempt: Attempt(attempt),
                failure: JobFailure::new(code, "as the test wants it"),
            }),
        );
    }

    pub fn cancelled(&mut self, connection: u64, job: &JobId, attempt: u32) {
        self.say(
            connection,
            WorkerMessage::Cancelled(Cancelled {
                message_id: MessageId::new(format!("msg-{job}-{attempt}")).unwrap(),
                job_id: job.clone(),
                attempt: Attempt(attempt),
            }),
        );
    }

    pub fn close(&mut self, connection: u64) {
        self.sockets.remove(&ConnectionId(connection));
        self.scheduler.handle_closed(self.now, ConnectionId(connection));
        self.settle();
    }

    /// The object loses its memory. `sockets_survive`: hibernation; otherwise a deploy.
    pub fn evict(&mut self, sockets_survive: bool) {
        if !sockets_survive {
            self.sockets.clear();
        }
        let restored = self.restored();
        self.scheduler = Scheduler::restore(self.scheduler.config().clone(), self.now, restored);
        self.settle();
    }

    /// What the store and the open sockets hold.
    pub fn restored(&self) -> Restored {
        let window = shared_protocol::limits::STEMS_WINDOW;
        let mut meta = self.meta.clone();
        meta.last_sequence = self.rows.values().map(|job| job.sequence).max().unwrap_or(0);
        let follow_ups = self
            .rows
            .values()
            .filter_map(|job| {
                let closes_at = job.ended_at? + window;
                let new = FollowUp::new(job.id.clone(), job.tenant.clone(), job.accepted?, closes_at);
                Some(self.follow_ups.get(&job.id).cloned().unwrap_or(new))
            })
            .filter(|follow_up| follow_up.closes_at > self.now)
            .collect();
        Restored {
            meta,
            jobs: self.rows.values().filter(|job| !job.state.is_ended()).cloned().collect(),
            controls: self.controls.values().cloned().collect(),
            receipts: self.receipts.iter().map(|(id, at)| (id.clone(), *at)).collect(),
            follow_ups,
            connections: self.sockets.iter().filter_map(|(id, kept)| Some((*id, kept.clone()?))).collect(),
            strangers: vec![],
        }
    }

    pub fn state(&self, job: &JobId) -> &'static str {
        let row = self.rows[job].state.name();
        let live = self.scheduler.job(job).map(|job| job.state.name());
        assert_eq!(live.unwrap_or(row), row, "memory and store agree about {job}");
        row
    }

    /// The offers since the last call: connection, job, attempt.
    pub fn take_offers(&mut self) -> Vec<(u64, JobId, u32)> {
        self.offers.drain(..).map(|(c, offer)| (c.0, offer.job_id, offer.attempt.0)).collect()
    }

    pub fn acks(&self) -> usize {
        self.sent.iter().filter(|(_, m)| matches!(m, SchedulerMessage::Ack(_))).count()
    }

    /// The cancels since the beginning: connection, job, attempt, reason.
    pub fn cancels(&self) -> Vec<(u64, JobId, u32, CancelReason)> {
        self.sent
            .iter()
            .filter_map(|(connection, message)| match message {
                SchedulerMessage::Cancel(c) => Some((connection.0, c.job_id.clone(), c.attempt.0, c.reason)),
                _ => None,
            })
            .collect()
    }
}
