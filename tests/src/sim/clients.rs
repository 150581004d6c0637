//! Clients: they ask, and ask again when no answer comes.

use std::collections::BTreeMap;

use edge::scheduler::{JobRequest, NewJob, SubmitError, Submitted};
use shared_protocol::{JobId, OutputKind, Source, TenantId, UploadId};

use super::agenda::Event;
use super::checks::{Fact, Moment};
use super::object::stamp;
use super::plan::RequestPlan;
use super::turn::name;
use super::world::World;

/// One request and what came of it.
pub struct Client {
    /// What is asked for.
    pub plan: RequestPlan,
    /// The request as it is sent: the same each time.
    pub request: JobRequest,
    /// Its tenant.
    pub tenant: TenantId,
    /// Its idempotency key.
    pub key: Option<String>,
    /// The job that the answer named.
    pub answer: Option<JobId>,
    /// It gave up: without a key it cannot ask again.
    pub gave_up: bool,
}

impl Client {
    /// The client of request number `n`.
    pub fn new(n: usize, plan: RequestPlan) -> Self {
        let upload_id = UploadId::new(format!("upl_{n}")).expect("a constant and a number are an id");
        let request = JobRequest {
            source: Source { upload_id, name: "talk.mp3".to_owned(), size: plan.audio_seconds * 16_000 },
            content_type: None,
            sampler: plan.sampler,
            outputs: vec![OutputKind::Hls, OutputKind::Wav],
            priority: plan.priority,
            metadata: BTreeMap::new(),
            not_before: plan.not_before.map(stamp),
            labels: plan.labels.clone(),
            expected_seconds: plan.says_length.then_some(plan.audio_seconds as u32),
            generation: None,
            webhook: None,
        };
        let tenant =
            TenantId::new(format!("tenant-{}", plan.tenant)).expect("a constant and a number are an id");
        let key = plan.keyed.then(|| format!("key-{n}"));
        Self { plan, request, tenant, key, answer: None, gave_up: false }
    }

    /// Whether it waits for nothing any more.
    pub fn is_answered(&self) -> bool {
        self.answer.is_some() || self.gave_up
    }
}

impl World {
    pub fn submit(&mut self, request: usize, tries: u32) {
        let client = &self.clients[request];
        let (env, tenant, key) = (client.plan.env, client.tenant.clone(), client.key.clone());
        let known = key.as_ref().and_then(|key| self.objects[env].store.known_key(&tenant, key));
        let id = self.new_job_id();
        let new = NewJob { id, tenant, request: self.clients[request].request.clone(), idempotency_key: key };
        let answer = self.turn(env, |turn| turn.brain.submit(turn.now, new, known));
        self.trace.line("client", || format!("request {request} to {}, try {tries}: {answer:?}", name(env)));
        let lost = !self.healing && self.random.chance(self.plan.faults.answer_lost);
        let again = self.random.between(500, 5_000);
        match answer {
            Some(Ok(Submitted::New(id) | Submitted::Known(id))) if !lost => {
                let moment = Moment { now: stamp(self.now) };
                let store = &self.objects[env].store;
                self.checks.see(moment, self.now, &Fact::Answered { env, request, job: &id, store });
                self.clients[request].answer = Some(id);
            }
            // It was told that nothing was made: it may ask again, with a key or without.
            Some(Err(SubmitError::QueueFull { .. } | SubmitError::TenantFull { .. })) => {
                self.later(again, Event::Submit { request, tries: tries + 1 });
            }
            Some(Err(SubmitError::IdempotencyMismatch { job_id })) => {
                let what = format!(
                    "request {request} is the same each time, and yet its key is said to belong to {job_id}"
                );
                self.checks.accuse("one_job_per_key", self.now, what);
            }
            _ if self.clients[request].key.is_some() => {
                self.later(again, Event::Submit { request, tries: tries + 1 });
            }
            _ => self.clients[request].gave_up = true,
        }
    }
}
