//! The brain of one link to one scheduler: pure, without clock, randomness of its own or IO.
//!
//! **Call [`Session::handle`], then drain [`Session::poll_effect`] and do the effects in their order, then wait for the
//! next input or for [`Session::next_deadline`], whichever comes first, and hand in [`Input::Tick`] at a deadline.**
//!
//! What it holds to:
//! - An offer is answered at once and in order: accepted or rejected before any later `ready`.
//! - A terminal message is journaled before it is sent, sent again after every `welcome` and before `ready`, and
//!   forgotten only when it is acknowledged.
//! - A link that is silent for [`LINK_SILENCE_TIMEOUT`](shared_protocol::limits::LINK_SILENCE_TIMEOUT) is given up; reconnecting goes on for ever.

mod link;
mod vocabulary;

use std::collections::{BTreeMap, VecDeque};

use shared_protocol::{
    Accept, Assign, Attempt, Cancel, Cancelled, Complete, DurationMs, Failed, FailureCode, Hello, Item,
    JobFailure, JobId, LinkReport, MessageId, Phase, Quality, QualityScores, Reject, RejectReason,
    RunningAttempt, SamplerSpeed, SchedulerMessage, StemFile, Stems, TimestampMs, WorkerMessage,
};

use super::backoff::Backoff;
use super::hold_back::HoldBack;
use super::outstanding::{Outstanding, understood};
use super::running::{ProgressUpdate, Running, StopCause};

use link::{Link, ReadyLink};

pub use vocabulary::{Effect, Input, JobEnd, Note};

/// The code of a scheduler that takes this connection for one without `hello`: it lost what it kept of it.
const HELLO_EXPECTED: &str = "hello_expected";

/// After turning down a job that it cannot do, a worker waits so long before it offers its slots again.
const UNSUPPORTED_PAUSE: DurationMs = DurationMs(1_000);

/// The session's state. Time is any clock in milliseconds that never steps back.
#[derive(Debug)]
pub struct Session {
    hello: Hello,
    message_prefix: String,
    messages_made: u64,
    backoff: Backoff,
    link: Link,
    running: BTreeMap<(JobId, Attempt), Running>,
    outstanding: Outstanding,
    /// What is still being made of completed attempts, and the id of the message that will tell of it.
    following: BTreeMap<(JobId, Attempt), MessageId>,
    backlog_seconds: f64,
    speeds: Vec<SamplerSpeed>,
    link_report: Option<LinkReport>,
    slots_elsewhere: u32,
    hold_back: HoldBack,
    draining: bool,
    effects: VecDeque<Effect>,
}

impl Session {
    /// A session that connects at once. `seed` decides the pauses and makes message ids unique, so it has to differ from
    /// run to run outside of simulations. `unacknowledged` are the journaled messages of earlier runs, oldest first.
    pub fn new(hello: Hello, seed: u64, unacknowledged: Vec<WorkerMessage>, now: TimestampMs) -> Self {
        Self {
            hello,
            message_prefix: format!("msg_{seed:016x}"),
            messages_made: 0,
            backoff: Backoff::new(seed),
            link: Link::Waiting { until: now },
            running: BTreeMap::new(),
            outstanding: Outstanding::restored(unacknowledged),
            following: BTreeMap::new(),
            backlog_seconds: 0.0,
            speeds: Vec::new(),
            link_report: None,
            slots_elsewhere: 0,
            hold_back: HoldBack::default(),
            draining: false,
            effects: VecDeque::new(),
        }
    }

    /// The same for an environment of second choice: a slot that becomes free is offered there only after this pause, so
    /// that the first environment can have it.
    #[must_use]
    pub fn holding_freed_slots_back(mut self, pause: DurationMs) -> Self {
        self.hold_back = HoldBack::new(pause);
        self
    }

