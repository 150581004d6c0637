//! Token buckets: how many requests somebody may make.

use std::collections::BTreeMap;

use shared_protocol::TimestampMs;

/// How fast a bucket fills, and how much it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Tokens that it holds: so many may be taken at once.
    pub burst: u32,
    /// Tokens that come back within a minute.
    pub per_minute: u32,
}

impl Rate {
    /// So many within a minute, all at once if need be.
    pub fn per_minute(tokens: u32) -> Self {
        Self { burst: tokens, per_minute: tokens }
    }

    fn per_millisecond(self) -> f64 {
        f64::from(self.per_minute.max(1)) / 60_000.0
    }
}

#[derive(Debug, Clone, Copy)]
struct Bucket {
    tokens: f64,
    at: TimestampMs,
}

/// What is left for somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// Whether there was a token.
    pub admitted: bool,
    /// Whole tokens that are left.
    pub remaining: u32,
    /// Seconds after which there is a token again, at least 1; meant when none was left.
    pub retry_after_seconds: u32,
    /// Seconds after which the bucket is full again, if nothing is taken.
    pub full_after_seconds: u32,
}

/// A bounded number of buckets. They live in one isolate's memory: an isolate more means one more allowance, and what an isolate
/// forgets is forgiven.
#[derive(Debug)]
pub struct TokenBuckets<Key> {
    buckets: BTreeMap<Key, Bucket>,
    capacity: usize,
}

impl<Key: Ord + Clone> TokenBuckets<Key> {
    /// No bucket yet, and never more than `capacity`.
    pub const fn new(capacity: usize) -> Self {
        Self { buckets: BTreeMap::new(), capacity }
    }

    /// Takes a token, if there is one.
    pub fn take(&mut self, key: &Key, rate: Rate, now: TimestampMs) -> Allowance {
        let mut bucket = self.filled(key, rate, now);
        let admitted = bucket.tokens >= 1.0;
        if admitted {
            bucket.tokens -= 1.0;
        }
        if !self.buckets.contains_key(key) {
            self.make_room();
        }
        self.buckets.insert(key.clone(), bucket);
        Self::allowance(bucket, rate, admitted)
    }

    /// What is left, without taking any of it.
    pub fn peek(&self, key: &Key, rate: Rate, now: TimestampMs) -> Allowance {
        let bucket = self.filled(key, rate, now);
        Self::allowance(bucket, rate, bucket.tokens >= 1.0)
    }

    /// Gives a token back.
    pub fn give_back(&mut self, key: &Key, rate: Rate) {
        if let Some(bucket) = self.buckets.get_mut(key) {
            bucket.tokens = (bucket.tokens + 1.0).min(f64::from(rate.burst));
        }
    }

    fn filled(&self, key: &Key, rate: Rate, now: TimestampMs) -> Bucket {
        let full = f64::from(rate.burst);
        let tokens = self.buckets.get(key).map_or(full, |bucket| {
            let elapsed = (now - bucket.at).0 as f64;
            (bucket.tokens + elapsed * rate.per_millisecond()).min(full)
        });
        Bucket { tokens, at: now }
    }

    fn allowance(bucket: Bucket, rate: Rate, admitted: bool) -> Allowance {
        let seconds_to = |tokens: f64| {
            let missing = (tokens - bucket.tokens).max(0.0);
            (missing / rate.per_millisecond() / 1000.0).ceil() as u32
        };
        Allowance {
            admitted,
            remaining: bucket.tokens as u32,
            retry_after_seconds: seconds_to(1.0).max(1),
            full_after_seconds: seconds_to(f64::from(rate.burst)),
        }
    }

    /// Forgets the bucket that was used least recently when there is no room for another.
    fn make_room(&mut self) {
        if self.buckets.len() < self.capacity {
            return;
        }
        let oldest = self.buckets.iter().min_by_key(|(_, bucket)| bucket.at).map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.buckets.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREE: Rate = Rate { burst: 3, per_minute: 60 };

    fn taken(buckets: &mut TokenBuckets<u8>, key: u8, at: u64) -> bool {
        buckets.take(&key, THREE, TimestampMs(at)).admitted
    }

    #[test]
    fn a_burst_empties_the_bucket_and_a_second_brings_one_token_back() {
        let mut buckets = TokenBuckets::new(8);
        assert_eq!([0, 1, 2, 3].map(|at| taken(&mut buckets, 1, at)), [true, true, true, false]);
        let refused = buckets.take(&1, THREE, TimestampMs(10));
        assert_eq!((refused.admitted, refused.remaining, refused.retry_after_seconds), (false, 0, 1));
        assert!(taken(&mut buckets, 1, 1_100));
        assert!(!taken(&mut buckets, 1, 1_200));
    }

    #[test]
    fn what_is_given_back_can_be_taken_again_and_is_no_more_than_it_was() {
        let mut buckets = TokenBuckets::new(8);
        for _ in 0..9 {
            assert!(taken(&mut buckets, 1, 0));
            buckets.give_back(&1, THREE);
            buckets.give_back(&1, THREE);
        }
        assert_eq!([0, 0, 0, 0].map(|at| taken(&mut buckets, 1, at)), [true, true, true, false]);
    }

    #[test]
    fn one_key_takes_nothing_of_another_ones() {
        let mut buckets = TokenBuckets::new(8);
        for at in 0..9 {
            taken(&mut buckets, 1, at);
        }
        assert!(taken(&mut buckets, 2, 10));
    }

    #[test]
    fn looking_takes_nothing() {
        let mut buckets = TokenBuckets::new(8);
        for _ in 0..9 {
            assert_eq!(buckets.peek(&1, THREE, TimestampMs(5)).remaining, 3);
        }
        taken(&mut buckets, 1, 5);
        assert_eq!(buckets.peek(&1, THREE, TimestampMs(5)).remaining, 2);
    }

    #[test]
    fn a_flood_of_names_keeps_no_more_buckets_than_there_is_room_for() {
        let mut buckets = TokenBuckets::new(4);
        for at in 0..4 {
            taken(&mut buckets, 200, at);
        }
        for key in 0..100 {
            taken(&mut buckets, key, 10 + u64::from(key));
            taken(&mut buckets, 200, 10 + u64::from(key));
        }
        assert!(buckets.buckets.len() <= 4);
        assert!(!taken(&mut buckets, 200, 110), "whoever is busy is not forgotten, and so not forgiven");
    }

    #[test]
    fn a_clock_that_steps_back_gives_nothing_and_takes_nothing() {
        let mut buckets = TokenBuckets::new(4);
        for at in 1_000_000..1_000_003 {
            taken(&mut buckets, 1, at);
        }
        assert!(!taken(&mut buckets, 1, 5));
        assert!(taken(&mut buckets, 1, 1_100));
    }

    #[test]
    fn a_slow_rate_says_how_long_to_wait() {
        let slow = Rate::per_minute(2);
        let mut buckets = TokenBuckets::new(4);
        buckets.take(&1, slow, TimestampMs(0));
        buckets.take(&1, slow, TimestampMs(0));
        let refused = buckets.take(&1, slow, TimestampMs(0));
        assert_eq!((refused.retry_after_seconds, refused.full_after_seconds), (30, 60));
    }
}
