//! The program under test, driven as an MCP client does: JSON lines over stdio, in either era of the protocol. Never
//! judges an answer; a missing one ends the test with the program's last words, unless the test means the program to die
//! and asks with one of the `try_` functions.

pub(crate) mod inbox;
mod mortal;
mod person;
mod server;

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
use crate::trap::Trapped;
use inbox::{Inbox, Missing, Stream};
pub use mortal::Gone;
pub use person::Says;
use serde_json::{Value, json};
use server::Server;
use std::io::{BufReader, Read};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The last revision with a handshake, and the first one without.
pub(crate) const LEGACY: &str = "2025-11-25";
pub(crate) const MODERN: &str = "2026-07-28";

/// A running program and the conversation with it. Dropping it kills the program.
#[derive(Debug)]
pub struct McpClient {
    server: Server,
    stdin: Option<ChildStdin>,
    inbox: Arc<Inbox>,
    requests: u64,
    era: Era,
    /// What the client says that it can do.
    capabilities: Value,
    patience: Duration,
}

/// Which revision of the protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// `initialize` first, then bare requests.
    Handshake,
    /// Every request says who asks.
    Stateless,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(pub u64);

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    pub code: i64,
    pub message: String,
    /// Null when there is none.
    pub data: Value,
}

/// The result of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct CallOutcome {
    pub is_error: bool,
    /// `structuredContent`, or null.
    pub structured: Value,
    /// All text content, a line between the items.
    pub text: String,
    /// The whole result.
    pub raw: Value,
}

impl McpClient {
    pub fn spawn(mut command: Command) -> Self {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
        let streams = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        Self::converse(Server::Child(child), streams)
    }

    /// Speaks with a program in a trap, over the pipes that it was started with.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn over(mut trapped: Trapped) -> Self {
        let streams = (
            trapped.stdin.take(),
            trapped.stdout.take(),
            trapped.stderr.take(),
        );
        Self::converse(Server::Trapped(trapped), streams)
    }

    fn converse<O, E>(server: Server, streams: (Option<ChildStdin>, Option<O>, Option<E>)) -> Self
    where
        O: Read + Send + 'static,
        E: Read + Send + 'static,
    {
        let (stdin, stdout, stderr) = streams;
        let stdout = BufReader::new(stdout.expect("a piped stdout"));
        let stderr = BufReader::new(stderr.expect("a piped stderr"));
        let inbox = Arc::new(Inbox::default());
        thread::spawn({
            let inbox = Arc::clone(&inbox);
            move || inbox.fill(Stream::Stdout, stdout)
        });
        thread::spawn({
            let inbox = Arc::clone(&inbox);
            move || inbox.fill(Stream::Stderr, stderr)
        });
        Self {
            server,
            stdin,
            inbox,
            requests: 0,
            era: Era::Handshake,
            capabilities: json!({}),
            patience: Duration::from_secs(30),
        }
    }

    /// Speaks 2026-07-28 from now on: no handshake, every request carries its client.
    #[must_use]
    pub fn modern(mut self) -> Self {
        self.era = Era::Stateless;
        self
    }

    /// How long an answer may take before the test fails; 30 s unless set.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The handshake of 2025-11-25; returns its result.
    pub fn initialize(&mut self) -> Value {
        let result = self.try_initialize();
        self.alive(result)
    }

    /// Sends a request and waits for its answer.
    pub fn request(&mut self, method: &str, params: Value) -> Result<Value, RpcError> {
        let id = self.send(method, params);
        self.wait(id)
    }

    /// Calls a tool and waits; panics on a protocol error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> CallOutcome {
        let id = self.send_call(tool, arguments);
        self.wait_call(id)
    }

    /// Sends a request without waiting.
    pub fn send(&mut self, method: &str, params: Value) -> RequestId {
        let sent = self.try_send(method, params);
        self.alive(sent)
    }

    /// Calls a tool without waiting.
    pub fn send_call(&mut self, tool: &str, arguments: Value) -> RequestId {
        self.send(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    pub fn wait(&mut self, id: RequestId) -> Result<Value, RpcError> {
        self.wait_timed(id).0
    }

    /// Waits, and tells when the answer came, which may be long ago.
    pub fn wait_timed(&mut self, id: RequestId) -> (Result<Value, RpcError>, Instant) {
        let (answer, came) = self.alive(self.answer(id));
        (result_of(answer), came)
    }

    fn answer(&self, RequestId(id): RequestId) -> Result<(Value, Instant), Gone> {
        self.find(
            &format!("the answer to request {id}"),
            Stream::Stdout,
            |mail| mail.answers.remove(&id),
        )
    }

    /// Whether an answer has come that was not waited for yet.
    pub fn has_answer(&self, RequestId(id): RequestId) -> bool {
        self.inbox.read(|mail| mail.answers.contains_key(&id))
    }

    /// Waits for a tool's result; panics on a protocol error.
    pub fn wait_call(&mut self, id: RequestId) -> CallOutcome {
        let result = self.wait(id);
        self.outcome(result)
    }

    fn outcome(&self, result: Result<Value, RpcError>) -> CallOutcome {
        match result {
            Ok(result) => CallOutcome::from_result(result),
            Err(e) => panic!(
                "the call failed in the protocol: {e:?}\nstderr:\n{}",
                self.stderr()
            ),
        }
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send_message(&message(method, params));
    }

    /// Says that nobody waits for the answer any more.
    pub fn cancel(&mut self, RequestId(id): RequestId) {
        self.notify(
            "notifications/cancelled",
            json!({ "requestId": id, "reason": "test" }),
        );
    }

    /// Answers a request of the server's.
    pub fn respond(&mut self, id: &Value, result: Value) {
        self.send_message(&json!({ "jsonrpc": "2.0", "id": id, "result": result }));
    }

    /// Sends one line as it is.
    pub fn send_line(&mut self, line: &str) {
        let sent = self.try_send_line(line);
        self.alive(sent);
    }

    /// Notifications received so far, oldest first.
    pub fn notifications(&self) -> Vec<Value> {
        self.inbox.read(|mail| mail.notifications.clone())
    }

    /// Waits for a notification that fits, the ones already here included.
    pub fn await_notification(&self, fits: impl Fn(&Value) -> bool) -> Value {
        self.await_inbox("a notification", Stream::Stdout, |mail| {
            mail.notifications.iter().find(|n| fits(n)).cloned()
        })
    }

    /// Waits for the next request from the server to us.
    pub fn await_request(&self) -> Value {
        self.await_inbox("a request from the server", Stream::Stdout, |mail| {
            mail.requests.pop_front()
        })
    }

    /// What the program wrote to stderr so far.
    pub fn stderr(&self) -> String {
        self.inbox.read(|mail| mail.stderr.clone())
    }

    /// Waits until stderr holds `text`.
    pub fn await_stderr(&self, text: &str) {
        self.await_inbox(&format!("{text:?} on stderr"), Stream::Stderr, |mail| {
            mail.stderr.contains(text).then_some(())
        });
    }

    /// Ends the conversation; the program should exit.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the program to exit; none if it is still there after `timeout`.
    pub fn wait_exit(&mut self, timeout: Duration) -> Option<ExitStatus> {
        self.server.wait_exit(timeout)
    }

    pub fn pid(&self) -> u32 {
        self.server.pid()
    }

    /// The trap that the program is in, if it is in one.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub fn trapped(&self) -> Option<&Trapped> {
        match &self.server {
            Server::Trapped(trapped) => Some(trapped),
            Server::Child(_) => None,
        }
    }

    /// Resident memory in bytes.
    pub fn rss(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most resident memory there ever was, in bytes.
    pub fn peak_rss(&self) -> u64 {
        self.memory("VmHWM:")
    }

    pub fn kill(&mut self) {
        self.server.kill();
    }

    fn send_message(&mut self, message: &Value) {
        self.send_line(&message.to_string());
    }

    fn dress(&self, params: Value) -> Value {
        self.era.dress(params, &self.capabilities)
    }

    fn await_inbox<T>(
        &self,
        what: &str,
        stream: Stream,
        take: impl FnMut(&mut inbox::Mail) -> Option<T>,
    ) -> T {
        self.alive(self.find(what, stream, take))
    }

    /// Finds what is or comes on a stream; an error if the program ends before. Panics at any other reason to give up.
    fn find<T>(
        &self,
        what: &str,
        stream: Stream,
        take: impl FnMut(&mut inbox::Mail) -> Option<T>,
    ) -> Result<T, Gone> {
        let found = self.inbox.wait(self.patience, stream, take);
        found.map_err(|missing| {
            let why = Gone(format!("waited for {what}, but {missing}"));
            match missing {
                Missing::Closed(_) => why,
                Missing::Noise(_) | Missing::Late(_) => self.alive(Err(why)),
            }
        })
    }

    /// What there is if the program lives; else its last words end the test.
    fn alive<T>(&self, found: Result<T, Gone>) -> T {
        found.unwrap_or_else(|Gone(why)| {
            self.inbox.settle();
            panic!("{why}\nstderr:\n{}", inbox::tail(&self.stderr()))
        })
    }

    fn memory(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix(field));
        let kilobytes = line.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        kilobytes.unwrap_or_else(|| panic!("no {field} for process {}: has it ended?", self.pid()))
            * 1024
    }
}

