//! The one place that speaks HTTP: timeouts, connections, repeated tries, errors.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
};
use reqwest::{Method, Response, StatusCode};
use serde::de::DeserializeOwned;
use url::Url;

use crate::config::{ConfigError, Profile};
use crate::errors::{Error, Problem};
use crate::retry::{Fault, Retry, random_fraction};
use crate::timeouts::Timeouts;

/// Idle connections are dropped before a server does it: Node's default (a local edge) is 5 s.
const POOL_IDLE: Duration = Duration::from_secs(4);
/// Idle connections kept; a command with many jobs polls them one after the other.
const POOL_SIZE: usize = 8;

/// A client of one service. Clones share connections.
#[derive(Debug, Clone)]
pub struct Client {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    url: Url,
    timeouts: Timeouts,
    authorization: HeaderValue,
    pooled: reqwest::Client,
    /// Makes a connection for each call: for repeated tries.
    fresh: reqwest::Client,
    /// As `fresh`, without a limit on the silence of the server: an upload's answer comes after its last byte.
    upload: reqwest::Client,
}

/// One request, in a form that can be sent again.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    url: Url,
    headers: HeaderMap,
    body: Option<Bytes>,
}

impl Call {
    pub(crate) fn new(method: Method, url: Url) -> Self {
        Call { method, url, headers: HeaderMap::new(), body: None }
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn json(mut self, body: &impl serde::Serialize) -> Self {
        let bytes =
            serde_json::to_vec(body).expect("request bodies have string keys and no failing serializers");
        self.body = Some(bytes.into());
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self
    }
}

/// A whole answer that was not an error.
#[derive(Debug)]
pub(crate) struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    body: Bytes,
    address: String,
}

impl Answer {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body).map_err(|error| Error::UnexpectedAnswer {
            address: self.address.clone(),
            reason: error.to_string(),
        })
    }
}

impl Client {
    /// Prepares a client; nothing is sent yet.
    pub fn new(profile: &Profile) -> Result<Self, Error> {
        Self::with_timeouts(profile, Timeouts::default())
    }

