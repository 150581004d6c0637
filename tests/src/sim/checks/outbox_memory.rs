//! The outbox's memory agrees with its rows, and one that is restored has the same rows waiting.

use edge::outbox::{Outbox, Row};

use super::{Check, Fact, Moment, Verdict};

/// See the module.
#[derive(Default)]
pub struct OutboxMemory;

impl Check for OutboxMemory {
    fn name(&self) -> &'static str {
        "outbox_memory"
    }

    fn see(&mut self, _moment: Moment, fact: &Fact<'_>) -> Verdict {
        let Fact::TurnEnded { outbox, store, .. } = fact else { return Ok(()) };
        outbox.check_invariants()?;
        let stored = store.webhooks.values().map(|(row, _)| row).filter(|row| row.dead.is_none());
        let (remembered, stored): (Vec<&Row>, Vec<&Row>) = (Outbox::rows(outbox).collect(), stored.collect());
        if remembered != stored {
            return Err(format!("{remembered:?} wait in memory, {stored:?} in the store"));
        }
        if !outbox.endpoints().eq(store.endpoints.values()) {
            return Err("the endpoints in memory are not those in the store".to_owned());
        }
        Ok(())
    }
}
