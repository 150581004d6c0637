//! What the stateless Worker and other objects ask of a tenant's object, and its answers. Never seen from outside.
//!
//! Every call may be repeated: none does anything twice.

use serde::{Deserialize, Serialize};
use shared_protocol::TimestampMs;

use crate::api::ApiError;
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
