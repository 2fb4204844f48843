//! Faults that other programs of this kind have: copies that delete their source, names taken for contents, folder names that
//! become syntax, and changes that wait until somebody asks.

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::proxy::{Cut, Refusal};

use super::{ask, parts, same, shown, subject};
use crate::support::start;
use crate::write_crash::{AWAY, GENERATION, Ground, HOME, Plot, SUBJECT, leave};

fn across(tool: &str) -> (&str, Value) {
    let to = json!({ "target_folder": "Target", "target_account_id": AWAY });
    (tool, parts(HOME, SUBJECT, to))
}

/// Folders are known and connections are there.
fn warm(client: &mut McpClient) {
    for account in [HOME, AWAY] {
        client.call("imap_list_mailboxes", json!({ "account_id": account }));
    }
}

/// How far it came before the other server was gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reached {
    /// The message was not sent.
    Nothing,
    /// It was taken, and nobody heard of it.
    Copy,
}

#[test]
fn what_broke_off_between_accounts_is_brought_to_its_end_at_the_next_start() {
    let ground = Ground::new();
    for (tool, reached) in [
        ("copy", Reached::Nothing),
        ("copy", Reached::Copy),
        ("move", Reached::Copy),
    ] {
        let what = format!("{tool} {reached:?}");
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        warm(&mut client);
        let (before, item) = (plot.world(), plot.subject(HOME));
        let append = |line: &str| line.contains("APPEND");
        match reached {
            Reached::Nothing => plot.away.cut_before(Cut::Reset, append),
            Reached::Copy => plot.away.cut_reply(Cut::Reset, append),
        }
        plot.away.refuse();
        let (tool, arguments) = across(tool);
        let answer = ask(&mut client, tool, arguments);
        assert_eq!(
            answer.words, "failed unknown unknown",
            "{what}: {}",
            answer.all
        );
        let next = &answer.data["next_action"];
        assert_eq!(next["tool"], "get_transaction_status", "{what}");
        assert_eq!(next["arguments"]["transaction_id"], answer.id(), "{what}");
        assert!(
            plot.folder(HOME, "INBOX")
                .iter()
                .any(|one| one.item == item),
            "{what}"
        );
        let asked = ask(
            &mut client,
            "get_transaction_status",
            next["arguments"].clone(),
        );
        assert_eq!(asked.data["transaction_state"], "unknown", "{what}");
        client.kill();
        drop(client);
        plot.away.admit();
        plot.calm();

        // Nobody asks for it: it is enough that the program is there.
        let client = start(plot.program());
        let lines = plot.settled();
        leave(client);
        assert_eq!(lines.len(), 1, "{what}: {lines:?}");
        assert_eq!(
            (lines[0].kind.as_str(), lines[0].state.as_str()),
            (tool, "done"),
            "{what}"
        );
        let with_copy = before.with(item.lying_in(AWAY, "Target"));
        let want = match tool {
            "copy" => with_copy,
            _ => with_copy.without(&item),
        };
        same(&plot.world(), &want, &what);
        let ended = plot.state.only("transaction_ended", |_| true);
        assert_eq!(
            (ended.text("transaction"), ended.text("state")),
            (lines[0].id.as_str(), "done")
        );
    }
}

#[test]
fn the_same_message_id_is_not_the_same_message() {
    let ground = Ground::new();
    // The target holds another message of that id, and the very same message with other flags.
    for lost in ["", "APPEND", "UID STORE"] {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        warm(&mut client);
        let (before, item) = (plot.world(), plot.subject(HOME));
        if !lost.is_empty() {
            for proxy in [&plot.home, &plot.away] {
                proxy.cut_reply(Cut::Close, move |line| line.contains(lost));
            }
        }
        let (tool, arguments) = across("move");
        let answer = ask(&mut client, tool, arguments);
        assert_eq!(answer.words, "ok done", "{lost}: {}", answer.all);
        let want = before.without(&item).with(item.lying_in(AWAY, "Target"));
        same(&plot.world(), &want, lost);
        let uid = answer.data["new_uid"].as_u64().unwrap();
        assert!(uid > 7, "{lost}: {uid} was there before");
        leave(client);
    }
}

#[test]
fn a_copy_that_cannot_be_read_back_does_not_cost_the_original() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    warm(&mut client);
    let (before, item) = (plot.world(), plot.subject(HOME));
    let both = before.with(item.lying_in(AWAY, "Target"));
    plot.away
        .refuse_command(Refusal::No, |line| line.contains("UID FETCH"));
    let (tool, arguments) = across("move");
    let answer = ask(&mut client, tool, arguments);
    assert_eq!(answer.words, "failed unknown unknown", "{}", answer.all);
    client.kill();
    drop(client);
    plot.calm();
    same(&plot.world(), &both, "not before it is confirmed");
    let client = start(plot.program());
    let states = plot.settled().into_iter().map(|line| line.state);
    assert_eq!(states.collect::<Vec<_>>(), ["done"]);
    leave(client);
    same(
        &plot.world(),
        &both.without(&item),
        "confirmed, then removed",
    );
}

