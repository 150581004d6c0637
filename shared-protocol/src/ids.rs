//! Typed identifiers. All are opaque texts of a safe alphabet, so that they can stand in URLs, object keys and logs.

use serde::{Deserialize, Serialize};
use std::fmt;

use crate::limits::MAX_ID_LENGTH;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    /// The text is empty.
    #[error("an id is empty")]
    Empty,
    /// The text is longer than [`MAX_ID_LENGTH`] characters.
    #[error("an id is longer than {MAX_ID_LENGTH} characters")]
    TooLong,
    /// The text has a character outside `A-Z a-z 0-9 _ . -`, or begins with one of `. -`.
    #[error("an id may hold only A-Z a-z 0-9 _ . - and may not begin with . or -")]
    BadCharacter,
}

fn check(text: &str) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > MAX_ID_LENGTH {
        return Err(IdError::TooLong);
    }
    let safe = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.' | b'-');
    // A leading dot or dash would let an id read as a relative path or an option.
    if !text.bytes().all(safe) || text.starts_with(['.', '-']) {
        return Err(IdError::BadCharacter);
    }
    Ok(())
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(#[cfg_attr(feature = "schema", schemars(length(min = 1, max = 64), regex(pattern = "^[A-Za-z0-9_][A-Za-z0-9_.-]*$")))] String);

        impl $name {
            /// Checks a text and takes it as an id.
            ///
            /// # Errors
            /// [`IdError`] when the text is empty, too long, or has an unsafe character.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text)?;
                Ok(Self(text))
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// One restore of one upload, given out by the scheduler: `job_...`.
    JobId
);
id!(
    /// One recording that a client put into storage: `upl_...`.
    UploadId
);
id!(
    /// One recording that a product works on, with its transcripts and its generations: `prj_...`.
    ProjectId
);
id!(
    /// One restore that a product asked for: `gen_...`.
    GenerationId
);
id!(
    /// One worker, named by its operator and stable over restarts, such as `mini-1`.
    WorkerId
);
id!(
    /// One run of a worker's process, fresh at each start: tells a restart from a reconnect.
    BootId
);
id!(
    /// Who owns uploads and jobs; comes from the client's key.
    TenantId
);
id!(
    /// One terminal message; the same at every replay, so that the scheduler can acknowledge it.
    MessageId
);

/// Which try at a job this is, from 1. It is also the fencing token: whatever carries an older one changes nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Attempt(pub u32);

impl Attempt {
    /// Before any attempt was offered.
    pub const NONE: Attempt = Attempt(0);

    /// The attempt after this one.
    #[must_use]
    pub fn next(self) -> Attempt {
        Attempt(self.0.saturating_add(1))
    }
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_cannot_leave_its_folder_or_its_url_segment() {
        for bad in ["", "..", ".hidden", "-rf", "a/b", "a b", "ü", "a\0", "a%2f", &"x".repeat(65)] {
            assert!(JobId::new(bad).is_err(), "{bad:?} must be refused");
        }
        for good in ["job_1", "mini-1.local", "A", &"x".repeat(64)] {
            assert_eq!(JobId::new(good).map(|id| id.to_string()), Ok(good.to_string()));
        }
    }

    #[test]
    fn a_bad_id_in_json_is_an_error_not_an_id() {
        assert!(serde_json::from_str::<WorkerId>(r#""../x""#).is_err());
    }
}
