//! What came of a request, and whether another one can help.

use serde_json::Value;
use shared_protocol::{DurationMs, Transcript};

use super::answer::read_transcript;
use super::failure::{TranscriptionCode as Code, TranscriptionFailure};
use super::settings::{ResponseFormat, TranscriptionSettings};

/// Bytes that are read of a transcript: four hours of fast speech as `verbose_json` have about as many, and they are in memory as
/// a whole.
pub const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// Bytes that are read of an answer which only says why it is none.
pub const MAX_REFUSAL_BYTES: usize = 16 * 1024;

/// Characters that are kept of what the endpoint or the platform says.
const MAX_DETAIL_LENGTH: usize = 300;

/// What happened to a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TranscriptionReply {
    /// The endpoint answered.
    Answered(TranscriptionAnswer),
    /// There was no whole answer in time.
    TimedOut,
    /// No connection came about, or it broke.
    NotConnected {
        /// What the platform says about it.
        detail: String,
    },
    /// The recording is not in storage.
    SourceMissing,
    /// The recording could not be read.
    SourceUnreadable {
        /// What the platform says about it.
        detail: String,
    },
    /// The recording has more bytes than may be sent; nothing was.
    SourceTooLarge {
        /// How many it has.
        bytes: u64,
    },
}

/// An endpoint's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptionAnswer {
    /// HTTP status.
    pub status: u16,
    /// Media type.
    pub content_type: Option<String>,
    /// How long the endpoint wants to be left alone.
    pub retry_after: Option<DurationMs>,
    /// Its beginning, up to a bound.
    pub body: Vec<u8>,
    /// There was more of it.
    pub truncated: bool,
}

/// What comes of it.
#[derive(Debug, Clone, PartialEq)]
pub enum TranscriptionOutcome {
    /// There is a transcript. It is empty where nobody speaks.
    Done(Transcript),
    /// A later request may succeed.
    Retry {
        /// Why this one did not.
        failure: TranscriptionFailure,
        /// Not before this time is over, where the endpoint said so.
        after: Option<DurationMs>,
    },
    /// The same request would fail again.
    Failed(TranscriptionFailure),
}

impl TranscriptionOutcome {
    /// Judges what happened.
    pub fn of(settings: &TranscriptionSettings, reply: TranscriptionReply) -> Self {
        let failed = |code, text: String| Self::Failed(TranscriptionFailure::new(code, text));
        let retry = |text: String| Self::Retry {
            failure: TranscriptionFailure::new(Code::Unavailable, text),
            after: None,
        };
        match reply {
            TranscriptionReply::Answered(answer) => Self::of_answer(settings, &answer),
            TranscriptionReply::TimedOut => {
                let seconds = settings.timeout.0 / 1_000;
                retry(format!("the recogniser did not answer within {seconds} s"))
            }
            TranscriptionReply::NotConnected { detail } => {
                retry(format!("the recogniser could not be reached: {}", cut(&detail)))
            }
            TranscriptionReply::SourceUnreadable { detail } => {
                retry(format!("the recording could not be read from storage: {}", cut(&detail)))
            }
            TranscriptionReply::SourceMissing => {
                failed(Code::SourceMissing, "the recording is not in storage".to_owned())
            }
            TranscriptionReply::SourceTooLarge { bytes } => failed(
                Code::TooLarge,
                format!(
                    "the recording has {bytes} bytes, and the recogniser takes {} at most",
                    settings.max_bytes
                ),
            ),
        }
    }

    fn of_answer(settings: &TranscriptionSettings, answer: &TranscriptionAnswer) -> Self {
        let status = answer.status;
        let failed = |code, text: String| Self::Failed(TranscriptionFailure::new(code, text));
        if (200..=299).contains(&status) {
            if answer.truncated {
                let text = format!("the recogniser's answer has more than {MAX_ANSWER_BYTES} bytes");
                return failed(Code::Unreadable, text);
            }
            return match read_transcript(answer.content_type.as_deref(), &answer.body) {
                Ok(transcript) => Self::Done(transcript),
                Err(error) => {
                    failed(Code::Unreadable, format!("the recogniser's answer cannot be read: {error}"))
                }
            };
        }
        let (says, code) = refusal(&answer.body);
        let text = format!("the recogniser answered {status}{says}");
        match status {
            // An account without money has it no sooner for being asked again.
            429 if code.as_deref() == Some("insufficient_quota") => failed(Code::Refused, text),
            408 | 409 | 425 | 429 | 500..=599 => Self::Retry {
                failure: TranscriptionFailure::new(Code::Unavailable, text),
                after: answer.retry_after,
            },
            413 => failed(Code::TooLarge, text),
            300..=399 => failed(
                Code::Refused,
                format!("{text}: redirections are not followed; set TRANSCRIPTION_URL to where it leads"),
            ),
            401 | 403 => failed(Code::Refused, format!("{text}; check the secret TRANSCRIPTION_KEY")),
            404 | 405 => failed(
                Code::Refused,
                format!("{text}; check TRANSCRIPTION_URL ({}) and TRANSCRIPTION_MODEL", settings.url),
            ),
            400 | 422
                if settings.format == ResponseFormat::VerboseJson && says.contains("response_format") =>
            {
                failed(Code::Refused, format!("{text}; set TRANSCRIPTION_FORMAT to json"))
            }
            _ => failed(Code::Refused, text),
        }
    }
}

