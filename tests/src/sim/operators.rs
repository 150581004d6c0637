//! Operators: they pull levers, and pull again until they are told that it worked.

use edge::scheduler::{CancelOutcome, OperatorError};
use shared_protocol::{DurationMs, JobId, TenantId};

use super::agenda::Event;
use super::checks::{Command, Fact};
use super::fault::Fault;
use super::turn::name;
use super::world::World;

/// What operators want of each environment.
pub struct Operators {
    commands: Vec<Vec<Command>>,
    /// Nobody insists on what was asked for before.
    from: usize,
}

impl Operators {
    /// Nothing yet.
    pub fn new(environments: usize) -> Self {
        Self { commands: vec![Vec::new(); environments], from: 0 }
    }
}

impl World {
    /// An operator, or a client that cancels, does something.
    pub fn person_acts(&mut self, fault: Fault) {
        let env = self.random.index(self.objects.len());
        let undo = self.random.chance(500);
        let tenant = TenantId::new(format!("tenant-{}", self.random.index(self.plan.tenants)))
            .expect("a constant and a number are an id");
        let worker = self.random.index(self.workers.len());
        let worker = self.workers[worker].id.clone();
        let state = |names: &[&str]| -> Vec<JobId> {
            let rows = self.objects[env].store.jobs.values();
            rows.filter(|job| names.contains(&job.state.name())).map(|job| job.id.clone()).collect()
        };
        let jobs = match fault {
            Fault::Cancel => state(&["queued", "offered", "running", "running", "completed"]),
            Fault::Retry => state(&["failed", "quarantined"]),
            Fault::Discard => state(&["quarantined"]),
            _ => Vec::new(),
        };
        let job = (!jobs.is_empty()).then(|| jobs[self.random.index(jobs.len())].clone());
        let bench = self.random.skewed(1_000, 120_000);
        let command = match (fault, job) {
            (Fault::PauseQueue, _) if undo => Command::Resume(None),
            (Fault::PauseQueue, _) => Command::Pause(None),
            (Fault::PauseTenant, _) if undo => Command::Resume(Some(tenant)),
            (Fault::PauseTenant, _) => Command::Pause(Some(tenant)),
            (Fault::DrainWorker, _) if undo => Command::Undrain(worker),
            (Fault::DrainWorker, _) => Command::Drain(worker),
            (Fault::BenchWorker, _) if undo => Command::Unbench(worker),
            (Fault::BenchWorker, _) => Command::Bench(worker, bench),
            (Fault::Cancel, Some(job)) => Command::Cancel(job),
            (Fault::Retry, Some(job)) => Command::Retry(job),
            (Fault::Discard, Some(job)) => Command::Discard(job),
            _ => return,
        };
        self.command(env, command);
    }

    /// Everything that holds anything back is taken away.
    pub fn release_everything(&mut self) {
        self.operators.from = self.operators.commands.iter().map(Vec::len).max().unwrap_or(0);
        let from = self.operators.from;
        self.operators.commands.iter_mut().for_each(|all| all.resize(from, Command::Resume(None)));
        for env in 0..self.objects.len() {
            self.command(env, Command::Resume(None));
            for tenant in 0..self.plan.tenants {
                let tenant =
                    TenantId::new(format!("tenant-{tenant}")).expect("a constant and a number are an id");
                self.command(env, Command::Resume(Some(tenant)));
            }
            for worker in 0..self.workers.len() {
                let worker = self.workers[worker].id.clone();
                self.command(env, Command::Undrain(worker.clone()));
                self.command(env, Command::Unbench(worker));
            }
        }
    }

    fn command(&mut self, env: usize, command: Command) {
        let number = self.operators.commands[env].len();
        self.operators.commands[env].push(command);
        self.try_command(env, number);
    }

    pub fn try_command(&mut self, env: usize, number: usize) {
        if number < self.operators.from {
            return;
        }
        let command = self.operators.commands[env][number].clone();
        self.tell(&Fact::Commanding { env, command: &command });
        let row = match &command {
            Command::Retry(job) | Command::Discard(job) => self.objects[env].store.load(job),
            _ => None,
        };
        let wish = command.clone();
        let done = self.turn(env, move |turn| {
            let now = turn.now;
            match wish {
                Command::Pause(tenant) => turn.brain.pause(tenant),
                Command::Resume(tenant) => turn.brain.resume(now, tenant.as_ref()),
                Command::Drain(worker) => turn.brain.drain(&worker, "as the seed wants it"),
                Command::Undrain(worker) => turn.brain.undrain(now, &worker),
                Command::Bench(worker, time) => {
                    turn.brain.bench(now, &worker, DurationMs(time), "as the seed wants it")
                }
                Command::Unbench(worker) => turn.brain.unbench(now, &worker),
                Command::Cancel(job) => return outcome(turn.brain.cancel(now, &job)),
                Command::Retry(_) => return row.map_or("no row", |row| refused(turn.brain.retry(now, row))),
                Command::Discard(_) => {
                    return row.map_or("no row", |row| refused(turn.brain.discard(now, row)));
                }
            }
            "done"
        });
        self.trace.line("operator", || format!("{} {command:?}: {}", name(env), done.unwrap_or("no answer")));
        let lost = !self.healing && self.random.chance(self.plan.faults.answer_lost);
        if done.is_some() {
            self.tell(&Fact::Commanded { env, command: &command });
        }
        if done.is_none() || lost {
            let again = self.random.between(500, 4_000);
            self.later(again, Event::Command { env, command: number });
        }
    }
}

fn outcome(outcome: CancelOutcome) -> &'static str {
    match outcome {
        CancelOutcome::Cancelled => "cancelled",
        CancelOutcome::Requested => "requested",
        CancelOutcome::NotLive => "not live",
    }
}

fn refused(result: Result<(), OperatorError>) -> &'static str {
    match result {
        Ok(()) => "done",
        Err(OperatorError::WrongState { .. }) => "wrong state",
        Err(OperatorError::QueueFull { .. }) => "queue full",
    }
}
