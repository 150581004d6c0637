//! What will happen, and when: the clock of the simulation.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::fault::Fault;

/// One way of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// From a worker to the scheduler.
    Up,
    /// From the scheduler to a worker.
    Down,
}

/// Something that happens at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A worker's request for a connection arrives.
    Connect { link: usize },
    /// The answer to it arrives at the worker.
    Connected { link: usize, open: bool },
    /// The oldest frame of one way of a link arrives.
    Frame { link: usize, way: Way },
    /// The news that a link is closed arrives.
    Closed { link: usize, way: Way },
    /// A session's deadline.
    Tick { worker: usize, boot: u32, env: usize },
    /// The next step of an attempt's pipeline, or the end of one that was asked to stop.
    Pipeline { worker: usize, boot: u32, execution: u64, stop: bool },
    /// A worker's process starts.
    Start { worker: usize },
    /// A frozen process goes on.
    Thaw { worker: usize, boot: u32 },
    /// An object's alarm goes off. `again` is one that had gone off before.
    Alarm { env: usize, at: u64, again: bool },
    /// The minute's poke.
    Poke { env: usize },
    /// A client sends its request, or sends it again.
    Submit { request: usize, tries: u32 },
    /// The next fault of a kind.
    Fault(Fault),
    /// An operator tries again what was not answered.
    Command { env: usize, command: usize },
    /// The owner of an endpoint sets it up.
    SetUpEndpoint { target: usize },
    /// A webhook's request arrives.
    WebhookArrives { number: u64 },
    /// What came of a webhook's request arrives at the object.
    WebhookAnswered { number: u64 },
    /// Operators look after dead letters.
    LookAfterWebhooks,
    /// Everybody looks at everything.
    Glance,
    /// All faults end.
    Heal,
}

struct Entry {
    at: u64,
    order: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}

/// Events by time; those of one moment in the order in which they were added.
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    added: u64,
}

impl Agenda {
    /// Adds an event.
    pub fn add(&mut self, at: u64, event: Event) {
        self.added += 1;
        self.heap.push(Reverse(Entry { at, order: self.added, event }));
    }

    /// Takes the next one.
    pub fn next(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse(entry)| (entry.at, entry.event))
    }
}
