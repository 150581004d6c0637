//! What happened, for people who replay a seed, and as a digest for those who compare two runs.

use std::fmt::Write;

/// FNV-1a, 64 bit.
const OFFSET: u64 = 0xCBF2_9CE4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01B3;

/// The record of a run.
pub struct Trace {
    digest: u64,
    text: Option<String>,
    now: u64,
}

impl Trace {
    /// A record; with `text` it keeps every line.
    pub fn new(text: bool) -> Self {
        Self { digest: OFFSET, text: text.then(String::new), now: 0 }
    }

    /// Time goes on.
    pub fn at(&mut self, now: u64) {
        self.now = now;
    }

    /// Notes a number that has to be the same in the same run.
    pub fn mix(&mut self, number: u64) {
        for byte in number.to_le_bytes() {
            self.digest = (self.digest ^ u64::from(byte)).wrapping_mul(PRIME);
        }
    }

    /// Notes a line. It is only made when somebody wants to read it.
    pub fn line(&mut self, actor: impl std::fmt::Display, what: impl FnOnce() -> String) {
        let now = self.now;
        let Some(text) = &mut self.text else { return };
        let clock = format!(
            "{:02}:{:02}:{:02}.{:03}",
            now / 3_600_000,
            now / 60_000 % 60,
            now / 1_000 % 60,
            now % 1_000
        );
        // Writing to a text cannot fail.
        let _written: std::fmt::Result = writeln!(text, "{clock}  {actor:<12} {}", what());
    }

    /// The digest of everything so far.
    pub fn digest(&self) -> u64 {
        self.digest
    }

    /// The lines.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}
