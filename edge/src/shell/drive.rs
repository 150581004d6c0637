//! One turn of the scheduler's object: input, decision, one transaction, sends, alarm.
//!
//! Nothing is awaited before the transaction ends, so no other event can come in between. The brain is taken out for the
//! turn and put back only when everything that it decided is durable: after a failure or a panic it is restored from
//! the store at the next event, as after an eviction.

use std::cell::{Cell, RefCell};

use shared_protocol::{Assign, DurationMs, SchedulerMessage, TimestampMs};
use worker::{Date, Env, Result, ScheduledTime, State, console_error, js_sys};

use super::store::Store;
use super::{auth, frontend_worker, now, sockets};
use crate::api::ticket::{Claims, JOB_TICKET_LIFETIME, JobClaims, TicketKeys};
use crate::scheduler::{Config, ConnectionId, Effect, Offer, Scheduler};

/// An alarm that should have fired this long ago was dropped by the platform.
const ALARM_OVERDUE: DurationMs = DurationMs::from_secs(5);

/// An alarm that fails is tried again after this time, however often.
const ALARM_RETRY: DurationMs = DurationMs::from_secs(15);

/// The scheduler's brain with its store, its sockets and its alarm.
pub struct Drive {
    state: State,
    store: Store,
    config: Config,
    ticket_keys: Option<TicketKeys>,
    brain: RefCell<Option<Scheduler>>,
    /// When the alarm is set to go off, as far as is known.
    alarm_at: Cell<Option<TimestampMs>>,
}

impl Drive {
    /// The drive of an object that was just made.
    pub fn new(state: State, env: &Env) -> Self {
        let ticket_keys = auth::ticket_keys(env).map_err(|error| console_error!("{error}")).ok();
        Self {
            store: Store::new(state.storage()),
            config: Config { environment: frontend_worker::environment(env), ..Config::default() },
            ticket_keys,
            brain: RefCell::new(None),
            alarm_at: Cell::new(None),
            state,
        }
    }

    /// The tables, for what is asked of ended jobs. Migrated once [`Drive::turn`] ran.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The object's state.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// One turn. `input` decides; what it decided is durable, sent and timed when this returns.
    pub async fn turn<R>(&self, input: impl FnOnce(&mut Scheduler, TimestampMs) -> R) -> Result<R> {
        let result = self.decide_and_do(input)?;
        self.keep_alarm().await?;
        Ok(result)
    }

    /// A turn for whatever is due.
    pub async fn alarm(&self) -> Result<()> {
        // A fired alarm is used up, and a throwing handler is retried six times and then dropped. So the next one is
        // set before anything can fail.
        self.set_alarm(now() + ALARM_RETRY).await?;
        self.decide_and_do(|brain, now| brain.handle_deadline(now))?;
        match self.next_deadline() {
            Some(deadline) => self.set_alarm(deadline).await,
            None => {
                self.alarm_at.set(None);
                self.state.storage().delete_alarm().await
            }
        }
    }

    fn decide_and_do<R>(&self, input: impl FnOnce(&mut Scheduler, TimestampMs) -> R) -> Result<R> {
        let now = now();
        let mut brain = match self.brain.take() {
            Some(brain) => brain,
            None => self.restore(now)?,
        };
        let result = input(&mut brain, now);
        let effects: Vec<Effect> = std::iter::from_fn(|| brain.poll_effect()).collect();
        self.store.persist(&effects)?;
        self.brain.replace(Some(brain));
        self.send(effects, now);
        Ok(result)
    }

    fn restore(&self, now: TimestampMs) -> Result<Scheduler> {
        self.store.migrate()?;
        let mut restored = self.store.restored(now)?;
        restored.connections = sockets::connected_workers(&self.state);
        Ok(Scheduler::restore(self.config.clone(), now, restored))
    }

    /// Does what is left of a turn once it is durable. Consecutive messages to one worker share frames.
    fn send(&self, effects: Vec<Effect>, now: TimestampMs) {
        let mut pending: Option<(ConnectionId, Vec<SchedulerMessage>)> = None;
        let flush = |pending: &mut Option<(ConnectionId, Vec<SchedulerMessage>)>| {
            if let Some((connection, messages)) = pending.take() {
                sockets::send(&self.state, connection, &messages);
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
        };
        Some(Assign {
            job_id: offer.job_id,
            attempt: offer.attempt,
            sampler: offer.sampler,
            outputs: offer.outputs,
            source: offer.source,
            ticket: keys.sign(Claims::Job(claims), now + JOB_TICKET_LIFETIME),
        })
    }

    fn next_deadline(&self) -> Option<TimestampMs> {
        self.brain.borrow().as_ref().and_then(|brain| brain.next_deadline().map(|(at, _)| at))
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
        let date = ScheduledTime::new(js_sys::Date::from(Date::from(worker::DateInit::Millis(at.0))));
        let set = self.state.storage().set_alarm(date).await;
        if set.is_err() {
            self.alarm_at.set(None);
        }
        set
    }
}
