//! Everything that can go wrong, as one typed error, and the one classification that programs act upon.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::config::ConfigError;
use crate::source::InputError;

/// Why a call failed. `Display` says what happened and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The service answered with a problem document.
    #[error("{0}")]
    Problem(Box<Problem>),
    /// No answer: the connection could not be made, broke, or stayed silent for too long.
    #[error("no answer from {address}: {reason}")]
    Unreachable {
        /// Scheme, host and port that were asked.
        address: String,
        /// What the network said.
        reason: String,
        /// Whether the connection could not even be made, so that nothing was sent.
        before_sending: bool,
    },
    /// An answer that is not what the API promises.
    #[error(
        "{address} gave an answer that this program does not understand ({reason}): is it the address of a minifleet edge?"
    )]
    UnexpectedAnswer {
        /// Scheme, host and port that were asked.
        address: String,
        /// What was wrong with the answer.
        reason: String,
    },
    /// No usable address or key.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A recording that cannot be uploaded.
    #[error(transparent)]
    Input(#[from] InputError),
    /// A file of this machine could not be read or written.
    #[error("cannot {action} {path}: {source}", path = path.display())]
    LocalFile {
        /// What was tried: "write", "read", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The bytes that arrived are not those that the service announced, twice in a row.
    #[error("{name} arrived damaged (sha256 {actual} instead of {expected}): try again")]
    ChecksumMismatch {
        /// Name of the file.
        name: String,
        /// Announced sha256, in hex.
        expected: String,
        /// Sha256 of the bytes that arrived, in hex.
        actual: String,
    },
}

/// What a program should do about an [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The address, the key or a recording given by the user cannot be used.
    Usage,
    /// The key is missing, unknown, or may not do this.
    NotAuthorized,
    /// There is no such job, upload or file.
    NotFound,
    /// The service cannot be reached, is overloaded or failed; the same call may succeed later.
    Unavailable,
    /// The service understood the request and will not do it.
    Refused,
    /// This machine's files, not the service.
    Local,
}

impl Error {
    /// The one table from errors to what can be done about them.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Error::Config(_) | Error::Input(_) => ErrorKind::Usage,
            Error::Problem(problem) => match problem.status {
                401 | 403 => ErrorKind::NotAuthorized,
                404 | 410 => ErrorKind::NotFound,
                429 | 500.. => ErrorKind::Unavailable,
                _ => ErrorKind::Refused,
            },
            Error::Unreachable { .. } | Error::UnexpectedAnswer { .. } => ErrorKind::Unavailable,
            Error::LocalFile { .. } | Error::ChecksumMismatch { .. } => ErrorKind::Local,
        }
    }

    /// Stable name of the condition: the service's own code for a [`Problem`].
    pub fn code(&self) -> &str {
        match self {
            Error::Problem(problem) => &problem.code,
            Error::Unreachable { .. } => "unreachable",
            Error::UnexpectedAnswer { .. } => "unexpected_answer",
            Error::Config(_) => "configuration",
            Error::Input(input) => input.code(),
            Error::LocalFile { .. } => "local_file",
            Error::ChecksumMismatch { .. } => "checksum_mismatch",
        }
    }

    /// Identifier of the request in the service's logs, when it answered.
    pub fn request_id(&self) -> Option<&str> {
        match self {
            Error::Problem(problem) => problem.request_id.as_deref(),
            _ => None,
        }
    }

    /// How long the service asks to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Error::Problem(problem) => problem.retry_after,
            _ => None,
        }
    }

    /// Whether the service answered with this code.
    pub fn is_problem(&self, code: &str) -> bool {
        matches!(self, Error::Problem(problem) if problem.code == code)
    }

    pub(crate) fn local(action: &'static str, path: &Path, source: std::io::Error) -> Self {
        Error::LocalFile { action, path: path.to_owned(), source }
    }
}

/// A problem document (RFC 9457) of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// HTTP status.
    pub status: u16,
    /// Stable code in snake_case; `http_<status>` when the answer had none (a proxy's error page, for example).
    pub code: String,
    /// Name of the kind of problem.
    pub title: String,
    /// What happened and what to do.
    pub detail: String,
    /// The request field that is meant, if there is one.
    pub field: Option<String>,
    /// Identifier of the request in the service's logs.
    pub request_id: Option<String>,
    /// How long the service asks to be left alone.
    pub retry_after: Option<Duration>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.detail)?;
        if let Some(field) = &self.field {
            write!(f, " [field {field}]")?;
        }
        write!(f, " (code {}", self.code)?;
        if let Some(request_id) = &self.request_id {
            write!(f, ", request {request_id}")?;
        }
        write!(f, ")")
    }
}

/// The document as it is sent; every member may be missing, since proxies between answer too.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ProblemDocument {
    title: Option<String>,
    detail: Option<String>,
    code: Option<String>,
    field: Option<String>,
    request_id: Option<String>,
    retry_after_seconds: Option<f64>,
}

impl Problem {
    /// Reads the answer of a failed call. `request_id` and `retry_after` are those of the headers; the document's own win.
    pub(crate) fn parse(
        status: u16,
        reason: &str,
        request_id: Option<String>,
        retry_after: Option<Duration>,
        body: &[u8],
    ) -> Self {
        let document = serde_json::from_slice::<ProblemDocument>(body).unwrap_or_default();
        let title = document.title.unwrap_or_else(|| format!("{status} {reason}").trim().to_owned());
        Problem {
            status,
            code: document.code.unwrap_or_else(|| format!("http_{status}")),
            detail: document
                .detail
                .unwrap_or_else(|| format!("the service answered {title} and no explanation")),
            title,
            field: document.field,
            request_id: document.request_id.or(request_id),
            retry_after: document
                .retry_after_seconds
                .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
                .or(retry_after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_document_becomes_code_detail_and_request_id() {
        let problem = Problem::parse(
            429,
            "Too Many Requests",
            Some("from-header".into()),
            Some(Duration::from_secs(9)),
            br#"{"type":"about:blank","title":"Queue full","status":429,"detail":"Try again later.","code":"queue_full",
                "requestId":"req_1","retryAfterSeconds":2.5,"somethingNew":1}"#,
        );
        assert_eq!((problem.code.as_str(), problem.request_id.as_deref()), ("queue_full", Some("req_1")));
        assert_eq!(problem.retry_after, Some(Duration::from_millis(2500)));
        assert_eq!(problem.to_string(), "Try again later. (code queue_full, request req_1)");
        assert_eq!(Error::Problem(Box::new(problem)).kind(), ErrorKind::Unavailable);
    }

    #[test]
    fn an_error_page_of_a_proxy_still_says_something() {
        let problem = Problem::parse(502, "Bad Gateway", None, None, b"<html>oops</html>");
        assert_eq!(problem.code, "http_502");
        assert_eq!(
            problem.to_string(),
            "the service answered 502 Bad Gateway and no explanation (code http_502)"
        );
    }
}
