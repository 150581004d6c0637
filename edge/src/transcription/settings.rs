//! What an operator sets about transcription.

use std::fmt;
use std::str::FromStr;

use shared_protocol::DurationMs;
use url::Url;

use super::failure::{TranscriptionCode, TranscriptionFailure};
use crate::outbox::{UrlError, UrlPolicy};

/// Name of the secret that is sent as the bearer's key; an endpoint of one's own may need none.
pub const TRANSCRIPTION_KEY: &str = "TRANSCRIPTION_KEY";

const URL: &str = "TRANSCRIPTION_URL";
const MODEL: &str = "TRANSCRIPTION_MODEL";
const LANGUAGE: &str = "TRANSCRIPTION_LANGUAGE";
const FORMAT: &str = "TRANSCRIPTION_FORMAT";
const TIMEOUT_SECONDS: &str = "TRANSCRIPTION_TIMEOUT_SECONDS";
const MAX_BYTES: &str = "TRANSCRIPTION_MAX_BYTES";

/// Names of the variables.
pub const VARIABLES: [&str; 6] = [URL, MODEL, LANGUAGE, FORMAT, TIMEOUT_SECONDS, MAX_BYTES];

const DEFAULT_MODEL: &str = "whisper-1";

/// A recording of an hour takes a small recogniser on a processor some minutes.
const DEFAULT_TIMEOUT: DurationMs = DurationMs::from_secs(600);

/// Longer ones would only keep an object in memory for a recogniser that is gone.
const MAX_TIMEOUT_SECONDS: u64 = 3_600;

/// OpenAI's own limit of a file.
const DEFAULT_MAX_BYTES: u64 = 25 * 1024 * 1024;

/// Where an endpoint has its transcriptions.
const ENDPOINT_PATH: &str = "/audio/transcriptions";

/// The form of answer that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResponseFormat {
    /// Text, language, segments and words with their times.
    #[default]
    VerboseJson,
    /// The text alone: for models that know no times.
    Json,
}

impl ResponseFormat {
    /// As it is asked for.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::VerboseJson => "verbose_json",
            Self::Json => "json",
        }
    }
}

/// The endpoint of an environment, and how it is used.
#[derive(Clone, PartialEq, Eq)]
pub struct TranscriptionSettings {
    /// Where recordings are sent to: the whole address.
    pub url: Url,
    /// The bearer's key.
    pub key: Option<String>,
    /// The model that is asked for.
    pub model: String,
    /// The language that is spoken; found out by the recogniser without it.
    pub language: Option<String>,
    /// The form of answer that is asked for.
    pub format: ResponseFormat,
    /// A request without a whole answer after this is cut off.
    pub timeout: DurationMs,
    /// Larger recordings are not sent.
    pub max_bytes: u64,
}

impl fmt::Debug for TranscriptionSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TranscriptionSettings")
            .field("url", &self.url.as_str())
            .field("key", &self.key.as_ref().map(|_| "…"))
            .field("model", &self.model)
            .field("language", &self.language)
            .field("format", &self.format)
            .field("timeout", &self.timeout)
            .field("max_bytes", &self.max_bytes)
            .finish()
    }
}

impl TranscriptionSettings {
    /// Reads variables and the secret by their names. An empty one is as good as none.
    ///
    /// # Errors
    /// [`TranscriptionCode::NotConfigured`]: there is no endpoint, or a value cannot be used; the text says which.
    pub fn read(value: impl Fn(&str) -> Option<String>) -> Result<Self, TranscriptionFailure> {
        let value =
            |name: &str| value(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        let wrong = |text: String| TranscriptionFailure::new(TranscriptionCode::NotConfigured, text);
        let url = value(URL).ok_or_else(|| {
            wrong(format!("this environment has no recogniser: its operator may set {URL}"))
        })?;
        let url = endpoint(&url).map_err(|reason| wrong(format!("{URL} cannot be used: {reason}")))?;
        let key = value(TRANSCRIPTION_KEY);
        if key.as_ref().is_some_and(|key| !key.bytes().all(|c| c.is_ascii_graphic())) {
            return Err(wrong(format!(
                "the secret {TRANSCRIPTION_KEY} holds more than visible ASCII characters"
            )));
        }
        let format = match value(FORMAT).as_deref() {
            None | Some("verbose_json") => ResponseFormat::VerboseJson,
            Some("json") => ResponseFormat::Json,
            Some(other) => return Err(wrong(format!("{FORMAT} is {other:?}; it is verbose_json or json"))),
        };
        let number = |name: &'static str, least: u64, most: u64| match value(name) {
            None => Ok(None),
            Some(text) => match u64::from_str(&text) {
                Ok(number) if (least..=most).contains(&number) => Ok(Some(number)),
                _ => Err(wrong(format!("{name} is {text:?}; it is a whole number from {least} to {most}"))),
            },
        };
        Ok(Self {
            url,
            key,
            model: value(MODEL).unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
            language: value(LANGUAGE),
            format,
            timeout: number(TIMEOUT_SECONDS, 1, MAX_TIMEOUT_SECONDS)?
                .map_or(DEFAULT_TIMEOUT, DurationMs::from_secs),
            max_bytes: number(MAX_BYTES, 1, u64::from(u32::MAX))?.unwrap_or(DEFAULT_MAX_BYTES),
        })
    }
}

