//! The faults as they strike, and their end.

use mini_worker::session::state::Input;

use super::agenda::{Event, Way};
use super::checks::Fact;
use super::fault::Fault;
use super::turn::name;
use super::worker::Process;
use super::world::World;

impl World {
    pub fn fault_strikes(&mut self, fault: Fault) {
        if self.healing {
            return;
        }
        let mean = self
            .plan
            .faults
            .recurring
            .iter()
            .find(|(kind, _)| *kind == fault)
            .map_or(60_000, |(_, mean)| *mean);
        let next = self.random.below(2 * mean);
        self.later(next, Event::Fault(fault));
        let worker = self.random.index(self.workers.len());
        let env = self.random.index(self.objects.len());
        match fault {
            Fault::Cut | Fault::HalfOpen | Fault::Stall => self.disturb_link(fault),
            Fault::Crash => self.crash(worker, None),
            Fault::Freeze => {
                let time = self.random.skewed(500, 60_000);
                self.freeze(worker, time);
            }
            Fault::ClockStep => {
                let step = self.random.skewed(1_000, 86_400_000);
                self.workers[worker].clock_ahead += step;
                let id = self.workers[worker].id.clone();
                self.trace.line(&id, || format!("its clock jumps ahead by {step} ms"));
                self.tell(&Fact::ClockStepped { worker: &id });
                let environments: Vec<usize> = self.workers[worker].sessions.keys().copied().collect();
                for env in environments {
                    self.schedule_tick(worker, env);
                }
            }
            Fault::WorkerDrain | Fault::HandBack => self.tell_worker_to_leave(worker, fault),
            Fault::Hibernate => {
                self.trace.line(name(env), || "loses its memory".to_owned());
                self.objects[env].evict();
            }
            Fault::Deploy | Fault::Outage => {
                let away = match fault {
                    Fault::Deploy => self.random.skewed(50, 5_000),
                    _ => self.random.between(20_000, 300_000),
                };
                self.trace.line(name(env), || {
                    format!("loses its memory and its sockets, and is away for {away} ms")
                });
                self.objects[env].evict();
                self.objects[env].away_until = self.now + away;
                self.close_all_sockets(env);
            }
            Fault::PauseQueue
            | Fault::PauseTenant
            | Fault::DrainWorker
            | Fault::BenchWorker
            | Fault::Cancel
            | Fault::Retry
            | Fault::Discard => self.person_acts(fault),
        }
    }

    fn disturb_link(&mut self, fault: Fault) {
        let open: Vec<usize> = (0..self.links.len())
            .rev()
            .take(64)
            .filter(|link| self.links[*link].worker_end && self.links[*link].object_end)
            .collect();
        if open.is_empty() {
            return;
        }
        let link = open[self.random.index(open.len())];
        let worker = self.workers[self.links[link].worker].id.clone();
        self.trace.line("network", || format!("{fault:?} of {worker}'s link {link}"));
        if fault == Fault::Stall {
            let time = self.random.skewed(200, 25_000);
            self.links[link].stalled_until = self.now + time;
            return;
        }
        let (worker_hears, object_hears) = match fault {
            Fault::HalfOpen => [(false, false), (true, false), (false, true)][self.random.index(3)],
            _ => (true, true),
        };
        // Some of what is under way may still arrive on one of the ways.
        if !worker_hears || self.random.chance(600) {
            self.links[link].down.cut();
        }
        if !object_hears || self.random.chance(600) {
            self.links[link].up.cut();
        }
        if worker_hears {
            let takes = self.random.skewed(1, 4_000);
            let at = self.links[link].down.arrival(self.now, takes);
            self.agenda.add(at, Event::Closed { link, way: Way::Down });
            self.links[link].down.broken = true;
        }
        if object_hears {
            let takes = self.random.skewed(1, 4_000);
            let at = self.links[link].up.arrival(self.now, takes);
            self.agenda.add(at, Event::Closed { link, way: Way::Up });
            self.links[link].up.broken = true;
        }
    }

    fn tell_worker_to_leave(&mut self, index: usize, fault: Fault) {
        if self.workers[index].process != Process::Running {
            return;
        }
        let id = self.workers[index].id.clone();
        self.trace.line(&id, || format!("is told to leave: {fault:?}"));
        self.workers[index].leaving = true;
        let environments: Vec<usize> = self.workers[index].sessions.keys().copied().collect();
        for env in environments {
            let input = if fault == Fault::HandBack { Input::HandBack } else { Input::Drain };
            self.feed(index, env, input);
        }
        self.leave_if_done(index);
    }

    /// All faults end: what is frozen goes on, what is down starts, what is half open is found out, nothing is held back.
    pub fn heal(&mut self) {
        self.trace.line("world", || "all faults end".to_owned());
        self.healing = true;
        self.tell(&Fact::Healed);
        for env in 0..self.objects.len() {
            self.objects[env].away_until = 0;
        }
        for link in 0..self.links.len() {
            self.links[link].stalled_until = 0;
            let broken = self.links[link].up.broken || self.links[link].down.broken;
            if broken && self.links[link].worker_end {
                self.later(1, Event::Closed { link, way: Way::Down });
            }
            if broken && self.links[link].object_end {
                self.later(1, Event::Closed { link, way: Way::Up });
            }
        }
        for index in 0..self.workers.len() {
            let boot = self.workers[index].boot;
            match self.workers[index].process {
                Process::Frozen => self.thaw(index, boot),
                Process::Down => self.later(0, Event::Start { worker: index }),
                Process::Running => {}
            }
        }
        self.release_everything();
    }
}
