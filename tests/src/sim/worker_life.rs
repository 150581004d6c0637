//! The worker's shell: what its sessions ask for, and what happens to its process.

use mini_worker::session::state::{Effect, Input, JobEnd, Session};
use mini_worker::session::{ProgressUpdate, SECOND_CHOICE_AFTER};
use shared_protocol::{
    Assign, Attempt, BootId, DurationMs, FailureCode, Hello, HlsSegment, JobFailure, JobId, JobOutcome,
    PROTOCOL_VERSION, Phase, Reject, RejectReason, SamplerSpeed, SchedulerMessage, WorkerMessage,
};

use super::agenda::{Event, Way};
use super::checks::{Fact, HowEnded, Place};
use super::network::Link;
use super::plan::Fate;
use super::worker::{Execution, Linked, PlannedEnd, Process};
use super::world::World;

/// Steps of a pipeline at which it reports.
const STEPS: u32 = 6;

impl World {
    // The process

    pub fn start_worker(&mut self, index: usize) {
        if self.workers[index].process != Process::Down {
            return;
        }
        let now = self.now;
        let worker = &mut self.workers[index];
        worker.process = Process::Running;
        worker.boot += 1;
        worker.leaving = false;
        worker.inbox.clear();
        let (id, slots) = (worker.id.clone(), worker.plan.slots);
        self.tell(&Fact::WorkerStarted { worker: &id, slots });
        let environments = if self.workers[index].plan.serves_second { self.objects.len() } else { 1 };
        let boot = self.workers[index].boot;
        self.trace.line(&id, || format!("starts, boot {boot}, {slots} slots"));
        for env in 0..environments {
            let seed = self.random.draw();
            let worker = &mut self.workers[index];
            let hello = Hello {
                protocol: PROTOCOL_VERSION,
                worker_id: worker.id.clone(),
                boot_id: BootId::new(format!("boot-{boot}")).expect("a constant and a number are an id"),
                version: "0.1.0".to_owned(),
                slots,
                samplers: worker.plan.samplers.clone(),
                engine: "simulated".to_owned(),
                labels: worker.plan.labels.clone(),
                priority: worker.plan.priority,
            };
            let unacknowledged = worker.journal.get(&env).cloned().unwrap_or_default();
            let mut session = Session::new(hello, seed, unacknowledged, worker.clock(now));
            if env != 0 {
                session = session.holding_freed_slots_back(SECOND_CHOICE_AFTER);
            }
            worker.sessions.insert(env, Linked { session, link: None, tick_at: None });
            let speed = worker.plan.speed as f64;
            let link = worker.plan.link;
            let speeds = worker.plan.samplers.iter();
            let speeds =
                speeds.map(|s| SamplerSpeed { sampler: *s, audio_seconds_per_second: speed }).collect();
            self.feed(index, env, Input::Measured { speeds, link });
        }
    }

    /// The process is gone at once, with everything in its memory.
    pub fn crash(&mut self, index: usize, killed_by: Option<u64>) {
        if self.workers[index].process == Process::Down {
            return;
        }
        let id = self.workers[index].id.clone();
        self.trace.line(&id, || "its process dies".to_owned());
        let executions = std::mem::take(&mut self.workers[index].executions);
        for (number, execution) in executions {
            let how = if killed_by == Some(number) { HowEnded::Killed } else { HowEnded::Died };
            let place = place(&id, &execution);
            self.tell(&Fact::Ended { place: &place, how });
        }
        let sessions = std::mem::take(&mut self.workers[index].sessions);
        for link in sessions.into_values().filter_map(|linked| linked.link) {
            if !self.healing && self.random.chance(300) {
                // The machine lost its power: nobody tells the other end.
                self.links[link].up.cut();
            }
            self.close_worker_end(link);
        }
        self.workers[index].process = Process::Down;
        self.workers[index].inbox.clear();
        if !self.healing && self.random.chance(self.plan.faults.disk_lost) {
            self.lose_disk(index);
        }
        let pause = if self.healing { self.random.below(5_000) } else { self.random.skewed(200, 90_000) };
        self.later(pause, Event::Start { worker: index });
    }

