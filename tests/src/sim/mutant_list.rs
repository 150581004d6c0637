//! The wrong rules: one patch each, on the brains' own sources. A patch that no longer applies is an error, so that the list
//! follows the rules.

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
pub const MUTANTS: [Mutant; 72] = [
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
        r"        self.effects.push_back(Effect::SaveReceipt { message_id: message_id.clone(), at: now });
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
        "        if offered {",
        "        if offered && self.jobs.is_empty() {",
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
        "ready_before_replay",
        "S8",
        "a worker reports before it replays",
        300,
        "mini-worker/src/session/state.rs",
        r"        for message in self.outstanding.replay(now, &welcome.capabilities) {
            self.effects.push_back(Effect::Send(message));
        }
",
        "",
    ),
    mutant(
        "journal_dropped_on_reconnect",
        "S8",
        "a worker forgets what was not acknowledged",
        300,
        "mini-worker/src/session/state.rs",
        "        for message in self.outstanding.replay(now, &welcome.capabilities) {",
        r"        self.outstanding = Outstanding::default();
        for message in self.outstanding.replay(now, &welcome.capabilities) {",
    ),
    mutant(
        "sent_before_journaled",
        "S8",
        "a result is told before it is safe",
        300,
        "mini-worker/src/session/state.rs",
        r"        self.effects.push_back(Effect::Journal(message.clone()));
        if self.is_connected() {
            self.effects.push_back(Effect::Send(message.clone()));
        }
",
        r"        if self.is_connected() {
            self.effects.push_back(Effect::Send(message.clone()));
        }
        self.effects.push_back(Effect::Journal(message.clone()));
",
    ),
    mutant(
        "result_told_once",
        "S8",
        "a result whose acknowledgement got lost is not told again",
        300,
        "mini-worker/src/session/state.rs",
        r"        self.outstanding.add(message, now);
",
        r"        let _ = now;
",
    ),
    mutant(
        "message_ids_repeat",
        "S8",
        "two terminal messages have the same id",
        300,
        "mini-worker/src/session/state.rs",
        r"        self.messages_made += 1;
",
        "",
    ),
    mutant(
        "accepts_without_a_slot",
        "S3",
        "a worker takes more than it has slots for",
        600,
        "mini-worker/src/session/state.rs",
        "        } else if newer_runs || self.open_slots() == 0 {",
        "        } else if newer_runs {",
    ),
    mutant(
        "cancel_not_obeyed",
        "S9",
        "a worker goes on with what was cancelled",
        300,
        "mini-worker/src/session/state.rs",
        "        if !self.stop(&job_id, attempt, StopCause::Cancelled) && !ended {",
        "        if !self.running.contains_key(&(job_id.clone(), attempt)) && !ended {",
    ),
    mutant(
        "report_lists_too_little",
        "S3",
        "a worker does not report all that it runs",
        300,
        "mini-worker/src/session/state.rs",
        r"        let job_ids: Vec<RunningAttempt> = self.running().collect();
        let Link::Ready(link) = &self.link else { return };
",
        r"        let job_ids: Vec<RunningAttempt> = self.running().skip(1).collect();
        let Link::Ready(link) = &self.link else { return };
",
    ),
    mutant(
        "slots_elsewhere_ignored",
        "W4",
        "both environments get the last slot",
        300,
        "mini-worker/src/session/state.rs",
        "                self.slots_elsewhere = slots;",
        "                self.slots_elsewhere = slots.min(0);",
    ),
    mutant(
        "freed_slot_for_everyone",
        "W4",
        "dev gets a freed slot as soon as production",
        600,
        "mini-worker/src/session/hold_back.rs",
        "self.releases.extend((0..slots).map(|_| now + self.pause));",
        "self.releases.extend((0..slots).map(|_| now));",
    ),
    mutant(
        "silent_link_kept",
        "W14",
        "a dead connection is never given up",
        300,
        "mini-worker/src/session/state.rs",
        "                if link.last_heard + LINK_SILENCE_TIMEOUT <= now {",
        "                if link.last_heard + DurationMs(LINK_SILENCE_TIMEOUT.0 * 1_000_000) <= now {",
    ),
    mutant(
        "gives_up_reconnecting",
        "W14",
        "a worker stops to reconnect",
        300,
        "mini-worker/src/session/state.rs",
        "        self.link = Link::Waiting { until: now + pause };",
        "        self.link = Link::Waiting { until: TimestampMs(u64::MAX / 4) };",
    ),
    mutant(
        "report_made_once",
        "S3",
        "a report that the scheduler lost is never made again",
        3000,
        "mini-worker/src/session/state.rs",
        "const PINGS_PER_REPORT: u32 = 10;",
        "const PINGS_PER_REPORT: u32 = u32::MAX;",
    ),
    mutant(
        "unknown_link_kept",
        "S2",
        "a connection that the scheduler does not know is kept for ever",
        3000,
        "mini-worker/src/session/state.rs",
        r"                if unknown {
                    self.give_up_link(now);",
        r"                if unknown && now.0 == 0 {
                    self.give_up_link(now);",
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
