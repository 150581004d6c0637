//! Links, each as a WebSocket is: in order in both directions, until it breaks. What is under way when it breaks is lost; either
//! end may hear of it late or never.

use std::collections::VecDeque;

use shared_protocol::{SchedulerMessage, WorkerMessage};

use edge::scheduler::ConnectionId;

/// The messages under way in one direction.
#[derive(Debug)]
pub struct Pipe<M> {
    frames: VecDeque<Vec<M>>,
    /// When the newest one arrives: nothing overtakes it.
    last_arrival: u64,
    /// Everything put in from now on is lost.
    pub broken: bool,
}

impl<M> Pipe<M> {
    fn new() -> Self {
        Self { frames: VecDeque::new(), last_arrival: 0, broken: false }
    }

    /// Puts a frame in that takes so long. Says when it arrives; never, when the pipe is broken.
    pub fn put(&mut self, now: u64, takes: u64, frame: Vec<M>) -> Option<u64> {
        if self.broken {
            return None;
        }
        self.frames.push_back(frame);
        Some(self.arrival(now, takes))
    }

    /// When something that follows everything else arrives.
    pub fn arrival(&mut self, now: u64, takes: u64) -> u64 {
        self.last_arrival = self.last_arrival.max(now + takes);
        self.last_arrival
    }

    /// Takes the oldest frame out.
    pub fn take(&mut self) -> Option<Vec<M>> {
        self.frames.pop_front()
    }

    /// Breaks the pipe: what is in it is lost too.
    pub fn cut(&mut self) {
        self.frames.clear();
        self.broken = true;
    }
}

/// One link between a worker and an object.
#[derive(Debug)]
pub struct Link {
    /// The environment's object.
    pub env: usize,
    /// The worker.
    pub worker: usize,
    /// Its socket at the object, once accepted.
    pub connection: Option<ConnectionId>,
    /// The worker's end is open.
    pub worker_end: bool,
    /// The object's end is open.
    pub object_end: bool,
    /// To the scheduler.
    pub up: Pipe<WorkerMessage>,
    /// To the worker.
    pub down: Pipe<SchedulerMessage>,
    /// The usual time of a frame in milliseconds.
    pub latency: u64,
    /// Nothing arrives before.
    pub stalled_until: u64,
}

impl Link {
    /// A link that was just asked for.
    pub fn new(env: usize, worker: usize, latency: u64) -> Self {
        Self {
            env,
            worker,
            connection: None,
            worker_end: true,
            object_end: false,
            up: Pipe::new(),
            down: Pipe::new(),
            latency,
            stalled_until: 0,
        }
    }

    /// How long a frame takes that is sent now.
    pub fn takes(&self, now: u64, jitter: u64) -> u64 {
        (self.latency + jitter).max(self.stalled_until.saturating_sub(now))
    }
}
