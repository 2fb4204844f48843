//! A client as cheap as can be: one connection that is kept, requests of the stateless revision of MCP, answers that are
//! looked at but not parsed. It takes little of the processors that it shares with what it measures.

use std::io;
use std::net::SocketAddr;

use memchr::memmem;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

const REVISION: &str = "2026-07-28";
/// No answer here is nearly as large.
const MOST: usize = 16 << 20;

pub(crate) struct Agent {
    address: SocketAddr,
    token: String,
    stream: Option<TcpStream>,
    out: Vec<u8>,
    answer: Vec<u8>,
    requests: u64,
}

/// What came of a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Good,
    /// Refused because there is too much to do.
    Shed,
    Bad(String),
}

/// What a call was answered, whatever it says.
pub(crate) struct Answer {
    pub status: u16,
    pub body: Value,
}

/// An HTTP answer that has come whole.
struct Whole {
    status: u16,
    body: std::ops::Range<usize>,
    keeps: bool,
}

impl Agent {
    pub(crate) fn new(address: SocketAddr, token: String) -> Self {
        Self {
            address,
            token,
            stream: None,
            out: Vec::new(),
            answer: Vec::new(),
            requests: 0,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The answer as it is, or why there is none. Who could not be connected to was asked nothing.
    pub(crate) async fn ask(&mut self, tool: &str, arguments: &str) -> io::Result<Answer> {
        let whole = self.exchange(tool, arguments).await?;
        let body = self.answer.get(whole.body).unwrap_or_default();
        let body = serde_json::from_slice(body).map_err(io::Error::other)?;
        Ok(Answer {
            status: whole.status,
            body,
        })
    }

    pub(super) async fn call(&mut self, tool: &str, arguments: &str) -> Outcome {
        match self.exchange(tool, arguments).await {
            Ok(whole) => self.judge(&whole),
            Err(error) => {
                self.stream = None;
                Outcome::Bad(format!("{tool}: {error}"))
            }
        }
    }

    async fn exchange(&mut self, tool: &str, arguments: &str) -> io::Result<Whole> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                stream
            }
        };
        self.write_request(tool, arguments);
        stream.write_all(&self.out).await?;
        self.answer.clear();
        loop {
            self.answer.reserve(16 << 10);
            if stream.read_buf(&mut self.answer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(whole) = whole(&self.answer)? {
                if whole.keeps {
                    self.stream = Some(stream);
                }
                return Ok(whole);
            }
            if self.answer.len() > MOST {
                return Err(io::Error::other("an answer without end"));
            }
        }
    }

    fn write_request(&mut self, tool: &str, arguments: &str) {
        self.requests += 1;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments},"_meta":{{"io.modelcontextprotocol/protocolVersion":"{REVISION}","io.modelcontextprotocol/clientInfo":{{"name":"load","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#,
            self.requests
        );
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: {REVISION}\r\n\
             Mcp-Method: tools/call\r\nMcp-Name: {tool}\r\nContent-Length: {}\r\n\r\n",
            self.address,
            self.token,
            body.len()
        );
        self.out.clear();
        self.out.extend_from_slice(head.as_bytes());
        self.out.extend_from_slice(body.as_bytes());
    }

    fn judge(&self, whole: &Whole) -> Outcome {
        let body = self.answer.get(whole.body.clone()).unwrap_or_default();
        let good = whole.status == 200
            && memmem::find(body, br#""success":true"#).is_some()
            && memmem::find(body, br#""isError":true"#).is_none()
            && memmem::find(body, br#""status":"partial""#).is_none();
        if good {
            return Outcome::Good;
        }
        if whole.status == 429
            || whole.status == 503
            || memmem::find(body, br#""retry_after"#).is_some()
        {
            return Outcome::Shed;
        }
        let said = String::from_utf8_lossy(body);
        let said: String = said.chars().take(600).collect();
        Outcome::Bad(format!("{}: {said}", whole.status))
    }
}

/// Nothing as long as something is missing.
fn whole(bytes: &[u8]) -> io::Result<Option<Whole>> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = bytes.get(..end).unwrap_or_default();
    let head = std::str::from_utf8(head).map_err(io::Error::other)?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1)?.parse().ok());
    let status = status.ok_or_else(|| io::Error::other("no status"))?;
    let (mut length, mut keeps) = (None, true);
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        if name.eq_ignore_ascii_case("content-length") {
            length = value.parse::<usize>().ok();
        } else if name.eq_ignore_ascii_case("connection") {
            keeps = !value.eq_ignore_ascii_case("close");
        }
    }
    let from = end + 4;
    let length =
        length.ok_or_else(|| io::Error::other(format!("an answer of no length: {head}")))?;
    let body = from..from + length;
    Ok((bytes.len() >= body.end).then_some(Whole {
        status,
        body,
        keeps,
    }))
}
