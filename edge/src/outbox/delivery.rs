//! What goes out, and what came of it.

use shared_protocol::{DurationMs, TimestampMs};

use super::backoff::{MAX_RETRY_AFTER, next_attempt};
use super::effect::{Delivery, DeliveryId, DeliveryOutcome};
use super::event::{EndpointId, EventKind};
use super::log::AttemptOutcome;
use super::row::{DeadReason, DeliveryFailure, RowId};
use super::{
    DELIVERY_LEASE, DELIVERY_TIMEOUT, Effect, InFlight, MAX_IN_FLIGHT, MAX_IN_FLIGHT_UNRESPONSIVE, Outbox,
    Timer,
};

/// Characters that are kept of what the platform says about a failed connection.
const MAX_DETAIL_LENGTH: usize = 200;

/// What an outcome means.
fn judged(outcome: DeliveryOutcome) -> AttemptOutcome {
    AttemptOutcome::Failed(match outcome {
        DeliveryOutcome::Response { status: status @ 200..=299, .. } => {
            return AttemptOutcome::Acknowledged(status);
        }
        DeliveryOutcome::Response { status, .. } => DeliveryFailure::Status { status },
        DeliveryOutcome::TimedOut => DeliveryFailure::TimedOut,
        DeliveryOutcome::NotConnected { detail } => {
            DeliveryFailure::NotConnected { detail: detail.chars().take(MAX_DETAIL_LENGTH).collect() }
        }
    })
}

impl Outbox {
    /// Handles what came of an attempt. One that is not waited for any more changes nothing: its event is tried again anyway, or
    /// was overtaken.
    pub fn handle_delivered(&mut self, now: TimestampMs, delivery: DeliveryId, outcome: DeliveryOutcome) {
        let Some(sent) = self.take_back(delivery) else { return };
        let (responsive, pause) = match &outcome {
            DeliveryOutcome::Response { retry_after, .. } => (true, *retry_after),
            DeliveryOutcome::TimedOut | DeliveryOutcome::NotConnected { .. } => (false, None),
        };
        let outcome = judged(outcome);
        self.log(now, &sent, outcome.clone());
        match outcome {
            AttemptOutcome::Acknowledged(_) => self.acknowledged(&sent),
            AttemptOutcome::Failed(DeliveryFailure::Status { status: 410 }) => {
                self.endpoint_is_gone(now, &sent.endpoint);
            }
            AttemptOutcome::Failed(failure) => {
                if let Some(pause) = pause {
                    self.hold(now, &sent.endpoint, pause);
                }
                self.failed(now, &sent, failure);
            }
        }
        self.sent_was_handled(now, &sent, responsive);
        self.dispatch(now);
    }

    /// Handles every deadline that is due.
    pub fn handle_deadline(&mut self, now: TimestampMs) {
        while let Some((at, _)) = self.timers.first()
            && *at <= now
            && let Some((_, timer)) = self.timers.pop_first()
        {
            match timer {
                Timer::RowDue(id) => {
                    if let Some(row) = self.rows.get(&id) {
                        let (endpoint, job) = (row.endpoint.clone(), row.job_id.clone());
                        self.place_head(now, &endpoint, &job);
                    }
                }
                Timer::LeaseOver(delivery) => {
                    if let Some(sent) = self.take_back(delivery) {
                        self.effects.push_back(Effect::Abort(delivery));
                        self.log(now, &sent, AttemptOutcome::Failed(DeliveryFailure::NoOutcome));
                        self.failed(now, &sent, DeliveryFailure::NoOutcome);
                        self.sent_was_handled(now, &sent, false);
                    }
                }
                Timer::LaneOpens(id) => {
                    if let Some(lane) = self.lanes.get_mut(&id) {
                        lane.held_until = None;
                    }
                    self.update_turn(&id);
                }
            }
        }
        self.dispatch(now);
    }

    /// Sends what can be sent, endpoints in turn.
    pub(super) fn dispatch(&mut self, now: TimestampMs) {
        while self.in_flight.len() < MAX_IN_FLIGHT
            && let Some(endpoint) = self.next_in_turn()
        {
            self.send_next(now, &endpoint);
        }
    }

    /// The least recently served endpoint that something can be sent to.
    fn next_in_turn(&self) -> Option<EndpointId> {
        // Six at most: cheaper to count than to keep.
        let unresponsive = self
            .in_flight
            .values()
            .filter(|sent| self.lanes.get(&sent.endpoint).is_some_and(|lane| !lane.responsive))
            .count();
        let first = |responsive| self.turns.get(&responsive).and_then(|turns| turns.first());
        let waits_to_be_proven = first(false).filter(|_| unresponsive < MAX_IN_FLIGHT_UNRESPONSIVE);
        [first(true), waits_to_be_proven].into_iter().flatten().min().map(|(_, id)| id.clone())
    }

