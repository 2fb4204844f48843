//! A browser's request, as far as a listener for one answer has to read it. Everything unusual is refused.

/// Where a request's head ends, at the latest.
pub(super) const LONGEST_HEAD: usize = 16 * 1024;
const MOST_FIELDS: usize = 100;

/// Where the browser was sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Here {
    /// `127.0.0.1:49152`, as the Host field says it.
    pub authority: String,
    pub path: &'static str,
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted<'a> {
    /// To bring this query.
    Answer(&'a str),
    Door,
}

/// What is answered to a request that is not the answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unwanted {
    Malformed,
    /// A page elsewhere made the browser believe that its server is here (DNS rebinding).
    Host,
    Method,
    /// Browsers look for icons.
    Path,
}

/// What it is for, where it is a request for one of our addresses. `door` is the path of the other one.
pub(super) fn read<'a>(head: &'a str, here: &Here, door: &str) -> Result<Wanted<'a>, Unwanted> {
    let mut lines = head.split("\r\n");
    let line = lines.next().unwrap_or_default();
    let mut words = line.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let (Some(method), Some(target), Some(version)) = (method, target, version) else {
        return Err(Unwanted::Malformed);
    };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || words.next().is_some() {
        return Err(Unwanted::Malformed);
    }
    host(lines, here)?;
    if method != "GET" {
        return Err(Unwanted::Method);
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    match path {
        _ if target == door => Ok(Wanted::Door),
        _ if path == here.path => Ok(Wanted::Answer(query)),
        _ => Err(Unwanted::Path),
    }
}

/// RFC 9112, section 3.2: it stands there, and once.
fn host<'a>(lines: impl Iterator<Item = &'a str>, here: &Here) -> Result<(), Unwanted> {
    let mut host = None;
    for (count, line) in lines.take_while(|line| !line.is_empty()).enumerate() {
        let Some((name, value)) = line.split_once(':') else {
            return Err(Unwanted::Malformed);
        };
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if count >= MOST_FIELDS || name.is_empty() || !name.bytes().all(token) {
            return Err(Unwanted::Malformed);
        }
        if name.eq_ignore_ascii_case("host") && host.replace(value.trim()).is_some() {
            return Err(Unwanted::Malformed);
        }
    }
    match host {
        Some(host) if host.eq_ignore_ascii_case(&here.authority) => Ok(()),
        _ => Err(Unwanted::Host),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Here {
        Here {
            authority: "127.0.0.1:4000".to_owned(),
            path: "/callback",
        }
    }

    #[test]
    fn requests_and_what_they_are() {
        let host = "Host: 127.0.0.1:4000\r\n";
        let cases = [
            (
                format!("GET /callback?a=b HTTP/1.1\r\n{host}\r\n"),
                Ok(Wanted::Answer("a=b")),
            ),
            (
                format!("GET /callback HTTP/1.0\r\nAccept: */*\r\n{host}\r\n"),
                Ok(Wanted::Answer("")),
            ),
            (
                format!("GET /callback?a?b HTTP/1.1\r\n{host}\r\n"),
                Ok(Wanted::Answer("a?b")),
            ),
            (
                format!("GET /w0rd HTTP/1.1\r\n{host}\r\n"),
                Ok(Wanted::Door),
            ),
            (
                format!("GET /w0rd?a HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Path),
            ),
            (
                "GET /w0rd HTTP/1.1\r\nHost: evil.example:4000\r\n\r\n".to_owned(),
                Err(Unwanted::Host),
            ),
            (
                format!("POST /callback?a=b HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Method),
            ),
            (
                format!("HEAD /callback HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Method),
            ),
            (
                format!("get /callback HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Method),
            ),
            (
                format!("GET /favicon.ico HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Path),
            ),
            (
                format!("GET /callback/ HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Path),
            ),
            (
                format!("GET //callback HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Path),
            ),
            (
                format!("GET http://127.0.0.1:4000/callback HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Path),
            ),
            (
                format!("GET /callback HTTP/2.0\r\n{host}\r\n"),
                Err(Unwanted::Malformed),
            ),
            (
                format!("GET /callback x HTTP/1.1\r\n{host}\r\n"),
                Err(Unwanted::Malformed),
            ),
            (
                format!("GET /callback\r\n{host}\r\n"),
                Err(Unwanted::Malformed),
            ),
            (
                format!("GET /callback HTTP/1.1\r\n{host}{host}\r\n"),
                Err(Unwanted::Malformed),
            ),
            (
                format!("GET /callback HTTP/1.1\r\n{host}x\r\n\r\n"),
                Err(Unwanted::Malformed),
            ),
            (
                format!("GET /callback HTTP/1.1\r\nHost : x\r\n{host}\r\n"),
                Err(Unwanted::Malformed),
            ),
            (
                "GET /callback HTTP/1.1\r\n\r\n".to_owned(),
                Err(Unwanted::Host),
            ),
            (
                "GET /callback HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".to_owned(),
                Err(Unwanted::Host),
            ),
            (
                "GET /callback HTTP/1.1\r\nHost: evil.example:4000\r\n\r\n".to_owned(),
                Err(Unwanted::Host),
            ),
            (String::new(), Err(Unwanted::Malformed)),
            ("\u{16}\u{3}\u{1}".to_owned(), Err(Unwanted::Malformed)),
        ];
        for (head, expected) in cases {
            assert_eq!(read(&head, &here(), "/w0rd"), expected, "{head}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_request_is_too_strange(head in "(GET|POST|.{0,4}) ?/?(callback)?.{0,80}(\r\n.{0,40}){0,4}") {
            let _ = read(&head, &here(), "/w0rd");
        }

        #[test]
        fn nobody_is_heard_under_another_name(host in "[a-z0-9.:]{0,24}") {
            let head = format!("GET /callback?a HTTP/1.1\r\nHost: {host}\r\n\r\n");
            let heard = read(&head, &here(), "/w0rd").is_ok();
            proptest::prop_assert_eq!(heard, host == "127.0.0.1:4000");
        }
    }
}
