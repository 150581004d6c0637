//! A worker with the real session brain over a real socket, whose jobs only pretend: they last as long as the plan says and
//! announce segments that nobody stored. For what concerns the link and the scheduler, not the audio.

use std::{
    collections::BTreeMap,
    net::TcpStream,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use mini_worker::session::{
    ProgressUpdate,
    state::{Effect, Input, JobEnd, Note, Session},
};
use shared_protocol::{
    Attempt, BootId, DurationMs, Hello, HlsSegment, JobId, JobOutcome, PROTOCOL_VERSION, Phase, Sampler,
    SchedulerMessage, TimestampMs, WorkerId, WorkerMessage, decode_frame, encode_batch,
};
use tungstenite::{Message, WebSocket, client::IntoClientRequest};

use super::{Edge, Keys, scripted_worker::is_timeout};

/// How a pretended job goes.
#[derive(Debug, Clone, Copy)]
pub struct JobPlan {
    /// How long it takes.
    pub lasts: Duration,
    /// Segments that it announces, evenly over that time.
    pub segments: u32,
}

/// Something that happened to a worker.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkerEvent {
    /// It tried to connect.
    Knocked,
    /// The scheduler greeted it.
    Greeted,
    /// It began an attempt.
    Started(JobId, Attempt),
    /// An attempt ended here.
    Ended(JobId, Attempt),
}

/// Something that happened to one worker of a fleet.
#[derive(Debug, Clone, PartialEq)]
pub struct FleetEvent {
    /// When.
    pub at: Instant,
    /// The worker's number.
    pub worker: usize,
    /// What.
    pub event: WorkerEvent,
}

/// What happened to the workers of a fleet.
#[derive(Debug, Clone, Default)]
pub struct FleetLog {
    events: Arc<Mutex<Vec<FleetEvent>>>,
    worker: usize,
}

impl FleetLog {
    /// The same log, as the worker with this number writes it.
    pub fn of_worker(&self, worker: usize) -> Self {
        Self { events: Arc::clone(&self.events), worker }
    }

    fn add(&self, event: WorkerEvent) {
        let event = FleetEvent { at: Instant::now(), worker: self.worker, event };
        self.events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
    }

    /// Everything that happened since then.
    pub fn since(&self, since: Instant) -> Vec<FleetEvent> {
        let events = self.events.lock().unwrap_or_else(PoisonError::into_inner);
        events.iter().filter(|event| event.at >= since).cloned().collect()
    }

    /// When something of a kind happened since then.
    pub fn times(&self, since: Instant, wanted: impl Fn(&WorkerEvent) -> bool) -> Vec<Instant> {
        self.since(since).iter().filter(|event| wanted(&event.event)).map(|event| event.at).collect()
    }
}

/// A worker on a thread of its own. It ends with this value.
#[derive(Debug)]
pub struct SessionWorker {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One attempt that pretends to run.
struct Pretended {
    begun: Instant,
    announced: u32,
    stopped: bool,
}

struct Life {
    port: u16,
    started: Instant,
    session: Session,
    socket: Option<WebSocket<TcpStream>>,
    plan: JobPlan,
    jobs: BTreeMap<(JobId, Attempt), Pretended>,
    log: FleetLog,
}

impl SessionWorker {
    /// Starts a worker that connects at once. `seed` decides its pauses.
    ///
    /// # Panics
    /// The name is no worker's name.
    pub fn start(edge: &Edge, name: &str, slots: u32, seed: u64, plan: JobPlan, log: FleetLog) -> Self {
        let hello = Hello {
            protocol: PROTOCOL_VERSION,
            worker_id: WorkerId::new(name).expect("a test names its workers well"),
            boot_id: BootId::new(format!("boot_{seed:016x}")).expect("a word and hex digits are an id"),
            version: "0.0.0-session".into(),
            slots,
            samplers: vec![Sampler::Flash],
            engine: "pretended".into(),
            labels: vec![],
            priority: 0,
        };
        let mut life = Life {
            port: edge.port(),
            started: Instant::now(),
            session: Session::new(hello, seed, vec![], TimestampMs(0)),
            socket: None,
            plan,
            jobs: BTreeMap::new(),
            log,
        };
        let ending = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&ending);
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .stack_size(256 * 1024)
            .spawn(move || {
                life.session.handle(TimestampMs(0), Input::Tick);
                while !stop.load(Ordering::Relaxed) {
                    life.go_on();
                }
            })
            .expect("a thread can be started");
        Self { ending, thread: Some(thread) }
    }
}

impl Drop for SessionWorker {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // What went wrong there was printed there.
            thread.join().unwrap_or_default();
        }
    }
}

