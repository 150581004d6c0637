//! What was sent to an endpoint and what came of it: its latest attempts, for whoever wonders why a backend did not act.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, GenerationId, JobId, TimestampMs};

use super::event::{EndpointId, EventId, EventKind};
use super::row::DeliveryFailure;
use super::{Effect, InFlight, Outbox};

/// Attempts that are kept of one endpoint: a ring, in which the latest takes the place of the oldest.
pub const LOG_LENGTH: u64 = 200;

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AttemptOutcome {
    /// The endpoint took the event, with this status.
    Acknowledged(u16),
    /// It did not.
    Failed(DeliveryFailure),
}

/// One attempt that has ended. One row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEntry {
    /// Its place among all attempts at its endpoint, from 1.
    pub sequence: u64,
    /// Where to.
    pub endpoint: EndpointId,
    /// What was sent.
    pub event: EventId,
    /// What it says.
    pub kind: EventKind,
    /// The job that it is about.
    pub job_id: JobId,
    /// The generation that the job was made for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<GenerationId>,
    /// From 1.
    pub attempt: u32,
    /// When the event was published, or replayed.
    pub published_at: TimestampMs,
    /// When the attempt began.
    pub at: TimestampMs,
    /// How long it took.
    pub duration: DurationMs,
    /// How it ended.
    pub outcome: AttemptOutcome,
}

impl LogEntry {
    /// Its place in the ring.
    pub fn slot(&self) -> u64 {
        self.sequence % LOG_LENGTH
    }

    /// When the endpoint acknowledged the event, if it did.
    pub fn acknowledged_at(&self) -> Option<TimestampMs> {
        matches!(self.outcome, AttemptOutcome::Acknowledged(_)).then(|| self.ended_at())
    }

    fn ended_at(&self) -> TimestampMs {
        self.at + self.duration
    }
}

/// How one event came to one endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Callback {
    /// Where to.
    pub endpoint: EndpointId,
    /// Which.
    pub event: EventId,
    /// What it says.
    pub kind: EventKind,
    /// When the first attempt began, of those that are still kept.
    pub first_attempt_at: TimestampMs,
    /// When the latest attempt ended.
    pub ended_at: TimestampMs,
    /// When it was acknowledged, if it was.
    pub acknowledged_at: Option<TimestampMs>,
}

/// The events that were told of one job, each endpoint's own, in order of their first attempts.
pub fn callbacks(mut entries: Vec<LogEntry>) -> Vec<Callback> {
    entries.sort_by_key(|entry| (entry.at, entry.sequence));
    let mut callbacks: Vec<Callback> = Vec::new();
    for entry in entries {
        let (ended_at, acknowledged_at) = (entry.ended_at(), entry.acknowledged_at());
        let known =
            callbacks.iter_mut().find(|one| one.endpoint == entry.endpoint && one.event == entry.event);
        match known {
            Some(callback) => {
                callback.ended_at = callback.ended_at.max(ended_at);
                callback.acknowledged_at = callback.acknowledged_at.or(acknowledged_at);
            }
            None => callbacks.push(Callback {
                endpoint: entry.endpoint,
                event: entry.event,
                kind: entry.kind,
                first_attempt_at: entry.at,
                ended_at,
                acknowledged_at,
            }),
        }
    }
    callbacks
}

impl Outbox {
    /// Goes on where a restored endpoint's log ends: `last` is the highest [`LogEntry::sequence`] in the store.
    pub fn resume_log(&mut self, endpoint: &EndpointId, last: u64) {
        if let Some(lane) = self.lanes.get_mut(endpoint) {
            lane.logged = lane.logged.max(last);
        }
    }

    /// Keeps what came of an attempt. Progress that arrived is not kept, because it would push all else out within minutes; nor is what
    /// projects are told, which is nobody's webhook.
    pub(super) fn log(&mut self, now: TimestampMs, sent: &InFlight, outcome: AttemptOutcome) {
        if !self.config.keep_log {
            return;
        }
        let Some(lane) = self.lanes.get_mut(&sent.endpoint).filter(|lane| !lane.endpoint.is_of_projects())
        else {
            return;
        };
        let Some(row) = self.rows.get(&sent.row) else { return };
        if row.kind == EventKind::Progress && matches!(outcome, AttemptOutcome::Acknowledged(_)) {
            return;
        }
        lane.logged += 1;
        self.effects.push_back(Effect::Log(Box::new(LogEntry {
            sequence: lane.logged,
            endpoint: row.endpoint.clone(),
            event: row.event.clone(),
            kind: row.kind,
            job_id: row.job_id.clone(),
            generation: row.generation.clone(),
            attempt: row.attempts + 1,
            published_at: row.queued_at,
            at: sent.began_at,
            duration: DurationMs(now.0.saturating_sub(sent.began_at.0)),
            outcome,
        })));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(sequence: u64, endpoint: &str, at: u64, outcome: AttemptOutcome) -> LogEntry {
        LogEntry {
            sequence,
            endpoint: EndpointId::new(endpoint).unwrap(),
            event: EventId::from_number(1),
            kind: EventKind::GenerationCompleted,
            job_id: JobId::new("job_1").unwrap(),
            generation: None,
            attempt: 1,
            published_at: TimestampMs(0),
            at: TimestampMs(at),
            duration: DurationMs(5),
            outcome,
        }
    }

    #[test]
    fn a_callback_lasts_from_its_first_attempt_to_its_acknowledgement() {
        let failed = || AttemptOutcome::Failed(DeliveryFailure::TimedOut);
        // The ring gives them in no particular order.
        let callbacks = callbacks(vec![
            entry(201, "b", 40, AttemptOutcome::Acknowledged(204)),
            entry(2, "a", 30, failed()),
            entry(200, "b", 10, failed()),
        ]);
        let times: Vec<_> = callbacks
            .iter()
            .map(|one| (one.endpoint.as_str(), one.first_attempt_at.0, one.ended_at.0, one.acknowledged_at))
            .collect();
        assert_eq!(times, [("b", 10, 45, Some(TimestampMs(45))), ("a", 30, 35, None)]);
    }
}
