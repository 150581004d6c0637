//! Backends: the endpoints that webhooks are sent to, each with its own moods, and the requests on their way to them.

use std::collections::BTreeMap;

use edge::outbox::signature::Secret;
use edge::outbox::{
    Delivery, DeliveryId, DeliveryOutcome, Endpoint, EndpointId, EventId, EventKind, Row, RowId,
};
use shared_protocol::{DurationMs, JobId, TenantId};

use super::agenda::Event;
use super::checks::Fact;
use super::plan::EndpointPlan;
use super::random::Random;
use super::turn::name;
use super::world::World;

/// The shell cuts a request off after this.
const TIMEOUT: u64 = edge::outbox::DELIVERY_TIMEOUT.0;

/// A request under way, and whose it is.
#[derive(Debug, Clone)]
pub struct Request {
    /// The environment.
    pub env: usize,
    /// Which life of the object's memory sent it: a later one does not wait for its outcome.
    pub life: u64,
    /// Its name within that life.
    pub delivery: DeliveryId,
    /// Where to: an index of the plan.
    pub target: usize,
    /// Where to.
    pub endpoint: EndpointId,
    /// The row.
    pub row: RowId,
    /// The place of the row's event among all that were ever published.
    pub ordinal: u64,
    /// The event.
    pub event: EventId,
    /// What happened.
    pub kind: EventKind,
    /// To which job.
    pub job: JobId,
    /// The object does not wait for it any more.
    pub cut_off: bool,
    sent_at: u64,
    outcome: Option<DeliveryOutcome>,
}

/// What an endpoint makes of a request.
enum Mood {
    Fine,
    Fails,
    Busy,
    Gone,
    /// It works on the request, and does not answer.
    Hangs,
    /// It works on the request, and the answer is lost.
    Deaf,
}

impl EndpointPlan {
    /// The endpoint number `n` as its owner sets it up.
    pub fn endpoint(&self, n: usize) -> Endpoint {
        Endpoint {
            id: EndpointId::new(format!("ep_{n}")).expect("a constant and a number are an id"),
            tenant: self.tenant.map(|tenant| {
                TenantId::new(format!("tenant-{tenant}")).expect("a constant and a number are an id")
            }),
            url: format!("https://backend-{n}.example.com/hooks"),
            secrets: vec![
                Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").expect("a constant secret"),
            ],
            enabled: true,
            gone_at: None,
            kinds: self.kinds.clone(),
        }
    }

    fn mood(&self, random: &mut Random) -> Mood {
        let drawn = random.below(1_000) as u32;
        let mut below = 0;
        for (rate, mood) in [
            (self.fails, Mood::Fails),
            (self.busy, Mood::Busy),
            (self.gone, Mood::Gone),
            (self.hangs, Mood::Hangs),
            (self.deaf, Mood::Deaf),
        ] {
            below += rate;
            if drawn < below {
                return mood;
            }
        }
        Mood::Fine
    }
}

/// All requests under way.
#[derive(Debug, Default)]
pub struct Requests {
    all: BTreeMap<u64, Request>,
    last: u64,
}

impl World {
    /// The owners of endpoints set them up, and again until they are answered.
    pub fn set_up_endpoint(&mut self, target: usize) {
        let plan = &self.plan.endpoints[target];
        let (env, endpoint) = (plan.env, plan.endpoint(target));
        let set = self.turn(env, |turn| turn.outbox.set_endpoint(turn.now, endpoint));
        match set {
            Some(Ok(())) => {}
            Some(Err(error)) => self.checks.accuse("endpoints", self.now, format!("ep_{target}: {error}")),
            None => self.later(1_000, Event::SetUpEndpoint { target }),
        }
    }

    /// A request leaves the object.
    pub fn send_webhook(&mut self, env: usize, delivery: Delivery) {
        let store = &self.objects[env].store;
        let Some((row, _body)) = store.webhooks.get(&delivery.row) else {
            let what = format!("{} is to be sent, and has no row", delivery.event);
            return self.checks.accuse("webhook_order", self.now, what);
        };
        let request = Request {
            env,
            life: self.objects[env].life,
            delivery: delivery.id,
            target: self.target(&delivery.endpoint),
            endpoint: delivery.endpoint,
            row: delivery.row,
            ordinal: store.ordinals.get(&delivery.row).copied().unwrap_or(0),
            event: delivery.event,
            kind: row.kind,
            job: row.job_id.clone(),
            cut_off: false,
            sent_at: self.now,
            outcome: None,
        };
        self.trace.line(name(env), || {
            format!("tells {} of {}: {}", request.endpoint, request.job, request.kind.name())
        });
        self.trace.mix(request.ordinal ^ self.now << 20);
        self.requests.last += 1;
        let number = self.requests.last;
        self.tell(&Fact::WebhookSent { number, request: &request });
        let plan = &self.plan.endpoints[request.target];
        let (refuses, slowest) = (plan.refuses, plan.slowest);
        let refused = !self.healing && self.random.chance(refuses);
        let takes = if self.healing { self.random.between(1, 50) } else { self.random.skewed(1, slowest) };
        self.requests.all.insert(number, request);
        if refused {
            self.answer(number, takes, DeliveryOutcome::NotConnected { detail: "refused".to_owned() });
        } else {
            self.later(takes, Event::WebhookArrives { number });
        }
    }

