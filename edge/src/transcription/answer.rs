//! Reading what recognisers answer. Many servers call themselves OpenAI-compatible, and each leaves something else out.

use serde::Deserialize;
use shared_protocol::limits::MAX_TRANSCRIPT_WORDS;
use shared_protocol::{Transcript, TranscriptError, Word};

/// Characters of a language's name or tag; what is longer is none.
const MAX_LANGUAGE_LENGTH: usize = 35;

/// Why an answer is no transcript.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is neither JSON with a text nor plain text.
    #[error("it is neither JSON with a \"text\" nor plain text: {0}")]
    Form(String),
    /// It says something that cannot be.
    #[error("its transcript {0}")]
    Transcript(#[from] TranscriptError),
}

#[derive(Deserialize)]
struct Document {
    #[serde(default)]
    text: Option<String>,
    #[serde(default)]
    language: Option<String>,
    #[serde(default)]
    words: Option<Vec<Span>>,
    #[serde(default)]
    segments: Option<Vec<Segment>>,
}

#[derive(Deserialize)]
struct Segment {
    #[serde(default)]
    start: Option<f64>,
    #[serde(default)]
    end: Option<f64>,
    #[serde(default)]
    text: String,
    #[serde(default)]
    words: Option<Vec<Span>>,
}

/// A word; some recognisers give none for numerals.
#[derive(Deserialize)]
struct Span {
    #[serde(alias = "text")]
    word: String,
    #[serde(default)]
    start: Option<f64>,
    #[serde(default)]
    end: Option<f64>,
}

/// The transcript of an answer: `verbose_json` with words, with words inside of its segments, or with segments alone (then
/// each is taken for one long word); `json`, which has a text only; or plain text. A recording in which nobody speaks has
/// an empty transcript.
///
/// # Errors
/// [`Unreadable`].
pub fn read_transcript(content_type: Option<&str>, body: &[u8]) -> Result<Transcript, Unreadable> {
    let form = |reason: &str| Unreadable::Form(reason.to_owned());
    let text = std::str::from_utf8(body).map_err(|error| form(&error.to_string()))?;
    let text = text.trim_start_matches('\u{feff}').trim();
    let is_json = text.starts_with('{') || content_type.is_some_and(|kind| kind.contains("json"));
    let transcript = if is_json {
        let document: Document = serde_json::from_str(text).map_err(|error| form(&error.to_string()))?;
        if document.text.is_none() && document.words.is_none() && document.segments.is_none() {
            return Err(form("it has no \"text\""));
        }
        document.into()
    } else if content_type
        .is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/plain"))
    {
        Transcript { text: text.to_owned(), ..Transcript::default() }
    } else {
        return Err(form(content_type.unwrap_or("it does not say its media type")));
    };
    checked(transcript)
}

/// Times are a help and a text is the matter: a transcript with more words than can be kept goes without them.
fn checked(mut transcript: Transcript) -> Result<Transcript, Unreadable> {
    if transcript.words.len() > MAX_TRANSCRIPT_WORDS && !transcript.text.is_empty() {
        transcript.words.clear();
    }
    match transcript.checked() {
        Err(TranscriptError::Empty) => Ok(Transcript::default()),
        checked => Ok(checked?),
    }
}

impl From<Document> for Transcript {
    fn from(document: Document) -> Self {
        let mut words = document.words.unwrap_or_default();
        let segments = document.segments.unwrap_or_default();
        let of_segments: Vec<&str> = segments.iter().map(|segment| segment.text.trim()).collect();
        let text = document.text.unwrap_or_else(|| of_segments.join(" ")).trim().to_owned();
        if words.is_empty() {
            words = segments.into_iter().flat_map(Segment::spans).collect();
        }
        let language = document.language.filter(|language| {
            let known = !language.is_empty() && language != "unknown";
            known && language.len() <= MAX_LANGUAGE_LENGTH
        });
        Self { text, language, words: timed(&words) }
    }
}

impl Segment {
    fn spans(self) -> Vec<Span> {
        match self.words.filter(|words| !words.is_empty()) {
            Some(words) => words,
            None => vec![Span { word: self.text, start: self.start, end: self.end }],
        }
    }
}

