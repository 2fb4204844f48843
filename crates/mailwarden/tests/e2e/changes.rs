//! The tools that change mail, end to end: what they answer, what they leave in the mailboxes and in the ledger, and what
//! they refuse. What becomes of them when something crashes is the crash matrix's business.

mod answer;
mod answers;
mod awkward;
mod deleting;
mod drafts;
mod extensions;
mod idempotency;
mod last_copy;
mod leaving;
mod lies;
mod marks;
mod policies;
mod refusals;
mod refused;
mod round_trips;
mod settling;
mod shared_ledger;
mod traps;
mod uidvalidity;
mod undo;

use std::process::{Command, Stdio};

use serde_json::{Value, json};
use testkit::{McpClient, World};

use crate::write_crash::{GENERATION, Plot, SUBJECT};
pub(crate) use answer::{Answer, ask, told};

/// The name of a message in an INBOX of the proving ground.
fn message(account: &str, uid: u32) -> String {
    format!("imap:{account}:INBOX:{GENERATION}:{uid}")
}

/// The same for the tools that take it in parts, with other arguments beside it.
fn parts(account: &str, uid: u32, more: Value) -> Value {
    let at = json!({
        "account_id": account, "folder": "INBOX", "uid": uid, "uidvalidity": GENERATION,
    });
    with(at, more)
}

/// The message that changes are about.
fn subject(account: &str, more: Value) -> Value {
    with(json!({ "message_id": message(account, SUBJECT) }), more)
}

/// An object with more in it, or with something else.
fn with(mut one: Value, more: Value) -> Value {
    for (key, value) in more.as_object().unwrap() {
        one[key] = value.clone();
    }
    one
}

/// A verb of `mailwarden tx`, in JSON; the error is what it printed.
fn tx(mut program: Command, arguments: &[&str]) -> Result<Value, String> {
    program.arg("tx").args(arguments).arg("--json");
    let output = program.stdin(Stdio::null()).output().unwrap();
    match output.status.success() {
        true => Ok(serde_json::from_slice(&output.stdout).unwrap()),
        false => Err(String::from_utf8(output.stderr).unwrap()),
    }
}

/// What the ledger says of one transaction.
fn shown(plot: &Plot<'_>, id: &Value) -> Value {
    tx(plot.program(), &["show", id.as_str().unwrap()]).unwrap()
}

/// Names of the tools that a client is shown.
fn listed(client: &mut McpClient) -> Vec<String> {
    let tools = client.request("tools/list", json!({})).unwrap();
    let tools = tools["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Two worlds are one, or the test says what differs.
fn same(there: &World, want: &World, what: &str) {
    assert!(
        there == want,
        "{what}: there is [{}] too much, and there lacks [{}]",
        there.beyond(want),
        want.beyond(there)
    );
}
