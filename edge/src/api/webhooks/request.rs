//! What is sent about webhooks, and the checks on it.

use std::collections::BTreeSet;

use serde::{Deserialize, Deserializer};
use shared_protocol::TenantId;

use super::super::request::{RequestError, field};
use super::call::{Scope, WebhookChange};
use crate::outbox::signature::Secret;
use crate::outbox::{Endpoint, EndpointError, EndpointId, EventKind, RowId, UrlPolicy};

/// Body of `POST /v1/admin/webhooks` and `POST /v1/webhooks`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "CreateWebhook"))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateBody {
    /// Where to.
    pub url: String,
    /// Whose jobs it is told of; when absent everybody's, or those of the client that makes it.
    #[serde(default)]
    pub tenant: Option<TenantId>,
    /// What it is told; everything when absent.
    #[serde(default)]
    pub events: Option<BTreeSet<EventKind>>,
    /// Whether anything is sent. `true` when absent.
    #[serde(default)]
    pub enabled: Option<bool>,
    /// Why, for the audit log.
    #[serde(default)]
    pub reason: String,
}

impl CreateBody {
    /// The endpoint as it is to be.
    ///
    /// # Errors
    /// [`RequestError::Field`] that names what is wrong.
    pub fn endpoint(
        self,
        id: EndpointId,
        secret: Secret,
        scope: &Scope,
        policy: &UrlPolicy,
    ) -> Result<Endpoint, RequestError> {
        let tenant = match (scope, self.tenant) {
            (Scope::Operator, tenant) => tenant,
            (Scope::Tenant(own), None) => Some(own.clone()),
            (Scope::Tenant(own), Some(tenant)) if tenant == *own => Some(tenant),
            (Scope::Tenant(_), Some(_)) => {
                return Err(field("tenant", "is another one than your key's; leave it out"));
            }
        };
        let endpoint = Endpoint {
            id,
            tenant,
            url: self.url,
            secrets: vec![secret],
            enabled: self.enabled.unwrap_or(true),
            gone_at: None,
            kinds: self.events,
        };
        endpoint.check(policy).map_err(refused)?;
        Ok(endpoint)
    }
}

/// Body of `POST .../webhooks/{webhookId}`. What is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "UpdateWebhook"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct UpdateBody {
    /// Where to.
    pub url: Option<String>,
    /// What it is told; `null` for everything.
    #[serde(deserialize_with = "present")]
    pub events: Option<Option<BTreeSet<EventKind>>>,
    /// Whether anything is sent.
    pub enabled: Option<bool>,
    /// Why, for the audit log.
    pub reason: String,
}

impl UpdateBody {
    /// The change that is asked for.
    ///
    /// # Errors
    /// [`RequestError::Field`] that names what is wrong.
    pub fn change(self, policy: &UrlPolicy) -> Result<WebhookChange, RequestError> {
        if let Some(url) = &self.url {
            policy.check(url).map_err(|error| field("url", error.to_string()))?;
        }
        if self.events.as_ref().is_some_and(|events| events.as_ref().is_some_and(BTreeSet::is_empty)) {
            return Err(refused(EndpointError::NoKinds));
        }
        Ok(WebhookChange { url: self.url, events: self.events, enabled: self.enabled })
    }
}

/// Body of an act that needs no more than a reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ActOnWebhook"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ActBody {
    /// Why, for the audit log.
    pub reason: String,
}

/// Body of `POST .../webhooks/{webhookId}/replay`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "ReplayDeadLetters"))]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ReplayBody {
    /// Which; all when absent.
    pub dead_letter_id: Option<RowId>,
    /// Why, for the audit log.
    pub reason: String,
}

fn refused(error: EndpointError) -> RequestError {
    let name = match error {
        EndpointError::Url(_) => "url",
        EndpointError::Secrets(_) => "secrets",
        EndpointError::NoKinds => "events",
        EndpointError::OtherTenant => "tenant",
    };
    field(name, error.to_string())
}

/// A field that is there, be it `null`.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(body: &str) -> Result<WebhookChange, RequestError> {
        let body: UpdateBody = super::super::super::request::parse_json(body.as_bytes())?;
        body.change(&UrlPolicy::default())
    }

    #[test]
    fn what_an_update_does_not_name_stays_and_null_means_everything() {
        assert_eq!(update("{}"), Ok(WebhookChange::default()));
        assert_eq!(update(r#"{"events":null}"#).map(|change| change.events), Ok(Some(None)));
        let only = update(r#"{"events":["job.completed"]}"#).unwrap().events.unwrap().unwrap();
        assert!(only.contains(&EventKind::Completed) && only.len() == 1);
        assert!(update(r#"{"event":["job.completed"]}"#).is_err(), "a mistyped field is no wish");
    }

    #[test]
    fn what_a_client_makes_belongs_to_its_tenant() {
        let acme = Scope::Tenant(TenantId::new("acme").unwrap());
        let made = |body: &str, scope: &Scope| {
            let body: CreateBody = super::super::super::request::parse_json(body.as_bytes())?;
            let id = EndpointId::new("wh_1").unwrap();
            body.endpoint(id, Secret::from_key([1; 32]), scope, &UrlPolicy::default())
        };
        let tenant = |endpoint: Endpoint| endpoint.tenant.map(|tenant| tenant.to_string());
        let plain = r#"{"url":"https://example.com/"}"#;
        assert_eq!(made(plain, &Scope::Operator).map(tenant), Ok(None));
        assert_eq!(made(plain, &acme).map(tenant), Ok(Some("acme".to_owned())));
        let of = |tenant: &str| format!(r#"{{"url":"https://example.com/","tenant":"{tenant}"}}"#);
        assert_eq!(made(&of("acme"), &acme).map(tenant), Ok(Some("acme".to_owned())));
        assert!(made(&of("other"), &acme).unwrap_err().to_string().starts_with("tenant: "));
    }

    #[test]
    fn what_cannot_be_a_webhook_is_refused_by_the_name_of_its_field() {
        let refused = |body: &str| update(body).unwrap_err().to_string();
        assert!(refused(r#"{"url":"https://10.0.0.1/"}"#).starts_with("url: 10.0.0.1 is not a public"));
        assert!(refused(r#"{"url":"http://example.com/"}"#).starts_with("url: "));
        assert!(refused(r#"{"events":[]}"#).starts_with("events: "));
        assert!(refused(r#"{"events":["job.finished"]}"#).contains("job.finished"));
    }
}
