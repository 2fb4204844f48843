//! The few requests that OAuth needs: bounded in size and time, and to nobody but the address that was named.
//!
//! It follows no redirects and asks no proxy, whatever the environment says: what it carries is meant for one server.
//! What it sends and reads is zeroized; the buffers of the HTTP and TLS libraries beneath it are not.

use std::fmt::Write as _;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use reqwest::{Client, RequestBuilder, Response, Url};
use zeroize::Zeroizing;

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// No answer comes later.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);
const LARGEST: usize = 64 * 1024;
const LARGEST_CA_FILE: u64 = 4 * 1024 * 1024;
const LONGEST_ADDRESS: usize = 2048;

/// An address that secrets may be sent to: https, or this very machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoint(Url);

impl Endpoint {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text.len() > LONGEST_ADDRESS {
            return None;
        }
        let url = Url::parse(text).ok()?;
        let named = url.has_host() && url.username().is_empty() && url.password().is_none();
        let secure = match url.scheme() {
            "https" => true,
            "http" => is_loopback(&url),
            _ => false,
        };
        (named && secure && url.fragment().is_none()).then_some(Self(url))
    }

    pub(crate) fn url(&self) -> &Url {
        &self.0
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// For messages: the server, without what was asked of it.
    pub(crate) fn server(&self) -> String {
        self.0.origin().ascii_serialization()
    }
}

fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else {
        return false;
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || bare.parse().is_ok_and(|it: Ipv4Addr| it.is_loopback())
        || bare.parse().is_ok_and(|it: Ipv6Addr| it.is_loopback())
}

/// The fields of a form. Each is percent-encoded as the narrowest readers want it.
pub(crate) fn encode(fields: &[(&str, &str)]) -> Zeroizing<String> {
    // Enough for all: growing would leave copies behind.
    let room = fields
        .iter()
        .map(|(name, value)| 3 * (name.len() + value.len()) + 2);
    let mut form = Zeroizing::new(String::with_capacity(room.sum()));
    for (name, value) in fields {
        if !form.is_empty() {
            form.push('&');
        }
        escape(&mut form, name);
        form.push('=');
        escape(&mut form, value);
    }
    form
}

fn escape(form: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            form.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(form, "%{byte:02X}");
        }
    }
}

/// How a client that has a secret shows it (RFC 6749, section 2.3.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ClientAuth {
    Form,
    Basic,
}

/// A `Basic` header's value.
pub(crate) fn basic(id: &str, secret: &str) -> Option<HeaderValue> {
    use base64::Engine as _;
    let mut pair = Zeroizing::new(String::with_capacity(3 * (id.len() + secret.len()) + 1));
    escape(&mut pair, id);
    pair.push(':');
    escape(&mut pair, secret);
    let encoded = base64::engine::general_purpose::STANDARD.encode(pair.as_bytes());
    let encoded = Zeroizing::new(format!("Basic {}", *Zeroizing::new(encoded)));
    let mut value = HeaderValue::from_str(&encoded).ok()?;
    value.set_sensitive(true);
    Some(value)
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub status: u16,
    pub body: Zeroizing<Vec<u8>>,
    pub retry_after: Option<Duration>,
}

/// Why there is no reply. INVARIANT: nothing of what was sent or read is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Unanswered {
    TimedOut,
    Unreachable { why: String },
    TooLarge,
    Broken,
}