/// As a caller spells it, and as it is spelled on the wire.
const NAMES: [(&str, &str); 10] = [
    ("two words", "two words"),
    ("say \"hi\"", "say \"hi\""),
    ("back\\slash", "back\\slash"),
    ("R&D", "R&-D"),
    ("R&-D", "R&--D"),
    ("Entwürfe ß", "Entw&APw-rfe &AN8-"),
    ("日本語/受信", "&ZeVnLIqe-/&U9dP4Q-"),
    ("a/b/c", "a/b/c"),
    ("{5+}", "{5+}"),
    ("(x) $ ;'#", "(x) $ ;'#"),
];

#[test]
fn names_of_folders_are_names_and_nothing_else() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    for account in [HOME, AWAY] {
        let mut imap = plot.bare(account);
        for (_, wire) in NAMES {
            let quoted = wire.replace('\\', "\\\\").replace('"', "\\\"");
            imap.command(&format!("CREATE \"{quoted}\""));
        }
    }
    let mut world = plot.world();
    let item = plot.subject(HOME);
    for (name, wire) in NAMES {
        let within = subject(HOME, json!({ "destination_mailbox": name }));
        let copy = ask(&mut client, "imap_copy_message", within);
        assert_eq!(copy.words, "ok done", "{name}: {}", copy.all);
        assert_eq!(copy.data["destination_mailbox"], name);
        world = world.with(item.lying_in(HOME, wire));
        same(&plot.world(), &world, name);

        // From there to another account, and marked there.
        let id = copy.data["new_message_id"].as_str().unwrap();
        let mut numbers = id.rsplit(':').map(|number| number.parse::<u64>().unwrap());
        let (uid, generation) = (numbers.next().unwrap(), numbers.next().unwrap());
        let on = json!({
            "account_id": HOME, "folder": name, "uid": uid, "uidvalidity": generation,
            "target_account_id": AWAY, "target_folder": name,
        });
        let moved = ask(&mut client, "move", on);
        assert_eq!(moved.words, "ok done", "{name}: {}", moved.all);
        let there = item.lying_in(AWAY, wire);
        world = world
            .without(&item.lying_in(HOME, wire))
            .with(there.clone());
        same(&plot.world(), &world, name);
        let tag = json!({
            "account_id": AWAY, "folder": name, "uid": moved.data["new_uid"], "tags": ["there"],
        });
        let tagged = ask(&mut client, "mark_tagged", tag);
        assert_eq!(tagged.words, "ok done", "{name}: {}", tagged.all);
        world = world.without(&there).with(there.flagged(&["there"]));
        same(&plot.world(), &world, name);
        let row = shown(&plot, &moved.id());
        assert_eq!(row["target"]["folder"], name, "{row:#}");
    }
    leave(client);
}

#[test]
fn what_became_of_a_folder_meanwhile_is_noticed() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    warm(&mut client);
    // Warm in the folder, which is then made anew.
    let id = |generation: u32, uid: u32| format!("imap:{HOME}:Target:{generation}:{uid}");
    let mark = |id: String| json!({ "message_id": id, "add_flags": ["x"] });
    const FLAGS: &str = "imap_update_message_flags";
    let first = ask(&mut client, FLAGS, mark(id(GENERATION, 5)));
    assert_eq!(first.words, "ok done", "{}", first.all);
    rebuild(&plot);
    let before = plot.world();
    // A session that has the old folder open is served by its server as if it were there; the new one is not touched.
    ask(&mut client, FLAGS, mark(id(GENERATION, 5)));
    same(&plot.world(), &before, "rebuilt");
    leave(client);
    let mut client = start(plot.program());
    let stale = ask(&mut client, FLAGS, mark(id(GENERATION, 5)));
    assert_eq!(stale.words, "-32600 conflict", "{}", stale.all);
    let undo = json!({ "transaction_id": first.id() });
    let undo = ask(&mut client, "undo_transaction", undo);
    assert_eq!(undo.words, "-32600 conflict", "{}", undo.text);
    same(
        &plot.world(),
        &before,
        "nothing is done in another generation",
    );
    leave(client);
}

/// The same name, another folder, with messages of the old numbers.
fn rebuild(plot: &Plot<'_>) {
    let mut imap = plot.bare(HOME);
    imap.command("DELETE Target");
    imap.command("CREATE Target");
    imap.command("SELECT INBOX");
    for _ in 0..6 {
        imap.command(&format!("UID COPY {SUBJECT} Target"));
    }
}
