//! What a stateless Worker remembers of keys that it has asked about, in its isolate's memory.

use std::collections::BTreeMap;

use shared_protocol::{DurationMs, TimestampMs};

use crate::api::key::Client;
use crate::tenant::key_text::KeyHash;

/// How long an answer holds, counted from before it was asked for: a key that was revoked is dead everywhere after that.
pub const VALID_FOR: DurationMs = DurationMs::from_secs(10);

/// How long a refusal holds: long enough that a client that tries again and again wakes nobody.
const REFUSED_FOR: DurationMs = DurationMs::from_secs(5);

/// Keys of each kind that are remembered, about 200 bytes each.
const CAPACITY: usize = 1024;

/// A key that was found valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownKey {
    /// Who presents it.
    pub client: Client,
    /// Requests of this key within a minute.
    pub requests_per_minute: u32,
    /// When it ends by itself.
    pub until: Option<TimestampMs>,
}

/// What is remembered of a presented key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remembered {
    /// It is valid.
    Valid(KnownKey),
    /// It is not.
    Refused,
    /// Its tenant's object has to be asked.
    Nothing {
        /// It was valid when it was asked about last: whoever presents it is no stranger.
        was_valid: bool,
    },
}

/// Answers about keys. What is refused has a room of its own: a flood of made-up keys drives out no valid one.
#[derive(Debug, Default)]
pub struct KeyCache {
    valid: BTreeMap<KeyHash, (TimestampMs, KnownKey)>,
    refused: BTreeMap<KeyHash, TimestampMs>,
}

impl KeyCache {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { valid: BTreeMap::new(), refused: BTreeMap::new() }
    }

    /// What is known of a key at a moment.
    pub fn look_up(&self, hash: &KeyHash, now: TimestampMs) -> Remembered {
        if self.refused.get(hash).is_some_and(|asked_at| holds(*asked_at, REFUSED_FOR, now)) {
            return Remembered::Refused;
        }
        match self.valid.get(hash) {
            Some((asked_at, known)) if holds(*asked_at, VALID_FOR, now) => {
                if known.until.is_none_or(|end| now < end) {
                    Remembered::Valid(known.clone())
                } else {
                    Remembered::Nothing { was_valid: true }
                }
            }
            Some(_) => Remembered::Nothing { was_valid: true },
            None => Remembered::Nothing { was_valid: false },
        }
    }

    /// Remembers an answer; `asked_at` is from before the question was sent.
    pub fn remember(&mut self, hash: KeyHash, asked_at: TimestampMs, answer: Option<KnownKey>) {
        match answer {
            Some(known) => {
                // An answer that was asked for earlier and came later is the older one.
                let newest = self.valid.get(&hash).map(|(at, _)| at).max(self.refused.get(&hash));
                if newest.is_none_or(|at| *at <= asked_at) {
                    self.refused.remove(&hash);
                    make_room(&mut self.valid, &hash, |(at, _)| *at);
                    self.valid.insert(hash, (asked_at, known));
                }
            }
            None => {
                self.valid.remove(&hash);
                make_room(&mut self.refused, &hash, |at| *at);
                self.refused.insert(hash, asked_at);
            }
        }
    }
}

/// An answer from the future is none: the clock has stepped back.
fn holds(asked_at: TimestampMs, time: DurationMs, now: TimestampMs) -> bool {
    asked_at <= now && now < asked_at + time
}

fn make_room<T>(entries: &mut BTreeMap<KeyHash, T>, new: &KeyHash, at: impl Fn(&T) -> TimestampMs) {
    if entries.len() < CAPACITY || entries.contains_key(new) {
        return;
    }
    if let Some(oldest) = entries.iter().min_by_key(|(_, entry)| at(entry)).map(|(hash, _)| *hash) {
        entries.remove(&oldest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shared_protocol::TenantId;

    fn known(until: Option<u64>) -> KnownKey {
        let tenant = TenantId::new("acme").unwrap();
        KnownKey {
            client: Client { key_id: "key_1".into(), tenant, may_write: true },
            requests_per_minute: 600,
            until: until.map(TimestampMs),
        }
    }

    fn hash(number: usize) -> KeyHash {
        KeyHash::of(&number.to_string())
    }

    #[test]
    fn a_key_that_was_revoked_is_asked_about_at_most_ten_seconds_later() {
        let mut cache = KeyCache::new();
        cache.remember(hash(1), TimestampMs(1_000), Some(known(None)));
        assert_eq!(cache.look_up(&hash(1), TimestampMs(10_999)), Remembered::Valid(known(None)));
        assert_eq!(cache.look_up(&hash(1), TimestampMs(11_000)), Remembered::Nothing { was_valid: true });
        cache.remember(hash(1), TimestampMs(11_000), None);
        assert_eq!(cache.look_up(&hash(1), TimestampMs(11_001)), Remembered::Refused);
    }

    #[test]
    fn a_key_that_ends_by_itself_ends_on_time() {
        let mut cache = KeyCache::new();
        cache.remember(hash(1), TimestampMs(1_000), Some(known(Some(2_000))));
        assert_eq!(cache.look_up(&hash(1), TimestampMs(1_999)), Remembered::Valid(known(Some(2_000))));
        assert_eq!(cache.look_up(&hash(1), TimestampMs(2_000)), Remembered::Nothing { was_valid: true });
    }

    #[test]
    fn a_slow_answer_from_before_a_revocation_does_not_bring_the_key_back() {
        let mut cache = KeyCache::new();
        cache.remember(hash(1), TimestampMs(5_000), None);
        cache.remember(hash(1), TimestampMs(1_000), Some(known(None)));
        assert_eq!(cache.look_up(&hash(1), TimestampMs(5_001)), Remembered::Refused);
        cache.remember(hash(2), TimestampMs(5_000), Some(known(Some(9_000))));
        cache.remember(hash(2), TimestampMs(1_000), Some(known(None)));
        assert_eq!(cache.look_up(&hash(2), TimestampMs(5_001)), Remembered::Valid(known(Some(9_000))));
    }

    #[test]
    fn a_flood_of_made_up_keys_drives_out_no_valid_one() {
        let mut cache = KeyCache::new();
        cache.remember(hash(0), TimestampMs(1), Some(known(None)));
        for number in 1..=3 * CAPACITY {
            cache.remember(hash(number), TimestampMs(1 + number as u64), None);
        }
        assert_eq!(cache.refused.len(), CAPACITY);
        assert_eq!(cache.look_up(&hash(0), TimestampMs(4_000)), Remembered::Valid(known(None)));
        assert_eq!(cache.look_up(&hash(3 * CAPACITY), TimestampMs(4_000)), Remembered::Refused);
    }

    #[test]
    fn answers_from_a_clock_that_was_ahead_do_not_hold() {
        let mut cache = KeyCache::new();
        cache.remember(hash(1), TimestampMs(90_000), Some(known(None)));
        assert_eq!(cache.look_up(&hash(1), TimestampMs(5)), Remembered::Nothing { was_valid: true });
    }
}
