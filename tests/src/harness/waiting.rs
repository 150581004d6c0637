//! Waiting for what has to happen.

use std::time::{Duration, Instant};

/// How long a test waits for something that takes no time, on a machine that has much else to do.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Asks again and again until there is an answer; returns it.
///
/// # Panics
/// There was none within `patience`.
pub fn until<T>(what: &str, patience: Duration, mut ask: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(started.elapsed() < patience, "waited {} s in vain: {what}", patience.as_secs());
        std::thread::sleep(Duration::from_millis(50));
    }
}
