//! An outbox, a clock, a store, and backends that answer as told.

use std::collections::BTreeMap;

use edge::outbox::signature::Secret;
use edge::outbox::*;
use shared_protocol::*;

pub struct Rig {
    pub now: TimestampMs,
    pub outbox: Outbox,
    pub config: OutboxConfig,
    /// The rows, as the store would hold them, dead ones included.
    pub rows: BTreeMap<RowId, (Row, String)>,
    pub endpoints: BTreeMap<EndpointId, Endpoint>,
    /// Requests under way, in the order in which they were sent.
    pub sent: Vec<Delivery>,
    pub aborted: Vec<DeliveryId>,
    /// Every request ever sent: endpoint, job, kind, webhook id.
    pub log: Vec<(String, String, EventKind, String)>,
    /// What came of requests, by endpoint and slot, as the store would hold it.
    pub attempts: BTreeMap<(EndpointId, u64), LogEntry>,
    next_event: u64,
}

pub fn endpoint(id: &str) -> Endpoint {
    Endpoint {
        id: EndpointId::new(id).unwrap(),
        tenant: None,
        url: format!("https://{}.example.com/hook", id.replace('_', "-")),
        secrets: vec![Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap()],
        enabled: true,
        gone_at: None,
        kinds: None,
    }
}

pub fn job(n: u32) -> JobId {
    JobId::new(format!("job_{n}")).unwrap()
}

pub fn ok() -> DeliveryOutcome {
    status(200)
}

pub fn status(status: u16) -> DeliveryOutcome {
    DeliveryOutcome::Response { status, retry_after: None }
}

impl Rig {
    pub fn new(endpoints: &[&str]) -> Self {
        Self::with(OutboxConfig::default(), endpoints)
    }

    pub fn with(config: OutboxConfig, endpoints: &[&str]) -> Self {
        let mut rig = Self {
            now: TimestampMs(1_000_000),
            outbox: Outbox::new(config.clone()),
            config,
            rows: BTreeMap::new(),
            endpoints: BTreeMap::new(),
            sent: vec![],
            aborted: vec![],
            log: vec![],
            attempts: BTreeMap::new(),
            next_event: 0,
        };
        for id in endpoints {
            rig.set(endpoint(id));
        }
        rig
    }

    pub fn set(&mut self, endpoint: Endpoint) {
        self.outbox.set_endpoint(self.now, endpoint).unwrap();
        self.settle();
    }

    /// Does what the shell does after every input.
    pub fn settle(&mut self) {
        while let Some(effect) = self.outbox.poll_effect() {
            match effect {
                Effect::Insert { row, body } => {
                    self.rows.insert(row.id, (*row, body));
                }
                Effect::Save(row) => {
                    let stored = self.rows.get_mut(&row.id).expect("a row is inserted before it is saved");
                    stored.0 = *row;
                }
                Effect::Delete(id) => assert!(self.rows.remove(&id).is_some(), "deleted twice"),
                Effect::SaveEndpoint(endpoint) => {
                    self.endpoints.insert(endpoint.id.clone(), *endpoint);
                }
                Effect::DeleteEndpoint(id) => {
                    self.endpoints.remove(&id);
                    self.rows.retain(|_, (row, _)| row.endpoint != id);
                    self.attempts.retain(|(endpoint, _), _| *endpoint != id);
                }
                Effect::Log(entry) => {
                    self.attempts.insert((entry.endpoint.clone(), entry.slot()), *entry);
                }
                Effect::Abort(id) => {
                    self.sent.retain(|delivery| delivery.id != id);
                    self.aborted.push(id);
                }
                Effect::Deliver(delivery) => {
                    let (row, _) = &self.rows[&delivery.row];
                    assert!(row.dead.is_none() && row.event == delivery.event, "sends what is not stored");
                    let (to, job) = (delivery.endpoint.to_string(), row.job_id.to_string());
                    self.log.push((to, job, row.kind, delivery.event.to_string()));
                    self.sent.push(*delivery);
                }
            }
        }
        self.outbox.check_invariants().unwrap();
        let stored = self.rows.values().map(|(row, _)| row).filter(|row| row.dead.is_none());
        assert!(stored.eq(self.outbox.rows()), "the store and the memory differ");
        assert!(self.endpoints.values().eq(self.outbox.endpoints()), "the store and the memory differ");
    }

