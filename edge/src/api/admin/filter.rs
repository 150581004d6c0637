//! Which jobs an operator means.

use serde::{Deserialize, Serialize};
use shared_protocol::{TenantId, WorkerId};

use crate::scheduler::Job;

/// A state, or a group of them, that a filter can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum StateFilter {
    /// Waiting.
    Queued,
    /// Offered and unanswered.
    Offered,
    /// Accepted by a worker.
    Running,
    /// Restored.
    Completed,
    /// Failed for good.
    Failed,
    /// Ended at somebody's wish.
    Cancelled,
    /// Set aside for an operator.
    Quarantined,
    /// Any of the first three.
    Live,
    /// Any of the others.
    Ended,
}

impl StateFilter {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Queued,
        Self::Offered,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Quarantined,
        Self::Live,
        Self::Ended,
    ];

    /// The name in requests, which is that of the job's state if it is one state.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Offered => "offered",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Quarantined => "quarantined",
            Self::Live => "live",
            Self::Ended => "ended",
        }
    }

    /// Reads a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.name() == name)
    }

    /// Whether jobs in it are live.
    pub fn is_live(self) -> bool {
        matches!(self, Self::Queued | Self::Offered | Self::Running | Self::Live)
    }

    /// The one state that is asked for, if it is one.
    pub fn single(self) -> Option<&'static str> {
        (!matches!(self, Self::Live | Self::Ended)).then(|| self.name())
    }

    fn matches(self, job: &Job) -> bool {
        match self.single() {
            Some(name) => job.state.name() == name,
            None => job.state.is_ended() != self.is_live(),
        }
    }
}

/// The names of a job's states, for the API's description.
#[cfg(feature = "schema")]
pub fn names_of_states() -> Vec<&'static str> {
    StateFilter::ALL.into_iter().filter_map(StateFilter::single).collect()
}

/// Which jobs. Whatever is absent is not asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobFilter {
    /// Whose.
    pub tenant: Option<TenantId>,
    /// In which state.
    pub state: Option<StateFilter>,
    /// With which worker: the one that has it, or had it last.
    pub worker: Option<WorkerId>,
}

impl JobFilter {
    /// Whether every job is meant.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether this job is meant.
    pub fn matches(&self, job: &Job) -> bool {
        self.tenant.as_ref().is_none_or(|tenant| *tenant == job.tenant)
            && self.state.is_none_or(|state| state.matches(job))
            && self.worker.as_ref().is_none_or(|worker| job.last_worker() == Some(worker))
    }

    /// In words, for the audit log.
    pub fn words(&self) -> String {
        let parts = [
            self.tenant.as_ref().map(|tenant| format!("tenant={tenant}")),
            self.state.map(|state| format!("state={}", state.name())),
            self.worker.as_ref().map(|worker| format!("worker={worker}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "all".to_owned() } else { parts.join(" ") }
    }
}
