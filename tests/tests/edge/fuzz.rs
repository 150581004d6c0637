//! Requests that nobody should send: some thousand of them, the same each time. `--bin fuzz` makes more.

use conformance::fuzz::{Options, run};

#[test]
fn whatever_is_asked_nobody_reads_or_changes_what_is_not_theirs() {
    let summary = run(Options { from: 0, tries: 4_000, seed: 1, connections: 4, verbose: false });
    assert!(summary.violation.is_none(), "{summary}");
    // Tries that all fail at the door would show nothing.
    for beginning in
        ["200", "201", "404 job_not_found", "403 ticket_invalid", "403 ticket_expired", "403 key_read_only"]
    {
        assert!(summary.answered(beginning) >= 10, "too few tries were answered {beginning}:\n{summary}");
    }
}
