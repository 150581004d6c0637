//! The run of one seed.

use shared_protocol::JobId;

use edge::scheduler::Config;

use super::agenda::{Agenda, Event, Way};
use super::backend::Requests;
use super::checks::{Checks, Fact, Moment};
use super::clients::Client;
use super::network::Link;
use super::object::{Object, stamp};
use super::operators::Operators;
use super::plan::Plan;
use super::random::Random;
use super::trace::Trace;
use super::worker::{Process, SimWorker};

/// Between two looks at everything.
const GLANCE_EVERY: u64 = 5_000;

/// After the last job has ended, acknowledgements and cancels get so long.
const SETTLE: u64 = 90_000;

/// Once the faults have ended every job has to end within this time, and [`PER_JOB`] for each of them. The longest bench of a worker
/// is half an hour, and one may follow on another.
const HEALING_BOUND: u64 = 2 * 3_600_000;

/// Somebody who never rests, perhaps without time going on, would keep a run from ending.
const MOST_EVENTS: u64 = 5_000_000;

/// A job may be tried seven times.
const PER_JOB: u64 = 7 * 60_000;

/// Something that must not happen did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// The check that saw it.
    pub check: String,
    /// When, in milliseconds of the run.
    pub at_ms: u64,
    /// What.
    pub what: String,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Report {
    /// The seed.
    pub seed: u64,
    /// What went wrong, if anything did.
    pub violation: Option<Violation>,
    /// How long the run was in simulated milliseconds.
    pub simulated_ms: u64,
    /// Milliseconds of workers: a run of one second with four workers is four.
    pub fleet_ms: u64,
    /// Events.
    pub events: u64,
    /// Jobs submitted.
    pub jobs: u64,
    /// Equal in equal runs.
    pub digest: u64,
    /// The trace, when one was asked for.
    pub trace: String,
}

impl Report {
    /// Of a run that never came to an end.
    pub(super) fn empty(seed: u64) -> Self {
        let trace = String::new();
        Self { seed, violation: None, simulated_ms: 0, fleet_ms: 0, events: 0, jobs: 0, digest: 0, trace }
    }
}

/// Everything.
pub(super) struct World {
    pub now: u64,
    pub plan: Plan,
    pub random: Random,
    pub agenda: Agenda,
    pub objects: Vec<Object>,
    pub workers: Vec<SimWorker>,
    pub links: Vec<Link>,
    pub requests: Requests,
    pub events_made: u64,
    pub rows_made: u64,
    pub clients: Vec<Client>,
    pub operators: Operators,
    pub checks: Checks,
    pub trace: Trace,
    pub healing: bool,
    pub executions_made: u64,
    pub jobs_made: u64,
}

/// Runs a seed; with `text`, keeping a trace for people.
pub fn run_seed(seed: u64, text: bool) -> Report {
    let mut world = World::new(seed, text);
    let events = world.run();
    Report {
        seed,
        violation: world.checks.violation.take(),
        simulated_ms: world.now,
        fleet_ms: world.now * world.workers.len() as u64,
        events,
        jobs: world.jobs_made,
        digest: world.trace.digest(),
        trace: world.trace.text().to_owned(),
    }
}

impl World {
    fn new(seed: u64, text: bool) -> Self {
        let mut random = Random::new(seed);
        let plan = Plan::draw(&mut random);
        let objects = (0..plan.environments)
            .map(|env| {
                let environment = ["production", "dev"][env.min(1)].to_owned();
                let config = Config { environment, max_live_jobs: plan.max_live_jobs, policy: plan.policy };
                Object::new(config, plan.outbox.clone())
            })
            .collect();
        let workers =
            plan.workers.iter().cloned().enumerate().map(|(i, plan)| SimWorker::new(i, plan)).collect();
        let clients =
            plan.requests.iter().cloned().enumerate().map(|(n, plan)| Client::new(n, plan)).collect();
        Self {
            now: 0,
            random,
            agenda: Agenda::default(),
            objects,
            workers,
            links: Vec::new(),
            requests: Requests::default(),
            events_made: 0,
            rows_made: 0,
            clients,
            operators: Operators::new(plan.environments),
            checks: Checks::new(),
            trace: Trace::new(text),
            healing: false,
            executions_made: 0,
            jobs_made: 0,
            plan,
        }
    }

    /// Tells the checks a fact.
    pub fn tell(&mut self, fact: &Fact<'_>) {
        self.checks.see(Moment { now: stamp(self.now) }, self.now, fact);
    }

    /// Adds an event that happens so much later.
    pub fn later(&mut self, delay: u64, event: Event) {
        self.agenda.add(self.now + delay, event);
    }

    fn run(&mut self) -> u64 {
        self.begin();
        let mut events = 0;
        let mut idle_since = None;
        let bound = self.plan.heal_at
            + HEALING_BOUND
            + self.clients.iter().map(|client| PER_JOB.max(client.plan.audio_seconds * 1_500)).sum::<u64>();
        while let Some((at, event)) = self.agenda.next() {
            self.now = at;
            self.trace.at(at);
            self.trace.mix(at);
            events += 1;
            self.happen(event);
            if self.checks.violation.is_some() {
                break;
            }
            if events > MOST_EVENTS {
                self.checks.accuse("everything_ends", at, format!("{events} events, and no end"));
                break;
            }
            if self.healing && at >= self.plan.heal_at + SETTLE {
                if !self.everything_ended() {
                    idle_since = None;
                } else if at >= *idle_since.get_or_insert(at) + SETTLE {
                    break;
                }
            }
            if at > bound {
                let left = self.left_over();
                self.checks.accuse(
                    "everything_ends",
                    at,
                    format!("after {} min of healing: {left}", (at - self.plan.heal_at) / 60_000),
                );
                break;
            }
        }
        self.finish();
        events
    }

