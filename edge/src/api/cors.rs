//! Which web pages may read answers: the browser asks, and this decides.
//!
//! No cookie means anything here, so an answer is never readable with credentials that a page has not got itself.

use std::collections::BTreeSet;
use std::str::FromStr;

use url::{Origin, Url};

/// Name of the variable with the origins whose pages may use the API with a client's key.
pub const CORS_ORIGINS: &str = "CORS_ORIGINS";

/// Request headers that a page may send.
pub const ALLOWED_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, \
    Last-Event-ID, Minifleet-Ticket, Range, X-Content-Sha256";

/// Answer headers that a page may read.
pub const EXPOSED_HEADERS: &str = "Accept-Ranges, Content-Length, Content-Range, ETag, Location, RateLimit-Limit, \
    RateLimit-Remaining, RateLimit-Reset, Retry-After, X-Request-Id";

/// Pages of these origins may use the API with a client's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origins {
    /// Pages of any.
    Any,
    /// Pages of these, as browsers write them.
    These(BTreeSet<String>),
}

impl FromStr for Origins {
    type Err = String;

    /// Reads `*`, or origins separated by commas or white space.
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "*" {
            return Ok(Self::Any);
        }
        let entries = text.split([',', ' ', '\t', '\r', '\n']).filter(|entry| !entry.is_empty());
        let origins = entries.map(|entry| {
            let read = Url::parse(entry).ok().map(|url| url.origin());
            // Only what a browser would write is ever equal to what it sends: no path, no default port, lower case.
            match read.filter(Origin::is_tuple).map(|origin| origin.ascii_serialization()) {
                Some(origin) if origin == entry => Ok(origin),
                Some(origin) => Err(format!("{entry} is no origin; {origin} is one")),
                None => Err(format!("{entry} is no origin such as https://app.example.com")),
            }
        });
        origins.collect::<Result<_, _>>().map(Self::These)
    }
}

/// Who may read the answers of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readers {
    /// Any page: the ticket in the request or in the path is all that counts, or there is nothing to protect.
    Anyone,
    /// Pages of the listed origins.
    Listed,
    /// No page.
    Nobody,
}

fn readers(path: &str) -> Readers {
    let segments: Vec<&str> = path.split('/').collect();
    match segments.as_slice() {
        ["", "v1", "openapi.json"]
        | ["", "v1", "play", ..]
        | ["", "v1", "uploads", _, "content"]
        | ["", "v1", "projects", _, "upload", "parts", _] => Readers::Anyone,
        ["", "v1", "admin" | "worker", ..] => Readers::Nobody,
        ["", "v1", ..] => Readers::Listed,
        _ => Readers::Nobody,
    }
}

/// What an answer says of who may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The header `Access-Control-Allow-Origin`.
    pub allow_origin: Option<String>,
    /// Whether another origin would be told something else.
    pub varies: bool,
}

/// What the answer at a path says to a page of an origin.
pub fn answer(path: &str, origins: Option<&Origins>, origin: Option<&str>) -> Answer {
    let (allow_origin, varies) = match (readers(path), origins) {
        (Readers::Anyone, _) | (Readers::Listed, Some(Origins::Any)) => (Some("*".to_owned()), false),
        (Readers::Listed, Some(Origins::These(these))) => {
            (origin.filter(|origin| these.contains(*origin)).map(str::to_owned), true)
        }
        (Readers::Listed, None) | (Readers::Nobody, _) => (None, false),
    };
    Answer { allow_origin, varies }
}

#[cfg(test)]
mod tests {
    use super::*;

    const APP: &str = "https://app.example.com";

    fn allowed(path: &str, origins: &str, origin: &str) -> Option<String> {
        let origins: Option<Origins> = (!origins.is_empty()).then(|| origins.parse().unwrap());
        answer(path, origins.as_ref(), Some(origin)).allow_origin
    }

    #[test]
    fn a_ticket_is_enough_for_any_page_whatever_is_listed() {
        for path in
            ["/v1/play/t.s/index.m3u8", "/v1/uploads/upl_1/content", "/v1/projects/prj_1/upload/parts/1"]
        {
            for origins in ["", APP, "*"] {
                assert_eq!(allowed(path, origins, "https://evil.example").as_deref(), Some("*"), "{path}");
            }
        }
    }

    #[test]
    fn with_a_clients_key_only_listed_pages_read_answers() {
        for path in
            ["/v1/jobs", "/v1/uploads", "/v1/uploads/upl_1", "/v1/jobs/job_1/files/a.wav", "/v1/usage"]
        {
            assert_eq!(allowed(path, "", APP), None, "{path}");
            assert_eq!(allowed(path, APP, APP).as_deref(), Some(APP), "{path}");
            assert_eq!(allowed(path, "*", APP).as_deref(), Some("*"), "{path}");
            for other in [
                "https://evil.example",
                "http://app.example.com",
                "https://app.example.com.evil.example",
                "null",
            ] {
                assert_eq!(allowed(path, APP, other), None, "{path} {other}");
            }
        }
    }

    #[test]
    fn operators_and_workers_paths_are_for_no_page() {
        for path in ["/v1/admin/tenants", "/v1/worker/connect", "/", "/listen"] {
            assert_eq!(allowed(path, "*", APP), None, "{path}");
        }
    }

    #[test]
    fn an_answer_that_depends_on_the_origin_says_so_to_caches() {
        let list: Origins = APP.parse().unwrap();
        assert!(answer("/v1/jobs", Some(&list), None).varies);
        assert!(answer("/v1/jobs", Some(&list), Some("https://evil.example")).varies);
        assert!(!answer("/v1/play/t/index.m3u8", Some(&list), None).varies);
    }

    #[test]
    fn an_origin_that_no_browser_would_send_is_pointed_out() {
        let list: Origins = "https://a.example, http://localhost:5173\nhttps://b.example".parse().unwrap();
        assert!(matches!(list, Origins::These(these) if these.len() == 3));
        for (bad, hint) in [
            ("https://a.example/", "https://a.example is one"),
            ("https://A.example", "https://a.example is one"),
            ("https://a.example:443", "https://a.example is one"),
            ("a.example", "no origin such as"),
            ("data:text/plain,x", "no origin such as"),
            ("*,https://a.example", "no origin such as"),
        ] {
            let error = bad.parse::<Origins>().unwrap_err();
            assert!(error.contains(hint), "{bad}: {error}");
        }
    }
}
