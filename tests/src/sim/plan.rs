//! What a seed stands for: who is there, what they ask for, and what goes wrong.

use std::collections::BTreeSet;

use edge::outbox::{EventKind, OutboxConfig};
use edge::scheduler::Policy;
use shared_protocol::{LinkReport, Priority, Sampler};

use super::fault::{Fault, Faults};
use super::random::Random;

/// One worker.
#[derive(Debug, Clone)]
pub struct WorkerPlan {
    /// Jobs at once.
    pub slots: u32,
    /// What it can do.
    pub samplers: Vec<Sampler>,
    /// Its labels.
    pub labels: Vec<String>,
    /// Its priority.
    pub priority: i32,
    /// Seconds of audio per second of inference.
    pub speed: u64,
    /// What it reports of its connection.
    pub link: Option<LinkReport>,
    /// It fails every job at once until the faults end.
    pub broken: bool,
    /// It says anything about its backlog.
    pub lies: bool,
    /// Its clock is ahead by so many milliseconds.
    pub clock_ahead: u64,
    /// Whether it serves the second environment too.
    pub serves_second: bool,
}

/// What becomes of a job when it is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It succeeds, but for the faults of workers.
    Sound,
    /// Its recording cannot be restored.
    Broken,
    /// Of a thousand attempts so many fail in a way that another may not.
    Flaky(u32),
    /// It kills the process that runs it.
    Poison,
}

/// One request of a client.
#[derive(Debug, Clone)]
pub struct RequestPlan {
    /// The environment asked.
    pub env: usize,
    /// Who asks: an index.
    pub tenant: usize,
    /// When, in milliseconds.
    pub at: u64,
    /// Whether it carries an idempotency key.
    pub keyed: bool,
    /// Its class.
    pub priority: Priority,
    /// How it is to be restored.
    pub sampler: Sampler,
    /// Labels that its worker has to have.
    pub labels: Vec<String>,
    /// Not to be started before, in milliseconds.
    pub not_before: Option<u64>,
    /// Length of the recording.
    pub audio_seconds: u64,
    /// Whether the client says how long the recording is.
    pub says_length: bool,
    /// What becomes of it.
    pub fate: Fate,
}

/// One endpoint for webhooks, and how it behaves until the faults end. Rates are of a thousand requests.
#[derive(Debug, Clone)]
pub struct EndpointPlan {
    /// The environment that it is set up in.
    pub env: usize,
    /// Whose jobs it is told of: an index; all tenants' when there is none.
    pub tenant: Option<usize>,
    /// What it is told; everything when there is no choice.
    pub kinds: Option<BTreeSet<EventKind>>,
    /// When it is set up.
    pub at: u64,
    /// No connection comes about.
    pub refuses: u32,
    /// It answers with an error.
    pub fails: u32,
    /// It asks for a pause.
    pub busy: u32,
    /// It wants no more.
    pub gone: u32,
    /// It works, and does not answer.
    pub hangs: u32,
    /// It works, and its answer is lost.
    pub deaf: u32,
    /// It answers, and the object's shell never hears of it.
    pub outcome_lost: u32,
    /// Milliseconds that either way takes at most.
    pub slowest: u64,
}

/// A whole run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Environments: production alone, or production and dev.
    pub environments: usize,
    /// Tenants in each.
    pub tenants: usize,
    /// The workers.
    pub workers: Vec<WorkerPlan>,
    /// What is asked for, in order of time.
    pub requests: Vec<RequestPlan>,
    /// Who is told of it.
    pub endpoints: Vec<EndpointPlan>,
    /// What operators set for telling.
    pub outbox: OutboxConfig,
    /// What goes wrong.
    pub faults: Faults,
    /// When the faults end.
    pub heal_at: u64,
    /// Bound of live jobs.
    pub max_live_jobs: usize,
    /// Which estimate decides.
    pub policy: Policy,
    /// Every worker can do every job, and nothing waits for a time or a resumed tenant.
    pub uniform: bool,
}

