//! As much of HTTP/1.1 as a proxy needs to know where a message ends.

use std::io;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// Longest head that is taken, bytes.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// Bytes of a body that are handled at once: small beside a second of any line worth emulating.
const CHUNK_BYTES: u64 = 16 * 1024;

/// The lines before a body, as they came.
#[derive(Debug, Clone)]
pub struct Head {
    /// With the empty line at the end.
    pub bytes: Vec<u8>,
    text: String,
}

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// After so many more bytes.
    Exactly(u64),
    /// After a chunk of no bytes.
    Chunked,
    /// With the connection.
    UntilClose,
}

impl Head {
    /// Reads a head; none at the end of the connection.
    pub async fn read(reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Self>> {
        let mut bytes = Vec::new();
        loop {
            let before = bytes.len();
            let read = reader.read_until(b'\n', &mut bytes).await?;
            if read == 0 && before == 0 {
                return Ok(None);
            }
            if read == 0 || bytes.len() > MAX_HEAD_BYTES {
                return Err(io::ErrorKind::InvalidData.into());
            }
            if before > 0 && bytes[before..].trim_ascii().is_empty() {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                return Ok(Some(Self { bytes, text }));
            }
        }
    }

    /// A word of the first line: of a request method and path, of an answer version and status.
    pub fn word(&self, index: usize) -> &str {
        self.text.lines().next().and_then(|line| line.split(' ').nth(index)).unwrap_or_default()
    }

    /// Whether the connection is to become a WebSocket.
    pub fn is_upgrade(&self) -> bool {
        self.field("upgrade").is_some_and(|value| value.eq_ignore_ascii_case("websocket"))
    }

    /// How the body of a request ends.
    pub fn request_body(&self) -> Body {
        self.framed().unwrap_or(Body::Exactly(0))
    }

    /// How the body of the answer to a request of this method ends.
    pub fn answer_body(&self, method: &str) -> Body {
        let status = self.word(1);
        if method == "HEAD" || matches!(status, "204" | "304") || status.starts_with('1') {
            return Body::Exactly(0);
        }
        self.framed().unwrap_or(Body::UntilClose)
    }

    fn framed(&self) -> Option<Body> {
        if self.field("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return Some(Body::Chunked);
        }
        self.field("content-length").and_then(|value| value.parse().ok()).map(Body::Exactly)
    }

    fn field(&self, name: &str) -> Option<&str> {
        self.text.lines().skip(1).find_map(|line| {
            let (field, value) = line.split_once(':')?;
            field.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

impl Body {
    /// The next bytes of the body as they came, chunk sizes included; none at its end.
    pub async fn next(&mut self, reader: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
        match self {
            Self::Exactly(0) => Ok(None),
            Self::Exactly(left) => {
                let bytes = some_of(reader, (*left).min(CHUNK_BYTES)).await?;
                if bytes.is_empty() {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                *left -= bytes.len() as u64;
                Ok(Some(bytes))
            }
            Self::UntilClose => {
                Ok(Some(some_of(reader, CHUNK_BYTES).await?).filter(|bytes| !bytes.is_empty()))
            }
            Self::Chunked => {
                let mut bytes = Vec::new();
                reader.read_until(b'\n', &mut bytes).await?;
                let size = str::from_utf8(&bytes).ok().and_then(|line| line.split([';', '\r', '\n']).next());
                let size = size.and_then(|size| usize::from_str_radix(size.trim(), 16).ok());
                let size = size.ok_or(io::ErrorKind::InvalidData)?;
                if size == 0 {
                    // Trailers, then an empty line.
                    loop {
                        let before = bytes.len();
                        reader.read_until(b'\n', &mut bytes).await?;
                        if bytes[before..].trim_ascii().is_empty() {
                            *self = Self::Exactly(0);
                            return Ok(Some(bytes));
                        }
                    }
                }
                let before = bytes.len();
                bytes.resize(before + size + 2, 0);
                reader.read_exact(&mut bytes[before..]).await?;
                Ok(Some(bytes))
            }
        }
    }
}

async fn some_of(reader: &mut (impl AsyncBufRead + Unpin), most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One buffer of the reader at most.
    let available = reader.fill_buf().await?;
    let taken = available.len().min(usize::try_from(most).unwrap_or(usize::MAX));
    bytes.extend_from_slice(&available[..taken]);
    reader.consume(taken);
    Ok(bytes)
}
