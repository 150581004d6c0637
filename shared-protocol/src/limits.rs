//! Bounds that both sides keep. Each says what breaks beyond it.

use crate::DurationMs;

/// Characters in any id. Ids stand in object keys (1,024 bytes at most) and socket tags (256 characters at most).
pub const MAX_ID_LENGTH: usize = 64;

/// Bytes in one frame. The platform takes 32 MiB; a frame is parsed in one turn of the scheduler, so it stays far below.
pub const MAX_FRAME_BYTES: usize = 256 * 1024;

/// Messages in one batch frame: all are handled in one turn and one transaction.
pub const MAX_MESSAGES_PER_FRAME: usize = 64;

/// Characters in any human-readable text of a message, such as a failure's details.
pub const MAX_TEXT_LENGTH: usize = 2_000;

/// Segments announced by one `job.progress`. More go into a following one.
pub const MAX_SEGMENTS_PER_PROGRESS: usize = 64;

/// Final files of one job.
pub const MAX_FILES_PER_JOB: usize = 64;

/// Jobs that one worker may run at once.
pub const MAX_SLOTS: u32 = 64;

/// A worker pings this often while it is connected. Three pings fit into [`LIVENESS_TIMEOUT`], so that one lost or late
/// ping loses no lease.
pub const PING_INTERVAL: DurationMs = DurationMs(3_000);

/// A worker from which nothing was heard for so long is taken as gone, and its jobs are offered to others.
/// The promise to users is "at most 10 s after the last sign of life"; the second between is for the alarm's delay.
pub const LIVENESS_TIMEOUT: DurationMs = DurationMs(9_000);

/// An offer that is neither accepted nor rejected within this time goes back to the queue.
pub const OFFER_TIMEOUT: DurationMs = DurationMs(8_000);

/// After a restart of the scheduler its workers get so long to reconnect before their jobs are offered to others. Longer
/// than [`RECONNECT_MAX_BACKOFF`] plus a connection set-up.
pub const RECONNECT_GRACE: DurationMs = DurationMs(20_000);

/// Upper bound of a worker's pause between two attempts to connect.
pub const RECONNECT_MAX_BACKOFF: DurationMs = DurationMs(10_000);

/// A worker that hears nothing for so long while connected gives the connection up and makes a new one.
/// Pings are answered, so three missing answers are enough.
pub const LINK_SILENCE_TIMEOUT: DurationMs = DurationMs(10_000);

/// Bytes of one upload or object in a single request: the platform's body limit on its smaller plans.
pub const MAX_BODY_BYTES: u64 = 100 * 1024 * 1024;

/// Bytes of one part of an object that is too large for a single request, all but the last one. Storage takes 5 MiB and
/// more; one of this size is lost and sent again in seconds on a home uplink.
pub const PART_BYTES: u64 = 16 * 1024 * 1024;

/// Most parts of one object: what storage takes.
pub const MAX_PARTS: u16 = 10_000;

/// Stems may follow a completion for so long.
pub const STEMS_WINDOW: DurationMs = DurationMs::from_secs(45 * 60);

/// Bytes of a transcript's text. Four hours of fast speech have about 200 KB.
pub const MAX_TRANSCRIPT_TEXT_BYTES: usize = 512 * 1024;

/// Words of a transcript. As JSON a word has about 45 bytes, so that with the text a transcript stays below the 2 MB that a row
/// of the store holds; four hours of fast speech have about 36,000.
pub const MAX_TRANSCRIPT_WORDS: usize = 30_000;
