//! Times on the wire: whole milliseconds.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// Milliseconds since the Unix epoch, by the clock of whoever wrote it. Only the scheduler's own clock is ever compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TimestampMs(pub u64);

/// A length of time in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct DurationMs(pub u64);

impl DurationMs {
    /// So many whole seconds.
    pub const fn from_secs(seconds: u64) -> Self {
        Self(seconds * 1000)
    }

    /// In seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1000.0
    }
}

impl Add<DurationMs> for TimestampMs {
    type Output = TimestampMs;
    fn add(self, duration: DurationMs) -> TimestampMs {
        TimestampMs(self.0.saturating_add(duration.0))
    }
}

impl Sub for TimestampMs {
    type Output = DurationMs;
    /// Zero when `earlier` is later: clocks step back.
    fn sub(self, earlier: TimestampMs) -> DurationMs {
        DurationMs(self.0.saturating_sub(earlier.0))
    }
}
