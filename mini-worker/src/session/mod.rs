//! The links to the schedulers: one brain for each, and the one loop that turns events into its inputs and its effects
//! into deeds. The loop decides nothing about jobs.

mod attempt;
mod backoff;
mod follow_up;
mod hold_back;
mod journal;
mod link;
mod outstanding;
mod running;
pub mod state;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use shared_protocol::{
    BootId, DurationMs, FailureCode, Hello, JobFailure, PROTOCOL_VERSION, QualityScores, Sampler,
    SamplerSpeed, StemFile, TimestampMs, WorkerMessage, encode_batch,
};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

pub use backoff::Backoff;
pub use hold_back::SECOND_CHOICE_AFTER;
pub use journal::Journal;
pub use running::ProgressUpdate;

use crate::config::{Config, Environment};
use crate::job::Tools;
use crate::job::upload::Uploader;
use crate::job::workspace::Workspace;
use crate::metrics::{Ended, Metrics};
use crate::random;
use crate::shutdown::Signals;
use crate::slots::{AttemptKey, Slots};
use attempt::Shop;
use link::{Link, LinkEvent};
use state::{Effect, Input, JobEnd, Note, Session};

/// Events that may wait; then jobs and links wait too.
const MAX_WAITING_EVENTS: usize = 256;

/// After the last job has ended, its result gets so long to be acknowledged. What is not is in the journal, and is sent
/// after the next start.
const LAST_ACKNOWLEDGEMENT: Duration = Duration::from_secs(5);

/// A scheduler is away for seconds at every deploy; somebody wants to look when it takes longer than this.
const WORRYING_ABSENCE: DurationMs = DurationMs(30_000);

/// Something that happened outside of the loop.
#[derive(Debug)]
enum Event {
    Link {
        environment: usize,
        epoch: u64,
        event: LinkEvent,
    },
    Progressed {
        key: AttemptKey,
        update: ProgressUpdate,
    },
    /// `follow_up` stops what is still being made of it.
    Ended {
        key: AttemptKey,
        end: JobEnd,
        stems_follow: bool,
        follow_up: Option<CancellationToken>,
    },
    Followed {
        key: AttemptKey,
        stems: Result<Vec<StemFile>, JobFailure>,
    },
    Scored {
        key: AttemptKey,
        scores: QualityScores,
    },
    /// Nothing more is made of it.
    Done {
        key: AttemptKey,
    },
}

/// One environment: its brain, and what its effects are done with.
struct Member {
    environment: Environment,
    session: Session,
    journal: Journal,
    link: Option<Link>,
    /// Counts the connections: what an earlier one still reports is not heard.
    epoch: u64,
    lost_since: Option<TimestampMs>,
    warned: bool,
}

/// The running worker.
pub struct Worker {
    members: Vec<Member>,
    slots: Slots,
    metrics: Metrics,
    /// Completed attempts of which something is still being made.
    following: BTreeMap<AttemptKey, CancellationToken>,
    shop: Shop,
    events: mpsc::Receiver<Event>,
    sender: mpsc::Sender<Event>,
    started: Instant,
    signals_seen: u32,
    idle_since: Option<Instant>,
}