/// The whole address: of a base (`https://api.openai.com`), of a base with its version (`…/v1`), or as it is.
///
/// Nobody but the operator sets it, so that private addresses are no way in for others, and a recogniser of one's own
/// usually has one. Plain `http` is for these alone: no recording goes over the internet in the clear.
fn endpoint(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|error| format!("it is not an absolute URL: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "it holds a user name or password; put the key into the secret {TRANSCRIPTION_KEY}"
        ));
    }
    let plain = UrlPolicy { allow_http: true, allow_private: false };
    match url.scheme() {
        "https" => {}
        "http" if matches!(plain.check(text), Err(UrlError::NotPublic(_))) => {}
        "http" => return Err("plain http is for private addresses; use https://".to_owned()),
        other => return Err(format!("it begins with {other}://, not with https://")),
    }
    url.set_fragment(None);
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with(ENDPOINT_PATH) {
        let version = if path.ends_with("/v1") { "" } else { "/v1" };
        url.set_path(&format!("{path}{version}{ENDPOINT_PATH}"));
    }
    Ok(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[(&str, &str)]) -> Result<TranscriptionSettings, String> {
        let find =
            |name: &str| values.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        TranscriptionSettings::read(find).map_err(|failure| {
            assert_eq!(failure.code, TranscriptionCode::NotConfigured);
            failure.message
        })
    }

    fn url_of(text: &str) -> String {
        read(&[(URL, text)]).unwrap().url.to_string()
    }

    #[test]
    fn an_endpoint_alone_is_enough() {
        let settings = read(&[(URL, "https://api.openai.com")]).unwrap();
        assert_eq!(settings.url.as_str(), "https://api.openai.com/v1/audio/transcriptions");
        assert_eq!((settings.model.as_str(), settings.key, settings.language), ("whisper-1", None, None));
        assert_eq!(settings.timeout, DurationMs::from_secs(600));
        assert_eq!(settings.max_bytes, 26_214_400);
        assert_eq!(settings.format, ResponseFormat::VerboseJson);
    }

    #[test]
    fn a_base_may_have_its_version_and_an_endpoint_may_be_whole() {
        let whole = "https://example.com/v1/audio/transcriptions";
        for text in [
            "https://example.com",
            "https://example.com/",
            "https://example.com/v1",
            "https://example.com/v1/",
            whole,
        ] {
            assert_eq!(url_of(text), whole, "{text}");
        }
        assert_eq!(
            url_of("https://example.com/openai/deployments/w/audio/transcriptions?api-version=1"),
            "https://example.com/openai/deployments/w/audio/transcriptions?api-version=1"
        );
        assert_eq!(url_of("https://example.com/asr"), "https://example.com/asr/v1/audio/transcriptions");
    }

    #[test]
    fn no_recording_goes_over_the_internet_in_the_clear() {
        for private in
            ["http://127.0.0.1:8000", "http://whisper:8000", "http://10.1.2.3", "http://asr.lan/v1"]
        {
            assert!(read(&[(URL, private)]).is_ok(), "{private}");
        }
        assert!(read(&[(URL, "http://example.com")]).unwrap_err().contains("use https"));
        assert!(read(&[(URL, "http://93.184.216.34")]).unwrap_err().contains("use https"));
    }

    #[test]
    fn what_cannot_be_used_is_named() {
        let with = |name, value| read(&[(URL, "https://example.com"), (name, value)]).unwrap_err();
        assert!(read(&[]).unwrap_err().contains(URL));
        assert!(read(&[(URL, "example.com")]).unwrap_err().contains("absolute"));
        assert!(read(&[(URL, "ftp://example.com")]).unwrap_err().contains("ftp://"));
        assert!(read(&[(URL, "https://me:secret@example.com")]).unwrap_err().contains(TRANSCRIPTION_KEY));
        for (name, value) in
            [(TIMEOUT_SECONDS, "0"), (TIMEOUT_SECONDS, "ten"), (MAX_BYTES, "-1"), (FORMAT, "srt")]
        {
            let text = with(name, value);
            assert!(text.contains(name) && text.contains(value), "{text}");
        }
        let text = with(TRANSCRIPTION_KEY, "two words");
        assert!(text.contains(TRANSCRIPTION_KEY) && !text.contains("two words"), "{text}");
    }

    #[test]
    fn a_key_is_never_printed() {
        let settings = read(&[(URL, "https://example.com"), (TRANSCRIPTION_KEY, "sk-123")]).unwrap();
        assert_eq!(settings.key.as_deref(), Some("sk-123"));
        assert!(!format!("{settings:?}").contains("sk-123"));
    }
}
