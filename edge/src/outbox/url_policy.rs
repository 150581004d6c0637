//! Where events may be sent to.
//!
//! The edge would otherwise be a way into networks that only it can reach (server-side request forgery). Names are
//! judged as text: a name that resolves to a private address is left to the platform, which has no route there.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Characters in an endpoint's URL.
pub const MAX_URL_LENGTH: usize = 2_048;

/// What an operator allows beyond public `https`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct UrlPolicy {
    /// Plain `http`, for development.
    pub allow_http: bool,
    /// Private, loopback and other special addresses and names, for endpoints in the operator's own network.
    pub allow_private: bool,
}

/// Why nothing is sent to a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// It is too long.
    #[error("a webhook URL has at most {MAX_URL_LENGTH} characters")]
    TooLong,
    /// It cannot be read.
    #[error("this is not an absolute URL: {0}")]
    NotAUrl(#[from] url::ParseError),
    /// Not `https`.
    #[error("a webhook URL begins with https://, not {0}://")]
    Scheme(String),
    /// It carries a name or a password.
    #[error("a webhook URL may not hold a user name or password; check the signature instead")]
    UserInfo,
    /// It names no host.
    #[error("a webhook URL names a host")]
    NoHost,
    /// It points into a private or special network.
    #[error("{0} is not a public address; use one that can be reached from the internet")]
    NotPublic(String),
    /// A port where no web server is.
    #[error("port {0} is not allowed; use the scheme's own port or one from 1024")]
    Port(u16),
}

impl UrlPolicy {
    /// Checks a URL and reads it.
    ///
    /// # Errors
    /// [`UrlError`]: the first rule that it breaks.
    pub fn check(&self, text: &str) -> Result<Url, UrlError> {
        if text.len() > MAX_URL_LENGTH {
            return Err(UrlError::TooLong);
        }
        let url = Url::parse(text)?;
        match url.scheme() {
            "https" => {}
            "http" if self.allow_http => {}
            other => return Err(UrlError::Scheme(other.to_owned())),
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::UserInfo);
        }
        // The parser has brought every notation of an IPv4 address (octal, hexadecimal, one number) into its usual form.
        let public = match url.host().ok_or(UrlError::NoHost)? {
            Host::Ipv4(address) => is_public_v4(address),
            Host::Ipv6(address) => is_public_v6(address),
            Host::Domain(name) => is_public_name(name),
        };
        if !public && !self.allow_private {
            return Err(UrlError::NotPublic(url.host_str().unwrap_or_default().to_owned()));
        }
        // `None` is the scheme's own port. Port 80 with https or 443 with http is a mistake but a harmless one.
        match url.port() {
            Some(port) if port < 1024 && port != 80 && port != 443 => Err(UrlError::Port(port)),
            _ => Ok(url),
        }
    }
}

/// Names that by standard or habit exist in private networks only (RFC 6761, 6762, 8375, ICANN's `internal`).
const PRIVATE_SUFFIXES: [&str; 10] =
    ["localhost", "local", "internal", "localdomain", "lan", "intranet", "corp", "home", "arpa", "onion"];

fn is_public_name(name: &str) -> bool {
    let name = name.trim_end_matches('.');
    match name.rsplit_once('.') {
        Some((_, suffix)) => !PRIVATE_SUFFIXES.iter().any(|private| suffix.eq_ignore_ascii_case(private)),
        // One label alone is completed by the resolver's own search list.
        None => false,
    }
}

/// By IANA's IPv4 special-purpose registry. 169.254.169.254, where clouds serve metadata, is link-local.
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        [0 | 10 | 127, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            | [172, 16..=31, ..]
            | [192, 0, 0 | 2, _]
            | [192, 88, 99, _]
            | [192, 168, ..]
            | [198, 18 | 19, ..]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [224..=255, ..]
    )
}

/// By IANA's IPv6 special-purpose registry. Global addresses are those in 2000::/3; forms that carry an IPv4 address inside
/// are judged by it.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Mapped, and translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => embedded(high, low),
        // 6to4.
        [0x2002, high, low, ..] => embedded(high, low),
        // Protocol assignments, among them Teredo; documentation.
        [0x2001, ..=0x01ff | 0x0db8, ..] | [0x3fff, ..=0x0fff, ..] => false,
        [0x2000..=0x3fff, ..] => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(url: &str) -> UrlError {
        UrlPolicy::default().check(url).expect_err(url)
    }

    #[test]
    fn public_https_is_allowed() {
        for url in [
            "https://example.com/hooks?tenant=1",
            "https://hooks.example.co.uk:8443/",
            "https://93.184.216.34/",
            "https://[2606:4700::1111]/",
            "https://[::ffff:93.184.216.34]/",
            "https://172.32.0.1/",
            "https://100.128.0.1/",
        ] {
            assert!(UrlPolicy::default().check(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn no_notation_of_a_private_address_gets_through() {
        for host in [
            "127.0.0.1",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0177.0.0.1",
            "0x7f.1",
            "0",
            "0.0.0.0",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "2852039166",
            "0xa9.0xfe.0xa9.0xfe",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "192.0.0.192",
            "１２７.0.0.1",
            "127。0。0。1",
            "%31%32%37.0.0.1",
            "127.0.0.1.",
            "[::]",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a9fe:a9fe]",
            "[::127.0.0.1]",
            "[fe80::1]",
            "[fc00::1]",
            "[fd00:ec2::254]",
            "[fec0::1]",
            "[ff02::1]",
            "[64:ff9b::10.0.0.1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2002:a9fe:a9fe::1]",
            "[2001::1]",
            "[2001:db8::1]",
            "[100::1]",
        ] {
            let error = refused(&format!("https://{host}/hook"));
            assert!(matches!(error, UrlError::NotPublic(_)), "{host}: {error}");
        }
    }

    #[test]
    fn no_private_name_gets_through() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "metadata.google.internal",
            "mini-1.local",
            "router",
            "nas.lan",
            "1.0.0.127.in-addr.arpa",
            "printer.home.arpa",
            "x.internal.",
        ] {
            let error = refused(&format!("https://{host}/hook"));
            assert!(matches!(error, UrlError::NotPublic(_)), "{host}: {error}");
        }
    }

    #[test]
    fn other_schemes_passwords_and_odd_ports_are_refused() {
        assert_eq!(refused("http://example.com/"), UrlError::Scheme("http".into()));
        assert_eq!(refused("file:///etc/passwd"), UrlError::Scheme("file".into()));
        assert_eq!(refused("https://user:secret@example.com/"), UrlError::UserInfo);
        assert_eq!(refused("https://example.com@10.0.0.1/"), UrlError::UserInfo);
        assert_eq!(refused("https://example.com:22/"), UrlError::Port(22));
        assert_eq!(refused("https://example.com:0/"), UrlError::Port(0));
        assert!(matches!(refused("/hook"), UrlError::NotAUrl(_)));
        assert!(matches!(refused("https://"), UrlError::NotAUrl(_)));
        assert_eq!(refused(&format!("https://example.com/{}", "x".repeat(2_048))), UrlError::TooLong);
    }

    #[test]
    fn an_operator_may_allow_what_is_refused_by_default() {
        let home = UrlPolicy { allow_http: true, allow_private: true };
        assert!(home.check("http://localhost:8080/hook").is_ok());
        assert!(home.check("http://[::1]:8080/hook").is_ok());
        let http_only = UrlPolicy { allow_http: true, allow_private: false };
        assert!(http_only.check("http://example.com/").is_ok());
        assert!(http_only.check("http://127.0.0.1/").is_err());
    }
}
