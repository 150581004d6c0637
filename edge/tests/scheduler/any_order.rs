//! Whatever order things come in: nothing is lost, nothing runs twice at once, everything ends.

use super::rig::*;
use edge::scheduler::{Job, Scheduler};
use proptest::prelude::*;
use shared_protocol::*;

#[derive(Debug, Clone)]
enum Step {
    Submit,
    Hello(u64),
    Ready(u64, u32),
    Answer(bool),
    Finish(u8, u8),
    Close(u64),
    Evict(bool),
    Cancel(u8),
    Pass(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Submit),
        2 => (1..4u64).prop_map(Step::Hello),
        6 => (1..4u64, 0..3u32).prop_map(|(w, s)| Step::Ready(w, s)),
        8 => any::<bool>().prop_map(Step::Answer),
        6 => (any::<u8>(), 0..3u8).prop_map(|(j, how)| Step::Finish(j, how)),
        2 => (1..4u64).prop_map(Step::Close),
        1 => any::<bool>().prop_map(Step::Evict),
        1 => any::<u8>().prop_map(Step::Cancel),
        3 => (0..6_000u64).prop_map(Step::Pass),
    ]
}

/// Honest workers 1 to 3, as the scheduler should believe them: the attempts each really runs.
#[derive(Default)]
struct World {
    connection: [Option<u64>; 4],
    running: Vec<(u64, JobId, u32)>,
    next_connection: u64,
    completed: std::collections::BTreeMap<JobId, u32>,
}

impl World {
    fn worker_of(&self, connection: u64) -> Option<u64> {
        (1..4).find(|w| self.connection[*w as usize] == Some(connection))
    }

    fn connect(&mut self, rig: &mut Rig, worker: u64) {
        self.next_connection += 1;
        self.connection[worker as usize] = Some(self.next_connection);
        rig.hello(self.next_connection, &format!("mini-{worker}"));
    }

    fn ready(&self, rig: &mut Rig, worker: u64, slots: u32) {
        let Some(connection) = self.connection[worker as usize] else { return };
        let running: Vec<(&JobId, u32)> =
            self.running.iter().filter(|(w, ..)| *w == worker).map(|(_, id, n)| (id, *n)).collect();
        rig.ready(connection, slots, &running);
    }

    /// What the scheduler closed is closed at the worker too; what it cancelled stops.
    fn obey(&mut self, rig: &mut Rig) {
        for closed in std::mem::take(&mut rig.closed) {
            if let Some(worker) = self.worker_of(closed.0) {
                self.connection[worker as usize] = None;
            }
        }
        for (connection, message) in std::mem::take(&mut rig.sent) {
            let SchedulerMessage::Cancel(cancel) = message else { continue };
            let Some(worker) = self.worker_of(connection.0) else { continue };
            let had = self.running.len();
            self.running
                .retain(|(w, id, n)| !(*w == worker && *id == cancel.job_id && *n == cancel.attempt.0));
            if self.running.len() < had {
                rig.cancelled(connection.0, &cancel.job_id, cancel.attempt.0);
            }
        }
    }

    fn answer(&mut self, rig: &mut Rig, accept: bool) {
        for (connection, job, attempt) in rig.take_offers() {
            let Some(worker) = self.worker_of(connection) else { continue };
            if accept {
                self.running.push((worker, job.clone(), attempt));
                rig.accept(connection, &job, attempt);
            } else {
                rig.reject(connection, &job, attempt);
            }
        }
    }

    fn finish(&mut self, rig: &mut Rig, pick: u8, how: u8) {
        if self.running.is_empty() {
            return;
        }
        let (worker, job, attempt) = self.running.remove(pick as usize % self.running.len());
        if self.connection[worker as usize].is_none() {
            self.connect(rig, worker);
        }
        let connection = self.connection[worker as usize].unwrap();
        match how {
            0 => rig.complete(connection, &job, attempt),
            1 => rig.fail(connection, &job, attempt, FailureCode::NotMedia),
            _ => rig.fail(connection, &job, attempt, FailureCode::EngineFailed),
        }
        if let Some(accepted) = rig.rows[&job].accepted {
            let first = *self.completed.entry(job.clone()).or_insert(accepted.0);
            assert_eq!(first, accepted.0, "an accepted result was replaced");
        }
    }
}

/// Evicted right now and restored from its rows and sockets, the scheduler is the same.
fn same_after_eviction(rig: &Rig) {
    let before = &rig.scheduler;
    let after = Scheduler::restore(before.config().clone(), rig.now, rig.restored());
    let order = |s: &Scheduler| s.waiting(rig.now).cloned().collect::<Vec<_>>();
    assert_eq!(order(before), order(&after), "the order of the queue");
    let jobs = |s: &Scheduler| s.jobs().map(|job| Job { progress: None, ..job.clone() }).collect::<Vec<_>>();
    assert_eq!(jobs(before), jobs(&after), "the live jobs");
    let meta = |s: &Scheduler| edge::scheduler::Meta { last_sequence: 0, ..s.meta() };
    assert_eq!(meta(before), meta(&after), "pauses and the queue's clock");
    let connected = |s: &Scheduler| {
        s.workers().filter(|w| w.connection.is_some()).map(|w| w.snapshot.clone()).collect::<Vec<_>>()
    };
    assert_eq!(connected(before), connected(&after), "the connected workers");
    after.check_invariants().unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]
    #[test]
    fn after_faults_and_healing_every_job_has_ended(steps in prop::collection::vec(step(), 0..120)) {
        let mut rig = Rig::new();
        let mut world = World::default();
        let mut jobs = vec![];
        for step in steps {
            match step {
                Step::Submit => jobs.push(rig.submit()),
                Step::Hello(w) => world.connect(&mut rig, w),
                Step::Ready(w, slots) => world.ready(&mut rig, w, slots),
                Step::Answer(accept) => world.answer(&mut rig, accept),
                Step::Finish(pick, how) => world.finish(&mut rig, pick, how),
                Step::Close(w) => {
                    if let Some(connection) = world.connection[w as usize].take() {
                        rig.close(connection);
                    }
                }
                Step::Evict(sockets_survive) => {
                    if !sockets_survive {
                        world.connection = [None; 4];
                    }
                    rig.evict(sockets_survive);
                }
                Step::Cancel(pick) => {
                    if !jobs.is_empty() {
                        let job = &jobs[pick as usize % jobs.len()];
                        rig.scheduler.cancel(rig.now, job);
                        rig.settle();
                    }
                }
                Step::Pass(ms) => rig.pass(ms),
            }
            world.obey(&mut rig);
            for job in &jobs {
                rig.state(job);
            }
            same_after_eviction(&rig);
        }
        // Healing: everybody connects, answers and finishes.
        for _ in 0..200 {
            for worker in 1..4 {
                if world.connection[worker as usize].is_none() {
                    world.connect(&mut rig, worker);
                }
                world.ready(&mut rig, worker, 1);
            }
            world.obey(&mut rig);
            world.answer(&mut rig, true);
            world.obey(&mut rig);
            world.finish(&mut rig, 0, 0);
            world.obey(&mut rig);
            rig.pass(1_000);
            world.obey(&mut rig);
        }
        for job in &jobs {
            prop_assert!(rig.rows[job].state.is_ended(), "{} never ended: {:?}", job, rig.rows[job].state);
        }
    }
}
