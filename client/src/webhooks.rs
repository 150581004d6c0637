//! Webhooks: a tenant's own with a client's key ([`Client::webhooks`]), all of them with an operator's
//! ([`crate::admin::Admin::webhooks`]).

use reqwest::Method;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use shared_protocol::TimestampMs;
use url::Url;

use crate::errors::Error;
use crate::http::{Call, Client};
use crate::wire::null_as_default;

/// The calls about the webhooks that a key sees.
#[derive(Debug, Clone)]
pub struct Webhooks {
    client: Client,
    base: &'static [&'static str],
}

/// A webhook and how it is doing.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Its name.
    pub webhook_id: String,
    /// Whose jobs it is told of; everybody's when there is none.
    pub tenant: Option<String>,
    /// Where to.
    pub url: String,
    /// What it is told; everything when there is no list.
    pub events: Option<Vec<String>>,
    /// Whether anything is sent.
    pub enabled: bool,
    /// It answered 410 Gone and was disabled for that.
    pub gone_at_ms: Option<TimestampMs>,
    /// Events that wait or are being sent.
    #[serde(default, deserialize_with = "null_as_default")]
    pub waiting: u64,
    /// Whether its latest attempt was answered.
    #[serde(default, deserialize_with = "null_as_default")]
    pub responsive: bool,
    /// Events that could not be delivered and are kept.
    #[serde(default, deserialize_with = "null_as_default")]
    pub dead_letters: u64,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// All webhooks that a key sees.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct WebhookList {
    /// In the order of their making.
    pub webhooks: Vec<Webhook>,
}

/// A webhook with its new secret.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
pub struct NewSecret {
    /// The webhook.
    pub webhook: Webhook,
    /// What its events are signed with. It is shown this once.
    pub secret: String,
}

/// A webhook to be.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct NewWebhook {
    /// Where to.
    pub url: String,
    /// Whose jobs it is told of; when absent everybody's, or those of the client that makes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What it is told; everything when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<Vec<String>>,
    /// Why, for the audit log.
    pub reason: String,
}

/// A test that was sent.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestSent {
    /// The event's `webhook-id`.
    pub event_id: String,
}

/// What became of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
pub struct Replayed {
    /// Dead letters that wait to be sent again.
    pub replayed: u64,
    /// Dead letters that are left for another call.
    pub left: u64,
}

/// A webhook that is gone.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WebhookDeleted {
    /// Which.
    pub webhook_id: String,
}

/// One attempt to deliver one event.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The event's `webhook-id`.
    pub event_id: String,
    /// What happened, such as `job.completed`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The job that it is about.
    pub job_id: String,
    /// The generation that the job was made for.
    pub generation_id: Option<String>,
    /// From 1.
    pub attempt: u32,
    /// When it began.
    pub at_ms: TimestampMs,
    /// How long it took.
    pub duration_ms: u64,
    /// `acknowledged`, `refused`, `timed_out`, `not_connected` or `unknown`.
    pub outcome: String,
    /// What the backend answered, where it did.
    pub status: Option<u16>,
    /// How it failed, in words.
    pub failure: Option<String>,
    /// Whatever a newer service says beyond this.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// One page of a webhook's deliveries, newest first.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeliveryPage {
    /// The attempts.
    pub deliveries: Vec<Delivery>,
    /// Where the next page begins; none after the last.
    pub next_cursor: Option<String>,
}

impl Client {
    /// The webhooks of this key's tenant.
    pub fn webhooks(&self) -> Webhooks {
        Webhooks { client: self.clone(), base: &["webhooks"] }
    }
}

impl Webhooks {
    /// All webhooks of an environment.
    pub(crate) fn of_operator(client: &Client) -> Self {
        Self { client: client.clone(), base: &["admin", "webhooks"] }
    }

    /// All of them.
    pub async fn list(&self) -> Result<WebhookList, Error> {
        self.client.call(&Call::new(Method::GET, self.url(&[]))).await?.json()
    }

    /// One of them.
    pub async fn get(&self, id: &str) -> Result<Webhook, Error> {
        self.client.call(&Call::new(Method::GET, self.url(&[id]))).await?.json()
    }

    /// Makes one. Its secret is in the answer and in no later one, so a lost answer is not asked for again by itself: that would leave a
    /// webhook whose secret nobody has.
    pub async fn create(&self, webhook: &NewWebhook) -> Result<NewSecret, Error> {
        self.client.call_once(&Call::new(Method::POST, self.url(&[])).json(webhook)).await?.json()
    }

    /// Has it told something or nothing. Enabling it again also ends a pause that it asked for.
    pub async fn enable(&self, id: &str, enabled: bool, reason: &str) -> Result<Webhook, Error> {
        self.post(&[id], &json!({ "enabled": enabled, "reason": reason })).await
    }

    /// Forgets it and all that waits for it.
    pub async fn delete(&self, id: &str, reason: &str) -> Result<WebhookDeleted, Error> {
        self.post(&[id, "delete"], &json!({ "reason": reason })).await
    }

    /// Signs with a new secret beside the latest one. A lost answer is not asked for again by itself, as with [`Self::create`].
    pub async fn rotate_secret(&self, id: &str, reason: &str) -> Result<NewSecret, Error> {
        let call = Call::new(Method::POST, self.url(&[id, "rotate-secret"]));
        self.client.call_once(&call.json(&json!({ "reason": reason }))).await?.json()
    }

    /// Signs with the newest secret only.
    pub async fn end_rotation(&self, id: &str, reason: &str) -> Result<Webhook, Error> {
        self.post(&[id, "end-rotation"], &json!({ "reason": reason })).await
    }

    /// Sends it an event that means nothing.
    pub async fn test(&self, id: &str, reason: &str) -> Result<TestSent, Error> {
        self.post(&[id, "test"], &json!({ "reason": reason })).await
    }

    /// Sends one dead letter once more, or the oldest ones up to the service's bound.
    pub async fn replay(&self, id: &str, dead_letter: Option<u64>, reason: &str) -> Result<Replayed, Error> {
        let mut body = json!({ "reason": reason });
        if let Some(letter) = dead_letter {
            body["deadLetterId"] = letter.into();
        }
        self.post(&[id, "replay"], &body).await
    }

    /// One page of what was sent to it and what came of it.
    pub async fn deliveries(
        &self,
        id: &str,
        limit: u32,
        cursor: Option<&str>,
    ) -> Result<DeliveryPage, Error> {
        let mut url = self.url(&[id, "deliveries"]);
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
        if let Some(cursor) = cursor {
            url.query_pairs_mut().append_pair("cursor", cursor);
        }
        self.client.call(&Call::new(Method::GET, url)).await?.json()
    }

    async fn post<T: serde::de::DeserializeOwned>(&self, path: &[&str], body: &Value) -> Result<T, Error> {
        self.client.call(&Call::new(Method::POST, self.url(path)).json(body)).await?.json()
    }

    fn url(&self, path: &[&str]) -> Url {
        let segments: Vec<&str> = self.base.iter().chain(path).copied().collect();
        self.client.resource(&segments)
    }
}
