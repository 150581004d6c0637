//! The wrong rules: one patch each, on the brains' own sources. A patch that no longer applies is an error, so that the list
//! follows the rules.

mod outbox;
mod queue;
mod scheduler;
mod session;

/// One wrong rule.
pub struct Mutant {
    /// Its name.
    pub name: &'static str,
    /// The feature that it breaks.
    pub rule: &'static str,
    /// What people would see.
    pub what: &'static str,
    /// The source.
    pub file: &'static str,
    /// What stands there once.
    pub search: &'static str,
    /// What stands there instead.
    pub replace: &'static str,
    /// Within how many seeds it has to be caught.
    pub seeds: u64,
}

const fn mutant(
    name: &'static str,
    rule: &'static str,
    what: &'static str,
    seeds: u64,
    file: &'static str,
    search: &'static str,
    replace: &'static str,
) -> Mutant {
    Mutant { name, rule, what, file, search, replace, seeds }
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Mutant> {
    queue::MUTANTS.iter().chain(&scheduler::MUTANTS).chain(&session::MUTANTS).chain(&outbox::MUTANTS)
}

#[cfg(test)]
mod tests {
    /// Trying all of them takes ten minutes and is done by hand: a rule whose line has moved on must not wait for that.
    #[test]
    fn every_patch_still_finds_the_line_that_it_is_for() {
        for mutant in super::all() {
            let path = crate::harness::repository().join(mutant.file);
            let source = std::fs::read_to_string(&path).unwrap();
            assert_eq!(source.matches(mutant.search).count(), 1, "{}: {}", mutant.name, mutant.file);
        }
    }
}
