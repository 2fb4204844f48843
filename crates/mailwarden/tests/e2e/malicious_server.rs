//! Mail servers that lie, beside a good one in the same process: each lie is a fault of its own
//! account, costs bounded memory, and no call of the good account fails or waits for it. A call
//! that is cancelled ends its work.

use std::time::Duration;

use serde_json::{Value, json};
use testkit::malicious_server::{self, Lie, trickle};
use testkit::mcp::RpcError;
use testkit::{Dovecot, Fake, McpClient};

use crate::support::{Account, Look, configure, inbox, message_id, note, program, start};

/// The program's peak, with all kinds of lies told to it in turn and one at a time beside them.
const MAX_PEAK_BYTES: u64 = 224 << 20;

/// What the slow server is waited for.
const SOCKET_TIMEOUT_MS: &str = "8000";

fn account_of(number: usize) -> String {
    format!("liar{number}")
}

/// A program with a good account, and one on each of these servers.
fn beside(good: &Dovecot, liars: &[Fake]) -> McpClient {
    let mut command = program();
    command
        .env("MAIL_IMAP_SOCKET_TIMEOUT_MS", SOCKET_TIMEOUT_MS)
        .env("MAILWARDEN_TOOLSETS", "imap,gateway");
    let at = |port| Account {
        port,
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &at(good.port()));
    for (number, liar) in liars.iter().enumerate() {
        let name = account_of(number).to_uppercase();
        configure(&mut command, &name, &at(liar.port()));
    }
    start(command)
}

/// The code that a call failed with, in whichever way.
fn code(answer: &Result<Value, RpcError>) -> String {
    match answer {
        Ok(result) => {
            let data = &result["structuredContent"]["data"];
            let code = data["issues"][0]["code"].as_str();
            code.unwrap_or("none").to_owned()
        }
        Err(error) => {
            let code = error.data["code"].as_str();
            code.unwrap_or("unnamed").to_owned()
        }
    }
}

fn good_mailbox() -> Dovecot {
    let server = Dovecot::start();
    for number in 0..20 {
        let subject = format!("letter {number}");
        server.deliver("alice", "INBOX", &note(&subject, "all is well"));
    }
    server
}

/// Every read of the good account, answered as ever.
fn assert_good_answers(client: &mut McpClient, id: &str, lie: &str) {
    let page = client.call("imap_search_messages", inbox(json!({})));
    assert!(!page.is_error, "{lie}: {}", page.text);
    assert_eq!(page.number("/total"), 20, "{lie}");
    let found = client.call("imap_search_messages", inbox(json!({ "query": "letter" })));
    assert_eq!(found.number("/total"), 20, "{lie}: {}", found.text);
    let read = client.call("imap_get_message", json!({ "message_id": id }));
    assert_eq!(read.data("/message/body_text"), "all is well", "{lie}");
}

#[test]
fn lying_server_is_a_fault_of_its_own_account_alone() {
    let good = good_mailbox();
    let liars: Vec<Fake> = malicious_server::ALL
        .iter()
        .map(|lie| lie.serve())
        .collect();
    let mut client = beside(&good, &liars);
    let id = message_id(&good, "INBOX", 1);
    assert_good_answers(&mut client, &id, "before all lies");
    let ask = |client: &mut McpClient, number: usize, lie: &Lie| {
        let arguments = lie.call.arguments(&account_of(number));
        client.send_call(lie.call.tool(), arguments)
    };
    let mut faults = Vec::new();
    let mut check = |lie: &Lie, answer: Result<Value, RpcError>| {
        let code = code(&answer);
        if code != lie.code {
            faults.push(format!(
                "{}: {code}, not {}: {answer:?}",
                lie.name, lie.code
            ));
        }
    };
    let [slow, quick @ ..] = &malicious_server::ALL;
    let slow_call = ask(&mut client, 0, slow);
    for (number, lie) in (1..).zip(quick) {
        let lied = ask(&mut client, number, lie);
        assert_good_answers(&mut client, &id, lie.name);
        check(lie, client.wait(lied));
    }
    // All at once, each with the good account's calls beside it.
    let lied: Vec<_> = (1..)
        .zip(quick)
        .map(|(number, lie)| (lie, ask(&mut client, number, lie)))
        .collect();
    assert_good_answers(&mut client, &id, "all of them");
    for (lie, call) in lied {
        check(lie, client.wait(call));
    }
    check(slow, client.wait(slow_call));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert_good_answers(&mut client, &id, "after all lies");
    let peak = client.peak_rss();
    assert!(peak < MAX_PEAK_BYTES, "{} MiB", peak >> 20);
}

/// A server that answers a search with responses that nothing asked for, and never ends.
pub(crate) fn busy() -> Fake {
    Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            let command = s.command();
            if command.mentions("EXAMINE") {
                s.examined(5);
            } else if command.mentions("SEARCH") {
                trickle(s);
            } else {
                s.ok();
            }
        }
    })
}

#[test]
fn cancelled_call_closes_its_busy_connection() {
    let liar = busy();
    let mut client = crate::support::client(liar.port());
    let call = client.send_call("imap_search_messages", inbox(json!({ "query": "x" })));
    liar.await_command("SEARCH");
    assert!(!client.has_answer(call));
    client.cancel(call);
    liar.await_left(1);
    assert!(!client.call("imap_list_accounts", json!({})).is_error);
}

#[test]
fn closed_stdin_ends_work_for_a_busy_server() {
    let liar = busy();
    let mut client = crate::support::client(liar.port());
    client.send_call("imap_search_messages", inbox(json!({ "query": "x" })));
    liar.await_command("SEARCH");
    client.close_stdin();
    liar.await_left(1);
    assert!(client.wait_exit(Duration::from_secs(10)).is_some());
}
