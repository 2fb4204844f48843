//! JSON-RPC messages over stdin and stdout, one on each line.
//!
//! Every line that is no message gets an error, and a call among them a record in the audit log;
//! the connection goes on.
//! Writing is left to the protocol library.

use std::io;
use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::de::IgnoredAny;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, BufReader, Empty};

use crate::server::mcp::Server;

/// A longer line is dropped.
const MAX_LINE_BYTES: usize = 16 << 20;
/// Calls of one batch that are recorded; none of them is carried out.
const MAX_RECORDED_CALLS: usize = 100;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

type Message = RxJsonRpcMessage<RoleServer>;
type Reply = TxJsonRpcMessage<RoleServer>;
type Pending<T> = Pin<Box<dyn Future<Output = T> + Send>>;

pub(super) struct Lines<R, W: AsyncWrite> {
    read: BufReader<R>,
    line: Vec<u8>,
    /// The rest of a line that is too long is passed over.
    skipping: bool,
    write: AsyncRwTransport<RoleServer, Empty, W>,
    server: Server,
    /// What is still to be done about a line that is no message. It is kept here because `receive` may be dropped and
    /// called again.
    refusing: Option<Pending<Reply>>,
    sending: Option<Pending<io::Result<()>>>,
}

/// Why no line is there.
enum Ended {
    Closed,
    TooLong,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    pub(super) fn new(read: R, write: W, server: Server) -> Self {
        Self {
            read: BufReader::new(read),
            line: Vec::new(),
            skipping: false,
            write: AsyncRwTransport::new(tokio::io::empty(), write),
            server,
            refusing: None,
            sending: None,
        }
    }

    /// Reads up to the end of a line. What was read stays when this is dropped.
    async fn read_line(&mut self) -> Result<(), Ended> {
        loop {
            let read = self.read.fill_buf().await.map_err(|_| Ended::Closed)?;
            if read.is_empty() {
                return Err(Ended::Closed);
            }
            let end = memchr::memchr(b'\n', read);
            let taken = end.map_or(read.len(), |at| at + 1);
            let was_skipping = self.skipping;
            if !was_skipping {
                let piece = read.get(..taken).unwrap_or_default();
                self.line.extend_from_slice(piece);
            }
            self.read.consume(taken);
            self.skipping &= end.is_none();
            if self.line.len() > MAX_LINE_BYTES {
                self.line.clear();
                self.skipping = end.is_none();
                return Err(Ended::TooLong);
            }
            if end.is_some() && !was_skipping {
                return Ok(());
            }
        }
    }

    /// Records and answers what is no message.
    fn refuse(&mut self, refused: Refused) {
        let Refused { id, error, calls } = refused;
        let server = self.server.clone();
        self.refusing = Some(Box::pin(async move {
            let mut error = error;
            for name in calls {
                let recorded = server.refuse_malformed(&name).await;
                error.get_or_insert(recorded);
            }
            let error = error.unwrap_or_else(|| invalid_request("the message is no request"));
            Reply::error(error, id)
        }));
    }

    async fn finish_refusal(&mut self) -> io::Result<()> {
        if let Some(refusing) = &mut self.refusing {
            let reply = refusing.await;
            self.refusing = None;
            self.sending = Some(Box::pin(self.write.send(reply)));
        }
        if let Some(sending) = &mut self.sending {
            let sent = sending.await;
            self.sending = None;
            sent?;
        }
        Ok(())
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, item: Reply) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.write.send(item)
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            self.finish_refusal().await.ok()?;
            let refused = match self.read_line().await {
                Ok(()) => {
                    let line = std::mem::take(&mut self.line);
                    match read(&line) {
                        Read::Message(message) => return Some(*message),
                        Read::Nothing => continue,
                        Read::Refused(refused) => refused,
                    }
                }
                Err(Ended::TooLong) => {
                    Refused::with(None, invalid_request("the message is too long"))
                }
                Err(Ended::Closed) => return None,
            };
            self.refuse(refused);
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.write.close().await
    }
}