    /// As [`Client::new`], with a patience of the caller's choice.
    pub fn with_timeouts(profile: &Profile, timeouts: Timeouts) -> Result<Self, Error> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // An error means that another thread has installed one in between, which serves as well.
            rustls::crypto::ring::default_provider().install_default().ok();
        }
        let mut authorization = HeaderValue::from_str(&format!("Bearer {}", profile.api_key.expose()))
            .map_err(|_| Error::Config(ConfigError::InvalidKey))?;
        authorization.set_sensitive(true);

        let builder = || {
            let mut builder = reqwest::Client::builder()
                .user_agent(concat!("minifleet/", env!("CARGO_PKG_VERSION")))
                .connect_timeout(timeouts.connect)
                // A redirected POST would arrive as a GET; `refuse_redirect` tells the right address instead.
                .redirect(reqwest::redirect::Policy::none())
                .tcp_nodelay(true);
            if profile.url.scheme() == "http" {
                // Plain HTTP needs no certificates: a machine without any can still talk to a local edge.
                builder = builder.tls_certs_only([]);
            }
            if is_loopback(&profile.url) {
                builder = builder.no_proxy();
            }
            builder
        };
        let build = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| Error::Unreachable {
                address: address(&profile.url),
                reason: format!("HTTPS cannot be set up on this machine: {}", innermost(&error)),
                before_sending: true,
            })
        };
        Ok(Client {
            inner: Arc::new(Inner {
                url: profile.url.clone(),
                timeouts,
                authorization,
                pooled: build(
                    builder()
                        .read_timeout(timeouts.read)
                        .pool_idle_timeout(POOL_IDLE)
                        .pool_max_idle_per_host(POOL_SIZE),
                )?,
                fresh: build(builder().read_timeout(timeouts.read).pool_max_idle_per_host(0))?,
                upload: build(builder().pool_max_idle_per_host(0))?,
            }),
        })
    }

    /// Address of the service.
    pub fn url(&self) -> &Url {
        &self.inner.url
    }

    pub(crate) fn timeouts(&self) -> Timeouts {
        self.inner.timeouts
    }

    /// URL of an API resource from its path segments, which are escaped.
    pub(crate) fn resource(&self, segments: &[&str]) -> Url {
        let mut url = self.inner.url.clone();
        url.path_segments_mut()
            .expect("the configuration accepts http and https addresses only, which have paths")
            .clear()
            .push("v1")
            .extend(segments);
        url
    }

    /// URL of something that the service named, mostly relative to its own address.
    pub(crate) fn resolve(&self, link: &str) -> Result<Url, Error> {
        self.inner
            .url
            .join(link)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https"))
            .ok_or_else(|| self.unexpected(format!("{link:?} is not a link")))
    }

    pub(crate) fn unexpected(&self, reason: String) -> Error {
        Error::UnexpectedAnswer { address: address(&self.inner.url), reason }
    }

    /// Sends a small call and reads the whole answer, again and again as [`Retry`] says.
    pub(crate) async fn call(&self, call: &Call) -> Result<Answer, Error> {
        let mut retry = Retry::of_call();
        let mut http = &self.inner.pooled;
        loop {
            let error = match self.call_through(http, call).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let Some(again) = retry.next(fault(&error), random_fraction()) else { return Err(error) };
            tokio::time::sleep(again.after).await;
            http = if again.fresh_connection { &self.inner.fresh } else { &self.inner.pooled };
        }
    }

    /// Sends a small call once.
    pub(crate) async fn call_once(&self, call: &Call) -> Result<Answer, Error> {
        self.call_through(&self.inner.pooled, call).await
    }

    async fn call_through(&self, http: &reqwest::Client, call: &Call) -> Result<Answer, Error> {
        let request = self.request(http, call).timeout(self.inner.timeouts.call);
        let response = self.accept(&call.url, request.send().await).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.map_err(|error| unreachable(&call.url, &error))?;
        Ok(Answer { status, headers, body, address: address(&call.url) })
    }

    /// Sends a call once, on a connection of its own, and leaves the body of the answer to the caller. Reading it fails
    /// after [`Timeouts::read`] of silence, however long all of it takes.
    pub(crate) async fn open(&self, call: &Call) -> Result<Response, Error> {
        self.accept(&call.url, self.request(&self.inner.fresh, call).send().await).await
    }

    /// As [`Client::open`], for an answer in which nothing may happen for longer than [`Timeouts::read`].
    pub(crate) async fn open_stream(&self, call: &Call) -> Result<Response, Error> {
        self.accept(&call.url, self.request(&self.inner.upload, call).send().await).await
    }

    /// Sends a body once, on a connection of its own. The caller watches that bytes keep flowing.
    pub(crate) async fn send_body(&self, call: &Call, body: reqwest::Body) -> Result<Response, Error> {
        self.accept(&call.url, self.request(&self.inner.upload, call).body(body).send().await).await
    }

    fn request(&self, http: &reqwest::Client, call: &Call) -> reqwest::RequestBuilder {
        let mut request = http.request(call.method.clone(), call.url.clone()).headers(call.headers.clone());
        // The key is for the service alone, also if the service points elsewhere.
        if call.url.origin() == self.inner.url.origin() {
            request = request.header(AUTHORIZATION, self.inner.authorization.clone());
        }
        match &call.body {
            Some(body) => request.body(body.clone()),
            // A POST without content says so: not every server takes a missing length for zero.
            None if call.method == Method::POST => request.header(CONTENT_LENGTH, 0),
            None => request,
        }
    }

    /// Passes success and 304 on; everything else becomes an error.
    async fn accept(&self, url: &Url, sent: Result<Response, reqwest::Error>) -> Result<Response, Error> {
        let response = sent.map_err(|error| unreachable(url, &error))?;
        let status = response.status();
        if status.is_success() || status == StatusCode::NOT_MODIFIED {
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(refuse_redirect(url, &response));
        }
        let text = |name: &str| {
            response
                .headers()
                .get(name)
                .and_then(|value| value.to_str().ok())
                .map(|text| text.trim().to_owned())
        };
        let request_id = text("x-request-id");
        let retry_after = text(RETRY_AFTER.as_str())
            .and_then(|text| text.parse::<f64>().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        // Status and headers already say that it failed; a body that breaks off adds nothing.
        let body = response.bytes().await.unwrap_or_default();
        let reason = status.canonical_reason().unwrap_or_default();
        Err(Error::Problem(Box::new(Problem::parse(status.as_u16(), reason, request_id, retry_after, &body))))
    }
}

/// How an error counts for repeated tries.
pub(crate) fn fault(error: &Error) -> Fault {
    match error {
        Error::Unreachable { before_sending: true, .. } => Fault::NoConnection,
        Error::Unreachable { .. } => Fault::Broken,
        Error::Problem(problem) if matches!(problem.status, 429 | 502 | 503 | 504) => {
            Fault::Busy(problem.retry_after)
        }
        _ => Fault::Final,
    }
}

pub(crate) fn unreachable(url: &Url, error: &reqwest::Error) -> Error {
    let reason = if error.is_timeout() && !error.is_connect() {
        "it was silent for too long".to_owned()
    } else {
        innermost(error)
    };
    Error::Unreachable { address: address(url), reason, before_sending: error.is_connect() }
}

/// Scheme, host and port, for messages.
pub(crate) fn address(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn refuse_redirect(url: &Url, response: &Response) -> Error {
    let target =
        response.headers().get(LOCATION).and_then(|value| value.to_str().ok()).unwrap_or("another address");
    Error::UnexpectedAnswer {
        address: address(url),
        reason: format!("it redirects to {target}; if that is the service, use its address"),
    }
}

/// The deepest cause is the one that says something: "Connection refused (os error 111)".
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}