    /// The object cuts a request off: nobody knows how far it had come.
    pub fn cut_webhook_off(&mut self, env: usize, delivery: DeliveryId) {
        let life = self.objects[env].life;
        let mut all = self.requests.all.iter_mut();
        let found = all.find(|(_, r)| r.env == env && r.life == life && r.delivery == delivery);
        if let Some((number, request)) = found {
            request.cut_off = true;
            let number = *number;
            self.tell(&Fact::WebhookCutOff { number });
        }
    }

    /// A request reaches its endpoint.
    pub fn webhook_arrives(&mut self, number: u64) {
        let Some(request) = self.requests.all.get(&number).cloned() else { return };
        if request.cut_off && self.random.chance(500) {
            return;
        }
        let plan = &self.plan.endpoints[request.target];
        let (slowest, outcome_lost) = (plan.slowest, plan.outcome_lost);
        let mood = if self.healing { Mood::Fine } else { plan.mood(&mut self.random) };
        let taken = matches!(mood, Mood::Fine | Mood::Hangs | Mood::Deaf);
        self.tell(&Fact::WebhookArrived { request: &request, taken });
        let pause = DurationMs(self.random.skewed(1_000, 120_000));
        let answer = |status, retry_after| DeliveryOutcome::Response { status, retry_after };
        let outcome = match mood {
            Mood::Fine => answer(204, None),
            Mood::Fails => answer([302, 400, 500, 503][self.random.index(4)], None),
            Mood::Busy => answer(429, Some(pause)),
            Mood::Gone => answer(410, None),
            Mood::Hangs => return self.answer(number, TIMEOUT, DeliveryOutcome::TimedOut),
            Mood::Deaf => DeliveryOutcome::NotConnected { detail: "the connection broke".to_owned() },
        };
        if !self.healing && self.random.chance(outcome_lost) {
            return;
        }
        let takes = if self.healing { self.random.between(1, 50) } else { self.random.skewed(1, slowest) };
        self.answer(number, takes, outcome);
    }

    /// What came of a request reaches the object after `takes`, or its timeout does.
    fn answer(&mut self, number: u64, takes: u64, outcome: DeliveryOutcome) {
        let Some(request) = self.requests.all.get_mut(&number) else { return };
        let times_out = request.sent_at + TIMEOUT;
        let at = self.now + takes;
        request.outcome = Some(if at >= times_out { DeliveryOutcome::TimedOut } else { outcome });
        self.agenda.add(at.min(times_out).max(self.now), Event::WebhookAnswered { number });
    }

    /// What came of a request reaches the object.
    pub fn webhook_answered(&mut self, number: u64) {
        let Some(request) = self.requests.all.remove(&number) else { return };
        let env = request.env;
        let waited_for = !request.cut_off && self.objects[env].life == request.life;
        let Some(outcome) = request.outcome.clone().filter(|_| waited_for) else { return };
        self.trace
            .line(name(env), || format!("hears of {} for {}: {outcome:?}", request.event, request.endpoint));
        let delivery = request.delivery;
        self.turn(env, |turn| {
            turn.answered.push((request.clone(), outcome.clone()));
            turn.outbox.handle_delivered(turn.now, delivery, outcome);
        });
    }

    /// Operators look after dead letters and endpoints that wanted no more: now and then, and in the end until none is left.
    pub fn look_after_webhooks(&mut self) {
        let next = if self.healing { 15_000 } else { self.random.between(30_000, 240_000) };
        self.later(next, Event::LookAfterWebhooks);
        for env in 0..self.objects.len() {
            let store = &self.objects[env].store;
            let most = self.plan.outbox.max_waiting_per_endpoint.min(20);
            let rows = store.webhooks.values().map(|(row, _)| row);
            let dead: Vec<Row> = rows.filter(|row| row.dead.is_some()).take(most).cloned().collect();
            let gone: Vec<Endpoint> = store.endpoints.values().filter(|e| !e.enabled).cloned().collect();
            if dead.is_empty() && gone.is_empty() {
                continue;
            }
            self.trace.line("operator", || {
                format!(
                    "{}: replays {} dead letters, enables {} endpoints",
                    name(env),
                    dead.len(),
                    gone.len()
                )
            });
            self.turn(env, |turn| turn.outbox.replay(turn.now, dead));
            for endpoint in gone {
                // It was checked when it was first set, and nothing but its switch changes.
                let enabled = Endpoint { enabled: true, gone_at: None, ..endpoint };
                let set = self.turn(env, |turn| turn.outbox.set_endpoint(turn.now, enabled));
                debug_assert!(set.is_none_or(|set| set.is_ok()), "it was set before");
            }
        }
    }

    /// Whether an object still has something to tell.
    pub fn webhooks_wait(&self) -> bool {
        self.objects.iter().any(|object| !object.store.webhooks.is_empty())
    }

    fn target(&self, endpoint: &EndpointId) -> usize {
        (0..self.plan.endpoints.len()).find(|n| format!("ep_{n}") == endpoint.as_str()).unwrap_or(0)
    }
}
