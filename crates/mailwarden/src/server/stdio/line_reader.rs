//! JSON-RPC messages over stdin and stdout, one on each line.
//!
//! Every line that is no message gets an error, and a call among them a record in the audit log; the connection goes on.
//! Writing is left to the protocol library.

use std::io;
use std::pin::Pin;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
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

/// The outside of a message. What is not named is passed over at any depth, without recursion.
#[derive(Deserialize)]
struct Outside<P> {
    id: Option<RequestId>,
    method: Option<String>,
    params: Option<P>,
    result: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

fn outside<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
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
    if outside::<IgnoredAny>(line).is_none() {
        let error = ErrorData::parse_error("send one JSON-RPC message on each line", None);
        return Read::Refused(Refused::with(None, error));
    }
    if line.first() == Some(&b'[') {
        return Read::Refused(batch(line));
    }
    let named = outside::<Outside<Named>>(line).map(|it| {
        let name = it.params.as_ref().and_then(|params| params.name.clone());
        (name.unwrap_or_default(), it.without_params())
    });
    let unnamed = || {
        let it = outside::<Outside<IgnoredAny>>(line)?;
        Some((String::new(), it.without_params()))
    };
    match named.or_else(unnamed) {
        Some((name, message)) => one(name, message),
        None => Read::Refused(Refused::with(
            None,
            invalid_request("the message is no request"),
        )),
    }
}

impl<P> Outside<P> {
    fn without_params(self) -> Outside<IgnoredAny> {
        Outside {
            id: self.id,
            method: self.method,
            params: None,
            result: self.result,
            error: self.error,
        }
    }
}

fn one(name: String, message: Outside<IgnoredAny>) -> Read {
    let Some(method) = message.method else {
        let answers = message.result.is_some() || message.error.is_some();
        return if answers {
            Read::Nothing
        } else {
            let error = invalid_request("a request has a method");
            Read::Refused(Refused::with(message.id, error))
        };
    };
    if message.id.is_none() {
        return Read::Nothing;
    }
    Read::Refused(if is_call(&method) {
        Refused {
            id: message.id,
            error: None,
            calls: vec![name],
        }
    } else {
        let words = "the params of this method are not as it needs them";
        Refused::with(message.id, ErrorData::invalid_params(words, None))
    })
}

fn is_call(method: &str) -> bool {
    ["tools/call", "resources/read"].contains(&method)
}

/// The protocol has no batches since its revision of 2025-06-18.
fn batch(line: &[u8]) -> Refused {
    let words = "batches are not served; send one message on each line";
    let inside: Vec<Outside<Named>> = outside(line).unwrap_or_default();
    let calls = inside
        .into_iter()
        .filter(|it| it.method.as_deref().is_some_and(is_call));
    let name = |it: Outside<Named>| it.params.and_then(|params| params.name);
    Refused {
        calls: calls
            .take(MAX_RECORDED_CALLS)
            .map(|it| name(it).unwrap_or_default())
            .collect(),
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
}
