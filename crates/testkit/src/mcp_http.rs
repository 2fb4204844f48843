//! The program under test, serving MCP over HTTP, and clients of it: both eras, answers as JSON or as a stream of events,
//! connections kept. Never judges an answer, and never sends a request a second time.

mod server;

use crate::http::Response;
use crate::mcp::{CallOutcome, Era, LEGACY, MODERN, RpcError, client_info, result_of};
use crate::wire::Wire;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::Result;
use std::net::SocketAddr;

pub use server::HttpServer;

/// One client: a token, an era, and a connection that is kept as long as the server keeps it.
#[derive(Debug)]
pub struct McpHttp {
    address: SocketAddr,
    trust: Option<String>,
    token: Option<String>,
    era: Era,
    capabilities: Value,
    session: Option<String>,
    wire: Option<Wire>,
    requests: u64,
    /// Headers besides the usual ones.
    more: Vec<(String, String)>,
}

/// What came back for one message.
#[derive(Clone, Debug)]
pub struct Reply {
    pub status: u16,
    /// The head, and the body where that is no stream of events.
    pub response: Response,
    /// Everything that was said, in order; the answer is the last.
    pub messages: Vec<Value>,
}

/// How an answer travelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    Json,
    Events,
    /// Neither: an error of HTTP, or nothing.
    Otherwise,
}

impl McpHttp {
    /// A client of 2025-11-25 that has not introduced itself yet.
    pub fn new(address: SocketAddr, token: Option<&str>) -> Self {
        Self {
            address,
            trust: None,
            token: token.map(str::to_owned),
            era: Era::Handshake,
            capabilities: json!({}),
            session: None,
            wire: None,
            requests: 0,
            more: Vec::new(),
        }
    }

    /// Speaks 2026-07-28 from now on: no handshake, every request carries its client.
    #[must_use]
    pub fn modern(mut self) -> Self {
        self.era = Era::Stateless;
        self
    }

    /// Connects by TLS, to a server whose certificate this authority has signed for `localhost`.
    #[must_use]
    pub fn trusting(mut self, ca_pem: &str) -> Self {
        self.trust = Some(ca_pem.to_owned());
        self
    }

    /// Sends this header with every request.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.more.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Says from now on that there is a person who can be asked.
    #[must_use]
    pub fn with_person(mut self) -> Self {
        self.capabilities = json!({ "elicitation": { "form": {} } });
        self
    }

    /// From now on another token, over the same connection.
    pub fn set_token(&mut self, token: Option<&str>) {
        self.token = token.map(str::to_owned);
    }