    /// How many more jobs can be taken now. Freed slots that are held back do not count.
    pub fn open_slots(&self) -> u32 {
        let used = u32::try_from(self.running.len()).unwrap_or(u32::MAX);
        let free = self.hello.slots.saturating_sub(used).saturating_sub(self.slots_elsewhere);
        if self.draining { 0 } else { free.saturating_sub(self.hold_back.held()) }
    }

    /// The attempts that run here.
    pub fn running(&self) -> impl ExactSizeIterator<Item = RunningAttempt> {
        self.running
            .keys()
            .map(|(job_id, attempt)| RunningAttempt { job_id: job_id.clone(), attempt: *attempt })
    }

    /// Expected seconds of inference of attempts that were accepted here and that the model does not know of yet, at the
    /// speeds that were measured. They count for the backlog that is reported from their acceptance on.
    pub fn inference_ahead(&self) -> f64 {
        self.running.values().map(|running| running.inference_ahead(&self.speeds)).sum()
    }

    /// How many attempts are in which phase.
    pub fn phases(&self) -> BTreeMap<Phase, u64> {
        let mut phases = BTreeMap::new();
        for running in self.running.values() {
            *phases.entry(running.phase()).or_default() += 1;
        }
        phases
    }

    /// Whether the scheduler has greeted this worker on the present connection.
    pub fn is_connected(&self) -> bool {
        matches!(self.link, Link::Ready(_))
    }

    /// Whether every terminal message was acknowledged.
    pub fn is_settled(&self) -> bool {
        self.outstanding.is_empty()
    }

    /// The next effect to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Takes one input at the time `now`.
    pub fn handle(&mut self, now: TimestampMs, input: Input) {
        self.hold_back.advance(now);
        match input {
            Input::Tick => {}
            Input::LinkOpened => self.handle_opened(now),
            Input::LinkClosed => self.handle_closed(now),
            Input::Received(item) => self.handle_received(now, item),
            Input::Progressed { job_id, attempt, update } => {
                if let Some(running) = self.running.get_mut(&(job_id, attempt)) {
                    running.update(update);
                }
            }
            Input::Ended { job_id, attempt, end } => self.handle_ended(now, job_id, attempt, end),
            Input::StemsFollow { job_id, attempt } => self.handle_stems_follow(job_id, attempt),
            Input::Followed { job_id, attempt, stems } => self.handle_followed(now, job_id, attempt, stems),
            Input::Scored { job_id, scores } => self.handle_scored(now, job_id, scores),
            // Estimates that are subtracted from each other may end up below nothing.
            Input::Backlog(seconds) => self.backlog_seconds = if seconds > 0.0 { seconds } else { 0.0 },
            Input::Measured { speeds, link } => {
                self.speeds = speeds;
                self.link_report = link;
            }
            Input::SlotsElsewhere(slots) => {
                self.hold_back.freed(self.slots_elsewhere.saturating_sub(slots), now);
                self.hold_back.taken(slots.saturating_sub(self.slots_elsewhere));
                self.slots_elsewhere = slots;
            }
            Input::Drain => self.draining = true,
            Input::HandBack => self.handle_hand_back(),
        }
        self.advance(now);
    }

    fn handle_received(&mut self, now: TimestampMs, item: Item<SchedulerMessage>) {
        match &mut self.link {
            Link::Waiting { .. } | Link::Connecting { .. } => return,
            Link::Greeting { .. } => {}
            Link::Ready(link) => link.last_heard = now,
        }
        match item {
            Ok(SchedulerMessage::Welcome(welcome)) => self.handle_welcome(now, welcome),
            Ok(SchedulerMessage::Assign(assign)) => self.handle_assign(now, assign),
            Ok(SchedulerMessage::Cancel(cancel)) => self.handle_cancel(now, cancel),
            Ok(SchedulerMessage::Ack(ack)) => {
                if self.outstanding.acknowledge(&ack.message_id) {
                    self.effects.push_back(Effect::Forget(ack.message_id));
                }
            }
            Ok(SchedulerMessage::Pong(_)) => {}
            Ok(SchedulerMessage::Error(error)) => {
                // It does not know who speaks: its answers would keep a link alive over which nothing is heard.
                let unknown = error.code == HELLO_EXPECTED;
                self.effects.push_back(Effect::Note(Note::PeerError(error)));
                if unknown {
                    self.give_up_link(now);
                }
            }
            Err(error) => self.effects.push_back(Effect::Note(Note::Unreadable(error))),
        }
    }

