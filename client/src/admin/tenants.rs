//! Tenants as an operator sees them: their keys, their limits, what they used.

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shared_protocol::TimestampMs;

use super::Admin;
use crate::errors::Error;
use crate::http::Call;
use crate::usage::{self, Usage};

/// A tenant's key. Its secret is in the answer that made it and nowhere else.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantKey {
    /// Its name.
    pub key_id: String,
    /// Whose.
    pub tenant: String,
    /// What it is for.
    #[serde(default)]
    pub label: String,
    /// `full` or `read`.
    pub role: String,
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
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A key with its new secret.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct NewSecret {
    /// The key.
    pub key: TenantKey,
    /// What its holder sends. It is shown this once.
    pub secret: String,
}

/// A tenant's keys, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct TenantKeys {
    /// The keys.
    pub keys: Vec<TenantKey>,
}

/// A key to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NewKey {
    /// What it is for.
    pub label: String,
    /// Whether it only looks and listens.
    #[serde(serialize_with = "as_role", rename = "role")]
    pub read_only: bool,
    /// Until when it is valid; for ever without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_ms: Option<TimestampMs>,
    /// Why, for the audit log.
    pub reason: String,
}

fn as_role<S: serde::Serializer>(read_only: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *read_only { "read" } else { "full" })
}

/// A tenant's limits.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantSettings {
    /// Bytes of one upload.
    pub max_upload_bytes: u64,
    /// Beginnings of the media types that uploads may have; anything without.
    pub media_types: Option<Vec<String>>,
    /// Seconds of audio in a calendar month (UTC); as many as it likes without.
    pub monthly_audio_seconds: Option<u64>,
    /// Requests of one key within a minute.
    pub requests_per_minute: u32,
    /// Generations under way at a time; as many as it likes without.
    pub max_live_jobs: Option<u32>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A tenant with its limits.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Tenant {
    /// Which.
    pub tenant: String,
    /// Its limits.
    pub settings: TenantSettings,
    /// The present month in UTC, `YYYY-MM`.
    pub month: String,
    /// Seconds of audio that were charged in it.
    pub used_seconds: f64,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// A tenant in the list of all.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantSummary {
    /// Which.
    pub tenant: String,
    /// When it was set up.
    pub since_ms: TimestampMs,
}

/// One page of the tenants that an operator has set up, by name.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantPage {
    /// The tenants.
    pub tenants: Vec<TenantSummary>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

/// A change of a tenant's limits: what is not in it stays, what is `null` goes back to what is usual.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct SettingsChange(Map<String, Value>);

impl SettingsChange {
    /// Sets a limit by its name in the API, or with `null` takes it back to what is usual.
    #[must_use]
    pub fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Admin {
    /// One page of the tenants that an operator has set up.
    pub async fn tenants(&self, limit: u32, cursor: Option<&str>) -> Result<TenantPage, Error> {
        let mut url = self.client.resource(&["admin", "tenants"]);
        usage::ask(&mut url, None, limit, cursor);
        self.client.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// A tenant's limits, and what it used this month.
    pub async fn tenant(&self, tenant: &str) -> Result<Tenant, Error> {
        self.get(&["tenants", tenant]).await
    }

    /// Changes a tenant's limits.
    pub async fn change_tenant(
        &self,
        tenant: &str,
        change: &SettingsChange,
        reason: &str,
    ) -> Result<Tenant, Error> {
        self.post(&["tenants", tenant], &change.clone().set("reason", reason)).await
    }

    /// What a tenant used in a month (`YYYY-MM`, the present one without).
    pub async fn tenant_usage(
        &self,
        tenant: &str,
        month: Option<&str>,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<Usage, Error> {
        let mut url = self.client.resource(&["admin", "tenants", tenant, "usage"]);
        usage::ask(&mut url, month, limit, cursor);
        self.client.call(&Call::new(Method::GET, url)).await?.json()
    }

    /// A tenant's keys, newest first.
    pub async fn keys(&self, tenant: &str) -> Result<TenantKeys, Error> {
        self.get(&["tenants", tenant, "keys"]).await
    }

    /// Makes a key. Its secret is in the answer and in no later one, so a lost answer is not asked for again by itself: that would
    /// leave a key that nobody has.
    pub async fn create_key(&self, tenant: &str, key: &NewKey) -> Result<NewSecret, Error> {
        let url = self.url(&["tenants", tenant, "keys"]);
        self.client.call_once(&Call::new(Method::POST, url).json(key)).await?.json()
    }

    /// Gives a key another secret; the older one stays valid for a while (the service's own time without one). A lost answer is not
    /// asked for again by itself, as with [`Self::create_key`].
    pub async fn rotate_key(
        &self,
        tenant: &str,
        key_id: &str,
        grace_seconds: Option<u64>,
        reason: &str,
    ) -> Result<NewSecret, Error> {
        let mut body = json!({ "reason": reason });
        if let Some(seconds) = grace_seconds {
            body["graceSeconds"] = seconds.into();
        }
        let url = self.url(&["tenants", tenant, "keys", key_id, "rotate"]);
        self.client.call_once(&Call::new(Method::POST, url).json(&body)).await?.json()
    }

    /// Ends a key, everywhere within ten seconds.
    pub async fn revoke_key(&self, tenant: &str, key_id: &str, reason: &str) -> Result<TenantKey, Error> {
        self.post(&["tenants", tenant, "keys", key_id, "revoke"], &json!({ "reason": reason })).await
    }
}
