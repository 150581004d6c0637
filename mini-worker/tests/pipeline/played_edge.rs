//! An edge played by the test: takes objects by HTTP, speaks the worker protocol by hand, and fails when told to.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use shared_protocol::{
    Ack, Assign, Attempt, Cancel, CancelReason, DurationMs, JobId, MessageId, OutputKind, PROTOCOL_VERSION,
    Sampler, SchedulerMessage, Source, UploadId, Welcome, WorkerMessage, decode_frame, encode,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;

/// Longest wait for anything that the worker has to do.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the HTTP side does to every so many requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// Every third PUT is answered with 503.
    Busy,
    /// Every third connection is closed without an answer.
    HangUp,
    /// Stems are refused.
    NoStems,
    /// The first eight PUTs are answered with 503, so that few uploads run at once, and stems wait until they are released.
    HeldStems,
    /// The first two requests for the transcript are answered with 503.
    BusyTranscript,
}

#[derive(Debug)]
struct Shelf {
    upload: Vec<u8>,
    transcript: Option<Vec<u8>>,
    /// How often the transcript was asked for.
    transcript_requests: u32,
    objects: BTreeMap<String, Vec<u8>>,
    order: Vec<String>,
    /// What was put, in the order in which the requests came.
    arrived: Vec<String>,
    held: usize,
    fault: Fault,
    requests: u32,
}

/// The edge.
pub struct PlayedEdge {
    /// Where it listens.
    pub address: SocketAddr,
    shelf: Arc<Mutex<Shelf>>,
    gate: Arc<Semaphore>,
    links: mpsc::Receiver<TcpStream>,
}

impl PlayedEdge {
    /// Starts it with the bytes of the only upload.
    pub async fn start(upload: Vec<u8>, fault: Fault) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shelf = Arc::new(Mutex::new(Shelf {
            upload,
            transcript: None,
            transcript_requests: 0,
            objects: BTreeMap::new(),
            order: vec![],
            arrived: vec![],
            held: 0,
            fault,
            requests: 0,
        }));
        let (sender, links) = mpsc::channel(8);
        let gate = Arc::new(Semaphore::new(0));
        let (serving, guarding) = (Arc::clone(&shelf), Arc::clone(&gate));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (shelf, sender, gate) = (Arc::clone(&serving), sender.clone(), Arc::clone(&guarding));
                tokio::spawn(async move {
                    let mut start = [0; 64];
                    let seen = stream.peek(&mut start).await.unwrap_or(0);
                    if start[..seen].starts_with(b"GET /v1/worker/connect") {
                        sender.send(stream).await.unwrap_or_default();
                    } else {
                        serve(stream, &shelf, &gate).await;
                    }
                });
            }
        });
        Self { address, shelf, gate, links }
    }

    /// The worker's next connection, with its `hello` answered and everything up to its `ready` read.
    pub async fn next_link(&mut self) -> (PlayedLink, Vec<WorkerMessage>) {
        let stream =
            tokio::time::timeout(PATIENCE, self.links.recv()).await.expect("the worker connects").unwrap();
        let socket = tokio_tungstenite::accept_async(stream).await.expect("a WebSocket");
        let mut link = PlayedLink { socket, waiting: Vec::new() };
        assert!(matches!(link.next().await, WorkerMessage::Hello(_)), "hello comes first");
        link.send(&SchedulerMessage::Welcome(Welcome {
            protocol: PROTOCOL_VERSION,
            environment: "test".into(),
            capabilities: vec!["job.stems".into()],
            ping_interval_ms: DurationMs(1_000),
        }))
        .await;
        let mut before_ready = Vec::new();
        loop {
            match link.next().await {
                WorkerMessage::Ready(_) => return (link, before_ready),
                message => before_ready.push(message),
            }
        }
    }

    /// The names of the stored objects.
    pub fn stored(&self) -> Vec<String> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).objects.keys().cloned().collect()
    }

    /// The names of the stored objects in the order in which they came.
    pub fn stored_in_order(&self) -> Vec<String> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).order.clone()
    }

    /// The paths that were put, in the order in which the requests came.
    pub fn arrived(&self) -> Vec<String> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).arrived.clone()
    }

    /// How many stems came to be held.
    pub fn held(&self) -> usize {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).held
    }

    /// Lets so many stems through.
    pub fn release_stems(&self, stems: usize) {
        self.gate.add_permits(stems);
    }

    /// Has a transcript from now on.
    pub fn set_transcript(&self, json: &str) {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).transcript = Some(json.as_bytes().to_vec());
    }

    /// How often the transcript was asked for.
    pub fn transcript_requests(&self) -> u32 {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).transcript_requests
    }

    /// The bytes of a stored object.
    pub fn object(&self, path: &str) -> Option<Vec<u8>> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner).objects.get(path).cloned()
    }

    /// The offer of an attempt that may go by a transcript.
    pub fn offer_with_transcript(&self, attempt: u32) -> SchedulerMessage {
        match self.offer_of(attempt, &[OutputKind::Wav]) {
            SchedulerMessage::Assign(assign) => {
                SchedulerMessage::Assign(Assign { transcript_version: Some(1), ..assign })
            }
            other => other,
        }
    }

    /// The offer of an attempt at the upload.
    pub fn offer(&self, attempt: u32) -> SchedulerMessage {
        self.offer_of(attempt, &[OutputKind::Hls, OutputKind::Flac])
    }

    /// The offer of an attempt at these outputs.
    pub fn offer_of(&self, attempt: u32, outputs: &[OutputKind]) -> SchedulerMessage {
        let size = self.shelf.lock().unwrap_or_else(PoisonError::into_inner).upload.len() as u64;
        SchedulerMessage::Assign(Assign {
            job_id: job_id(),
            attempt: Attempt(attempt),
            sampler: Sampler::Flash,
            outputs: outputs.to_vec(),
            source: Source { upload_id: UploadId::new("upl_1").unwrap(), name: "talk.wav".into(), size },
            ticket: "ticket".into(),
            transcript_version: None,
        })
    }
}