    fn begin(&mut self) {
        let faults = self.plan.faults.clone();
        let environments = self.plan.environments;
        let plan = format!("{:?}", self.plan);
        self.trace.line("plan", || plan);
        let reliable = faults.object_is_reliable();
        let uniform = self.plan.uniform;
        self.tell(&Fact::Begins { reliable, uniform, max_live_jobs: self.plan.max_live_jobs });
        for worker in 0..self.workers.len() {
            let delay = self.random.below(3_000);
            self.later(delay, Event::Start { worker });
        }
        for env in 0..environments {
            let delay = self.random.below(60_000);
            self.later(delay, Event::Poke { env });
        }
        for request in 0..self.clients.len() {
            self.agenda.add(self.clients[request].plan.at, Event::Submit { request, tries: 0 });
        }
        for target in 0..self.plan.endpoints.len() {
            self.agenda.add(self.plan.endpoints[target].at, Event::SetUpEndpoint { target });
        }
        if !self.plan.endpoints.is_empty() {
            self.later(60_000, Event::LookAfterWebhooks);
        }
        for (fault, mean) in &faults.recurring {
            let delay = self.random.below(2 * mean);
            self.later(delay, Event::Fault(*fault));
        }
        self.later(GLANCE_EVERY, Event::Glance);
        self.later(self.plan.heal_at, Event::Heal);
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Connect { link } => self.accept_connection(link),
            Event::Frame { link, way: Way::Up } => self.frame_at_object(link),
            Event::Closed { link, way: Way::Up } => self.closed_at_object(link),
            Event::Connected { .. }
            | Event::Frame { .. }
            | Event::Closed { .. }
            | Event::Tick { .. }
            | Event::Pipeline { .. } => self.at_worker(event),
            Event::Start { worker } => self.start_worker(worker),
            Event::Thaw { worker, boot } => self.thaw(worker, boot),
            Event::Alarm { env, at, again } => self.alarm_goes_off(env, at, again),
            Event::Poke { env } => self.poke(env),
            Event::Submit { request, tries } => self.submit(request, tries),
            Event::Fault(fault) => self.fault_strikes(fault),
            Event::Command { env, command } => self.try_command(env, command),
            Event::SetUpEndpoint { target } => self.set_up_endpoint(target),
            Event::WebhookArrives { number } => self.webhook_arrives(number),
            Event::WebhookAnswered { number } => self.webhook_answered(number),
            Event::LookAfterWebhooks => self.look_after_webhooks(),
            Event::Glance => self.glance(),
            Event::Heal => self.heal(),
        }
    }

    fn glance(&mut self) {
        for env in 0..self.objects.len() {
            let reachable = self.objects[env].away_until <= self.now;
            let moment = Moment { now: stamp(self.now) };
            self.checks.see(
                moment,
                self.now,
                &Fact::Glance { env, store: &self.objects[env].store, reachable },
            );
        }
        self.later(GLANCE_EVERY, Event::Glance);
    }

    /// Whether nothing is left to be done.
    fn everything_ended(&self) -> bool {
        let jobs =
            self.objects.iter().all(|object| object.store.jobs.values().all(|job| job.state.is_ended()));
        let clients = self.clients.iter().all(Client::is_answered);
        jobs && clients
            && !self.webhooks_wait()
            && self.workers.iter().all(|worker| worker.executions.is_empty())
    }

    fn left_over(&self) -> String {
        let rows = self.objects.iter().flat_map(|object| object.store.jobs.values());
        let jobs: Vec<String> = rows
            .filter(|job| !job.state.is_ended())
            .map(|job| format!("{} {:?} attempt {}", job.id, job.state, job.attempt))
            .collect();
        let unanswered = self.clients.iter().filter(|client| !client.is_answered()).count();
        let webhooks: usize = self.objects.iter().map(|object| object.store.webhooks.len()).sum();
        let running: usize = self.workers.iter().map(|worker| worker.executions.len()).sum();
        format!(
            "{} jobs are live ({}), {unanswered} requests unanswered, {running} attempts run, {webhooks} webhooks wait",
            jobs.len(),
            jobs.join("; ")
        )
    }

    fn finish(&mut self) {
        if self.checks.violation.is_some() {
            return;
        }
        for worker in 0..self.workers.len() {
            let kept: Vec<String> = self.workers[worker]
                .journal
                .iter()
                .flat_map(|(env, messages)| {
                    messages.iter().map(move |m| format!("{env}: {:?}", m.message_id()))
                })
                .collect();
            if !kept.is_empty() {
                let id = self.workers[worker].id.clone();
                let what = format!("{id} still keeps unacknowledged messages: {}", kept.join(", "));
                return self.checks.accuse("everything_ends", self.now, what);
            }
            if self.workers[worker].process == Process::Running
                && let Some((env, _)) =
                    self.workers[worker].sessions.iter().find(|(_, l)| !l.session.is_connected())
            {
                let what = format!("{} is not connected to environment {env}", self.workers[worker].id);
                return self.checks.accuse("everything_ends", self.now, what);
            }
        }
        for env in 0..self.objects.len() {
            let moment = Moment { now: stamp(self.now) };
            self.checks.see(moment, self.now, &Fact::Over { env, store: &self.objects[env].store });
        }
    }

    /// A fresh id of a job, in the order of time.
    pub fn new_job_id(&mut self) -> JobId {
        self.jobs_made += 1;
        JobId::new(format!("job_{:05}", self.jobs_made)).expect("a constant and a number are an id")
    }
}
