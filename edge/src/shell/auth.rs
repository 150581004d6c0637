//! Who asks, and what they may.

use shared_protocol::TimestampMs;
use worker::{Env, Request};

use super::fault::Fault;
use super::{client_key, now};
use crate::api::ApiError;
use crate::api::key::{self, AdminKey, Client, KeyList, WorkerKey};
use crate::api::ticket::{self, Claims, JobClaims, PlayClaims, TicketKeys, UploadClaims};

/// Header of upload and job tickets.
const TICKET_HEADER: &str = "Minifleet-Ticket";

/// The client whose key a request carries, and who may change something with it. Within its rate.
pub async fn writer(request: &Request, env: &Env) -> Result<Client, Fault> {
    let client = client(request, env).await?;
    if client.may_write { Ok(client) } else { Err(ApiError::KeyReadOnly.into()) }
}

/// The client whose key a request carries. Within its rate.
pub async fn client(request: &Request, env: &Env) -> Result<Client, Fault> {
    let known = client_key::known(request, env).await?;
    client_key::limit(env, &known).await?;
    Ok(known.client)
}

/// The client whose key a request for something to hear carries. A player asks for as many segments as it needs: they are under no
/// rate.
pub async fn listener(request: &Request, env: &Env) -> Result<Client, Fault> {
    Ok(client_key::known(request, env).await?.client)
}

/// The clients' keys that the secret lists.
pub(super) fn configured_clients(env: &Env) -> Result<KeyList<Client>, Fault> {
    Ok(KeyList::parse_clients(&secret(env, key::CLIENT_KEYS)?)?)
}

/// The worker's key that a request carries.
pub fn worker_key(request: &Request, env: &Env) -> Result<WorkerKey, Fault> {
    let list = KeyList::parse_workers(&secret(env, key::WORKER_KEYS)?)?;
    holder(request, &list)
}

/// The operator whose key a request carries. A key that is in another role's list too opens nothing here: whoever has one role
/// has not the other.
pub fn admin(request: &Request, env: &Env) -> Result<AdminKey, Fault> {
    let list = KeyList::parse_admins(&secret(env, key::ADMIN_KEYS)?)?;
    let admin = holder(request, &list)?;
    let is_clients = configured_clients(env).and_then(|list| holder(request, &list)).is_ok();
    if is_clients || worker_key(request, env).is_ok() {
        let what = format!("the operator's key {} is a client's or a worker's key too", admin.key_id);
        return Err(ApiError::Misconfigured { what }.into());
    }
    Ok(admin)
}

/// The keys that sign tickets.
pub fn ticket_keys(env: &Env) -> Result<TicketKeys, ApiError> {
    Ok(TicketKeys::parse(&secret(env, ticket::TICKET_KEYS)?)?)
}

/// The right to put an upload's content.
pub fn upload_ticket(request: &Request, env: &Env) -> Result<UploadClaims, Fault> {
    match header_ticket(request, env)? {
        Claims::Upload(claims) => Ok(claims),
        Claims::Job(_) | Claims::Play(_) => Err(ApiError::TicketInvalid.into()),
    }
}

/// The right to work on an attempt.
pub fn job_ticket(request: &Request, env: &Env) -> Result<JobClaims, Fault> {
    match header_ticket(request, env)? {
        Claims::Job(claims) => Ok(claims),
        Claims::Upload(_) | Claims::Play(_) => Err(ApiError::TicketInvalid.into()),
    }
}

/// The right to listen.
pub fn play_ticket(ticket: &str, env: &Env) -> Result<PlayClaims, Fault> {
    match verify(ticket, env)? {
        (Claims::Play(claims), _) => Ok(claims),
        (Claims::Upload(_) | Claims::Job(_), _) => Err(ApiError::TicketInvalid.into()),
    }
}

fn header_ticket(request: &Request, env: &Env) -> Result<Claims, Fault> {
    let ticket = request.headers().get(TICKET_HEADER)?.ok_or(ApiError::TicketMissing)?;
    Ok(verify(&ticket, env)?.0)
}

fn verify(ticket: &str, env: &Env) -> Result<(Claims, TimestampMs), Fault> {
    Ok(ticket_keys(env)?.verify(ticket.trim(), now())?)
}

fn holder<Holder: Clone>(request: &Request, list: &KeyList<Holder>) -> Result<Holder, Fault> {
    Ok(list.holder(&presented_key(request)?).cloned().ok_or(ApiError::KeyInvalid)?)
}

/// The key that a request carries, whatever it is worth.
pub(super) fn presented_key(request: &Request) -> Result<String, Fault> {
    let header = request.headers().get("Authorization")?.ok_or(ApiError::KeyMissing)?;
    Ok(key::bearer(&header).ok_or(ApiError::KeyMissing)?.to_owned())
}

fn secret(env: &Env, name: &'static str) -> Result<String, ApiError> {
    let missing = |_| ApiError::Misconfigured { what: format!("the secret {name} is not set") };
    Ok(env.secret(name).map_err(missing)?.to_string())
}
