//! What is asked of a recogniser, and what its answer means: an endpoint as OpenAI's `POST /v1/audio/transcriptions`, which
//! the operator sets. Pure; the request itself is in `shell/transcribe`.

mod answer;
mod failure;
mod form;
mod outcome;
mod settings;

pub use answer::{Unreadable, read_transcript};
pub use failure::{TranscriptionCode, TranscriptionFailure};
pub use form::TranscriptionForm;
pub use outcome::{
    MAX_ANSWER_BYTES, MAX_REFUSAL_BYTES, TranscriptionAnswer, TranscriptionOutcome, TranscriptionReply,
};
pub use settings::{ResponseFormat, TRANSCRIPTION_KEY, TranscriptionSettings, VARIABLES};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_read_of_every_variable_and_every_code() {
        let document = include_str!("../../../docs/operating.md");
        for name in VARIABLES.iter().chain([&TRANSCRIPTION_KEY]) {
            assert!(document.contains(&format!("| `{name}` |")), "docs/operating.md lacks {name}");
        }
        for code in TranscriptionCode::ALL {
            let code = code.as_str();
            assert!(document.contains(&format!("| `{code}` |")), "docs/operating.md lacks {code}");
        }
    }
}
