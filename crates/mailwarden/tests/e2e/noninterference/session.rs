//! A script in the mouth of a client.

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::mcp::RequestId;

use super::answer;
use super::script::Step;

/// The answers to one script, in order.
pub(super) type Answers = Vec<Value>;

/// Plays all scripts side by side, each in its own order.
pub(super) fn play(client: &mut McpClient, scripts: &[Vec<Step>]) -> Vec<Answers> {
    let mut answers: Vec<Answers> = scripts.iter().map(|_| Vec::new()).collect();
    let longest = scripts.iter().map(Vec::len).max().unwrap_or_default();
    for at in 0..longest {
        let sent: Vec<Option<RequestId>> = scripts
            .iter()
            .zip(&answers)
            .map(|(script, before)| {
                let step = script.get(at)?;
                let mut params = step.params.clone();
                if step.continues {
                    let cursor = before.last().and_then(answer::cursor)?;
                    params["arguments"]["cursor"] = json!(cursor);
                }
                Some(client.send(step.method, params))
            })
            .collect();
        for ((answers, script), sent) in answers.iter_mut().zip(scripts).zip(sent) {
            if at >= script.len() {
                continue;
            }
            answers.push(match sent {
                None => json!("there was no further page"),
                Some(id) => match client.wait(id) {
                    Ok(result) => json!({ "result": result }),
                    Err(error) => json!({
                        "error": { "code": error.code, "message": error.message, "data": error.data },
                    }),
                },
            });
        }
    }
    answers
}
