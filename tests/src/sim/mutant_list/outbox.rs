//! Wrong rules of the outbox and of what is announced to it.

use super::{Mutant, mutant};

/// All of them.
pub const MUTANTS: [Mutant; 19] = [
    mutant(
        "next_before_acknowledged",
        "S11",
        "an event is sent while the one before it is under way",
        500,
        "edge/src/outbox/mod.rs",
        "            && let Some(line) = lane.lines.get(job).filter(|line| line.in_flight.is_none())",
        "            && let Some(line) = lane.lines.get(job)",
    ),
    mutant(
        "progress_not_overtaken",
        "S11",
        "the end of a job waits behind its progress",
        500,
        "edge/src/outbox/publish.rs",
        "                    true => row.kind.is_passing(),",
        "                    true => false,",
    ),
    mutant(
        "end_waits_for_an_answer",
        "S11",
        "the end of a job waits for the answer to its progress",
        1000,
        "edge/src/outbox/publish.rs",
        "                    true => row.kind.is_passing(),",
        "                    true => row.kind.is_passing() && !line.is_in_flight(**id),",
    ),
    mutant(
        "disabled_keeps_phases",
        "S11",
        "an endpoint that is enabled again is told of phases of jobs that ended",
        3000,
        "edge/src/job_events.rs",
        r"        outbox.drop_ended(now, tenant, job_id, kind);
",
        "",
    ),
    mutant(
        "failures_taken_as_told",
        "S11",
        "what an endpoint could not be told is thrown away",
        300,
        "edge/src/outbox/delivery.rs",
        "        DeliveryOutcome::TimedOut => DeliveryFailure::TimedOut,",
        "        DeliveryOutcome::TimedOut => return AttemptOutcome::Acknowledged(200),",
    ),
    mutant(
        "redirects_taken_as_told",
        "S11",
        "what was answered with a redirect is thrown away",
        500,
        "edge/src/outbox/delivery.rs",
        "        DeliveryOutcome::Response { status: status @ 200..=299, .. } => {",
        "        DeliveryOutcome::Response { status: status @ 200..=399, .. } => {",
    ),
    mutant(
        "no_lease_of_an_attempt",
        "S11",
        "an attempt whose outcome is lost keeps its line waiting for ever",
        1000,
        "edge/src/outbox/delivery.rs",
        r"        self.timers.insert((lease_ends, Timer::LeaseOver(delivery)));
",
        "",
    ),
    mutant(
        "connections_unbounded",
        "S11",
        "more than six webhooks are under way",
        3000,
        "edge/src/outbox/delivery.rs",
        r"        while self.in_flight.len() < MAX_IN_FLIGHT
",
        r"        while self.in_flight.len() < 100
",
    ),
    mutant(
        "hung_endpoints_unbounded",
        "S11",
        "endpoints that do not answer use up the connections",
        3000,
        "edge/src/outbox/delivery.rs",
        "unresponsive < MAX_IN_FLIGHT_UNRESPONSIVE",
        "unresponsive < 100",
    ),
    mutant(
        "unresponsive_get_two",
        "S11",
        "an endpoint that does not answer gets as many connections as one that does",
        1000,
        "edge/src/outbox/lane.rs",
        "        let bound = if self.responsive { MAX_IN_FLIGHT_PER_ENDPOINT } else { 1 };",
        "        let bound = MAX_IN_FLIGHT_PER_ENDPOINT;",
    ),
    mutant(
        "no_pause_after_failures",
        "S11",
        "an endpoint that fails is told again at once",
        500,
        "edge/src/outbox/delivery.rs",
        r"                row.due = due;
                self.effects.push_back(Effect::Save(Box::new(row.clone())));
            }
            (None, _)",
        r"                row.due = due.min(now);
                self.effects.push_back(Effect::Save(Box::new(row.clone())));
            }
            (None, _)",
    ),
    mutant(
        "retry_after_ignored",
        "S11",
        "an endpoint that asks for a pause is not given it",
        500,
        "edge/src/outbox/delivery.rs",
        r"                    self.hold(now, &sent.endpoint, pause);
",
        "",
    ),
    mutant(
        "gone_endpoint_called",
        "S11",
        "an endpoint that wants no more is told more",
        1000,
        "edge/src/outbox/delivery.rs",
        r"        lane.endpoint.enabled = false;
",
        "",
    ),
    mutant(
        "dead_letters_thrown_away",
        "S11",
        "what there is no room for is lost",
        1000,
        "edge/src/outbox/publish.rs",
        "        self.effects.push_back(if row.kind.is_passing() {",
        "        self.effects.push_back(if row.attempts < 1_000 {",
    ),
    mutant(
        "failed_rows_forgotten",
        "S11",
        "what failed before an eviction is never told",
        500,
        "edge/src/outbox/mod.rs",
        r"            if row.dead.is_none() {
                outbox.enqueue(row);",
        r"            if row.dead.is_none() && row.attempts == 0 {
                outbox.enqueue(row);",
    ),
    mutant(
        "late_deadline_waits_twice",
        "S11",
        "a row waits for its turn and for its time",
        6000,
        "edge/src/outbox/mod.rs",
        r"                self.timers.remove(&(row.due, Timer::RowDue(row.id)));
                lane.ready",
        "                lane.ready",
    ),
    mutant(
        "quarantine_untold",
        "S11",
        "nobody is told that a job was set aside",
        500,
        "edge/src/scheduler/announcement.rs",
        "            (_, JobState::Failed | JobState::Quarantined) => Some(Self::Failed),",
        r"            (_, JobState::Quarantined) => None,
            (_, JobState::Failed) => Some(Self::Failed),",
    ),
    mutant(
        "retries_untold",
        "S11",
        "nobody is told that a job that was given up waits again",
        1000,
        "edge/src/scheduler/operator.rs",
        r"        self.announce(now, &id, JobChange::Queued);
",
        "",
    ),
    mutant(
        "progress_after_the_end",
        "S11",
        "the phase of a job is announced once more after its end",
        2000,
        "edge/src/outbox/publish.rs",
        r"        if by == EventKind::Progress {
            return;",
        r"        if by == EventKind::Progress || by == EventKind::Completed {
            return;",
    ),
];