    fn send_next(&mut self, now: TimestampMs, endpoint: &EndpointId) {
        let Some(lane) = self.lanes.get_mut(endpoint) else { return };
        for turns in self.turns.values_mut() {
            turns.remove(&(lane.turn, endpoint.clone()));
        }
        self.last_turn += 1;
        lane.turn = self.last_turn;
        let Some(row) = lane.ready.pop_first().and_then(|(_, id)| self.rows.get(&id)) else { return };
        self.last_delivery += 1;
        let delivery = DeliveryId(self.last_delivery);
        lane.spare.remove(&(row.kind.is_terminal(), row.id));
        lane.in_flight += 1;
        if let Some(line) = lane.lines.get_mut(&row.job_id) {
            line.in_flight = Some((row.id, delivery));
        }
        let lease_ends = now + DELIVERY_LEASE;
        self.timers.insert((lease_ends, Timer::LeaseOver(delivery)));
        let job = row.job_id.clone();
        let sent = InFlight { row: row.id, job, endpoint: endpoint.clone(), began_at: now, lease_ends };
        self.in_flight.insert(delivery, sent);
        self.effects.push_back(Effect::Deliver(Box::new(Delivery {
            id: delivery,
            row: row.id,
            endpoint: endpoint.clone(),
            url: lane.endpoint.url.clone(),
            event: row.event.clone(),
            published_at: row.queued_at,
            attempt: row.attempts + 1,
            timeout: DELIVERY_TIMEOUT,
        })));
        self.update_turn(endpoint);
    }

    /// Ends an attempt in the books: its row waits again, not yet placed.
    fn take_back(&mut self, delivery: DeliveryId) -> Option<InFlight> {
        let sent = self.in_flight.remove(&delivery)?;
        self.timers.remove(&(sent.lease_ends, Timer::LeaseOver(delivery)));
        if let Some(lane) = self.lanes.get_mut(&sent.endpoint) {
            lane.in_flight = lane.in_flight.saturating_sub(1);
            if let Some(row) = self.rows.get(&sent.row) {
                lane.spare.insert((row.kind.is_terminal(), row.id));
                if let Some(line) = lane.lines.get_mut(&row.job_id) {
                    line.in_flight = None;
                }
            }
        }
        Some(sent)
    }

    /// Ends an attempt that nobody waits for any more, or does not even begin it.
    pub(super) fn cut_off(&mut self, delivery: DeliveryId) {
        if self.take_back(delivery).is_none() {
            return;
        }
        let not_begun =
            self.effects.iter().rposition(|effect| matches!(effect, Effect::Deliver(d) if d.id == delivery));
        match not_begun {
            Some(position) => drop(self.effects.remove(position)),
            None => self.effects.push_back(Effect::Abort(delivery)),
        }
    }

    /// What every outcome has in common: how much the endpoint is trusted, and its next turn.
    fn sent_was_handled(&mut self, now: TimestampMs, sent: &InFlight, responsive: bool) {
        if let Some(lane) = self.lanes.get_mut(&sent.endpoint) {
            lane.responsive = responsive;
        }
        self.place_head(now, &sent.endpoint, &sent.job);
    }

    fn acknowledged(&mut self, sent: &InFlight) {
        if self.dequeue(sent.row).is_some() {
            self.effects.push_back(Effect::Delete(sent.row));
        }
        if let Some(lane) = self.lanes.get_mut(&sent.endpoint) {
            lane.counters.delivered += 1;
        }
    }

    /// 410 Gone: the endpoint's owner wants no more. What waits is kept until somebody enables or removes the endpoint.
    fn endpoint_is_gone(&mut self, now: TimestampMs, id: &EndpointId) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        lane.counters.failed_attempts += 1;
        lane.endpoint.enabled = false;
        lane.endpoint.gone_at = Some(now);
        self.effects.push_back(Effect::SaveEndpoint(Box::new(lane.endpoint.clone())));
    }

    /// Nothing is sent to an endpoint for as long as it asks for, up to a bound.
    fn hold(&mut self, now: TimestampMs, id: &EndpointId, pause: DurationMs) {
        let Some(lane) = self.lanes.get_mut(id) else { return };
        let until = now + pause.min(MAX_RETRY_AFTER);
        if until <= now {
            return;
        }
        if let Some(old) = lane.held_until.replace(until) {
            self.timers.remove(&(old, Timer::LaneOpens(id.clone())));
        }
        self.timers.insert((until, Timer::LaneOpens(id.clone())));
    }

    fn failed(&mut self, now: TimestampMs, sent: &InFlight, failure: DeliveryFailure) {
        let Some(lane) = self.lanes.get_mut(&sent.endpoint) else { return };
        lane.counters.failed_attempts += 1;
        let Some(row) = self.rows.get_mut(&sent.row) else { return };
        row.attempts += 1;
        row.failure = Some(failure);
        let attempts = row.attempts;
        let due = next_attempt(&row.event, &row.endpoint, attempts, row.queued_at, now);
        let line = lane.lines.get(&row.job_id);
        let follower = line.and_then(|line| line.rows.range(RowId(sent.row.0 + 1)..).next().copied());
        match (due, follower) {
            // Later news is there already: it takes over the pause, and later progress the failures too.
            (_, Some(follower)) if row.kind == EventKind::Progress => {
                self.overtake(sent.row, follower, attempts, due.unwrap_or(now));
            }
            (Some(due), _) => {
                row.due = due;
                self.effects.push_back(Effect::Save(Box::new(row.clone())));
            }
            (None, _) => {
                lane.counters.undeliverable += 1;
                self.give_up(now, sent.row, DeadReason::Undeliverable);
            }
        }
    }

    fn overtake(&mut self, old: RowId, follower: RowId, attempts: u32, due: TimestampMs) {
        if let Some(old) = self.dequeue(old) {
            self.effects.push_back(Effect::Delete(old.id));
            if let Some(lane) = self.lanes.get_mut(&old.endpoint) {
                lane.counters.overtaken += 1;
            }
        }
        if let Some(row) = self.rows.get_mut(&follower) {
            row.due = due;
            if row.kind == EventKind::Progress {
                row.attempts = attempts;
            }
            self.effects.push_back(Effect::Save(Box::new(row.clone())));
        }
    }
}