    fn lose_disk(&mut self, index: usize) {
        let id = self.workers[index].id.clone();
        self.trace.line(&id, || "its disk is lost".to_owned());
        for (env, messages) in std::mem::take(&mut self.workers[index].journal) {
            for message in &messages {
                self.tell(&Fact::Unjournaled { env, worker: &id, message, disk_lost: true });
            }
        }
    }

    pub fn freeze(&mut self, index: usize, time: u64) {
        if self.workers[index].process != Process::Running {
            return;
        }
        self.workers[index].process = Process::Frozen;
        let (id, boot) = (self.workers[index].id.clone(), self.workers[index].boot);
        self.trace.line(&id, || format!("is frozen for {time} ms"));
        self.later(time, Event::Thaw { worker: index, boot });
    }

    pub fn thaw(&mut self, index: usize, boot: u32) {
        if self.workers[index].process != Process::Frozen || self.workers[index].boot != boot {
            return;
        }
        self.workers[index].process = Process::Running;
        let id = self.workers[index].id.clone();
        self.trace.line(&id, || "goes on".to_owned());
        // Timers and sockets are ready at the same moment: either may come first.
        if self.random.chance(500) {
            let environments: Vec<usize> = self.workers[index].sessions.keys().copied().collect();
            for env in environments {
                self.feed(index, env, Input::Tick);
            }
        }
        for event in std::mem::take(&mut self.workers[index].inbox) {
            self.at_worker(event);
        }
    }

    // What reaches it

    pub fn at_worker(&mut self, event: Event) {
        let index = match event {
            Event::Connected { link, .. } | Event::Frame { link, .. } | Event::Closed { link, .. } => {
                self.links[link].worker
            }
            Event::Tick { worker, .. } | Event::Pipeline { worker, .. } => worker,
            _ => return,
        };
        match self.workers[index].process {
            Process::Down => {
                // Nobody listens: the other end is told so.
                if let Event::Connected { link, open: true } = event {
                    self.closed_by_worker(link);
                }
                return;
            }
            Process::Frozen => return self.workers[index].inbox.push(event),
            Process::Running => {}
        }
        match event {
            Event::Connected { link, open } => self.connected(index, link, open),
            Event::Frame { link, .. } => self.frame_at_worker(index, link),
            Event::Closed { link, .. } => {
                let env = self.links[link].env;
                self.links[link].worker_end = false;
                if self.present_link(index, env) == Some(link) {
                    if let Some(linked) = self.workers[index].sessions.get_mut(&env) {
                        linked.link = None;
                    }
                    self.feed(index, env, Input::LinkClosed);
                }
            }
            Event::Tick { boot, env, .. } => self.tick(index, boot, env),
            Event::Pipeline { boot, execution, stop, .. } => self.pipeline(index, boot, execution, stop),
            _ => {}
        }
        self.leave_if_done(index);
    }

    fn present_link(&self, index: usize, env: usize) -> Option<usize> {
        self.workers[index].sessions.get(&env).and_then(|linked| linked.link)
    }

    fn connected(&mut self, index: usize, link: usize, open: bool) {
        let env = self.links[link].env;
        if self.present_link(index, env) != Some(link) {
            return self.closed_by_worker(link);
        }
        if open {
            self.feed(index, env, Input::LinkOpened);
        } else {
            if let Some(linked) = self.workers[index].sessions.get_mut(&env) {
                linked.link = None;
            }
            self.links[link].worker_end = false;
            self.feed(index, env, Input::LinkClosed);
        }
    }

    fn frame_at_worker(&mut self, index: usize, link: usize) {
        let Some(frame) = self.links[link].down.take() else { return };
        let env = self.links[link].env;
        let boot = self.workers[index].boot;
        for message in frame {
            if self.workers[index].boot != boot || self.present_link(index, env) != Some(link) {
                return;
            }
            if let SchedulerMessage::Assign(assign) = &message
                && !self.healing
                && self.random.chance(self.plan.faults.shy)
            {
                // Another worker than ours may say no more than that.
                let (job_id, attempt) = (assign.job_id.clone(), assign.attempt);
                let reject = Reject { job_id, attempt, reason: RejectReason::Unknown };
                self.send_up(index, env, &mut vec![WorkerMessage::Reject(reject)]);
                continue;
            }
            let told = match &message {
                SchedulerMessage::Cancel(cancel) => Some((cancel.job_id.clone(), cancel.attempt)),
                _ => None,
            };
            self.feed(index, env, Input::Received(Ok(message)));
            if let Some((job, attempt)) = told {
                self.see_whether_it_stops(index, env, job, attempt);
            }
        }
    }

