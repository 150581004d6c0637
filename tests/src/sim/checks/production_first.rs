//! A slot that becomes free is production's for half a second; only then may dev have it.

use std::collections::BTreeMap;

use mini_worker::session::SECOND_CHOICE_AFTER;
use shared_protocol::{TimestampMs, WorkerId};

use super::{Check, Fact, HowEnded, Moment, Verdict};

#[derive(Default)]
struct Machine {
    slots: usize,
    running: usize,
    /// When slots became free of which nobody has taken any since.
    freed: Vec<TimestampMs>,
}

/// See the module.
#[derive(Default)]
pub struct ProductionFirst {
    machines: BTreeMap<WorkerId, Machine>,
}

impl Check for ProductionFirst {
    fn name(&self) -> &'static str {
        "production_first"
    }

    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::WorkerStarted { worker, slots } => {
                let machine = Machine { slots: *slots as usize, ..Machine::default() };
                self.machines.insert((*worker).clone(), machine);
            }
            Fact::ClockStepped { worker } => {
                if let Some(machine) = self.machines.get_mut(*worker) {
                    machine.freed.clear();
                }
            }
            Fact::Ended { place, how } => {
                let Some(machine) = self.machines.get_mut(&place.worker) else { return Ok(()) };
                machine.running = machine.running.saturating_sub(1);
                if !matches!(how, HowEnded::Died | HowEnded::Killed) {
                    machine.freed.push(moment.now);
                }
            }
            Fact::Started { place, .. } => {
                let Some(machine) = self.machines.get_mut(&place.worker) else { return Ok(()) };
                machine.freed.retain(|at| moment.now - *at < SECOND_CHOICE_AFTER);
                let free = machine.slots.saturating_sub(machine.running);
                if place.env == 0 {
                    machine.freed.pop();
                } else if free <= machine.freed.len() {
                    return Err(format!(
                        "{} gave dev a slot that became free less than {} ms ago",
                        place.worker, SECOND_CHOICE_AFTER.0
                    ));
                }
                machine.running += 1;
            }
            _ => {}
        }
        Ok(())
    }
}
