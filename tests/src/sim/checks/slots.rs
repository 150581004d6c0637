//! No worker ever runs more attempts than it has slots, all environments together, and never one attempt twice.

use std::collections::BTreeMap;

use shared_protocol::WorkerId;

use super::{Check, Fact, Moment, Place, Verdict};

/// See the module.
#[derive(Default)]
pub struct Slots {
    slots: BTreeMap<WorkerId, u32>,
    running: BTreeMap<WorkerId, Vec<Place>>,
}

impl Check for Slots {
    fn name(&self) -> &'static str {
        "slots"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        match fact {
            Fact::WorkerStarted { worker, slots } => {
                self.slots.insert((*worker).clone(), *slots);
            }
            Fact::Started { place, .. } => {
                let running = self.running.entry(place.worker.clone()).or_default();
                if running.contains(place) {
                    return Err(format!("{} runs {}/{} twice", place.worker, place.job, place.attempt));
                }
                running.push((*place).clone());
                let slots = self.slots.get(&place.worker).copied().unwrap_or(0);
                if running.len() as u32 > slots {
                    return Err(format!("{} runs {} attempts in {slots} slots", place.worker, running.len()));
                }
            }
            Fact::Ended { place, .. } => {
                if let Some(running) = self.running.get_mut(&place.worker) {
                    running.retain(|other| other != *place);
                }
            }
            _ => {}
        }
        Ok(())
    }
}
