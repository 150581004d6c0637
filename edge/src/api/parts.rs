//! Objects that are too large for one request: announced, put in parts, and completed.

use serde::{Deserialize, Serialize};
use shared_protocol::limits::{MAX_PARTS, PART_BYTES};

use super::request::RequestError;
use crate::digest::sha256_from_hex;

/// Bytes of the body that completes an object: 10,000 parts with the long names that storage gives them.
pub const MAX_COMPLETION_BYTES: u64 = 8 * 1024 * 1024;

/// Largest object.
const MAX_OBJECT_BYTES: u64 = PART_BYTES * MAX_PARTS as u64;

/// What is done with an object of many parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartsStep {
    /// Announce it.
    Create,
    /// Put this part, from 1.
    Put(u16),
    /// Make the object of its parts.
    Complete,
    /// Throw its parts away.
    Abort,
}

impl PartsStep {
    /// Reads the last part of a path: a part's number in its one spelling, `complete`, or `abort`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "complete" => Some(Self::Complete),
            "abort" => Some(Self::Abort),
            number => {
                let part: u16 = number.parse().ok()?;
                let fits = (1..=MAX_PARTS).contains(&part) && part.to_string() == number;
                fits.then_some(Self::Put(part))
            }
        }
    }
}

/// The object as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WholeObject {
    /// Bytes.
    pub size: u64,
    /// SHA-256 of the bytes in hex.
    pub sha256: String,
    /// Media type.
    #[serde(default)]
    pub content_type: Option<String>,
    /// Its parts in their order, when it is completed.
    #[serde(default)]
    pub parts: Vec<PartName>,
}

/// One part that was put.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PartName {
    /// From 1.
    pub part_number: u16,
    /// As storage names it.
    pub etag: String,
}

/// Answer to an announced object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PartsCreated {
    /// Goes into the query of all that follows.
    pub upload_id: String,
}

impl WholeObject {
    /// Checks the values.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn checked(mut self) -> Result<Self, RequestError> {
        if self.size > MAX_OBJECT_BYTES {
            return Err(RequestError::TooLarge { limit: MAX_OBJECT_BYTES });
        }
        self.sha256 = self.sha256.to_ascii_lowercase();
        if sha256_from_hex(&self.sha256).is_none() {
            let reason = "is not a SHA-256 in 64 hex digits".to_owned();
            return Err(RequestError::Field { field: "sha256", reason });
        }
        Ok(self)
    }

    /// Whether bytes of this hash and number are the announced ones.
    pub fn is(&self, size: u64, sha256: &[u8]) -> bool {
        self.size == size && sha256_from_hex(&self.sha256).is_some_and(|announced| announced == *sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_has_one_spelling_and_no_part_lies_beyond_what_storage_takes() {
        assert_eq!(PartsStep::parse("1"), Some(PartsStep::Put(1)));
        assert_eq!(PartsStep::parse("10000"), Some(PartsStep::Put(10_000)));
        assert_eq!(PartsStep::parse("complete"), Some(PartsStep::Complete));
        for text in ["0", "01", "+1", "10001", "70000", "-1", "", "Complete"] {
            assert_eq!(PartsStep::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn an_object_is_what_was_announced_or_it_is_not() {
        let whole = |size, sha256: &str| WholeObject {
            size,
            sha256: sha256.into(),
            content_type: None,
            parts: vec![],
        };
        let object = whole(9, &"AB".repeat(32)).checked().unwrap();
        assert!(object.is(9, &[0xab; 32]));
        assert!(!object.is(8, &[0xab; 32]) && !object.is(9, &[0xac; 32]) && !object.is(9, &[0xab; 31]));
        assert!(whole(9, "ab").checked().is_err());
        assert!(whole(u64::MAX, &"ab".repeat(32)).checked().is_err());
    }
}
