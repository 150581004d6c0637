//! Transcripts: when words were spoken, as recognisers and subtitles say it.

mod json;
mod subtitles;

use std::path::Path;

/// More words than a day of speech has; what says more is no transcript.
const MAX_WORDS: usize = 500_000;

/// When somebody speaks.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Transcript {
    /// Starts and ends in seconds, in order, none overlapping another.
    spans: Vec<(f64, f64)>,
}

/// Why a transcript cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TranscriptError {
    /// It could not be read.
    #[error("the transcript {path} could not be read: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Neither JSON nor subtitles.
    #[error(
        "the transcript is neither JSON with \"words\" or \"segments\" (each with \"start\" and \"end\" in seconds) nor WebVTT nor SRT: {0}"
    )]
    Form(String),
    /// No times, or impossible ones.
    #[error("the transcript {0}")]
    Content(String),
}

impl Transcript {
    /// Reads a file of any of the known forms.
    ///
    /// # Errors
    /// When it cannot be read or is none of them.
    pub fn read(path: &Path) -> Result<Self, TranscriptError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TranscriptError::Read { path: path.display().to_string(), source })?;
        Self::parse(&text)
    }

    /// Reads words of `{"words":[{"word":"so","start":0.1,"end":0.3}]}`, of a recogniser's verbose JSON (words, or words in
    /// segments, or segments), or the cues of WebVTT or SRT.
    ///
    /// # Errors
    /// When it is none of them, holds no times, or such as cannot be.
    pub fn parse(text: &str) -> Result<Self, TranscriptError> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let spans = if text.starts_with('{') { json::spans(text)? } else { subtitles::spans(text)? };
        Self::from_spans(spans)
    }

    /// Of starts and ends in seconds.
    ///
    /// # Errors
    /// When there are none, too many, or such as cannot be.
    pub fn from_spans(mut spans: Vec<(f64, f64)>) -> Result<Self, TranscriptError> {
        let content = |what: String| Err(TranscriptError::Content(what));
        if spans.is_empty() {
            return content("holds no words with times; leave it out".to_owned());
        }
        if spans.len() > MAX_WORDS {
            return content(format!("holds more than {MAX_WORDS} words"));
        }
        for (number, &(start, end)) in spans.iter().enumerate() {
            if !(start.is_finite() && end.is_finite() && start >= 0.0 && end >= start) {
                return content(format!(
                    "says that word {} goes from {start} s to {end} s; times are seconds from 0 on, and an end is not before its start",
                    number + 1
                ));
            }
        }
        spans.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut joined: Vec<(f64, f64)> = Vec::with_capacity(spans.len());
        for (start, end) in spans {
            match joined.last_mut() {
                Some(last) if start < last.1 => last.1 = last.1.max(end),
                _ => joined.push((start, end)),
            }
        }
        Ok(Self { spans: joined })
    }

    /// When somebody speaks: starts and ends in seconds, in order, none overlapping another.
    pub fn spans(&self) -> &[(f64, f64)] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(text: &str) -> Vec<(f64, f64)> {
        Transcript::parse(text).unwrap().spans().to_vec()
    }

    #[test]
    fn every_form_says_the_same() {
        let expected = [(0.5, 0.75), (1.0, 1.5)];
        let forms = [
            r#"{"words":[{"word":"so","start":0.5,"end":0.75},{"word":"what","start":1,"end":1.5}]}"#,
            r#"{"task":"transcribe","language":"english","duration":2.0,"text":"so what",
                "words":[{"word":"what","start":1.0,"end":1.5},{"word":"so","start":0.5,"end":0.75}],
                "segments":[{"id":0,"start":0.0,"end":2.0,"text":"so what"}]}"#,
            r#"{"segments":[{"start":0,"end":2,"words":[{"word":"so","start":0.5,"end":0.75}]},
                {"start":1.0,"end":1.5,"text":"what"}]}"#,
            "\u{feff}WEBVTT - a title\n\nNOTE\nnothing --> here\n\nintro\n00:00.500 --> 00:00.750 align:start\nso\n\n00:00:01.000 --> 00:00:01.500\nwhat\n",
            "1\r\n00:00:00,500 --> 00:00:00,750\r\nso\r\n\r\n2\r\n00:00:01,000 --> 00:00:01,500\r\nwhat\r\n",
        ];
        for form in forms {
            assert_eq!(spans(form), expected, "{form}");
        }
    }

    #[test]
    fn lines_that_overlap_are_one() {
        let transcript =
            Transcript::from_spans(vec![(5.0, 6.0), (1.0, 4.0), (2.0, 3.0), (3.5, 4.5)]).unwrap();
        assert_eq!(transcript.spans(), [(1.0, 4.5), (5.0, 6.0)]);
    }

    #[test]
    fn what_is_no_transcript_is_refused_with_a_reason() {
        let cases = [
            ("", "neither JSON"),
            ("Dear diary,", "neither JSON"),
            ("{\"words\":[{\"word\":\"so\"}]}", "neither JSON"),
            ("{\"words\":[]}", "no words"),
            ("{\"text\":\"so\"}", "no words"),
            ("WEBVTT\n\n", "no words"),
            ("{\"words\":[{\"start\":2.0,\"end\":1.0}]}", "word 1 goes from 2 s to 1 s"),
            ("{\"words\":[{\"start\":-1.0,\"end\":1.0}]}", "word 1"),
            ("WEBVTT\n\n00:61.000 --> 00:62.000\nso\n", "00:61.000"),
        ];
        for (text, words) in cases {
            let error = Transcript::parse(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in ".{0,200}", cue in "[0-9:.,> -]{0,40}") {
            drop(Transcript::parse(&text));
            drop(Transcript::parse(&format!("WEBVTT\n\n{cue}\nso")));
            drop(Transcript::parse(&format!("1\n{cue} --> {cue}\nso")));
        }
    }
}
