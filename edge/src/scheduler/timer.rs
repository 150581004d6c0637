//! Every deadline of the scheduler, each with the reason for which somebody is woken.

use std::collections::{BTreeMap, BTreeSet};

use shared_protocol::{JobId, TimestampMs, WorkerId};

use super::ConnectionId;

/// What a deadline is for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timer {
    /// Fires when nothing was heard of a worker for too long, or when its grace to reconnect is over.
    WorkerSilent(WorkerId),
    /// Fires when a worker that is away and has no jobs may be forgotten.
    WorkerForgotten(WorkerId),
    /// Fires when an offer was neither accepted nor rejected.
    OfferUnanswered(JobId),
    /// Fires when a queued job may start.
    JobMayStart(JobId),
    /// Fires when a worker did not confirm a cancel.
    CancelUnconfirmed(JobId),
    /// Fires when a worker's bench is over.
    BenchOver(WorkerId),
    /// Fires when nothing more is expected of a completed job.
    FollowUpClosed(JobId),
    /// Fires when a connection has not said who it is.
    HelloDue(ConnectionId),
    /// Fires when the oldest receipts may be thrown away.
    ReceiptsDue,
}

impl Timer {
    /// Whether somebody else's word would have taken it back.
    pub fn waits_for_word(&self) -> bool {
        match self {
            Self::WorkerSilent(_)
            | Self::OfferUnanswered(_)
            | Self::CancelUnconfirmed(_)
            | Self::HelloDue(_) => true,
            Self::WorkerForgotten(_)
            | Self::JobMayStart(_)
            | Self::BenchOver(_)
            | Self::FollowUpClosed(_)
            | Self::ReceiptsDue => false,
        }
    }
}

/// Deadlines by time and by what they are for: at most one each.
#[derive(Debug, Clone, Default)]
pub struct Timers {
    by_timer: BTreeMap<Timer, TimestampMs>,
    by_time: BTreeSet<(TimestampMs, Timer)>,
}

impl Timers {
    /// Sets a deadline, or moves it.
    pub fn set(&mut self, timer: Timer, at: TimestampMs) {
        if let Some(old) = self.by_timer.insert(timer.clone(), at) {
            self.by_time.remove(&(old, timer.clone()));
        }
        self.by_time.insert((at, timer));
    }

    /// Takes a deadline back.
    pub fn clear(&mut self, timer: &Timer) {
        if let Some(at) = self.by_timer.remove(timer) {
            self.by_time.remove(&(at, timer.clone()));
        }
    }

    /// Whether a deadline is set.
    pub fn contains(&self, timer: &Timer) -> bool {
        self.by_timer.contains_key(timer)
    }

    /// The earliest deadline.
    pub fn next(&self) -> Option<(TimestampMs, &Timer)> {
        self.by_time.first().map(|(at, timer)| (*at, timer))
    }

    /// The earliest deadline that comes after `now`.
    pub fn next_after(&self, now: TimestampMs) -> Option<TimestampMs> {
        self.by_time.iter().map(|(at, _)| *at).find(|at| *at > now)
    }

    /// Takes the earliest deadline that is due.
    pub fn pop_due(&mut self, now: TimestampMs) -> Option<Timer> {
        let (at, _) = self.by_time.first()?;
        if *at > now {
            return None;
        }
        let (_, timer) = self.by_time.pop_first()?;
        self.by_timer.remove(&timer);
        Some(timer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moved_deadline_fires_once_at_its_new_time() {
        let mut timers = Timers::default();
        let timer = Timer::WorkerSilent(WorkerId::new("mini-1").unwrap());
        timers.set(timer.clone(), TimestampMs(10));
        timers.set(timer.clone(), TimestampMs(30));
        assert_eq!(timers.pop_due(TimestampMs(20)), None);
        assert_eq!(timers.next(), Some((TimestampMs(30), &timer)));
        assert_eq!(timers.pop_due(TimestampMs(30)), Some(timer));
        assert_eq!(timers.pop_due(TimestampMs(99)), None);
    }
}
