//! One turn of the scheduler's object: input, decision, one transaction, sends, webhooks, alarm.
//!
//! Nothing is awaited before the transaction ends, so no other event can come in between. The brains are taken out for the
//! turn and put back only when everything that they decided is durable: after a failure or a panic they are restored from
//! the store at the next event, as after an eviction.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use shared_protocol::{Assign, DurationMs, SchedulerMessage, TimestampMs};
use uuid::Uuid;
use worker::{Date, Env, Result, ScheduledTime, State, console_error, js_sys};

use super::deliveries::{Deliveries, Recipient};
use super::store::Store;
use super::usage::Usage;
use super::{auth, now, predecessor, settings, sockets};
use crate::api::ticket::{Claims, JOB_TICKET_LIFETIME, JobClaims, TicketKeys};
use crate::job_events;
use crate::outbox::{self, DeliveryId, DeliveryOutcome, Endpoint, Outbox, OutboxConfig};
use crate::scheduler::{Config, ConnectionId, Effect, Offer, Scheduler};

/// An alarm that should have fired this long ago was dropped by the platform.
const ALARM_OVERDUE: DurationMs = DurationMs::from_secs(5);

/// An alarm that fails is tried again after this time, however often.
const ALARM_RETRY: DurationMs = DurationMs::from_secs(15);

/// An alarm that goes off this much too early does no harm.
const ALARM_SLACK: DurationMs = DurationMs::from_secs(2);

/// Dead letters are kept for so long.
const KEEP_DEAD_LETTERS: DurationMs = DurationMs::from_secs(30 * 24 * 60 * 60);

/// What decides.
pub struct Brains {
    /// Who restores what.
    pub scheduler: Scheduler,
    /// Who is told of it.
    pub outbox: Outbox,
}

/// The brains with their store, their sockets, their webhooks and their alarm.
pub struct Drive {
    /// Itself, for deliveries, whose outcomes come after the turn that began them.
    this: Weak<Self>,
    state: State,
    env: Env,
    store: Store,
    usage: Rc<Usage>,
    config: Config,
    outbox_config: OutboxConfig,
    deliveries: Deliveries,
    ticket_keys: Option<TicketKeys>,
    brains: RefCell<Option<Brains>>,
    /// When the alarm is set to go off, as far as is known.
    alarm_at: Cell<Option<TimestampMs>>,
}