impl Worker {
    /// A worker that is ready to connect.
    ///
    /// # Errors
    /// When a journal cannot be opened.
    pub fn new(config: &Config, engine: &str, tools: Tools, workspace: Workspace) -> io::Result<Self> {
        let seed = random::seed();
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            worker_id: config.worker_id.clone(),
            boot_id: BootId::new(format!("boot_{seed:016x}")).expect("a word and 16 hex digits are an id"),
            version: env!("CARGO_PKG_VERSION").into(),
            slots: config.slots,
            samplers: vec![Sampler::Flash, Sampler::Pro],
            engine: engine.into(),
            labels: config.labels.clone(),
            priority: config.priority,
        };
        let mut members = Vec::new();
        for (environment, number) in config.environments.iter().zip(1..) {
            let folder = config.state_folder.join(environment.name.as_str()).join("results");
            let mut member = Member::new(environment, &folder, hello.clone(), seed.wrapping_add(number))?;
            if number > 1 {
                member.session = member.session.holding_freed_slots_back(SECOND_CHOICE_AFTER);
            }
            members.push(member);
        }
        let (sender, events) = mpsc::channel(MAX_WAITING_EVENTS);
        Ok(Self {
            members,
            slots: Slots::new(config.slots),
            metrics: Metrics::default(),
            following: BTreeMap::new(),
            shop: Shop { tools, workspace: Arc::new(workspace) },
            events,
            sender,
            started: Instant::now(),
            signals_seen: 0,
            idle_since: None,
        })
    }

    /// The uploads of all its jobs.
    pub fn uploader(&self) -> Uploader {
        self.shop.tools.uploader.clone()
    }

    /// What it is at.
    pub fn metrics(&self) -> Metrics {
        self.metrics.clone()
    }

    /// Works until signals end it: the first one drains, the second one hands jobs back, a third one ends at once.
    pub async fn run(mut self, mut signals: Signals) {
        loop {
            self.report_shared_state();
            self.do_effects().await;
            if self.is_done() {
                break;
            }
            let wait = Duration::from_millis(self.next_deadline().0.saturating_sub(self.now().0));
            tokio::select! {
                event = self.events.recv() => match event {
                    Some(event) => self.take_event(event),
                    None => break,
                },
                () = signals.next() => self.take_signal(),
                () = tokio::time::sleep(wait) => self.give_all(&Input::Tick),
            }
        }
        for member in &mut self.members {
            if let Some(link) = member.link.take() {
                link.close().await;
            }
        }
    }

    /// Since the start, on a clock that never steps back.
    fn now(&self) -> TimestampMs {
        TimestampMs(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn next_deadline(&self) -> TimestampMs {
        let soonest = self.members.iter().map(|member| member.session.next_deadline()).min();
        let soonest = soonest.unwrap_or(TimestampMs(u64::MAX));
        // Once draining, the end does not depend on what sessions wait for.
        if self.signals_seen > 0 { soonest.min(TimestampMs(self.now().0 + 200)) } else { soonest }
    }

    fn take_event(&mut self, event: Event) {
        let now = self.now();
        match event {
            Event::Link { environment, epoch, event } => {
                let Some(member) = self.members.get_mut(environment) else { return };
                if member.epoch == epoch {
                    member.take_link_event(now, event);
                }
            }
            Event::Progressed { key: (environment, job_id, attempt), update } => {
                let Some(member) = self.members.get_mut(environment) else { return };
                member.session.handle(now, Input::Progressed { job_id, attempt, update });
            }
            Event::Ended { key, end, stems_follow, follow_up } => {
                self.slots.ended(&key);
                self.following.extend(follow_up.map(|stop| (key.clone(), stop)));
                let (environment, job_id, attempt) = key;
                let Some(member) = self.members.get_mut(environment) else { return };
                let ended = match &end {
                    JobEnd::Completed { outcome, .. } => Ended::Completed(outcome),
                    JobEnd::Failed(failure) => Ended::Failed(failure.code),
                    JobEnd::Stopped => Ended::Stopped,
                };
                self.metrics.count_end(member.environment.name.as_str(), ended);
                if stems_follow {
                    let job_id = job_id.clone();
                    member.session.handle(now, Input::StemsFollow { job_id, attempt });
                }
                member.session.handle(now, Input::Ended { job_id, attempt, end });
            }
            Event::Followed { key: (environment, job_id, attempt), stems } => {
                let Some(member) = self.members.get_mut(environment) else { return };
                member.session.handle(now, Input::Followed { job_id, attempt, stems });
            }
            Event::Scored { key: (environment, job_id, _), scores } => {
                let Some(member) = self.members.get_mut(environment) else { return };
                member.session.handle(now, Input::Scored { job_id, scores });
            }
            Event::Done { key } => _ = self.following.remove(&key),
        }
    }

    fn take_signal(&mut self) {
        self.signals_seen += 1;
        match self.signals_seen {
            1 => {
                tracing::info!(
                    "draining: running jobs are finished and no new ones taken; signal again to hand them back"
                );
                self.give_all(&Input::Drain);
            }
            2 => {
                tracing::info!("handing jobs back");
                self.give_all(&Input::HandBack);
                self.following.values().for_each(CancellationToken::cancel);
            }
            _ => {}
        }
    }

    fn give_all(&mut self, input: &Input) {
        let now = self.now();
        for member in &mut self.members {
            member.session.handle(now, input.clone());
        }
    }

    /// Tells every session what it shares with the others: the model's backlog and the slots.
    fn report_shared_state(&mut self) {
        let now = self.now();
        let inference = &self.shop.tools.inference;
        let backlog = inference.backlog_seconds();
        let speeds = [Sampler::Flash, Sampler::Pro].map(|sampler| SamplerSpeed {
            sampler,
            audio_seconds_per_second: 1.0 / inference.real_time_factor(sampler).max(1e-6),
        });
        let link = self.shop.tools.uploader.link_report();
        let of = |member: &Member| (member.session.running().len(), member.session.inference_ahead());
        let shares: Vec<(usize, f64)> = self.members.iter().map(of).collect();
        let all: usize = shares.iter().map(|(running, _)| running).sum();
        let all_ahead: f64 = shares.iter().map(|(_, ahead)| ahead).sum();
        for (member, (own, own_ahead)) in self.members.iter_mut().zip(shares) {
            let elsewhere = u32::try_from(all - own).unwrap_or(u32::MAX);
            member.session.handle(now, Input::Measured { speeds: speeds.to_vec(), link });
            member.session.handle(now, Input::Backlog(backlog + all_ahead - own_ahead));
            member.session.handle(now, Input::SlotsElsewhere(elsewhere));
        }
        let environments = self.members.iter().map(|member| {
            let session = &member.session;
            (member.environment.name.as_str(), session.is_connected(), session.phases())
        });
        self.metrics.set_running(self.slots.count(), environments);
    }

    async fn do_effects(&mut self) {
        for environment in 0..self.members.len() {
            let mut outgoing = Vec::new();
            while let Some(effect) = self.members[environment].session.poll_effect() {
                self.do_effect(environment, effect, &mut outgoing).await;
            }
            let now = self.now();
            self.members[environment].send(now, &outgoing);
        }
    }

    async fn do_effect(&mut self, environment: usize, effect: Effect, outgoing: &mut Vec<WorkerMessage>) {
        let member = &mut self.members[environment];
        match effect {
            Effect::Connect => member.connect(environment, &self.sender),
            Effect::Disconnect => {
                outgoing.clear();
                member.disconnect();
            }
            // They go out together after all effects, and so after everything that has to be journaled before.
            Effect::Send(message) => outgoing.push(message),
            Effect::Journal(message) => {
                if let Err(error) = member.journal.add(&message).await {
                    tracing::error!(%error, "a result could not be journaled; it is lost if the worker ends before it is delivered");
                }
            }
            Effect::JournalInCase(message) => {
                if let Err(error) = member.journal.add_in_case(&message).await {
                    tracing::warn!(%error, "what follows on a result could not be journaled; if the worker ends before, nobody hears of it");
                }
            }
            Effect::Forget(id) => {
                if let Err(error) = member.journal.remove(&id).await {
                    tracing::warn!(%error, "a delivered result could not be removed from the journal");
                }
            }
            Effect::Start(assign) => {
                let key = (environment, assign.job_id.clone(), assign.attempt);
                self.start(key, assign);
            }
            Effect::Stop { job_id, attempt } => self.slots.stop(&(environment, job_id, attempt)),
            Effect::Note(note) => member.log(&note),
        }
    }

    fn start(&mut self, key: AttemptKey, assign: shared_protocol::Assign) {
        let Some(permit) = self.slots.take(key.clone()) else {
            // Sessions count what runs and permits come back before an end is told, so there is always one.
            let failure =
                JobFailure::new(FailureCode::Internal, "The worker accepted more than it has slots for.");
            let (environment, job_id, attempt) = key;
            let input = Input::Ended { job_id, attempt, end: JobEnd::Failed(failure) };
            let now = self.now();
            return self.members[environment].session.handle(now, input);
        };
        let environment = self.members[key.0].environment.clone();
        let span =
            tracing::info_span!("attempt", environment = %environment.name, job = %key.1, attempt = %key.2);
        let running = attempt::run(self.shop.clone(), environment, key, assign, permit, self.sender.clone());
        tokio::spawn(running.instrument(span));
    }

    fn is_done(&mut self) -> bool {
        let running = self.members.iter().any(|member| member.session.running().len() > 0);
        let busy = running || !self.following.is_empty();
        if self.signals_seen == 0 || (busy && self.signals_seen < 3) {
            self.idle_since = None;
            return false;
        }
        let idle_since = *self.idle_since.get_or_insert_with(Instant::now);
        let settled = self.members.iter().all(|member| member.session.is_settled());
        settled || self.signals_seen > 2 || idle_since.elapsed() >= LAST_ACKNOWLEDGEMENT
    }
}

impl Member {
    fn new(environment: &Environment, folder: &Path, hello: Hello, seed: u64) -> io::Result<Self> {
        let (journal, unacknowledged) = Journal::open(folder)?;
        if !unacknowledged.is_empty() {
            tracing::info!(environment = %environment.name, results = unacknowledged.len(), "results of an earlier run will be delivered");
        }
        Ok(Self {
            environment: environment.clone(),
            session: Session::new(hello, seed, unacknowledged, TimestampMs(0)),
            journal,
            link: None,
            epoch: 0,
            lost_since: None,
            warned: false,
        })
    }

    fn connect(&mut self, environment: usize, events: &mpsc::Sender<Event>) {
        self.epoch += 1;
        let (epoch, events) = (self.epoch, events.clone());
        let report = move |event| {
            let events = events.clone();
            // The loop that reads these is gone only when the process ends.
            async move { events.send(Event::Link { environment, epoch, event }).await.unwrap_or_default() }
        };
        self.link = Some(Link::open(&self.environment.url, &self.environment.key, report));
    }

    fn disconnect(&mut self) {
        self.epoch += 1;
        self.link = None;
    }

    fn take_link_event(&mut self, now: TimestampMs, event: LinkEvent) {
        match event {
            LinkEvent::Opened => self.session.handle(now, Input::LinkOpened),
            LinkEvent::Received(frame) => {
                for item in frame {
                    self.session.handle(now, Input::Received(item));
                }
            }
            LinkEvent::Closed { reason } => self.lose_link(now, reason),
        }
    }

    fn lose_link(&mut self, now: TimestampMs, reason: String) {
        let lost_since = *self.lost_since.get_or_insert(now);
        let environment = self.environment.name.as_str();
        if !self.warned && lost_since + WORRYING_ABSENCE <= now {
            self.warned = true;
            tracing::warn!(environment, %reason, "not connected for a while; trying again until it works");
        } else if lost_since == now {
            tracing::info!(environment, %reason, "not connected; trying again until it works");
        } else {
            tracing::debug!(environment, %reason, "not connected");
        }
        self.disconnect();
        self.session.handle(now, Input::LinkClosed);
    }

    fn send(&mut self, now: TimestampMs, messages: &[WorkerMessage]) {
        let Some(link) = &self.link else { return };
        let sent = encode_batch(messages).into_iter().all(|frame| link.send(frame));
        if !sent {
            self.lose_link(now, "the connection takes no more frames".into());
        }
    }

    fn log(&mut self, note: &Note) {
        let environment = self.environment.name.as_str();
        match note {
            Note::Connected { environment: theirs } => {
                self.lost_since = None;
                self.warned = false;
                tracing::info!(environment, theirs, "connected");
            }
            Note::Silent => tracing::warn!(environment, "the scheduler has gone silent"),
            Note::Reconnecting { pause } => tracing::debug!(environment, ?pause, "connecting again"),
            Note::Unreadable(error) => tracing::warn!(environment, %error, "a message could not be read"),
            Note::PeerError(error) => {
                tracing::warn!(
                    environment,
                    code = error.code,
                    message = error.message,
                    regarding = error.regarding,
                    "the scheduler could not handle a message"
                );
            }
            Note::OtherVersion(welcome) => {
                tracing::error!(
                    environment,
                    theirs = welcome.protocol.0,
                    ours = PROTOCOL_VERSION.0,
                    "the scheduler speaks another version of the protocol: update this worker"
                );
            }
        }
    }
}
