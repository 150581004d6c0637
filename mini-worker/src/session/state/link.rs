//! The session's connection: when it is made, greeted, given up, and what is said on it by the clock.

use shared_protocol::limits::{LINK_SILENCE_TIMEOUT, PING_INTERVAL};
use shared_protocol::{
    DurationMs, LinkReport, PROTOCOL_VERSION, Ping, Ready, RunningAttempt, TimestampMs, Welcome,
    WorkerMessage,
};

use super::{Effect, Note, Running, Session};

/// A connection that lived so long has proved itself: the next pause before reconnecting is a short one again. A
/// scheduler that greets and then drops everyone is not hammered.
const STABLE_AFTER: DurationMs = DurationMs(10_000);

/// Every so many pings a report goes along though nothing changed. A scheduler that lost a report, or what it had kept of
/// one, would otherwise offer nothing for ever and count on jobs that no longer run: this bounds it to half a minute.
const PINGS_PER_REPORT: u32 = 10;

/// A request that costs less than this beyond its bytes costs nothing.
const CHEAP_REQUEST_SECONDS: f64 = 0.05;

/// How far the connection is.
#[derive(Debug)]
pub(super) enum Link {
    /// Disconnected, and trying again then.
    Waiting { until: TimestampMs },
    /// A connection was asked for.
    Connecting { since: TimestampMs },
    /// `hello` was sent.
    Greeting { since: TimestampMs },
    /// `welcome` came.
    Ready(ReadyLink),
}

/// A connection on which the scheduler has greeted this worker.
#[derive(Debug)]
pub(super) struct ReadyLink {
    since: TimestampMs,
    pub(super) last_heard: TimestampMs,
    next_ping: TimestampMs,
    ping_interval: DurationMs,
    ping_sequence: u64,
    pub(super) capabilities: Vec<String>,
    /// The open slots that the scheduler counts on, and whether it knows of the drain; none before the first `ready`.
    pub(super) told: Option<(u32, bool)>,
    /// The connection as the scheduler knows it.
    told_link: Option<LinkReport>,
    pings_since_report: u32,
    pub(super) ready_not_before: TimestampMs,
}

impl Session {
    /// When [`Input::Tick`] is due at the latest.
    pub fn next_deadline(&self) -> TimestampMs {
        match &self.link {
            Link::Waiting { until } => *until,
            Link::Connecting { since } | Link::Greeting { since } => *since + LINK_SILENCE_TIMEOUT,
            Link::Ready(link) => {
                let silence = link.last_heard + LINK_SILENCE_TIMEOUT;
                let resend = self.outstanding.next_resend(&link.capabilities);
                let ready = self.ready_is_owed(link).then_some(link.ready_not_before);
                let progress = self.running.values().filter_map(Running::progress_due).min();
                let release = self.hold_back.next_release();
                [Some(silence), Some(link.next_ping), resend, ready, progress, release]
                    .into_iter()
                    .flatten()
                    .min()
                    .unwrap_or(silence)
            }
        }
    }

    pub(super) fn handle_opened(&mut self, now: TimestampMs) {
        if matches!(self.link, Link::Connecting { .. }) {
            self.effects.push_back(Effect::Send(WorkerMessage::Hello(self.hello.clone())));
            self.link = Link::Greeting { since: now };
        }
    }

    pub(super) fn handle_closed(&mut self, now: TimestampMs) {
        if !matches!(self.link, Link::Waiting { .. }) {
            self.wait_before_reconnecting(now);
        }
    }

    pub(super) fn handle_welcome(&mut self, now: TimestampMs, welcome: Welcome) {
        if welcome.protocol != PROTOCOL_VERSION {
            self.effects.push_back(Effect::Note(Note::OtherVersion(welcome)));
            return self.give_up_link(now);
        }
        let shortest_to_longest = 100..=LINK_SILENCE_TIMEOUT.0 / 2;
        let asked = welcome.ping_interval_ms;
        let ping_interval = if shortest_to_longest.contains(&asked.0) { asked } else { PING_INTERVAL };
        self.effects.push_back(Effect::Note(Note::Connected { environment: welcome.environment }));
        for message in self.outstanding.replay(now, &welcome.capabilities) {
            self.effects.push_back(Effect::Send(message));
        }
        for running in self.running.values_mut() {
            running.start_over();
        }
        self.link = Link::Ready(ReadyLink {
            since: now,
            last_heard: now,
            next_ping: now + ping_interval,
            ping_interval,
            ping_sequence: 0,
            capabilities: welcome.capabilities,
            told: None,
            told_link: None,
            pings_since_report: 0,
            ready_not_before: now,
        });
    }

