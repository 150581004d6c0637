//! When a delivery that failed is tried again, and when it is given up.

use sha2::{Digest, Sha256};
use shared_protocol::{DurationMs, TimestampMs};

use super::event::{EndpointId, EventId};

/// Upper bound of the pause after the first failure; doubles with each.
pub const BACKOFF_BASE: DurationMs = DurationMs::from_secs(5);

/// Upper bound of any pause.
pub const BACKOFF_CAP: DurationMs = DurationMs::from_secs(12 * 60 * 60);

/// Lower bound of any pause: full jitter alone may come out at zero.
pub const BACKOFF_MIN: DurationMs = DurationMs::from_secs(1);

/// An event is given up after so many attempts. With the pauses above 25 of them take about 3 days on average.
pub const MAX_ATTEMPTS: u32 = 25;

/// An event is given up when it is so old, after one last attempt. Standard Webhooks' recommended schedule ends after as long.
pub const MAX_AGE: DurationMs = DurationMs::from_secs(3 * 24 * 60 * 60);

/// An endpoint's `Retry-After` is honoured up to this.
pub const MAX_RETRY_AFTER: DurationMs = DurationMs::from_secs(60 * 60);

/// The pause after failure number `attempts` (from 1): exponential with full jitter, so that events which failed
/// together come back apart. The chance is drawn from the event, the endpoint and the attempt: a replay draws the same.
pub fn backoff(event: &EventId, endpoint: &EndpointId, attempts: u32) -> DurationMs {
    let doublings = attempts.saturating_sub(1).min(32);
    let bound = (BACKOFF_BASE.0 << doublings).min(BACKOFF_CAP.0);
    let digest = Sha256::digest(format!("{event}/{endpoint}/{attempts}"));
    let drawn = u64::from_be_bytes(digest[..8].try_into().expect("a SHA-256 digest has 32 bytes"));
    // The upper 64 bits of the product: a number below `bound`, uniformly.
    let pause = (u128::from(drawn) * u128::from(bound)) >> 64;
    DurationMs(pause as u64).max(BACKOFF_MIN)
}

/// When an event is due again after failure number `attempts`, or `None` when it is to be given up.
pub fn next_attempt(
    event: &EventId,
    endpoint: &EndpointId,
    attempts: u32,
    queued_at: TimestampMs,
    now: TimestampMs,
) -> Option<TimestampMs> {
    let expires = queued_at + MAX_AGE;
    if attempts >= MAX_ATTEMPTS || now >= expires {
        return None;
    }
    Some((now + backoff(event, endpoint, attempts)).min(expires))
}

/// Reads a `Retry-After` header given in seconds. Its other form, a date, is rare and counts as absent: the usual
/// backoff applies.
pub fn parse_retry_after(header: &str) -> Option<DurationMs> {
    let seconds: u64 = header.trim().parse().ok()?;
    Some(DurationMs(seconds.saturating_mul(1_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u32) -> EventId {
        EventId::new(format!("msg_{n}")).unwrap()
    }

    fn endpoint() -> EndpointId {
        EndpointId::new("ep_1").unwrap()
    }

    #[test]
    fn pauses_double_up_to_a_bound_and_are_spread_over_all_of_it() {
        for (attempts, bound) in
            [(1, 5_000), (2, 10_000), (5, 80_000), (14, 40_960_000), (15, 43_200_000), (90, 43_200_000)]
        {
            let pauses: Vec<u64> = (0..2_000).map(|n| backoff(&id(n), &endpoint(), attempts).0).collect();
            assert!(pauses.iter().all(|p| *p <= bound && *p >= BACKOFF_MIN.0), "attempt {attempts}");
            let mean = pauses.iter().sum::<u64>() as f64 / pauses.len() as f64 / bound as f64;
            assert!((0.45..0.57).contains(&mean), "attempt {attempts}: mean {mean} of the bound");
            assert!(pauses.iter().any(|p| *p > bound * 9 / 10));
        }
        assert_eq!(backoff(&id(1), &endpoint(), 4), backoff(&id(1), &endpoint(), 4));
    }

    #[test]
    fn an_event_is_tried_for_about_three_days_and_last_at_its_very_end() {
        let mut spans = vec![];
        for n in 0..200 {
            let (mut now, mut attempts) = (TimestampMs(0), 1);
            while let Some(due) = next_attempt(&id(n), &endpoint(), attempts, TimestampMs(0), now) {
                now = due;
                attempts += 1;
            }
            assert!(now.0 <= MAX_AGE.0);
            spans.push(now.0 as f64 / 3_600_000.0);
        }
        let mean = spans.iter().sum::<f64>() / spans.len() as f64;
        assert!((55.0..=72.0).contains(&mean), "mean {mean} h");
    }

    #[test]
    fn a_retry_after_that_cannot_be_read_is_as_good_as_none() {
        assert_eq!(parse_retry_after(" 120 "), Some(DurationMs(120_000)));
        assert_eq!(parse_retry_after("18446744073709551615"), Some(DurationMs(u64::MAX)));
        for header in ["", "-1", "1.5", "Wed, 21 Oct 2026 07:28:00 GMT"] {
            assert_eq!(parse_retry_after(header), None);
        }
    }
}