/// What an answer says for itself, as the end of a sentence, and its error's code: `{"error":{"message","code"}}` or something near.
fn refusal(body: &[u8]) -> (String, Option<String>) {
    let text = String::from_utf8_lossy(body);
    let Ok(json) = serde_json::from_str::<Value>(&text) else { return (says(&text), None) };
    let error = json.get("error").unwrap_or(&json);
    let messages = [error.get("message"), error.get("detail"), Some(error)];
    let message = messages
        .into_iter()
        .flatten()
        .find_map(Value::as_str)
        .map_or_else(|| json.to_string(), str::to_owned);
    let code = ["code", "type"].iter().find_map(|name| error.get(name)?.as_str().map(str::to_owned));
    (says(&message), code)
}

fn says(text: &str) -> String {
    let text = cut(text);
    // A page is nothing that anybody wants to read in an error.
    if text.is_empty() || text.starts_with('<') { String::new() } else { format!(": {text}") }
}

/// The beginning, on one line.
fn cut(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).take(MAX_DETAIL_LENGTH).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings() -> TranscriptionSettings {
        let find = |name: &str| (name == "TRANSCRIPTION_URL").then(|| "https://example.com".to_owned());
        TranscriptionSettings::read(find).unwrap()
    }

    fn answer(status: u16, body: &str) -> TranscriptionAnswer {
        TranscriptionAnswer {
            status,
            content_type: Some("application/json".to_owned()),
            retry_after: None,
            body: body.as_bytes().to_vec(),
            truncated: false,
        }
    }

    fn outcome(answer: TranscriptionAnswer) -> TranscriptionOutcome {
        TranscriptionOutcome::of(&settings(), TranscriptionReply::Answered(answer))
    }

    fn failure(outcome: TranscriptionOutcome) -> TranscriptionFailure {
        match outcome {
            TranscriptionOutcome::Failed(failure) => failure,
            other => panic!("{other:?}"),
        }
    }

    fn retried(outcome: TranscriptionOutcome) -> (TranscriptionFailure, Option<DurationMs>) {
        match outcome {
            TranscriptionOutcome::Retry { failure, after } => (failure, after),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_may_pass_is_tried_again_and_what_stays_is_not() {
        for status in [408, 409, 425, 429, 500, 502, 503, 504, 529] {
            assert_eq!(retried(outcome(answer(status, ""))).0.code, Code::Unavailable, "{status}");
        }
        for status in [301, 307, 400, 401, 403, 404, 405, 415, 422] {
            assert_eq!(failure(outcome(answer(status, ""))).code, Code::Refused, "{status}");
        }
        assert_eq!(failure(outcome(answer(413, ""))).code, Code::TooLarge);
    }

    #[test]
    fn an_endpoint_is_left_alone_for_as_long_as_it_asks() {
        let busy = TranscriptionAnswer { retry_after: Some(DurationMs(7_000)), ..answer(429, "{}") };
        assert_eq!(retried(outcome(busy)).1, Some(DurationMs(7_000)));
    }

    #[test]
    fn an_account_without_money_is_not_asked_again() {
        let body = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
        assert_eq!(failure(outcome(answer(429, body))).code, Code::Refused);
        let busy = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
        assert!(retried(outcome(answer(429, busy))).0.message.contains("Rate limit reached"));
    }

    #[test]
    fn a_failure_says_what_the_endpoint_said_and_what_to_do() {
        for (status, body, words) in [
            (401, r#"{"error":{"message":"Incorrect API key"}}"#, ["Incorrect API key", "TRANSCRIPTION_KEY"]),
            (404, r#"{"detail":"Not Found"}"#, ["Not Found", "https://example.com/v1/audio/transcriptions"]),
            (307, "", ["307", "TRANSCRIPTION_URL"]),
            (
                400,
                r#"{"error":{"message":"response_format 'verbose_json' is not compatible with model"}}"#,
                ["not compatible", "TRANSCRIPTION_FORMAT"],
            ),
            (400, r#"{"error":"bad file"}"#, ["bad file", "400"]),
        ] {
            let text = failure(outcome(answer(status, body))).message;
            assert!(words.iter().all(|word| text.contains(word)), "{text}");
        }
        let page = retried(outcome(answer(502, "<html><h1>Bad gateway</h1></html>"))).0.message;
        assert_eq!(page, "the recogniser answered 502");
    }

    #[test]
    fn an_answer_that_is_no_transcript_or_too_long_fails() {
        assert_eq!(failure(outcome(answer(200, "garbage"))).code, Code::Unreadable);
        let huge = TranscriptionAnswer { truncated: true, ..answer(200, r#"{"text":"a"}"#) };
        assert_eq!(failure(outcome(huge)).code, Code::Unreadable);
        assert!(matches!(outcome(answer(200, r#"{"text":"a"}"#)), TranscriptionOutcome::Done(_)));
    }

    #[test]
    fn silence_and_broken_lines_pass_but_a_recording_stays_missing_or_too_large() {
        let of = |reply| TranscriptionOutcome::of(&settings(), reply);
        let detail = "Network connection lost.".to_owned();
        assert!(retried(of(TranscriptionReply::TimedOut)).0.message.contains("600 s"));
        let broken = retried(of(TranscriptionReply::NotConnected { detail: detail.clone() })).0;
        assert!(broken.message.contains(&detail), "{broken}");
        assert!(retried(of(TranscriptionReply::SourceUnreadable { detail })).0.message.contains("storage"));
        assert_eq!(failure(of(TranscriptionReply::SourceMissing)).code, Code::SourceMissing);
        let large = failure(of(TranscriptionReply::SourceTooLarge { bytes: 30_000_000 }));
        assert_eq!(large.code, Code::TooLarge);
        assert!(large.message.contains("30000000") && large.message.contains("26214400"), "{large}");
    }
}
