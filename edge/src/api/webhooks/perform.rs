//! An operator's act on a webhook, as a change of the outbox.

use shared_protocol::TimestampMs;

use super::super::call::Refusal;
use super::call::{WebhookAct, WebhookChange};
use crate::outbox::{Endpoint, EndpointError, Outbox, Row};

/// Webhooks of one environment: each is asked for every event whether it wants it.
pub const MAX_WEBHOOKS: usize = 100;

/// Does what is ordered, and says whether that changed anything. `dead` are the dead letters to be replayed.
///
/// # Errors
/// [`Refusal`]; nothing is changed then.
pub fn perform(
    outbox: &mut Outbox,
    now: TimestampMs,
    act: &WebhookAct,
    dead: Vec<Row>,
) -> Result<bool, Refusal> {
    let known = outbox.webhook(act.target()).cloned();
    let changed = match (act, known) {
        (WebhookAct::Create { .. }, Some(_)) => return Ok(false),
        (WebhookAct::Create { endpoint }, None) => {
            if outbox.webhooks().count() >= MAX_WEBHOOKS {
                return Err(Refusal::TooManyWebhooks { limit: MAX_WEBHOOKS });
            }
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
        assert_eq!(perform(&mut outbox, NOW, &create, vec![]), Ok(true));
        assert_eq!(
            perform(&mut outbox, NOW, &create, vec![]),
            Ok(false),
            "a repeated call makes no second one"
        );
        outbox
    }

    #[test]
    fn a_rotated_secret_signs_beside_the_latest_one_until_the_rotation_is_ended() {
        let mut outbox = one();
        let rotate = |byte| WebhookAct::RotateSecret { id: id(), secret: secret(byte) };
        for byte in [2, 2, 3] {
            perform(&mut outbox, NOW, &rotate(byte), vec![]).unwrap();
        }
        assert_eq!(outbox.endpoint(&id()).unwrap().secrets, [secret(3), secret(2)]);
        let end = WebhookAct::EndRotation { id: id() };
        assert_eq!(perform(&mut outbox, NOW, &end, vec![]), Ok(true));
        assert_eq!(perform(&mut outbox, NOW, &end, vec![]), Ok(false));
        assert_eq!(outbox.endpoint(&id()).unwrap().secrets, [secret(3)]);
    }

    #[test]
    fn an_update_changes_what_it_names_only() {
        let mut outbox = one();
        let change =
            WebhookChange { events: Some(Some([EventKind::Completed].into())), ..Default::default() };
        assert_eq!(perform(&mut outbox, NOW, &WebhookAct::Update { id: id(), change }, vec![]), Ok(true));
        let endpoint = outbox.endpoint(&id()).unwrap();
        assert_eq!(endpoint.url, "https://example.com/hook");
        assert_eq!(endpoint.kinds, Some([EventKind::Completed].into()));
    }

    #[test]
    fn what_is_not_there_or_not_allowed_is_refused() {
        let mut outbox = one();
        let missing = WebhookAct::Delete { id: EndpointId::new("wh_2").unwrap() };
        assert_eq!(perform(&mut outbox, NOW, &missing, vec![]), Err(Refusal::WebhookNotFound));
        let change = WebhookChange { url: Some("https://localhost/".into()), ..Default::default() };
        let refused = perform(&mut outbox, NOW, &WebhookAct::Update { id: id(), change }, vec![]);
        assert!(matches!(refused, Err(Refusal::WebhookNotValid { .. })), "{refused:?}");
    }

    #[test]
    fn a_test_is_sent_whatever_was_chosen() {
        let mut outbox = one();
        let change = WebhookChange { events: Some(Some([EventKind::Stems].into())), ..Default::default() };
        perform(&mut outbox, NOW, &WebhookAct::Update { id: id(), change }, vec![]).unwrap();
        let test = WebhookAct::Test { id: id(), event: EventId::from_number(7) };
        assert_eq!(perform(&mut outbox, NOW, &test, vec![]), Ok(true));
        let kinds: Vec<EventKind> = outbox.rows().map(|row| row.kind).collect();
        assert_eq!(kinds, [EventKind::Test]);
    }
}