impl Life {
    fn now(&self) -> TimestampMs {
        TimestampMs(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    /// Does what is to be done, then waits for the next frame or deadline.
    fn go_on(&mut self) {
        self.do_effects();
        let deadline = Duration::from_millis(self.session.next_deadline().0);
        let next_step = self.jobs.values().map(|job| self.step_due(job) - self.started).min();
        let due = next_step.map_or(deadline, |step| step.min(deadline));
        // Looks up now and then whether it is to end.
        let wait = due
            .saturating_sub(self.started.elapsed())
            .clamp(Duration::from_millis(1), Duration::from_millis(500));
        self.listen(wait);
        self.pretend();
        self.session.handle(self.now(), Input::Tick);
    }

    fn do_effects(&mut self) {
        let mut outgoing: Vec<WorkerMessage> = Vec::new();
        while let Some(effect) = self.session.poll_effect() {
            match effect {
                Effect::Connect => {
                    self.log.add(WorkerEvent::Knocked);
                    self.socket = self.connect();
                    let input = if self.socket.is_some() { Input::LinkOpened } else { Input::LinkClosed };
                    self.session.handle(self.now(), input);
                }
                Effect::Disconnect => self.socket = None,
                Effect::Send(message) => outgoing.push(message),
                Effect::Start(assign) => {
                    self.log.add(WorkerEvent::Started(assign.job_id.clone(), assign.attempt));
                    let pretended = Pretended { begun: Instant::now(), announced: 0, stopped: false };
                    self.jobs.insert((assign.job_id, assign.attempt), pretended);
                }
                Effect::Stop { job_id, attempt } => {
                    if let Some(job) = self.jobs.get_mut(&(job_id, attempt)) {
                        job.stopped = true;
                    }
                }
                Effect::Note(Note::Connected { .. }) => self.log.add(WorkerEvent::Greeted),
                // Its journal is its memory: it is never restarted.
                Effect::Journal(_) | Effect::JournalInCase(_) | Effect::Forget(_) | Effect::Note(_) => {}
            }
        }
        for frame in encode_batch(&outgoing) {
            let sent = self.socket.as_mut().is_some_and(|socket| socket.send(Message::text(frame)).is_ok());
            if !sent {
                return self.lose_link();
            }
        }
    }

    fn connect(&self) -> Option<WebSocket<TcpStream>> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        stream.set_nodelay(true).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let address = format!("ws://127.0.0.1:{}/v1/worker/connect", self.port);
        let mut request = address.into_client_request().ok()?;
        request.headers_mut().insert("Authorization", Keys::WORKER.bearer().parse().ok()?);
        tungstenite::client(request, stream).ok().map(|(socket, _)| socket)
    }

    fn lose_link(&mut self) {
        if self.socket.take().is_some() {
            self.session.handle(self.now(), Input::LinkClosed);
        }
    }

    /// Takes one frame, or waits for so long.
    fn listen(&mut self, wait: Duration) {
        let Some(socket) = &mut self.socket else { return std::thread::sleep(wait) };
        socket.get_ref().set_read_timeout(Some(wait)).expect("a timeout above zero is valid");
        match socket.read() {
            Ok(Message::Text(text)) => {
                for item in decode_frame::<SchedulerMessage>(&text) {
                    self.session.handle(self.now(), Input::Received(item));
                }
            }
            Ok(Message::Close(_)) => self.lose_link(),
            Ok(_) => {}
            Err(error) if is_timeout(&error) => {}
            Err(_) => self.lose_link(),
        }
    }

    /// When an attempt announces its next segment, or ends.
    fn step_due(&self, job: &Pretended) -> Instant {
        let steps = self.plan.segments + 1;
        job.begun + self.plan.lasts * (job.announced + 1).min(steps) / steps
    }

    fn pretend(&mut self) {
        let now = Instant::now();
        let keys: Vec<(JobId, Attempt)> = self.jobs.keys().cloned().collect();
        for key in keys {
            while let Some(input) = self.next_step(&key, now) {
                self.session.handle(self.now(), input);
            }
        }
    }

    fn next_step(&mut self, key: &(JobId, Attempt), now: Instant) -> Option<Input> {
        let plan = self.plan;
        let job = self.jobs.get(key)?;
        let (job_id, attempt) = key.clone();
        if job.stopped {
            self.jobs.remove(key);
            return Some(Input::Ended { job_id, attempt, end: JobEnd::Stopped });
        }
        if self.step_due(job) > now {
            return None;
        }
        let job = self.jobs.get_mut(key)?;
        if job.announced < plan.segments {
            let segment = segment(job.announced);
            job.announced += 1;
            let update = ProgressUpdate {
                phase: Phase::Restoring,
                fraction: f64::from(job.announced) / f64::from(plan.segments + 1),
                audio_seconds: Some(f64::from(plan.segments * 4)),
                segments: vec![segment],
            };
            return Some(Input::Progressed { job_id, attempt, update });
        }
        self.jobs.remove(key);
        self.log.add(WorkerEvent::Ended(job_id.clone(), attempt));
        let outcome = JobOutcome {
            files: vec![],
            hls_segments: plan.segments,
            audio_seconds: f64::from(plan.segments * 4),
            channels: 1,
            real_time_factor: 0.02,
            timings: vec![],
        };
        let segments = (0..plan.segments).map(segment).collect();
        Some(Input::Ended { job_id, attempt, end: JobEnd::Completed { segments, outcome } })
    }
}

fn segment(sequence: u32) -> HlsSegment {
    HlsSegment { sequence, duration_ms: DurationMs(4_000), size: 64_000 }
}
