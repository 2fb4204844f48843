//! `mailwarden tx`: what its commands print of a ledger, and what they decide.

mod by_hand;

use std::path::PathBuf;
use std::process::Stdio;

use ledger::{
    Asked, Begun, Ending, Key, Kind, Known, Lease, Ledger, Mark, Note, Place, State, StepName,
    StepState, Transaction, TransactionId,
};
use mail::{AccountId, Flag, FolderName, Landing, MessageRef, Uid, UidValidity};
use serde_json::Value;

use crate::directory::{Directory, accounts};
use crate::installation::Installation;

struct Shown {
    code: i32,
    stdout: String,
    stderr: String,
}

/// An installation without a configuration: `tx` needs none to look.
struct Books {
    home: Installation,
}

impl Books {
    fn new() -> Self {
        Self {
            home: Installation::new(),
        }
    }

    fn path(&self) -> PathBuf {
        self.home.state().join("ledger.db")
    }

    fn tx(&self, arguments: &[&str]) -> Shown {
        let mut command = self.home.program();
        command.arg("tx").args(arguments).stdin(Stdio::null());
        let output = command.output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Shown {
            code: output.status.code().unwrap(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let shown = self.tx(arguments);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        serde_json::from_str(&shown.stdout).unwrap()
    }

    /// A move of which nobody knows how it came out, a draft under way, a copy and a mark that are done.
    fn written(&self) -> [TransactionId; 4] {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let ledger = Ledger::open(&self.path()).unwrap();
            let unclear = Note::Ends(
                State::NeedsOperator,
                Ending {
                    code: Some("copy_unclear".to_owned()),
                    words: Some("two messages in Archive may be the copy".to_owned()),
                },
            );
            let moved = begin(&ledger, Kind::Move, "agent", StepName::Copy).await;
            let lost = Note::Step(StepName::Copy, StepState::Unknown, Some("cut".to_owned()));
            ledger.write(&moved, vec![lost, unclear]).await.unwrap();

            let draft = begin(&ledger, Kind::Draft, "agent", StepName::Append).await;
            let later = Note::Later("2030-01-02T03:04:05Z".parse().unwrap());
            ledger.write(&draft, vec![later]).await.unwrap();

            let done = || Note::Ends(State::Done, Ending::default());
            let copied = begin(&ledger, Kind::Copy, "other", StepName::Copy).await;
            let landed = Known {
                size: Some(1234),
                flags: Some(vec![Flag::new("\\Seen")]),
                message_id: Some("a@b\u{202e}".to_owned()),
                landed: Some(Landing {
                    uidvalidity: UidValidity(7),
                    uid: Uid(42),
                }),
                ..Known::default()
            };
            let notes = vec![
                Note::Knows(landed),
                Note::Step(StepName::Copy, StepState::Done, None),
                done(),
            ];
            ledger.write(&copied, notes).await.unwrap();
            let marked = begin(&ledger, Kind::Flags, "agent", StepName::Mark).await;
            ledger.write(&marked, vec![done()]).await.unwrap();
            [moved, draft, copied, marked].map(|lease| lease.id().clone())
        })
    }

    fn get(&self, id: &TransactionId) -> Transaction {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let ledger = Ledger::open(&self.path()).unwrap();
            ledger.get(id).await.unwrap().unwrap()
        })
    }
}

async fn begin(ledger: &Ledger, kind: Kind, caller: &str, first: StepName) -> Lease {
    let begun = ledger.begin(asked(kind, caller), Known::default(), first, None);
    match begun.await {
        Ok(Begun::New(lease)) => lease,
        other => panic!("{other:?}"),
    }
}

fn asked(kind: Kind, caller: &str) -> Asked {
    let source = MessageRef::parse("imap:work:INBOX:5:17").unwrap();
    Asked {
        kind,
        caller: caller.to_owned(),
        tool: "some_tool".to_owned(),
        request_id: "req-1".to_owned(),
        policy: "owner@0011".to_owned(),
        source: (kind != Kind::Draft).then_some(source),
        target: (kind != Kind::Flags).then(|| Place {
            account: AccountId::new("home").unwrap(),
            folder: FolderName::new("Archiv \u{202e}2026").unwrap(),
        }),
        source_home: None,
        target_home: None,
        horizon: None,
        marks: match kind {
            Kind::Flags => vec![
                Mark::Set(Flag::new("\\Seen")),
                Mark::Take(Flag::new("todo")),
            ],
            _ => Vec::new(),
        },
        key: (kind == Kind::Draft).then(|| Key {
            name: "my key".to_owned(),
            arguments: [7; 32],
        }),
        undoes: None,
    }
}

