//! Transcripts as JSON.

use super::TranscriptError;
use serde::Deserialize;

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    words: Vec<Span>,
    #[serde(default)]
    segments: Vec<Segment>,
}

#[derive(Deserialize)]
struct Span {
    start: f64,
    end: f64,
}

#[derive(Deserialize)]
struct Segment {
    start: f64,
    end: f64,
    #[serde(default)]
    words: Vec<Span>,
}

/// Words; where there are none, the words of segments; where a segment has none, itself.
pub(super) fn spans(text: &str) -> Result<Vec<(f64, f64)>, TranscriptError> {
    let document: Document =
        serde_json::from_str(text).map_err(|error| TranscriptError::Form(error.to_string()))?;
    let of_words = |words: Vec<Span>| words.into_iter().map(|word| (word.start, word.end));
    if !document.words.is_empty() {
        return Ok(of_words(document.words).collect());
    }
    let of_segment = |segment: Segment| -> Vec<(f64, f64)> {
        if segment.words.is_empty() {
            vec![(segment.start, segment.end)]
        } else {
            of_words(segment.words).collect()
        }
    };
    Ok(document.segments.into_iter().flat_map(of_segment).collect())
}
