//! Terminal messages that the scheduler has not acknowledged yet.

use std::collections::BTreeMap;

use shared_protocol::limits::LINK_SILENCE_TIMEOUT;
use shared_protocol::{Attempt, JobId, MessageId, TimestampMs, WorkerMessage};

/// A terminal message that is not acknowledged within this time on a living link is sent again: the scheduler may have
/// dropped the turn that handled it.
const RESEND_AFTER: shared_protocol::DurationMs = LINK_SILENCE_TIMEOUT;

#[derive(Debug)]
struct Entry {
    message: WorkerMessage,
    resend_at: TimestampMs,
}

/// The unacknowledged terminal messages, oldest first.
#[derive(Debug, Default)]
pub(super) struct Outstanding {
    entries: BTreeMap<u64, Entry>,
    next: u64,
}

impl Outstanding {
    /// Those of an earlier run, oldest first.
    pub fn restored(messages: Vec<WorkerMessage>) -> Self {
        let mut outstanding = Self::default();
        for message in messages {
            outstanding.add(message, TimestampMs(0));
        }
        outstanding
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub fn add(&mut self, message: WorkerMessage, now: TimestampMs) {
        self.entries.insert(self.next, Entry { message, resend_at: now + RESEND_AFTER });
        self.next += 1;
    }

    /// Forgets an acknowledged message; false when it is not known.
    pub fn acknowledge(&mut self, id: &MessageId) -> bool {
        let before = self.entries.len();
        self.entries.retain(|_, entry| entry.message.message_id() != Some(id));
        self.entries.len() < before
    }

    /// How this attempt ended, when that is not acknowledged yet.
    pub fn end_of(&self, job_id: &JobId, attempt: Attempt) -> Option<&WorkerMessage> {
        self.entries.values().map(|entry| &entry.message).find(|message| {
            matches!(message,
                WorkerMessage::Complete(shared_protocol::Complete { job_id: j, attempt: a, .. })
                | WorkerMessage::Failed(shared_protocol::Failed { job_id: j, attempt: a, .. })
                | WorkerMessage::Cancelled(shared_protocol::Cancelled { job_id: j, attempt: a, .. })
                if j == job_id && *a == attempt)
        })
    }

    /// All that this scheduler takes, oldest first, as sent now.
    pub fn replay(&mut self, now: TimestampMs, capabilities: &[String]) -> Vec<WorkerMessage> {
        self.take_due(now, capabilities, true)
    }

    /// Those that waited too long for their acknowledgement, as sent now.
    pub fn overdue(&mut self, now: TimestampMs, capabilities: &[String]) -> Vec<WorkerMessage> {
        self.take_due(now, capabilities, false)
    }

    /// When the next one becomes overdue.
    pub fn next_resend(&self, capabilities: &[String]) -> Option<TimestampMs> {
        let sendable = self.entries.values().filter(|entry| understood(&entry.message, capabilities));
        sendable.map(|entry| entry.resend_at).min()
    }

    fn take_due(&mut self, now: TimestampMs, capabilities: &[String], all: bool) -> Vec<WorkerMessage> {
        let mut due = Vec::new();
        for entry in self.entries.values_mut() {
            if (all || entry.resend_at <= now) && understood(&entry.message, capabilities) {
                entry.resend_at = now + RESEND_AFTER;
                due.push(entry.message.clone());
            }
        }
        due
    }
}

/// Whether a scheduler with these capabilities knows the type: optional types go only where they are listed.
pub(super) fn understood(message: &WorkerMessage, capabilities: &[String]) -> bool {
    match message {
        WorkerMessage::Stems(_) | WorkerMessage::Quality(_) => {
            capabilities.iter().any(|name| name == message.kind())
        }
        _ => true,
    }
}
