//! HTTP/1.1 as bytes on a connection that stays open: a library would refuse to send most of this.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::request::{Framing, Request};

/// The longest that an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to the edge, made again when it ends.
#[derive(Debug)]
pub struct Connection {
    port: u16,
    stream: Option<BufReader<TcpStream>>,
}

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Its status.
    pub status: u16,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    /// Its body, without its chunks' heads.
    pub body: Vec<u8>,
}

impl Answer {
    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Whether a text is anywhere in it.
    pub fn holds(&self, text: &str) -> bool {
        let in_body = self.body.windows(text.len()).any(|window| window == text.as_bytes());
        in_body || self.headers.iter().any(|(_, value)| value.contains(text))
    }

    /// Whether the server refused it as no HTTP, before the edge saw it.
    pub fn is_of_the_parser(&self) -> bool {
        let refused = matches!(self.status, 400 | 414 | 426 | 431 | 501);
        refused
            && self.header("x-request-id").is_none()
            && self.header("content-type") != Some("application/json")
    }

    /// All of it.
    pub fn describe(&self) -> String {
        format!("{} {:?} {}", self.status, self.headers, String::from_utf8_lossy(&self.body))
    }
}

impl Connection {
    /// To the edge at this port.
    pub fn new(port: u16) -> Self {
        Self { port, stream: None }
    }

    /// Sends a request and reads its answer. A connection that had ended, as a server may end it at any time, is made anew once.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        let was_used = self.stream.is_some();
        match self.try_once(request) {
            Err(_) if was_used => self.try_once(request),
            first => first,
        }
        .map_err(|error| format!("no answer ({:?})", error.kind()))
    }

    fn try_once(&mut self, request: &Request) -> io::Result<Answer> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(("127.0.0.1", self.port))?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                stream.set_nodelay(true)?;
                BufReader::new(stream)
            }
        };
        // It may answer and close before it has read everything: the answer counts.
        let sent = stream.get_mut().write_all(&bytes(request));
        let (answer, stays_open) = read_answer(&mut stream, request.method == "HEAD")?;
        if sent.is_ok() && stays_open {
            self.stream = Some(stream);
        }
        Ok(answer)
    }
}

fn bytes(request: &Request) -> Vec<u8> {
    let mut bytes =
        format!("{} {} HTTP/1.1\r\nHost: 127.0.0.1\r\n", request.method, request.target).into_bytes();
    for (name, value) in &request.headers {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend_from_slice(value);
        bytes.extend_from_slice(b"\r\n");
    }
    match (&request.body, request.framing) {
        (None, _) => bytes.extend_from_slice(b"\r\n"),
        (Some(body), Framing::Length) => {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n\r\n", body.len()).as_bytes());
            bytes.extend_from_slice(body);
        }
        (Some(body), Framing::Chunked) => {
            bytes.extend_from_slice(b"Transfer-Encoding: chunked\r\n\r\n");
            if !body.is_empty() {
                bytes.extend_from_slice(format!("{:x}\r\n", body.len()).as_bytes());
                bytes.extend_from_slice(body);
                bytes.extend_from_slice(b"\r\n");
            }
            bytes.extend_from_slice(b"0\r\n\r\n");
        }
    }
    bytes
}

/// Reads one answer; says whether the connection stays open after it.
fn read_answer(stream: &mut BufReader<TcpStream>, is_head: bool) -> io::Result<(Answer, bool)> {
    let invalid = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let status_line = line(stream)?;
    let status = status_line
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3)?.parse().ok())
        .ok_or_else(|| invalid(&format!("not a status line: {status_line:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = line(stream)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| invalid("not a header"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut answer = Answer { status, headers, body: Vec::new() };
    let closes = answer.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
    if is_head || matches!(status, 204 | 304 | 100..=199) {
        return Ok((answer, !closes && status != 101));
    }
    if answer.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let size = line(stream)?;
            let size = usize::from_str_radix(size.trim(), 16).map_err(|_| invalid("not a chunk's size"))?;
            let mut chunk = vec![0; size + 2];
            stream.read_exact(&mut chunk)?;
            answer.body.extend_from_slice(&chunk[..size]);
            if size == 0 {
                break;
            }
        }
        return Ok((answer, !closes));
    }
    match answer.header("content-length").and_then(|length| length.parse().ok()) {
        Some(length) => {
            answer.body.resize(length, 0);
            stream.read_exact(&mut answer.body)?;
            Ok((answer, !closes))
        }
        None => {
            stream.read_to_end(&mut answer.body)?;
            Ok((answer, false))
        }
    }
}

fn line(stream: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = Vec::new();
    if stream.read_until(b'\n', &mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    while line.last().is_some_and(|byte| b"\r\n".contains(byte)) {
        line.pop();
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}
