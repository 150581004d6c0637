//! Freed slots that an environment of second choice leaves to the first one for a moment.

use std::collections::VecDeque;

use shared_protocol::{DurationMs, TimestampMs};

/// A freed slot is offered to production at once and to other environments so much later: time for production's scheduler
/// to hear of it and to answer over a slow link.
pub const SECOND_CHOICE_AFTER: DurationMs = DurationMs(500);

/// The slots that became free a moment ago. Without a pause there are never any.
#[derive(Debug, Default)]
pub(super) struct HoldBack {
    pause: DurationMs,
    /// When each may be offered, soonest first.
    releases: VecDeque<TimestampMs>,
}

impl HoldBack {
    /// Holds every freed slot back for so long.
    pub fn new(pause: DurationMs) -> Self {
        Self { pause, releases: VecDeque::new() }
    }

    /// So many slots became free.
    pub fn freed(&mut self, slots: u32, now: TimestampMs) {
        if self.pause.0 > 0 {
            self.releases.extend((0..slots).map(|_| now + self.pause));
        }
    }

    /// So many slots were taken by others: the newest of those that are held back, which were theirs to take.
    pub fn taken(&mut self, slots: u32) {
        let left = self.releases.len().saturating_sub(slots as usize);
        self.releases.truncate(left);
    }

    /// Lets go what was held back for long enough.
    pub fn advance(&mut self, now: TimestampMs) {
        while self.releases.front().is_some_and(|release| *release <= now) {
            self.releases.pop_front();
        }
    }

    /// Slots that are free and not offered yet.
    pub fn held(&self) -> u32 {
        u32::try_from(self.releases.len()).unwrap_or(u32::MAX)
    }

    /// When the next one may be offered.
    pub fn next_release(&self) -> Option<TimestampMs> {
        self.releases.front().copied()
    }
}
