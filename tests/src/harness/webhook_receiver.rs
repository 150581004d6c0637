//! A backend that takes webhooks over real HTTP, and answers as the test decides.

use std::{
    collections::VecDeque,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use serde_json::Value;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use super::{PATIENCE, until};

/// How the backend answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WebhookAnswer {
    /// With this status and these headers.
    Status(u16, Vec<(String, String)>),
    /// Not at all: it keeps the connection open.
    Hang,
}

impl WebhookAnswer {
    /// An answer with this status.
    pub fn status(status: u16) -> Self {
        Self::Status(status, Vec::new())
    }
}

/// One request that came in.
#[derive(Debug, Clone)]
pub struct ReceivedWebhook {
    /// The path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Vec<u8>,
    /// When it was read whole.
    pub at: Instant,
}

impl ReceivedWebhook {
    /// The body's JSON.
    ///
    /// # Panics
    /// It is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a webhook's body is JSON")
    }

    /// What happened: the body's `type`.
    pub fn kind(&self) -> String {
        self.json()["type"].as_str().expect("an event has a type").to_owned()
    }

    /// The job that it is about.
    pub fn job(&self) -> String {
        self.json()["data"]["jobId"].as_str().unwrap_or_default().to_owned()
    }

    /// A header's text; empty without it.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The event's id.
    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

#[derive(Debug)]
struct Behaviour {
    received: Vec<ReceivedWebhook>,
    next: VecDeque<WebhookAnswer>,
    otherwise: WebhookAnswer,
}

/// The backend. It listens until the test's process ends.
#[derive(Debug, Clone)]
pub struct WebhookReceiver {
    port: u16,
    behaviour: Arc<Mutex<Behaviour>>,
}

impl WebhookReceiver {
    /// A backend that answers everything with 204.
    ///
    /// # Panics
    /// This machine has no free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let behaviour =
            Behaviour { received: vec![], next: VecDeque::new(), otherwise: WebhookAnswer::status(204) };
        let receiver = Self { port, behaviour: Arc::new(Mutex::new(behaviour)) };
        let backend = receiver.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let backend = backend.clone();
                std::thread::spawn(move || backend.serve(stream));
            }
        });
        receiver
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook", self.port)
    }

    /// How it answers from now on.
    pub fn answer(&self, answer: WebhookAnswer) {
        self.lock().otherwise = answer;
    }

    /// How it answers the next requests, one each, before it goes on as before.
    pub fn answer_next(&self, answers: impl IntoIterator<Item = WebhookAnswer>) {
        self.lock().next.extend(answers);
    }

    /// Everything that came in, in order.
    pub fn received(&self) -> Vec<ReceivedWebhook> {
        self.lock().received.clone()
    }

    /// How many came in.
    pub fn count(&self) -> usize {
        self.lock().received.len()
    }

    /// Everything that came in, in order; it forgets all of it.
    pub fn take(&self) -> Vec<ReceivedWebhook> {
        std::mem::take(&mut self.lock().received)
    }

    /// The kinds of events that came in for a job, in order.
    pub fn told(&self, job: &str) -> Vec<String> {
        self.received().iter().filter(|webhook| webhook.job() == job).map(ReceivedWebhook::kind).collect()
    }

    /// Waits for an event of this kind about this job; returns its first request.
    ///
    /// # Panics
    /// It does not come.
    pub fn expect(&self, job: &str, kind: &str) -> ReceivedWebhook {
        until(&format!("{kind} of {job}"), PATIENCE, || {
            self.received().into_iter().find(|webhook| webhook.job() == job && webhook.kind() == kind)
        })
    }

    /// Waits until so many requests came in; returns them.
    ///
    /// # Panics
    /// They do not come.
    pub fn expect_count(&self, count: usize) -> Vec<ReceivedWebhook> {
        until(&format!("{count} webhooks"), PATIENCE, || {
            let received = self.received();
            (received.len() >= count).then_some(received)
        })
    }

    /// Expects that nothing comes in for a while.
    ///
    /// # Panics
    /// Something does.
    pub fn expect_silence(&self, time: Duration) {
        let before = self.received().len();
        std::thread::sleep(time);
        let received = self.received();
        assert!(received.len() == before, "{:?}", received.last());
    }

    fn lock(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection until its other end is closed. What breaks in here is a request that was cut off.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(webhook) = read_request(&mut reader) {
            let answer = {
                let mut behaviour = self.lock();
                behaviour.received.push(webhook);
                behaviour.next.pop_front().unwrap_or_else(|| behaviour.otherwise.clone())
            };
            let WebhookAnswer::Status(status, headers) = answer else {
                // Until the edge gives up.
                reader.read_exact(&mut [0]).unwrap_or_default();
                return;
            };
            let mut head = format!("HTTP/1.1 {status} as the test wants it\r\nContent-Length: 0\r\n");
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str("\r\n");
            if reader.get_mut().write_all(head.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<ReceivedWebhook> {
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = HeaderMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        let name: HeaderName = name.parse().ok()?;
        headers.append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    let length = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(ReceivedWebhook { path, headers, body, at: Instant::now() })
}
