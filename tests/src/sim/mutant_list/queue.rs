//! Wrong rules of the queue and of routing.

use super::{Mutant, mutant};

/// All of them.
pub const MUTANTS: [Mutant; 18] = [
    mutant(
        "classes_ignored",
        "S1",
        "a high job waits behind earlier normal ones",
        300,
        "edge/src/scheduler/queue.rs",
        "    (job.request.priority, job.virtual_start, job.sequence, job.id.clone())",
        "    (Priority::Normal, job.virtual_start, job.sequence, job.id.clone())",
    ),
    mutant(
        "first_come_first_served",
        "S1",
        "the queue is not fair between tenants",
        300,
        "edge/src/scheduler/queue.rs",
        r"        now.max(behind)
",
        r"        now.max(behind).min(0)
",
    ),
    mutant(
        "nobody_ages",
        "S1",
        "a low job starves behind a stream of high ones",
        6000,
        "edge/src/scheduler/queue.rs",
        "self.clock.aged_turn = !(was_aged && self.clock.aged_turn);",
        "self.clock.aged_turn = was_aged && false;",
    ),
    mutant(
        "offer_without_deadline",
        "S3",
        "an offer that got lost is never taken back",
        600,
        "edge/src/scheduler/dispatch.rs",
        r"        self.timers.set(Timer::OfferUnanswered(id.clone()), now + OFFER_TIMEOUT);
",
        "",
    ),
    mutant(
        "oldest_connection_wins",
        "S3",
        "a reconnected worker is spoken to over its dead connection",
        300,
        "edge/src/scheduler/fleet.rs",
        "        let worker = Worker { snapshot, connection: Some(connection), last_seen: now",
        r"        let kept = earlier.as_ref().and_then(|w| w.connection).or(Some(connection));
        let worker = Worker { snapshot, connection: kept, last_seen: now",
    ),
    mutant(
        "slots_not_used_up",
        "S3",
        "an offer uses up no slot",
        300,
        "edge/src/scheduler/dispatch.rs",
        r"            entry.snapshot.open_slots = entry.snapshot.open_slots.saturating_sub(1);
",
        "",
    ),
    mutant(
        "tie_with_the_running_best",
        "S4",
        "0, 9 and 18 s tie in turn",
        300,
        "edge/src/scheduler/routing.rs",
        r"    let ties = |candidate: &Candidate| estimate(candidate) <= soonest + TIE_SECONDS;
    let tied: Vec<&(&Worker, Candidate)> = able.iter().filter(|(_, candidate)| ties(candidate)).collect();
",
        r"    let mut best = soonest;
    let mut tied: Vec<&(&Worker, Candidate)> = Vec::new();
    for entry in &able {
        if estimate(&entry.1) <= best + TIE_SECONDS {
            best = estimate(&entry.1);
            tied.push(entry);
        }
    }
",
    ),
    mutant(
        "in_flight_forgotten",
        "S4",
        "a burst between two reports goes to one worker",
        300,
        "edge/src/scheduler/dispatch.rs",
        r"            entry.snapshot.in_flight.insert(id.clone(), seconds);
",
        r"            let _ = seconds;
",
    ),
    mutant(
        "worker_priority_ignored",
        "S4",
        "among equals the operator's preference is ignored",
        300,
        "edge/src/scheduler/routing.rs",
        "tied.iter().filter(|(_, candidate)| candidate.priority == top)",
        "tied.iter().filter(|(_, candidate)| candidate.priority <= top)",
    ),
    mutant(
        "shortest_idle_wins",
        "S4",
        "among equals the one that was idle shortest is chosen",
        300,
        "edge/src/scheduler/routing.rs",
        "    let chosen = highest.iter().min_by(|a, b| {",
        "    let chosen = highest.iter().max_by(|a, b| {",
    ),
    mutant(
        "latest_wins",
        "S4",
        "the worker that starts last is chosen",
        300,
        "edge/src/scheduler/routing.rs",
        ".map(|(_, candidate)| estimate(candidate)).min_by(f64::total_cmp)?;",
        ".map(|(_, candidate)| estimate(candidate)).max_by(f64::total_cmp)?;",
    ),
    mutant(
        "finish_not_estimated",
        "S5",
        "the uplink counts for nothing",
        300,
        "edge/src/scheduler/routing.rs",
        r"        Policy::EarliestFinish => candidate.finish_seconds,
    };
    let mut able",
        r"        Policy::EarliestFinish => candidate.start_seconds,
    };
    let mut able",
    ),
    mutant(
        "labels_ignored",
        "S4",
        "a job goes to a worker that lacks its labels",
        300,
        "edge/src/scheduler/fleet.rs",
        "            && request.labels.iter().all(|label| self.snapshot.labels.contains(label))",
        "",
    ),
    mutant(
        "pause_ignored",
        "S10",
        "a paused queue goes on",
        300,
        "edge/src/scheduler/dispatch.rs",
        "        if self.paused || self.queue.is_idle() {",
        "        if self.queue.is_idle() {",
    ),
    mutant(
        "paused_tenant_ignored",
        "S10",
        "a paused tenant's jobs go on",
        300,
        "edge/src/scheduler/queue.rs",
        "        if self.paused.contains(&job.tenant) {",
        "        if self.paused.len() > 1_000 {",
    ),
    mutant(
        "drained_worker_gets_jobs",
        "S10",
        "a drained worker gets new jobs",
        300,
        "edge/src/scheduler/fleet.rs",
        "c.drained || c.benched_until.is_some()",
        "c.benched_until.is_some()",
    ),
    mutant(
        "assigned_twice_after_an_eviction",
        "S3",
        "an offer is not kept with the socket",
        900,
        "edge/src/scheduler/dispatch.rs",
        r"        self.touch(&worker);
        self.effects",
        "        self.effects",
    ),
    mutant(
        "queue_order_not_kept",
        "S1",
        "an eviction changes who is next",
        300,
        "edge/src/scheduler/dispatch.rs",
        "        if *self.queue.clock() != clock {",
        "        if *self.queue.clock() != clock && self.jobs.is_empty() {",
    ),
];