#[test]
fn where_nothing_was_changed_there_is_nothing_to_show_and_nothing_is_made() {
    let books = Books::new();
    let shown = books.tx(&["list"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(
        shown.stdout.contains("no transaction is under way"),
        "{}",
        shown.stdout
    );
    assert_eq!(
        books.json(&["list", "--json"])["transactions"],
        Value::Array(vec![])
    );
    for verb in [
        &["show"][..],
        &["resolve", "--as", "done"],
        &["show", "--json"],
    ] {
        let id = ["tx_00000000000000000000000000"];
        let shown = books.tx(&[verb, &id].concat());
        assert_eq!(shown.code, 1, "{verb:?}");
        assert!(
            shown.stderr.contains("there is no such transaction"),
            "{}",
            shown.stderr
        );
        assert!(shown.stdout.is_empty());
    }
    assert!(!books.path().exists());
}

#[test]
fn lists_are_of_what_is_unfinished_or_of_all_or_of_one_caller() {
    let books = Books::new();
    let [moved, draft, copied, marked] = books.written();
    for (arguments, want) in [
        (vec!["list"], vec![&draft, &moved]),
        (
            vec!["list", "--all"],
            vec![&marked, &copied, &draft, &moved],
        ),
        (vec!["list", "--all", "--caller", "other"], vec![&copied]),
        (vec!["list", "--caller", "other"], vec![]),
        (vec!["list", "--caller", "nobody", "--all"], vec![]),
    ] {
        let shown = books.tx(&arguments);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        let ids: Vec<&str> = shown
            .stdout
            .lines()
            .filter_map(|line| line.split(' ').next())
            .filter(|word| word.starts_with("tx_"))
            .collect();
        let want: Vec<&str> = want.iter().map(|id| id.as_str()).collect();
        assert_eq!(
            sorted(&ids),
            sorted(&want),
            "{arguments:?}: {}",
            shown.stdout
        );
        let json = books.json(&[&arguments[..], &["--json"]].concat());
        let listed = json["transactions"].as_array().unwrap().iter();
        let listed: Vec<&str> = listed
            .map(|one| one["transaction_id"].as_str().unwrap())
            .collect();
        assert_eq!(sorted(&listed), sorted(&want), "{arguments:?}");
    }
    let shown = books.tx(&["list", "--all"]).stdout;
    for wanted in [
        "TRANSACTION",
        "needs_operator  move",
        "imap:work:INBOX:5:17 to home / Archiv \\u{202e}2026",
        "a new message in home / ",
        "imap:work:INBOX:5:17: +\\Seen -todo",
        "1 waits for your decision",
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    assert!(
        !shown.contains('\u{202e}'),
        "nothing steers a terminal: {shown}"
    );
}

/// Two that begin in one millisecond stand in any order.
fn sorted<'a>(ids: &[&'a str]) -> Vec<&'a str> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids
}

