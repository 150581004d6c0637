//! Tenants, keys and usage as they are shown.

use serde::Serialize;
use shared_protocol::{Sampler, TenantId, TimestampMs};

use crate::tenant::key::{KeyRow, Role};
use crate::tenant::key_text::KeyId;
use crate::tenant::{TenantSettings, UsageRow};

/// A key. Neither its secret nor a hash of it is in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KeyView {
    /// Its name.
    pub key_id: KeyId,
    /// Whose.
    pub tenant: TenantId,
    /// What it is for.
    pub label: String,
    /// What it may.
    pub role: Role,
    /// Whether it opens anything now.
    pub valid: bool,
    /// When it was made.
    pub created_at_ms: TimestampMs,
    /// Until when it is valid.
    pub expires_at_ms: Option<TimestampMs>,
    /// When it was revoked.
    pub revoked_at_ms: Option<TimestampMs>,
    /// Until when the secret before its present one is valid, while it is.
    pub older_secret_until_ms: Option<TimestampMs>,
}

impl KeyView {
    /// A key as it is shown at a moment.
    pub fn of(tenant: &TenantId, key: &KeyRow, now: TimestampMs) -> Self {
        let older = key.secrets.iter().filter_map(|secret| secret.until).find(|until| now < *until);
        let valid = key.is_valid(now);
        Self {
            key_id: key.key_id.clone(),
            tenant: tenant.clone(),
            label: key.label.clone(),
            role: key.role,
            valid,
            created_at_ms: key.created_at,
            expires_at_ms: key.expires_at,
            revoked_at_ms: key.revoked_at,
            older_secret_until_ms: older.filter(|_| valid),
        }
    }
}

/// Answer where a secret was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyWithSecret {
    /// The key, as its tenant's object shows it.
    #[cfg_attr(feature = "schema", schemars(with = "KeyView"))]
    pub key: serde_json::Value,
    /// What its holder sends. Shown here and never again.
    pub secret: String,
}

/// Answer of `GET /v1/admin/tenants/{tenant}/keys`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct KeyList {
    /// The keys, newest first.
    pub keys: Vec<KeyView>,
}

/// Answer of `GET /v1/admin/tenants/{tenant}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TenantView {
    /// Which.
    pub tenant: TenantId,
    /// Its limits.
    pub settings: TenantSettings,
    /// The present month in UTC.
    pub month: String,
    /// Seconds of audio that were charged in it.
    pub used_seconds: f64,
}

/// A tenant in the list of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TenantSummary {
    /// Which.
    pub tenant: TenantId,
    /// When an operator set it up.
    pub since_ms: TimestampMs,
}

/// Answer of `GET /v1/admin/tenants`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TenantList {
    /// Tenants by name.
    pub tenants: Vec<TenantSummary>,
    /// Where the next page starts.
    pub next_cursor: Option<TenantId>,
}

/// What one sampler was used for in a month.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct SamplerTotal {
    /// Which.
    pub sampler: Sampler,
    /// Generations that were charged.
    pub generations: u64,
    /// Seconds of audio that were charged.
    pub audio_seconds: f64,
}

/// Answer of `GET /v1/usage`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct TenantUsage {
    /// Whose.
    pub tenant: TenantId,
    /// In which month, `YYYY-MM`, in UTC.
    pub month: String,
    /// Seconds of audio that may be charged in a month; as many as it likes when absent.
    pub quota_seconds: Option<u64>,
    /// Seconds of audio that were charged.
    pub audio_seconds: f64,
    /// Generations that were charged.
    pub generations: u64,
    /// The same by sampler.
    pub samplers: Vec<SamplerTotal>,
    /// The generations, the latest charged first.
    pub rows: Vec<UsageLine>,
    /// Where the next page of rows starts.
    pub next_cursor: Option<String>,
}

impl TenantUsage {
    /// A month's usage with a page of its rows.
    pub fn of(
        tenant: TenantId,
        month: String,
        settings: &TenantSettings,
        samplers: Vec<SamplerTotal>,
        (rows, next): (Vec<UsageRow>, Option<u64>),
    ) -> Self {
        Self {
            tenant,
            month,
            quota_seconds: settings.monthly_audio_seconds,
            audio_seconds: samplers.iter().map(|total| total.audio_seconds).sum(),
            generations: samplers.iter().map(|total| total.generations).sum(),
            samplers,
            rows: rows.into_iter().map(UsageLine::of).collect(),
            next_cursor: next.map(|next| next.to_string()),
        }
    }
}

/// A row of the ledger.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsageLine {
    /// For what.
    pub generation_id: shared_protocol::GenerationId,
    /// Of which project.
    pub project_id: shared_protocol::ProjectId,
    /// Which job made it.
    pub job_id: shared_protocol::JobId,
    /// How it was restored.
    pub sampler: Sampler,
    /// Length of the recording in seconds.
    pub audio_seconds: f64,
    /// When it was completed.
    pub at_ms: TimestampMs,
}

impl UsageLine {
    fn of(row: UsageRow) -> Self {
        let UsageRow { tenant: _, generation_id, project_id, job_id, sampler, audio_seconds, at } = row;
        Self { generation_id, project_id, job_id, sampler, audio_seconds, at_ms: at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tenant::key::tests::key;
    use crate::tenant::key_text::KeyHash;
    use shared_protocol::DurationMs;

    fn view(key: &KeyRow, at: u64) -> KeyView {
        KeyView::of(&TenantId::new("acme").unwrap(), key, TimestampMs(at))
    }

    #[test]
    fn a_key_is_shown_without_anything_that_its_secret_could_be_guessed_from() {
        let key = key();
        let shown = serde_json::to_string(&view(&key, 5)).unwrap();
        let hash = String::from(KeyHash::of("first"));
        assert!(serde_json::to_string(&key).unwrap().contains(&hash), "the row has the hash");
        assert!(!shown.contains(&hash) && !shown.contains("secrets"), "{shown}");
    }

    #[test]
    fn an_older_secret_is_shown_while_it_opens_something() {
        let mut key = key();
        key.rotate(KeyHash::of("second"), DurationMs(10), TimestampMs(100));
        assert_eq!(view(&key, 109).older_secret_until_ms, Some(TimestampMs(110)));
        assert_eq!(view(&key, 110).older_secret_until_ms, None);
        key.revoke(TimestampMs(105));
        assert_eq!((view(&key, 106).older_secret_until_ms, view(&key, 106).valid), (None, false));
    }
}