    fn see_whether_it_stops(&mut self, index: usize, env: usize, job: JobId, attempt: Attempt) {
        let worker = &self.workers[index];
        let running =
            worker.executions.values().find(|e| e.env == env && e.job == job && e.attempt == attempt);
        let stopping = running.is_none_or(|execution| execution.stopping);
        let place = Place { env, worker: worker.id.clone(), job, attempt };
        self.tell(&Fact::ToldToStop { place: &place, stopping });
    }

    fn tick(&mut self, index: usize, boot: u32, env: usize) {
        if self.workers[index].boot != boot {
            return;
        }
        let clock = self.workers[index].clock(self.now);
        let backlog = self.reported_backlog(index);
        let Some(linked) = self.workers[index].sessions.get_mut(&env) else { return };
        // A deadline that came nearer has an event of its own.
        if linked.tick_at.is_none_or(|at| at > self.now) {
            return;
        }
        linked.tick_at = None;
        if linked.session.next_deadline() > clock {
            return self.schedule_tick(index, env);
        }
        // Cheaper than an input of its own at every change.
        linked.session.handle(clock, Input::Backlog(backlog));
        self.do_effects_of(index, env);
    }

    fn reported_backlog(&mut self, index: usize) -> f64 {
        let honest = self.workers[index].backlog_seconds(self.now);
        if !self.workers[index].plan.lies || self.healing {
            return honest;
        }
        match self.random.below(6) {
            0 => 0.0,
            1 => f64::NAN,
            2 => -1.0e9,
            3 => 1.0e300,
            4 => f64::INFINITY,
            _ => honest + self.random.below(600) as f64,
        }
    }

    // The sessions

    pub fn feed(&mut self, index: usize, env: usize, input: Input) {
        let clock = self.workers[index].clock(self.now);
        let Some(linked) = self.workers[index].sessions.get_mut(&env) else { return };
        linked.session.handle(clock, input);
        self.do_effects_of(index, env);
    }

    fn do_effects_of(&mut self, index: usize, env: usize) {
        let boot = self.workers[index].boot;
        let mut frame = Vec::new();
        let mut started = false;
        while let Some(effect) =
            self.workers[index].sessions.get_mut(&env).and_then(|l| l.session.poll_effect())
        {
            match effect {
                Effect::Send(message) => {
                    if message.message_id().is_some() {
                        let id = self.workers[index].id.clone();
                        self.tell(&Fact::WorkerSays { env, worker: &id, message: &message });
                    }
                    frame.push(message);
                }
                Effect::Journal(message) => self.journal(index, env, message),
                // Its jobs have no stems.
                Effect::JournalInCase(_) => {}
                Effect::Forget(id) => self.forget(index, env, &id),
                Effect::Connect => self.open_link(index, env),
                Effect::Disconnect => {
                    self.send_up(index, env, &mut frame);
                    if let Some(link) = self.present_link(index, env) {
                        self.close_worker_end(link);
                    }
                    if let Some(linked) = self.workers[index].sessions.get_mut(&env) {
                        linked.link = None;
                    }
                }
                Effect::Start(assign) => {
                    self.send_up(index, env, &mut frame);
                    self.start_execution(index, env, &assign);
                    started = true;
                }
                Effect::Stop { job_id, attempt } => self.stop_execution(index, env, &job_id, attempt),
                Effect::Note(note) => {
                    let id = &self.workers[index].id;
                    self.trace.line(id, || format!("{}: {note:?}", super::turn::name(env)));
                }
            }
            if !self.healing && self.random.chance(self.plan.faults.dies_in_effect) {
                // What was to be sent may have left already.
                if self.random.chance(500) {
                    self.send_up(index, env, &mut frame);
                }
                self.crash(index, None);
            }
            if self.workers[index].boot != boot || self.workers[index].process == Process::Down {
                return;
            }
        }
        self.send_up(index, env, &mut frame);
        self.schedule_tick(index, env);
        if started {
            self.share_out_slots(index, Some(env));
        }
    }

