//! Pauses between attempts to connect: exponential with full jitter, capped, for ever.

use shared_protocol::DurationMs;
use shared_protocol::limits::RECONNECT_MAX_BACKOFF;

/// Ceiling of the first pause. After a restart of the scheduler a fleet of 100 comes back at about 100 connections a
/// second, which one scheduler takes easily.
const FIRST_CEILING: DurationMs = DurationMs(1_000);

/// The pauses of one link.
#[derive(Debug, Clone)]
pub struct Backoff {
    random: u64,
    failures: u32,
}

impl Backoff {
    /// Pauses drawn from `seed`: equal seeds draw equal pauses.
    pub fn new(seed: u64) -> Self {
        Self { random: seed, failures: 0 }
    }

    /// The next pause: uniform between nothing and a ceiling that doubles with every failure in a row, up to
    /// [`RECONNECT_MAX_BACKOFF`]. Full jitter, because a fleet that lost its scheduler at one moment must not knock in step.
    pub fn next_pause(&mut self) -> DurationMs {
        let doubled = FIRST_CEILING.0.saturating_mul(1 << self.failures.min(20));
        let ceiling = doubled.min(RECONNECT_MAX_BACKOFF.0);
        self.failures = self.failures.saturating_add(1);
        DurationMs(self.draw() % (ceiling + 1))
    }

    /// The connection has proved itself: the next pause is a short one.
    pub fn reset(&mut self) {
        self.failures = 0;
    }

    /// SplitMix64 (Steele, Lea and Flood, 2014).
    fn draw(&mut self) -> u64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_the_cap_and_stay_there_for_ever() {
        let mut means = Vec::new();
        let mut links: Vec<Backoff> = (0..500).map(Backoff::new).collect();
        for _ in 0..40 {
            let pauses: Vec<u64> = links.iter_mut().map(|link| link.next_pause().0).collect();
            assert!(pauses.iter().all(|p| *p <= RECONNECT_MAX_BACKOFF.0));
            means.push(pauses.iter().sum::<u64>() / 500);
        }
        assert!((400..600).contains(&means[0]), "first pauses are about half a second: {}", means[0]);
        assert!((4_500..5_500).contains(&means[39]), "late pauses are about half the cap: {}", means[39]);
    }

    #[test]
    fn a_fleet_that_lost_its_scheduler_does_not_knock_in_step() {
        let mut knocks = [0u32; 10];
        for seed in 0..1_000 {
            let pause = Backoff::new(seed).next_pause().0;
            knocks[(pause / 101) as usize] += 1;
        }
        let busiest = knocks.iter().max().copied().unwrap();
        assert!(busiest <= 150, "1,000 workers over ten slices, 100 each on average: {knocks:?}");
    }
}
