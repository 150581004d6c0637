//! A home's line to the internet, in front of an edge: bandwidth, round trip, a fixed cost for every PUT, and requests that
//! fail, break off or get no answer. One machine can measure with it what otherwise needs a mini behind a slow line.
//!
//! It is a proxy of HTTP/1.1. WebSockets pass through it, with the same delay. All connections share the bandwidth of a
//! direction. Chance is drawn from a seed: the n-th request of a direction meets the same fate in every run.

mod http;
mod pace;
mod relay;

use std::{
    net::{Ipv4Addr, SocketAddr},
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
};

use pace::Pace;

/// What happens to requests of one direction, and how much of it goes through at once.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Direction {
    /// Bytes per second, all connections together; unlimited when not set.
    pub bytes_per_second: Option<u64>,
    /// Share of requests that are answered with 503 after their body was taken, 0 to 1.
    pub busy: f64,
    /// Share of requests whose connection is reset in the middle of their body (or instead of an answer), 0 to 1.
    pub reset: f64,
    /// Share of requests that never get an answer, 0 to 1. Every second one of them is carried out all the same.
    pub unanswered: f64,
    /// Requests that it carries at once. While more are under way, those without an answer included, as large a share of the
    /// new ones fails as is too much: a third each of them is busy, reset or unanswered. Any number when not set.
    pub carries: Option<u32>,
}

/// How the line behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct UplinkConditions {
    /// Towards the edge: what is put and posted.
    pub up: Direction,
    /// From the edge: what is got.
    pub down: Direction,
    /// Time there and back; a new connection costs one more.
    pub round_trip: Duration,
    /// What every PUT costs beside its bytes, drawn evenly from this range.
    pub put_overhead: Range<Duration>,
    /// Where chance begins.
    pub seed: u64,
}

impl Default for UplinkConditions {
    /// A line that costs nothing.
    fn default() -> Self {
        Self {
            up: Direction::default(),
            down: Direction::default(),
            round_trip: Duration::ZERO,
            put_overhead: Duration::ZERO..Duration::ZERO,
            seed: 1,
        }
    }
}

impl UplinkConditions {
    /// A mini at somebody's home: 5 MB/s up, 25 MB/s down, 30 ms there and back, 0.3 s to 0.5 s for each PUT.
    pub fn home() -> Self {
        let direction = |megabytes: u64| Direction {
            bytes_per_second: Some(megabytes * 1_000_000),
            ..Direction::default()
        };
        Self {
            up: direction(5),
            down: direction(25),
            round_trip: Duration::from_millis(30),
            put_overhead: Duration::from_millis(300)..Duration::from_millis(500),
            seed: 1,
        }
    }
}

/// What does not move.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stall {
    /// Everything moves.
    Nothing,
    /// WebSockets stand still.
    Links,
    /// Everything stands still.
    Everything,
}

/// What went through so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UplinkCounts {
    /// Requests that put or post something.
    pub sent: u64,
    /// Requests that get something.
    pub fetched: u64,
    /// Requests of both directions that met no good fate.
    pub failed: u64,
    /// Those of them that got no answer.
    pub unanswered: u64,
    /// Bytes of requests, WebSockets included.
    pub bytes_up: u64,
    /// Bytes of answers, WebSockets included.
    pub bytes_down: u64,
}

/// A running line. It ends with this value.
#[derive(Debug)]
pub struct Uplink {
    address: SocketAddr,
    line: Arc<Line>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What the connections share.
#[derive(Debug)]
struct Line {
    edge: SocketAddr,
    state: Mutex<State>,
    up: Pace,
    down: Pace,
    /// Counts the cuts: a connection ends when it changes.
    cuts: watch::Sender<u64>,
    /// What moves.
    stalled: watch::Sender<Stall>,
}

#[derive(Debug)]
struct State {
    conditions: UplinkConditions,
    counts: UplinkCounts,
    /// Requests towards the edge that have not ended.
    under_way: u32,
    /// Requests whose path holds this text, and how many more of them get no answer.
    swallowed: Option<(String, u32)>,
}

impl Uplink {
    /// Lays a line to an edge that listens on this port of 127.0.0.1.
    ///
    /// # Panics
    /// There is no free port, or no thread to be had.
    pub fn start(edge_port: u16, conditions: UplinkConditions) -> Self {
        let line = Arc::new(Line {
            edge: (Ipv4Addr::LOCALHOST, edge_port).into(),
            up: Pace::new(conditions.up.bytes_per_second),
            down: Pace::new(conditions.down.bytes_per_second),
            state: Mutex::new(State {
                conditions,
                counts: UplinkCounts::default(),
                under_way: 0,
                swallowed: None,
            }),
            cuts: watch::Sender::new(0),
            stalled: watch::Sender::new(Stall::Nothing),
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime of one thread can be had");
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
        let listener = listener.expect("there is a free port");
        let address = listener.local_addr().expect("a listener has an address");
        let (stop, stopped) = oneshot::channel();
        let serving = Arc::clone(&line);
        let serve = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = relay::accept(&listener, &serving) => {}
                    _ = stopped => {}
                }
            });
        };
        let thread = std::thread::Builder::new().name("uplink".to_owned()).spawn(serve);
        let thread = Some(thread.expect("a thread can be had"));
        Self { address, line, stop: Some(stop), thread }
    }

    /// Its address: what a worker takes for the edge's.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What went through so far.
    pub fn counts(&self) -> UplinkCounts {
        self.line.state().counts
    }

    /// Changes how the line behaves from now on.
    pub fn set_conditions(&self, conditions: UplinkConditions) {
        self.line.up.set_rate(conditions.up.bytes_per_second);
        self.line.down.set_rate(conditions.down.bytes_per_second);
        self.line.state().conditions = conditions;
    }

    /// The next so many requests whose path holds this text get no answer and are not carried out.
    pub fn swallow(&self, path_part: &str, requests: u32) {
        self.line.state().swallowed = Some((path_part.to_owned(), requests));
    }

    /// Ends every connection at once. New ones can be made.
    pub fn cut(&self) {
        self.line.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Lets something move no more, or everything again. Connections are still taken: nobody is told anything.
    pub fn stall(&self, stalled: Stall) {
        self.line.stalled.send_replace(stalled);
    }
}

impl Drop for Uplink {
    fn drop(&mut self) {
        // The thread may have ended by a panic of its own, which it has printed.
        if let Some(stop) = self.stop.take() {
            stop.send(()).unwrap_or_default();
        }
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap_or_default();
        }
    }
}

impl Line {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
