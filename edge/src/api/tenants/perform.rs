//! What an operator's act on a tenant does, and what the audit log says of it. Pure: rows are handed in.

use shared_protocol::{TenantId, TimestampMs};

use super::call::{TenantAct, TenantRefusal};
use crate::api::ApiError;
use crate::api::admin::call::Actor;
use crate::scheduler::{AuditEntry, AuditOutcome};
use crate::tenant::key::KeyRow;
use crate::tenant::{KeyId, TenantSettings};

/// Keys of a tenant that are valid at a time. A tenant that needs more wants them made by itself, which is another feature.
pub const MAX_VALID_KEYS: usize = 100;

/// A row that an act writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Write {
    /// The limits.
    Settings(TenantSettings),
    /// A key, new or changed.
    Key(KeyRow),
}

/// The row that an act writes; none when what it wants holds already, as it does when its call is repeated.
///
/// # Errors
/// Why it is refused.
pub fn perform(
    act: &TenantAct,
    settings: &TenantSettings,
    keys: &[KeyRow],
    now: TimestampMs,
) -> Result<Option<Write>, TenantRefusal> {
    let known = |id: &KeyId| keys.iter().find(|key| key.key_id == *id);
    match act {
        TenantAct::Update { change } => {
            let after = change.clone().applied_to(settings.clone());
            Ok((after != *settings).then_some(Write::Settings(after)))
        }
        TenantAct::CreateKey { key } => {
            if known(&key.key_id).is_some() {
                return Ok(None);
            }
            if keys.iter().filter(|key| key.is_valid(now)).count() >= MAX_VALID_KEYS {
                return Err(TenantRefusal::TooManyKeys { limit: MAX_VALID_KEYS });
            }
            Ok(Some(Write::Key(key.clone())))
        }
        TenantAct::RotateKey { key_id, sha256, grace } => {
            let known = known(key_id).filter(|key| key.is_valid(now));
            let mut key = known.ok_or(TenantRefusal::KeyNotFound)?.clone();
            Ok(key.rotate(*sha256, *grace, now).then_some(Write::Key(key)))
        }
        TenantAct::RevokeKey { key_id } => {
            let mut key = known(key_id).ok_or(TenantRefusal::KeyNotFound)?.clone();
            Ok(key.revoke(now).then_some(Write::Key(key)))
        }
    }
}

/// The entry in the audit log.
pub fn entry(
    actor: &Actor,
    tenant: &TenantId,
    act: &TenantAct,
    reason: String,
    now: TimestampMs,
    outcome: &Result<Option<Write>, TenantRefusal>,
) -> AuditEntry {
    let (kind, refusal) = match outcome {
        Ok(Some(_)) => (AuditOutcome::Done, None),
        Ok(None) => (AuditOutcome::Unchanged, None),
        Err(refusal) => (AuditOutcome::Refused, Some(ApiError::from(refusal.clone()).row().code.to_owned())),
    };
    AuditEntry {
        request_id: actor.request_id.clone(),
        at: now,
        key_id: actor.key_id.clone(),
        action: act.action().to_owned(),
        target: Some(act.target(tenant)),
        reason,
        outcome: kind,
        refusal,
        changed: None,
        left: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::tenants::request::SettingsChange;
    use crate::tenant::key::tests::key;
    use crate::tenant::key_text::KeyHash;
    use shared_protocol::DurationMs;

    const NOW: TimestampMs = TimestampMs(1_000);

    fn done(act: &TenantAct, keys: &[KeyRow]) -> Result<Option<Write>, TenantRefusal> {
        perform(act, &TenantSettings::default(), keys, NOW)
    }

    fn written(act: &TenantAct, keys: &[KeyRow]) -> KeyRow {
        match done(act, keys) {
            Ok(Some(Write::Key(key))) => key,
            other => panic!("no key was written: {other:?}"),
        }
    }

    fn rotate() -> TenantAct {
        TenantAct::RotateKey { key_id: key().key_id, sha256: KeyHash::of("second"), grace: DurationMs(10) }
    }

    #[test]
    fn a_call_that_is_repeated_changes_nothing_the_second_time() {
        let create = TenantAct::CreateKey { key: key() };
        assert_eq!(done(&create, &[written(&create, &[])]), Ok(None));
        assert_eq!(done(&rotate(), &[written(&rotate(), &[key()])]), Ok(None));
        let revoke = TenantAct::RevokeKey { key_id: key().key_id };
        assert_eq!(done(&revoke, &[written(&revoke, &[key()])]), Ok(None));
        let update = TenantAct::Update { change: SettingsChange::default() };
        assert_eq!(done(&update, &[]), Ok(None));
    }

    #[test]
    fn a_revoked_key_gets_no_new_secret() {
        let mut revoked = key();
        revoked.revoke(NOW);
        assert_eq!(done(&rotate(), &[revoked]), Err(TenantRefusal::KeyNotFound));
        assert_eq!(done(&rotate(), &[]), Err(TenantRefusal::KeyNotFound));
    }

    #[test]
    fn only_valid_keys_count_against_the_bound() {
        let numbered =
            |number: usize| KeyRow { key_id: KeyId::new(format!("key_{number}")).unwrap(), ..key() };
        let mut keys: Vec<KeyRow> = (10..10 + MAX_VALID_KEYS).map(numbered).collect();
        let create = TenantAct::CreateKey { key: numbered(5) };
        assert_eq!(done(&create, &keys), Err(TenantRefusal::TooManyKeys { limit: MAX_VALID_KEYS }));
        keys[0].revoke(NOW);
        assert_eq!(written(&create, &keys), numbered(5));
    }

    #[test]
    fn the_audit_log_names_the_tenants_key_and_what_came_of_it() {
        let actor = Actor { key_id: "ops".into(), may_act: true, request_id: "req_1".into() };
        let acme = TenantId::new("acme").unwrap();
        let outcome = Err(TenantRefusal::KeyNotFound);
        let entry = entry(&actor, &acme, &rotate(), "leaked".into(), NOW, &outcome);
        assert_eq!((entry.action.as_str(), entry.target.as_deref()), ("key.rotate", Some("acme/key_1")));
        assert_eq!((entry.outcome, entry.refusal.as_deref()), (AuditOutcome::Refused, Some("key_not_found")));
    }
}