impl Unanswered {
    pub(crate) fn say(&self, server: &str) -> String {
        match self {
            Self::TimedOut => format!("{server} did not answer in time; it is asked again later"),
            Self::Unreachable { why } => {
                format!("{server} could not be reached ({why}); check the network and the address")
            }
            Self::TooLarge => format!("{server} answered with more than any such answer has"),
            Self::Broken => format!("the connection to {server} broke before it had answered"),
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Http(Client);

impl Http {
    /// Reads the system's certificates, and `ca_file` beside them: not for an async thread.
    pub(crate) fn build(ca_file: Option<&Path>) -> Result<Self, String> {
        let mut builder = Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .referer(false)
            .connect_timeout(CONNECT_LIMIT)
            .timeout(LIMIT)
            .pool_max_idle_per_host(0)
            .user_agent("mailwarden");
        if let Some(path) = ca_file {
            let wrong = |why: String| format!("ca_file {} {why}", path.display());
            let pem = read_ca_file(path).map_err(|why| wrong(format!("cannot be read: {why}")))?;
            let found = reqwest::Certificate::from_pem_bundle(&pem).unwrap_or_default();
            if found.is_empty() {
                return Err(wrong("holds no certificate in PEM".to_owned()));
            }
            builder = builder.tls_certs_merge(found);
        }
        builder.build().map(Self).map_err(|error| {
            format!(
                "TLS cannot be set up ({}); install the system's certificates (ca-certificates) or name a ca_file",
                innermost(&error)
            )
        })
    }

    pub(crate) async fn get(&self, at: &Endpoint) -> Result<Reply, Unanswered> {
        self.ask(self.0.get(at.url().clone())).await
    }

    pub(crate) async fn post(
        &self,
        at: &Endpoint,
        form: Zeroizing<String>,
        authorization: Option<HeaderValue>,
    ) -> Result<Reply, Unanswered> {
        let body = Bytes::from_owner(form);
        let mut request = self
            .0
            .post(at.url().clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(body);
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value);
        }
        self.ask(request).await
    }

    async fn ask(&self, request: RequestBuilder) -> Result<Reply, Unanswered> {
        let request = request.header(ACCEPT, "application/json");
        let mut response = request.send().await.map_err(|error| sort(&error))?;
        let retry_after = retry_after(&response);
        let mut body = Zeroizing::new(Vec::with_capacity(LARGEST));
        while let Some(chunk) = response.chunk().await.map_err(|error| sort(&error))? {
            if body.len() + chunk.len() > LARGEST {
                return Err(Unanswered::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Reply {
            status: response.status().as_u16(),
            body,
            retry_after,
        })
    }
}

fn read_ca_file(path: &Path) -> Result<Vec<u8>, std::io::Error> {
    use std::io::Read as _;
    let mut pem = Vec::new();
    let file = std::fs::File::open(path)?;
    file.take(LARGEST_CA_FILE).read_to_end(&mut pem)?;
    Ok(pem)
}

/// Seconds alone: a date would need a clock that agrees with the server's.
fn retry_after(response: &Response) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

fn sort(error: &reqwest::Error) -> Unanswered {
    if error.is_timeout() {
        Unanswered::TimedOut
    } else if error.is_connect() {
        let why = innermost(error);
        Unanswered::Unreachable { why }
    } else {
        Unanswered::Broken
    }
}

/// What resolver, network or TLS said: nothing has been sent by then.
fn innermost(error: &reqwest::Error) -> String {
    let mut inner: &dyn std::error::Error = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    let plain = |letter: &char| !letter.is_control();
    inner.to_string().chars().filter(plain).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_by_https_or_to_this_machine() {
        for fine in [
            "https://oauth2.googleapis.com/token",
            "https://example.org:8443/a?tenant=x",
            "http://127.0.0.1:9/token",
            "http://127.9.9.9/token",
            "http://[::1]:9/token",
            "http://localhost:9/token",
        ] {
            assert!(Endpoint::parse(fine).is_some(), "{fine}");
        }
        for wrong in [
            "",
            "token",
            "/token",
            "http://example.org/token",
            "http://localhost.example.org/token",
            "http://127.0.0.1.example.org/token",
            "http://10.0.0.1/token",
            "http://[2001:db8::1]/token",
            "ftp://127.0.0.1/token",
            "file:///etc/passwd",
            "https://user@example.org/",
            "https://user:pass@example.org/",
            "https://example.org/#fragment",
        ] {
            assert_eq!(Endpoint::parse(wrong), None, "{wrong}");
        }
        assert_eq!(
            Endpoint::parse(&format!("https://e.org/{}", "x".repeat(4000))),
            None
        );
    }

    #[test]
    fn forms_are_spelled_so_that_nothing_can_be_slipped_in() {
        let form = encode(&[("a", "1&b=2"), ("ä", "x y+%/\r\n")]);
        assert_eq!(form.as_str(), "a=1%26b%3D2&%C3%A4=x%20y%2B%25%2F%0D%0A");
        assert_eq!(encode(&[]).as_str(), "");
        let header = basic("id:1", "s ö").unwrap();
        assert_eq!(header, "Basic aWQlM0ExOnMlMjAlQzMlQjY=");
        assert_eq!(format!("{header:?}"), "Sensitive");
    }

    #[test]
    fn a_ca_file_that_holds_nothing_is_said() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ca.pem");
        assert!(
            Http::build(Some(&path))
                .unwrap_err()
                .contains("cannot be read")
        );
        std::fs::write(&path, "nothing").unwrap();
        assert!(
            Http::build(Some(&path))
                .unwrap_err()
                .contains("no certificate")
        );
    }
}
