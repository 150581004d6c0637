//! When to repeat a call: pure decisions, the randomness is an argument.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Times a call is repeated because the service is busy: with the pauses at most 8 s on top of what it asks for.
const BUSY_RETRIES: u32 = 5;
/// Times a call is repeated because no connection can be made: fewer, since most often nothing runs there, and somebody
/// waits to be told.
const CONNECT_RETRIES: u32 = 3;
/// First backoff; doubles with each retry.
const BACKOFF_BASE: Duration = Duration::from_millis(250);
/// Longest backoff.
const BACKOFF_CAP: Duration = Duration::from_secs(8);
/// A service that asks for a longer pause than this is reported instead of waited for.
const RETRY_AFTER_LIMIT: Duration = Duration::from_secs(60);

/// What went wrong with one try, as far as repeating is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The connection broke or stayed silent: most often a pooled connection that the server had closed.
    Broken,
    /// No connection could be made.
    NoConnection,
    /// 429, 502, 503, 504, with the pause that the service asked for.
    Busy(Option<Duration>),
    /// Repeating cannot help.
    Final,
}

/// How the next try has to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Again {
    /// Pause before it.
    pub after: Duration,
    /// Whether it must not use a pooled connection.
    pub fresh_connection: bool,
}

/// Times an upload is sent again because its connection breaks: more than a small call, since a long transfer meets more.
const BROKEN_UPLOADS: u32 = 3;

/// The tries of one call so far.
#[derive(Debug)]
pub(crate) struct Retry {
    busy: u32,
    broken: u32,
    broken_limit: u32,
}

impl Retry {
    /// For a small call: once more on a fresh connection, if the first one breaks.
    pub(crate) fn of_call() -> Self {
        Retry { busy: 0, broken: 0, broken_limit: 1 }
    }

    /// For the content of an upload.
    pub(crate) fn of_upload() -> Self {
        Retry { broken_limit: BROKEN_UPLOADS, ..Self::of_call() }
    }

    /// Decides about the next try, or `None` to give up. `jitter` is uniform in 0..1.
    pub(crate) fn next(&mut self, fault: Fault, jitter: f64) -> Option<Again> {
        match fault {
            Fault::Final => None,
            Fault::Broken => {
                self.broken += 1;
                let after = if self.broken == 1 { Duration::ZERO } else { backoff(self.broken, jitter) };
                (self.broken <= self.broken_limit).then_some(Again { after, fresh_connection: true })
            }
            Fault::NoConnection | Fault::Busy(_) => {
                self.busy += 1;
                let limit = if fault == Fault::NoConnection { CONNECT_RETRIES } else { BUSY_RETRIES };
                if self.busy > limit {
                    return None;
                }
                let asked = match fault {
                    Fault::Busy(Some(asked)) if asked > RETRY_AFTER_LIMIT => return None,
                    Fault::Busy(asked) => asked.unwrap_or(Duration::ZERO),
                    _ => Duration::ZERO,
                };
                Some(Again { after: asked + backoff(self.busy - 1, jitter), fresh_connection: true })
            }
        }
    }
}

/// Full jitter: uniform between 0 and a ceiling that doubles with each try, so that many clients do not knock in step.
pub(crate) fn backoff(earlier_tries: u32, jitter: f64) -> Duration {
    BACKOFF_BASE.saturating_mul(1 << earlier_tries.min(16)).min(BACKOFF_CAP).mul_f64(jitter.clamp(0.0, 1.0))
}

/// Uniform in 0..1, from the random keys of the standard library's hasher.
pub(crate) fn random_fraction() -> f64 {
    (RandomState::new().hash_one(0_u8) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_connection_gets_one_retry_at_once_on_a_fresh_one() {
        let mut retry = Retry::of_call();
        assert_eq!(
            retry.next(Fault::Broken, 0.5),
            Some(Again { after: Duration::ZERO, fresh_connection: true })
        );
        assert_eq!(retry.next(Fault::Broken, 0.5), None);
    }

    #[test]
    fn a_busy_service_is_asked_again_ever_later_and_not_for_ever() {
        let mut retry = Retry::of_call();
        let pauses: Vec<u128> = std::iter::from_fn(|| retry.next(Fault::Busy(None), 1.0))
            .map(|again| again.after.as_millis())
            .collect();
        assert_eq!(pauses, [250, 500, 1000, 2000, 4000]);
    }

    #[test]
    fn retry_after_is_a_lower_bound_unless_it_is_absurd() {
        let asked = Some(Duration::from_secs(3));
        let again = Retry::of_call().next(Fault::Busy(asked), 0.0).expect("one retry");
        assert_eq!(again.after, Duration::from_secs(3));
        assert_eq!(Retry::of_call().next(Fault::Busy(Some(Duration::from_secs(3600))), 0.0), None);
    }

    #[test]
    fn the_random_fraction_stays_in_its_interval_and_varies() {
        let draws: Vec<f64> = (0..64).map(|_| random_fraction()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        assert!(draws.iter().any(|draw| *draw < 0.5) && draws.iter().any(|draw| *draw > 0.5));
    }
}
