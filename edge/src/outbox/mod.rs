//! The outbox's brain: tells backends what happens to jobs, as webhooks. A pure state machine.
//!
//! **Usage: call [`Outbox::publish`], [`Outbox::handle_delivered`] or a command, then drain [`Outbox::poll_effect`]
//! until it is empty, do the effects (saves in one transaction, then aborts, then deliveries), then ask
//! [`Outbox::next_deadline`] for when [`Outbox::handle_deadline`] is due.** Nothing in here knows a clock or a network.
//!
//! - Delivered at least once: a row is deleted only when its delivery was acknowledged, or when later news made it
//!   worthless. The event's id stays the same over retries and replays.
//! - In order for one job at one endpoint: the next event is not sent before the previous one was acknowledged,
//!   given up or overtaken. Different jobs and different endpoints do not wait for each other.
//! - Progress waits for nothing and nothing waits for it: later progress takes its place, any other event drops it, and
//!   the end of a job also drops phases and cuts off whichever of these is just being sent. A backend that still works
//!   on a request that was cut off tells by the `timestamp` in the body that it is older.
//! - Endpoints take turns at [`MAX_IN_FLIGHT`] connections. Those that did not answer last time get one connection each
//!   and [`MAX_IN_FLIGHT_UNRESPONSIVE`] together, so that they cannot use up all.

mod backoff;
mod delivery;
mod effect;
mod endpoint;
mod event;
mod invariants;
mod lane;
mod log;
mod publish;
mod row;
pub mod signature;
mod url_policy;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use shared_protocol::{DurationMs, JobId, TenantId, TimestampMs};

pub use backoff::{
    BACKOFF_BASE, BACKOFF_CAP, BACKOFF_MIN, MAX_AGE, MAX_ATTEMPTS, MAX_RETRY_AFTER, backoff,
    parse_retry_after,
};
pub use effect::{Delivery, DeliveryId, DeliveryOutcome, Effect};
pub use endpoint::{Endpoint, EndpointError};
pub use event::{Audience, EndpointId, Event, EventId, EventKind, IdError, MAX_ID_LENGTH, rfc3339};
pub use lane::{LaneCounters, MAX_IN_FLIGHT_PER_ENDPOINT};
pub use log::{AttemptOutcome, Callback, LOG_LENGTH, LogEntry, callbacks};
pub use row::{CodecError, DeadLetter, DeadReason, DeliveryFailure, Row, RowId};
pub use url_policy::{MAX_URL_LENGTH, UrlError, UrlPolicy};

use lane::{Lane, Urgency};

/// Deliveries at once. The platform gives one invocation six connections.
pub const MAX_IN_FLIGHT: usize = 6;

/// Of these, so many for endpoints that did not answer last time, or were never asked by this instance.
pub const MAX_IN_FLIGHT_UNRESPONSIVE: usize = 3;

/// The shell cuts a request off after this.
pub const DELIVERY_TIMEOUT: DurationMs = DurationMs::from_secs(15);

/// An attempt without an outcome after this has failed. Longer than [`DELIVERY_TIMEOUT`], so that no event is tried again
/// while its first request still runs.
pub const DELIVERY_LEASE: DurationMs = DurationMs::from_secs(30);

/// What an operator sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboxConfig {
    /// Where events may be sent to.
    pub urls: UrlPolicy,
    /// Rows at most that wait for one endpoint: they are in memory, about 500 bytes each. Above the number of live jobs, so that
    /// a full queue alone does not overflow it.
    pub max_waiting_per_endpoint: usize,
    /// Whether what came of attempts is kept: one more row written for each.
    pub keep_log: bool,
}

impl Default for OutboxConfig {
    fn default() -> Self {
        Self { urls: UrlPolicy::default(), max_waiting_per_endpoint: 20_000, keep_log: true }
    }
}

