//! `mailwarden probe`: asks a health address and tells by its exit status, for images that have no other program in them.
//!
//! It speaks plain HTTP, to one address, and reads one line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::ExitCode;
use std::time::Duration;

/// A process that is well answers long before.
const PATIENCE: Duration = Duration::from_secs(5);
/// No status line is longer.
const LONGEST: u64 = 1 << 10;

pub(crate) fn run(url: &str) -> ExitCode {
    match ask(url) {
        Ok(200) => ExitCode::SUCCESS,
        Ok(status) => {
            crate::complain(&format!("not well: the answer is {status}"));
            ExitCode::FAILURE
        }
        Err(why) => {
            crate::complain(&format!("not well: {why:#}"));
            ExitCode::FAILURE
        }
    }
}

fn ask(url: &str) -> anyhow::Result<u16> {
    if url.starts_with("https://") {
        anyhow::bail!(
            "https is not spoken here; ask the operators' address (--metrics-addr), which tells the same by plain HTTP on this machine"
        );
    }
    let (authority, path) = parts(url)
        .ok_or_else(|| anyhow::anyhow!("write the address as http://127.0.0.1:9464/readyz"))?;
    let with_port = match authority.rsplit_once(':') {
        Some((_, port)) if port.parse::<u16>().is_ok() => authority.to_owned(),
        _ => format!("{authority}:80"),
    };
    let address = with_port.to_socket_addrs()?.next();
    let address = address.ok_or_else(|| anyhow::anyhow!("{authority} is no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {authority}\r\nConnection: close\r\n\r\n"
    )?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    status(&line).ok_or_else(|| anyhow::anyhow!("what answers does not speak HTTP"))
}

/// Authority and path. Nothing in them ends a line.
fn parts(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    let at = rest.find('/').unwrap_or(rest.len());
    let (authority, path) = rest.split_at_checked(at)?;
    let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
    let path = if path.is_empty() { "/" } else { path };
    (!authority.is_empty() && plain(authority) && plain(path)).then_some((authority, path))
}

fn status(line: &str) -> Option<u16> {
    let mut words = line.split_ascii_whitespace();
    words.next()?.strip_prefix("HTTP/1.")?;
    words.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_taken_apart() {
        assert_eq!(parts("http://a:1/x?y"), Some(("a:1", "/x?y")));
        assert_eq!(parts("http://a"), Some(("a", "/")));
        for wrong in [
            "",
            "a:1",
            "https://a/",
            "http:///x",
            "http://a/\r\nb",
            "http://a b/",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
        assert_eq!(status("HTTP/1.1 503 Service Unavailable\r\n"), Some(503));
        assert_eq!(status("SSH-2.0 200"), None);
    }
}
