//! Where deleted mail goes: to the trash, whatever it is called, and for good only where there is none.

use serde_json::{Value, json};
use testkit::{Dovecot, FaultProxy, McpClient, World};

use super::{ask, message, subject};
use crate::installation::Installation;
use crate::support::{Account, note, start, uidvalidity};
use crate::write_crash::{AWAY, Ground, HOME, SUBJECT, leave};

fn delete(client: &mut McpClient, id: &str) -> super::Answer {
    let arguments = json!({ "message_id": id, "confirm": true });
    ask(client, "imap_delete_message", arguments)
}

#[test]
fn into_the_trash_and_from_there_for_good() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let (before, item) = (plot.world(), plot.subject(HOME));
    let first = delete(&mut client, &message(HOME, SUBJECT));
    assert_eq!(first.words, "ok done", "{}", first.text);
    assert_eq!(first.data["trash_mailbox"], "Trash");
    let gone = before.without(&item);
    assert_eq!(plot.world(), gone.with(item.lying_in(HOME, "Trash")));

    let there = first.data["new_message_id"].as_str().unwrap().to_owned();
    let second = delete(&mut client, &there);
    assert_eq!(second.words, "ok done", "{}", second.text);
    assert_eq!(second.data["mailbox"], "Trash");
    for absent in ["trash_mailbox", "new_message_id"] {
        assert_eq!(second.data[absent], Value::Null, "{}", second.data);
    }
    assert!(second.has("for good"), "{}", second.text);
    assert_eq!(plot.world(), gone);
    // What is gone is not there to be taken back, nor to be deleted again.
    let undo = json!({ "transaction_id": first.id() });
    let undo = ask(&mut client, "undo_transaction", undo);
    assert_eq!(undo.words, "-32002 not_found", "{}", undo.text);
    assert_eq!(delete(&mut client, &there).words, "-32002 not_found");
    assert_eq!(plot.world(), gone);
    leave(client);
}

#[test]
fn for_good_where_that_is_wanted_or_there_is_no_trash() {
    let ground = Ground::new();
    for (account, set, hidden) in [
        (HOME, &[("MAIL_IMAP_DELETE", "expunge")][..], ""),
        (HOME, &[("MAIL_IMAP_DELETE", "expunge")], "SEARCHRES"),
        (AWAY, &[], ""),
        // Whoever cannot tell which folder is the trash does not guess.
        (HOME, &[], "SPECIAL-USE"),
    ] {
        let plot = ground.plot(hidden, set);
        let mut client = start(plot.program());
        let (before, item) = (plot.world(), plot.subject(account));
        let answer = delete(&mut client, &message(account, SUBJECT));
        assert_eq!(
            answer.words, "ok done",
            "{account} {hidden}: {}",
            answer.text
        );
        assert!(answer.has("for good"), "{}", answer.text);
        assert_eq!(answer.data["trash_mailbox"], Value::Null);
        // Neighbours that somebody else flagged are still there.
        assert_eq!(plot.world(), before.without(&item), "{account} {hidden}");
        leave(client);
    }
}

#[test]
fn trash_is_what_the_server_says_it_is() {
    let special = |name: &str| {
        format!(
            "namespace inbox {{\n  mailbox Trash {{\n    auto = create\n    special_use =\n  }}\n  \
             mailbox \"{name}\" {{\n    auto = create\n    special_use = \\Trash\n  }}\n}}"
        )
    };
    for name in [
        "Papierkorb",
        "Gelöschte Elemente",
        "R&D/Corbeille d'été",
        "ゴミ箱",
    ] {
        let server = Dovecot::builder().config(&special(name)).start();
        server.deliver("alice", "INBOX", &note("one", "text"));
        let home = Installation::new();
        let account = Account {
            port: server.port(),
            ..Account::default()
        };
        let mut client = home.client_with(&account, &[("MAIL_IMAP_WRITE_ENABLED", "true")]);
        let generation = uidvalidity(&server, "INBOX");
        let answer = delete(&mut client, &format!("imap:default:INBOX:{generation}:1"));
        assert_eq!(answer.words, "ok done", "{name}: {}", answer.text);
        assert_eq!(answer.data["trash_mailbox"], name, "{}", answer.data);
        let new = answer.data["new_message_id"].as_str().unwrap();
        assert!(new.contains(name), "{new}");
        let places = places(&server);
        assert_eq!(places.len(), 1, "{places:?}");
        assert!(places[0] != "Trash" && places[0] != "INBOX", "{places:?}");
        let undo = json!({ "transaction_id": answer.id() });
        let undo = ask(&mut client, "undo_transaction", undo);
        assert_eq!(undo.words, "ok done", "{name}: {}", undo.text);
        assert_eq!(self::places(&server), ["INBOX"], "{name}");
    }
}

/// The folder of every message, as it is spelled on the wire.
fn places(server: &Dovecot) -> Vec<String> {
    let world = World::read(&mut [("default", server.login("alice", "secret"))]);
    world.items().map(|item| item.folder.clone()).collect()
}

#[test]
fn trash_that_cannot_be_asked_for_is_no_reason_to_delete_for_good() {
    let ground = Ground::new();
    let plot = ground.plot("", &[]);
    let mut client = start(plot.program());
    let before = plot.world();
    plot.home
        .refuse_command(testkit::proxy::Refusal::No, |line| line.contains("LIST"));
    let answer = ask(
        &mut client,
        "imap_delete_message",
        subject(HOME, json!({ "confirm": true })),
    );
    assert_eq!(answer.words, "failed server_refused", "{}", answer.text);
    assert_eq!(plot.world(), before);
    leave(client);
}

/// Both servers, for what differs only by what they can do.
#[test]
fn without_uidplus_what_is_deleted_for_good_is_flagged_and_nothing_else_goes() {
    let ground = Ground::new();
    for hidden in ["UIDPLUS", "UIDPLUS SEARCHRES ESEARCH CONDSTORE"] {
        let plot = ground.plot(hidden, &[]);
        let mut client = start(plot.program());
        let (before, item) = (plot.world(), plot.subject(AWAY));
        let answer = delete(&mut client, &message(AWAY, SUBJECT));
        assert_eq!(
            answer.words, "partial flagged_only done",
            "{hidden}: {}",
            answer.text
        );
        let flagged = before.without(&item).with(item.flagged(&["\\Deleted"]));
        assert_eq!(plot.world(), flagged, "{hidden}");
        let undo = json!({ "transaction_id": answer.id() });
        let undo = ask(&mut client, "undo_transaction", undo);
        assert_eq!(undo.words, "ok done", "{hidden}: {}", undo.text);
        assert_eq!(plot.world(), before, "{hidden}");
        let expunges =
            |proxy: &FaultProxy| proxy.commands().iter().any(|line| line.contains("EXPUNGE"));
        assert!(!expunges(&plot.home) && !expunges(&plot.away), "{hidden}");
        leave(client);
    }
}
