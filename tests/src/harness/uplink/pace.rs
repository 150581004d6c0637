//! Bandwidth that connections share: bytes leave one after the other, each when those before it have left.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// One direction of a line.
#[derive(Debug)]
pub struct Pace(Mutex<State>);

#[derive(Debug)]
struct State {
    bytes_per_second: Option<u64>,
    /// When everything that was let through so far has left.
    free_at: Option<Instant>,
}

impl Pace {
    /// A direction of so many bytes per second.
    pub fn new(bytes_per_second: Option<u64>) -> Self {
        Self(Mutex::new(State { bytes_per_second, free_at: None }))
    }

    /// Changes its bandwidth.
    pub fn set_rate(&self, bytes_per_second: Option<u64>) {
        self.state().bytes_per_second = bytes_per_second;
    }

    /// When these bytes have left, if they begin to as soon as those before them have.
    pub fn leaves_at(&self, bytes: usize, now: Instant) -> Instant {
        let mut state = self.state();
        let Some(rate) = state.bytes_per_second else { return now };
        let begins = state.free_at.map_or(now, |free| free.max(now));
        let ends = begins + Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64);
        state.free_at = Some(ends);
        ends
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_share_the_bandwidth_and_an_idle_line_saves_nothing_up() {
        let pace = Pace::new(Some(1_000));
        let start = Instant::now();
        let after = |instant: Instant| (instant - start).as_millis();
        assert_eq!(after(pace.leaves_at(500, start)), 500);
        assert_eq!(after(pace.leaves_at(500, start)), 1_000, "behind what came before");
        let later = start + Duration::from_secs(60);
        assert_eq!(after(pace.leaves_at(100, later)), 60_100);
        pace.set_rate(None);
        assert_eq!(after(pace.leaves_at(1 << 30, later)), 60_000);
    }
}
