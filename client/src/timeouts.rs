//! How long the client is patient with one connection.

use std::time::Duration;

/// Bounds on silence and, for small calls only, on the whole: what grows with a file's size is never limited in total.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// To make a connection, TLS included.
    pub connect: Duration,
    /// Longest silence while an answer or the next bytes of one are awaited.
    pub read: Duration,
    /// A small call, from its first byte to the last of its answer.
    pub call: Duration,
    /// Longest time in which not one byte of an upload leaves, or in which the answer to the last one is awaited. Longer
    /// than `read`, since storage answers when it has everything.
    pub upload_idle: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Timeouts {
            connect: Duration::from_secs(5),
            read: Duration::from_secs(10),
            call: Duration::from_secs(15),
            upload_idle: Duration::from_secs(30),
        }
    }
}
