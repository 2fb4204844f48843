//! The comparisons: a tool call, and the least that a human expert would send over a bare connection to know the same.
//!
//! The expert has the folder open, knows UIDs and sections from before where mailwarden may know them too, writes
//! everything that does not depend on an answer at once, and always asks (NOOP) whether the folder changed. The NOOP
//! goes last because Dovecot answers it last anyway, wherever it stands in a flight.

use serde_json::{Value, json};
use testkit::McpClient;

use super::facts::{Facts, Folder, PAGE, SENDER};
use super::sides::{Call, Flight};
use super::world::{LOGIN, MESSAGES};

pub(crate) struct Case {
    pub name: &'static str,
    pub start: Start,
    /// What mailwarden did before, besides the rounds that warm up.
    pub prepare: fn(&mut McpClient),
    pub call: fn(&Facts, u32) -> Call,
    pub bare: fn(&Facts, u32) -> Vec<Flight>,
}

/// What both sides begin with in every round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// A connection that is logged in, with this folder open.
    Warm(Option<Folder>),
    /// No connection.
    Connect,
    /// No connection, and a process that never had one.
    Process,
}

const SUMMARY: &str = "UID FLAGS INTERNALDATE ENVELOPE";
const SNIPPET: &str = "BODY.PEEK[HEADER.FIELDS (CONTENT-TYPE CONTENT-TRANSFER-ENCODING CONTENT-DISPOSITION)] BODY.PEEK[TEXT]<0.4096>";
/// As much text as 2,000 characters may need.
const TEXT_BYTES: u32 = 28_096;
const HTML_BYTES: u32 = 147_072;