impl Plan {
    /// The plan of a seed.
    pub fn draw(random: &mut Random) -> Self {
        let environments = if random.chance(350) { 2 } else { 1 };
        let mut faults = Faults::draw(random);
        let uniform = random.chance(300);
        if uniform {
            faults.recurring.retain(|(fault, _)| *fault != Fault::PauseTenant);
        }
        let heal_at = random.skewed(60_000, 900_000);
        let tenants = random.between(1, 4) as usize;
        let count = random.between(1, 6);
        let mut workers: Vec<WorkerPlan> = (0..count).map(|_| worker(random, &faults)).collect();
        // Whatever is asked for, somebody can do it.
        if let Some(first) = workers.first_mut() {
            first.samplers = vec![Sampler::Flash, Sampler::Pro];
            first.labels = vec!["gpu".to_owned()];
            first.broken = false;
            first.serves_second = true;
        }
        let shape = Shape { environments, tenants, last: heal_at * 3 / 4, hour_long: random.chance(20) };
        let jobs = random.skewed(3, 64);
        let mut requests: Vec<RequestPlan> = (0..jobs).map(|_| request(random, &shape)).collect();
        if random.chance(250) {
            requests.extend(crowd(random, &shape));
        }
        requests.sort_by_key(|request| request.at);
        if uniform {
            workers.iter_mut().for_each(|worker| worker.samplers = vec![Sampler::Flash, Sampler::Pro]);
            for request in &mut requests {
                request.labels.clear();
                request.not_before = None;
            }
        }
        let max_live_jobs = if random.chance(100) { random.between(2, 8) as usize } else { 10_000 };
        let policy = if random.chance(300) { Policy::EarliestStart } else { Policy::EarliestFinish };
        let endpoints = if random.chance(400) {
            (0..random.skewed(1, 8)).map(|_| endpoint(random, &shape)).collect()
        } else {
            Vec::new()
        };
        let mut outbox = OutboxConfig::default();
        if random.chance(150) {
            outbox.max_waiting_per_endpoint = random.between(3, 25) as usize;
        }
        Self {
            environments,
            tenants,
            workers,
            requests,
            endpoints,
            outbox,
            faults,
            heal_at,
            max_live_jobs,
            policy,
            uniform,
        }
    }
}

struct Shape {
    environments: usize,
    tenants: usize,
    last: u64,
    hour_long: bool,
}

fn worker(random: &mut Random, faults: &Faults) -> WorkerPlan {
    let link = random.chance(600).then(|| LinkReport {
        download_bytes_per_second: random.skewed(500_000, 100_000_000) as f64,
        upload_bytes_per_second: random.skewed(500_000, 50_000_000) as f64,
        request_seconds: random.between(1, 1_000) as f64 / 1_000.0,
    });
    let days = if random.chance(300) { random.below(30 * 86_400_000) } else { 0 };
    WorkerPlan {
        slots: random.skewed(1, 6) as u32,
        samplers: if random.chance(300) { vec![Sampler::Flash] } else { vec![Sampler::Flash, Sampler::Pro] },
        labels: if random.chance(300) { vec!["gpu".to_owned()] } else { vec![] },
        priority: random.below(3) as i32,
        speed: random.between(5, 60),
        link,
        broken: faults.attempt_fails > 0 && random.chance(150),
        lies: random.chance(faults.lies),
        clock_ahead: days,
        serves_second: random.chance(800),
    }
}

fn request(random: &mut Random, shape: &Shape) -> RequestPlan {
    let at = random.below(shape.last);
    let priority = [Priority::High, Priority::Normal, Priority::Normal, Priority::Low][random.index(4)];
    let fate = match random.below(100) {
        0..5 => Fate::Broken,
        5..12 => Fate::Flaky(random.between(200, 1_000) as u32),
        12..17 => Fate::Poison,
        _ => Fate::Sound,
    };
    let long = shape.hour_long && random.chance(100);
    RequestPlan {
        env: random.index(shape.environments),
        tenant: random.index(shape.tenants),
        at,
        keyed: random.chance(700),
        priority,
        sampler: if random.chance(250) { Sampler::Pro } else { Sampler::Flash },
        labels: if random.chance(120) { vec!["gpu".to_owned()] } else { vec![] },
        not_before: random.chance(120).then(|| at + random.below(120_000)),
        audio_seconds: if long { 36_000 } else { random.skewed(5, 900) },
        says_length: random.chance(500),
        fate,
    }
}

fn endpoint(random: &mut Random, shape: &Shape) -> EndpointPlan {
    let sick = random.chance(600);
    let mut rate = |most: u64| if sick && random.chance(400) { random.between(1, most) as u32 } else { 0 };
    let (refuses, fails, busy, gone) = (rate(400), rate(400), rate(150), rate(20));
    let (hangs, deaf, outcome_lost) = (rate(300), rate(200), rate(50));
    let picked = || [EventKind::Queued, EventKind::Completed, EventKind::Failed, EventKind::Progress].into();
    EndpointPlan {
        env: random.index(shape.environments),
        tenant: random.chance(500).then(|| random.index(shape.tenants)),
        kinds: random.chance(200).then(picked),
        at: if random.chance(700) { 0 } else { random.below(shape.last) },
        refuses,
        fails,
        busy,
        gone,
        hangs,
        deaf,
        outcome_lost,
        slowest: if random.chance(300) { 6_000 } else { random.skewed(20, 1_000) },
    }
}

/// One tenant floods one class of the queue within a few seconds.
fn crowd(random: &mut Random, shape: &Shape) -> Vec<RequestPlan> {
    let mut model = request(random, shape);
    model.fate = Fate::Sound;
    model.labels = vec![];
    model.not_before = None;
    let most = if random.chance(200) { 150 } else { 40 };
    (0..random.between(10, most))
        .map(|_| {
            let at = model.at + random.below(4_000);
            // Where there are two environments, both are flooded at one moment, and both want the same slots.
            let env = random.index(shape.environments);
            RequestPlan { env, at, audio_seconds: random.skewed(5, 300), ..model.clone() }
        })
        .collect()
}
