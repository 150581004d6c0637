//! Queued jobs meet open slots.

use std::collections::BTreeSet;

use shared_protocol::{JobId, TimestampMs, limits::OFFER_TIMEOUT};

use super::routing::{self, Decision};
use super::transition::{Reason, Step};
use super::{Effect, Offer, Scheduler, Timer};

/// Different needs looked at for one match: somebody who asks for what nobody has, each time something else, must not keep
/// the scheduler busy at every event.
const MAX_NEEDS: usize = 1_000;

impl Scheduler {
    /// Offers queued jobs in order for as long as somebody has an open slot for them.
    pub(super) fn dispatch(&mut self, now: TimestampMs) {
        self.match_owed = false;
        if self.paused || self.queue.is_idle() {
            return;
        }
        let clock = self.queue.clock().clone();
        // Slots only become fewer meanwhile: whoever finds nobody finds nobody later in this turn.
        let mut hopeless = BTreeSet::new();
        while let Some((job, decision)) = self.next_match(now, &mut hopeless) {
            self.offer(&job, decision, now);
        }
        // The order that the picks leave behind. Where nobody had to wait they leave none.
        if *self.queue.clock() != clock {
            self.save_meta();
        }
    }

    /// After what opens no slot and queues no job: nothing to look for, unless this brain has just been restored.
    pub(super) fn dispatch_if_owed(&mut self, now: TimestampMs) {
        if self.match_owed {
            self.dispatch(now);
        }
    }

    fn next_match(&self, now: TimestampMs, hopeless: &mut BTreeSet<JobId>) -> Option<(JobId, Decision)> {
        if !self.fleet.iter().any(super::Worker::is_open) {
            return None;
        }
        self.queue.heads(now).into_iter().take(MAX_NEEDS).find_map(|id| {
            if hopeless.contains(id) {
                return None;
            }
            let job = self.jobs.get(id)?;
            let decision = routing::decide(&self.fleet, &job.request, self.config.policy);
            if decision.is_none() {
                hopeless.insert(id.clone());
            }
            decision.map(|decision| (id.clone(), decision))
        })
    }

    fn offer(&mut self, id: &JobId, decision: Decision, now: TimestampMs) {
        let worker = decision.chosen.clone();
        let Some(connection) = self.fleet.get(&worker).and_then(|entry| entry.connection) else { return };
        let Some(job) = self.jobs.get_mut(id) else { return };
        self.queue.picked(job, now);
        let attempt = job.attempt;
        job.decision = Some(decision);
        if !self.step(now, id, attempt, Step::Offer { worker: worker.clone(), connection }, Reason::SlotOpen)
        {
            return;
        }
        let Some(job) = self.jobs.get(id) else { return };
        let offer = Offer {
            job_id: id.clone(),
            attempt: job.attempt,
            tenant: job.tenant.clone(),
            sampler: job.request.sampler,
            outputs: job.request.outputs.clone(),
            source: job.request.source.clone(),
            transcript: job.request.transcript(),
        };
        if let Some(entry) = self.fleet.get_mut(&worker) {
            let seconds = entry.inference_seconds(&job.request);
            entry.snapshot.open_slots = entry.snapshot.open_slots.saturating_sub(1);
            entry.snapshot.idle_since = now;
            entry.snapshot.in_flight.insert(id.clone(), seconds);
        }
        self.timers.set(Timer::OfferUnanswered(id.clone()), now + OFFER_TIMEOUT);
        self.touch(&worker);
        self.effects.push_back(Effect::Offer { connection, offer: Box::new(offer) });
    }
}
