//! One HTTP call of the worker: how long it may take, what a failed try was, and when the next one follows.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::{Stream, StreamExt};
use reqwest::{Client, RequestBuilder, Response, StatusCode};

use crate::random;

/// A server that does not take a connection within this time is away.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A server that sends nothing for so long while something is due has forgotten the request.
pub const READ_TIMEOUT: Duration = Duration::from_secs(10);

/// Idle connections go sooner than servers drop theirs (a minute and more), so that none is taken up that is already dead.
const IDLE_CONNECTION: Duration = Duration::from_secs(20);

/// Bytes that a system may hold back after the program has handed them over, and the slowest uplink that they go out through,
/// bytes per second. So much longer than [`READ_TIMEOUT`] may pass from the last byte handed over to the answer.
const MOST_HELD_BACK: u64 = 4 * 1024 * 1024;
const SLOWEST_UPLINK: u64 = 256 * 1024;

/// A call that succeeds but takes longer than this and its bytes at [`SLOWEST_UPLINK`] is told in the log.
const SLOW: Duration = Duration::from_secs(5);

/// How long one call is repeated: an edge that restarts is back by then.
const RETRY_BUDGET: Duration = Duration::from_secs(120);

/// Longest pause that a server can ask for.
const LONGEST_ASKED_PAUSE: Duration = Duration::from_secs(30);

/// Why there is no client for HTTP.
#[derive(Debug, thiserror::Error)]
#[error("cannot set up HTTP: {0}")]
pub struct HttpSetupError(#[from] reqwest::Error);

/// The connections of one attempt. They close with it.
#[derive(Debug, Clone)]
pub struct Connections {
    usual: Client,
    /// Makes a new connection for every call.
    fresh: Client,
}

impl Connections {
    /// None is open yet.
    ///
    /// # Errors
    /// When there is no client for HTTP.
    pub fn new() -> Result<Self, HttpSetupError> {
        if rustls::crypto::CryptoProvider::get_default().is_none() {
            // An error means that another thread has installed one in between, which serves as well.
            rustls::crypto::ring::default_provider().install_default().ok();
        }
        let builder = || {
            Client::builder()
                .connect_timeout(CONNECT_TIMEOUT)
                .pool_idle_timeout(IDLE_CONNECTION)
                .user_agent(concat!("minifleet-worker/", env!("CARGO_PKG_VERSION")))
                .redirect(reqwest::redirect::Policy::none())
        };
        let fresh = builder().pool_max_idle_per_host(0).build()?;
        Ok(Self { usual: builder().build()?, fresh })
    }
}

impl Connections {
    /// For a call that is not repeated.
    pub fn usual(&self) -> &Client {
        &self.usual
    }
}

/// What kind of failure a try was: each has its own pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureClass {
    /// No connection could be made.
    Connect,
    /// The server was silent for too long.
    Unanswered,
    /// The connection broke.
    Broken,
    /// The server asks to come back later, or has a fault of its own.
    Server,
}

/// Why a try failed that may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What kind.
    pub class: FailureClass,
    /// In words, without the address: it says nothing that the log does not.
    pub reason: String,
    /// The pause that the server asked for.
    pub asked_pause: Option<Duration>,
}

impl Failure {
    /// What came is not what was announced.
    pub fn broken(reason: String) -> Self {
        Self { class: FailureClass::Broken, reason, asked_pause: None }
    }

    fn unanswered(silent: Duration) -> Self {
        let reason = format!("no answer within {} s", silent.as_secs());
        Self { class: FailureClass::Unanswered, reason, asked_pause: None }
    }

    fn of(error: reqwest::Error) -> Self {
        let class = if error.is_connect() { FailureClass::Connect } else { FailureClass::Broken };
        let error = error.without_url();
        let mut cause: &dyn Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Self { class, reason: format!("{error}: {cause}"), asked_pause: None }
    }
}

/// What became of one try.
#[derive(Debug)]
pub enum Try<T> {
    /// It succeeded.
    Done(T),
    /// Another try may do better.
    Again(Failure),
    /// None will.
    Refused(StatusCode, String),
}

/// A body whose way out can be watched.
#[derive(Debug, Clone)]
pub struct BodyWatch(Arc<Watched>);

#[derive(Debug)]
struct Watched {
    started: Instant,
    /// Milliseconds after `started` at which the last bytes were handed to the connection.
    moved_at: AtomicU64,
}

impl BodyWatch {
    /// Nothing has moved yet.
    pub fn start() -> Self {
        Self(Arc::new(Watched { started: Instant::now(), moved_at: AtomicU64::new(0) }))
    }

    /// A body of these chunks.
    pub fn body<S, T, E>(&self, chunks: S) -> reqwest::Body
    where
        S: Stream<Item = Result<T, E>> + Send + 'static,
        E: Into<Box<dyn Error + Send + Sync>> + 'static,
        T: 'static,
        bytes::Bytes: From<T>,
    {
        let watched = Arc::clone(&self.0);
        reqwest::Body::wrap_stream(chunks.inspect(move |_| {
            let now = u64::try_from(watched.started.elapsed().as_millis()).unwrap_or(u64::MAX);
            watched.moved_at.store(now, Ordering::Relaxed);
        }))
    }

    fn moved(&self) -> Instant {
        self.0.started + Duration::from_millis(self.0.moved_at.load(Ordering::Relaxed))
    }
}

