//! A recogniser that takes recordings over real HTTP, and answers as the test decides.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use super::form::{self, ReceivedFile};
use crate::harness::{PATIENCE, until};

/// How the recogniser answers a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriberAnswer {
    /// With a status, these headers and a body.
    Answer {
        /// HTTP status.
        status: u16,
        /// Headers, those of the body's length apart.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// As the inner one, but not before [`ScriptedTranscriber::release`].
    Held(Box<TranscriberAnswer>),
    /// Not at all: it keeps the connection open until the other end gives up.
    Hang,
    /// It closes the connection without a word.
    Reset,
    /// It closes the connection within the answer.
    BreakOff,
    /// It answers with this status before it has read more than the head of the request, and closes the connection.
    Early(u16),
}

impl TranscriberAnswer {
    /// JSON with this status.
    pub fn json(status: u16, body: &Value) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Self::Answer { status, headers, body: body.to_string().into_bytes() }
    }

    /// A transcript in which each word takes half a second, the first from 0 on.
    pub fn words(text: &str) -> Self {
        let words: Vec<Value> = text
            .split_whitespace()
            .enumerate()
            .map(|(n, word)| json!({ "word": word, "start": n as f64 / 2.0, "end": (n + 1) as f64 / 2.0 }))
            .collect();
        Self::transcript(text, &json!(words))
    }

    /// A transcript of this text and these words.
    pub fn transcript(text: &str, words: &Value) -> Self {
        Self::json(200, &json!({ "task": "transcribe", "language": "english", "text": text, "words": words }))
    }

    /// A refusal in OpenAI's form.
    pub fn error(status: u16, message: &str) -> Self {
        Self::json(
            status,
            &json!({ "error": { "message": message, "type": "invalid_request_error", "code": null } }),
        )
    }

    /// The same with one more header.
    ///
    /// # Panics
    /// It is not an answer of its own.
    #[must_use]
    pub fn with_header(self, name: &str, value: &str) -> Self {
        let Self::Answer { status, mut headers, body } = self else { panic!("{self:?} has no headers") };
        headers.push((name.to_owned(), value.to_owned()));
        Self::Answer { status, headers, body }
    }

    /// The same, but not before [`ScriptedTranscriber::release`].
    #[must_use]
    pub fn held(self) -> Self {
        Self::Held(Box::new(self))
    }

    /// A status of success, so many bytes, and no end of JSON in them.
    pub fn huge(bytes: usize) -> Self {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        let mut body = b"{\"text\":\"".to_vec();
        body.resize(bytes, b'a');
        Self::Answer { status: 200, headers, body }
    }
}

/// One recording that came in.
#[derive(Debug, Clone)]
pub struct ReceivedTranscription {
    /// The path and query.
    pub path: String,
    /// Its headers.
    pub headers: HeaderMap,
    /// The form's fields, without the recording.
    pub fields: BTreeMap<String, Vec<String>>,
    /// The recording.
    pub file: ReceivedFile,
}

impl ReceivedTranscription {
    /// A header's text; empty without it.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// A field's only value; empty without it.
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).and_then(|values| values.first()).map_or("", String::as_str)
    }
}

#[derive(Debug)]
struct Behaviour {
    received: Vec<ReceivedTranscription>,
    next: VecDeque<TranscriberAnswer>,
    otherwise: TranscriberAnswer,
    connections: usize,
    cut_off: usize,
    released: bool,
}

/// The recogniser. It listens until the test's process ends.
#[derive(Debug, Clone)]
pub struct ScriptedTranscriber {
    port: u16,
    behaviour: Arc<(Mutex<Behaviour>, Condvar)>,
}