    /// Everything that is due by now.
    pub(super) fn advance(&mut self, now: TimestampMs) {
        match &self.link {
            Link::Waiting { until } => {
                if *until <= now {
                    self.link = Link::Connecting { since: now };
                    self.effects.push_back(Effect::Connect);
                }
            }
            Link::Connecting { since: heard } | Link::Greeting { since: heard } => {
                if *heard + LINK_SILENCE_TIMEOUT <= now {
                    self.effects.push_back(Effect::Note(Note::Silent));
                    self.give_up_link(now);
                }
            }
            Link::Ready(link) => {
                if link.last_heard + LINK_SILENCE_TIMEOUT <= now {
                    self.effects.push_back(Effect::Note(Note::Silent));
                    self.give_up_link(now);
                } else {
                    self.speak(now);
                }
            }
        }
    }

    /// Says what a ready link owes: overdue terminal messages, `ready`, progress, a ping.
    fn speak(&mut self, now: TimestampMs) {
        let open_slots = self.open_slots();
        let backlog_seconds = self.backlog_seconds + self.inference_ahead();
        let job_ids: Vec<RunningAttempt> = self.running().collect();
        let Link::Ready(link) = &self.link else { return };
        let report_due = link.next_ping <= now
            && (link.pings_since_report + 1 >= PINGS_PER_REPORT
                || differs_notably(link.told_link, self.link_report));
        let ready_owed = (self.ready_is_owed(link) || report_due) && link.ready_not_before <= now;
        let Link::Ready(link) = &mut self.link else { return };

        let mut messages = self.outstanding.overdue(now, &link.capabilities);
        if ready_owed {
            link.told = Some((open_slots, self.draining));
            link.told_link = self.link_report;
            link.pings_since_report = 0;
            messages.push(WorkerMessage::Ready(Ready {
                slots: open_slots,
                job_ids,
                backlog_seconds,
                draining: self.draining,
                speeds: self.speeds.clone(),
                link: self.link_report,
            }));
        }
        for ((job_id, attempt), running) in &mut self.running {
            let progress = running.take_progress(now, job_id, *attempt);
            messages.extend(progress.into_iter().map(WorkerMessage::Progress));
        }
        if link.next_ping <= now {
            link.ping_sequence += 1;
            link.pings_since_report += 1;
            link.next_ping = now + link.ping_interval;
            messages.push(WorkerMessage::Ping(Ping { sequence: link.ping_sequence, backlog_seconds }));
        }
        self.effects.extend(messages.into_iter().map(Effect::Send));
    }

    fn ready_is_owed(&self, link: &ReadyLink) -> bool {
        link.told != Some((self.open_slots(), self.draining))
    }

    pub(super) fn give_up_link(&mut self, now: TimestampMs) {
        self.effects.push_back(Effect::Disconnect);
        self.wait_before_reconnecting(now);
    }

    fn wait_before_reconnecting(&mut self, now: TimestampMs) {
        if let Link::Ready(link) = &self.link
            && link.since + STABLE_AFTER <= now
        {
            self.backoff.reset();
        }
        let pause = self.backoff.next_pause();
        self.link = Link::Waiting { until: now + pause };
        self.effects.push_back(Effect::Note(Note::Reconnecting { pause }));
    }
}

/// Whether a connection has become so different that jobs may go elsewhere for it: any figure by a quarter. Requests that
/// cost less than [`CHEAP_REQUEST_SECONDS`] before and after make no difference.
fn differs_notably(told: Option<LinkReport>, now: Option<LinkReport>) -> bool {
    let Some(now) = now else { return false };
    let Some(told) = told else { return true };
    let differs = |told: f64, now: f64| (now / told).max(told / now) > 1.25;
    let request = |link: LinkReport| link.request_seconds.max(CHEAP_REQUEST_SECONDS);
    differs(told.download_bytes_per_second, now.download_bytes_per_second)
        || differs(told.upload_bytes_per_second, now.upload_bytes_per_second)
        || differs(request(told), request(now))
}
