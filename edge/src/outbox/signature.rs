//! Signatures by the Standard Webhooks scheme, version 1 (<https://www.standardwebhooks.com>): HMAC-SHA256.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use shared_protocol::TimestampMs;

use super::event::EventId;

/// Header of the event's id, the same with every retry.
pub const ID_HEADER: &str = "webhook-id";
/// Header of the time of this attempt, in seconds since the Unix epoch: lets the receiver refuse what is replayed by others.
pub const TIMESTAMP_HEADER: &str = "webhook-timestamp";
/// Header of the signatures.
pub const SIGNATURE_HEADER: &str = "webhook-signature";

/// How a secret begins where people see it.
pub const SECRET_PREFIX: &str = "whsec_";
/// Bytes in a secret, by the specification.
pub const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A text is no secret. It does not say which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SecretError {
    /// The prefix is missing.
    #[error("a webhook secret begins with {SECRET_PREFIX}")]
    NoPrefix,
    /// What follows the prefix is not base64.
    #[error("a webhook secret is base64 after {SECRET_PREFIX}")]
    NotBase64,
    /// Too weak or too long.
    #[error("a webhook secret has 24 to 64 bytes, this one has {bytes}")]
    BadLength {
        /// How many it has.
        bytes: usize,
    },
}

/// A key that is shared with one endpoint. Never shown in logs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Reads `whsec_<base64>`.
    ///
    /// # Errors
    /// [`SecretError`].
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let encoded = text.strip_prefix(SECRET_PREFIX).ok_or(SecretError::NoPrefix)?;
        let key = STANDARD.decode(encoded).map_err(|_| SecretError::NotBase64)?;
        if !SECRET_BYTES.contains(&key.len()) {
            return Err(SecretError::BadLength { bytes: key.len() });
        }
        Ok(Self(key))
    }

    /// The secret with this key, which must be random.
    pub fn from_key(key: [u8; 32]) -> Self {
        Self(key.to_vec())
    }

    /// The text to give to the endpoint's owner.
    pub fn reveal(&self) -> String {
        format!("{SECRET_PREFIX}{}", STANDARD.encode(&self.0))
    }

    fn sign(&self, id: &EventId, seconds: u64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes keys of any length");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl TryFrom<String> for Secret {
    type Error = SecretError;
    fn try_from(text: String) -> Result<Self, SecretError> {
        Self::parse(&text)
    }
}

impl From<Secret> for String {
    fn from(secret: Secret) -> String {
        secret.reveal()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// The headers of one attempt, made at `now`, that sends `body`. While two secrets are valid there is a signature by each,
/// separated by a space: the receiver takes any.
pub fn headers(
    secrets: &[Secret],
    id: &EventId,
    now: TimestampMs,
    body: &[u8],
) -> [(&'static str, String); 3] {
    let seconds = now.0 / 1_000;
    let signatures: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    [
        (ID_HEADER, id.to_string()),
        (TIMESTAMP_HEADER, seconds.to_string()),
        (SIGNATURE_HEADER, signatures.join(" ")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const NEW: &str = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    const BODY: &[u8] = br#"{"test": 2432232314}"#;

    fn signed(secrets: &[&str]) -> String {
        let secrets: Vec<Secret> = secrets.iter().map(|text| Secret::parse(text).unwrap()).collect();
        let id = EventId::new("msg_p5jXN8AQM9LWM0D4loKWxJek").unwrap();
        let [(_, sent_id), (_, seconds), (_, signature)] =
            headers(&secrets, &id, TimestampMs(1_614_265_330_999), BODY);
        assert_eq!((sent_id.as_str(), seconds.as_str()), (id.as_str(), "1614265330"));
        signature
    }

    #[test]
    fn the_schemes_published_example_is_signed_alike() {
        // From the specification's reference libraries. Also by hand:
        // printf '%s' 'ID.1614265330.BODY' | openssl dgst -sha256 -mac HMAC -macopt hexkey:KEY -binary | base64
        assert_eq!(signed(&[OLD]), "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn while_a_secret_is_rotated_both_are_honoured() {
        // The second one by openssl, with the key 0123456789abcdef0123456789abcdef.
        assert_eq!(
            signed(&[NEW, OLD]),
            "v1,hK4CWvngkaAwjY1pABLuUbOIkEJjW9tAapq1no4ojG0= v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
        );
    }

    #[test]
    fn a_secret_is_strong_readable_back_and_never_in_logs() {
        assert_eq!(Secret::parse("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), Err(SecretError::NoPrefix));
        assert_eq!(Secret::parse("whsec_***"), Err(SecretError::NotBase64));
        assert_eq!(Secret::parse("whsec_c2hvcnQ="), Err(SecretError::BadLength { bytes: 5 }));
        let secret = Secret::parse(OLD).unwrap();
        assert_eq!(secret.reveal(), OLD);
        assert_eq!(format!("{secret:?}"), "Secret(..)");
        assert_eq!(serde_json::from_str::<Secret>(&serde_json::to_string(&secret).unwrap()).unwrap(), secret);
    }
}
