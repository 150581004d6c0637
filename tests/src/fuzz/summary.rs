//! How many tries of each kind had which answer.

use std::collections::BTreeMap;
use std::fmt;

use super::{Outcome, Violation};

/// What came of all tries.
#[derive(Debug, Default)]
pub struct Summary {
    /// How many there were.
    pub tries: u64,
    /// The first thing that must not happen and did.
    pub violation: Option<Violation>,
    /// What the edge printed, where something went wrong.
    pub log: String,
    kinds: BTreeMap<String, BTreeMap<String, u64>>,
    answers: BTreeMap<String, u64>,
}

impl Summary {
    pub(super) fn add(&mut self, outcome: Outcome) {
        self.tries += 1;
        *self.answers.entry(outcome.answer.clone()).or_default() += 1;
        *self.kinds.entry(outcome.kind).or_default().entry(outcome.answer).or_default() += 1;
        if let Some(violation) = outcome.violation {
            self.violation.get_or_insert(violation);
        }
    }

    /// How many tries had an answer that begins so.
    pub fn answered(&self, beginning: &str) -> u64 {
        self.answers.iter().filter(|(answer, _)| answer.starts_with(beginning)).map(|(_, count)| count).sum()
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (kind, answers) in &self.kinds {
            let answers: Vec<String> =
                answers.iter().map(|(answer, count)| format!("{answer}: {count}")).collect();
            writeln!(f, "{kind}\n    {}", answers.join(", "))?;
        }
        writeln!(f, "\nanswers of {} tries:", self.tries)?;
        for (answer, count) in &self.answers {
            writeln!(f, "{count:>8}  {answer}")?;
        }
        if let Some(Violation { number, rule, what }) = &self.violation {
            writeln!(f, "\nBROKEN by try {number}: {rule}\n{what}\n{}", self.log)?;
        }
        Ok(())
    }
}
