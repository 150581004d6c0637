//! An act on a webhook, as a change of the outbox.

use shared_protocol::TimestampMs;

use super::super::call::Refusal;
use super::call::{Scope, WebhookAct, WebhookChange};
use crate::outbox::{Endpoint, EndpointError, Outbox, Row};

/// Webhooks of one environment: each is asked for every event whether it wants it.
pub const MAX_WEBHOOKS: usize = 100;

/// Webhooks that belong to one tenant and that its clients make: none of them can take all that there are.
pub const MAX_WEBHOOKS_OF_TENANT: usize = 10;

/// Does what is ordered by whoever sees `scope`, and says whether that changed anything. `dead` are the dead letters to be replayed.
///
/// # Errors
/// [`Refusal`]; nothing is changed then.
pub fn perform(
    outbox: &mut Outbox,
    scope: &Scope,
    now: TimestampMs,
    act: &WebhookAct,
    dead: Vec<Row>,
) -> Result<bool, Refusal> {
    let known = outbox.webhook(act.target()).filter(|endpoint| scope.has(endpoint)).cloned();
    let changed = match (act, known) {
        (WebhookAct::Create { .. }, Some(_)) => return Ok(false),
        (WebhookAct::Create { endpoint }, None) => {
            // What cannot be seen, and what would not be seen afterwards, is nobody's to make.
            if outbox.endpoint(&endpoint.id).is_some() || !scope.has(endpoint) {
                return Err(Refusal::WebhookNotFound);
            }
            make_room(outbox, scope)?;
            (**endpoint).clone()
        }
        (_, None) => return Err(Refusal::WebhookNotFound),
        (WebhookAct::Update { change, .. }, Some(known)) => updated(known, change),
        (WebhookAct::RotateSecret { secret, .. }, Some(mut known)) => {
            if known.secrets.contains(secret) {
                return Ok(false);
            }
            known.secrets.truncate(1);
            known.secrets.insert(0, secret.clone());
            known
        }
        (WebhookAct::EndRotation { .. }, Some(mut known)) => {
            known.secrets.truncate(1);
            known
        }
        (WebhookAct::Delete { id }, Some(_)) => return Ok(outbox.remove_endpoint(now, id)),
        (WebhookAct::Test { id, event }, Some(_)) => return Ok(outbox.send_test(now, id, event)),
        (WebhookAct::Replay { .. }, Some(_)) => {
            let any = !dead.is_empty();
            outbox.replay(now, dead);
            return Ok(any);
        }
    };
    if outbox.endpoint(&changed.id) == Some(&changed) {
        return Ok(false);
    }
    outbox
        .set_endpoint(now, changed)
        .map_err(|error: EndpointError| Refusal::WebhookNotValid { reason: error.to_string() })?;
    Ok(true)
}

fn make_room(outbox: &Outbox, scope: &Scope) -> Result<(), Refusal> {
    let own = outbox.webhooks().filter(|endpoint| scope.has(endpoint)).count();
    if matches!(scope, Scope::Tenant(_)) && own >= MAX_WEBHOOKS_OF_TENANT {
        return Err(Refusal::TooManyWebhooks { limit: MAX_WEBHOOKS_OF_TENANT });
    }
    if outbox.webhooks().count() >= MAX_WEBHOOKS {
        return Err(Refusal::TooManyWebhooks { limit: MAX_WEBHOOKS });
    }
    Ok(())
}

