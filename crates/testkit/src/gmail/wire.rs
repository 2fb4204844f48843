//! One connection's octets: lines and literals in, answers out, in plain text or TLS. Understands no command.

use super::record::Record;
use crate::literal::{self, Literal, Sending};
use memchr::memchr;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// The client left, or the server is to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

/// How often an idling connection looks for news.
const GLANCE: Duration = Duration::from_millis(10);

/// What no command may exceed, literals included.
const MOST_OCTETS: usize = 64 << 20;

pub(super) struct Wire {
    stream: Stream,
    socket: Arc<TcpStream>,
    buffer: Vec<u8>,
    /// Not yet sent: answers wait until all commands that are here have been read, as a flight's do.
    out: Vec<u8>,
    heard: bool,
    longest_line: usize,
    record: Arc<Record>,
}

enum Stream {
    Plain(Arc<TcpStream>),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

/// A whole command, or what was wrong with it.
pub(super) enum Came {
    Command(Vec<u8>),
    /// Longer than the server reads; what there was of it.
    TooLong(Vec<u8>),
    /// A literal that ought to have waited (`LITERAL-`, RFC 7888).
    Unasked(Vec<u8>),
}

/// Whether there was a line in time.
pub(super) enum Line {
    Came(Vec<u8>),
    NotYet,
}

impl Wire {
    pub(super) fn open(
        socket: Arc<TcpStream>,
        tls: Option<&Arc<ServerConfig>>,
        longest_line: usize,
        record: Arc<Record>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let stream = match tls {
            None => Stream::Plain(Arc::clone(&socket)),
            Some(config) => {
                let session =
                    ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Stream::Tls(Box::new(StreamOwned::new(session, socket.try_clone()?)))
            }
        };
        Ok(Self {
            stream,
            socket,
            buffer: Vec::new(),
            out: Vec::new(),
            heard: true,
            longest_line,
            record,
        })
    }

    pub(super) fn say(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// What was said and not sent yet, to be held back or cut.
    pub(super) fn unsent(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    pub(super) fn flush(&mut self) -> Result<(), Gone> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        self.stream.write_all(&out).map_err(|_| Gone)?;
        self.heard = true;
        Ok(())
    }

    /// The next command with its literals, without the final CRLF.
    pub(super) fn command(&mut self) -> Result<Came, Gone> {
        let mut bytes = Vec::new();
        let (mut line_octets, mut unasked) = (0, false);
        loop {
            let line = self.line()?;
            line_octets += line.len();
            let announced = literal::announced(&line);
            bytes.extend(line);
            if line_octets > self.longest_line {
                return Ok(Came::TooLong(bytes));
            }
            let Some(Literal { size, sending }) = announced else {
                break;
            };
            if size > MOST_OCTETS {
                return Err(Gone);
            }
            match sending {
                Sending::Synchronising => {
                    self.say(b"+ go ahead\r\n");
                    self.flush()?;
                }
                Sending::Immediate => unasked |= size > 4_096,
            }
            while self.buffer.len() < size {
                self.fill()?;
            }
            bytes.extend(self.buffer.drain(..size));
        }
        // Once: what stands before it may be the end of a literal.
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let length = text.strip_suffix(b"\r").unwrap_or(text).len();
        bytes.truncate(length);
        Ok(match unasked {
            true => Came::Unasked(bytes),
            false => Came::Command(bytes),
        })
    }

    /// One line, CRLF included.
    pub(super) fn line(&mut self) -> Result<Vec<u8>, Gone> {
        loop {
            if let Some(end) = memchr(b'\n', &self.buffer) {
                return Ok(self.buffer.drain(..=end).collect());
            }
            if self.buffer.len() > MOST_OCTETS {
                return Err(Gone);
            }
            self.fill()?;
        }
    }

    /// A line if one comes soon.
    pub(super) fn glance(&mut self) -> Result<Line, Gone> {
        self.flush()?;
        if memchr(b'\n', &self.buffer).is_some() {
            return self.line().map(Line::Came);
        }
        let _ = self.socket.set_read_timeout(Some(GLANCE));
        let read = self.read();
        let _ = self.socket.set_read_timeout(None);
        match read {
            Ok(_) => Ok(Line::NotYet),
            Err(error) if is_timeout(&error) => Ok(Line::NotYet),
            Err(_) => Err(Gone),
        }
    }

    /// Hears nothing any more until the client leaves.
    pub(super) fn stall(&mut self) {
        self.out.clear();
        while self.fill().is_ok() {
            self.buffer.clear();
        }
    }

    pub(super) fn close(mut self) {
        let _ = self.flush();
        if let Stream::Tls(stream) = &mut self.stream {
            stream.conn.send_close_notify();
            let _ = stream.flush();
        }
        let _ = self.socket.shutdown(Shutdown::Write);
        // Closing over unread octets would be a reset.
        while matches!(self.socket.as_ref().read(&mut [0; 4_096]), Ok(n) if n > 0) {}
    }

    fn fill(&mut self) -> Result<(), Gone> {
        self.flush()?;
        self.read().map_err(|_| Gone)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut chunk = [0; 16 * 1024];
        let received = loop {
            match self.stream.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received?,
            }
        };
        if received == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if std::mem::take(&mut self.heard) {
            self.record.flight();
        }
        self.buffer.extend_from_slice(&chunk[..received]);
        Ok(())
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.as_ref().read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.as_ref().write(buffer),
            Self::Tls(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.as_ref().flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}
