//! A tenant's key as its object keeps it: hashes, what it may, and until when.

use serde::{Deserialize, Serialize};
use shared_protocol::{DurationMs, TimestampMs};
use subtle::{Choice, ConstantTimeEq};

use super::key_text::{KeyHash, KeyId};

/// What the holder of a key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Everything that is its tenant's.
    #[default]
    Full,
    /// Look and listen.
    Read,
}

/// One secret of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SecretRow {
    /// The hash of the key's text.
    pub sha256: KeyHash,
    /// Until when it is valid, if a newer one has replaced it.
    #[serde(default, rename = "untilMs")]
    pub until: Option<TimestampMs>,
}

/// A key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeyRow {
    /// Its name.
    pub key_id: KeyId,
    /// What it is for, in the operator's words.
    #[serde(default)]
    pub label: String,
    /// What it may.
    #[serde(default)]
    pub role: Role,
    /// When it was made.
    #[serde(rename = "createdAtMs")]
    pub created_at: TimestampMs,
    /// Until when it is valid; for ever when absent.
    #[serde(default, rename = "expiresAtMs")]
    pub expires_at: Option<TimestampMs>,
    /// Since when it is not valid any more.
    #[serde(default, rename = "revokedAtMs")]
    pub revoked_at: Option<TimestampMs>,
    /// Its secrets, the newest first: one, or two during a rotation.
    pub secrets: Vec<SecretRow>,
}

/// What a presented key is good for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// What its holder may.
    pub role: Role,
    /// When it ends by itself: the key's end, or that of the older secret's grace.
    #[serde(rename = "untilMs")]
    pub until: Option<TimestampMs>,
}

impl KeyRow {
    /// Whether it opens anything at a moment.
    pub fn is_valid(&self, now: TimestampMs) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|end| now < end)
    }

    /// What a presented text is good for, by its hash. Every secret is compared, in constant time.
    pub fn verify(&self, presented: KeyHash, now: TimestampMs) -> Option<Grant> {
        let mut known = Choice::from(0);
        let mut until = None;
        for secret in &self.secrets {
            let equal = secret.sha256.0.as_slice().ct_eq(presented.0.as_slice());
            if bool::from(equal) {
                until = secret.until;
            }
            known |= equal;
        }
        let is_in_grace = until.is_none_or(|end| now < end);
        let until = [until, self.expires_at].into_iter().flatten().min();
        (bool::from(known) && is_in_grace && self.is_valid(now)).then_some(Grant { role: self.role, until })
    }

    /// Gives it another secret; the latest one stays valid for a while, older ones do not. Says whether that changed anything: a
    /// repeated call does not.
    pub fn rotate(&mut self, sha256: KeyHash, grace: DurationMs, now: TimestampMs) -> bool {
        if self.secrets.first().is_some_and(|newest| newest.sha256 == sha256) {
            return false;
        }
        self.secrets.truncate(1);
        for older in &mut self.secrets {
            older.until = Some(now + grace);
        }
        self.secrets.insert(0, SecretRow { sha256, until: None });
        true
    }

    /// Ends it. Says whether that changed anything.
    pub fn revoke(&mut self, now: TimestampMs) -> bool {
        let was_valid = self.revoked_at.is_none();
        self.revoked_at.get_or_insert(now);
        was_valid
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn key() -> KeyRow {
        KeyRow {
            key_id: KeyId::new("key_1").unwrap(),
            label: "backend".into(),
            role: Role::Read,
            created_at: TimestampMs(1),
            expires_at: None,
            revoked_at: None,
            secrets: vec![SecretRow { sha256: KeyHash::of("first"), until: None }],
        }
    }

    fn opens(key: &KeyRow, text: &str, at: u64) -> bool {
        key.verify(KeyHash::of(text), TimestampMs(at)).is_some()
    }

    #[test]
    fn a_rotated_keys_older_secret_is_valid_until_its_grace_ends() {
        let mut key = key();
        assert!(key.rotate(KeyHash::of("second"), DurationMs(10), TimestampMs(100)));
        assert!(opens(&key, "first", 109) && opens(&key, "second", 109));
        assert!(!opens(&key, "first", 110) && opens(&key, "second", 110));
        let grant = key.verify(KeyHash::of("first"), TimestampMs(105));
        assert_eq!(grant, Some(Grant { role: Role::Read, until: Some(TimestampMs(110)) }));
    }

    #[test]
    fn a_second_rotation_ends_the_first_ones_grace_and_a_repeated_one_changes_nothing() {
        let mut key = key();
        key.rotate(KeyHash::of("second"), DurationMs(1000), TimestampMs(100));
        let rotated = key.clone();
        assert!(!key.rotate(KeyHash::of("second"), DurationMs(1000), TimestampMs(200)));
        assert_eq!(key, rotated);
        key.rotate(KeyHash::of("third"), DurationMs(1000), TimestampMs(200));
        assert!(!opens(&key, "first", 201) && opens(&key, "second", 201) && opens(&key, "third", 201));
        key.rotate(KeyHash::of("fourth"), DurationMs(0), TimestampMs(300));
        assert!(!opens(&key, "third", 300) && opens(&key, "fourth", 300), "no grace is none");
    }

    #[test]
    fn a_revoked_or_expired_key_opens_nothing() {
        let mut key = key();
        key.expires_at = Some(TimestampMs(50));
        assert!(opens(&key, "first", 49) && !opens(&key, "first", 50));
        assert!(key.revoke(TimestampMs(10)) && !key.revoke(TimestampMs(20)));
        assert_eq!(key.revoked_at, Some(TimestampMs(10)), "the first revocation counts");
        assert!(!opens(&key, "first", 11));
    }

    #[test]
    fn no_other_text_opens_it() {
        for text in ["", "firs", "first ", "FIRST"] {
            assert!(!opens(&key(), text, 5), "{text:?}");
        }
    }
}