/// What a deadline is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// Fires when the first row of a line may be sent again.
    RowDue(RowId),
    /// Fires when an attempt has no outcome.
    LeaseOver(DeliveryId),
    /// Fires when the pause that an endpoint asked for is over.
    LaneOpens(EndpointId),
}

/// A row that is being sent.
#[derive(Debug, Clone)]
struct InFlight {
    row: RowId,
    job: JobId,
    endpoint: EndpointId,
    began_at: TimestampMs,
    lease_ends: TimestampMs,
}

/// What an operator sees of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneStatus {
    /// Rows that wait or are being sent.
    pub waiting: usize,
    /// Of these, rows being sent.
    pub in_flight: usize,
    /// Whether the operator's policy lets its URL be called.
    pub allowed: bool,
    /// Whether its latest attempt was answered.
    pub responsive: bool,
    /// It asked for a pause until then.
    pub held_until: Option<TimestampMs>,
    /// Its counters.
    pub counters: LaneCounters,
}

/// Events on their way to endpoints.
#[derive(Debug, Clone)]
pub struct Outbox {
    config: OutboxConfig,
    rows: BTreeMap<RowId, Row>,
    lanes: BTreeMap<EndpointId, Lane>,
    /// Endpoints by the tenant they are told of; under `None` those that are told of all.
    by_tenant: BTreeMap<Option<TenantId>, BTreeSet<EndpointId>>,
    /// Endpoints that something can be sent to, by whether they are responsive, the least recently served first.
    turns: BTreeMap<bool, BTreeSet<(u64, EndpointId)>>,
    in_flight: BTreeMap<DeliveryId, InFlight>,
    timers: BTreeSet<(TimestampMs, Timer)>,
    last_row: u64,
    last_delivery: u64,
    last_turn: u64,
    effects: VecDeque<Effect>,
}

impl Outbox {
    /// An outbox without endpoints.
    pub fn new(config: OutboxConfig) -> Self {
        Self {
            config,
            rows: BTreeMap::new(),
            lanes: BTreeMap::new(),
            by_tenant: BTreeMap::new(),
            turns: BTreeMap::new(),
            in_flight: BTreeMap::new(),
            timers: BTreeSet::new(),
            last_row: 0,
            last_delivery: 0,
            last_turn: 0,
            effects: VecDeque::new(),
        }
    }

    /// The outbox as it was, from its endpoints and its rows that are not dead. `last_row` is the highest id of any row in
    /// the store, dead ones included. What was being sent is sent again, because nobody knows whether it arrived.
    pub fn restore(
        config: OutboxConfig,
        now: TimestampMs,
        endpoints: Vec<Endpoint>,
        rows: Vec<Row>,
        last_row: RowId,
    ) -> Self {
        let mut outbox = Self::new(config);
        outbox.last_row = last_row.0;
        for endpoint in endpoints {
            outbox.add_lane(endpoint);
        }
        for row in rows {
            if row.dead.is_none() {
                outbox.enqueue(row);
            }
        }
        let heads: Vec<(EndpointId, JobId)> = outbox
            .lanes
            .iter()
            .flat_map(|(id, lane)| lane.lines.keys().map(move |job| (id.clone(), job.clone())))
            .collect();
        for (endpoint, job) in heads {
            outbox.place_head(now, &endpoint, &job);
        }
        outbox.dispatch(now);
        outbox
    }

    // Getters

    /// An endpoint.
    pub fn endpoint(&self, id: &EndpointId) -> Option<&Endpoint> {
        self.lanes.get(id).map(|lane| &lane.endpoint)
    }

    /// All endpoints.
    pub fn endpoints(&self) -> impl Iterator<Item = &Endpoint> {
        self.lanes.values().map(|lane| &lane.endpoint)
    }

    /// An endpoint that somebody set up.
    pub fn webhook(&self, id: &EndpointId) -> Option<&Endpoint> {
        self.endpoint(id).filter(|endpoint| !endpoint.is_of_projects())
    }

