//! The person at the client, whom a program may ask something, in either era. Never judges whether it should have.

use super::{McpClient, RequestId};
use serde_json::{Map, Value, json};

/// What a person does with a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Ticks every box and accepts.
    Yes,
    /// Accepts with every box left empty.
    Unticked,
    Decline,
    Cancel,
}

impl Says {
    /// The client's result for an `elicitation/create` with these parameters.
    pub fn to(self, params: &Value) -> Value {
        let boxes = params["requestedSchema"]["properties"].as_object();
        let boxes = boxes.into_iter().flatten();
        let ticked = boxes.filter(|(_, field)| field["type"] == "boolean");
        let ticked: Map<String, Value> = ticked
            .map(|(name, _)| (name.clone(), json!(self == Self::Yes)))
            .collect();
        match self {
            Self::Yes | Self::Unticked => json!({ "action": "accept", "content": ticked }),
            Self::Decline => json!({ "action": "decline" }),
            Self::Cancel => json!({ "action": "cancel" }),
        }
    }
}

impl McpClient {
    /// Says from now on that there is a person who can be asked.
    #[must_use]
    pub fn with_person(mut self) -> Self {
        self.capabilities = json!({ "elicitation": { "form": {} } });
        self
    }

    /// Waits for the program's next question, answers it, and returns its words.
    pub fn say(&mut self, says: Says) -> String {
        let asked = self.await_request();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        let params = &asked["params"];
        self.respond(&asked["id"], says.to(params));
        params["message"].as_str().unwrap_or_default().to_owned()
    }

    /// Makes a call again with what a person said to the questions that it was answered with, without waiting.
    pub fn call_again(
        &mut self,
        tool: &str,
        arguments: Value,
        asked: &Value,
        says: Says,
    ) -> RequestId {
        let requests = asked["inputRequests"].as_object().into_iter().flatten();
        let responses: Map<String, Value> = requests
            .map(|(name, request)| (name.clone(), says.to(&request["params"])))
            .collect();
        let params = json!({
            "name": tool,
            "arguments": arguments,
            "inputResponses": responses,
            "requestState": asked["requestState"],
        });
        self.send("tools/call", params)
    }
}
