//! Talking with a program that is meant to die: its end is an answer here, and at once. Whatever else is missing or wrong
//! still ends the test.

use super::inbox::Stream;
use super::{CallOutcome, LEGACY, McpClient, RequestId, RpcError, client_info, message, result_of};
use serde_json::{Value, json};
use std::io::Write;

/// The program went away before it answered; says what was waited for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gone(pub String);

impl McpClient {
    /// The handshake, with a program that may die of it; panics on a protocol error.
    pub fn try_initialize(&mut self) -> Result<Value, Gone> {
        let params = json!({
            "protocolVersion": LEGACY,
            "capabilities": self.capabilities,
            "clientInfo": client_info(),
        });
        let id = self.try_send("initialize", params)?;
        let result = self.try_wait(id)?;
        let result = result.unwrap_or_else(|e| panic!("initialize: {e:?}"));
        self.try_send_message(&message("notifications/initialized", json!({})))?;
        Ok(result)
    }

    /// Calls a tool of a program that may die of it; panics on a protocol error.
    pub fn try_call(&mut self, tool: &str, arguments: Value) -> Result<CallOutcome, Gone> {
        let params = json!({ "name": tool, "arguments": arguments });
        let id = self.try_send("tools/call", params)?;
        let result = self.try_wait(id)?;
        Ok(self.outcome(result))
    }

    /// Sends a request to a program that may be dead, without waiting.
    pub fn try_send(&mut self, method: &str, params: Value) -> Result<RequestId, Gone> {
        self.requests += 1;
        let id = self.requests;
        let params = self.dress(params);
        self.try_send_message(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }),
        )?;
        Ok(RequestId(id))
    }

    /// Waits for the answer of a program that may die before it gives one. An answer that came before it died is given.
    pub fn try_wait(&mut self, id: RequestId) -> Result<Result<Value, RpcError>, Gone> {
        let (answer, _) = self.answer(id)?;
        Ok(result_of(answer))
    }

    /// Requests that were answered so far, in the order of the answers, whether or not they were waited for.
    pub fn answered(&self) -> Vec<RequestId> {
        let ids = self.inbox.read(|mail| mail.answered.clone());
        ids.into_iter().map(RequestId).collect()
    }

    /// Waits until the program has closed its stdout: after that, nothing is on its way any more.
    pub fn await_silence(&self) {
        self.await_inbox("the end of stdout", Stream::Stdout, |mail| {
            mail.is_closed(Stream::Stdout).then_some(())
        });
    }

    /// The beginning of a line that the program did not live to end.
    pub fn torn(&self) -> Option<String> {
        self.inbox.read(|mail| mail.torn.clone())
    }

    fn try_send_message(&mut self, message: &Value) -> Result<(), Gone> {
        self.try_send_line(&message.to_string())
    }

    pub(super) fn try_send_line(&mut self, line: &str) -> Result<(), Gone> {
        let stdin = self.stdin.as_mut().expect("stdin was closed");
        stdin
            .write_all(format!("{line}\n").as_bytes())
            .and_then(|()| stdin.flush())
            .map_err(|e| Gone(format!("cannot write to the program: {e}")))
    }
}
