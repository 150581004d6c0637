//! The request's body: a form (RFC 7578) around the recording's own bytes, which this never holds.

use super::settings::{ResponseFormat, TranscriptionSettings};

/// Characters that are kept of a recording's name.
const MAX_NAME_LENGTH: usize = 200;

/// What stands before and after the recording in the body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptionForm {
    /// The request's media type.
    pub content_type: String,
    /// Before the recording.
    pub prefix: Vec<u8>,
    /// After it.
    pub suffix: Vec<u8>,
}

impl TranscriptionForm {
    /// The form for one recording. `boundary` is drawn anew for each request, so that no recording can hold it.
    pub fn new(settings: &TranscriptionSettings, name: &str, content_type: &str, boundary: &str) -> Self {
        let mut prefix = String::new();
        let mut field = |name: &str, value: &str| {
            prefix.push_str(&format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            ));
        };
        field("model", &settings.model);
        field("response_format", settings.format.as_str());
        if settings.format == ResponseFormat::VerboseJson {
            field("timestamp_granularities[]", "word");
            field("timestamp_granularities[]", "segment");
        }
        if let Some(language) = &settings.language {
            field("language", language);
        }
        let name = quoted(&named(name, content_type));
        prefix.push_str(&format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: {content_type}\r\n\r\n"
        ));
        Self {
            content_type: format!("multipart/form-data; boundary={boundary}"),
            prefix: prefix.into_bytes(),
            suffix: format!("\r\n--{boundary}--\r\n").into_bytes(),
        }
    }

    /// Bytes of the body around a recording of so many.
    pub fn length(&self, recording: u64) -> u64 {
        self.prefix.len() as u64 + recording + self.suffix.len() as u64
    }
}

/// A recording's name with an extension: OpenAI tells the kind of a file by it, and refuses one without.
fn named(name: &str, content_type: &str) -> String {
    let name: String =
        name.rsplit(['/', '\\']).next().unwrap_or_default().chars().take(MAX_NAME_LENGTH).collect();
    let has_extension = name.rsplit_once('.').is_some_and(|(_, extension)| {
        (1..=5).contains(&extension.len()) && extension.bytes().all(|c| c.is_ascii_alphanumeric())
    });
    if has_extension {
        return name;
    }
    let stem = if name.is_empty() { "recording" } else { &name };
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let extension = match essence.as_str() {
        "audio/mpeg" | "audio/mp3" => "mp3",
        "audio/mp4" | "audio/x-m4a" | "audio/m4a" | "audio/aac" => "m4a",
        "audio/flac" | "audio/x-flac" => "flac",
        "audio/ogg" | "application/ogg" | "audio/opus" => "ogg",
        "audio/webm" | "video/webm" => "webm",
        "video/mp4" | "video/quicktime" => "mp4",
        _ => "wav",
    };
    format!("{stem}.{extension}")
}

/// A name as forms quote it (WHATWG, "multipart form data").
fn quoted(name: &str) -> String {
    name.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(values: &[(&str, &str)]) -> TranscriptionSettings {
        let url = [("TRANSCRIPTION_URL", "https://example.com")];
        let all: Vec<_> = url.iter().chain(values).collect();
        let find =
            |name: &str| all.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        TranscriptionSettings::read(find).unwrap()
    }

    fn body(form: &TranscriptionForm) -> String {
        let parts = [&form.prefix[..], b"BYTES", &form.suffix];
        String::from_utf8(parts.concat()).unwrap()
    }

    #[test]
    fn the_form_is_what_the_endpoint_documents() {
        let settings = settings(&[("TRANSCRIPTION_LANGUAGE", "en")]);
        let form = TranscriptionForm::new(&settings, "talk.mp3", "audio/mpeg", "b1");
        assert_eq!(form.content_type, "multipart/form-data; boundary=b1");
        let expected = [
            "--b1\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n",
            "--b1\r\nContent-Disposition: form-data; name=\"response_format\"\r\n\r\nverbose_json\r\n",
            "--b1\r\nContent-Disposition: form-data; name=\"timestamp_granularities[]\"\r\n\r\nword\r\n",
            "--b1\r\nContent-Disposition: form-data; name=\"timestamp_granularities[]\"\r\n\r\nsegment\r\n",
            "--b1\r\nContent-Disposition: form-data; name=\"language\"\r\n\r\nen\r\n",
            "--b1\r\nContent-Disposition: form-data; name=\"file\"; filename=\"talk.mp3\"\r\nContent-Type: audio/mpeg\r\n\r\nBYTES\r\n--b1--\r\n",
        ];
        assert_eq!(body(&form), expected.concat());
        assert_eq!(form.length(5), body(&form).len() as u64);
    }

    #[test]
    fn a_model_without_times_is_not_asked_for_them() {
        let settings = settings(&[("TRANSCRIPTION_FORMAT", "json")]);
        let body = body(&TranscriptionForm::new(&settings, "talk.mp3", "audio/mpeg", "b1"));
        assert!(body.contains("\r\n\r\njson\r\n") && !body.contains("granularities"), "{body}");
    }

    #[test]
    fn a_name_can_neither_end_its_header_nor_be_without_its_kind() {
        for (name, content_type, expected) in [
            ("a\"\r\nX: y\r\n\r\n.wav", "audio/wav", "a%22%0D%0AX: y%0D%0A%0D%0A.wav"),
            ("interview", "audio/x-m4a; codecs=mp4a", "interview.m4a"),
            ("Dr. No", "application/octet-stream", "Dr. No.wav"),
            ("", "video/webm", "recording.webm"),
            ("C:\\talks\\one.flac", "audio/flac", "one.flac"),
        ] {
            let form = TranscriptionForm::new(&settings(&[]), name, content_type, "b1");
            assert!(body(&form).contains(&format!("filename=\"{expected}\"")), "{name:?}: {}", body(&form));
        }
    }
}
