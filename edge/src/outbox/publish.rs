//! What comes in: new events, and dead letters that are to be sent once more.

use shared_protocol::{GenerationId, JobId, TenantId, TimestampMs};

use super::event::{Audience, EndpointId, Event, EventId, EventKind, body};
use super::row::{DeadLetter, DeadReason, Row, RowId};
use super::{Effect, Outbox};

/// Stands for the job of events that are about none: they too go out in order.
const TEST_JOB: &str = "webhook-test";

/// What an endpoint is to be told.
#[derive(Debug, Clone, Copy)]
struct Told<'a> {
    event: &'a EventId,
    job: &'a JobId,
    generation: Option<&'a GenerationId>,
    kind: EventKind,
    body: &'a str,
}

impl Outbox {
    /// Tells an event to every endpoint that wants it. The shell persists it together with the change of the job that it is
    /// about, in one transaction.
    pub fn publish(&mut self, now: TimestampMs, event: &Event) {
        let ids: Vec<EndpointId> = self.who_wants(event.audience(), event.kind).cloned().collect();
        if ids.is_empty() {
            return;
        }
        let Event { id: event_id, job_id: job, generation, kind, .. } = event;
        let told =
            Told { event: event_id, job, generation: generation.as_ref(), kind: *kind, body: &event.body() };
        for id in ids {
            self.publish_to(now, &id, &told);
        }
        self.dispatch(now);
    }

    /// Drops what the end of a job makes worthless, also where its end is not told: at endpoints that did not choose to hear
    /// of it, or are disabled. Otherwise one that is enabled again would be told of phases of a job that ended long ago.
    pub fn drop_ended(&mut self, now: TimestampMs, tenant: &TenantId, job: &JobId, by: EventKind) {
        if !by.is_terminal() {
            return;
        }
        for id in self.who_is_concerned(tenant).cloned().collect::<Vec<_>>() {
            self.drop_overtaken(now, &id, job, by);
        }
        self.dispatch(now);
    }

    /// Whether an event would be told to anybody.
    pub fn is_wanted(&self, audience: Audience, kind: EventKind) -> bool {
        self.who_wants(audience, kind).next().is_some()
    }

    fn who_wants(&self, audience: Audience, kind: EventKind) -> impl Iterator<Item = &EndpointId> {
        self.who_is_concerned(audience.tenant)
            .filter(move |id| self.lanes.get(*id).is_some_and(|lane| lane.endpoint.wants(audience, kind)))
    }

    fn who_is_concerned(&self, tenant: &TenantId) -> impl Iterator<Item = &EndpointId> {
        [None, Some(tenant.clone())].into_iter().filter_map(|tenant| self.by_tenant.get(&tenant)).flatten()
    }

    /// Sends dead letters once more, as if they had just been published, under their old ids. The shell reads them from the store,
    /// by endpoint or by event, in bounded steps. Those of endpoints that are gone stay dead.
    pub fn replay(&mut self, now: TimestampMs, dead: Vec<Row>) {
        for row in dead {
            if !self.lanes.contains_key(&row.endpoint) || self.rows.contains_key(&row.id) {
                continue;
            }
            let row = Row { queued_at: now, due: now, attempts: 0, failure: None, dead: None, ..row };
            self.effects.push_back(Effect::Save(Box::new(row.clone())));
            self.append(now, row);
        }
        self.dispatch(now);
    }

    /// Tells an event of kind [`EventKind::Test`] to one endpoint, whatever it has chosen to be told. Says whether there is such an
    /// endpoint. One that is disabled is told when it is enabled.
    pub fn send_test(&mut self, now: TimestampMs, endpoint: &EndpointId, event: &EventId) -> bool {
        if !self.lanes.contains_key(endpoint) {
            return false;
        }
        let job = JobId::new(TEST_JOB).expect("it has letters and hyphens only");
        let body = body(EventKind::Test, now, &serde_json::json!({ "webhookId": endpoint.as_str() }));
        let told = Told { event, job: &job, generation: None, kind: EventKind::Test, body: &body };
        self.publish_to(now, endpoint, &told);
        self.dispatch(now);
        true
    }

