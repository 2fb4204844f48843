//! By which names this server goes, and the pages of which origins it serves. Pure: it looks at heads and at nothing else.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri};

/// No name is longer (RFC 1035, section 2.3.4); a scheme and a port go with it.
const LONGEST_SHOWN: usize = 300;

/// A name that clients may call this server by; without a port, at any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct HostName {
    name: String,
    port: Option<u16>,
}

/// Where a page comes from, as browsers spell it (RFC 6454, section 6.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin(String);

/// What is answered to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Names {
    pub hosts: Vec<HostName>,
    pub origins: Vec<Origin>,
}

/// Why a request is not meant for here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Astray {
    /// No single, readable name: nobody could say whom it is for.
    Unclear,
    AnotherHost,
    AnotherOrigin,
}

impl HostName {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]:".contains(&byte);
        if !text.bytes().all(plain) || authority.host().is_empty() {
            return None;
        }
        Some(Self {
            name: authority.host().to_ascii_lowercase(),
            port: authority.port_u16(),
        })
    }
}

impl Origin {
    /// INVARIANT: `null` is nobody's name, and `*` everybody's: neither can be listed.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        // RFC 3986, section 3.1; browsers write it in small letters.
        let letters = |byte: u8| byte.is_ascii_lowercase();
        let others = |byte: u8| letters(byte) || byte.is_ascii_digit() || b"+-.".contains(&byte);
        let schemed = scheme.bytes().next().is_some_and(letters) && scheme.bytes().all(others);
        let hosted = HostName::parse(host).is_some();
        (schemed && hosted).then(|| Self(text.to_ascii_lowercase()))
    }
}

impl Names {
    /// Whether a request that came to `local` is meant for it, and may come from where it says.
    ///
    /// INVARIANT: a page in a browser that was tricked into coming here (DNS rebinding) names the host that it was tricked
    /// by, so a name must be ours; an address can only be that at which the request arrived.
    pub(super) fn look(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
        local: SocketAddr,
    ) -> Result<Option<HeaderValue>, Astray> {
        let host = only(headers, HOST)?.ok_or(Astray::Unclear)?;
        let host = host.to_str().map_err(|_| Astray::Unclear)?;
        let named: Authority = host.parse().map_err(|_| Astray::Unclear)?;
        if named.as_str().contains('@') {
            return Err(Astray::Unclear);
        }
        if !self.is_ours(&named, local) {
            return Err(Astray::AnotherHost);
        }
        // Whoever writes the whole address must not write another one than it names.
        if let Some(target) = uri.authority()
            && !target.as_str().eq_ignore_ascii_case(named.as_str())
        {
            return Err(Astray::AnotherHost);
        }
        let Some(origin) = only(headers, ORIGIN)? else {
            return Ok(None);
        };
        // A page that this very server could have sent: scheme apart, its origin is what Host says, which was looked at.
        let of_ours = ["http://", "https://"].iter().any(|scheme| {
            let authority = origin.as_bytes().strip_prefix(scheme.as_bytes());
            authority.is_some_and(|text| text.eq_ignore_ascii_case(host.as_bytes()))
        });
        if of_ours {
            return Ok(None);
        }
        let listed = |one: &Origin| origin.as_bytes() == one.0.as_bytes();
        match self.origins.iter().any(listed) {
            true => Ok(Some(origin.clone())),
            false => Err(Astray::AnotherOrigin),
        }
    }

    fn is_ours(&self, named: &Authority, local: SocketAddr) -> bool {
        let host = named.host();
        let here = local.ip().to_canonical();
        if host.eq_ignore_ascii_case("localhost") && here.is_loopback() {
            return true;
        }
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        if literal.parse().is_ok_and(|address: IpAddr| address == here) {
            return true;
        }
        self.hosts.iter().any(|one| {
            let same_port = one.port.is_none_or(|port| named.port_u16() == Some(port));
            one.name.eq_ignore_ascii_case(host) && same_port
        })
    }
}

/// What a request that went astray named, as far as an operator can be shown it: a name or an origin, and nothing else.
pub(super) fn shown(astray: Astray, headers: &HeaderMap) -> Option<String> {
    let (header, reads): (_, fn(&str) -> bool) = match astray {
        Astray::Unclear => return None,
        Astray::AnotherHost => (HOST, |text| HostName::parse(text).is_some()),
        Astray::AnotherOrigin => (ORIGIN, |text| Origin::parse(text).is_some()),
    };
    let text = headers.get(header)?.to_str().ok()?;
    (text.len() <= LONGEST_SHOWN && reads(text)).then(|| text.to_owned())
}