/// What a line is.
enum Read {
    Message(Box<Message>),
    /// An empty line, or a notification or an answer that nothing waits for.
    Nothing,
    Refused(Refused),
}

struct Refused {
    id: Option<RequestId>,
    /// None where the record of a call has the words.
    error: Option<ErrorData>,
    /// The tools of the calls in it, as far as they have names.
    calls: Vec<String>,
}

impl Refused {
    fn with(id: Option<RequestId>, error: ErrorData) -> Self {
        Self {
            id,
            error: Some(error),
            calls: Vec::new(),
        }
    }
}

fn invalid_request(message: &'static str) -> ErrorData {
    ErrorData::new(ErrorCode::INVALID_REQUEST, message, None)
}

/// The parts of a message that say what it is, in any JSON object.
struct Outside<'a> {
    id: Option<&'a [u8]>,
    method: Option<String>,
    /// The tool, where `params` has its name.
    tool: String,
    is_answer: bool,
}

impl<'a> Outside<'a> {
    /// None where the value is no object.
    fn of(value: &'a [u8]) -> Option<Self> {
        value.starts_with(b"{").then(|| Self {
            id: field(value, "id"),
            method: field(value, "method").and_then(string),
            tool: field(value, "params")
                .and_then(|params| field(params, "name"))
                .and_then(string)
                .unwrap_or_default(),
            is_answer: field(value, "result").is_some() || field(value, "error").is_some(),
        })
    }

    fn is_call(&self) -> bool {
        self.method.as_deref().is_some_and(is_call)
    }
}

fn string(value: &[u8]) -> Option<String> {
    serde_json::from_slice(value).ok()
}

/// The value of a field, the last where it is there several times; None in what is no object.
fn field<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    if !object.starts_with(b"{") {
        return None;
    }
    let mut parts = parts(object);
    let fields = std::iter::from_fn(|| Some((parts.next()?, parts.next()?)));
    let named = fields.filter(|(key, _)| string(key).is_some_and(|key| key == name));
    named.map(|(_, value)| value).last()
}

/// The text of each element of a JSON array, or of each name and value of an object. Each is passed over at any depth,
/// without recursion, so that no element can make another unreadable.
fn parts(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = value.get(1..).unwrap_or_default();
    std::iter::from_fn(move || {
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (part, behind) = rest.split_at_checked(values.byte_offset())?;
        let behind = behind.trim_ascii_start();
        rest = match behind {
            [b',' | b':', rest @ ..] => rest,
            _ => behind,
        };
        Some(part.trim_ascii())
    })
}

fn read(line: &[u8]) -> Read {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    let line = line.trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    if line.first() != Some(&b'[')
        && let Ok(message) = serde_json::from_slice::<Message>(line)
    {
        return Read::Message(Box::new(message));
    }
    if serde_json::from_slice::<IgnoredAny>(line).is_err() {
        let error = ErrorData::parse_error("send one JSON-RPC message on each line", None);
        return Read::Refused(Refused::with(None, error));
    }
    if line.first() == Some(&b'[') {
        return Read::Refused(batch(line));
    }
    match Outside::of(line) {
        Some(message) => one(message),
        None => Read::Refused(Refused::with(
            None,
            invalid_request("the message is no request"),
        )),
    }
}

fn one(message: Outside<'_>) -> Read {
    let is_call = message.is_call();
    let id = message.id.and_then(|id| serde_json::from_slice(id).ok());
    if message.method.is_none() {
        return if message.is_answer {
            Read::Nothing
        } else {
            let error = invalid_request("a request has a method");
            Read::Refused(Refused::with(id, error))
        };
    }
    if message.id.is_none() {
        return Read::Nothing;
    }
    let error = if id.is_none() {
        Some(invalid_request(
            "the id of a request is a string or an integer",
        ))
    } else if is_call {
        None
    } else {
        let words = "the params of this method are not as it needs them";
        Some(ErrorData::invalid_params(words, None))
    };
    Read::Refused(Refused {
        id,
        error,
        calls: is_call.then_some(message.tool).into_iter().collect(),
    })
}

