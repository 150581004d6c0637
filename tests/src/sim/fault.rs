//! What goes wrong, and how often. A seed switches each kind on or off by itself, so that some runs are calm enough for the
//! strict bounds and others combine what never met before.

use super::random::Random;

/// A fault, or a thing that people do, that comes again and again during the first phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// A link breaks, and both ends hear of it.
    Cut,
    /// A link breaks, and one end or both hear nothing.
    HalfOpen,
    /// A link holds everything back for a while.
    Stall,
    /// A worker's process dies.
    Crash,
    /// A worker's process stops for a while and goes on.
    Freeze,
    /// A worker's clock jumps ahead.
    ClockStep,
    /// A worker is told to finish what it has, and restarts.
    WorkerDrain,
    /// A worker is told to hand back what it has, and restarts.
    HandBack,
    /// The object loses its memory; its sockets stay.
    Hibernate,
    /// The object loses its memory and its sockets, and is away for a moment.
    Deploy,
    /// The object is away for minutes.
    Outage,
    /// An operator pauses or resumes the queue.
    PauseQueue,
    /// An operator pauses or resumes a tenant.
    PauseTenant,
    /// An operator drains or undrains a worker.
    DrainWorker,
    /// An operator benches or unbenches a worker.
    BenchWorker,
    /// A client or operator cancels a job.
    Cancel,
    /// An operator retries a failed or quarantined job.
    Retry,
    /// An operator gives a quarantined job up.
    Discard,
}

/// Every kind, with the mean time between two of it in milliseconds.
const KINDS: [(Fault, u64); 18] = [
    (Fault::Cut, 25_000),
    (Fault::HalfOpen, 45_000),
    (Fault::Stall, 30_000),
    (Fault::Crash, 60_000),
    (Fault::Freeze, 60_000),
    (Fault::ClockStep, 90_000),
    (Fault::WorkerDrain, 150_000),
    (Fault::HandBack, 150_000),
    (Fault::Hibernate, 40_000),
    (Fault::Deploy, 90_000),
    (Fault::Outage, 400_000),
    (Fault::PauseQueue, 90_000),
    (Fault::PauseTenant, 90_000),
    (Fault::DrainWorker, 90_000),
    (Fault::BenchWorker, 120_000),
    (Fault::Cancel, 20_000),
    (Fault::Retry, 45_000),
    (Fault::Discard, 120_000),
];

/// What takes the object's memory.
const OF_THE_OBJECT: [Fault; 3] = [Fault::Hibernate, Fault::Deploy, Fault::Outage];

/// What goes wrong in one run.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// What comes again and again, with its mean interval in milliseconds.
    pub recurring: Vec<(Fault, u64)>,
    /// Of a thousand transactions so many fail and change nothing.
    pub store_fails: u32,
    /// Of a thousand transactions so many are said to have failed, but persisted.
    pub store_breaks: u32,
    /// Of a thousand turns in so many the object is evicted between two effects.
    pub interrupted: u32,
    /// Of a thousand offers so many cannot be signed, and stay unsent.
    pub unsigned: u32,
    /// Of a thousand alarms so many are late, up to a minute.
    pub alarm_late: u32,
    /// Of a thousand alarms so many go off twice.
    pub alarm_twice: u32,
    /// Of a thousand alarms so many never go off.
    pub alarm_lost: u32,
    /// Of a thousand answers to clients and operators so many never arrive.
    pub answer_lost: u32,
    /// Of a thousand effects of a session during so many the process dies.
    pub dies_in_effect: u32,
    /// Of a thousand crashes so many take the worker's disk along.
    pub disk_lost: u32,
    /// Of a thousand connections so many are refused.
    pub refused: u32,
    /// Of a thousand attempts so many fail in a way that another may not.
    pub attempt_fails: u32,
    /// Of a thousand offers so many are turned down by a worker's shell, without a word about slots.
    pub shy: u32,
    /// Of a thousand workers so many lie about their backlog.
    pub lies: u32,
}

impl Faults {
    /// Nothing goes wrong.
    pub fn none() -> Self {
        Self::default()
    }

    /// The faults of a run.
    pub fn draw(random: &mut Random) -> Self {
        if random.chance(100) {
            return Self::none();
        }
        let density = random.between(150, 850) as u32;
        let recurring = KINDS
            .iter()
            .filter_map(|(fault, mean)| {
                let on = random.chance(density);
                let mean = mean * random.between(40, 250) / 100;
                on.then_some((*fault, mean))
            })
            .collect();
        let mut rate = |most: u64| if random.chance(density) { random.between(1, most) as u32 } else { 0 };
        let mut faults = Self {
            recurring,
            store_fails: rate(100),
            store_breaks: rate(30),
            interrupted: rate(40),
            unsigned: rate(60),
            alarm_late: rate(300),
            alarm_twice: rate(300),
            alarm_lost: rate(200),
            answer_lost: rate(200),
            dies_in_effect: rate(4),
            disk_lost: rate(200),
            refused: rate(300),
            attempt_fails: rate(150),
            shy: rate(100),
            lies: rate(500),
        };
        if random.chance(150) {
            faults.spare_the_object();
        }
        faults
    }

    /// Leaves out what the promised bounds do not hold under.
    fn spare_the_object(&mut self) {
        let rates = [
            &mut self.store_fails,
            &mut self.store_breaks,
            &mut self.interrupted,
            &mut self.alarm_late,
            &mut self.alarm_lost,
        ];
        rates.into_iter().for_each(|rate| *rate = 0);
        self.recurring.retain(|(fault, _)| !OF_THE_OBJECT.contains(fault));
    }

    /// Whether a recurring fault is on.
    pub fn has(&self, fault: Fault) -> bool {
        self.recurring.iter().any(|(kind, _)| *kind == fault)
    }

    /// Whether the alarm and the object are as reliable as promised: then the promised bounds hold to the second.
    pub fn object_is_reliable(&self) -> bool {
        let rates = [self.store_fails, self.store_breaks, self.interrupted, self.alarm_late, self.alarm_lost];
        rates.iter().all(|rate| *rate == 0) && !OF_THE_OBJECT.iter().any(|kind| self.has(*kind))
    }
}