    fn handle_assign(&mut self, now: TimestampMs, assign: Assign) {
        let Assign { job_id, attempt, .. } = &assign;
        let (job_id, attempt) = (job_id.clone(), *attempt);
        if let Link::Ready(ReadyLink { told: Some((slots, _)), .. }) = &mut self.link {
            *slots = slots.saturating_sub(1);
        }
        let accept = WorkerMessage::Accept(Accept { job_id: job_id.clone(), attempt });
        if self.running.contains_key(&(job_id.clone(), attempt)) {
            self.effects.push_back(Effect::Send(accept));
            return;
        }
        if let Some(end) = self.outstanding.end_of(&job_id, attempt).cloned() {
            self.effects.push_back(Effect::Send(accept));
            self.effects.push_back(Effect::Send(end));
            return;
        }
        let others: Vec<Attempt> =
            self.running.keys().filter(|(job, _)| *job == job_id).map(|(_, attempt)| *attempt).collect();
        for older in others.iter().filter(|other| **other < attempt) {
            self.stop(&job_id, *older, StopCause::Cancelled);
        }
        let newer_runs = others.iter().any(|other| *other > attempt);
        if self.draining {
            self.reject(now, job_id, attempt, RejectReason::Draining);
        } else if !self.hello.samplers.contains(&assign.sampler) {
            self.reject(now, job_id, attempt, RejectReason::Unsupported);
        } else if newer_runs || self.open_slots() == 0 {
            self.reject(now, job_id, attempt, RejectReason::NoSlot);
        } else {
            self.running.insert((job_id, attempt), Running::new(&assign));
            self.effects.push_back(Effect::Send(accept));
            self.effects.push_back(Effect::Start(assign));
        }
    }

    fn reject(&mut self, now: TimestampMs, job_id: JobId, attempt: Attempt, reason: RejectReason) {
        self.effects.push_back(Effect::Send(WorkerMessage::Reject(Reject { job_id, attempt, reason })));
        if let Link::Ready(link) = &mut self.link {
            // The scheduler counts on no slot until the next `ready`.
            link.told = link.told.map(|(_, draining)| (0, draining));
            if reason == RejectReason::Unsupported {
                link.ready_not_before = now + UNSUPPORTED_PAUSE;
            }
        }
    }

    fn handle_cancel(&mut self, now: TimestampMs, cancel: Cancel) {
        let Cancel { job_id, attempt, .. } = cancel;
        let ended = self.outstanding.end_of(&job_id, attempt).is_some();
        if !self.stop(&job_id, attempt, StopCause::Cancelled) && !ended {
            // Nothing of it runs here: say so, rather than let the scheduler wait.
            let message_id = self.next_message_id();
            self.end_attempt(now, WorkerMessage::Cancelled(Cancelled { message_id, job_id, attempt }));
        }
    }

    /// Stops an attempt; false when it does not run here.
    fn stop(&mut self, job_id: &JobId, attempt: Attempt, cause: StopCause) -> bool {
        let Some(running) = self.running.get_mut(&(job_id.clone(), attempt)) else { return false };
        if running.stopping.is_none() {
            self.effects.push_back(Effect::Stop { job_id: job_id.clone(), attempt });
        }
        if running.stopping != Some(StopCause::Cancelled) {
            running.stopping = Some(cause);
        }
        true
    }

