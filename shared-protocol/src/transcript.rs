//! What was said in a recording, and when.

use serde::{Deserialize, Serialize};

use crate::limits::{MAX_TRANSCRIPT_TEXT_BYTES, MAX_TRANSCRIPT_WORDS};

/// A transcript, as clients give it, as recognisers make it, and as workers get it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Transcript {
    /// The whole text.
    pub text: String,
    /// BCP 47 tag or a recogniser's own name of the language, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    /// The words with their times, where they are known: only with them can a restore make use of the transcript.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<Word>,
}

/// One word.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Word {
    /// The word.
    pub word: String,
    /// Seconds from the recording's start.
    pub start: f64,
    /// Seconds from the recording's start, not before `start`.
    pub end: f64,
}

/// Why a transcript is not taken.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TranscriptError {
    /// Neither text nor words.
    #[error("is empty: send a text, or words with their times")]
    Empty,
    /// The text is too long.
    #[error("has a text of more than {MAX_TRANSCRIPT_TEXT_BYTES} bytes")]
    TextTooLong,
    /// Too many words.
    #[error("has more than {MAX_TRANSCRIPT_WORDS} words")]
    TooManyWords,
    /// A time that cannot be.
    #[error(
        "says that word {number} goes from {start} s to {end} s; times are seconds from 0 on, and an end is not before its start"
    )]
    BadTimes {
        /// Which word, from 1.
        number: usize,
        /// Its start.
        start: f64,
        /// Its end.
        end: f64,
    },
}

impl Transcript {
    /// Checks its size and its times. A transcript of words alone gets their text.
    ///
    /// # Errors
    /// [`TranscriptError`].
    pub fn checked(mut self) -> Result<Self, TranscriptError> {
        if self.words.len() > MAX_TRANSCRIPT_WORDS {
            return Err(TranscriptError::TooManyWords);
        }
        for (index, Word { start, end, .. }) in self.words.iter().enumerate() {
            if !(start.is_finite() && end.is_finite() && *start >= 0.0 && end >= start) {
                return Err(TranscriptError::BadTimes { number: index + 1, start: *start, end: *end });
            }
        }
        if self.text.trim().is_empty() {
            let words: Vec<&str> = self.words.iter().map(|word| word.word.trim()).collect();
            self.text = words.join(" ");
        }
        if self.text.trim().is_empty() {
            return Err(TranscriptError::Empty);
        }
        if self.text.len() > MAX_TRANSCRIPT_TEXT_BYTES {
            return Err(TranscriptError::TextTooLong);
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn word(word: &str, start: f64, end: f64) -> Word {
        Word { word: word.to_owned(), start, end }
    }

    #[test]
    fn words_alone_are_a_text_too() {
        let words = vec![word(" so", 0.1, 0.3), word("what ", 0.4, 0.9)];
        let transcript = Transcript { words, ..Transcript::default() }.checked().unwrap();
        assert_eq!(transcript.text, "so what");
    }

    #[test]
    fn times_that_cannot_be_are_named_by_their_word() {
        for (start, end) in [(-0.1, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (0.0, f64::INFINITY)] {
            let words = vec![word("a", 0.0, 0.0), word("b", start, end)];
            let error = Transcript { words, ..Transcript::default() }.checked().unwrap_err();
            assert!(error.to_string().contains("word 2"), "{error}");
        }
        assert_eq!(Transcript::default().checked(), Err(TranscriptError::Empty));
    }
}