fn updated(mut endpoint: Endpoint, change: &WebhookChange) -> Endpoint {
    if let Some(url) = &change.url {
        endpoint.url.clone_from(url);
    }
    if let Some(events) = &change.events {
        endpoint.kinds.clone_from(events);
    }
    if let Some(enabled) = change.enabled {
        endpoint.enabled = enabled;
        endpoint.gone_at = endpoint.gone_at.filter(|_| !enabled);
    }
    endpoint
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::signature::Secret;
    use crate::outbox::{EndpointId, EventId, EventKind, OutboxConfig};
    use shared_protocol::TenantId;

    const NOW: TimestampMs = TimestampMs(1_000);

    fn secret(byte: u8) -> Secret {
        Secret::from_key([byte; 32])
    }

    fn id() -> EndpointId {
        EndpointId::new("wh_1").unwrap()
    }

    fn one() -> Outbox {
        let mut outbox = Outbox::new(OutboxConfig::default());
        let endpoint = Endpoint {
            id: id(),
            tenant: None,
            url: "https://example.com/hook".into(),
            secrets: vec![secret(1)],
            enabled: true,
            gone_at: None,
            kinds: None,
        };
        let create = WebhookAct::Create { endpoint: Box::new(endpoint) };
        assert_eq!(perform(&mut outbox, &Scope::Operator, NOW, &create, vec![]), Ok(true));
        assert_eq!(
            perform(&mut outbox, &Scope::Operator, NOW, &create, vec![]),
            Ok(false),
            "a repeated call makes no second one"
        );
        outbox
    }

    fn of(tenant: &str) -> Scope {
        Scope::Tenant(TenantId::new(tenant).unwrap())
    }

    fn create(id: &str, tenant: Option<&str>) -> WebhookAct {
        let mut endpoint = one().endpoint(&self::id()).cloned().unwrap();
        endpoint.id = EndpointId::new(id).unwrap();
        endpoint.tenant = tenant.map(|tenant| TenantId::new(tenant).unwrap());
        WebhookAct::Create { endpoint: Box::new(endpoint) }
    }

    #[test]
    fn a_tenant_changes_no_webhook_but_its_own_and_learns_of_no_other() {
        let mut outbox = one();
        perform(&mut outbox, &of("acme"), NOW, &create("wh_acme", Some("acme")), vec![]).unwrap();
        let before: Vec<Endpoint> = outbox.endpoints().cloned().collect();
        let attempts = |id: &str| {
            let id = EndpointId::new(id).unwrap();
            let change = WebhookChange { enabled: Some(false), ..Default::default() };
            [
                WebhookAct::Update { id: id.clone(), change },
                WebhookAct::Delete { id: id.clone() },
                WebhookAct::RotateSecret { id: id.clone(), secret: secret(9) },
                WebhookAct::EndRotation { id: id.clone() },
                WebhookAct::Test { id: id.clone(), event: EventId::from_number(1) },
                WebhookAct::Replay { id, dead_letter: None },
            ]
        };
        // Another tenant's, one of all tenants, and none at all: the answer is the same.
        for act in ["wh_acme", "wh_1", "wh_none"].into_iter().flat_map(attempts) {
            let refused = perform(&mut outbox, &of("other"), NOW, &act, vec![]);
            assert_eq!(refused, Err(Refusal::WebhookNotFound), "{act:?}");
        }
        for act in [create("wh_acme", Some("other")), create("wh_2", Some("acme")), create("wh_2", None)] {
            let refused = perform(&mut outbox, &of("other"), NOW, &act, vec![]);
            assert_eq!(refused, Err(Refusal::WebhookNotFound), "{act:?}");
        }
        assert!(outbox.endpoints().eq(before.iter()) && outbox.is_empty());
    }

    #[test]
    fn one_tenant_cannot_take_all_webhooks_that_there_may_be() {
        let mut outbox = one();
        let limit = Err(Refusal::TooManyWebhooks { limit: MAX_WEBHOOKS_OF_TENANT });
        for n in 0..=MAX_WEBHOOKS_OF_TENANT {
            let made =
                perform(&mut outbox, &of("acme"), NOW, &create(&format!("wh_a{n}"), Some("acme")), vec![]);
            assert_eq!(made, if n < MAX_WEBHOOKS_OF_TENANT { Ok(true) } else { limit.clone() });
        }
        assert_eq!(perform(&mut outbox, &of("other"), NOW, &create("wh_o", Some("other")), vec![]), Ok(true));
    }

    #[test]
    fn a_rotated_secret_signs_beside_the_latest_one_until_the_rotation_is_ended() {
        let mut outbox = one();
        let rotate = |byte| WebhookAct::RotateSecret { id: id(), secret: secret(byte) };
        for byte in [2, 2, 3] {
            perform(&mut outbox, &Scope::Operator, NOW, &rotate(byte), vec![]).unwrap();
        }
        assert_eq!(outbox.endpoint(&id()).unwrap().secrets, [secret(3), secret(2)]);
        let end = WebhookAct::EndRotation { id: id() };
        assert_eq!(perform(&mut outbox, &Scope::Operator, NOW, &end, vec![]), Ok(true));
        assert_eq!(perform(&mut outbox, &Scope::Operator, NOW, &end, vec![]), Ok(false));
        assert_eq!(outbox.endpoint(&id()).unwrap().secrets, [secret(3)]);
    }

    #[test]
    fn an_update_changes_what_it_names_only() {
        let mut outbox = one();
        let change =
            WebhookChange { events: Some(Some([EventKind::Completed].into())), ..Default::default() };
        assert_eq!(
            perform(&mut outbox, &Scope::Operator, NOW, &WebhookAct::Update { id: id(), change }, vec![]),
            Ok(true)
        );
        let endpoint = outbox.endpoint(&id()).unwrap();
        assert_eq!(endpoint.url, "https://example.com/hook");
        assert_eq!(endpoint.kinds, Some([EventKind::Completed].into()));
    }

    #[test]
    fn what_is_not_there_or_not_allowed_is_refused() {
        let mut outbox = one();
        let missing = WebhookAct::Delete { id: EndpointId::new("wh_2").unwrap() };
        assert_eq!(
            perform(&mut outbox, &Scope::Operator, NOW, &missing, vec![]),
            Err(Refusal::WebhookNotFound)
        );
        let change = WebhookChange { url: Some("https://localhost/".into()), ..Default::default() };
        let refused =
            perform(&mut outbox, &Scope::Operator, NOW, &WebhookAct::Update { id: id(), change }, vec![]);
        assert!(matches!(refused, Err(Refusal::WebhookNotValid { .. })), "{refused:?}");
    }

    #[test]
    fn a_test_is_sent_whatever_was_chosen() {
        let mut outbox = one();
        let change = WebhookChange { events: Some(Some([EventKind::Stems].into())), ..Default::default() };
        perform(&mut outbox, &Scope::Operator, NOW, &WebhookAct::Update { id: id(), change }, vec![])
            .unwrap();
        let test = WebhookAct::Test { id: id(), event: EventId::from_number(7) };
        assert_eq!(perform(&mut outbox, &Scope::Operator, NOW, &test, vec![]), Ok(true));
        let kinds: Vec<EventKind> = outbox.rows().map(|row| row.kind).collect();
        assert_eq!(kinds, [EventKind::Test]);
    }
}