pub(crate) const ALL: &[Case] = &[
    Case {
        name: "list_mailboxes",
        start: Start::Warm(None),
        prepare: nothing,
        call: |_, _| call("imap_list_mailboxes", json!({})),
        bare: |_, _| flights(&[&[r#"LIST "" "*" RETURN (SPECIAL-USE STATUS (MESSAGES UNSEEN))"#]]),
    },
    Case {
        name: "search_messages: everything",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |_, _| search(json!({})),
        bare: |_, _| flights(&[&[&newest(0), "NOOP"]]),
    },
    Case {
        name: "search_messages: everything, next page",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |facts, _| search(json!({ "cursor": facts.cursors[0] })),
        bare: |_, _| {
            let below = MESSAGES - PAGE as u32;
            let count = format!("UID SEARCH RETURN (COUNT) UID 1:{below}");
            flights(&[&[&count, "NOOP"], &[&newest(1)]])
        },
    },
    Case {
        name: "search_messages: from",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |_, _| search(json!({ "from": SENDER })),
        bare: |facts, _| by_sender("", &facts.hits(0), SUMMARY),
    },
    Case {
        name: "search_messages: from, next page",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |facts, _| search(json!({ "cursor": facts.cursors[1] })),
        bare: |facts, _| {
            let below = format!(" UID 1:{}", facts.last_hit() - 1);
            by_sender(&below, &facts.hits(1), SUMMARY)
        },
    },
    Case {
        name: "search_messages: from, with snippets",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |_, _| search(json!({ "from": SENDER, "include_snippet": true })),
        bare: |facts, _| by_sender("", &facts.hits(0), &format!("{SUMMARY} {SNIPPET}")),
    },
    Case {
        name: "get_message: structure known from a search",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: list_newest,
        call: |facts, round| read(facts, Folder::Inbox, MESSAGES - round),
        bare: |facts, round| {
            let uid = MESSAGES - round;
            flights(&[&[&fetch_known(uid, facts.text(uid)), "NOOP"]])
        },
    },
    Case {
        name: "get_message: nothing known",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |facts, round| read(facts, Folder::Inbox, 1 + round),
        bare: |_, round| flights(&[&[&fetch_unknown(1 + round), "NOOP"]]),
    },
    Case {
        name: "get_message: nothing known, long plain text",
        start: Start::Warm(Some(Folder::Long)),
        prepare: nothing,
        call: |facts, round| read(facts, Folder::Long, 1 + round),
        // The first 8 kB hold all of the characters that are shown.
        bare: |_, round| flights(&[&[&fetch_unknown(1 + round), "NOOP"]]),
    },
    Case {
        name: "get_message: nothing known, long HTML",
        start: Start::Warm(Some(Folder::Html)),
        prepare: nothing,
        call: |facts, round| read(facts, Folder::Html, 1 + round),
        bare: |_, round| {
            let text = format!("UID FETCH {} (BODY.PEEK[1]<0.{HTML_BYTES}>)", 1 + round);
            flights(&[&[&fetch_unknown(1 + round), "NOOP"], &[&text]])
        },
    },
    Case {
        name: "get_message: read before",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |facts, _| read(facts, Folder::Inbox, 2_000),
        bare: |_, _| flights(&[&["UID FETCH 2000 (FLAGS)", "NOOP"]]),
    },
    Case {
        name: "get_message_raw",
        start: Start::Warm(Some(Folder::Inbox)),
        prepare: nothing,
        call: |facts, round| {
            let id = facts.id(Folder::Inbox, 3_000 + round);
            call("imap_get_message_raw", json!({ "message_id": id }))
        },
        bare: |_, round| {
            let uid = 3_000 + round;
            let fetch = format!("UID FETCH {uid} (RFC822.SIZE BODY.PEEK[]<0.200000>)");
            flights(&[&[&fetch, "NOOP"]])
        },
    },
    Case {
        name: "verify_account",
        start: Start::Connect,
        prepare: nothing,
        call: |_, _| call("imap_verify_account", json!({})),
        bare: |_, _| flights(&[&[LOGIN]]),
    },
    Case {
        name: "get_message: from nothing",
        start: Start::Process,
        prepare: nothing,
        call: |facts, round| read(facts, Folder::Inbox, 1_000 + round),
        bare: |_, round| {
            let fetch = fetch_unknown(1_000 + round);
            flights(&[&[LOGIN], &["EXAMINE INBOX", &fetch]])
        },
    },
];

fn nothing(_: &mut McpClient) {}

/// Pages through the newest messages, so that their structure is known and their text is not.
fn list_newest(client: &mut McpClient) {
    let mut arguments = json!({ "mailbox": "INBOX", "limit": 50 });
    for _ in 0..5 {
        let page = client.call("imap_search_messages", arguments);
        let cursor = &page.structured["data"]["next_cursor"];
        arguments = json!({ "mailbox": "INBOX", "cursor": cursor });
    }
}

fn call(tool: &'static str, arguments: Value) -> Call {
    Call { tool, arguments }
}

fn search(mut arguments: Value) -> Call {
    arguments["mailbox"] = json!("INBOX");
    call("imap_search_messages", arguments)
}

pub(crate) fn read(facts: &Facts, folder: Folder, uid: u32) -> Call {
    call(
        "imap_get_message",
        json!({ "message_id": facts.id(folder, uid) }),
    )
}

fn newest(page: u32) -> String {
    let last = MESSAGES - page * PAGE as u32;
    format!("FETCH {}:{last} ({SUMMARY})", last + 1 - PAGE as u32)
}

fn by_sender(more: &str, hits: &str, items: &str) -> Vec<Flight> {
    let find = format!("UID SEARCH RETURN (COUNT ALL) FROM {SENDER}{more}");
    let describe = format!("UID FETCH {hits} ({items})");
    flights(&[&[&find, "NOOP"], &[&describe]])
}

fn fetch_known(uid: u32, section: &str) -> String {
    format!(
        "UID FETCH {uid} (FLAGS INTERNALDATE BODY.PEEK[HEADER] BODY.PEEK[{section}]<0.{TEXT_BYTES}>)"
    )
}

/// Everything about a short message at once.
pub(crate) fn fetch_unknown(uid: u32) -> String {
    format!(
        "UID FETCH {uid} (FLAGS INTERNALDATE BODYSTRUCTURE BODY.PEEK[HEADER] BODY.PEEK[TEXT]<0.8192>)"
    )
}

fn flights(all: &[&[&str]]) -> Vec<Flight> {
    all.iter()
        .map(|one| one.iter().map(|command| (*command).to_owned()).collect())
        .collect()
}
