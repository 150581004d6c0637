//! What this object has used since it was made, by what the platform bills and bounds.

use std::cell::Cell;

use worker::SqlStorage;

use super::now;
use crate::api::view::UsageView;

/// Counters of one object's life in memory. An eviction or a deploy begins them anew.
#[derive(Debug)]
pub struct Usage {
    counted: Cell<UsageView>,
}

impl Usage {
    /// Nothing yet.
    pub fn begin() -> Self {
        Self { counted: Cell::new(UsageView { since_ms: now(), ..UsageView::default() }) }
    }

    /// A request came, the upgrade of a socket included.
    pub fn request(&self) {
        self.count(|usage| usage.requests += 1);
    }

    /// A frame came in on a socket.
    pub fn frame_in(&self) {
        self.count(|usage| usage.frames_in += 1);
    }

    /// Frames went out on sockets.
    pub fn frames_out(&self, frames: u64) {
        self.count(|usage| usage.frames_out += frames);
    }

    /// The alarm went off.
    pub fn alarm(&self) {
        self.count(|usage| usage.alarms += 1);
    }

    /// The alarm was set, which is billed as a row written.
    pub fn alarm_set(&self) {
        self.count(|usage| usage.alarms_set += 1);
    }

    /// A statement read and wrote so many rows, those of indexes included.
    pub fn rows(&self, read: usize, written: usize) {
        self.count(|usage| {
            usage.rows_read += read as u64;
            usage.rows_written += written as u64;
        });
    }

    /// Everything so far, and how large the object is now.
    pub fn view(&self, sql: &SqlStorage) -> UsageView {
        const PAGE_BYTES: u64 = 64 * 1024;
        UsageView {
            database_bytes: sql.database_size() as u64,
            memory_bytes: core::arch::wasm32::memory_size(0) as u64 * PAGE_BYTES,
            ..self.counted.get()
        }
    }

    fn count(&self, add: impl FnOnce(&mut UsageView)) {
        let mut usage = self.counted.get();
        add(&mut usage);
        self.counted.set(usage);
    }
}
