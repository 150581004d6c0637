//! What must hold at every step, whatever happens: one check, one file. Each is told what really happened and keeps its own
//! picture of it; none looks into a brain to learn what the brain should have done.
//!
//! A new check implements [`Check`] and is added to [`Checks::new`].

mod acknowledged;
mod announced;
mod breaker;
mod budgets;
mod cancels;
mod completion_before_progress;
mod fact;
mod fairness;
mod held_back;
mod history;
mod invariants;
mod live_lease;
mod no_job_lost;
mod no_needless_rerun;
mod one_job_per_key;
mod one_result;
mod open_slots;
mod outbox_memory;
mod paused;
mod playlists;
mod production_first;
mod replay;
mod restored_brain;
mod routing;
mod slots;
mod webhook_connections;
mod webhook_order;
mod webhooks_delivered;

pub use fact::{Command, Fact, HowEnded, Moment, Place};

use super::Violation;

/// What a check says.
pub type Verdict = Result<(), String>;

/// Something that must hold.
pub trait Check {
    /// Its name: its file's.
    fn name(&self) -> &'static str;

    /// Looks at what happened.
    ///
    /// # Errors
    /// A sentence about what does not hold.
    fn see(&mut self, moment: Moment, fact: &Fact<'_>) -> Verdict;
}

/// All checks, and the first violation.
pub struct Checks {
    all: Vec<Box<dyn Check>>,
    /// What must not have happened.
    pub violation: Option<Violation>,
}

impl Checks {
    /// All checks, at the beginning of a run.
    pub fn new() -> Self {
        let all: Vec<Box<dyn Check>> = vec![
            Box::<acknowledged::Acknowledged>::default(),
            Box::<announced::Announced>::default(),
            Box::<breaker::Breaker>::default(),
            Box::<budgets::Budgets>::default(),
            Box::<cancels::Cancels>::default(),
            Box::<completion_before_progress::CompletionBeforeProgress>::default(),
            Box::<fairness::Fairness>::default(),
            Box::<held_back::HeldBack>::default(),
            Box::<history::History>::default(),
            Box::<invariants::Invariants>::default(),
            Box::<live_lease::LiveLease>::default(),
            Box::<no_job_lost::NoJobLost>::default(),
            Box::<no_needless_rerun::NoNeedlessRerun>::default(),
            Box::<one_job_per_key::OneJobPerKey>::default(),
            Box::<one_result::OneResult>::default(),
            Box::<open_slots::OpenSlots>::default(),
            Box::<outbox_memory::OutboxMemory>::default(),
            Box::<paused::Paused>::default(),
            Box::<playlists::Playlists>::default(),
            Box::<production_first::ProductionFirst>::default(),
            Box::<replay::Replay>::default(),
            Box::<restored_brain::RestoredBrain>::default(),
            Box::<routing::Routing>::default(),
            Box::<slots::Slots>::default(),
            Box::<webhook_connections::WebhookConnections>::default(),
            Box::<webhook_order::WebhookOrder>::default(),
            Box::<webhooks_delivered::WebhooksDelivered>::default(),
        ];
        Self { all, violation: None }
    }

    /// Shows a fact to every check.
    pub fn see(&mut self, moment: Moment, at_ms: u64, fact: &Fact<'_>) {
        if self.violation.is_some() {
            return;
        }
        for check in &mut self.all {
            if let Err(what) = check.see(moment, fact) {
                self.violation = Some(Violation { check: check.name().to_owned(), at_ms, what });
                return;
            }
        }
    }

    /// Notes a violation that the run itself found.
    pub fn accuse(&mut self, check: &str, at_ms: u64, what: String) {
        self.violation.get_or_insert(Violation { check: check.to_owned(), at_ms, what });
    }
}
