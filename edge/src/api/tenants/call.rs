//! What the stateless Worker and other objects ask of a tenant's object, and its answers. Never seen from outside.
//!
//! Every call may be repeated: none does anything twice.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, TenantId, TimestampMs};

use super::request::{SettingsChange, TenantsQuery, UsageQuery};
use crate::api::ApiError;
use crate::api::admin::call::Actor;
use crate::tenant::key::{Grant, KeyRow};
use crate::tenant::key_text::{KeyHash, KeyId};
use crate::tenant::{ProjectEntry, ProjectPage, QuotaExhausted, TenantSettings, UsageRow};

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "call")]
pub enum TenantCall {
    /// The tenant's limits.
    Settings,
    /// May it begin something that will be charged?
    #[serde(rename_all = "camelCase")]
    Admit {
        /// The asker's clock.
        at_ms: TimestampMs,
    },
    /// Charge a generation.
    RecordUsage {
        /// What it used.
        row: UsageRow,
    },
    /// Put a project on the list, or change its name there.
    AddProject {
        /// Which.
        project: ProjectEntry,
    },
    /// The list of projects.
    Projects {
        /// How many at most.
        limit: u32,
        /// Only those before this place.
        before: Option<u64>,
    },
    /// Is this one of its keys?
    #[serde(rename_all = "camelCase")]
    VerifyKey {
        /// The key that the presented text names.
        key_id: KeyId,
        /// The hash of the text.
        sha256: KeyHash,
    },
    /// Something to look at.
    View {
        /// Whose.
        tenant: TenantId,
        /// What.
        question: TenantQuestion,
    },
    /// Do something.
    Act {
        /// To whom.
        tenant: TenantId,
        /// Who does it.
        actor: Actor,
        /// What.
        act: TenantAct,
        /// Why, in the operator's words.
        reason: String,
    },
    /// Asked of the index alone: put a tenant on the list.
    ListTenant {
        /// Which.
        tenant: TenantId,
    },
    /// Asked of the index alone: tenants by name.
    Tenants {
        /// Which.
        query: TenantsQuery,
    },
}

/// What somebody wants to see of a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "question")]
pub enum TenantQuestion {
    /// Its limits, and what it used this month.
    Tenant,
    /// Its keys.
    Keys,
    /// What it used in a month.
    Usage {
        /// Which month, and which rows.
        query: UsageQuery,
    },
}

/// Something that an operator does to a tenant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "act")]
pub enum TenantAct {
    /// Change its limits.
    Update {
        /// How.
        change: SettingsChange,
    },
    /// Give it a key.
    CreateKey {
        /// The key.
        key: KeyRow,
    },
    /// Give a key another secret.
    #[serde(rename_all = "camelCase")]
    RotateKey {
        /// Which.
        key_id: KeyId,
        /// The hash of its new text.
        sha256: KeyHash,
        /// How long the older secret stays valid.
        grace: DurationMs,
    },
    /// End a key.
    #[serde(rename_all = "camelCase")]
    RevokeKey {
        /// Which.
        key_id: KeyId,
    },
}

impl TenantAct {
    /// Its name in the audit log.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Update { .. } => "tenant.update",
            Self::CreateKey { .. } => "key.create",
            Self::RotateKey { .. } => "key.rotate",
            Self::RevokeKey { .. } => "key.revoke",
        }
    }

    /// Whom or what it concerns, in the audit log.
    pub fn target(&self, tenant: &TenantId) -> String {
        match self {
            Self::Update { .. } => tenant.to_string(),
            Self::CreateKey { key: KeyRow { key_id, .. } }
            | Self::RotateKey { key_id, .. }
            | Self::RevokeKey { key_id } => format!("{tenant}/{key_id}"),
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "reply")]
pub enum TenantReply {
    /// The limits.
    Settings {
        /// As they hold now.
        settings: TenantSettings,
    },
    /// It is so, or is done.
    Done,
    /// Projects.
    Projects {
        /// Newest first.
        page: ProjectPage,
    },
    /// It is a key.
    #[serde(rename_all = "camelCase")]
    Key {
        /// What it is good for.
        grant: Grant,
        /// Requests of one key within a minute.
        requests_per_minute: u32,
    },
    /// An answer for whoever asked, as it goes out.
    Document {
        /// Its HTTP status.
        status: u16,
        /// Its body.
        document: serde_json::Value,
    },
    /// It is not done.
    Refused {
        /// Why.
        refusal: TenantRefusal,
    },
}

/// Why a tenant's object refuses a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", tag = "refusal")]
pub enum TenantRefusal {
    /// This month's quota is used up.
    QuotaExhausted(QuotaExhausted),
    /// It is none of its keys, or not any more.
    KeyInvalid,
    /// An operator wants to do something to a key that is not there.
    KeyNotFound,
    /// The bound of valid keys is reached.
    TooManyKeys {
        /// The bound.
        limit: usize,
    },
    /// The operator's key allows only looking.
    KeyReadOnly,
}

impl From<TenantRefusal> for ApiError {
    fn from(refusal: TenantRefusal) -> Self {
        match refusal {
            TenantRefusal::QuotaExhausted(QuotaExhausted { used_seconds, quota_seconds, next_month }) => {
                Self::QuotaExhausted {
                    // Whole seconds, never more than were used.
                    used_seconds: used_seconds as u64,
                    quota_seconds,
                    next_month,
                }
            }
            TenantRefusal::KeyInvalid => Self::KeyInvalid,
            TenantRefusal::KeyNotFound => Self::KeyNotFound,
            TenantRefusal::TooManyKeys { limit } => Self::TooManyKeys { limit },
            TenantRefusal::KeyReadOnly => Self::KeyReadOnly,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_used_up_quota_says_how_much_was_used_and_when_there_is_a_new_one() {
        let refusal = TenantRefusal::QuotaExhausted(QuotaExhausted {
            used_seconds: 61.9,
            quota_seconds: 60,
            next_month: "2027-01".into(),
        });
        let text = serde_json::to_string(&TenantReply::Refused { refusal: refusal.clone() }).unwrap();
        assert_eq!(
            serde_json::from_str::<TenantReply>(&text).unwrap(),
            TenantReply::Refused { refusal: refusal.clone() }
        );
        let error = ApiError::from(refusal);
        assert_eq!((error.row().status, error.row().code), (429, "quota_exhausted"));
        let detail = error.to_string();
        assert!(detail.contains("61 of 60 seconds") && detail.contains("2027-01-01 00:00 UTC"), "{detail}");
    }
}
