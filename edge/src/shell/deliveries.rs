//! The requests that carry events to endpoints. None of them is waited for within a turn: each tells its outcome in a turn of
//! its own. Until then it keeps the object alive, which its timeout bounds.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::rc::Weak;
use std::time::Duration;

use worker::{
    AbortController, AbortSignal, Env, Fetch, Headers, Method, Request, RequestInit, RequestRedirect,
    Response, Result, console_error,
};

use super::call_project;
use super::drive::Drive;
use super::now;
use super::timeout::or_timeout;
use crate::outbox::signature::{self, Secret};
use crate::outbox::{Delivery, DeliveryId, DeliveryOutcome, parse_retry_after};

/// How the edge names itself to endpoints.
const USER_AGENT: &str = concat!("minifleet/", env!("CARGO_PKG_VERSION"));

/// The requests under way.
#[derive(Debug, Default)]
pub struct Deliveries {
    under_way: RefCell<BTreeMap<DeliveryId, UnderWay>>,
    last_number: Cell<u64>,
}

/// A request, by a number that no other has: the outbox counts its deliveries anew whenever it is restored.
#[derive(Debug)]
struct UnderWay {
    number: u64,
    controller: AbortController,
}

/// Who is told.
#[derive(Debug, Clone, Copy)]
pub enum Recipient<'a> {
    /// A webhook.
    Web {
        /// What its messages are signed with.
        secrets: &'a [Secret],
    },
    /// The object of a project.
    Project {
        /// Where it is found.
        env: &'a Env,
    },
}

/// What is sent.
enum Message {
    Web(Request),
    Project { env: Env, body: String },
}

impl Deliveries {
    /// Begins a request. `body` is what the row holds; nothing when it cannot be read, which is an outcome as well.
    pub fn begin(
        &self,
        drive: Weak<Drive>,
        delivery: Delivery,
        to: Recipient<'_>,
        body: Result<Option<String>>,
    ) -> impl Future<Output = ()> + use<> {
        let number = self.last_number.get() + 1;
        self.last_number.set(number);
        let controller = AbortController::default();
        let signal = controller.signal();
        self.under_way.borrow_mut().insert(delivery.id, UnderWay { number, controller });
        let body = body.and_then(|body| {
            body.ok_or_else(|| worker::Error::RustError("the event has no body in the store".to_owned()))
        });
        let message = body.and_then(|body| match to {
            Recipient::Web { secrets } => request(&delivery, secrets, body).map(Message::Web),
            Recipient::Project { env } => Ok(Message::Project { env: env.clone(), body }),
        });
        let published_at = delivery.published_at;
        let (id, timeout) = (delivery.id, Duration::from_millis(delivery.timeout.0));
        async move {
            let outcome = match message {
                Ok(Message::Web(request)) => outcome(request, &signal, timeout).await,
                Ok(Message::Project { env, body }) => {
                    let told = or_timeout(call_project::tell(&env, &body, published_at), timeout).await;
                    told.unwrap_or(DeliveryOutcome::TimedOut)
                }
                Err(error) => DeliveryOutcome::NotConnected { detail: error.to_string() },
            };
            let Some(drive) = drive.upgrade() else { return };
            // Whoever was cut off has no outcome.
            if drive.deliveries().end(id, number)
                && let Err(error) = drive.delivered(id, outcome).await
            {
                console_error!("the outcome of a webhook is lost, so it will be sent again: {error}");
            }
        }
    }

    /// Cuts a request off.
    pub fn abort(&self, id: DeliveryId) {
        if let Some(cut_off) = self.under_way.borrow_mut().remove(&id) {
            cut_off.controller.abort();
        }
    }

    /// Cuts every request off: the outbox that began them is gone, and the next one sends their events again.
    pub fn abort_all(&self) {
        for (_, cut_off) in self.under_way.take() {
            cut_off.controller.abort();
        }
    }

    /// Ends a request that was not cut off. Says whether it was there.
    fn end(&self, id: DeliveryId, number: u64) -> bool {
        let mut under_way = self.under_way.borrow_mut();
        if under_way.get(&id).is_none_or(|entry| entry.number != number) {
            return false;
        }
        if let Some(ended) = under_way.remove(&id) {
            // What is left of a request that took too long, or of an answer's body, which nobody reads.
            ended.controller.abort();
        }
        true
    }
}

fn request(delivery: &Delivery, secrets: &[Secret], body: String) -> Result<Request> {
    let headers = Headers::new();
    headers.set("Content-Type", "application/json")?;
    headers.set("User-Agent", USER_AGENT)?;
    for (name, value) in signature::headers(secrets, &delivery.event, now(), body.as_bytes()) {
        headers.set(name, &value)?;
    }
    let mut init = RequestInit::new();
    init.with_method(Method::Post).with_headers(headers).with_body(Some(body.into()));
    // A redirect would lead to an address that nobody checked.
    init.with_redirect(RequestRedirect::Manual);
    Request::new_with_init(&delivery.url, &init)
}

async fn outcome(request: Request, signal: &AbortSignal, timeout: Duration) -> DeliveryOutcome {
    let fetch = Fetch::Request(request);
    let answer = or_timeout(fetch.send_with_signal(signal), timeout).await;
    match answer {
        Some(Ok(response)) => response_outcome(&response),
        Some(Err(error)) => DeliveryOutcome::NotConnected { detail: error.to_string() },
        None => DeliveryOutcome::TimedOut,
    }
}

fn response_outcome(response: &Response) -> DeliveryOutcome {
    let retry_after = response.headers().get("Retry-After").ok().flatten();
    DeliveryOutcome::Response {
        status: response.status_code(),
        retry_after: retry_after.as_deref().and_then(parse_retry_after),
    }
}
