//! One HTTP/1.1 connection, kept and raw: bytes go out as a test writes them, and answers come back in the order of the
//! wire. Never repeats a request, and judges nothing.

use crate::client::{Stream, secure};
use crate::http::Response;
use memchr::memmem;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

/// A connection. Answers are read one after the other, each to its end before the next.
#[derive(Debug)]
pub struct Wire {
    stream: Stream,
    buffer: Vec<u8>,
    left: Left,
    /// Of a stream of events: what has come of the next one.
    events: Vec<u8>,
}

/// How the rest of an answer's body is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    Bytes(usize),
    Chunks,
    UntilClosed,
}

impl Wire {
    pub fn connect(address: SocketAddr) -> Result<Self> {
        Ok(Self::over(Stream::Plain(open(address)?)))
    }

    /// Over TLS, verified against `ca_pem` and `host`. The error is the handshake's.
    pub fn connect_tls(address: SocketAddr, ca_pem: &str, host: &str) -> Result<Self> {
        Ok(Self::over(secure(open(address)?, ca_pem, host)?))
    }

    fn over(stream: Stream) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            left: Left::Nothing,
            events: Vec::new(),
        }
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> Result<()> {
        self.stream.write_all(bytes.as_ref())?;
        self.stream.flush()
    }

    /// How long a read may take; 60 s unless set.
    pub fn patience(&mut self, patience: Duration) -> Result<()> {
        self.socket().set_read_timeout(Some(patience))
    }

    /// The socket, for what only sockets can do.
    pub fn socket(&self) -> &TcpStream {
        match &self.stream {
            Stream::Plain(stream) => stream,
            Stream::Tls(stream) => &stream.sock,
        }
    }

    /// The next answer, whole. Streams of events end when the server ends them.
    pub fn response(&mut self) -> Result<Response> {
        let mut response = self.head()?;
        response.body = self.body()?;
        Ok(response)
    }

    /// The head of the next answer; its body is empty and still to come.
    pub fn head(&mut self) -> Result<Response> {
        while self.left != Left::Nothing {
            self.data()?;
        }
        self.events.clear();
        let end = loop {
            if let Some(end) = memmem::find(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            self.fill()?;
        };
        let head: Vec<u8> = self.buffer.drain(..end + 4).collect();
        let response = crate::http::head(&head[..end])?;
        self.left = match response.header("content-length") {
            _ if response.header("transfer-encoding") == Some("chunked") => Left::Chunks,
            Some(length) => Left::Bytes(length.parse().map_err(Error::other)?),
            None if [204, 304].contains(&response.status) || response.status < 200 => Left::Nothing,
            None => Left::UntilClosed,
        };
        Ok(response)
    }

    /// What is left of the answer's body.
    pub fn body(&mut self) -> Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(data) = self.data()? {
            body.extend(data);
        }
        Ok(body)
    }

    /// The data of the next event of a stream (Server-Sent Events), without those that carry none; none at the end.
    pub fn event(&mut self) -> Result<Option<String>> {
        loop {
            if let Some(end) = memmem::find(&self.events, b"\n\n") {
                let event: Vec<u8> = self.events.drain(..end + 2).collect();
                let event = String::from_utf8_lossy(&event);
                let data: Vec<&str> = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data:"))
                    .map(|data| data.strip_prefix(' ').unwrap_or(data))
                    .collect();
                let data = data.join("\n");
                if !data.is_empty() {
                    return Ok(Some(data));
                }
                continue;
            }
            match self.data()? {
                Some(data) => self.events.extend(data),
                None => return Ok(None),
            }
        }
    }

    /// Whether the server has nothing more to say and hangs up; waits for either.
    pub fn is_closed(&mut self) -> bool {
        match self.buffer.is_empty() {
            true => matches!(self.fill(), Err(error) if ended(&error)),
            false => false,
        }
    }

    /// Everything until the server hangs up.
    pub fn rest(&mut self) -> Vec<u8> {
        while self.fill().is_ok() {}
        std::mem::take(&mut self.buffer)
    }

    /// The next piece of a body; none at its end.
    fn data(&mut self) -> Result<Option<Vec<u8>>> {
        match self.left {
            Left::Nothing | Left::Bytes(0) => {
                self.left = Left::Nothing;
                Ok(None)
            }
            Left::Bytes(left) => {
                if self.buffer.is_empty() {
                    self.fill()?;
                }
                let taken = left.min(self.buffer.len());
                self.left = Left::Bytes(left - taken);
                Ok(Some(self.buffer.drain(..taken).collect()))
            }
            Left::Chunks => self.chunk(),
            Left::UntilClosed => {
                if self.buffer.is_empty()
                    && let Err(error) = self.fill()
                {
                    self.left = Left::Nothing;
                    return if ended(&error) { Ok(None) } else { Err(error) };
                }
                Ok(Some(std::mem::take(&mut self.buffer)))
            }
        }
    }

    fn chunk(&mut self) -> Result<Option<Vec<u8>>> {
        let line = loop {
            if let Some(line) = memmem::find(&self.buffer, b"\r\n") {
                break line;
            }
            self.fill()?;
        };
        let size = std::str::from_utf8(&self.buffer[..line]).map_err(Error::other)?;
        let size = usize::from_str_radix(size, 16).map_err(Error::other)?;
        let whole = line + 2 + size + 2;
        while self.buffer.len() < whole {
            self.fill()?;
        }
        let chunk: Vec<u8> = self.buffer.drain(..whole).collect();
        if size == 0 {
            self.left = Left::Nothing;
            return Ok(None);
        }
        Ok(Some(chunk[line + 2..line + 2 + size].to_vec()))
    }

    fn fill(&mut self) -> Result<()> {
        let mut buffer = [0; 64 * 1024];
        // QUIRK: a signal ends a read that has a timeout, whatever else is said about signals.
        let received = loop {
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received?,
            }
        };
        match received {
            0 => Err(Error::new(ErrorKind::UnexpectedEof, "the server hung up")),
            received => {
                self.buffer.extend_from_slice(&buffer[..received]);
                Ok(())
            }
        }
    }
}

/// Whether the other side has hung up, in order or not.
fn ended(error: &Error) -> bool {
    [
        ErrorKind::UnexpectedEof,
        ErrorKind::ConnectionReset,
        ErrorKind::BrokenPipe,
    ]
    .contains(&error.kind())
}

fn open(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}
