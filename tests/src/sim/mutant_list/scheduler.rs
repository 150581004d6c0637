//! Wrong rules of leases, budgets, messages and operators.

use super::{Mutant, mutant};

/// All of them.
pub const MUTANTS: [Mutant; 40] = [
    mutant(
        "starts_before_its_time",
        "S1",
        "a scheduled job starts at once",
        300,
        "edge/src/scheduler/commands.rs",
        "            JobState::Queued { not_before } if not_before > now => {",
        "            JobState::Queued { not_before } if not_before > now && now.0 == 0 => {",
    ),
    mutant(
        "queue_without_bound",
        "S1",
        "any number of jobs is live",
        600,
        "edge/src/scheduler/commands.rs",
        r"        if self.jobs.len() >= self.config.max_live_jobs {
            return Err(SubmitError",
        r"        if self.jobs.len() > 1_000_000 {
            return Err(SubmitError",
    ),
    mutant(
        "keys_forgotten",
        "S1",
        "a request that is sent again makes a second job",
        300,
        "edge/src/scheduler/commands.rs",
        "now - known.created_at < IDEMPOTENCY_WINDOW",
        "now - known.created_at > IDEMPOTENCY_WINDOW",
    ),
    mutant(
        "start_timer_not_armed",
        "S1",
        "a job that waits for its time is never woken",
        300,
        "edge/src/scheduler/mod.rs",
        r"                self.timers.set(Timer::JobMayStart(id.clone()), not_before);
            } else {
                self.queue",
        r"            } else {
                self.queue",
    ),
    mutant(
        "report_not_compared",
        "S3",
        "an accepted job that the report does not list stays with the worker",
        300,
        "edge/src/scheduler/messages.rs",
        "                _ => self.attempt_was_lost(&id, Reason::NotListed, now),",
        "                _ => {}",
    ),
    mutant(
        "crossing_offer_requeued",
        "S3",
        "an offer that crossed a report is given to somebody else",
        300,
        "edge/src/scheduler/messages.rs",
        "if *over == connection => unanswered += 1,",
        "if *over != connection => unanswered += 1,",
    ),
    mutant(
        "rejection_leaves_slots_open",
        "S3",
        "a worker that turned an offer down gets the next one at once",
        3000,
        "edge/src/scheduler/messages.rs",
        r"    fn reject(&mut self, now: TimestampMs, worker: &WorkerId, reject: &Reject) {
        if let Some(entry) = self.fleet.get_mut(worker) {
            entry.snapshot.open_slots = 0;
        }",
        "    fn reject(&mut self, now: TimestampMs, worker: &WorkerId, reject: &Reject) {",
    ),
    mutant(
        "unanswered_offer_charged",
        "S3",
        "a job pays for an offer that nobody accepted",
        300,
        "edge/src/scheduler/timeouts.rs",
        "            JobState::Offered { .. } => AfterLoss::Requeue(now),",
        "            JobState::Offered { .. } => job.charge_lost_worker(now),",
    ),
    mutant(
        "lease_by_elapsed_time",
        "S6",
        "a lease ends though its worker lives",
        300,
        "edge/src/scheduler/timeouts.rs",
        r"            entry.last_seen = now;
            self.timers.set(Timer::WorkerSilent(worker.clone()), now + LIVENESS_TIMEOUT);",
        "            entry.last_seen = now;",
    ),
    mutant(
        "only_pings_are_life",
        "S6",
        "progress is no sign of life",
        300,
        "edge/src/scheduler/messages.rs",
        r"        self.worker_is_alive(&worker, now);
",
        r"        if matches!(message, WorkerMessage::Ping(_)) {
            self.worker_is_alive(&worker, now);
        }
",
    ),
    mutant(
        "silent_worker_keeps_its_jobs",
        "S6",
        "jobs of a vanished worker stay with it",
        300,
        "edge/src/scheduler/timeouts.rs",
        r"            self.attempt_was_lost(&id, Reason::WorkerSilent, now);
",
        r"            let _ = (&id, Reason::WorkerSilent);
",
    ),
    mutant(
        "close_ends_the_lease",
        "S6",
        "a worker that lost its connection loses its jobs at once",
        300,
        "edge/src/scheduler/timeouts.rs",
        "(last_seen + LIVENESS_TIMEOUT).max(now));",
        "last_seen.max(now));",
    ),
    mutant(
        "moved_deadline_fires_twice",
        "S6",
        "the alarm goes off at a deadline that was moved",
        300,
        "edge/src/scheduler/timer.rs",
        r"        if let Some(old) = self.by_timer.insert(timer.clone(), at) {
            self.by_time.remove(&(old, timer.clone()));
        }
        self",
        r"        self.by_timer.insert(timer.clone(), at);
        self",
    ),
    mutant(
        "alarm_at_the_last_deadline",
        "S6",
        "the alarm is not armed for the next deadline",
        300,
        "edge/src/scheduler/timer.rs",
        "        self.by_time.first().map(|(at, timer)| (*at, timer))",
        "        self.by_time.last().map(|(at, timer)| (*at, timer))",
    ),
    mutant(
        "no_grace_after_a_restart",
        "S6",
        "a restart of the scheduler takes every job away",
        300,
        "edge/src/scheduler/restore.rs",
        "now + RECONNECT_GRACE);",
        "now);",
    ),
    mutant(
        "stale_failure_believed",
        "S6",
        "the failure of an old attempt ends the present one",
        600,
        "edge/src/scheduler/messages.rs",
        "        let Some(job) = self.jobs.get_mut(&failed.job_id).filter(|job| job.is_held(worker, failed.attempt))",
        "        let Some(job) = self.jobs.get_mut(&failed.job_id).filter(|job| job.state.worker().is_some())",
    ),
    mutant(
        "late_truth_refused",
        "S6",
        "a result is not accepted because its attempt was presumed lost",
        300,
        "edge/src/scheduler/messages.rs",
        "        if attempt == Attempt::NONE || attempt > job.attempt {",
        "        if !job.is_held(worker, attempt) {",
    ),
    mutant(
        "returned_job_taken_away",
        "S6",
        "a worker that comes back with a job that nobody else has got loses it",
        300,
        "edge/src/scheduler/messages.rs",
        "            JobState::Queued { .. } if job.attempt == attempt => {",
        "            JobState::Queued { .. } if job.attempt == attempt && attempt == Attempt::NONE => {",
    ),
    mutant(
        "attempt_not_counted",
        "S6",
        "two attempts have the same number",
        300,
        "edge/src/scheduler/transition.rs",
        "                self.attempt = self.attempt.next();",
        "                self.attempt = self.attempt.max(Attempt(1));",
    ),
    mutant(
        "lost_workers_not_charged",
        "S7",
        "a job that kills workers goes round the fleet for ever",
        300,
        "edge/src/scheduler/job.rs",
        r"        self.workers_lost += 1;
",
        "",
    ),
    mutant(
        "retries_not_charged",
        "S7",
        "a failing job is retried for ever",
        300,
        "edge/src/scheduler/job.rs",
        r"        self.retries += 1;
",
        "",
    ),
    mutant(
        "bad_recordings_retried",
        "S7",
        "a file that nobody can read is tried again",
        300,
        "edge/src/scheduler/job.rs",
        "        if !failure.code.retryable() {",
        "        if failure.message.is_empty() {",
    ),
    mutant(
        "quarantine_is_left",
        "S7",
        "a quarantined job goes on by itself",
        300,
        "edge/src/scheduler/timeouts.rs",
        "                self.step(now, id, attempt, Step::Quarantine { failure }, Reason::WorkersUsedUp);",
        r"                let _ = failure;
                self.step(now, id, attempt, Step::Return { not_before: now }, Reason::WorkerSilent);",
    ),
    mutant(
        "old_budgets_after_a_retry",
        "S7",
        "an operator's retry gives no fresh budget",
        900,
        "edge/src/scheduler/transition.rs",
        r"                self.retries = 0;
",
        "",
    ),
    mutant(
        "breaker_never_trips",
        "S7",
        "a broken worker drains the queue",
        300,
        "edge/src/scheduler/breaker.rs",
        "        if self.failures < FAILURES_IN_A_ROW {",
        "        if self.failures < u32::MAX {",
    ),
    mutant(
        "bad_recordings_trip_the_breaker",
        "S7",
        "bad recordings bench good workers",
        900,
        "edge/src/scheduler/breaker.rs",
        "        if !code.retryable() || code == FailureCode::WorkerStopping {",
        "        if code == FailureCode::WorkerStopping {",
    ),
    mutant(
        "bench_without_end",
        "S7",
        "a benched worker never comes back",
        900,
        "edge/src/scheduler/operator.rs",
        r"        self.timers.set(Timer::BenchOver(worker.clone()), until);
",
        "",
    ),
    mutant(
        "acknowledged_unhandled",
        "S8",
        "a terminal message is acknowledged and not handled",
        300,
        "edge/src/scheduler/messages.rs",
        "            if !self.receipts.knows(&message_id) {",
        "            if self.receipts.knows(&message_id) {",
    ),
    mutant(
        "receipt_not_stored",
        "S8",
        "an acknowledgement is not durable",
        300,
        "edge/src/scheduler/mod.rs",
        r"        self.effects.push_back(Effect::SaveReceipt { message_id: message_id.clone(), job_id, at: now });
",
        "",
    ),
    mutant(
        "ended_before_saved",
        "S8",
        "an ended job is let go of before its row is written",
        300,
        "edge/src/scheduler/mod.rs",
        r"    fn retire(&mut self, id: &JobId) {
        self.save(id);",
        r"    fn retire(&mut self, id: &JobId) {
        self.jobs.remove(id);
        self.save(id);",
    ),
    mutant(
        "cancelled_job_requeued",
        "S9",
        "a cancelled job whose worker was lost starts again",
        600,
        "edge/src/scheduler/job.rs",
        r"    pub(super) fn charge_lost_worker(&mut self, now: TimestampMs) -> AfterLoss {
        if self.cancel_requested {
            return AfterLoss::Cancel;
        }
",
        r"    pub(super) fn charge_lost_worker(&mut self, now: TimestampMs) -> AfterLoss {
",
    ),
    mutant(
        "cancel_not_told",
        "S9",
        "the worker of a cancelled job never hears of it",
        600,
        "edge/src/scheduler/commands.rs",
        r"        self.send_to_worker(&worker, SchedulerMessage::Cancel(cancel));
",
        r"        let _ = (&worker, SchedulerMessage::Cancel(cancel));
",
    ),
    mutant(
        "cancel_without_deadline",
        "S9",
        "a cancel that is not confirmed waits for ever",
        6000,
        "edge/src/scheduler/commands.rs",
        r"        self.timers.set(Timer::CancelUnconfirmed(id.clone()), now + CANCEL_TIMEOUT);
",
        "",
    ),
    mutant(
        "unpaused_by_a_restart",
        "S10",
        "a deploy unpauses the queue",
        300,
        "edge/src/scheduler/restore.rs",
        r"        scheduler.paused = restored.meta.paused;
",
        "",
    ),
    mutant(
        "drain_forgotten_by_a_restart",
        "S10",
        "a deploy ends every drain",
        300,
        "edge/src/scheduler/restore.rs",
        "Fleet::with_controls(restored.controls);",
        "Fleet::with_controls(Vec::new());",
    ),
    mutant(
        "history_not_kept",
        "S10",
        "a transition is not recorded",
        300,
        "edge/src/scheduler/transition.rs",
        r"        self.enter(now, attempt, step);
",
        r"        let silent = matches!(step, Step::Run { .. });
        self.enter(now, attempt, step);
        if silent {
            return Ok(());
        }
",
    ),
    mutant(
        "slots_forgotten_in_hibernation",
        "S3",
        "a worker's open slots do not outlive the object's memory",
        300,
        "edge/src/scheduler/restore.rs",
        r"        for (connection, snapshot) in connections {
",
        r"        for (connection, mut snapshot) in connections {
            snapshot.open_slots = 0;
",
    ),
    mutant(
        "playlist_overwritten",
        "S14",
        "a new attempt starts the playlist again",
        300,
        "edge/src/scheduler/playlist.rs",
        r"        let mut next = self.len();
",
        r"        if self.runs.last().is_some_and(|run| run.attempt != attempt) {
            self.runs.clear();
        }
        let mut next = self.len();
",
    ),
    mutant(
        "playlist_with_gaps",
        "S14",
        "a playlist skips what was not announced",
        6000,
        "edge/src/scheduler/playlist.rs",
        "            if segment.sequence != next {",
        "            if segment.sequence < next {",
    ),
    mutant(
        "progress_is_no_accept",
        "S6",
        "a job whose accept got lost is given to a second worker",
        3000,
        "edge/src/scheduler/messages.rs",
        "        if self.jobs.get(&id).is_some_and(|job| job.is_held(worker, progress.attempt)) {",
        "        if self.jobs.get(&id).is_some_and(|job| job.is_running(worker, progress.attempt)) {",
    ),
];
