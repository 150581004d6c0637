//! Wrong rules of the worker's session.

use super::{Mutant, mutant};

/// All of them.
pub const MUTANTS: [Mutant; 14] = [
    mutant(
        "ready_before_replay",
        "S8",
        "a worker reports before it replays",
        300,
        "mini-worker/src/session/state/link.rs",
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
        "mini-worker/src/session/state/link.rs",
        "        for message in self.outstanding.replay(now, &welcome.capabilities) {",
        r"        self.outstanding = super::Outstanding::default();
        for message in self.outstanding.replay(now, &welcome.capabilities) {",
    ),
    mutant(
        "sent_before_journaled",
        "S8",
        "a result is told before it is safe",
        300,
        "mini-worker/src/session/state.rs",
        r"        self.effects.push_back(Effect::Journal(message.clone()));
        if let Link::Ready(link) = &self.link
            && understood(&message, &link.capabilities)
        {
            self.effects.push_back(Effect::Send(message.clone()));
        }
",
        r"        if let Link::Ready(link) = &self.link
            && understood(&message, &link.capabilities)
        {
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
        "mini-worker/src/session/state/link.rs",
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
        "mini-worker/src/session/state/link.rs",
        "                if link.last_heard + LINK_SILENCE_TIMEOUT <= now {",
        "                if link.last_heard + DurationMs(LINK_SILENCE_TIMEOUT.0 * 1_000_000) <= now {",
    ),
    mutant(
        "gives_up_reconnecting",
        "W14",
        "a worker stops to reconnect",
        300,
        "mini-worker/src/session/state/link.rs",
        "        self.link = Link::Waiting { until: now + pause };",
        "        self.link = Link::Waiting { until: TimestampMs(u64::MAX / 4) };",
    ),
    mutant(
        "report_made_once",
        "S3",
        "a report that the scheduler lost is never made again",
        3000,
        "mini-worker/src/session/state/link.rs",
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
];