impl Drop for McpClient {
    fn drop(&mut self) {
        self.kill();
    }
}

impl CallOutcome {
    pub(crate) fn from_result(raw: Value) -> Self {
        let texts = raw["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|item| item["text"].as_str());
        Self {
            is_error: raw["isError"].as_bool().unwrap_or_default(),
            structured: raw["structuredContent"].clone(),
            text: texts.collect::<Vec<_>>().join("\n"),
            raw,
        }
    }
}

impl Era {
    /// Adds what the era asks of every request, under keys a test set itself.
    pub(crate) fn dress(self, mut params: Value, capabilities: &Value) -> Value {
        if self == Self::Handshake {
            return params;
        }
        let params_object = params.as_object_mut().expect("params are an object");
        let meta = params_object.entry("_meta").or_insert_with(|| json!({}));
        let meta = meta.as_object_mut().expect("_meta is an object");
        for (key, value) in [
            ("io.modelcontextprotocol/protocolVersion", json!(MODERN)),
            ("io.modelcontextprotocol/clientInfo", client_info()),
            (
                "io.modelcontextprotocol/clientCapabilities",
                capabilities.clone(),
            ),
        ] {
            meta.entry(key).or_insert(value);
        }
        params
    }
}

/// What an answer says, or the error that it is.
pub(crate) fn result_of(mut answer: Value) -> Result<Value, RpcError> {
    if let Some(error) = answer.get_mut("error") {
        let message = error["message"].as_str().unwrap_or_default().to_owned();
        return Err(RpcError {
            code: error["code"].as_i64().unwrap_or_default(),
            message,
            data: error["data"].take(),
        });
    }
    Ok(answer["result"].take())
}

fn message(method: &str, params: Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

pub(crate) fn client_info() -> Value {
    json!({ "name": "testkit", "version": env!("CARGO_PKG_VERSION") })
}
