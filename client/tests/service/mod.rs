//! A real HTTP/1.1 server for the tests, written on a plain TCP listener so that it can misbehave at any byte: answer late,
//! break off in the middle of a body, close without an answer, be away.

#![allow(dead_code, reason = "every test program uses its own part")]

pub mod api;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived; header names are in lower case.
#[derive(Debug, Clone, Default)]
pub struct Request {
    pub method: String,
    /// With the query.
    pub target: String,
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// "GET /v1/status"
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }
}

/// What the server does about a request.
#[derive(Debug, Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Close the connection after so many bytes of the body.
    pub break_after: Option<usize>,
    /// Keep the connection silent instead of closing it, after `break_after` or without any answer.
    pub stall: bool,
    /// Close the connection without any answer.
    pub no_answer: bool,
    /// Wait before answering.
    pub delay: Duration,
    /// Send the body in pieces of this size with pauses between them.
    pub trickle: Option<(usize, Duration)>,
}

impl Reply {
    pub fn bytes(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Reply {
            status,
            headers: Vec::new(),
            body: body.into(),
            break_after: None,
            stall: false,
            no_answer: false,
            delay: Duration::ZERO,
            trickle: None,
        }
    }

    pub fn json(status: u16, body: &serde_json::Value) -> Self {
        Self::bytes(status, body.to_string()).header("Content-Type", "application/json")
    }

    pub fn problem(status: u16, code: &str) -> Self {
        let body = serde_json::json!({
            "type": "about:blank", "title": code, "status": status, "code": code,
            "detail": format!("The detail of {code}."), "requestId": "req_test",
        });
        Self::bytes(status, body.to_string()).header("Content-Type", "application/problem+json")
    }

    pub fn no_answer() -> Self {
        Reply { no_answer: true, ..Self::bytes(200, "") }
    }

    pub fn header(mut self, name: &str, value: impl ToString) -> Self {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub fn break_after(mut self, bytes: usize) -> Self {
        self.break_after = Some(bytes);
        self
    }

    pub fn trickling(mut self, bytes: usize, pause: Duration) -> Self {
        self.trickle = Some((bytes, pause));
        self
    }

    pub fn stalling(mut self) -> Self {
        self.stall = true;
        self
    }

    pub fn delayed(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// Decides about requests. `refuse_body` is asked before the body is read.
pub trait Service: Send + 'static {
    /// The answer to a request that has arrived whole.
    fn answer(&mut self, request: &Request) -> Reply;

    /// How many bytes of the body to read before closing the connection; `None` reads all. `Some(0)` reads nothing and
    /// does not close either: a line that is dead in one direction.
    fn break_body_after(&mut self, _head: &Request) -> Option<usize> {
        None
    }
}

impl<F: FnMut(&Request) -> Reply + Send + 'static> Service for F {
    fn answer(&mut self, request: &Request) -> Reply {
        self(request)
    }
}

/// A running server.
pub struct Server<S> {
    pub address: std::net::SocketAddr,
    shared: Arc<Shared<S>>,
    accepting: tokio::task::JoinHandle<()>,
}

struct Shared<S> {
    service: Mutex<S>,
    requests: Mutex<Vec<Request>>,
}

impl<S: Service> Server<S> {
    pub async fn start(service: S) -> Self {
        Self::start_at("127.0.0.1:0", service).await
    }

    pub async fn start_at(address: &str, service: S) -> Self {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared { service: Mutex::new(service), requests: Mutex::default() });
        let accepting = tokio::spawn({
            let shared = shared.clone();
            async move {
                let mut connections = tokio::task::JoinSet::new();
                while let Ok((stream, _)) = listener.accept().await {
                    connections.spawn(serve(stream, shared.clone()));
                }
            }
        });
        Server { address, shared, accepting }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn client(&self) -> minifleet_client::Client {
        self.client_with(minifleet_client::Timeouts::default())
    }

    pub fn client_with(&self, timeouts: minifleet_client::Timeouts) -> minifleet_client::Client {
        let sources = minifleet_client::config::Sources {
            url: Some(self.url()),
            environment_key: Some("client-key".to_owned()),
            ..Default::default()
        };
        let profile = sources.resolve().expect("a profile");
        minifleet_client::Client::with_timeouts(&profile, timeouts).expect("a client")
    }

    pub fn service(&self) -> MutexGuard<'_, S> {
        self.shared.service.lock().expect("no test panics while it holds the service")
    }

    /// Everything that was asked so far.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().expect("no test panics while it holds the requests").clone()
    }

    /// The requests with this method whose target contains a text.
    pub fn requests_for(&self, method: &str, target: &str) -> Vec<Request> {
        let mut requests = self.requests();
        requests.retain(|request| request.method == method && request.target.contains(target));
        requests
    }

    /// Stops listening and breaks every connection.
    pub async fn go_away(self) -> std::net::SocketAddr {
        self.accepting.abort();
        // The error says that the task was aborted, which is what is waited for.
        self.accepting.await.ok();
        self.address
    }
}

/// One connection, until either side closes it. A client that goes away in the middle is none of the server's business.
async fn serve<S: Service>(stream: TcpStream, shared: Arc<Shared<S>>) {
    exchange(stream, &shared).await.ok();
}

async fn exchange<S: Service>(stream: TcpStream, shared: &Shared<S>) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut request = Request::default();
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(());
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        request.method = words.next().unwrap_or_default();
        request.target = words.next().unwrap_or_default();
        loop {
            line.clear();
            stream.read_line(&mut line).await?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let length: usize = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let break_after = shared.service.lock().expect("service").break_body_after(&request);
        request.body = vec![0; break_after.unwrap_or(length).min(length)];
        stream.read_exact(&mut request.body).await?;
        shared.requests.lock().expect("requests").push(request.clone());
        match break_after {
            Some(0) => std::future::pending().await,
            Some(_) => return Ok(()),
            None => {}
        }

        let reply = shared.service.lock().expect("service").answer(&request);
        tokio::time::sleep(reply.delay).await;
        if reply.no_answer {
            return Ok(());
        }
        let mut head =
            format!("HTTP/1.1 {} Status\r\nContent-Length: {}\r\n", reply.status, reply.body.len());
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream.write_all(format!("{head}\r\n").as_bytes()).await?;
        let sent = reply.break_after.unwrap_or(reply.body.len()).min(reply.body.len());
        let (piece, pause) = reply.trickle.unwrap_or((reply.body.len().max(1), Duration::ZERO));
        for bytes in reply.body[..sent].chunks(piece) {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            tokio::time::sleep(pause).await;
        }
        if reply.stall {
            std::future::pending::<()>().await;
        }
        if reply.break_after.is_some() {
            return Ok(());
        }
    }
}

/// Bytes that differ from place to place, so that a wrong offset is noticed.
pub fn content(size: usize) -> Vec<u8> {
    (0..size as u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that a `Range: bytes=N-` header asks for, as a 206, or the whole file.
pub fn ranged(request: &Request, bytes: &[u8]) -> Reply {
    let start: Option<usize> = request
        .header("range")
        .and_then(|range| range.strip_prefix("bytes="))
        .and_then(|range| range.strip_suffix('-'))
        .and_then(|start| start.parse().ok());
    match start {
        None => Reply::bytes(200, bytes),
        Some(start) if start < bytes.len() => Reply::bytes(206, &bytes[start..])
            .header("Content-Range", format!("bytes {start}-{}/{}", bytes.len() - 1, bytes.len())),
        Some(_) => Reply::problem(416, "range_not_satisfiable"),
    }
    .header("ETag", "\"tag\"")
}