    /// All endpoints that somebody set up.
    pub fn webhooks(&self) -> impl Iterator<Item = &Endpoint> {
        self.endpoints().filter(|endpoint| !endpoint.is_of_projects())
    }

    /// Whether there is any endpoint.
    pub fn has_endpoints(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// How an endpoint is doing.
    pub fn status(&self, id: &EndpointId) -> Option<LaneStatus> {
        self.lanes.get(id).map(|lane| LaneStatus {
            waiting: lane.len(),
            in_flight: lane.in_flight,
            allowed: lane.allowed,
            responsive: lane.responsive,
            held_until: lane.held_until,
            counters: lane.counters,
        })
    }

    /// All rows that wait or are being sent, in order of their ids.
    pub fn rows(&self) -> impl DoubleEndedIterator<Item = &Row> {
        self.rows.values()
    }

    /// How many [`Outbox::rows`] there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether nothing waits and nothing is being sent.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    // Polls

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Outbox::handle_deadline`] is due.
    pub fn next_deadline(&self) -> Option<TimestampMs> {
        self.timers.first().map(|(at, _)| *at)
    }

    // Lines

    /// Puts a row into its line. Rows of endpoints that are gone are let go of.
    fn enqueue(&mut self, row: Row) {
        self.last_row = self.last_row.max(row.id.0);
        let Some(lane) = self.lanes.get_mut(&row.endpoint) else { return };
        lane.spare.insert((row.kind.is_terminal(), row.id));
        lane.lines.entry(row.job_id.clone()).or_default().rows.insert(row.id);
        self.rows.insert(row.id, row);
    }

    /// Takes a row that is not being sent out of its line. [`Outbox::place_head`] is due afterwards.
    fn dequeue(&mut self, id: RowId) -> Option<Row> {
        self.unplace(id);
        let row = self.rows.remove(&id)?;
        if let Some(lane) = self.lanes.get_mut(&row.endpoint) {
            lane.spare.remove(&(row.kind.is_terminal(), id));
            if let Some(line) = lane.lines.get_mut(&row.job_id) {
                line.rows.remove(&id);
                if line.rows.is_empty() {
                    lane.lines.remove(&row.job_id);
                }
            }
        }
        Some(row)
    }

    /// Lets a row wait neither for its turn nor for its time.
    fn unplace(&mut self, id: RowId) {
        let Some(row) = self.rows.get(&id) else { return };
        self.timers.remove(&(row.due, Timer::RowDue(id)));
        if let Some(lane) = self.lanes.get_mut(&row.endpoint) {
            lane.ready.remove(&(Urgency::of(row.kind), id));
        }
    }

    /// Lets the first row of a line wait for its turn or its time, unless the line has a row being sent.
    fn place_head(&mut self, now: TimestampMs, endpoint: &EndpointId, job: &JobId) {
        if let Some(lane) = self.lanes.get_mut(endpoint)
            && let Some(line) = lane.lines.get(job).filter(|line| line.in_flight.is_none())
            && let Some(row) = line.rows.first().and_then(|head| self.rows.get(head))
        {
            if row.due <= now {
                // Its time may have come without its deadline having been handled yet.
                self.timers.remove(&(row.due, Timer::RowDue(row.id)));
                lane.ready.insert((Urgency::of(row.kind), row.id));
            } else {
                self.timers.insert((row.due, Timer::RowDue(row.id)));
            }
        }
        self.update_turn(endpoint);
    }

    /// Notes whether something can be sent to an endpoint. Called after whatever may change it.
    fn update_turn(&mut self, id: &EndpointId) {
        let Some(lane) = self.lanes.get(id) else { return };
        let key = (lane.turn, id.clone());
        for (responsive, turns) in &mut self.turns {
            if *responsive != lane.responsive || !lane.can_send() {
                turns.remove(&key);
            }
        }
        if lane.can_send() {
            self.turns.entry(lane.responsive).or_default().insert(key);
        }
    }
}
