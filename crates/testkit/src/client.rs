//! A tiny blocking IMAP client for fixtures and as the bare connection in benchmarks. Parses no response beyond its literals and tag.

mod bearer;

pub use bearer::{Mechanism, Refused};

use crate::delivery::Delivery;
use crate::literal;
use crate::ports::LOOPBACK;
use memchr::{memchr, memmem};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
const READ_SIZE: usize = 256 * 1024;

/// A connection that has been greeted. Panics on anything unexpected.
#[derive(Debug)]
pub struct RawImap {
    stream: Stream,
    /// Received and not yet handed out is what lies between `taken` and `filled`.
    buffer: Vec<u8>,
    taken: usize,
    filled: usize,
    commands: u32,
    greeting: String,
}

/// What came back for one command.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Untagged and continuation responses, each with its literals, without the final CRLF.
    pub untagged: Vec<Vec<u8>>,
    /// The tagged line without its tag: `OK done`.
    pub status: String,
}

impl Reply {
    pub fn is_ok(&self) -> bool {
        self.status.starts_with("OK")
    }

    /// The untagged responses as text.
    pub fn lines(&self) -> Vec<String> {
        self.untagged
            .iter()
            .map(|line| String::from_utf8_lossy(line).into_owned())
            .collect()
    }

    /// All of it as text, a line per response.
    pub fn text(&self) -> String {
        let mut lines = self.lines();
        lines.push(self.status.clone());
        lines.join("\n")
    }
}

