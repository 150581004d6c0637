//! One turn of a project's object: input, decision, one transaction, errands, alarm. As the scheduler's own drive: nothing is
//! awaited before the transaction ends, and after a failure or a panic the brain is restored from the store.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use shared_protocol::{DurationMs, TimestampMs};
use worker::{Date, Env, Result, ScheduledTime, State, console_error, js_sys};

use super::now;
use super::project_errands::run;
use super::project_store::ProjectStore;
use super::transcribe;
use crate::project::errand::Errand;
use crate::project::{Effect, ErrandOutcome, Head, Project, ProjectConfig, Refusal};

/// An alarm that fails is tried again after this time, however often.
const ALARM_RETRY: DurationMs = DurationMs::from_secs(15);

/// The whole exchange with a recogniser may take so much longer than its own timeout.
const TRANSCRIPTION_SLACK: DurationMs = DurationMs::from_secs(30);

/// A project's brain with its store, its errands and its alarm.
pub struct ProjectDrive {
    /// Itself, for errands, whose outcomes come after the turn that began them.
    this: Weak<Self>,
    state: State,
    env: Env,
    store: ProjectStore,
    config: ProjectConfig,
    brain: RefCell<Option<Project>>,
    /// When the alarm is set to go off, as far as is known.
    alarm_at: Cell<Option<TimestampMs>>,
}

impl ProjectDrive {
    /// The drive of an object that was just made.
    pub fn new(state: State, env: Env) -> Rc<Self> {
        let settings = transcribe::settings(&env).ok();
        let config = ProjectConfig {
            transcribes: settings.is_some(),
            transcription_lease: settings.map_or(TRANSCRIPTION_SLACK, |settings| {
                DurationMs(settings.timeout.0 + TRANSCRIPTION_SLACK.0)
            }),
        };
        Rc::new_cyclic(|this| Self {
            this: Weak::clone(this),
            store: ProjectStore::new(state.storage()),
            state,
            env,
            config,
            brain: RefCell::new(None),
            alarm_at: Cell::new(None),
        })
    }

    /// The tables.
    pub fn store(&self) -> &ProjectStore {
        &self.store
    }

    /// What the object can reach.
    pub fn env(&self) -> &Env {
        &self.env
    }

    /// One turn. What it decided is durable when this returns, and whoever is to be asked is being asked.
    ///
    /// # Errors
    /// The store failed. `Ok(Err(ProjectNotFound))` when the project was never made.
    pub async fn turn<R>(
        &self,
        input: impl FnOnce(&mut Project, TimestampMs) -> R,
    ) -> Result<std::result::Result<R, Refusal>> {
        let now = now();
        let Some(brain) = self.taken(now)? else { return Ok(Err(Refusal::ProjectNotFound)) };
        let result = self.decide(brain, |brain| input(brain, now))?;
        self.keep_alarm().await?;
        Ok(Ok(result))
    }

    /// Makes the project, unless it is there. Says whether it was made just now.
    pub async fn create(&self, head: Head) -> Result<bool> {
        let now = now();
        let (brain, new) = match self.taken(now)? {
            Some(brain) => (brain, false),
            None => (Project::new(self.config.clone(), now, head), true),
        };
        self.decide(brain, |_| ())?;
        self.keep_alarm().await?;
        Ok(new)
    }

    /// A turn for whatever is due.
    pub async fn alarm(&self) -> Result<()> {
        // A fired alarm is used up, and a throwing handler is retried six times and then dropped: the next one is set before
        // anything can fail.
        self.set_alarm(now() + ALARM_RETRY).await?;
        let found = self.turn(|brain, now| brain.handle_deadline(now)).await?;
        match self.next_deadline() {
            Some(deadline) if found.is_ok() => self.set_alarm(deadline).await,
            _ => {
                self.alarm_at.set(None);
                self.state.storage().delete_alarm().await
            }
        }
    }

    /// A turn with what came of an errand.
    pub async fn done(&self, errand: &Errand, outcome: ErrandOutcome) -> Result<()> {
        self.turn(|brain, now| brain.handle_errand(now, errand, outcome)).await.map(|_| ())
    }

    fn taken(&self, now: TimestampMs) -> Result<Option<Project>> {
        if let Some(brain) = self.brain.take() {
            return Ok(Some(brain));
        }
        let restored = self.store.restored()?;
        Ok(restored.map(|restored| Project::restore(self.config.clone(), now, restored)))
    }

    fn decide<R>(&self, mut brain: Project, input: impl FnOnce(&mut Project) -> R) -> Result<R> {
        let result = input(&mut brain);
        let effects = brain.take_effects();
        self.store.persist(&brain, &effects)?;
        self.brain.replace(Some(brain));
        for effect in effects {
            if let Effect::Run(errand) = effect {
                self.begin(errand);
            }
        }
        Ok(result)
    }

    /// Begins an errand. It keeps the object alive, which its own bounds bound.
    fn begin(&self, errand: Errand) {
        let this = Weak::clone(&self.this);
        self.state.wait_until(async move {
            let Some(drive) = this.upgrade() else { return };
            let Some(outcome) = run(&drive, &errand).await else { return };
            if let Err(error) = drive.done(&errand, outcome).await {
                console_error!("the outcome of {errand:?} is lost, so it will be asked for again: {error}");
            }
        });
    }

    /// Reads the brain. Nothing when it is not there, or in a turn.
    pub fn with_brain<R>(&self, read: impl FnOnce(&Project) -> R) -> Option<R> {
        self.brain.borrow().as_ref().map(read)
    }

    fn next_deadline(&self) -> Option<TimestampMs> {
        self.with_brain(Project::next_deadline).flatten()
    }

    /// Sees to it that the alarm goes off no later than the next deadline. One that goes off earlier does no harm.
    async fn keep_alarm(&self) -> Result<()> {
        let Some(deadline) = self.next_deadline() else { return Ok(()) };
        if self.alarm_at.get().is_none() {
            let found = self.state.storage().get_alarm().await?;
            if self.alarm_at.get().is_none() {
                self.alarm_at.set(found.and_then(|at| u64::try_from(at).ok()).map(TimestampMs));
            }
        }
        let in_time = self.alarm_at.get().is_some_and(|at| at <= deadline && now() <= at + ALARM_RETRY);
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
