//! The text of a tenant's key: `mfk.{tenant}.{keyId}.{secret}`. It says which object to ask, and what to ask it for.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shared_protocol::TenantId;

use crate::digest::{sha256_from_hex, to_hex};

/// What every such key begins with: secret scanners find it by that.
const PREFIX: &str = "mfk.";

/// Random bytes of a secret, and characters of them in base64url.
const SECRET_BYTES: usize = 32;
const SECRET_LENGTH: usize = 43;

/// Characters of a key's name at most.
const MAX_KEY_ID_LENGTH: usize = 40;

/// The name of a tenant's key. No dot is in it, as there may be in a tenant's: a key's text is read from its end.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct KeyId(String);

impl KeyId {
    /// Takes a text as a key's name.
    pub fn new(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let safe = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-');
        let fits = (1..=MAX_KEY_ID_LENGTH).contains(&text.len()) && text.bytes().all(safe);
        fits.then_some(Self(text))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for KeyId {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        Self::new(text).ok_or_else(|| format!("a key's name is 1 to {MAX_KEY_ID_LENGTH} of A-Z a-z 0-9 _ -"))
    }
}

impl From<KeyId> for String {
    fn from(id: KeyId) -> Self {
        id.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// SHA-256 of a key's whole text: all that is kept of it, and all that is ever asked with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KeyHash(pub [u8; 32]);

impl KeyHash {
    /// The hash of a presented text.
    pub fn of(text: &str) -> Self {
        Self(Sha256::digest(text.as_bytes()).into())
    }
}

impl TryFrom<String> for KeyHash {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        sha256_from_hex(&text).map(Self).ok_or("a key's hash is 64 hex digits")
    }
}

impl From<KeyHash> for String {
    fn from(hash: KeyHash) -> Self {
        to_hex(&hash.0)
    }
}

/// Whose key a text claims to be, and which one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyClaim {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub key_id: KeyId,
}

impl KeyClaim {
    /// Reads a presented text. Whatever has another form is refused here and asked of nobody.
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, secret) = text.strip_prefix(PREFIX)?.rsplit_once('.')?;
        let (tenant, key_id) = rest.rsplit_once('.')?;
        let bytes = URL_SAFE_NO_PAD.decode(secret).ok()?;
        if secret.len() != SECRET_LENGTH || bytes.len() != SECRET_BYTES {
            return None;
        }
        Some(Self { tenant: TenantId::new(tenant).ok()?, key_id: KeyId::new(key_id)? })
    }

    /// The text of the key with this secret. It is shown once and kept nowhere.
    pub fn text(&self, secret: &[u8; SECRET_BYTES]) -> String {
        let Self { tenant, key_id } = self;
        format!("{PREFIX}{tenant}.{key_id}.{}", URL_SAFE_NO_PAD.encode(secret))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(tenant: &str, key_id: &str) -> KeyClaim {
        KeyClaim { tenant: TenantId::new(tenant).unwrap(), key_id: KeyId::new(key_id).unwrap() }
    }

    #[test]
    fn a_key_says_whose_it_is_even_if_its_tenant_has_dots() {
        for tenant in ["acme", "acme.example.com", "a.key_1"] {
            let text = claim(tenant, "key_1").text(&[255; 32]);
            assert_eq!(KeyClaim::parse(&text), Some(claim(tenant, "key_1")), "{text}");
            assert_eq!(text.rsplit('.').next().map(str::len), Some(SECRET_LENGTH));
        }
    }

    #[test]
    fn what_has_not_the_form_of_a_key_is_asked_of_nobody() {
        let good = claim("acme", "key_1").text(&[7; 32]);
        let cut = good.strip_suffix('c').unwrap_or(&good[..good.len() - 1]);
        for bad in [
            "",
            "mfk.",
            "mfk.acme.key_1.",
            "mfk..key_1.AAAA",
            cut,
            &format!("{good}A"),
            &format!("{good}="),
            &good.replace("mfk.", "mfx."),
            &good.replace("acme", ".acme"),
            &good.replace("key_1", "key 1"),
            &good.replace("key_1", &"k".repeat(41)),
            &good.replace("BwcHBw", "Bwc+Bw"),
        ] {
            assert_eq!(KeyClaim::parse(bad), None, "{bad:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "(mfk\\.)?[a-zA-Z0-9._=+ -]{0,80}") {
            let _claim = KeyClaim::parse(&text);
        }
    }
}
