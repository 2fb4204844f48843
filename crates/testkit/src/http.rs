//! A tiny blocking HTTP/1.1 client for tests: a connection per request, no redirect followed, no cookie kept.

use crate::client::{Stream, secure};
use std::fmt::Write as _;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// Asks servers, over TLS too where it was told whom to trust.
#[derive(Clone, Debug, Default)]
pub struct Http {
    ca_pem: Option<String>,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Http {
    /// Plain text only.
    pub fn plain() -> Self {
        Self::default()
    }

    pub fn trusting(ca_pem: &str) -> Self {
        let ca_pem = Some(ca_pem.to_owned());
        Self { ca_pem }
    }

    pub fn get(&self, url: &str) -> Result<Response> {
        self.send("GET", url, &[], &[])
    }

    /// A form, as the token endpoint wants it.
    pub fn post_form(&self, url: &str, fields: &[(&str, &str)]) -> Result<Response> {
        let headers = [("Content-Type", "application/x-www-form-urlencoded")];
        self.send("POST", url, &headers, form(fields).as_bytes())
    }

    pub fn send(
        &self,
        method: &str,
        url: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Result<Response> {
        let url = Url::parse(url)?;
        let mut head = format!(
            "{method} {} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n",
            url.path, url.authority
        );
        if method != "GET" {
            let _ = write!(head, "Content-Length: {}\r\n", body.len());
        }
        for (name, value) in headers {
            let _ = write!(head, "{name}: {value}\r\n");
        }
        head.push_str("\r\n");
        let mut stream = self.open(&url)?;
        stream.write_all(&[head.as_bytes(), body].concat())?;
        let mut received = Vec::new();
        match stream.read_to_end(&mut received) {
            // A TLS server may leave without a word once it has said everything.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && !received.is_empty() => {}
            read => drop(read?),
        }
        parse(&received)
    }

    fn open(&self, url: &Url) -> Result<Stream> {
        let stream = TcpStream::connect((url.host.as_str(), url.port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        match (&self.ca_pem, url.secure) {
            (_, false) => Ok(Stream::Plain(stream)),
            (Some(ca), true) => secure(stream, ca, &url.host),
            (None, true) => Err(Error::other("no certificate authority to trust")),
        }
    }
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self
            .headers
            .iter()
            .find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("no JSON ({e}): {}", self.text()))
    }
}

struct Url {
    secure: bool,
    authority: String,
    host: String,
    port: u16,
    /// With its query.
    path: String,
}

impl Url {
    fn parse(url: &str) -> Result<Self> {
        let wrong = || Error::other(format!("not a URL for tests: {url}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(wrong)?;
        let secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(wrong()),
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let port_at = authority
            .rfind(':')
            .filter(|at| !authority[*at..].contains(']'));
        let (host, port) = match port_at {
            Some(at) => (
                &authority[..at],
                authority[at + 1..].parse().map_err(|_| wrong())?,
            ),
            None if secure => (authority, 443),
            None => (authority, 80),
        };
        Ok(Self {
            secure,
            authority: authority.to_owned(),
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            path: if path.starts_with('/') {
                path.to_owned()
            } else {
                format!("/{path}")
            },
        })
    }
}

/// `a=1&b=2`, escaped.
pub fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{}={}", escape(name), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// The value of a parameter in a URL's query, unescaped.
pub fn parameter(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split_once('?')?;
    let query = query.split('#').next()?;
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(key, _)| unescape(key) == name);
    found.next().map(|(_, value)| unescape(value))
}

/// The URL with one parameter of its query replaced, or added.
pub fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let others = query
        .split('&')
        .filter(|pair| !pair.is_empty() && pair.split('=').next() != Some(name));
    let new = form(&[(name, value)]);
    let pairs: Vec<&str> = others.chain([new.as_str()]).collect();
    format!("{base}?{}", pairs.join("&"))
}

fn escape(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}

fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        let hex = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let byte = hex.and_then(|hex| u8::from_str_radix(hex, 16).ok());
        at += if byte.is_some() { 3 } else { 1 };
        out.push(match byte {
            Some(byte) => byte,
            None if bytes[at - 1] == b'+' => b' ',
            None => bytes[at - 1],
        });
    }
    String::from_utf8_lossy(&out).into_owned()
}

fn parse(received: &[u8]) -> Result<Response> {
    let cut = || Error::new(ErrorKind::UnexpectedEof, "the answer ends early");
    let end = memchr::memmem::find(received, b"\r\n\r\n").ok_or_else(cut)?;
    let mut response = head(&received[..end])?;
    response.body = received[end + 4..].to_vec();
    if response.header("transfer-encoding") == Some("chunked") {
        response.body = unchunk(&response.body).ok_or_else(cut)?;
    } else if let Some(length) = response.header("content-length") {
        let length: usize = length.parse().map_err(Error::other)?;
        if response.body.len() < length {
            return Err(cut());
        }
    }
    Ok(response)
}

/// An answer's status and headers, without a body.
pub(crate) fn head(received: &[u8]) -> Result<Response> {
    let head = String::from_utf8_lossy(received);
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok())
        .ok_or_else(|| Error::other("no HTTP answer"))?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
        .collect();
    Ok(Response {
        status,
        headers,
        body: Vec::new(),
    })
}

fn unchunk(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let line = memchr::memmem::find(rest, b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).ok()?, 16).ok()?;
        if size == 0 {
            return Some(body);
        }
        body.extend_from_slice(rest.get(line + 2..line + 2 + size)?);
        rest = rest.get(line + 2 + size + 2..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_found_replaced_and_unescaped() {
        let url = "http://127.0.0.1:1/cb?code=a%2Bb&state=x+y#frag";
        assert_eq!(parameter(url, "code").as_deref(), Some("a+b"));
        assert_eq!(parameter(url, "state").as_deref(), Some("x y"));
        assert_eq!(parameter(url, "iss"), None);
        let url = with_parameter("http://h/cb?code=1&state=2", "code", "3&4");
        assert_eq!(url, "http://h/cb?state=2&code=3%264");
    }

    #[test]
    fn answers_are_whole_or_an_error() {
        let whole = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        assert_eq!(parse(whole).unwrap().text(), "abc");
        assert!(parse(&whole[..whole.len() - 6]).is_err());
        assert!(parse(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nabc").is_err());
        assert!(parse(b"").is_err());
    }

    #[test]
    fn hosts_and_ports_are_told_apart() {
        for (url, host, port, path) in [
            ("http://127.0.0.1:80/x?y", "127.0.0.1", 80, "/x?y"),
            ("http://[::1]:81?y", "::1", 81, "/?y"),
            ("http://[::1]/", "::1", 80, "/"),
            ("https://localhost", "localhost", 443, "/"),
        ] {
            let parsed = Url::parse(url).unwrap();
            assert_eq!(
                (parsed.host.as_str(), parsed.port, parsed.path.as_str()),
                (host, port, path)
            );
        }
    }
}
