//! The order in which windows are restored.

use std::time::Duration;

use serde::Deserialize;

/// How many windows of its environment that came later go before one, until it goes first there. With 16, a long job beside
/// an endless row of short ones still gets one window in 18: nearly twice real time on a machine that restores 34 times real
/// time.
pub const MAX_PASSED_OVER: u32 = 16;

/// A window that waited so long goes first in its environment, however few went before it: what bounds the wait of a model
/// whose windows take long.
pub const MAX_WAIT: Duration = Duration::from_secs(3);

/// A window of a later environment that waited so long goes before everything, so that an endless row of production's jobs
/// does not keep a slot busy for ever with a job that never moves. It gets one window in this time: it costs production
/// next to nothing.
pub const MAX_WAIT_BEHIND_OTHERS: Duration = Duration::from_secs(60);

/// What the model works at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheduling {
    /// Windows of all jobs in turn.
    #[default]
    Windows,
    /// One recording from its first window to its last: the model then waits for that recording's next window, whoever
    /// else waits. Kept to be compared with.
    WholeRecordings,
}

/// What is known of a session whose window is to wait.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Claim {
    /// 0 is production; larger numbers wait for smaller ones.
    pub environment_rank: u8,
    /// Whether some of its audio was restored already, so that somebody can listen to it.
    pub heard: bool,
    /// The work that the session is expected to need in all, seconds; infinite when its length is unknown.
    pub remaining_seconds: f64,
}

/// Windows that wait, at most one for each session.
///
/// First come those of the best environment; among them what nobody can listen to yet; among equals the session with
/// the least work left, so that a short recording need not wait for a long one; then first come, first served.
/// Nothing starves: a window that was passed over by [`MAX_PASSED_OVER`] later ones of its environment, or waited for
/// [`MAX_WAIT`], goes before all that in its environment, the earliest first; and after [`MAX_WAIT_BEHIND_OTHERS`]
/// before other environments too.
#[derive(Debug, Default)]
pub struct Queue {
    scheduling: Scheduling,
    entries: Vec<Entry>,
    arrivals: u64,
    /// The session that the model stays with.
    current: Option<u64>,
}

#[derive(Debug)]
struct Entry {
    session: u64,
    claim: Claim,
    arrival: u64,
    since: Duration,
    passed_over: u32,
}

impl Queue {
    /// An empty queue.
    pub fn new(scheduling: Scheduling) -> Self {
        Self { scheduling, ..Self::default() }
    }

    /// Adds the window of a session. A window that the session had waiting is replaced. `now` is a time since any start,
    /// and never goes back.
    pub fn push(&mut self, session: u64, claim: Claim, now: Duration) {
        self.cancel(session);
        let arrival = self.arrivals;
        self.arrivals += 1;
        self.entries.push(Entry { session, claim, arrival, since: now, passed_over: 0 });
    }

    /// Takes the session whose window is next; none when nothing waits, or nothing that may go now.
    pub fn pop(&mut self, now: Duration) -> Option<u64> {
        let first = self.next(now)?;
        let chosen = self.entries.swap_remove(first);
        let rank = chosen.claim.environment_rank;
        for entry in &mut self.entries {
            if entry.claim.environment_rank == rank && entry.arrival < chosen.arrival {
                entry.passed_over += 1;
            }
        }
        if self.scheduling == Scheduling::WholeRecordings {
            self.current = Some(chosen.session);
        }
        Some(chosen.session)
    }

    /// Whether there is something that may go now.
    pub fn has_next(&self) -> bool {
        match self.current {
            Some(current) => self.entries.iter().any(|entry| entry.session == current),
            None => !self.entries.is_empty(),
        }
    }

    /// Removes a session's window. Whether there was one.
    pub fn cancel(&mut self, session: u64) -> bool {
        let before = self.entries.len();
        self.entries.retain(|entry| entry.session != session);
        self.entries.len() < before
    }

    /// The session sends nothing more: its last window was restored, or it is gone. The model need not stay with it.
    pub fn leave(&mut self, session: u64) {
        self.cancel(session);
        if self.current == Some(session) {
            self.current = None;
        }
    }

    /// How many windows wait.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn next(&self, now: Duration) -> Option<usize> {
        let candidates = 0..self.entries.len();
        match self.current {
            Some(current) => candidates.into_iter().find(|&at| self.entries[at].session == current),
            None => candidates.min_by(|&a, &b| self.entries[a].order(&self.entries[b], now)),
        }
    }
}

impl Entry {
    fn order(&self, other: &Self, now: Duration) -> std::cmp::Ordering {
        let arrival = self.arrival.cmp(&other.arrival);
        if self.outwaited(now) || other.outwaited(now) {
            return other.outwaited(now).cmp(&self.outwaited(now)).then(arrival);
        }
        let (ours, theirs) = (&self.claim, &other.claim);
        let rank = ours.environment_rank.cmp(&theirs.environment_rank);
        if self.aged(now) || other.aged(now) {
            return rank.then(other.aged(now).cmp(&self.aged(now))).then(arrival);
        }
        rank.then(ours.heard.cmp(&theirs.heard))
            .then(ours.remaining_seconds.total_cmp(&theirs.remaining_seconds))
            .then(arrival)
    }

    /// First in its environment.
    fn aged(&self, now: Duration) -> bool {
        self.passed_over >= MAX_PASSED_OVER || now.saturating_sub(self.since) >= MAX_WAIT
    }

    /// First of all.
    fn outwaited(&self, now: Duration) -> bool {
        now.saturating_sub(self.since) >= MAX_WAIT_BEHIND_OTHERS
    }
}

#[cfg(test)]
mod tests;