/// Words with times that can be. One without is said somewhere between its neighbours; without any times at all there are no
/// words to tell of.
fn timed(spans: &[Span]) -> Vec<Word> {
    if spans.iter().all(|span| span.start.is_none()) {
        return Vec::new();
    }
    let mut words = Vec::with_capacity(spans.len());
    let mut latest_end = 0.0;
    for (index, span) in spans.iter().enumerate() {
        let start = span.start.unwrap_or(latest_end).max(0.0);
        let next = || spans.iter().skip(index + 1).find_map(|next| next.start);
        let end = span.end.or_else(next).unwrap_or(start).max(start);
        latest_end = end;
        let word = span.word.trim();
        if !word.is_empty() {
            words.push(Word { word: word.to_owned(), start, end });
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const JSON: Option<&str> = Some("application/json");

    fn read(value: &serde_json::Value) -> Transcript {
        read_transcript(JSON, value.to_string().as_bytes()).unwrap()
    }

    fn said(transcript: &Transcript) -> Vec<(&str, f64, f64)> {
        transcript.words.iter().map(|word| (word.word.as_str(), word.start, word.end)).collect()
    }

    #[test]
    fn every_form_of_words_with_times_says_the_same() {
        let word = |word: &str, start: f64, end: f64| json!({ "word": word, "start": start, "end": end });
        let segment = json!({ "id": 0, "start": 0.5, "end": 1.5, "text": " So what.", "avg_logprob": -0.3 });
        let mut with_words = segment.clone();
        with_words["words"] = json!([word(" So", 0.5, 0.75), word(" what.", 1.0, 1.5)]);
        let openai = json!({ "task": "transcribe", "language": "english", "duration": 2.0, "text": "So what.",
            "words": [word("So", 0.5, 0.75), word("what.", 1.0, 1.5)], "segments": [segment] });
        let nested =
            json!({ "text": " So what.", "language": "english", "words": null, "segments": [with_words] });
        for form in [openai, nested] {
            let transcript = read(&form);
            assert_eq!(transcript.text, "So what.");
            assert_eq!(transcript.language.as_deref(), Some("english"));
            assert_eq!(said(&transcript), [("So", 0.5, 0.75), ("what.", 1.0, 1.5)]);
        }
    }

    #[test]
    fn without_words_a_segment_is_one_long_word() {
        let transcript = read(&json!({ "text": "So what. Well.", "segments": [
            { "start": 0.5, "end": 1.5, "text": " So what." }, { "start": 2, "end": 2.5, "text": " Well." } ] }));
        assert_eq!(said(&transcript), [("So what.", 0.5, 1.5), ("Well.", 2.0, 2.5)]);
    }

    #[test]
    fn a_text_alone_is_a_transcript_too() {
        assert_eq!(read(&json!({ "text": " So what.\n" })).text, "So what.");
        let plain = read_transcript(Some("text/plain; charset=utf-8"), b"So what.\n").unwrap();
        assert_eq!((plain.text.as_str(), plain.words.len()), ("So what.", 0));
        // Some servers forget to say that it is JSON.
        assert_eq!(read_transcript(Some("text/plain"), b"{\"text\":\"So.\"}").unwrap().text, "So.");
        assert_eq!(read_transcript(None, b"{\"text\":\"So.\"}").unwrap().text, "So.");
    }

    #[test]
    fn where_nobody_speaks_the_transcript_is_empty() {
        for silent in [json!({ "text": "" }), json!({ "text": " ", "words": [], "segments": [] })] {
            assert_eq!(read(&silent), Transcript::default());
        }
        assert_eq!(read_transcript(Some("text/plain"), b"\n").unwrap(), Transcript::default());
    }

    #[test]
    fn times_that_cannot_be_are_mended_and_missing_ones_lie_between_their_neighbours() {
        let transcript = read(&json!({ "text": "a 1984 b c", "words": [
            { "word": "a", "start": -0.02, "end": 0.4 }, { "word": "1984" },
            { "word": "b", "start": 1.0, "end": 0.9 }, { "word": "c" } ] }));
        assert_eq!(
            said(&transcript),
            [("a", 0.0, 0.4), ("1984", 0.4, 1.0), ("b", 1.0, 1.0), ("c", 1.0, 1.0)]
        );
        assert!(
            read(&json!({ "text": "a b", "words": [{ "word": "a" }, { "word": "b" }] })).words.is_empty()
        );
    }

    #[test]
    fn a_day_of_words_goes_without_their_times() {
        let words: Vec<_> =
            (0..=MAX_TRANSCRIPT_WORDS).map(|n| json!({ "word": "a", "start": n, "end": n })).collect();
        let transcript = read(&json!({ "text": "a and so on", "words": words }));
        assert_eq!((transcript.text.as_str(), transcript.words.len()), ("a and so on", 0));
    }

    #[test]
    fn what_is_no_transcript_is_refused_with_a_reason() {
        for (content_type, body, reason) in [
            (JSON, "", "EOF"),
            (JSON, "{\"text\":\"cut of", "EOF"),
            (JSON, "[]", "no \"text\""),
            (JSON, "3", "invalid type"),
            (JSON, "{\"result\":\"so\"}", "no \"text\""),
            (Some("text/html"), "<html>Sign in</html>", "text/html"),
            (None, "so", "media type"),
        ] {
            let error = read_transcript(content_type, body.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(reason), "{body}: {error}");
        }
        assert!(read_transcript(Some("text/plain"), b"\xff\xfe").is_err());
        let long = format!("{{\"text\":{:?}}}", "a".repeat(600_000));
        assert!(read_transcript(JSON, long.as_bytes()).unwrap_err().to_string().contains("bytes"));
    }

    proptest::proptest! {
        #[test]
        fn no_answer_makes_it_panic(body in proptest::collection::vec(0u8.., 0..200), text in ".{0,60}",
            start in proptest::num::f64::ANY, end in proptest::num::f64::ANY) {
            drop(read_transcript(Some("text/plain"), &body));
            drop(read_transcript(JSON, &body));
            let document = json!({ "text": text, "words": [{ "word": text, "start": start, "end": end }, { "word": "b" }] });
            if let Ok(transcript) = read_transcript(JSON, document.to_string().as_bytes()) {
                proptest::prop_assert!(transcript == Transcript::default() || transcript.checked().is_ok());
            }
        }
    }
}