impl ScriptedTranscriber {
    /// A recogniser that hears "so what" in everything.
    ///
    /// # Panics
    /// This machine has no free port.
    pub fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound socket has an address").port();
        let behaviour = Behaviour {
            received: vec![],
            next: VecDeque::new(),
            otherwise: TranscriberAnswer::words("so what"),
            connections: 0,
            cut_off: 0,
            released: false,
        };
        let recogniser = Self { port, behaviour: Arc::new((Mutex::new(behaviour), Condvar::new())) };
        let server = recogniser.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let server = server.clone();
                std::thread::spawn(move || server.serve(stream));
            }
        });
        recogniser
    }

    /// Its address, for `TRANSCRIPTION_URL`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// How it answers from now on.
    pub fn answer(&self, answer: TranscriberAnswer) {
        self.lock().otherwise = answer;
    }

    /// How it answers the next requests, one each, before it goes on as before.
    pub fn answer_next(&self, answers: impl IntoIterator<Item = TranscriberAnswer>) {
        self.lock().next.extend(answers);
    }

    /// Lets all held answers go, and from now on nothing is held.
    pub fn release(&self) {
        self.lock().released = true;
        self.behaviour.1.notify_all();
    }

    /// Every recording that came in whole, in order.
    pub fn received(&self) -> Vec<ReceivedTranscription> {
        self.lock().received.clone()
    }

    /// Requests that came in, whole or not.
    pub fn requests(&self) -> usize {
        self.lock().connections
    }

    /// Waits until so many recordings came in; returns them.
    ///
    /// # Panics
    /// They do not come.
    pub fn expect_count(&self, count: usize) -> Vec<ReceivedTranscription> {
        until(&format!("{count} recordings to transcribe"), PATIENCE, || {
            let received = self.received();
            (received.len() >= count).then_some(received)
        })
    }

    /// Waits until so many requests that it let hang were cut off by the other end.
    ///
    /// # Panics
    /// They are not.
    pub fn expect_cut_off(&self, count: usize) {
        until(&format!("{count} requests to be cut off"), PATIENCE, || {
            (self.lock().cut_off >= count).then_some(())
        });
    }

    fn lock(&self) -> MutexGuard<'_, Behaviour> {
        self.behaviour.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Serves a connection until its other end is closed. What breaks in here is a request that was cut off.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some((path, headers)) = read_head(&mut reader) {
            let answer = {
                let mut behaviour = self.lock();
                behaviour.connections += 1;
                behaviour.next.pop_front().unwrap_or_else(|| behaviour.otherwise.clone())
            };
            if let TranscriberAnswer::Early(status) = answer {
                let early =
                    format!("HTTP/1.1 {status} early\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                reader.get_mut().write_all(early.as_bytes()).unwrap_or_default();
                return;
            }
            let Some(body) = read_body(&mut reader, &headers) else { return };
            let content_type = headers.get("content-type").and_then(|value| value.to_str().ok());
            let form = form::parse(content_type.unwrap_or_default(), &body);
            self.lock().received.push(ReceivedTranscription {
                path,
                headers,
                fields: form.fields,
                file: form.file,
            });
            if !self.give(answer, &mut reader) {
                return;
            }
        }
    }

    /// Says whether the connection may go on.
    fn give(&self, answer: TranscriberAnswer, reader: &mut BufReader<TcpStream>) -> bool {
        match answer {
            TranscriberAnswer::Answer { status, headers, body } => {
                let mut head =
                    format!("HTTP/1.1 {status} as the test wants it\r\nContent-Length: {}\r\n", body.len());
                for (name, value) in headers {
                    head.push_str(&format!("{name}: {value}\r\n"));
                }
                head.push_str("\r\n");
                let bytes = [head.as_bytes(), &body].concat();
                reader.get_mut().write_all(&bytes).is_ok()
            }
            TranscriberAnswer::Held(answer) => {
                let mut behaviour = self.lock();
                while !behaviour.released {
                    behaviour = self.behaviour.1.wait(behaviour).unwrap_or_else(PoisonError::into_inner);
                }
                drop(behaviour);
                self.give(*answer, reader)
            }
            TranscriberAnswer::Hang => {
                reader.read_exact(&mut [0]).unwrap_or_default();
                self.lock().cut_off += 1;
                false
            }
            TranscriberAnswer::BreakOff => {
                let half = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"text\":";
                reader.get_mut().write_all(half).unwrap_or_default();
                false
            }
            TranscriberAnswer::Reset | TranscriberAnswer::Early(_) => false,
        }
    }
}

fn read_head(reader: &mut BufReader<TcpStream>) -> Option<(String, HeaderMap)> {
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
    Some((path, headers))
}

/// A body of a known length: endpoints may refuse any other.
fn read_body(reader: &mut BufReader<TcpStream>, headers: &HeaderMap) -> Option<Vec<u8>> {
    let length = headers.get("content-length").and_then(|value| value.to_str().ok()?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    Some(body)
}
