//! The MCP client and a server that dies on it.

use super::super::mcp::SERVER;
use serde_json::json;
use std::path::Path;
use testkit::McpClient;
use testkit::mcp::{Gone, RequestId};
use testkit::trap::{Deed, Kind, Plan, Stream, Trapped, Watch};

/// A handshake and three calls, as far as the server lives; how many were answered by a whole line.
fn talk(mcp: &mut McpClient) -> Result<(), Gone> {
    mcp.try_initialize()?;
    for _ in 0..3 {
        let outcome = mcp.try_call("tool", json!({}))?;
        assert_eq!(outcome.structured, json!({ "n": 1 }));
    }
    Ok(())
}

fn server(plan: Plan) -> McpClient {
    McpClient::over(Trapped::spawn(
        super::script("sh", SERVER, Path::new("/")),
        plan,
    ))
}

#[test]
fn a_server_that_dies_is_an_answer_at_once() {
    // One line for the handshake, two for each call: a notification and the answer.
    for (deed, lines_at_death) in [(Deed::Kill, 0), (Deed::KillAfter, 1), (Deed::Tear, 0)] {
        for nth in 1..=8 {
            let watch = Watch::of([Kind::Send]).on(Stream::Stdout);
            let mut mcp = server(Plan::at(nth, watch, deed.clone()));
            let done = talk(&mut mcp);
            if nth == 8 {
                assert_eq!(done, Ok(()));
                mcp.close_stdin();
            }
            mcp.await_silence();
            let lines = (nth as u64 - 1 + lines_at_death).min(7);
            let answers = lines.div_ceil(2);
            let answered: Vec<_> = (1..=answers).map(RequestId).collect();
            assert_eq!(mcp.answered(), answered, "{deed:?} at {nth}");
            let torn = matches!(deed, Deed::Tear) && nth < 8;
            assert_eq!(mcp.torn().is_some(), torn);
            let outcome = mcp.trapped().unwrap().wait();
            assert_eq!(outcome.hits.len(), usize::from(nth < 8));
        }
    }
}

#[test]
fn a_dead_server_hears_nothing() {
    let mut mcp = server(Plan::count(Watch::of([Kind::Send])));
    assert_eq!(talk(&mut mcp), Ok(()));
    mcp.kill();
    let gone = mcp.try_call("tool", json!({})).unwrap_err();
    assert!(gone.0.contains("cannot write to the program"), "{gone:?}");
    assert_eq!(mcp.trapped().unwrap().seen().len(), 8);
}