#[derive(Debug)]
pub(crate) enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl RawImap {
    /// Plain text to a loopback port.
    pub fn connect(port: u16) -> Self {
        Self::connect_to(LOOPBACK, port)
    }

    pub fn connect_to(address: IpAddr, port: u16) -> Self {
        let stream = Stream::Plain(open(address, port));
        Self::greeted(stream).unwrap_or_else(|e| panic!("no greeting from {address}:{port}: {e}"))
    }

    /// TLS from the first byte, verified against `ca_pem` and `host`. The error is the handshake's.
    pub fn connect_tls(port: u16, ca_pem: &str, host: &str) -> std::io::Result<Self> {
        Self::greeted(secure(open(LOOPBACK, port), ca_pem, host)?)
    }

    /// Plain text first, then STARTTLS.
    pub fn connect_starttls(port: u16, ca_pem: &str, host: &str) -> std::io::Result<Self> {
        let mut imap = Self::connect(port);
        imap.command("STARTTLS");
        let Stream::Plain(stream) = imap.stream else {
            unreachable!("connected in plain text")
        };
        imap.stream = secure(stream, ca_pem, host)?;
        Ok(imap)
    }

    pub fn greeting(&self) -> &str {
        &self.greeting
    }

    pub fn login(&mut self, user: &str, password: &str) {
        self.command(&format!("LOGIN {} {}", quote(user), quote(password)));
    }

    /// Sends one command (without tag and CRLF) and waits for its reply, which must be OK.
    pub fn command(&mut self, command: &str) -> Reply {
        let reply = self.try_command(command);
        assert!(reply.is_ok(), "{command}: {}", reply.text());
        reply
    }

    /// As [`RawImap::command`], whatever the outcome.
    pub fn try_command(&mut self, command: &str) -> Reply {
        let tag = self.send(&[command]);
        self.read_until(&tag)
    }

    /// As [`RawImap::try_command`], with a server that may go away before it has answered.
    pub fn attempt(&mut self, command: &str) -> std::io::Result<Reply> {
        let tag = self.next_tag();
        let line = format!("{tag} {command}\r\n");
        self.stream.write_all(line.as_bytes())?;
        self.try_read_until(&tag)
    }

    /// Sends several commands in one write and returns the last one's tag; the others are left untold.
    pub fn send(&mut self, commands: &[&str]) -> String {
        let mut flight = String::new();
        let mut tag = String::new();
        for command in commands {
            tag = self.next_tag();
            flight.extend([&tag, " ", command, "\r\n"]);
        }
        self.send_bytes(flight.as_bytes());
        tag
    }

    /// Sends bytes as they are.
    pub fn send_bytes(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("send to the server");
    }

    /// A command with one literal at its end: `APPEND`, a `SEARCH` string. Needs LITERAL+.
    pub fn command_with_literal(&mut self, command: &str, literal: &[u8]) -> Reply {
        let tag = self.next_tag();
        let mut bytes = format!("{tag} {command} {{{}+}}\r\n", literal.len()).into_bytes();
        bytes.extend_from_slice(literal);
        bytes.extend_from_slice(b"\r\n");
        self.send_bytes(&bytes);
        let reply = self.read_until(&tag);
        assert!(reply.is_ok(), "{command}: {}", reply.text());
        reply
    }

    /// Stores a message by APPEND, with its flags and date.
    pub fn append(&mut self, folder: &str, delivery: &Delivery) -> Reply {
        let folder = quote(&crate::utf7::encode(folder));
        let flags: Vec<_> = delivery.flags.iter().map(|flag| flag.imap()).collect();
        let date = internal_date(delivery.unix_time);
        let command = format!("APPEND {folder} ({}) \"{date}\"", flags.join(" "));
        self.command_with_literal(&command, &delivery.raw)
    }

    /// Reads responses up to the one tagged `tag`; other tagged lines count as untagged.
    pub fn read_until(&mut self, tag: &str) -> Reply {
        self.try_read_until(tag).expect("read from the server")
    }

    fn try_read_until(&mut self, tag: &str) -> std::io::Result<Reply> {
        let mut untagged = Vec::new();
        loop {
            let line = self.try_read_response()?;
            match line
                .strip_prefix(tag.as_bytes())
                .and_then(|rest| rest.strip_prefix(b" "))
            {
                Some(status) => {
                    let status = String::from_utf8_lossy(status).into_owned();
                    return Ok(Reply { untagged, status });
                }
                None => untagged.push(line),
            }
        }
    }

    /// Throws away everything up to the line tagged `tag`, in large reads, and returns how many bytes that was: the
    /// fastest a client can be.
    pub fn drain_until(&mut self, tag: &str) -> usize {
        let needle = format!("\r\n{tag} ");
        let mut first = true;
        let mut total = 0;
        loop {
            let pending = self.pending();
            if pending.len() >= needle.len() {
                let found = match memmem::find(pending, needle.as_bytes()) {
                    _ if first && pending.starts_with(&needle.as_bytes()[2..]) => Some(0),
                    found => found.map(|at| at + 2),
                };
                if let Some(at) = found {
                    self.taken += at;
                    return total + at + self.read_response().len() + 2;
                }
                // The end may be the beginning of the needle.
                let done = pending.len() - (needle.len() - 1);
                self.taken += done;
                total += done;
                first = false;
            }
            self.fill();
        }
    }

    /// One response with its literals, without the final CRLF.
    pub fn read_response(&mut self) -> Vec<u8> {
        self.try_read_response().expect("read from the server")
    }

    fn try_read_response(&mut self) -> std::io::Result<Vec<u8>> {
        // Where the next line break may be; beyond what is here while a literal is under way.
        let mut from = 0;
        loop {
            let pending = self.pending();
            let Some(newline) = pending.get(from..).and_then(|rest| memchr(b'\n', rest)) else {
                from = from.max(pending.len());
                self.try_fill()?;
                continue;
            };
            let end = from + newline;
            let line = pending[..end]
                .strip_suffix(b"\r")
                .unwrap_or(&pending[..end]);
            if let Some(literal) = literal::announced(line) {
                from = end + 1 + literal.size;
                continue;
            }
            let line = line.to_vec();
            self.taken += end + 1;
            return Ok(line);
        }
    }

    fn greeted(stream: Stream) -> std::io::Result<Self> {
        let buffer = vec![0; READ_SIZE];
        let greeting = String::new();
        let mut imap = Self {
            stream,
            buffer,
            taken: 0,
            filled: 0,
            commands: 0,
            greeting,
        };
        // Read here, so that a handshake that fails is an error and not a panic.
        imap.try_fill()?;
        imap.greeting = String::from_utf8_lossy(&imap.read_response()).into_owned();
        Ok(imap)
    }

    fn next_tag(&mut self) -> String {
        self.commands += 1;
        format!("t{}", self.commands)
    }

    fn pending(&self) -> &[u8] {
        &self.buffer[self.taken..self.filled]
    }

    fn fill(&mut self) {
        self.try_fill().expect("read from the server");
    }

    fn try_fill(&mut self) -> std::io::Result<()> {
        if self.taken > 0 {
            self.buffer.copy_within(self.taken..self.filled, 0);
            self.filled -= self.taken;
            self.taken = 0;
        }
        if self.buffer.len() - self.filled < READ_SIZE / 2 {
            self.buffer.resize(self.buffer.len() * 2, 0);
        }
        // QUIRK: a signal ends a read that has a timeout, whatever else is said about signals.
        let received = loop {
            match self.stream.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received?,
            }
        };
        match received {
            0 => Err(std::io::Error::new(
                ErrorKind::UnexpectedEof,
                "the server closed",
            )),
            received => {
                self.filled += received;
                Ok(())
            }
        }
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

fn open(address: IpAddr, port: u16) -> TcpStream {
    let stream = TcpStream::connect((address, port))
        .unwrap_or_else(|e| panic!("cannot connect to {address}:{port}: {e}"));
    stream.set_nodelay(true).expect("set TCP_NODELAY");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("set a read timeout");
    stream
}

pub(crate) fn secure(stream: TcpStream, ca_pem: &str, host: &str) -> std::io::Result<Stream> {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_slice(ca_pem.as_bytes()).expect("a PEM certificate");
    roots.add(ca).expect("a usable trust anchor");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).expect("a host name");
    let session = ClientConnection::new(Arc::new(config), name).expect("a TLS session");
    let mut stream = StreamOwned::new(session, stream);
    stream.conn.complete_io(&mut stream.sock)?;
    Ok(Stream::Tls(Box::new(stream)))
}

/// A quoted string (RFC 3501 section 4.3).
fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

/// `date-time` of RFC 3501, in UTC.
fn internal_date(unix_time: u64) -> String {
    let date = crate::delivery::Date::from_unix(unix_time);
    format!(
        "{:2}-{}-{} {:02}:{:02}:{:02} +0000",
        date.day, date.month_name, date.year, date.hour, date.minute, date.second
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_as_the_rfc_wants() {
        assert_eq!(internal_date(951_782_400), "29-Feb-2000 00:00:00 +0000");
        assert_eq!(internal_date(1_767_225_599), "31-Dec-2025 23:59:59 +0000");
        assert_eq!(internal_date(1_780_275_661), " 1-Jun-2026 01:01:01 +0000");
    }

    #[test]
    fn quotes_and_backslashes_are_escaped() {
        assert_eq!(quote(r#"a"b\c"#), r#""a\"b\\c""#);
    }
}