    pub fn schedule_tick(&mut self, index: usize, env: usize) {
        let (now, ahead, boot) = (self.now, self.workers[index].clock_ahead, self.workers[index].boot);
        let Some(linked) = self.workers[index].sessions.get_mut(&env) else { return };
        let at = linked.session.next_deadline().0.saturating_sub(ahead).max(now);
        if linked.tick_at.is_none_or(|scheduled| scheduled > at) {
            linked.tick_at = Some(at);
            self.agenda.add(at, Event::Tick { worker: index, boot, env });
        }
    }

    fn journal(&mut self, index: usize, env: usize, message: WorkerMessage) {
        let id = self.workers[index].id.clone();
        self.tell(&Fact::Journaled { env, worker: &id, message: &message });
        self.workers[index].journal.entry(env).or_default().push(message);
    }

    fn forget(&mut self, index: usize, env: usize, id: &shared_protocol::MessageId) {
        let worker = self.workers[index].id.clone();
        let kept = self.workers[index].journal.entry(env).or_default();
        if let Some(at) = kept.iter().position(|message| message.message_id() == Some(id)) {
            let message = kept.remove(at);
            self.tell(&Fact::Unjournaled { env, worker: &worker, message: &message, disk_lost: false });
        }
    }

    fn open_link(&mut self, index: usize, env: usize) {
        let latency = self.random.skewed(3, 200);
        let link = self.links.len();
        self.links.push(Link::new(env, index, latency));
        if let Some(linked) = self.workers[index].sessions.get_mut(&env) {
            linked.link = Some(link);
        }
        self.later(latency, Event::Connect { link });
    }

    fn send_up(&mut self, index: usize, env: usize, frame: &mut Vec<WorkerMessage>) {
        if frame.is_empty() {
            return;
        }
        let frame = std::mem::take(frame);
        let id = self.workers[index].id.clone();
        self.tell(&Fact::WorkerSent { env, worker: &id, messages: &frame });
        let Some(link) = self.present_link(index, env) else { return };
        let jitter = self.random.below(30);
        let takes = self.links[link].takes(self.now, jitter);
        if let Some(at) = self.links[link].up.put(self.now, takes, frame) {
            self.agenda.add(at, Event::Frame { link, way: Way::Up });
        }
    }

    /// The worker's end is closed; what it sent before still arrives, and then the news.
    pub fn close_worker_end(&mut self, link: usize) {
        if !std::mem::replace(&mut self.links[link].worker_end, false) {
            return;
        }
        self.links[link].down.cut();
        self.closed_by_worker(link);
    }

    pub fn closed_by_worker(&mut self, link: usize) {
        self.links[link].worker_end = false;
        if self.links[link].object_end && !self.links[link].up.broken {
            let takes = self.links[link].takes(self.now, 0);
            let at = self.links[link].up.arrival(self.now, takes);
            self.agenda.add(at, Event::Closed { link, way: Way::Up });
        }
    }

    /// Tells each session how many slots the others have.
    fn share_out_slots(&mut self, index: usize, except: Option<usize>) {
        let environments: Vec<usize> = self.workers[index].sessions.keys().copied().collect();
        if environments.len() < 2 {
            return;
        }
        for env in environments {
            if Some(env) != except {
                let slots = self.workers[index].slots_elsewhere(env);
                self.feed(index, env, Input::SlotsElsewhere(slots));
            }
        }
    }

    // The pipelines