    fn handle_ended(&mut self, now: TimestampMs, job_id: JobId, attempt: Attempt, end: JobEnd) {
        let Some(running) = self.running.remove(&(job_id.clone(), attempt)) else { return };
        self.hold_back.freed(1, now);
        let message_id = self.next_message_id();
        let failed = |message_id, job_id, failure| {
            WorkerMessage::Failed(Failed { message_id, job_id, attempt, failure })
        };
        let message = match (end, running.stopping) {
            (JobEnd::Completed { segments, outcome }, _) => {
                WorkerMessage::Complete(Complete { message_id, job_id, attempt, segments, outcome })
            }
            (JobEnd::Failed(_) | JobEnd::Stopped, Some(StopCause::Cancelled)) => {
                WorkerMessage::Cancelled(Cancelled { message_id, job_id, attempt })
            }
            (JobEnd::Stopped, Some(StopCause::HandBack)) => {
                let text = "The worker was stopped and handed the job back.";
                failed(message_id, job_id, JobFailure::new(FailureCode::WorkerStopping, text))
            }
            (JobEnd::Failed(failure), _) => failed(message_id, job_id, failure),
            (JobEnd::Stopped, None) => {
                let text = "The attempt stopped without having been asked to.";
                failed(message_id, job_id, JobFailure::new(FailureCode::Internal, text))
            }
        };
        self.end_attempt(now, message);
    }

    /// Whoever waits for the stems is to hear of it even if this process does not live to tell.
    fn handle_stems_follow(&mut self, job_id: JobId, attempt: Attempt) {
        let message_id = self.next_message_id();
        self.following.insert((job_id.clone(), attempt), message_id.clone());
        let text = "The worker ended before the stems were stored.";
        let failure = Some(JobFailure::new(FailureCode::WorkerLost, text));
        let stems = Stems { message_id, job_id, attempt, files: Vec::new(), failure };
        self.effects.push_back(Effect::JournalInCase(WorkerMessage::Stems(stems)));
    }

    fn handle_followed(
        &mut self,
        now: TimestampMs,
        job_id: JobId,
        attempt: Attempt,
        stems: Result<Vec<StemFile>, JobFailure>,
    ) {
        let promised = self.following.remove(&(job_id.clone(), attempt));
        let message_id = promised.unwrap_or_else(|| self.next_message_id());
        let (files, failure) = match stems {
            Ok(files) => (files, None),
            Err(failure) => (Vec::new(), Some(failure)),
        };
        self.end_attempt(now, WorkerMessage::Stems(Stems { message_id, job_id, attempt, files, failure }));
    }

    /// Scores that the scheduler does not want are not kept: one message for each job would pile up for ever.
    fn handle_scored(&mut self, now: TimestampMs, job_id: JobId, scores: QualityScores) {
        let message_id = self.next_message_id();
        let message = WorkerMessage::Quality(Quality { message_id, job_id, scores });
        let unwanted = matches!(&self.link, Link::Ready(link) if !understood(&message, &link.capabilities));
        if !unwanted {
            self.end_attempt(now, message);
        }
    }

    fn end_attempt(&mut self, now: TimestampMs, message: WorkerMessage) {
        self.effects.push_back(Effect::Journal(message.clone()));
        if let Link::Ready(link) = &self.link
            && understood(&message, &link.capabilities)
        {
            self.effects.push_back(Effect::Send(message.clone()));
        }
        self.outstanding.add(message, now);
    }

    fn handle_hand_back(&mut self) {
        self.draining = true;
        let all: Vec<RunningAttempt> = self.running().collect();
        for RunningAttempt { job_id, attempt } in all {
            self.stop(&job_id, attempt, StopCause::HandBack);
        }
    }

    fn next_message_id(&mut self) -> MessageId {
        self.messages_made += 1;
        MessageId::new(format!("{}-{}", self.message_prefix, self.messages_made))
            .expect("a prefix of 20 safe characters and a number of at most 20 digits are an id")
    }
}

#[cfg(test)]
mod stories;
