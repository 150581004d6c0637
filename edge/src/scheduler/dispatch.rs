//! Queued jobs meet open slots.

use shared_protocol::{JobId, TimestampMs, limits::OFFER_TIMEOUT};

use super::{Effect, Offer, Scheduler, Timer, routing};

/// Jobs looked at in one turn beyond those that were assigned: what no connected worker can do must not be searched
/// through at every event.
const MAX_PASSED_OVER: usize = 64;

impl Scheduler {
    /// Offers queued jobs in order for as long as somebody has an open slot for them.
    pub(super) fn dispatch(&mut self, now: TimestampMs) {
        while let Some((job, worker)) = self.next_match() {
            self.offer(&job, &worker, now);
        }
    }

    fn next_match(&self) -> Option<(JobId, shared_protocol::WorkerId)> {
        if !self.fleet.iter().any(|worker| worker.snapshot.open_slots > 0) {
            return None;
        }
        self.queue.iter().take(MAX_PASSED_OVER).find_map(|id| {
            let job = self.jobs.get(id)?;
            routing::choose(&self.fleet, job.request.sampler).map(|worker| (id.clone(), worker.clone()))
        })
    }

    fn offer(&mut self, id: &JobId, worker: &shared_protocol::WorkerId, now: TimestampMs) {
        let Some(entry) = self.fleet.get_mut(worker) else { return };
        let Some(connection) = entry.connection else { return };
        let Some(job) = self.jobs.get_mut(id) else { return };
        self.queue.remove(job);
        job.offer(worker.clone(), connection, now);
        entry.snapshot.open_slots = entry.snapshot.open_slots.saturating_sub(1);
        entry.snapshot.idle_since = now;
        let offer = Offer {
            job_id: id.clone(),
            attempt: job.attempt,
            tenant: job.tenant.clone(),
            sampler: job.request.sampler,
            outputs: job.request.outputs.clone(),
            source: job.request.source.clone(),
        };
        self.timers.set(Timer::OfferUnanswered(id.clone()), now + OFFER_TIMEOUT);
        self.save(id);
        self.remember(worker);
        self.effects.push_back(Effect::Offer { connection, offer: Box::new(offer) });
    }
}
