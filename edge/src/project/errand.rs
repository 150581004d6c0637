//! Errands: what a project wants of others. Each follows from the project's state, so that none is stored: after a restart those
//! that were under way are run again. Whoever is asked answers the same question twice in the same way.

use std::collections::BTreeMap;

use shared_protocol::{DurationMs, GenerationId, TimestampMs};

/// Pause before the second attempt; doubles with each.
pub const BACKOFF_BASE: DurationMs = DurationMs(500);

/// No pause is longer.
pub const BACKOFF_CAP: DurationMs = DurationMs::from_secs(60);

/// An errand without an outcome after this is run again.
pub const LEASE: DurationMs = DurationMs::from_secs(30);

/// Something that somebody else has to do or to say.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Errand {
    /// The tenant's object puts the project into its list.
    Register,
    /// Storage says whether the upload's content is there.
    CheckUpload,
    /// Storage throws away what arrived of an upload that was given up.
    SweepUpload,
    /// The operator's endpoint transcribes the recording; the number tells one request for it from the next.
    Transcribe(u32),
    /// The scheduler takes the job of a generation; one that was cancelled meanwhile is taken as cancelled.
    Dispatch(GenerationId),
    /// The scheduler cancels the job of a generation.
    Cancel(GenerationId),
    /// The scheduler says how the job of a generation is: nothing was heard of it for long.
    Reconcile(GenerationId),
    /// The tenant's ledger takes a generation's usage.
    RecordUsage(GenerationId),
    /// The scheduler's outbox takes an event.
    Announce(u64),
}

#[derive(Debug, Clone, Default)]
struct Pending {
    /// Not before, by the project's state.
    wanted_at: TimestampMs,
    /// Not before, by its failures.
    retry_at: TimestampMs,
    failures: u32,
    /// Under way until then at most.
    lease: Option<TimestampMs>,
}

impl Pending {
    fn due(&self) -> TimestampMs {
        self.lease.unwrap_or(self.wanted_at.max(self.retry_at))
    }
}

/// All errands of one project.
#[derive(Debug, Clone, Default)]
pub struct Errands {
    pending: BTreeMap<Errand, Pending>,
}

impl Errands {
    /// Takes note of what the project's state asks for: each errand with the time before which it is not to be run. What is asked
    /// for no more is forgotten, also while it is under way: its outcome changes nothing then.
    pub fn sync(&mut self, wanted: BTreeMap<Errand, TimestampMs>) {
        self.pending.retain(|errand, _| wanted.contains_key(errand));
        for (errand, wanted_at) in wanted {
            self.pending.entry(errand).or_default().wanted_at = wanted_at;
        }
    }

    /// The errands that are to be run now. They are under way then; `lease` says for how long each may be.
    pub fn take_due(&mut self, now: TimestampMs, lease: impl Fn(&Errand) -> DurationMs) -> Vec<Errand> {
        let mut due = Vec::new();
        for (errand, pending) in &mut self.pending {
            if pending.due() <= now {
                pending.lease = Some(now + lease(errand));
                due.push(errand.clone());
            }
        }
        due
    }

    /// When the next one is due.
    pub fn next_deadline(&self) -> Option<TimestampMs> {
        self.pending.values().map(Pending::due).min()
    }

    /// An errand has an outcome and is forgotten, unless the state still asks for it: then it is a new one.
    pub fn end(&mut self, errand: &Errand) {
        self.pending.remove(errand);
    }

    /// An errand came to nothing: it is run again after a pause, or after the one that the other side asks for.
    pub fn retry(&mut self, now: TimestampMs, errand: &Errand, after: Option<DurationMs>) {
        let Some(pending) = self.pending.get_mut(errand) else { return };
        let pause = after.unwrap_or_else(|| backoff(pending.failures));
        pending.failures = pending.failures.saturating_add(1);
        pending.lease = None;
        pending.retry_at = now + pause;
    }

    /// How often an errand came to nothing.
    pub fn failures(&self, errand: &Errand) -> u32 {
        self.pending.get(errand).map_or(0, |pending| pending.failures)
    }
}

fn backoff(failures: u32) -> DurationMs {
    let doubled = BACKOFF_BASE.0.checked_shl(failures.min(20)).unwrap_or(u64::MAX);
    DurationMs(doubled.min(BACKOFF_CAP.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: TimestampMs = TimestampMs(1_000_000);

    fn wants(errands: &mut Errands, wanted: &[(Errand, u64)]) {
        errands.sync(wanted.iter().map(|(errand, at)| (errand.clone(), TimestampMs(*at))).collect());
    }

    #[test]
    fn an_errand_without_an_outcome_is_run_again_and_not_before() {
        let mut errands = Errands::default();
        wants(&mut errands, &[(Errand::Register, 0)]);
        assert_eq!(errands.take_due(NOW, |_| LEASE), [Errand::Register]);
        assert_eq!(errands.take_due(NOW + DurationMs(LEASE.0 - 1), |_| LEASE), []);
        assert_eq!(errands.take_due(NOW + LEASE, |_| LEASE), [Errand::Register]);
    }

    #[test]
    fn pauses_double_up_to_a_minute() {
        let mut errands = Errands::default();
        wants(&mut errands, &[(Errand::Register, 0)]);
        let mut now = NOW;
        let pauses: Vec<u64> = (0..10)
            .map(|_| {
                errands.take_due(now, |_| LEASE);
                errands.retry(now, &Errand::Register, None);
                let pause = errands.next_deadline().unwrap() - now;
                now = now + pause;
                pause.0
            })
            .collect();
        assert_eq!(pauses, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    }

    #[test]
    fn what_is_asked_for_no_more_is_forgotten_though_it_is_under_way() {
        let mut errands = Errands::default();
        wants(&mut errands, &[(Errand::Transcribe(1), 0)]);
        errands.take_due(NOW, |_| LEASE);
        wants(&mut errands, &[(Errand::Transcribe(2), NOW.0 + 5)]);
        errands.retry(NOW, &Errand::Transcribe(1), None);
        assert_eq!(errands.next_deadline(), Some(NOW + DurationMs(5)));
    }
}
