//! A client's key: whose it is, what it may, and how often.

use worker::{Env, Request, console_warn};

use super::fault::Fault;
use super::{auth, call_tenant, isolate, now};
use crate::api::ApiError;
use crate::api::key::Client;
use crate::api::rate_limit::{Allowance, Rate};
use crate::api::tenants::key_cache::{KnownKey, Remembered};
use crate::tenant::TenantSettings;
use crate::tenant::key::Role;
use crate::tenant::key_text::{KeyClaim, KeyHash};

/// Name of the platform's own rate limit, where an operator has bound one.
const RATE_LIMITER: &str = "RATE_LIMITER";

/// The platform counts within 10 s or a minute and does not say when there is room again.
const RATE_LIMITER_RETRY_SECONDS: u32 = 10;

/// Keys that one address may present wrongly: each asks an object that may not even exist. Whoever has a valid key is not
/// bound by it.
const FAILURES: Rate = Rate { burst: 30, per_minute: 10 };

/// Header with the client's address.
const ADDRESS_HEADER: &str = "CF-Connecting-IP";

/// The key that a request carries: one that the secret lists, or one that an operator made, which its tenant's object knows.
pub async fn known(request: &Request, env: &Env) -> Result<KnownKey, Fault> {
    let text = auth::presented_key(request)?;
    let claim = KeyClaim::parse(&text);
    let configured = match (auth::configured_clients(env), &claim) {
        (Ok(list), _) => list.holder(&text).cloned(),
        // Keys that operators make work without the secret.
        (Err(_), Some(_)) => None,
        (Err(fault), None) => return Err(fault),
    };
    let (hash, asked_at) = (KeyHash::of(&text), now());
    let remembered = isolate::with(|isolate| isolate.keys.look_up(&hash, asked_at));
    let was_valid = match (remembered, &configured) {
        (Remembered::Valid(known), Some(client)) if known.client == *client => return Ok(known),
        (Remembered::Valid(known), None) if claim.is_some() => return Ok(known),
        (Remembered::Refused, None) => return Err(ApiError::KeyInvalid.into()),
        (Remembered::Nothing { was_valid }, _) => was_valid,
        _ => false,
    };
    let known = match (configured, claim) {
        (Some(client), _) => with_rate(env, client).await,
        (None, Some(claim)) => asked(request, env, &claim, hash, was_valid).await?,
        (None, None) => return Err(ApiError::KeyInvalid.into()),
    };
    isolate::with(|isolate| isolate.keys.remember(hash, asked_at, Some(known.clone())));
    Ok(known)
}

/// A listed key holds whatever its tenant's object says, even nothing: only its rate is asked for.
async fn with_rate(env: &Env, client: Client) -> KnownKey {
    let settings = call_tenant::settings(env, &client.tenant).await.unwrap_or_else(|fault| {
        console_warn!("{}: the usual rate holds: {fault}", client.tenant);
        TenantSettings::default()
    });
    KnownKey { client, requests_per_minute: settings.requests_per_minute, until: None }
}

async fn asked(
    request: &Request,
    env: &Env,
    claim: &KeyClaim,
    hash: KeyHash,
    was_valid: bool,
) -> Result<KnownKey, Fault> {
    let asked_at = now();
    let address = request.headers().get(ADDRESS_HEADER)?.unwrap_or_default();
    if !was_valid {
        // Taken before it is known, and given back if it was valid: many at once count as many.
        let allowance = isolate::with(|isolate| isolate.failures.take(&address, FAILURES, asked_at));
        if !allowance.admitted {
            return Err(limited("Too many keys that are not valid came from this address.", allowance));
        }
    }
    match call_tenant::verify_key(env, claim, hash).await {
        Ok((grant, requests_per_minute)) => {
            if !was_valid {
                isolate::with(|isolate| isolate.failures.give_back(&address, FAILURES));
            }
            let client = Client {
                key_id: claim.key_id.to_string(),
                tenant: claim.tenant.clone(),
                may_write: grant.role == Role::Full,
            };
            Ok(KnownKey { client, requests_per_minute, until: grant.until })
        }
        Err(Fault::Api(ApiError::KeyInvalid)) => {
            isolate::with(|isolate| isolate.keys.remember(hash, asked_at, None));
            Err(ApiError::KeyInvalid.into())
        }
        Err(fault) => Err(fault),
    }
}

/// How many requests within a minute the key of a request may make, and what is left of them; nothing is said of a key that this
/// isolate does not know.
pub fn allowance(request: &Request) -> Option<(u32, Allowance)> {
    let hash = KeyHash::of(&auth::presented_key(request).ok()?);
    isolate::with(|isolate| match isolate.keys.look_up(&hash, now()) {
        Remembered::Valid(KnownKey { client, requests_per_minute, .. }) => {
            let rate = Rate::per_minute(requests_per_minute);
            let key = (client.tenant, client.key_id);
            Some((requests_per_minute, isolate.requests.peek(&key, rate, now())))
        }
        Remembered::Refused | Remembered::Nothing { .. } => None,
    })
}

/// Takes one request off what a key may.
pub async fn limit(env: &Env, known: &KnownKey) -> Result<(), Fault> {
    let Client { tenant, key_id, .. } = &known.client;
    let (rate, key) = (Rate::per_minute(known.requests_per_minute), (tenant.clone(), key_id.clone()));
    let allowance = isolate::with(|isolate| isolate.requests.take(&key, rate, now()));
    if !allowance.admitted {
        return Err(limited("This key makes too many requests.", allowance));
    }
    // Without one, and when it fails, this isolate's own count is what there is.
    if let Ok(limiter) = env.rate_limiter(RATE_LIMITER) {
        match limiter.limit(format!("{tenant}/{key_id}")).await {
            Ok(outcome) if !outcome.success => {
                let retry_after_seconds = RATE_LIMITER_RETRY_SECONDS;
                let what = "This key makes too many requests.";
                return Err(ApiError::RateLimited { what, retry_after_seconds }.into());
            }
            Ok(_) => {}
            Err(error) => console_warn!("the binding {RATE_LIMITER} does not answer: {error}"),
        }
    }
    Ok(())
}

fn limited(what: &'static str, allowance: Allowance) -> Fault {
    ApiError::RateLimited { what, retry_after_seconds: allowance.retry_after_seconds }.into()
}
