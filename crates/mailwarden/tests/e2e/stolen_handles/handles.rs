//! What callers hold in their hands, and what others try with it.

use serde_json::{Value, json};
use testkit::McpClient;

use super::{ACCOUNTS, UIDVALIDITY, VAULT, account, own};

/// Of one account of its owner.
pub(super) struct Handle {
    owner: usize,
    account: usize,
    search_cursor: String,
    imap_cursor: String,
    message_id: String,
    message_uri: String,
    uid: u64,
}

/// One attempt.
pub(super) struct Theft {
    /// Whose handle it was; nobody's, if it was guessed.
    pub(super) owner: Option<usize>,
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// Why it is refused. Without one, it is the thief's own right to ask.
    pub(super) reason: Option<&'static str>,
}

/// A caller's own handles, as it gets them.
pub(super) fn collect(client: &mut McpClient, caller: usize) -> Vec<Handle> {
    let each = own(caller).into_iter().map(|(number, _)| {
        let id = account(number);
        let found = client.call(
            "search",
            json!({ "account_id": id, "folder": "INBOX", "limit": 1 }),
        );
        let listed = client.call(
            "imap_search_messages",
            json!({ "account_id": id, "mailbox": "INBOX", "limit": 1 }),
        );
        let text = |answer: &Value, pointer: &str| {
            let found = answer.pointer(pointer).and_then(Value::as_str);
            found
                .unwrap_or_else(|| panic!("no {pointer} in {answer:#}"))
                .to_owned()
        };
        Handle {
            owner: caller,
            account: number,
            search_cursor: text(&found.structured, "/data/next_cursor"),
            imap_cursor: text(&listed.structured, "/data/next_cursor"),
            message_id: text(&listed.structured, "/data/messages/0/message_id"),
            message_uri: text(&listed.structured, "/data/messages/0/message_uri"),
            uid: found.structured["data"]["uids"][0].as_u64().unwrap(),
        }
    });
    each.collect()
}

/// What a thief tries with what each of the others holds, and with what it can guess.
pub(super) fn thefts(thief: usize, loot: &[Vec<Handle>]) -> Vec<Theft> {
    let robbed = loot.iter().enumerate().filter(|(owner, _)| *owner != thief);
    // One account of each caller, and some of the ways to try: over all pairs, every one of both.
    let mut thefts: Vec<Theft> = robbed
        .flat_map(|(owner, handles)| {
            let handle = &handles[(thief + owner) % handles.len()];
            let turn = thief + 3 * owner;
            let some = |mut all: Vec<Theft>, most: usize| {
                let turn = turn % all.len();
                all.rotate_left(turn);
                all.into_iter().take(most)
            };
            let tried = some(cursors(thief, handle), 3);
            tried
                .chain(some(readings(thief, handle), 3))
                .collect::<Vec<_>>()
        })
        .collect();
    thefts.extend((0..ACCOUNTS).flat_map(|number| guesses(thief, number)));
    thefts
}

fn is_own(thief: usize, number: usize) -> bool {
    own(thief).iter().any(|(own, _)| *own == number)
}

/// What is said of an account that may be the thief's own by right.
fn unless_own(thief: usize, number: usize) -> Option<&'static str> {
    (!is_own(thief, number)).then_some("account_hidden")
}

fn call(owner: Option<usize>, tool: &str, arguments: Value, reason: Option<&'static str>) -> Theft {
    Theft {
        owner,
        method: "tools/call",
        params: json!({ "name": tool, "arguments": arguments }),
        reason,
    }
}

/// A cursor is its owner's alone, in a folder that both may see too, and in one of the thief's own.
fn cursors(thief: usize, handle: &Handle) -> Vec<Theft> {
    const FOREIGN: &str = "cursor is not valid for this account_id";
    let reason = unless_own(thief, handle.account).unwrap_or(FOREIGN);
    let theirs = account(handle.account);
    let mine = account(own(thief)[handle.account % own(thief).len()].0);
    let owner = Some(handle.owner);
    let (search, imap) = (&handle.search_cursor, &handle.imap_cursor);
    let gateway =
        |id: &str, cursor: &str| json!({ "account_id": id, "folder": "INBOX", "cursor": cursor });
    let listing =
        |id: &str, cursor: &str| json!({ "account_id": id, "mailbox": "INBOX", "cursor": cursor });
    vec![
        call(owner, "search", gateway(&theirs, search), Some(reason)),
        call(owner, "search", gateway(&mine, search), Some(FOREIGN)),
        call(
            owner,
            "imap_search_messages",
            listing(&theirs, imap),
            Some(reason),
        ),
        call(
            owner,
            "imap_search_messages",
            listing(&mine, imap),
            Some(FOREIGN),
        ),
        // One tool's cursor in the hands of another.
        call(owner, "search", gateway(&mine, imap), Some(FOREIGN)),
    ]
}

fn readings(thief: usize, handle: &Handle) -> Vec<Theft> {
    let owner = Some(handle.owner);
    let reason = unless_own(thief, handle.account);
    // A tool that no folder of the thief's could ever need is none.
    let refused = reason.map(|_| "");
    let at = json!({ "account_id": account(handle.account), "folder": "INBOX", "uid": handle.uid });
    let part = |as_text: bool| {
        let mut arguments = at.clone();
        arguments["part_id"] = json!("2");
        arguments["as_text"] = json!(as_text);
        arguments
    };
    let id = json!({ "message_id": handle.message_id });
    let read = |end: &str| Theft {
        owner,
        method: "resources/read",
        params: json!({ "uri": format!("{}{end}", handle.message_uri) }),
        reason: refused,
    };
    vec![
        call(owner, "fetch_envelope", at.clone(), refused),
        call(owner, "fetch_headers", at.clone(), refused),
        call(owner, "fetch_body", at.clone(), refused),
        call(owner, "fetch_attachment", part(false), refused),
        call(owner, "fetch_attachment", part(true), refused),
        call(owner, "imap_get_message", id.clone(), refused),
        call(owner, "imap_get_message_raw", id, refused),
        read(""),
        read("/raw"),
        read("/part/2"),
    ]
}

/// Ids that nobody has to be told: accounts and folders have names, and UIDs are small numbers.
fn guesses(thief: usize, number: usize) -> Vec<Theft> {
    let id = account(number);
    let hidden = unless_own(thief, number);
    let vault = hidden.or(Some("folder_hidden"));
    let in_vault = json!({ "account_id": id, "folder": VAULT, "uid": 1 });
    let uri = format!("imap://{id}/mailbox/{VAULT}/message/{UIDVALIDITY}/1");
    let read = |uri: String| Theft {
        owner: None,
        method: "resources/read",
        params: json!({ "uri": uri }),
        reason: Some(""),
    };
    vec![
        call(None, "list_folders", json!({ "account_id": id }), hidden),
        call(
            None,
            "imap_list_mailboxes",
            json!({ "account_id": id }),
            hidden,
        ),
        call(
            None,
            "imap_verify_account",
            json!({ "account_id": id }),
            hidden,
        ),
        call(
            None,
            "folder_stats",
            json!({ "account_id": id, "folder": "INBOX" }),
            hidden,
        ),
        call(
            None,
            "search",
            json!({ "account_id": id, "folder": VAULT }),
            vault,
        ),
        call(
            None,
            "folder_stats",
            json!({ "account_id": id, "folder": VAULT }),
            vault,
        ),
        call(None, "fetch_envelope", in_vault.clone(), Some("")),
        call(None, "fetch_body", in_vault, Some("")),
        read(uri.clone()),
        read(format!("{uri}/raw")),
        read(format!("{uri}/part/2")),
    ]
}