    pub fn event(&mut self, n: u32, kind: EventKind) -> Event {
        self.next_event += 1;
        Event {
            id: EventId::new(format!("msg_{}", self.next_event)).unwrap(),
            tenant: TenantId::new("acme").unwrap(),
            job_id: job(n),
            in_project: false,
            generation: None,
            only: None,
            kind,
            at: self.now,
            data: serde_json::json!({ "jobId": job(n), "number": self.next_event }),
        }
    }

    /// Something happens to a job. Gives the event's id.
    pub fn publish(&mut self, n: u32, kind: EventKind) -> String {
        let event = self.event(n, kind);
        self.outbox.publish(self.now, &event);
        self.settle();
        event.id.to_string()
    }

    /// The oldest request under way to an endpoint has an outcome.
    pub fn answer(&mut self, endpoint: &str, outcome: DeliveryOutcome) {
        let position =
            self.sent.iter().position(|d| d.endpoint.as_str() == endpoint).expect("nothing is under way");
        self.answer_at(position, outcome);
    }

    pub fn answer_at(&mut self, position: usize, outcome: DeliveryOutcome) {
        let delivery = self.sent.remove(position);
        self.outbox.handle_delivered(self.now, delivery.id, outcome);
        self.settle();
    }

    /// Time passes; every deadline on the way is kept.
    pub fn pass(&mut self, duration: DurationMs) {
        let end = self.now + duration;
        while let Some(at) = self.outbox.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.outbox.handle_deadline(self.now);
            self.settle();
        }
        self.now = end;
    }

    /// Goes to the next deadline, which has to exist.
    pub fn next_deadline(&mut self) {
        let at = self.outbox.next_deadline().expect("nothing is waited for");
        self.pass(at - self.now);
    }

    /// The object's memory is lost. The requests under way get lost with it; whether they arrived, nobody knows.
    pub fn evict(&mut self) {
        self.sent.clear();
        let rows = self.rows.values().filter(|(row, _)| row.dead.is_none());
        let rows = rows.map(|(row, _)| Row::decode(&row.encode().unwrap()).unwrap()).collect();
        let endpoints = self.endpoints.values();
        let endpoints = endpoints.map(|e| Endpoint::decode(&e.encode().unwrap()).unwrap()).collect();
        let last = self.rows.keys().next_back().copied().unwrap_or(RowId(0));
        self.outbox = Outbox::restore(self.config.clone(), self.now, endpoints, rows, last);
        for entry in self.attempts.values() {
            self.outbox.resume_log(&entry.endpoint, entry.sequence);
        }
        self.settle();
    }

    pub fn dead(&self) -> Vec<Row> {
        self.rows.values().map(|(row, _)| row).filter(|row| row.dead.is_some()).cloned().collect()
    }

    pub fn replay(&mut self, dead: Vec<Row>) {
        self.outbox.replay(self.now, dead);
        self.settle();
    }

    /// What is under way: endpoint and kind.
    pub fn under_way(&self) -> Vec<(String, EventKind)> {
        let kind = |d: &Delivery| (d.endpoint.to_string(), self.rows[&d.row].0.kind);
        self.sent.iter().map(kind).collect()
    }

    /// The kinds sent for a job so far, in order.
    pub fn told(&self, endpoint: &str, n: u32) -> Vec<EventKind> {
        let about =
            |entry: &&(String, String, EventKind, String)| entry.0 == endpoint && entry.1 == job(n).as_str();
        self.log.iter().filter(about).map(|entry| entry.2).collect()
    }

    /// Every request is answered at once from now on, until nothing waits.
    pub fn drain(&mut self) {
        for _ in 0..100_000 {
            if !self.sent.is_empty() {
                self.answer_at(0, ok());
            } else if self.outbox.next_deadline().is_some() {
                self.next_deadline();
            } else {
                return;
            }
        }
        panic!("the outbox never drains");
    }

    pub fn row_of(&self, event: &str) -> Option<&Row> {
        self.rows.values().map(|(row, _)| row).find(|row| row.event.as_str() == event)
    }
}