/// The only job.
pub fn job_id() -> JobId {
    JobId::new("job_1").unwrap()
}

/// The cancel of an attempt.
pub fn cancel(attempt: u32) -> SchedulerMessage {
    SchedulerMessage::Cancel(Cancel {
        job_id: job_id(),
        attempt: Attempt(attempt),
        reason: CancelReason::Requested,
    })
}

/// One connection of the worker. Dropping it cuts it without a goodbye.
pub struct PlayedLink {
    socket: WebSocketStream<TcpStream>,
    waiting: Vec<WorkerMessage>,
}

impl PlayedLink {
    /// Sends a message.
    pub async fn send(&mut self, message: &SchedulerMessage) {
        self.socket.send(Message::text(encode(message))).await.expect("the worker listens");
    }

    /// Acknowledges a terminal message.
    pub async fn acknowledge(&mut self, message_id: &MessageId) {
        self.send(&SchedulerMessage::Ack(Ack { message_id: message_id.clone() })).await;
    }

    /// Answers pings while something else is waited for.
    pub async fn live_until(&mut self, done: impl Future<Output = ()>) {
        let mut heard = Vec::new();
        let listening = async {
            loop {
                heard.push(self.read().await);
            }
        };
        let done = tokio::time::timeout(PATIENCE, done);
        tokio::select! {
            done = done => done.expect("it comes about"),
            () = listening => {}
        }
        self.waiting.extend(heard);
    }

    /// The next message but pings, which are answered.
    pub async fn next(&mut self) -> WorkerMessage {
        tokio::time::timeout(PATIENCE, self.read()).await.expect("the worker says something")
    }

    /// The next message that `wanted` is true for.
    pub async fn find(&mut self, wanted: impl Fn(&WorkerMessage) -> bool) -> WorkerMessage {
        let finding = async {
            loop {
                let message = self.read().await;
                if wanted(&message) {
                    return message;
                }
            }
        };
        tokio::time::timeout(PATIENCE, finding).await.expect("the worker says what is waited for")
    }

    async fn read(&mut self) -> WorkerMessage {
        loop {
            if !self.waiting.is_empty() {
                return self.waiting.remove(0);
            }
            let Some(Ok(frame)) = self.socket.next().await else {
                panic!("the worker closed the connection")
            };
            let Message::Text(text) = frame else { continue };
            for message in decode_frame::<WorkerMessage>(text.as_str()) {
                match message.expect("the worker's messages can be read") {
                    WorkerMessage::Ping(ping) => {
                        let pong = shared_protocol::Pong { sequence: ping.sequence };
                        self.send(&SchedulerMessage::Pong(pong)).await;
                    }
                    message => self.waiting.push(message),
                }
            }
        }
    }
}

/// One connection of HTTP/1.1, request after request.
async fn serve(stream: TcpStream, shelf: &Mutex<Shelf>, gate: &Semaphore) {
    let mut stream = BufReader::new(stream);
    while let Some((method, path, body)) = read_request(&mut stream).await {
        let is_held = {
            let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            if method == "PUT" {
                shelf.arrived.push(path.clone());
            }
            let is_held = shelf.fault == Fault::HeldStems && path.contains("/stems/");
            shelf.held += usize::from(is_held);
            is_held
        };
        if is_held {
            gate.acquire().await.expect("nobody closes it").forget();
        }
        let (status, answer) = {
            let mut shelf = shelf.lock().unwrap_or_else(PoisonError::into_inner);
            shelf.requests += 1;
            let struck = shelf.requests.is_multiple_of(3);
            match (shelf.fault, method.as_str()) {
                (Fault::HangUp, _) if struck => return,
                (Fault::Busy, "PUT") if struck => ("503 Service Unavailable", Vec::new()),
                (Fault::HeldStems, "PUT") if shelf.arrived.len() <= 8 => {
                    ("503 Service Unavailable", Vec::new())
                }
                (Fault::NoStems, "PUT") if path.contains("/stems/") => ("403 Forbidden", Vec::new()),
                (_, "PUT") => {
                    shelf.order.push(path.clone());
                    shelf.objects.insert(path, body);
                    ("201 Created", Vec::new())
                }
                (_, "GET") if path == "/v1/worker/transcript" => {
                    shelf.transcript_requests += 1;
                    if shelf.fault == Fault::BusyTranscript && shelf.transcript_requests <= 2 {
                        ("503 Service Unavailable", Vec::new())
                    } else {
                        shelf
                            .transcript
                            .clone()
                            .map_or(("404 Not Found", Vec::new()), |json| ("200 OK", json))
                    }
                }
                (_, _) => ("200 OK", shelf.upload.clone()),
            }
        };
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", answer.len());
        let sent = stream.write_all(&[head.as_bytes(), &answer].concat()).await;
        if sent.is_err() || stream.flush().await.is_err() {
            return;
        }
    }
}

async fn read_request(stream: &mut BufReader<TcpStream>) -> Option<(String, String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let mut words = head.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.ok()?;
    Some((method, path, body))
}
