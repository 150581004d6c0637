//! Answers `GET /metrics`, one short connection at a time.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Time for a whole question and its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// More than any question of Prometheus' has.
const MAX_QUESTION_BYTES: u64 = 16 * 1024;

/// Answers for ever with what `page` gives.
pub async fn serve(listener: TcpListener, page: impl Fn() -> String) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => match tokio::time::timeout(PATIENCE, answer(stream, &page)).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => tracing::debug!(%error, "a question about metrics broke off"),
                Err(_) => tracing::debug!("a question about metrics took too long"),
            },
            Err(error) => {
                tracing::debug!(%error, "no connection for metrics can be taken");
                tokio::time::sleep(PATIENCE).await;
            }
        }
    }
}

async fn answer(stream: TcpStream, page: impl Fn() -> String) -> io::Result<()> {
    let mut stream = stream;
    let mut question = Vec::new();
    while !question.windows(4).any(|end| end == b"\r\n\r\n") {
        if (&mut stream).take(MAX_QUESTION_BYTES).read_buf(&mut question).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if question.len() as u64 > MAX_QUESTION_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
    }
    let asked = question.starts_with(b"GET /metrics ") || question.starts_with(b"GET /metrics?");
    let (status, body) =
        if asked { ("200 OK", page()) } else { ("404 Not Found", "see /metrics\n".to_owned()) };
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