/// Sends a request whose body is on its way as long as it moves.
///
/// # Errors
/// When the body stopped moving, or no answer came after its last byte.
pub async fn send_watched(
    request: RequestBuilder,
    watch: &BodyWatch,
    size: u64,
) -> Result<Response, Failure> {
    let allowed = READ_TIMEOUT + held_back(size);
    let mut sending = std::pin::pin!(request.send());
    loop {
        let deadline = watch.moved() + allowed;
        match tokio::time::timeout_at(deadline.into(), &mut sending).await {
            Ok(answer) => return answer.map_err(Failure::of),
            Err(_) if watch.moved() + allowed > deadline => {}
            Err(_) => return Err(Failure::unanswered(allowed)),
        }
    }
}

fn held_back(size: u64) -> Duration {
    Duration::from_secs_f64(size.min(MOST_HELD_BACK) as f64 / SLOWEST_UPLINK as f64)
}

/// The result of a call without a large body, within a time.
///
/// # Errors
/// When it failed or took longer.
pub async fn within<T>(
    time: Duration,
    call: impl Future<Output = Result<T, reqwest::Error>>,
) -> Result<T, Failure> {
    match tokio::time::timeout(time, call).await {
        Ok(result) => result.map_err(Failure::of),
        Err(_) => Err(Failure::unanswered(time)),
    }
}

/// Whether a refusal is for good. What the edge says of it is short, or not worth more.
pub async fn judge<T>(response: Response) -> Try<T> {
    let status = response.status();
    let passing = status.is_server_error()
        || matches!(
            status,
            StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS
        );
    let asked = response.headers().get("retry-after").and_then(|value| value.to_str().ok()?.parse().ok());
    let asked_pause = asked.map(|seconds| Duration::from_secs(seconds).min(LONGEST_ASKED_PAUSE));
    let text = within(READ_TIMEOUT, response.text()).await.unwrap_or_default();
    let problem: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let field = |name: &str| problem.as_ref()?.get(name)?.as_str().map(str::to_owned);
    let words = field("detail").or(field("title")).or(field("code")).unwrap_or_default();
    let words: String = words.chars().take(300).collect();
    if passing {
        let reason = format!("HTTP {status} {words}");
        Try::Again(Failure { class: FailureClass::Server, reason, asked_pause })
    } else {
        Try::Refused(status, words)
    }
}

/// Tells a call in the log that succeeded late.
pub fn tell_if_slow(what: &str, took: Duration, size: u64) {
    if took > SLOW + Duration::from_secs_f64(size as f64 / SLOWEST_UPLINK as f64) {
        tracing::warn!(call = what, seconds = took.as_secs_f64(), size, "a call was slow");
    }
}

/// The tries of one idempotent call.
#[derive(Debug)]
pub struct Retries<'a> {
    connections: &'a Connections,
    what: &'a str,
    started: Instant,
    failures: u32,
}

impl<'a> Retries<'a> {
    /// None yet. `what` is for the log.
    pub fn new(connections: &'a Connections, what: &'a str) -> Self {
        Self { connections, what, started: Instant::now(), failures: 0 }
    }

    /// For the next try: after a failure without any connection that was there before.
    pub fn client(&self) -> &Client {
        if self.failures == 0 { &self.connections.usual } else { &self.connections.fresh }
    }

    /// Tells a failure in the log and waits before the next try; false when enough was tried.
    pub async fn pause(&mut self, failure: &Failure) -> bool {
        self.failures += 1;
        let pause = pause_after(failure, self.failures, random::seed());
        let give_up = self.started.elapsed() + pause >= RETRY_BUDGET;
        let Failure { class, reason, .. } = failure;
        let (call, tries) = (self.what, self.failures);
        tracing::warn!(call, ?class, %reason, tries, ?pause, give_up, "a call failed");
        if !give_up {
            tokio::time::sleep(pause).await;
        }
        !give_up
    }
}

/// The pause after so many failures in a row: none after a first one that a fresh connection may undo, later ones drawn
/// between nothing and a ceiling that doubles, so that a fleet does not come back in step.
fn pause_after(failure: &Failure, failures: u32, draw: u64) -> Duration {
    let (free, first_ceiling, last_ceiling) = match failure.class {
        FailureClass::Unanswered | FailureClass::Broken => (1, 500, 8_000),
        FailureClass::Connect => (0, 500, 8_000),
        FailureClass::Server => (0, 1_000, 15_000),
    };
    if failures <= free && failure.asked_pause.is_none() {
        return Duration::ZERO;
    }
    let doubled = u64::saturating_mul(first_ceiling, 1 << (failures - free).saturating_sub(1).min(16));
    let jitter = Duration::from_millis(draw % (doubled.min(last_ceiling) + 1));
    failure.asked_pause.unwrap_or_default() + jitter
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(class: FailureClass) -> Failure {
        Failure { class, reason: String::new(), asked_pause: None }
    }

    #[test]
    fn a_broken_or_unanswered_call_is_repeated_at_once_and_then_after_growing_pauses() {
        let longest = |class, failures| {
            let pause = |draw| pause_after(&failure(class), failures, draw);
            (0..50_000).map(pause).max().unwrap_or_default().as_millis()
        };
        for class in [FailureClass::Unanswered, FailureClass::Broken] {
            assert_eq!(longest(class, 1), 0);
            let ceilings = [longest(class, 2), longest(class, 3), longest(class, 60)];
            assert_eq!(ceilings, [500, 1_000, 8_000]);
        }
        assert_eq!([longest(FailureClass::Connect, 1), longest(FailureClass::Connect, 5)], [500, 8_000]);
        assert_eq!([longest(FailureClass::Server, 1), longest(FailureClass::Server, 9)], [1_000, 15_000]);
    }

    #[test]
    fn a_server_that_names_a_time_is_not_asked_before() {
        let busy = Failure { asked_pause: Some(Duration::from_secs(3)), ..failure(FailureClass::Server) };
        assert!((0..100).all(|draw| pause_after(&busy, 1, draw * 977) >= Duration::from_secs(3)));
    }
}
