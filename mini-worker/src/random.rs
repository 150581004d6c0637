//! Randomness for jitter and for telling runs apart; not for secrets.

use std::hash::{BuildHasher, RandomState};

/// A number that nobody foresees: the standard library's hash keys, which come from the system.
pub fn seed() -> u64 {
    RandomState::new().hash_one(0u8)
}