fn is_call(method: &str) -> bool {
    ["tools/call", "resources/read"].contains(&method)
}

/// The protocol has no batches since its revision of 2025-06-18.
fn batch(line: &[u8]) -> Refused {
    let words = "batches are not served; send one message on each line";
    let calls = parts(line)
        .filter_map(Outside::of)
        .filter(Outside::is_call)
        .map(|call| call.tool);
    Refused {
        calls: calls.take(MAX_RECORDED_CALLS).collect(),
        ..Refused::with(None, invalid_request(words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> String {
        match read(line.as_bytes()) {
            Read::Message(_) => "message".to_owned(),
            Read::Nothing => "nothing".to_owned(),
            Read::Refused(Refused { id, error, calls }) => {
                let code = error.map_or(0, |error| error.code.0);
                let id = id.map_or_else(|| "null".to_owned(), |id| id.to_string());
                format!("{code} {id} {}", calls.join(","))
            }
        }
    }

    #[test]
    fn each_line_is_read_or_refused() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let call = |params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{params}}}"#)
        };
        for (line, wanted) in [
            ("", "nothing"),
            ("  \r", "nothing"),
            ("{", "-32700 null "),
            ("nonsense", "-32700 null "),
            ("null", "-32600 null "),
            ("{}", "-32600 null "),
            (r#"{"jsonrpc":"2.0","id":1}"#, "-32600 1 "),
            (
                r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#,
                "-32600 null ",
            ),
            ("[]", "-32600 null "),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#, "message"),
            (&call(r#"{"name":"search","arguments":{}}"#), "message"),
            (
                &call(&format!(
                    r#"{{"name":"search","arguments":{{"a":{deep}}}}}"#
                )),
                "0 7 search",
            ),
            (
                &format!("[{}]", call(r#"{"name":"search"}"#)),
                "-32600 null search",
            ),
            (&format!("{}\r", call("{}")), "message"),
        ] {
            assert_eq!(told(line), wanted, "{line}");
        }
    }

    #[test]
    fn batch_with_an_odd_element_records_every_call() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        let call = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"move"}}"#;
        for odd in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
            r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
            r#"{"id":1,"id":2,"method":{"a":[1 , 2]}}"#,
            r#"{"\ud800":"\ud800"}"#,
            r#""tools/call""#,
            "-1.5e3",
            "null",
            "{ }",
            "[ ]",
            &deep,
        ] {
            for batch in [
                format!("[{odd},{call}]"),
                format!("[ {call} , {odd} ]"),
                format!("[{odd},{odd} ,\t{call}]"),
            ] {
                assert_eq!(told(&batch), "-32600 null move", "{batch}");
            }
        }
        let batch = [b"[\"\xff\",", call.as_bytes(), b"]"].concat();
        let Read::Refused(refused) = read(&batch) else {
            panic!("a batch was read")
        };
        assert_eq!(refused.calls, ["move"]);
    }

    #[test]
    fn call_that_cannot_be_answered_is_recorded() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for id in ["1.5", "[]", "{}", "true", "null", &deep] {
            for (params, tool) in [
                (r#"{"name":"move"}"#, "move"),
                (r#"{"name":"a","name":"move"}"#, "move"),
                (r#"{"name":5}"#, ""),
                ("[]", ""),
            ] {
                let call = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools\/call","params":{params}}}"#
                );
                assert_eq!(told(&call), format!("-32600 null {tool}"), "{call}");
            }
        }
        let twice =
            r#"{"jsonrpc":"2.0","id":1,"id":7,"method":"tools/call","params":{"name":"move"}}"#;
        assert_eq!(told(twice), "0 7 move");
    }
}