/// The one header of this name; two are one too many.
fn only(headers: &HeaderMap, name: axum::http::HeaderName) -> Result<Option<&HeaderValue>, Astray> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (one, None) => Ok(one),
        _ => Err(Astray::Unclear),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(names: &Names, local: &str, uri: &str, lines: &[(&str, &str)]) -> Result<bool, Astray> {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            let name: axum::http::HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let looked = names.look(&uri.parse().unwrap(), &headers, local.parse().unwrap());
        looked.map(|origin| origin.is_some())
    }

    #[test]
    fn origins_may_have_any_scheme_that_there_is() {
        for good in ["https://a.example", "vscode-webview://a1", "web+mail.1://a"] {
            assert!(Origin::parse(good).is_some(), "{good}");
        }
        for bad in ["://a.example", "1a://a", "-a://a", "a_b://a", "null", "*"] {
            assert!(Origin::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        let names = Names {
            hosts: ["mail.example.com", "other.example.com:8443"]
                .map(|name| HostName::parse(name).unwrap())
                .into(),
            origins: vec![Origin::parse("https://app.example.com").unwrap()],
        };
        let here = "127.0.0.1:7777";
        for (host, want) in [
            ("127.0.0.1:7777", Ok(false)),
            ("127.0.0.1", Ok(false)),
            ("localhost:1", Ok(false)),
            ("LOCALHOST", Ok(false)),
            ("mail.example.com", Ok(false)),
            ("Mail.Example.COM:443", Ok(false)),
            ("other.example.com:8443", Ok(false)),
            ("other.example.com", Err(Astray::AnotherHost)),
            ("other.example.com:443", Err(Astray::AnotherHost)),
            ("evil.example", Err(Astray::AnotherHost)),
            ("mail.example.com.evil.example", Err(Astray::AnotherHost)),
            ("127.0.0.2", Err(Astray::AnotherHost)),
            ("[::1]", Err(Astray::AnotherHost)),
            ("127.0.0.1.evil.example", Err(Astray::AnotherHost)),
            ("localhost@evil.example", Err(Astray::Unclear)),
            ("evil.example@localhost", Err(Astray::Unclear)),
            ("local host", Err(Astray::Unclear)),
            ("", Err(Astray::Unclear)),
        ] {
            assert_eq!(
                look(&names, here, "/mcp", &[("host", host)]),
                want,
                "{host}"
            );
        }
        assert_eq!(look(&names, here, "/mcp", &[]), Err(Astray::Unclear));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(look(&names, here, "/mcp", &twice), Err(Astray::Unclear));
        // From elsewhere, localhost is nobody's name.
        let away = "192.0.2.7:80";
        let local = [("host", "localhost")];
        assert_eq!(look(&names, away, "/mcp", &local), Err(Astray::AnotherHost));
        assert_eq!(
            look(&names, away, "/mcp", &[("host", "192.0.2.7")]),
            Ok(false)
        );
    }

    /// Whatever a stranger writes there: a line on stderr has a name of it, or nothing.
    #[test]
    fn only_names_are_shown_of_what_went_astray() {
        let of = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
            headers.insert(name, value);
            let astray = match name {
                "host" => Astray::AnotherHost,
                _ => Astray::AnotherOrigin,
            };
            shown(astray, &headers)
        };
        assert_eq!(
            of("host", "evil.example:80").as_deref(),
            Some("evil.example:80")
        );
        let page = of("origin", "https://evil.example");
        assert_eq!(page.as_deref(), Some("https://evil.example"));
        for value in ["a b", "ä.example", "<b>", "a/b", "user:word@a", ""] {
            assert_eq!(of("host", value), None, "{value}");
            assert_eq!(of("origin", value), None, "{value}");
        }
        assert_eq!(of("host", &"a".repeat(LONGEST_SHOWN + 1)), None);
    }

    #[test]
    fn a_whole_address_names_the_same_host() {
        let names = Names::default();
        for (uri, want) in [
            ("http://localhost/mcp", Ok(false)),
            ("http://LOCALHOST/mcp", Ok(false)),
            ("http://evil.example/mcp", Err(Astray::AnotherHost)),
            ("http://localhost:1/mcp", Err(Astray::AnotherHost)),
        ] {
            let looked = look(&names, "[::1]:5", uri, &[("host", "localhost")]);
            assert_eq!(looked, want, "{uri}");
        }
    }

    #[test]
    fn origins_are_listed_or_refused() {
        let names = Names {
            hosts: Vec::new(),
            origins: vec![Origin::parse("https://app.example.com").unwrap()],
        };
        for (origin, want) in [
            ("https://app.example.com", Ok(true)),
            ("https://app.example.com:443", Err(Astray::AnotherOrigin)),
            ("http://app.example.com", Err(Astray::AnotherOrigin)),
            ("https://evil.example", Err(Astray::AnotherOrigin)),
            ("null", Err(Astray::AnotherOrigin)),
            ("", Err(Astray::AnotherOrigin)),
        ] {
            let lines = [("host", "localhost"), ("origin", origin)];
            assert_eq!(look(&names, "127.0.0.1:5", "/", &lines), want, "{origin}");
        }
        for none in [
            "null",
            "*",
            "https://*",
            "app.example.com",
            "https://a/b",
            "https://",
        ] {
            assert_eq!(Origin::parse(none), None, "{none}");
        }
    }
}
