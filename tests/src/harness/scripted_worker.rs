//! A worker that speaks the protocol by hand: it does exactly what the test says, the wrong things included.

use std::{
    collections::VecDeque,
    net::TcpStream,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use sha2::{Digest, Sha256};
use shared_protocol::{
    Accept, Assign, Attempt, BootId, Cancelled, Complete, DurationMs, Failed, FailureCode, Hello, HlsSegment,
    JobFailure, JobId, JobOutcome, MessageId, PROTOCOL_VERSION, Phase, Ping, Progress, PublishedFile, Ready,
    RunningAttempt, Sampler, SchedulerMessage, Welcome, WorkerId, WorkerMessage, decode_frame, encode,
};
use tungstenite::{Message, WebSocket, client::IntoClientRequest, protocol::frame::coding::CloseCode};

use super::{Answer, Api, Edge, Key, Keys, PATIENCE, keys::hex, media::HlsStream};

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed {
    /// The code of the close frame; none when the connection just ended.
    pub code: Option<CloseCode>,
    /// Its reason.
    pub reason: String,
}

/// A worker's connection and the test's hands on it.
#[derive(Debug)]
pub struct ScriptedWorker {
    name: String,
    socket: WebSocket<TcpStream>,
    received: VecDeque<SchedulerMessage>,
    pings: u64,
    origin: String,
}

/// Makes boot ids and message ids unlike any other of the test.
static COUNTER: AtomicU32 = AtomicU32::new(1);

fn fresh(prefix: &str) -> String {
    format!("{prefix}-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

impl ScriptedWorker {
    /// Connects and says nothing yet.
    ///
    /// # Panics
    /// The connection is refused.
    pub fn connect(edge: &Edge, name: &str) -> Self {
        let socket = Self::upgrade(edge, Some(Keys::WORKER))
            .unwrap_or_else(|status| panic!("{name} cannot connect: {status}\n{}", edge.log()));
        Self { name: name.to_owned(), socket, received: VecDeque::new(), pings: 0, origin: edge.origin() }
    }

    /// Tries to connect with this key.
    ///
    /// # Errors
    /// The HTTP status of the refusal; 0 when there was no answer.
    pub fn upgrade(edge: &Edge, key: Option<Key>) -> Result<WebSocket<TcpStream>, u16> {
        let stream = TcpStream::connect(("127.0.0.1", edge.port())).map_err(|_| 0_u16)?;
        stream.set_nodelay(true).map_err(|_| 0_u16)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(|_| 0_u16)?;
        let address = format!("ws://127.0.0.1:{}/v1/worker/connect", edge.port());
        let mut request = address.into_client_request().map_err(|_| 0_u16)?;
        if let Some(key) = key {
            let value = key.bearer().parse().map_err(|_| 0_u16)?;
            request.headers_mut().insert("Authorization", value);
        }
        match tungstenite::client(request, stream) {
            Ok((socket, _)) => Ok(socket),
            Err(tungstenite::HandshakeError::Failure(tungstenite::Error::Http(answer))) => {
                Err(answer.status().as_u16())
            }
            Err(_) => Err(0),
        }
    }

    /// Connects, says hello and offers so many slots: a worker that waits for jobs.
    ///
    /// # Panics
    /// It is not welcome.
    pub fn ready(edge: &Edge, name: &str, slots: u32) -> Self {
        let mut worker = Self::connect(edge, name);
        worker.hello();
        worker.offer_slots(slots);
        worker
    }

    /// Connects again under the same name, as after a lost connection: hello, then everything in `replay`, then `ready` with what
    /// it still runs.
    ///
    /// # Panics
    /// It is not welcome.
    pub fn reconnect(
        edge: &Edge,
        name: &str,
        replay: &[WorkerMessage],
        slots: u32,
        running: &[&Assign],
    ) -> Self {
        let mut worker = Self::connect(edge, name);
        worker.hello();
        for message in replay {
            worker.send(message);
        }
        worker.send_ready(slots, running);
        worker
    }

    /// The message with which it introduces itself.
    pub fn hello_message(&self) -> Hello {
        Hello {
            protocol: PROTOCOL_VERSION,
            worker_id: WorkerId::new(self.name.clone()).expect("a test names its workers well"),
            boot_id: BootId::new(fresh("boot")).expect("a counter makes a valid id"),
            version: "0.0.0-scripted".into(),
            slots: 8,
            samplers: vec![Sampler::Flash],
            engine: "scripted".into(),
            labels: vec![],
            priority: 0,
        }
    }

    /// Says hello and expects to be welcome.
    ///
    /// # Panics
    /// It is not.
    pub fn hello(&mut self) -> Welcome {
        let hello = self.hello_message();
        self.send(&WorkerMessage::Hello(hello));
        match self.receive() {
            SchedulerMessage::Welcome(welcome) => welcome,
            other => panic!("welcome was expected, not {other:?}"),
        }
    }

    /// Says `ready` with open slots and nothing running.
    pub fn offer_slots(&mut self, slots: u32) {
        self.send_ready(slots, &[]);
    }

    /// Says `ready`.
    pub fn send_ready(&mut self, slots: u32, running: &[&Assign]) {
        let job_ids = running
            .iter()
            .map(|assign| RunningAttempt { job_id: assign.job_id.clone(), attempt: assign.attempt })
            .collect();
        self.send(&WorkerMessage::Ready(Ready {
            slots,
            job_ids,
            backlog_seconds: 0.0,
            draining: false,
            speeds: vec![],
            link: None,
        }));
    }

    /// Sends one message.
    ///
    /// # Panics
    /// The connection has ended.
    pub fn send(&mut self, message: &WorkerMessage) {
        self.send_text(&encode(message));
    }

    /// Sends a frame as it is.
    ///
    /// # Panics
    /// The connection has ended.
    pub fn send_text(&mut self, frame: &str) {
        self.send_frame(Message::text(frame));
    }

    /// Sends a frame of any kind.
    ///
    /// # Panics
    /// The connection has ended.
    pub fn send_frame(&mut self, frame: Message) {
        self.socket.send(frame).unwrap_or_else(|error| panic!("{} cannot send: {error}", self.name));
    }

    /// The next message but pongs.
    ///
    /// # Panics
    /// None comes in time, or the connection ends.
    #[track_caller]
    pub fn receive(&mut self) -> SchedulerMessage {
        match self.receive_within(PATIENCE) {
            Ok(Some(message)) => message,
            Ok(None) => panic!("{} heard nothing", self.name),
            Err(closed) => panic!("{}: the connection ended: {closed:?}", self.name),
        }
    }

    /// The next message but pongs, if one comes within this time.
    ///
    /// # Errors
    /// The connection ended.
    pub fn receive_within(&mut self, patience: Duration) -> Result<Option<SchedulerMessage>, Closed> {
        self.next_within(patience, |message| !matches!(message, SchedulerMessage::Pong(_)))
    }

    fn next_within(
        &mut self,
        patience: Duration,
        wanted: impl Fn(&SchedulerMessage) -> bool,
    ) -> Result<Option<SchedulerMessage>, Closed> {
        let deadline = Instant::now() + patience;
        loop {
            while let Some(message) = self.received.pop_front() {
                if wanted(&message) {
                    return Ok(Some(message));
                }
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.read_frame(left)? {
                return Ok(None);
            }
        }
    }

    /// Reads one frame; false when none came in time.
    fn read_frame(&mut self, patience: Duration) -> Result<bool, Closed> {
        let patience = patience.max(Duration::from_millis(1));
        self.socket.get_ref().set_read_timeout(Some(patience)).expect("a timeout above zero is valid");
        match self.socket.read() {
            Ok(Message::Text(text)) => {
                for item in decode_frame::<SchedulerMessage>(&text) {
                    self.received.push_back(item.unwrap_or_else(|error| panic!("{error}: {text}")));
                }
                Ok(true)
            }
            Ok(Message::Close(frame)) => Err(Closed {
                code: frame.as_ref().map(|frame| frame.code),
                reason: frame.map(|frame| frame.reason.to_string()).unwrap_or_default(),
            }),
            Ok(_) => Ok(true),
            Err(error) if is_timeout(&error) => Ok(false),
            Err(_) => Err(Closed { code: None, reason: String::new() }),
        }
    }

    /// Expects an offer.
    ///
    /// # Panics
    /// Something else comes, or nothing.
    #[track_caller]
    pub fn expect_assign(&mut self) -> Assign {
        match self.receive() {
            SchedulerMessage::Assign(assign) => assign,
            other => panic!("{}: job.assign was expected, not {other:?}", self.name),
        }
    }

    /// Expects the acknowledgement of a message.
    ///
    /// # Panics
    /// Something else comes, or nothing.
    #[track_caller]
    pub fn expect_ack(&mut self, of: &MessageId) {
        match self.receive() {
            SchedulerMessage::Ack(ack) if ack.message_id == *of => {}
            other => panic!("{}: the ack of {of} was expected, not {other:?}", self.name),
        }
    }

    /// Expects to be told to stop an attempt.
    ///
    /// # Panics
    /// Something else comes, or nothing.
    #[track_caller]
    pub fn expect_cancel(&mut self, of: &Assign) -> shared_protocol::Cancel {
        match self.receive() {
            SchedulerMessage::Cancel(cancel)
                if (&cancel.job_id, cancel.attempt) == (&of.job_id, of.attempt) =>
            {
                cancel
            }
            other => panic!("{}: the cancel of {} was expected, not {other:?}", self.name, of.job_id),
        }
    }

    /// Expects an `error` with this code, and that the link lives on; returns what it is about.
    ///
    /// # Panics
    /// Something else comes, or nothing.
    #[track_caller]
    pub fn expect_error(&mut self, code: &str) -> Option<String> {
        match self.receive() {
            SchedulerMessage::Error(error) if error.code == code => error.regarding,
            other => panic!("{}: the error {code} was expected, not {other:?}", self.name),
        }
    }

    /// Expects an answer to a ping: the link lives and everything sent before was handled. Other messages stay unread.
    ///
    /// # Panics
    /// There is none.
    #[track_caller]
    pub fn expect_link_alive(&mut self) {
        let sequence = self.ping();
        let deadline = Instant::now() + PATIENCE;
        let is_answer =
            |m: &SchedulerMessage| matches!(m, SchedulerMessage::Pong(p) if p.sequence == sequence);
        while !self.received.iter().any(is_answer) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.read_frame(left) {
                Ok(_) if !left.is_zero() => {}
                other => panic!("{}: a pong was expected, not {other:?}", self.name),
            }
        }
        self.received.retain(|message| !is_answer(message));
    }

    /// Expects that nothing but pongs comes for so long, while it keeps itself alive.
    ///
    /// # Panics
    /// Something comes, or the connection ends.
    #[track_caller]
    pub fn expect_silence(&mut self, for_so_long: Duration) {
        let until = Instant::now() + for_so_long;
        while Instant::now() < until {
            self.ping();
            let left = until.saturating_duration_since(Instant::now()).min(Duration::from_secs(2));
            match self.receive_within(left) {
                Ok(None) => {}
                other => panic!("{}: silence was expected, not {other:?}", self.name),
            }
        }
    }

    /// Expects the edge to end the connection; messages before that are passed over.
    ///
    /// # Panics
    /// It lives on.
    #[track_caller]
    pub fn expect_closed(&mut self) -> Closed {
        match self.next_within(PATIENCE, |_| false) {
            Err(closed) => closed,
            Ok(_) => panic!("{}: the connection was to be closed, and lives on", self.name),
        }
    }

    /// Gives a sign of life; returns its number.
    pub fn ping(&mut self) -> u64 {
        self.pings += 1;
        let sequence = self.pings;
        self.send(&WorkerMessage::Ping(Ping { sequence, backlog_seconds: 0.0 }));
        sequence
    }

    /// Takes an offer.
    pub fn accept(&mut self, assign: &Assign) {
        self.send(&WorkerMessage::Accept(Accept { job_id: assign.job_id.clone(), attempt: assign.attempt }));
    }

    /// Waits for an offer and takes it.
    ///
    /// # Panics
    /// None comes.
    #[track_caller]
    pub fn take_job(&mut self) -> Assign {
        let assign = self.expect_assign();
        self.accept(&assign);
        assign
    }

    /// Reports progress with segments, whether they are stored or not.
    pub fn progress(&mut self, assign: &Assign, fraction: f64, segments: &[HlsSegment]) {
        self.send(&WorkerMessage::Progress(Progress {
            job_id: assign.job_id.clone(),
            attempt: assign.attempt,
            phase: Phase::Restoring,
            fraction,
            audio_seconds: Some(12.0),
            segments: segments.to_vec(),
        }));
    }

    /// Stores an object of an attempt, with its ticket.
    pub fn put_object(&self, assign: &Assign, path: &str, content_type: &str, bytes: &[u8]) -> Answer {
        let digest = hex(&Sha256::digest(bytes));
        Api::new(self.origin.clone(), None).call(
            "PUT",
            &object_path(&assign.job_id, assign.attempt, path),
            &[
                ("Minifleet-Ticket", &assign.ticket),
                ("Content-Type", content_type),
                ("X-Content-Sha256", &digest),
            ],
            Some(bytes),
        )
    }

    /// Stores a segment that is not audio and describes it.
    ///
    /// # Panics
    /// It is refused.
    pub fn put_segment(&self, assign: &Assign, sequence: u32) -> HlsSegment {
        let bytes = format!("segment {sequence} of attempt {}", assign.attempt);
        if sequence == 0 {
            self.put_object(assign, "hls/init.mp4", "video/mp4", b"init").expect(201);
        }
        self.put_object(assign, &format!("hls/seg-{sequence:05}.m4s"), "video/mp4", bytes.as_bytes())
            .expect(201);
        HlsSegment { sequence, duration_ms: DurationMs(4000), size: bytes.len() as u64 }
    }

    /// Stores an init segment and a segment that are audio, and describes the segment.
    ///
    /// # Panics
    /// They are refused.
    pub fn put_real_segment(&self, assign: &Assign, stream: &HlsStream, sequence: u32) -> HlsSegment {
        if sequence == 0 {
            self.put_object(assign, "hls/init.mp4", "video/mp4", &stream.init).expect(201);
        }
        let (bytes, duration_ms) = &stream.segments[sequence as usize];
        self.put_object(assign, &format!("hls/seg-{sequence:05}.m4s"), "video/mp4", bytes).expect(201);
        HlsSegment { sequence, duration_ms: DurationMs(*duration_ms), size: bytes.len() as u64 }
    }

    /// Stores a final file and describes it.
    ///
    /// # Panics
    /// It is refused.
    pub fn put_wav(&self, assign: &Assign, bytes: &[u8]) -> PublishedFile {
        self.put_object(assign, "files/restored.wav", "audio/wav", bytes).expect(201);
        PublishedFile {
            name: "restored.wav".into(),
            kind: shared_protocol::OutputKind::Wav,
            size: bytes.len() as u64,
            sha256: hex(&Sha256::digest(bytes)),
            content_type: "audio/wav".into(),
        }
    }

    /// The message that ends an attempt well.
    pub fn completion(assign: &Assign, segments: &[HlsSegment], files: &[PublishedFile]) -> Complete {
        Complete {
            message_id: fresh_message_id(),
            job_id: assign.job_id.clone(),
            attempt: assign.attempt,
            segments: segments.to_vec(),
            outcome: JobOutcome {
                files: files.to_vec(),
                hls_segments: u32::try_from(segments.len()).expect("a test has few segments"),
                audio_seconds: 12.0,
                channels: 1,
                real_time_factor: 0.03,
                timings: vec![],
            },
        }
    }

    /// Completes an attempt without any output and expects the acknowledgement.
    ///
    /// # Panics
    /// It is not acknowledged.
    #[track_caller]
    pub fn complete(&mut self, assign: &Assign) -> Complete {
        let complete = Self::completion(assign, &[], &[]);
        self.send(&WorkerMessage::Complete(complete.clone()));
        self.expect_ack(&complete.message_id);
        complete
    }

    /// Fails an attempt and expects the acknowledgement.
    ///
    /// # Panics
    /// It is not acknowledged.
    #[track_caller]
    pub fn fail(&mut self, assign: &Assign, code: FailureCode, message: &str) {
        let failed = Failed {
            message_id: fresh_message_id(),
            job_id: assign.job_id.clone(),
            attempt: assign.attempt,
            failure: JobFailure::new(code, message),
        };
        self.send(&WorkerMessage::Failed(failed.clone()));
        self.expect_ack(&failed.message_id);
    }

    /// The message that says that an attempt has stopped.
    pub fn cancellation(assign: &Assign) -> Cancelled {
        Cancelled { message_id: fresh_message_id(), job_id: assign.job_id.clone(), attempt: assign.attempt }
    }

    /// Closes the connection properly.
    pub fn close(mut self) {
        // The other side may be gone already.
        self.socket.close(None).unwrap_or_default();
        while self.socket.read().is_ok() {}
    }

    /// Lets the connection vanish without a close frame, as a crashed process does.
    pub fn vanish(self) {
        drop(self.socket);
    }
}

/// Nothing came in time, and the connection lives on.
pub(super) fn is_timeout(error: &tungstenite::Error) -> bool {
    use std::io::ErrorKind::{TimedOut, WouldBlock};
    matches!(error, tungstenite::Error::Io(error) if matches!(error.kind(), WouldBlock | TimedOut))
}

fn fresh_message_id() -> MessageId {
    MessageId::new(fresh("message")).expect("a counter makes a valid id")
}

fn object_path(job: &JobId, attempt: Attempt, path: &str) -> String {
    format!("/v1/worker/objects/{job}/{attempt}/{path}")
}