    /// The session that the server gave, or that a test makes up.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub fn set_session(&mut self, session: Option<&str>) {
        self.session = session.map(str::to_owned);
    }

    /// The handshake of 2025-11-25; returns its result.
    pub fn initialize(&mut self) -> Value {
        let params = json!({
            "protocolVersion": LEGACY,
            "capabilities": self.capabilities,
            "clientInfo": client_info(),
        });
        let reply = self.post("initialize", params).expect("an answer");
        let session = reply.response.header("mcp-session-id");
        self.session = session.map(str::to_owned);
        let result = reply
            .result()
            .unwrap_or_else(|e| panic!("initialize: {e:?}"));
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let accepted = self.exchange(&told, "notifications/initialized", None);
        assert_eq!(accepted.expect("an answer").status, 202);
        result
    }

    /// Sends a request and waits for its answer. Panics where HTTP itself fails.
    pub fn request(&mut self, method: &str, params: Value) -> std::result::Result<Value, RpcError> {
        let reply = self.post(method, params);
        reply.unwrap_or_else(|e| panic!("{method}: {e}")).result()
    }

    /// Calls a tool; panics on a protocol error.
    pub fn call(&mut self, tool: &str, arguments: Value) -> CallOutcome {
        let reply = self.try_call(tool, arguments);
        reply.unwrap_or_else(|e| panic!("{tool}: {e}")).outcome()
    }

    /// Calls a tool, whatever comes of it.
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<Reply> {
        let params = json!({ "name": tool, "arguments": arguments });
        self.post("tools/call", params)
    }

    /// Sends a request, whatever comes of it.
    pub fn post(&mut self, method: &str, params: Value) -> Result<Reply> {
        self.post_answering(method, params, |_| None)
    }

    /// The same, where the server may ask something meanwhile: what `answer` gives goes back as the result.
    pub fn post_answering(
        &mut self,
        method: &str,
        params: Value,
        mut answer: impl FnMut(&Value) -> Option<Value>,
    ) -> Result<Reply> {
        let (message, name) = self.message(method, params);
        self.send(&message, method, name.as_deref())?;
        let mut aside = self.aside();
        self.receive(|said| {
            if said.get("method").is_some()
                && let Some(id) = said.get("id")
                && let Some(result) = answer(said)
            {
                let result = json!({ "jsonrpc": "2.0", "id": id, "result": result });
                aside.exchange(&result, "", None)?;
            }
            Ok(())
        })
    }

    /// Sends a request without waiting; [`McpHttp::finish`] does. One at a time.
    pub fn begin(&mut self, method: &str, params: Value) -> Result<()> {
        let (message, name) = self.message(method, params);
        self.send(&message, method, name.as_deref())
    }

    /// Begins a tool call without waiting.
    pub fn begin_call(&mut self, tool: &str, arguments: Value) -> Result<()> {
        self.begin(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    /// Waits for the answer of what was begun.
    pub fn finish(&mut self) -> Result<Reply> {
        self.receive(|_| Ok(()))
    }

    /// The connection with a request on its way, for whoever reads a stream by hand.
    pub fn take_wire(&mut self) -> Wire {
        self.wire.take().expect("a connection")
    }

    /// Hangs up.
    pub fn hang_up(&mut self) {
        self.wire = None;
    }

    /// Whether the connection of earlier requests is still held.
    pub fn is_connected(&self) -> bool {
        self.wire.is_some()
    }

    /// A request without a body: GET or DELETE, with what every request of this client carries.
    pub fn bare(&mut self, method: &str) -> Result<Response> {
        let head = format!(
            "{method} /mcp HTTP/1.1\r\n{}\r\n",
            self.headers("", None, LEGACY)
        );
        self.connected()?.send(head)?;
        self.connected()?.head()
    }

    fn message(&mut self, method: &str, params: Value) -> (Value, Option<String>) {
        self.requests += 1;
        let params = self.era.dress(params, &self.capabilities);
        let name = match method {
            "tools/call" | "prompts/get" => params["name"].as_str(),
            "resources/read" => params["uri"].as_str(),
            _ => None,
        };
        let name = name.map(str::to_owned);
        let message = json!({
            "jsonrpc": "2.0", "id": self.requests, "method": method, "params": params,
        });
        (message, name)
    }

    fn exchange(&mut self, message: &Value, method: &str, name: Option<&str>) -> Result<Reply> {
        self.send(message, method, name)?;
        self.receive(|_| Ok(()))
    }

    fn send(&mut self, message: &Value, method: &str, name: Option<&str>) -> Result<()> {
        let version = match self.era {
            Era::Handshake => LEGACY,
            Era::Stateless => MODERN,
        };
        let body = message.to_string();
        let headers = self.headers(method, name, version);
        let request = format!(
            "POST /mcp HTTP/1.1\r\nContent-Type: application/json\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len(),
        );
        self.connected()?.send(request)
    }

    fn headers(&self, method: &str, name: Option<&str>, version: &str) -> String {
        let mut headers = format!(
            "Host: {}\r\nAccept: application/json, text/event-stream\r\n",
            self.host()
        );
        let mut add = |name: &str, value: &str| {
            let _ = write!(headers, "{name}: {value}\r\n");
        };
        if let Some(token) = &self.token {
            add("Authorization", &format!("Bearer {token}"));
        }
        // The handshake comes before anything is agreed upon.
        if method != "initialize" {
            add("MCP-Protocol-Version", version);
        }
        if let Some(session) = &self.session {
            add("Mcp-Session-Id", session);
        }
        if self.era == Era::Stateless && !method.is_empty() {
            add("Mcp-Method", method);
            if let Some(name) = name {
                add("Mcp-Name", name);
            }
        }
        for (name, value) in &self.more {
            add(name, value);
        }
        headers
    }

    fn host(&self) -> String {
        match self.trust {
            Some(_) => format!("localhost:{}", self.address.port()),
            None => self.address.to_string(),
        }
    }

    fn connected(&mut self) -> Result<&mut Wire> {
        if self.wire.is_none() {
            self.wire = Some(match &self.trust {
                Some(ca) => Wire::connect_tls(self.address, ca, "localhost")?,
                None => Wire::connect(self.address)?,
            });
        }
        Ok(self.wire.as_mut().expect("just connected"))
    }

    fn receive(&mut self, mut heard: impl FnMut(&Value) -> Result<()>) -> Result<Reply> {
        let received = self.try_receive(&mut heard);
        let keeps = received.as_ref().is_ok_and(|reply| {
            let closes = reply.response.header("connection");
            closes.is_none_or(|said| !said.eq_ignore_ascii_case("close"))
        });
        if !keeps {
            self.wire = None;
        }
        received
    }

    fn try_receive(&mut self, heard: &mut impl FnMut(&Value) -> Result<()>) -> Result<Reply> {
        let wire = self.connected()?;
        let mut response = wire.head()?;
        let mut messages = Vec::new();
        match carried(&response) {
            Carried::Events => {
                while let Some(data) = wire.event()? {
                    let message: Value = serde_json::from_str(&data)?;
                    heard(&message)?;
                    messages.push(message);
                }
            }
            Carried::Json => {
                response.body = wire.body()?;
                messages.push(serde_json::from_slice(&response.body)?);
            }
            Carried::Otherwise => response.body = wire.body()?,
        }
        Ok(Reply {
            status: response.status,
            response,
            messages,
        })
    }

    /// The same client over another connection.
    fn aside(&self) -> Self {
        Self {
            wire: None,
            trust: self.trust.clone(),
            token: self.token.clone(),
            capabilities: self.capabilities.clone(),
            session: self.session.clone(),
            more: self.more.clone(),
            ..*self
        }
    }
}

impl Reply {
    pub fn carried(&self) -> Carried {
        carried(&self.response)
    }

    /// The answer; panics where there is none.
    pub fn result(&self) -> std::result::Result<Value, RpcError> {
        let answer = self
            .messages
            .last()
            .filter(|last| last.get("method").is_none());
        let answer = answer.unwrap_or_else(|| {
            let (status, text) = (self.status, self.response.text());
            panic!("no answer, but {status} {text} {:?}", self.messages)
        });
        result_of(answer.clone())
    }

    /// A tool's result; panics on a protocol error.
    pub fn outcome(&self) -> CallOutcome {
        match self.result() {
            Ok(result) => CallOutcome::from_result(result),
            Err(e) => panic!("the call failed in the protocol: {e:?}"),
        }
    }

    /// What the server said before it answered.
    pub fn notifications(&self) -> Vec<&Value> {
        let said = self.messages.iter();
        said.filter(|one| one.get("method").is_some() && one.get("id").is_none())
            .collect()
    }
}

fn carried(response: &Response) -> Carried {
    let kind = response.header("content-type").unwrap_or_default();
    if kind.starts_with("text/event-stream") {
        Carried::Events
    } else if kind.starts_with("application/json") {
        Carried::Json
    } else {
        Carried::Otherwise
    }
}
