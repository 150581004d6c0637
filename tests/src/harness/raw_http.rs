//! Requests that a well-behaved HTTP library would not send.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use super::{Edge, PATIENCE};

/// Sends these bytes as they are and returns the status of the answer, with its whole text.
///
/// # Panics
/// There is no answer, or it is not HTTP.
pub fn raw_request(edge: &Edge, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", edge.port())).expect("the edge listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout above zero is valid");
    // The edge may answer and close before it has read everything.
    if let Err(error) = stream.write_all(request) {
        eprintln!("the edge stopped reading: {error}");
    }
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&buffer[..count]),
            Err(error) if answer.is_empty() => panic!("no answer: {error}"),
            Err(_) => break,
        }
        if is_whole(&answer) {
            break;
        }
    }
    let text = String::from_utf8_lossy(&answer).into_owned();
    let status = text
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3))
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("not an HTTP answer: {text:?}"));
    (status, text)
}

/// Whether the head and as many bytes as it announces are there. Chunked answers end with the connection or the timeout.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        return body.ends_with("0\r\n\r\n");
    }
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    length.and_then(|length| length.trim().parse::<usize>().ok()).is_some_and(|length| body.len() >= length)
}