    fn publish_to(&mut self, now: TimestampMs, endpoint: &EndpointId, told: &Told<'_>) {
        let Told { event, job, generation, kind, body } = *told;
        if kind == EventKind::Progress && self.coalesce(endpoint, event, job, body) {
            return;
        }
        self.drop_overtaken(now, endpoint, job, kind);
        self.last_row += 1;
        let row = Row {
            id: RowId(self.last_row),
            endpoint: endpoint.clone(),
            event: event.clone(),
            job_id: job.clone(),
            generation: generation.cloned(),
            kind,
            queued_at: now,
            due: now,
            attempts: 0,
            failure: None,
            dead: None,
        };
        self.effects.push_back(Effect::Insert { row: Box::new(row.clone()), body: body.to_owned() });
        self.append(now, row);
    }

    /// Puts a row into its line, after making room for it.
    fn append(&mut self, now: TimestampMs, row: Row) {
        let (endpoint, job) = (row.endpoint.clone(), row.job_id.clone());
        self.make_room(now, &endpoint);
        // A replayed row stands before later ones of its job: the old head waits for it.
        let head = self.lanes.get(&endpoint).and_then(|lane| lane.lines.get(&job)?.rows.first().copied());
        if let Some(head) = head {
            self.unplace(head);
        }
        self.enqueue(row);
        self.place_head(now, &endpoint, &job);
    }

    /// Lets progress take the place of earlier progress that still waits, at the end of its job's line. The earlier one's failures
    /// stay charged: a dead endpoint is not called with each new progress.
    fn coalesce(&mut self, endpoint: &EndpointId, event: &EventId, job: &JobId, body: &str) -> bool {
        let Some(lane) = self.lanes.get_mut(endpoint) else { return false };
        let Some(line) = lane.lines.get(job) else { return false };
        let Some(last) = line.rows.last().filter(|last| !line.is_in_flight(**last)) else { return false };
        let Some(row) = self.rows.get_mut(last).filter(|row| row.kind == EventKind::Progress) else {
            return false;
        };
        row.event = event.clone();
        lane.counters.coalesced += 1;
        self.effects.push_back(Effect::Insert { row: Box::new(row.clone()), body: body.to_owned() });
        true
    }

    /// Drops what a new event makes worthless: progress always, and at the job's end also phases. An end does not even wait
    /// for the answer to one that is being sent.
    fn drop_overtaken(&mut self, now: TimestampMs, endpoint: &EndpointId, job: &JobId, by: EventKind) {
        if by == EventKind::Progress {
            return;
        }
        let Some(line) = self.lanes.get(endpoint).and_then(|lane| lane.lines.get(job)) else { return };
        let in_flight = line.in_flight;
        let overtaken: Vec<RowId> = line
            .rows
            .iter()
            .filter(|id| {
                let Some(row) = self.rows.get(id) else { return false };
                match by.is_terminal() {
                    true => row.kind.is_passing(),
                    false => row.kind == EventKind::Progress && !line.is_in_flight(**id),
                }
            })
            .copied()
            .collect();
        for id in overtaken {
            if let Some((_, delivery)) = in_flight.filter(|(sent, _)| *sent == id) {
                self.cut_off(delivery);
            }
            if self.dequeue(id).is_some() {
                self.effects.push_back(Effect::Delete(id));
            }
            if let Some(lane) = self.lanes.get_mut(endpoint) {
                lane.counters.overtaken += 1;
            }
        }
        self.place_head(now, endpoint, job);
    }

    /// Gives up the oldest row that can be spared while a lane is full. Those that end a job are given up last.
    fn make_room(&mut self, now: TimestampMs, endpoint: &EndpointId) {
        while let Some(lane) = self.lanes.get_mut(endpoint)
            && lane.len() >= self.config.max_waiting_per_endpoint.max(1)
            && let Some((_, oldest)) = lane.spare.first().copied()
        {
            lane.counters.overflowed += 1;
            self.give_up(now, oldest, DeadReason::Overflow);
        }
    }

    /// Makes a row that is not being sent a dead letter, and lets its line go on. Passing news is thrown away: nobody would want it
    /// sent once more later.
    pub(super) fn give_up(&mut self, now: TimestampMs, id: RowId, reason: DeadReason) {
        let Some(mut row) = self.dequeue(id) else { return };
        row.dead = Some(DeadLetter { at: now, reason });
        let (endpoint, job) = (row.endpoint.clone(), row.job_id.clone());
        self.effects.push_back(if row.kind.is_passing() {
            Effect::Delete(id)
        } else {
            Effect::Save(Box::new(row))
        });
        self.place_head(now, &endpoint, &job);
    }
}