    fn start_execution(&mut self, index: usize, env: usize, assign: &Assign) {
        let upload = assign.source.upload_id.as_str();
        let request: usize = upload.strip_prefix("upl_").and_then(|n| n.parse().ok()).unwrap_or(0);
        let (fate, audio) = {
            let plan = &self.clients[request].plan;
            (plan.fate, plan.audio_seconds)
        };
        let end = self.draw_end(index, fate);
        let inference = audio * 1_000 / self.workers[index].plan.speed;
        let total = match end {
            PlannedEnd::Completes => self.random.between(200, 2_000) + inference,
            _ if self.workers[index].plan.broken && !self.healing => self.random.between(20, 400),
            _ => self.random.between(20, 1_000 + inference),
        };
        let now = self.now;
        let execution = Execution {
            env,
            job: assign.job_id.clone(),
            attempt: assign.attempt,
            request,
            busy_until: now + inference,
            step: 0,
            pace: (total / u64::from(STEPS)).max(1),
            segments: 0,
            stopping: false,
            hangs: false,
            end,
        };
        let id = self.workers[index].id.clone();
        let place = place(&id, &execution);
        self.trace
            .line(&id, || format!("starts {}/{}, which {end:?} in {total} ms", place.job, place.attempt));
        self.executions_made += 1;
        let number = self.executions_made;
        let (pace, boot) = (execution.pace, self.workers[index].boot);
        self.workers[index].executions.insert(number, execution);
        self.tell(&Fact::Started { place: &place });
        self.later(pace, Event::Pipeline { worker: index, boot, execution: number, stop: false });
    }

    fn draw_end(&mut self, index: usize, fate: Fate) -> PlannedEnd {
        let healing = self.healing;
        if self.workers[index].plan.broken && !healing {
            return PlannedEnd::FailsRetryably;
        }
        match fate {
            Fate::Broken => PlannedEnd::FailsForGood,
            Fate::Poison => PlannedEnd::Kills,
            Fate::Flaky(rate) if self.random.chance(rate) => PlannedEnd::FailsRetryably,
            _ if !healing && self.random.chance(self.plan.faults.attempt_fails) => PlannedEnd::FailsRetryably,
            _ => PlannedEnd::Completes,
        }
    }

    fn stop_execution(&mut self, index: usize, env: usize, job: &JobId, attempt: Attempt) {
        let boot = self.workers[index].boot;
        let hangs = self.random.chance(80);
        let takes = if hangs { 40_000 } else { self.random.skewed(5, 4_000) };
        let mut executions = self.workers[index].executions.iter_mut();
        let found = executions.find(|(_, e)| e.env == env && e.job == *job && e.attempt == attempt);
        if let Some((number, execution)) = found {
            execution.stopping = true;
            execution.hangs = hangs;
            let execution = *number;
            self.later(takes, Event::Pipeline { worker: index, boot, execution, stop: true });
        }
    }

    fn pipeline(&mut self, index: usize, boot: u32, number: u64, stop: bool) {
        if self.workers[index].boot != boot {
            return;
        }
        let backlog = self.reported_backlog(index);
        let Some(execution) = self.workers[index].executions.get_mut(&number) else { return };
        if execution.hangs && !stop {
            return;
        }
        let count = segments_of(self.clients[execution.request].plan.audio_seconds);
        execution.step += 1;
        if stop {
            return self.end_execution(index, number, JobEnd::Stopped, HowEnded::Stopped);
        }
        if execution.step >= STEPS {
            let segments = segments(0..count);
            let audio = self.clients[execution.request].plan.audio_seconds as f64;
            match execution.end {
                PlannedEnd::Kills => return self.crash(index, Some(number)),
                PlannedEnd::Completes => {
                    execution.segments = count;
                    let outcome = outcome(count, audio);
                    self.tell_stored(index, number);
                    self.end_execution(
                        index,
                        number,
                        JobEnd::Completed { segments, outcome },
                        HowEnded::Completed,
                    );
                }
                PlannedEnd::FailsRetryably => {
                    let failure = JobFailure::new(FailureCode::EngineFailed, "as the seed wants it");
                    self.end_execution(index, number, JobEnd::Failed(failure), HowEnded::Failed);
                }
                PlannedEnd::FailsForGood => {
                    let failure = JobFailure::new(FailureCode::NotMedia, "as the seed wants it");
                    self.end_execution(index, number, JobEnd::Failed(failure), HowEnded::Failed);
                }
            }
            return;
        }
        let before = execution.segments;
        if execution.step >= 3 && execution.end != PlannedEnd::FailsForGood {
            execution.segments = count * (execution.step - 2) / (STEPS - 2);
        }
        let phase = match execution.step {
            1 => Phase::Downloading,
            2 => Phase::PreparingAudio,
            3 | 4 => Phase::Restoring,
            _ => Phase::Publishing,
        };
        let fresh = segments(before..execution.segments);
        let update = ProgressUpdate {
            phase,
            fraction: f64::from(execution.step) / f64::from(STEPS),
            audio_seconds: Some(self.clients[execution.request].plan.audio_seconds as f64),
            segments: fresh,
        };
        let (env, job_id, attempt, pace) =
            (execution.env, execution.job.clone(), execution.attempt, execution.pace);
        self.tell_stored(index, number);
        self.later(pace, Event::Pipeline { worker: index, boot, execution: number, stop: false });
        let clock = self.workers[index].clock(self.now);
        if let Some(linked) = self.workers[index].sessions.get_mut(&env) {
            linked.session.handle(clock, Input::Backlog(backlog));
        }
        self.feed(index, env, Input::Progressed { job_id, attempt, update });
    }

