//! Terminal messages that were handled. A replay of one is acknowledged and nothing else.
//!
//! Correctness does not hang on them: every transition compares state and attempt. They spare the work, and they tell an
//! operator what was received when.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{DurationMs, MessageId, TimestampMs};

/// A worker replays right after it has reconnected; what comes later than this is told from its job's state.
pub const KEEP_RECEIPTS: DurationMs = DurationMs::from_secs(2 * 3600);

/// Receipts thrown away in one turn: a backlog of them must not stop the scheduler.
pub const PRUNED_PER_TURN: usize = 100;

/// Receipts by message and by age.
#[derive(Debug, Clone, Default)]
pub struct Receipts {
    by_id: BTreeMap<MessageId, TimestampMs>,
    by_time: BTreeSet<(TimestampMs, MessageId)>,
}

impl Receipts {
    /// Whether this message was handled before.
    pub fn knows(&self, id: &MessageId) -> bool {
        self.by_id.contains_key(id)
    }

    /// Notes a handled message.
    pub fn insert(&mut self, id: MessageId, at: TimestampMs) {
        if let Some(old) = self.by_id.insert(id.clone(), at) {
            self.by_time.remove(&(old, id.clone()));
        }
        self.by_time.insert((at, id));
    }

    /// When the oldest one may be thrown away.
    pub fn due(&self) -> Option<TimestampMs> {
        self.by_time.first().map(|(at, _)| *at + KEEP_RECEIPTS)
    }

    /// Takes out what is too old, a bounded number at a time.
    pub fn prune(&mut self, now: TimestampMs) -> Vec<MessageId> {
        let mut pruned = Vec::new();
        while pruned.len() < PRUNED_PER_TURN
            && self.by_time.first().is_some_and(|(at, _)| now - *at >= KEEP_RECEIPTS)
        {
            let Some((_, id)) = self.by_time.pop_first() else { break };
            self.by_id.remove(&id);
            pruned.push(id);
        }
        pruned
    }
}
