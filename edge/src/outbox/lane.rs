//! All that waits for one endpoint: a line for each job, and which of the lines may go on.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{JobId, TimestampMs};

use super::effect::DeliveryId;
use super::endpoint::Endpoint;
use super::event::EventKind;
use super::row::RowId;

/// Deliveries at once to one endpoint.
pub const MAX_IN_FLIGHT_PER_ENDPOINT: usize = 2;

/// What became of the events of one endpoint, since this instance of the outbox was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneCounters {
    /// Acknowledged by the endpoint.
    pub delivered: u64,
    /// Attempts that failed.
    pub failed_attempts: u64,
    /// Progress that took the place of earlier progress.
    pub coalesced: u64,
    /// Progress and phases that were dropped for later news.
    pub overtaken: u64,
    /// Given up for their attempts or age.
    pub undeliverable: u64,
    /// Given up because too many waited.
    pub overflowed: u64,
}

/// The rows of one job, in order. The first is sent, or waits for its turn or its time; the others wait for it.
#[derive(Debug, Clone, Default)]
pub struct Line {
    pub rows: BTreeSet<RowId>,
    pub in_flight: Option<(RowId, DeliveryId)>,
}

impl Line {
    /// Whether a row is being sent.
    pub fn is_in_flight(&self, row: RowId) -> bool {
        self.in_flight.is_some_and(|(sent, _)| sent == row)
    }
}

/// Progress goes after everything else: with two deliveries at once, other jobs' progress must not hold up an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    News,
    Progress,
}

impl Urgency {
    pub fn of(kind: EventKind) -> Self {
        if kind == EventKind::Progress { Self::Progress } else { Self::News }
    }
}

/// One endpoint and what waits for it.
#[derive(Debug, Clone)]
pub struct Lane {
    pub endpoint: Endpoint,
    /// The operator's policy lets its URL be called.
    pub allowed: bool,
    pub lines: BTreeMap<JobId, Line>,
    /// First rows of lines that may be sent now.
    pub ready: BTreeSet<(Urgency, RowId)>,
    /// Rows that are not being sent, the oldest that can be spared first: those that end a job come last.
    pub spare: BTreeSet<(bool, RowId)>,
    /// Rows being sent.
    pub in_flight: usize,
    /// Its latest attempt was answered, whatever the answer. One that does not answer costs a whole timeout each time.
    pub responsive: bool,
    /// It asked for a pause with `Retry-After`.
    pub held_until: Option<TimestampMs>,
    /// When it was last served, in turns: the least recently served endpoint is next.
    pub turn: u64,
    pub counters: LaneCounters,
    /// The latest entry of its log.
    pub logged: u64,
}

impl Lane {
    pub fn new(endpoint: Endpoint, allowed: bool) -> Self {
        Self {
            endpoint,
            allowed,
            lines: BTreeMap::new(),
            ready: BTreeSet::new(),
            spare: BTreeSet::new(),
            in_flight: 0,
            responsive: false,
            held_until: None,
            turn: 0,
            counters: LaneCounters::default(),
            logged: 0,
        }
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.spare.len() + self.in_flight
    }

    /// Whether something could be sent to it, were there a free connection.
    pub fn can_send(&self) -> bool {
        let bound = if self.responsive { MAX_IN_FLIGHT_PER_ENDPOINT } else { 1 };
        self.endpoint.enabled
            && self.allowed
            && self.held_until.is_none()
            && self.in_flight < bound
            && !self.ready.is_empty()
    }
}