#[test]
fn one_is_shown_with_all_that_is_known_and_what_can_be_done() {
    let books = Books::new();
    let [moved, draft, copied, _] = books.written();
    let shown = books.tx(&["show", moved.as_str()]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    for wanted in [
        "move needs_operator",
        "agent by some_tool, policy owner@0011",
        "copy unknown: cut",
        "copy_unclear",
        "two messages in Archive may be the copy",
        &format!("mailwarden tx retry {moved}"),
        &format!("mailwarden tx resolve {moved} --as done"),
    ] {
        assert!(
            shown.stdout.contains(wanted),
            "{wanted} in {}",
            shown.stdout
        );
    }
    let shown = books.tx(&["show", draft.as_str()]).stdout;
    assert!(
        shown.contains("my key") && shown.contains("2030-01-02 03:04:05"),
        "{shown}"
    );
    let shown = books.tx(&["show", copied.as_str()]).stdout;
    for wanted in [
        "1234 octets",
        "uid 42 (uidvalidity 7)",
        "a@b\\u{202e}",
        &format!("mailwarden tx undo {copied}"),
    ] {
        assert!(shown.contains(wanted), "{wanted} in {shown}");
    }
    let json = books.json(&["show", "--json", copied.as_str()]);
    for (pointer, want) in [
        ("/state", "done"),
        ("/kind", "copy"),
        ("/caller_id", "other"),
        ("/source", "imap:work:INBOX:5:17"),
        ("/target/folder", "Archiv \u{202e}2026"),
        ("/steps/0/name", "copy"),
        ("/steps/0/state", "done"),
        ("/flags_before/0", "\\Seen"),
    ] {
        assert_eq!(
            json.pointer(pointer).and_then(Value::as_str),
            Some(want),
            "{pointer}"
        );
    }
    assert_eq!(json["landed"]["uid"], 42);
    for bad in ["tx_1", "nonsense", ""] {
        let shown = books.tx(&["show", bad]);
        assert_eq!(shown.code, 1, "{bad}");
        assert!(
            shown.stderr.contains("no transaction's name"),
            "{}",
            shown.stderr
        );
    }
}

#[test]
fn a_person_decides_once_and_that_is_recorded() {
    let books = Books::new();
    let [moved, draft, copied, _] = books.written();
    let shown = books.tx(&[
        "resolve",
        moved.as_str(),
        "--as",
        "undone",
        "--note",
        "the second one was there before",
    ]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("move undone"), "{}", shown.stdout);
    let ending = Ending {
        code: Some("resolved_by_operator".to_owned()),
        words: Some("the second one was there before".to_owned()),
    };
    let there = books.get(&moved);
    assert_eq!((there.state, there.ending), (State::Undone, Some(ending)));
    let record = books.home.only("transaction_resolved", |_| true);
    assert_eq!(record.text("transaction"), moved.as_str());
    assert_eq!(
        (record.text("state"), record.text("caller_id")),
        ("undone", "operator")
    );
    assert!(
        !record.json.to_string().contains("second one"),
        "{}",
        record.json
    );

    // What is over stays as it is, and what nobody decided is not in the log.
    for id in [&moved, &copied] {
        let shown = books.tx(&["resolve", id.as_str(), "--as", "done"]);
        assert_eq!(shown.code, 1);
        assert!(
            shown.stderr.contains("this transaction is over"),
            "{}",
            shown.stderr
        );
    }
    // What is still tried is not over because somebody says so.
    let shown = books.tx(&["resolve", draft.as_str(), "--as", "done"]);
    assert_eq!(shown.code, 1);
    for wanted in [
        "still under way",
        "needs_operator",
        &format!("mailwarden tx retry {draft}"),
    ] {
        assert!(shown.stderr.contains(wanted), "{}", shown.stderr);
    }
    let after = books.get(&draft);
    assert_eq!((after.state, after.ending), (State::Open, None));
    assert!(after.next_try.is_some());
    books.home.only("transaction_resolved", |_| true);
}

#[test]
fn what_somebody_works_on_or_cannot_be_recorded_is_not_decided() {
    let books = Books::new();
    let [moved, ..] = books.written();
    let before = books.get(&moved);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    {
        let ledger = Ledger::open(&books.path()).unwrap();
        let busy = runtime.block_on(begin(&ledger, Kind::Move, "agent", StepName::Move));
        let shown = books.tx(&["resolve", busy.id().as_str(), "--as", "done"]);
        assert_eq!(shown.code, 1);
        for wanted in ["somebody else is working", "nothing to decide yet"] {
            assert!(shown.stderr.contains(wanted), "{}", shown.stderr);
        }
        assert_eq!(books.get(busy.id()).state, State::Open);
    }
    std::fs::remove_dir_all(books.home.audit()).unwrap();
    std::fs::write(books.home.audit(), "no directory").unwrap();
    let shown = books.tx(&["resolve", moved.as_str(), "--as", "done"]);
    assert_eq!(shown.code, 1);
    assert!(
        shown.stderr.contains("it cannot be recorded"),
        "{}",
        shown.stderr
    );
    let after = books.get(&moved);
    assert_eq!((after.state, &after.ending), (before.state, &before.ending));
}

#[test]
fn a_directory_without_a_ledger_says_so() {
    let directory = Directory::new(1, 1);
    for verb in [&["list"][..], &["show", "tx_00000000000000000000000000"]] {
        let printed = directory.run(&[&["tx"], verb].concat());
        assert_eq!(printed.code, 1);
        assert!(
            printed.stderr.contains("no `wal` section"),
            "{}",
            printed.stderr
        );
    }
    // With one it is looked at there, whatever else is wrong with the directory.
    let text = accounts(&[]) + "wal: { path: wal.db }\n";
    directory.write("accounts.yaml", &text);
    let printed = directory.run(&["tx", "list"]);
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(
        printed.stderr.contains("wal.db, and not there yet"),
        "{}",
        printed.stderr
    );
}

/// Whoever looks at another one than they think would find nothing wrong.
#[test]
fn a_list_tells_which_ledger_was_looked_at() {
    let books = Books::new();
    let place = books.path().display().to_string();
    let none = books.tx(&["list"]);
    let line = format!("mailwarden: the ledger is {place}, and not there yet");
    assert!(none.stderr.contains(&line), "{}", none.stderr);
    books.written();
    for words in [
        &["list"][..],
        &["list", "--caller", "nobody"],
        &["list", "--json"],
    ] {
        let shown = books.tx(words);
        assert_eq!(shown.code, 0, "{}", shown.stderr);
        assert_eq!(
            shown.stderr,
            format!("mailwarden: the ledger is {place}\n"),
            "{words:?}"
        );
        assert!(!shown.stdout.contains(&place));
    }
}
