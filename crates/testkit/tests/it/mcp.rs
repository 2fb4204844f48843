//! The MCP client against a server made of shell.

use serde_json::json;
use std::process::Command;
use std::time::Duration;
use testkit::McpClient;
use testkit::mcp::Says;

/// Answers each line by a rule per method; ids are taken from the line.
pub(crate) const SERVER: &str = r#"
echo started >&2
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  ok() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case $line in
    *'"method":"initialize"'*) ok '{"protocolVersion":"2025-11-25"}' ;;
    *'"method":"echo"'*) ok "{\"heard\":$line}" ;;
    *'"method":"fail"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"no","data":{"why":1}}}\n' "$id" ;;
    *'"method":"tools/call"'*)
      echo '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}'
      ok '{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"structuredContent":{"n":1},"isError":true}' ;;
    *'"method":"hold"'*) held=$id ;;
    *'"method":"free"'*) ok 1; id=$held; ok 2 ;;
    *'"method":"noise"'*) echo 'hello' ;;
    *'"method":"ask"'*) asker=$id
      echo '{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"message":"Really?","requestedSchema":{"properties":{"sure":{"type":"boolean"}}}}}' ;;
    *'"action":'*) id=$asker; ok "$line" ;;
  esac
done
echo bye >&2
exit 3
"#;

fn shell() -> McpClient {
    let mut command = Command::new("sh");
    command.args(["-c", SERVER]);
    McpClient::spawn(command).patience(Duration::from_secs(10))
}

#[test]
fn requests_calls_errors_and_notifications() {
    let mut mcp = shell();
    assert_eq!(mcp.initialize()["protocolVersion"], "2025-11-25");
    let error = mcp.request("fail", json!({})).unwrap_err();
    assert_eq!(
        (error.code, error.message.as_str(), error.data),
        (-32602, "no", json!({ "why": 1 }))
    );
    let outcome = mcp.call("tool", json!({ "x": 1 }));
    assert_eq!((outcome.is_error, outcome.text.as_str()), (true, "a\nb"));
    assert_eq!(outcome.structured, json!({ "n": 1 }));
    assert_eq!(mcp.notifications()[0]["params"]["progress"], 1);
    assert!(mcp.rss() > 0 && mcp.peak_rss() >= mcp.rss());
}

#[test]
fn answers_may_come_in_any_order() {
    let mut mcp = shell();
    let held = mcp.send("hold", json!({}));
    let free = mcp.send("free", json!({}));
    assert_eq!(mcp.wait(held).unwrap(), 2);
    assert_eq!(mcp.wait(free).unwrap(), 1);
}

#[test]
fn modern_requests_carry_their_client() {
    let mut mcp = shell().modern();
    let heard = mcp
        .request("echo", json!({ "_meta": { "progressToken": 7 } }))
        .unwrap();
    let meta = &heard["heard"]["params"]["_meta"];
    assert_eq!(
        meta["io.modelcontextprotocol/protocolVersion"],
        "2026-07-28"
    );
    assert_eq!(
        meta["io.modelcontextprotocol/clientCapabilities"],
        json!({})
    );
    assert_eq!(
        meta["io.modelcontextprotocol/clientInfo"]["name"],
        "testkit"
    );
    assert_eq!(meta["progressToken"], 7);
}

#[test]
fn a_person_answers_in_either_era() {
    for (says, answer) in [
        (
            Says::Yes,
            json!({ "action": "accept", "content": { "sure": true } }),
        ),
        (
            Says::Unticked,
            json!({ "action": "accept", "content": { "sure": false } }),
        ),
        (Says::Decline, json!({ "action": "decline" })),
        (Says::Cancel, json!({ "action": "cancel" })),
    ] {
        let mut mcp = shell().with_person();
        let asking = mcp.send("ask", json!({}));
        assert_eq!(mcp.say(says), "Really?");
        let heard = mcp.wait(asking).unwrap();
        assert_eq!((&heard["id"], &heard["result"]), (&json!(7), &answer));
    }
    let mut mcp = shell().with_person().modern();
    let heard = mcp.request("echo", json!({})).unwrap();
    let can = &heard["heard"]["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"];
    assert_eq!(*can, json!({ "elicitation": { "form": {} } }));
}

#[test]
fn exit_is_seen_and_stderr_kept() {
    let mut mcp = shell();
    mcp.await_stderr("started");
    assert_eq!(mcp.wait_exit(Duration::ZERO), None);
    mcp.close_stdin();
    assert_eq!(
        mcp.wait_exit(Duration::from_secs(10)).unwrap().code(),
        Some(3)
    );
    mcp.await_stderr("bye");
}

#[test]
#[should_panic(expected = "no JSON: hello")]
fn noise_on_stdout_fails_the_test() {
    let _ = shell().request("noise", json!({}));
}