    fn tell_stored(&mut self, index: usize, number: u64) {
        let worker = &self.workers[index];
        if let Some(execution) = worker.executions.get(&number) {
            let (place, segments) = (place(&worker.id, execution), execution.segments);
            self.tell(&Fact::Stored { place: &place, segments });
        }
    }

    fn end_execution(&mut self, index: usize, number: u64, end: JobEnd, how: HowEnded) {
        let Some(execution) = self.workers[index].executions.remove(&number) else { return };
        let id = self.workers[index].id.clone();
        let place = place(&id, &execution);
        self.trace.line(&id, || format!("{}/{} {how:?}", place.job, place.attempt));
        self.tell(&Fact::Ended { place: &place, how });
        let (env, boot) = (execution.env, self.workers[index].boot);
        self.feed(index, env, Input::Ended { job_id: execution.job, attempt: execution.attempt, end });
        if self.workers[index].boot == boot && self.workers[index].process == Process::Running {
            self.share_out_slots(index, Some(env));
        }
    }

    /// A process that was told to leave does so once it has nothing left.
    pub fn leave_if_done(&mut self, index: usize) {
        let worker = &self.workers[index];
        let settled = || worker.sessions.values().all(|linked| linked.session.is_settled());
        if worker.process != Process::Running
            || !worker.leaving
            || !worker.executions.is_empty()
            || !settled()
        {
            return;
        }
        let id = worker.id.clone();
        self.trace.line(&id, || "leaves".to_owned());
        let sessions = std::mem::take(&mut self.workers[index].sessions);
        for link in sessions.into_values().filter_map(|linked| linked.link) {
            self.close_worker_end(link);
        }
        self.workers[index].process = Process::Down;
        let pause = self.random.skewed(500, 20_000);
        self.later(pause, Event::Start { worker: index });
    }
}

fn place(worker: &shared_protocol::WorkerId, execution: &Execution) -> Place {
    Place {
        env: execution.env,
        worker: worker.clone(),
        job: execution.job.clone(),
        attempt: execution.attempt,
    }
}

/// How many segments a recording has: every attempt cuts it at the same places.
pub fn segments_of(audio_seconds: u64) -> u32 {
    (audio_seconds / 6 + 1).min(200) as u32
}

/// Length of a segment: no two neighbours are equal, so that none can stand in another's place.
pub fn segment_duration(sequence: u32) -> DurationMs {
    DurationMs(6_000 + u64::from(sequence % 100))
}

fn segments(range: std::ops::Range<u32>) -> Vec<HlsSegment> {
    range.map(|sequence| HlsSegment { sequence, duration_ms: segment_duration(sequence), size: 9 }).collect()
}

fn outcome(hls_segments: u32, audio_seconds: f64) -> JobOutcome {
    JobOutcome {
        files: vec![],
        hls_segments,
        audio_seconds,
        channels: 1,
        real_time_factor: 0.03,
        timings: vec![],
    }
}
