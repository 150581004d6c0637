//! The object's shell: one turn, one transaction, then the sends, then the alarm; and all that can go wrong in between.

use edge::job_events;
use edge::outbox::{self, DeliveryOutcome, Outbox};
use edge::scheduler::{Effect, Scheduler};
use shared_protocol::{Assign, SchedulerMessage, TimestampMs, WorkerMessage};

use super::agenda::{Event, Way};
use super::backend::Request;
use super::checks::{Fact, Moment};
use super::object::{ALARM_OVERDUE, ALARM_RETRY, Socket, stamp};
use super::world::World;

use edge::scheduler::ConnectionId;

/// The brains at work, and what they want done.
pub(super) struct Turn<'a> {
    pub brain: &'a mut Scheduler,
    pub outbox: &'a mut Outbox,
    /// Outcomes of webhooks that are heard in this turn.
    pub answered: &'a mut Vec<(Request, DeliveryOutcome)>,
    pub now: TimestampMs,
    effects: &'a mut Vec<Effect>,
    heard: &'a mut Vec<(usize, ConnectionId, WorkerMessage)>,
}

impl Turn<'_> {
    /// Hands one message in. What it leads to is told apart from what the next one does.
    fn hear(&mut self, connection: ConnectionId, message: WorkerMessage) {
        self.heard.push((self.effects.len(), connection, message.clone()));
        self.brain.handle_message(self.now, connection, message);
        self.effects.extend(std::iter::from_fn(|| self.brain.poll_effect()));
    }

    fn handle_deadline(&mut self) {
        self.brain.handle_deadline(self.now);
        self.outbox.handle_deadline(self.now);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transaction {
    Works,
    /// Nothing was persisted.
    Fails,
    /// Everything was persisted, and yet it is said to have failed.
    Breaks,
}

impl World {
    /// One turn. Gives what the input gave, or nothing when the turn failed: then nobody knows whether it was persisted.
    pub fn turn<R>(&mut self, env: usize, input: impl FnOnce(&mut Turn<'_>) -> R) -> Option<R> {
        if self.objects[env].away_until > self.now {
            return None;
        }
        let (mut brain, mut outbox) = self.awake_brains(env);
        brain.set_listened_to(outbox.has_endpoints());
        let (mut effects, mut heard, mut answered) = (Vec::new(), Vec::new(), Vec::new());
        let now = stamp(self.now);
        let mut turn = Turn {
            brain: &mut brain,
            outbox: &mut outbox,
            answered: &mut answered,
            now,
            effects: &mut effects,
            heard: &mut heard,
        };
        let result = input(&mut turn);
        effects.extend(std::iter::from_fn(|| brain.poll_effect()));
        let made = &mut self.events_made;
        job_events::publish(&mut outbox, now, &effects, || {
            *made += 1;
            u128::from(*made)
        });
        let webhooks: Vec<outbox::Effect> = std::iter::from_fn(|| outbox.poll_effect()).collect();
        self.objects[env].turns += 1;

        let transaction = self.draw_transaction();
        if transaction != Transaction::Fails {
            self.persist(env, &effects, &heard);
            self.persist_webhooks(env, &webhooks, &answered);
        }
        if transaction != Transaction::Works {
            self.trace.line(name(env), || format!("the transaction fails: {transaction:?}"));
            let persisted = transaction == Transaction::Breaks;
            self.tell(&Fact::TurnFailed { env, persisted });
            self.objects[env].evict();
            if self.random.chance(500) {
                self.close_all_sockets(env);
            }
            return None;
        }
        let changed = effects.iter().any(|effect| matches!(effect, Effect::SaveJob(_)));
        self.objects[env].brain = Some(brain);
        self.objects[env].outbox = Some(outbox);
        if self.do_effects(env, effects, webhooks) {
            return Some(result);
        }
        self.keep_alarm(env);
        self.look_at_brain(env, changed);
        Some(result)
    }

    fn awake_brains(&mut self, env: usize) -> (Scheduler, Outbox) {
        let object = &mut self.objects[env];
        if let (Some(brain), Some(outbox)) = (object.brain.take(), object.outbox.take()) {
            return (brain, outbox);
        }
        let brain = self.objects[env].restored(self.now);
        let outbox = self.objects[env].restored_outbox(self.now);
        self.trace.line(name(env), || format!("restores its memory: {} live jobs", brain.jobs().count()));
        let moment = Moment { now: stamp(self.now) };
        self.checks.see(
            moment,
            self.now,
            &Fact::Restored { env, brain: &brain, store: &self.objects[env].store },
        );
        (brain, outbox)
    }

    fn draw_transaction(&mut self) -> Transaction {
        if self.healing {
            Transaction::Works
        } else if self.random.chance(self.plan.faults.store_fails) {
            Transaction::Fails
        } else if self.random.chance(self.plan.faults.store_breaks) {
            Transaction::Breaks
        } else {
            Transaction::Works
        }
    }

    /// Writes what is to be written, and lets the checks look at each row.
    fn persist(&mut self, env: usize, effects: &[Effect], heard: &[(usize, ConnectionId, WorkerMessage)]) {
        let moment = Moment { now: stamp(self.now) };
        let (now, checks) = (self.now, &mut self.checks);
        let object = &mut self.objects[env];
        let mut heard = heard.iter().peekable();
        for (index, effect) in effects.iter().map(Some).chain([None]).enumerate() {
            while let Some((_, connection, message)) = heard.next_if(|(before, ..)| *before <= index) {
                let worker = object.sockets.get(connection).map(|socket| self.links[socket.link].worker);
                if let Some(worker) = worker {
                    let worker = &self.workers[worker].id;
                    checks.see(moment, now, &Fact::Heard { env, connection: *connection, worker, message });
                }
            }
            match effect {
                None
                | Some(
                    Effect::Remember { .. }
                    | Effect::Send { .. }
                    | Effect::Close { .. }
                    | Effect::SaveAudit(_),
                ) => {}
                Some(Effect::Announce(announcement)) => {
                    checks.see(moment, now, &Fact::Announced { env, announcement });
                }
                Some(Effect::SaveJob(job)) => {
                    self.trace.mix(
                        job.sequence ^ u64::from(job.attempt.0) << 20 ^ (job.history.len() as u64) << 40,
                    );
                    self.trace.line(name(env), || {
                        let last = job.history.last();
                        let reason = last.map(|t| format!("{:?}", t.reason)).unwrap_or_default();
                        format!("{} {:?} attempt {} ({reason})", job.id, job.state, job.attempt)
                    });
                    let before = object.store.save_job((**job).clone());
                    let (before, store) = (before.as_ref(), &object.store);
                    if let Some(after) = store.jobs.get(&job.id) {
                        checks.see(moment, now, &Fact::Saved { env, before, after, store });
                    }
                }
                Some(Effect::SavePlaylist { job_id, playlist }) => {
                    let before = object.store.playlists.insert(job_id.clone(), playlist.clone());
                    let before = before.as_ref();
                    checks.see(
                        moment,
                        now,
                        &Fact::PlaylistSaved { env, job: job_id, before, after: playlist },
                    );
                }
                Some(Effect::SaveMeta(meta)) => {
                    object.store.meta = (**meta).clone();
                    checks.see(moment, now, &Fact::MetaSaved { env, after: meta });
                }
                Some(Effect::SaveControl { worker, control }) => {
                    self.trace.line(name(env), || format!("{worker}: {control:?}"));
                    match control {
                        Some(control) => object.store.controls.insert(worker.clone(), control.clone()),
                        None => object.store.controls.remove(worker),
                    };
                    checks.see(moment, now, &Fact::ControlSaved { env, worker, control: control.as_ref() });
                }
                Some(Effect::SaveReceipt { message_id, at, .. }) => {
                    object.store.receipts.insert(message_id.clone(), *at);
                }
                Some(Effect::DropReceipts(ids)) => {
                    for id in ids {
                        object.store.receipts.remove(id);
                    }
                }
                Some(Effect::SaveFollowUp(follow_up)) => {
                    object.store.follow_ups.insert(follow_up.job_id.clone(), (**follow_up).clone());
                }
                Some(Effect::Offer { connection, offer }) => {
                    if let Some(job) = object.store.jobs.get(&offer.job_id) {
                        let (connection, store) = (*connection, &object.store);
                        checks.see(moment, now, &Fact::Offered { env, job, connection, store });
                    }
                }
            }
        }
    }

    /// Writes what is to be written of webhooks.
    fn persist_webhooks(
        &mut self,
        env: usize,
        effects: &[outbox::Effect],
        answered: &[(Request, DeliveryOutcome)],
    ) {
        let moment = Moment { now: stamp(self.now) };
        let (now, checks) = (self.now, &mut self.checks);
        let store = &mut self.objects[env].store;
        for (request, outcome) in answered {
            checks.see(moment, now, &Fact::WebhookAnswered { request, outcome });
        }
        for effect in effects {
            match effect {
                outbox::Effect::Insert { row, body } => {
                    let before = store.webhooks.insert(row.id, ((**row).clone(), body.clone()));
                    if before.is_none() {
                        self.rows_made += 1;
                        store.ordinals.insert(row.id, self.rows_made);
                    }
                    let (before, ordinal) = (before.map(|(row, _)| row), store.ordinals[&row.id]);
                    let fact = Fact::WebhookSaved { env, before: before.as_ref(), after: row, ordinal };
                    checks.see(moment, now, &fact);
                }
                outbox::Effect::Save(row) => {
                    let Some((saved, _)) = store.webhooks.get_mut(&row.id) else {
                        checks.accuse(
                            "outbox_memory",
                            now,
                            format!("{:?} is saved, and is not there", row.id),
                        );
                        continue;
                    };
                    let before = std::mem::replace(saved, (**row).clone());
                    let ordinal = store.ordinals[&row.id];
                    let fact = Fact::WebhookSaved { env, before: Some(&before), after: row, ordinal };
                    checks.see(moment, now, &fact);
                }
                outbox::Effect::Delete(id) => {
                    store.ordinals.remove(id);
                    if let Some((row, _)) = store.webhooks.remove(id) {
                        checks.see(moment, now, &Fact::WebhookDeleted { env, row: &row });
                    }
                }
                outbox::Effect::SaveEndpoint(endpoint) => {
                    store.endpoints.insert(endpoint.id.clone(), (**endpoint).clone());
                    checks.see(moment, now, &Fact::EndpointSaved { env, endpoint });
                }
                outbox::Effect::DeleteEndpoint(id) => {
                    store.endpoints.remove(id);
                    store.webhooks.retain(|_, (row, _)| row.endpoint != *id);
                }
                // Nobody decides by the log.
                outbox::Effect::Log(_) | outbox::Effect::Abort(_) | outbox::Effect::Deliver(_) => {}
            }
        }
    }

    /// Does what is left of a turn once it is durable, in order. Says whether the object was evicted on the way.
    fn do_effects(&mut self, env: usize, effects: Vec<Effect>, webhooks: Vec<outbox::Effect>) -> bool {
        let interrupted = !self.healing && self.random.chance(self.plan.faults.interrupted);
        let mut left =
            if interrupted { self.random.index(effects.len() + webhooks.len() + 1) } else { usize::MAX };
        let mut pending: Option<(ConnectionId, Vec<SchedulerMessage>)> = None;
        for effect in effects {
            if left == 0 {
                break;
            }
            left -= 1;
            let (connection, message) = match effect {
                Effect::Remember { connection, snapshot } => {
                    if let Some(socket) = self.objects[env].sockets.get_mut(&connection) {
                        socket.snapshot = Some(*snapshot);
                    }
                    continue;
                }
                Effect::Close { connection, reason } => {
                    self.flush(env, &mut pending);
                    self.trace.line(name(env), || format!("closes {}: {}", connection.0, reason.text()));
                    self.close_socket(env, connection);
                    continue;
                }
                Effect::Offer { .. } if !self.healing && self.random.chance(self.plan.faults.unsigned) => {
                    continue;
                }
                Effect::Offer { connection, offer } => {
                    let assign = Assign {
                        job_id: offer.job_id,
                        attempt: offer.attempt,
                        sampler: offer.sampler,
                        outputs: offer.outputs,
                        source: offer.source,
                        ticket: String::new(),
                        transcript_version: offer.transcript.map(|transcript| transcript.version),
                    };
                    (connection, SchedulerMessage::Assign(assign))
                }
                Effect::Send { connection, message } => (connection, message),
                _ => continue,
            };
            if pending.as_ref().is_some_and(|(to, _)| *to != connection) {
                self.flush(env, &mut pending);
            }
            pending.get_or_insert_with(|| (connection, Vec::new())).1.push(message);
        }
        self.flush(env, &mut pending);
        for effect in webhooks {
            if left == 0 {
                break;
            }
            left -= 1;
            match effect {
                outbox::Effect::Abort(delivery) => self.cut_webhook_off(env, delivery),
                outbox::Effect::Deliver(delivery) => self.send_webhook(env, *delivery),
                _ => {}
            }
        }
        if interrupted {
            self.trace.line(name(env), || "is evicted within the turn".to_owned());
            self.tell(&Fact::Interrupted { env });
            self.objects[env].evict();
            if self.random.chance(300) {
                self.close_all_sockets(env);
            }
        }
        interrupted
    }

    fn flush(&mut self, env: usize, pending: &mut Option<(ConnectionId, Vec<SchedulerMessage>)>) {
        let Some((connection, messages)) = pending.take() else { return };
        let moment = Moment { now: stamp(self.now) };
        for message in &messages {
            let store = &self.objects[env].store;
            self.checks.see(moment, self.now, &Fact::Sent { env, message, store });
        }
        let Some(socket) = self.objects[env].sockets.get(&connection) else { return };
        let link = socket.link;
        let jitter = self.random.below(30);
        let takes = self.links[link].takes(self.now, jitter);
        if let Some(at) = self.links[link].down.put(self.now, takes, messages) {
            self.agenda.add(at, Event::Frame { link, way: Way::Down });
        }
    }

    /// Closes a socket from the object's side.
    pub fn close_socket(&mut self, env: usize, connection: ConnectionId) {
        let Some(socket) = self.objects[env].sockets.remove(&connection) else { return };
        let link = socket.link;
        let takes = self.links[link].takes(self.now, 0);
        self.links[link].object_end = false;
        self.links[link].up.cut();
        if !self.links[link].down.broken {
            let at = self.links[link].down.arrival(self.now, takes);
            self.agenda.add(at, Event::Closed { link, way: Way::Down });
        }
    }

    /// Closes every socket, as a deploy does.
    pub fn close_all_sockets(&mut self, env: usize) {
        let all: Vec<ConnectionId> = self.objects[env].sockets.keys().copied().collect();
        for connection in all {
            let silent = !self.healing && self.random.chance(100);
            if silent && let Some(socket) = self.objects[env].sockets.get(&connection) {
                let link = socket.link;
                self.links[link].down.cut();
            }
            self.close_socket(env, connection);
        }
    }

    fn look_at_brain(&mut self, env: usize, changed: bool) {
        let object = &self.objects[env];
        let (Some(brain), Some(outbox)) = (&object.brain, &object.outbox) else { return };
        // Restoring costs more than everything else: now and then is enough.
        let restored = object.turns.is_multiple_of(61).then(|| object.restored(self.now));
        let moment = Moment { now: stamp(self.now) };
        let restored = restored.as_ref();
        self.checks.see(
            moment,
            self.now,
            &Fact::TurnEnded { env, brain, outbox, store: &object.store, restored, changed },
        );
    }

    // The object's events

    pub fn accept_connection(&mut self, link: usize) {
        let env = self.links[link].env;
        let refused = !self.healing && self.random.chance(self.plan.faults.refused);
        let awake = !refused && self.turn(env, |_| ()).is_some();
        let takes = self.links[link].latency;
        if awake && self.objects[env].brain.is_some() && !self.links[link].down.broken {
            let object = &mut self.objects[env];
            object.last_connection += 1;
            let connection = ConnectionId(object.last_connection);
            object.sockets.insert(connection, Socket { link, snapshot: None });
            self.links[link].connection = Some(connection);
            self.links[link].object_end = true;
            if !self.links[link].worker_end {
                self.closed_by_worker(link);
            }
            let at = self.links[link].down.arrival(self.now, takes);
            self.agenda.add(at, Event::Connected { link, open: true });
        } else {
            self.later(takes, Event::Connected { link, open: false });
        }
    }

    pub fn frame_at_object(&mut self, link: usize) {
        let Some(frame) = self.links[link].up.take() else { return };
        let (env, Some(connection)) = (self.links[link].env, self.links[link].connection) else { return };
        if !self.objects[env].sockets.contains_key(&connection) {
            return;
        }
        let worker = self.workers[self.links[link].worker].id.clone();
        self.trace
            .line(name(env), || format!("hears from {worker} over {}: {}", connection.0, short(&frame)));
        self.turn(env, |turn| {
            for message in frame {
                turn.hear(connection, message);
            }
        });
    }

    pub fn closed_at_object(&mut self, link: usize) {
        let (env, Some(connection)) = (self.links[link].env, self.links[link].connection) else { return };
        self.links[link].object_end = false;
        if self.objects[env].sockets.remove(&connection).is_none() {
            return;
        }
        self.trace.line(name(env), || format!("hears that {} is closed", connection.0));
        self.turn(env, |turn| turn.brain.handle_closed(turn.now, connection));
    }

    pub fn poke(&mut self, env: usize) {
        self.later(60_000, Event::Poke { env });
        self.turn(env, |turn| turn.handle_deadline());
    }

    // The alarm

    fn next_deadline(&self, env: usize) -> Option<u64> {
        let brain = self.objects[env].brain.as_ref()?.next_deadline().map(|(at, _)| at);
        let outbox = self.objects[env].outbox.as_ref()?.next_deadline();
        let first = [brain, outbox].into_iter().flatten().min()?;
        Some(first.0.saturating_sub(super::object::EPOCH))
    }

    /// Sees to it that the alarm goes off no later than the next deadline.
    fn keep_alarm(&mut self, env: usize) {
        let Some(deadline) = self.next_deadline(env) else { return };
        let object = &mut self.objects[env];
        if object.alarm_known.is_none() {
            object.alarm_known = object.alarm;
        }
        let in_time = object.alarm_known.is_some_and(|at| at <= deadline && self.now < at + ALARM_OVERDUE);
        if !in_time {
            self.set_alarm(env, deadline);
        }
    }

    fn set_alarm(&mut self, env: usize, at: u64) {
        self.objects[env].alarm = Some(at);
        self.objects[env].alarm_known = Some(at);
        let faults = &self.plan.faults;
        let (late, lost, twice) = (faults.alarm_late, faults.alarm_lost, faults.alarm_twice);
        let mut delay = self.random.below(50);
        if !self.healing {
            if self.random.chance(lost) {
                // The platform has forgotten it; the object's memory has not.
                self.objects[env].alarm = None;
                return;
            }
            if self.random.chance(late) {
                delay = self.random.below(60_000);
            }
            if self.random.chance(twice) {
                let again = self.random.below(2_000);
                self.agenda.add(at.max(self.now) + delay + again, Event::Alarm { env, at, again: true });
            }
        }
        self.agenda.add(at.max(self.now) + delay, Event::Alarm { env, at, again: false });
    }

    pub fn alarm_goes_off(&mut self, env: usize, at: u64, again: bool) {
        if !again && self.objects[env].alarm != Some(at) {
            return;
        }
        if self.objects[env].away_until > self.now {
            let back = self.objects[env].away_until;
            self.agenda.add(back, Event::Alarm { env, at, again });
            return;
        }
        self.trace.line(name(env), || "alarm".to_owned());
        // A fired alarm is used up: the next one is set before anything can fail.
        self.set_alarm(env, self.now + ALARM_RETRY);
        if self.turn(env, |turn| turn.handle_deadline()).is_none() {
            return;
        }
        match self.next_deadline(env) {
            Some(deadline) => self.set_alarm(env, deadline),
            None if self.objects[env].brain.is_some() => {
                self.objects[env].alarm = None;
                self.objects[env].alarm_known = None;
            }
            // Evicted within the turn: the alarm that was set first stays.
            None => {}
        }
    }
}

/// An environment's name in the trace.
pub(super) fn name(env: usize) -> &'static str {
    ["production", "dev"][env.min(1)]
}

fn short(frame: &[WorkerMessage]) -> String {
    let words: Vec<String> = frame
        .iter()
        .map(|message| match message {
            WorkerMessage::Ready(ready) => {
                let runs: Vec<String> =
                    ready.job_ids.iter().map(|r| format!("{}/{}", r.job_id, r.attempt)).collect();
                format!("ready {} slots, runs [{}]", ready.slots, runs.join(" "))
            }
            WorkerMessage::Accept(a) => format!("accept {}/{}", a.job_id, a.attempt),
            WorkerMessage::Reject(r) => format!("reject {}/{} {:?}", r.job_id, r.attempt, r.reason),
            WorkerMessage::Progress(p) => {
                format!("progress {}/{} +{}", p.job_id, p.attempt, p.segments.len())
            }
            WorkerMessage::Complete(c) => format!("complete {}/{}", c.job_id, c.attempt),
            WorkerMessage::Failed(f) => format!("failed {}/{} {:?}", f.job_id, f.attempt, f.failure.code),
            WorkerMessage::Cancelled(c) => format!("cancelled {}/{}", c.job_id, c.attempt),
            other => other.kind().to_owned(),
        })
        .collect();
    words.join(", ")
}