impl Drive {
    /// The drive of an object that was just made.
    pub fn new(state: State, env: &Env) -> Rc<Self> {
        let ticket_keys = auth::ticket_keys(env).map_err(|error| console_error!("{error}")).ok();
        let usage = Rc::new(Usage::begin());
        let object = state.id().to_string();
        let drive = Rc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            store: Store::new(state.storage(), Rc::clone(&usage)),
            usage,
            config: settings::of_scheduler(env),
            env: env.clone(),
            outbox_config: settings::of_outbox(env),
            deliveries: Deliveries::default(),
            ticket_keys,
            brains: RefCell::new(None),
            alarm_at: Cell::new(None),
            state,
        });
        predecessor::succeed(object, &drive);
        drive
    }

    /// Lets go of the brains: they are restored from the store, should this be asked once more.
    pub fn forget(&self) {
        self.brains.take();
    }

    /// The tables, for what is asked of ended jobs. Migrated once [`Drive::turn`] ran.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Counts what the object uses.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The object's state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The webhooks under way.
    pub fn deliveries(&self) -> &Deliveries {
        &self.deliveries
    }

    /// One turn of the scheduler. `input` decides; what it decided is durable, sent and timed when this returns.
    pub async fn turn<R>(&self, input: impl FnOnce(&mut Scheduler, TimestampMs) -> R) -> Result<R> {
        self.turn_of_both(|brains, now| input(&mut brains.scheduler, now)).await
    }

    /// As [`Drive::turn`], for what concerns the outbox too.
    pub async fn turn_of_both<R>(&self, input: impl FnOnce(&mut Brains, TimestampMs) -> R) -> Result<R> {
        let result = self.decide_and_do(input)?;
        self.keep_alarm().await?;
        Ok(result)
    }

    /// A turn with what came of a webhook.
    pub async fn delivered(&self, delivery: DeliveryId, outcome: DeliveryOutcome) -> Result<()> {
        self.turn_of_both(|brains, now| brains.outbox.handle_delivered(now, delivery, outcome)).await
    }

    /// A turn for whatever is due, should the alarm have been lost; and old dead letters are deleted.
    pub async fn poke(&self) -> Result<()> {
        self.turn_of_both(handle_deadline).await?;
        self.store.sweep_dead_letters(TimestampMs(now().0.saturating_sub(KEEP_DEAD_LETTERS.0)))
    }

    /// A turn for whatever is due.
    pub async fn alarm(&self) -> Result<()> {
        self.usage.alarm();
        // A fired alarm is used up, and a throwing handler is retried six times and then dropped. So the next one is
        // set before anything can fail: for when it will be due anyway, as far as is known, because every setting costs.
        let now = now();
        let again = self.next_deadline_after(now).map_or(now + ALARM_RETRY, |at| at.min(now + ALARM_RETRY));
        self.set_alarm(again).await?;
        self.decide_and_do(handle_deadline)?;
        match self.next_deadline() {
            Some(deadline) if again <= deadline && deadline < again + ALARM_SLACK => Ok(()),
            Some(deadline) => self.set_alarm(deadline).await,
            None => {
                self.alarm_at.set(None);
                self.state.storage().delete_alarm().await
            }
        }
    }

    fn decide_and_do<R>(&self, input: impl FnOnce(&mut Brains, TimestampMs) -> R) -> Result<R> {
        let now = now();
        let mut brains = match self.brains.take() {
            Some(brains) => brains,
            None => self.restore(now)?,
        };
        brains.scheduler.set_listened_to(brains.outbox.has_endpoints());
        let result = input(&mut brains, now);
        let effects: Vec<Effect> = std::iter::from_fn(|| brains.scheduler.poll_effect()).collect();
        job_events::publish(&mut brains.outbox, now, &effects, || Uuid::now_v7().as_u128());
        let webhooks: Vec<outbox::Effect> = std::iter::from_fn(|| brains.outbox.poll_effect()).collect();
        self.store.persist(&effects, &webhooks)?;
        self.send(effects, now);
        self.deliver(webhooks, &brains.outbox);
        self.brains.replace(Some(brains));
        Ok(result)
    }

    fn restore(&self, now: TimestampMs) -> Result<Brains> {
        self.store.migrate()?;
        let mut restored = self.store.restored(now)?;
        restored.connections = sockets::connected_workers(&self.state);
        restored.strangers = sockets::strangers(&self.state);
        // Should a turn have failed: its outbox's deliveries are sent again by the new one.
        self.deliveries.abort_all();
        let stored = self.store.outbox()?;
        let (config, rows, last_row) = (self.outbox_config.clone(), stored.rows, stored.last_row);
        let mut endpoints = stored.endpoints;
        endpoints.push(Endpoint::of_projects());
        let mut outbox = Outbox::restore(config, now, endpoints, rows, last_row);
        for (endpoint, last) in stored.logged {
            outbox.resume_log(&endpoint, last);
        }
        Ok(Brains { scheduler: Scheduler::restore(self.config.clone(), now, restored), outbox })
    }

    /// Cuts off and begins webhooks, once the turn is durable. Their bodies are in the store only.
    fn deliver(&self, effects: Vec<outbox::Effect>, outbox: &Outbox) {
        let mut begun = Vec::new();
        for effect in effects {
            match effect {
                outbox::Effect::Abort(id) => self.deliveries.abort(id),
                outbox::Effect::Deliver(delivery) => begun.push(*delivery),
                _ => {}
            }
        }
        for delivery in begun {
            let Some(endpoint) = outbox.endpoint(&delivery.endpoint) else { continue };
            let body = self.store.outbox_body(delivery.row);
            let this = Weak::clone(&self.this);
            let to = if endpoint.is_of_projects() {
                Recipient::Project { env: &self.env }
            } else {
                Recipient::Web { secrets: &endpoint.secrets }
            };
            self.state.wait_until(self.deliveries.begin(this, delivery, to, body));
        }
    }

    /// Does what is left of a turn once it is durable. Consecutive messages to one worker share frames.
    fn send(&self, effects: Vec<Effect>, now: TimestampMs) {
        let mut pending: Option<(ConnectionId, Vec<SchedulerMessage>)> = None;
        let flush = |pending: &mut Option<(ConnectionId, Vec<SchedulerMessage>)>| {
            if let Some((connection, messages)) = pending.take() {
                self.usage.frames_out(sockets::send(&self.state, connection, &messages));
            }
        };
        for effect in effects {
            let (connection, message) = match effect {
                Effect::SaveJob(_)
                | Effect::SavePlaylist { .. }
                | Effect::SaveMeta(_)
                | Effect::SaveControl { .. }
                | Effect::SaveReceipt { .. }
                | Effect::DropReceipts(_)
                | Effect::SaveFollowUp(_)
                | Effect::Announce(_)
                | Effect::SaveAudit(_) => continue,
                Effect::Remember { connection, snapshot } => {
                    if let Err(error) = sockets::remember(&self.state, connection, *snapshot) {
                        console_error!("connection {}: {error}", connection.0);
                    }
                    continue;
                }
                Effect::Close { connection, reason } => {
                    flush(&mut pending);
                    sockets::close(&self.state, connection, reason);
                    continue;
                }
                Effect::Offer { connection, offer } => match self.signed(*offer, now) {
                    Some(assign) => (connection, SchedulerMessage::Assign(assign)),
                    None => continue,
                },
                Effect::Send { connection, message } => (connection, message),
            };
            match &mut pending {
                Some((to, messages)) if *to == connection => messages.push(message),
                _ => {
                    flush(&mut pending);
                    pending = Some((connection, vec![message]));
                }
            }
        }
        flush(&mut pending);
    }

    /// An offer with its ticket. Without a key to sign with it stays unsent, goes unanswered and back to the queue, until
    /// the operator has set one.
    fn signed(&self, offer: Offer, now: TimestampMs) -> Option<Assign> {
        let Some(keys) = &self.ticket_keys else {
            console_error!(
                "job {} cannot be offered: the secret TICKET_KEYS is not set or not valid",
                offer.job_id
            );
            return None;
        };
        let claims = JobClaims {
            tenant: offer.tenant,
            job_id: offer.job_id.clone(),
            attempt: offer.attempt,
            upload_id: offer.source.upload_id.clone(),
            transcript: offer.transcript.clone(),
        };
        Some(Assign {
            job_id: offer.job_id,
            attempt: offer.attempt,
            sampler: offer.sampler,
            outputs: offer.outputs,
            source: offer.source,
            ticket: keys.sign(Claims::Job(claims), now + JOB_TICKET_LIFETIME),
            transcript_version: offer.transcript.map(|transcript| transcript.version),
        })
    }

    fn next_deadline(&self) -> Option<TimestampMs> {
        let brains = self.brains.borrow();
        let Brains { scheduler, outbox } = brains.as_ref()?;
        let scheduler = scheduler.next_deadline().map(|(at, _)| at);
        scheduler.into_iter().chain(outbox.next_deadline()).min()
    }

    /// When something is due after `now`, as far as is known.
    fn next_deadline_after(&self, now: TimestampMs) -> Option<TimestampMs> {
        let brains = self.brains.borrow();
        let Brains { scheduler, outbox } = brains.as_ref()?;
        let outbox = outbox.next_deadline().filter(|at| *at > now);
        scheduler.next_deadline_after(now).into_iter().chain(outbox).min()
    }

    /// Sees to it that the alarm goes off no later than the next deadline. One that goes off earlier does no harm and is
    /// left alone: every ping moves a deadline, and every setting of the alarm is a row written.
    async fn keep_alarm(&self) -> Result<()> {
        if self.next_deadline().is_none() {
            return Ok(());
        }
        if self.alarm_at.get().is_none() {
            let found = self.state.storage().get_alarm().await?;
            if self.alarm_at.get().is_none() {
                self.alarm_at.set(found.and_then(|at| u64::try_from(at).ok()).map(TimestampMs));
            }
        }
        let Some(deadline) = self.next_deadline() else { return Ok(()) };
        let in_time = self.alarm_at.get().is_some_and(|at| at <= deadline && now() < at + ALARM_OVERDUE);
        if in_time { Ok(()) } else { self.set_alarm(deadline).await }
    }

    async fn set_alarm(&self, at: TimestampMs) -> Result<()> {
        self.alarm_at.set(Some(at));
        self.usage.alarm_set();
        let date = ScheduledTime::new(js_sys::Date::from(Date::from(worker::DateInit::Millis(at.0))));
        let set = self.state.storage().set_alarm(date).await;
        if set.is_err() {
            self.alarm_at.set(None);
        }
        set
    }
}

/// Whatever is due, in both brains.
fn handle_deadline(brains: &mut Brains, now: TimestampMs) {
    brains.scheduler.handle_deadline(now);
    brains.outbox.handle_deadline(now);
}
