//! Between a Gmail account and another server: read from All Mail, and what goes is in the trash.

use serde_json::{Value, json};
use testkit::gmail::{PASSWORD, Place, USER};
use testkit::{Delivery, Dovecot, Gmail, McpClient};

use super::{seen, work};
use crate::changes::{Answer, ask};
use crate::installation::Installation;
use crate::support::{Account, configure, note, start};

struct Ground {
    _home: Installation,
    gmail: Gmail,
    server: Dovecot,
    client: McpClient,
}

fn ground() -> Ground {
    let gmail = Gmail::builder().labels(&["Work"]).start();
    let server = Dovecot::builder().folder("Target").start();
    let home = Installation::new();
    let mut command = home.program();
    let google = Account {
        port: gmail.port(),
        user: USER,
        pass: PASSWORD,
        ..Account::default()
    };
    let other = Account {
        port: server.port(),
        ..Account::default()
    };
    configure(&mut command, "GOOGLE", &google);
    configure(&mut command, "OTHER", &other);
    command
        .env("MAIL_IMAP_WRITE_ENABLED", "true")
        .env("MAILWARDEN_TOOLSETS", "imap,gateway");
    Ground {
        _home: home,
        client: start(command),
        gmail,
        server,
    }
}

impl Ground {
    fn go(&mut self, tool: &str, message: u64, from: (&str, &Place)) -> Answer {
        let (folder, place) = from;
        ask(
            &mut self.client,
            tool,
            json!({
                "account_id": "google", "folder": folder, "uid": self.gmail.uid(place, message).unwrap(),
                "target_account_id": "other", "target_folder": "Target",
            }),
        )
    }

    fn come(&mut self, tool: &str, uid: u32, to: &str) -> Answer {
        ask(
            &mut self.client,
            tool,
            json!({
                "account_id": "other", "folder": "INBOX", "uid": uid,
                "target_account_id": "google", "target_folder": to,
            }),
        )
    }

    /// What lies in a folder of the other server.
    fn lying(&self, folder: &str) -> usize {
        let mut imap = self.server.login("alice", "secret");
        let reply = imap.command(&format!("EXAMINE {folder}")).text();
        let (before, _) = reply.split_once(" EXISTS").unwrap();
        before.rsplit(' ').next().unwrap().parse().unwrap()
    }

    fn undo(&mut self, id: &Value) -> Answer {
        ask(
            &mut self.client,
            "undo_transaction",
            json!({ "transaction_id": id }),
        )
    }
}

/// Which mailbox was open when the octets of a message were read.
fn read_in(gmail: &Gmail) -> Vec<String> {
    let mut open = std::collections::HashMap::new();
    let mut read = Vec::new();
    for heard in gmail.heard() {
        let words: Vec<&str> = heard.text.splitn(2, ' ').collect();
        match words[0] {
            "EXAMINE" | "SELECT" => {
                open.insert(heard.connection, words[1].trim_matches('"').to_owned());
            }
            _ if heard.text.contains("BODY.PEEK[]") => {
                read.push(open.get(&heard.connection).cloned().unwrap_or_default());
            }
            _ => {}
        }
    }
    read
}

#[test]
fn a_message_goes_to_another_account_out_of_all_mail_and_into_the_trash() {
    let mut ground = ground();
    let one = ground.gmail.deliver(
        &[Place::Inbox, work()],
        note("one", &"long ".repeat(100_000)),
    );
    ground.gmail.reset_record();
    let answer = ground.go("copy", one, ("INBOX", &Place::Inbox));
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(seen(&ground.gmail, one), [Place::Inbox, Place::All, work()]);
    assert_eq!(ground.lying("Target"), 1);
    let read = read_in(&ground.gmail);
    assert!(!read.is_empty());
    assert!(read.iter().all(|one| one == "[Gmail]/All Mail"), "{read:?}");
    let back = ground.undo(&answer.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(ground.lying("Target"), 0);

    let answer = ground.go("move", one, ("INBOX", &Place::Inbox));
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(ground.lying("Target"), 1);
    assert_eq!(
        seen(&ground.gmail, one),
        [Place::Trash],
        "not only its label"
    );
    assert_eq!(
        ground.gmail.raw(one).unwrap().len(),
        note("one", &"long ".repeat(100_000)).len()
    );
    let back = ground.undo(&answer.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(ground.lying("Target"), 0);
    let all = ground.gmail.messages();
    let inbox = |one: &u64| ground.gmail.labels(*one).contains(&Place::Inbox);
    assert_eq!(all.iter().filter(|one| inbox(one)).count(), 1);
}

#[test]
fn a_label_that_goes_in_the_middle_of_a_copy_changes_nothing() {
    let mut ground = ground();
    let text = note("one", &"long ".repeat(300_000));
    ground.gmail.deliver(&[], note("before", "x"));
    let one = ground.gmail.deliver(&[work()], text.clone());
    let (uid, in_all) = (
        ground.gmail.uid(&work(), one).unwrap(),
        ground.gmail.uid(&Place::All, one).unwrap(),
    );
    assert_ne!(uid, in_all);
    let id = ground.client.send_call(
        "copy",
        json!({
            "account_id": "google", "folder": "Work", "uid": uid,
            "target_account_id": "other", "target_folder": "Target",
        }),
    );
    ground.gmail.await_command(&format!("UID FETCH {in_all} ("));
    ground.gmail.unlabel(one, &work());
    let answer = crate::changes::told(&mut ground.client, id);
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(ground.lying("Target"), 1);
    assert_eq!(seen(&ground.gmail, one), [Place::All]);
}

#[test]
fn a_label_that_goes_in_the_middle_of_a_move_does_not_keep_it_from_the_trash() {
    let mut ground = ground();
    ground.gmail.deliver(&[], note("before", "x"));
    let text = note("one", &"long ".repeat(300_000));
    let one = ground.gmail.deliver(&[work()], text);
    let (uid, in_all) = (
        ground.gmail.uid(&work(), one).unwrap(),
        ground.gmail.uid(&Place::All, one).unwrap(),
    );
    let id = ground.client.send_call(
        "move",
        json!({
            "account_id": "google", "folder": "Work", "uid": uid,
            "target_account_id": "other", "target_folder": "Target",
        }),
    );
    ground.gmail.await_command(&format!("UID FETCH {in_all} ("));
    ground.gmail.unlabel(one, &work());
    let answer = crate::changes::told(&mut ground.client, id);
    assert_eq!(answer.words, "ok done", "{}", answer.text);
    assert_eq!(ground.lying("Target"), 1);
    assert_eq!(seen(&ground.gmail, one), [Place::Trash]);
}

#[test]
fn a_message_comes_from_another_account_under_a_label() {
    let mut ground = ground();
    for (uid, tool, to, place) in [
        (1, "copy", "Work", work()),
        (2, "move", "INBOX", Place::Inbox),
        (3, "copy", "[Gmail]/All Mail", Place::All),
    ] {
        ground
            .server
            .deliver("alice", "INBOX", &note(&format!("letter {uid}"), "x"));
        let answer = ground.come(tool, uid, to);
        assert_eq!(answer.words, "ok done", "{to}: {}", answer.text);
        let there = ground.gmail.messages();
        let came = *there.last().unwrap();
        assert!(seen(&ground.gmail, came).contains(&place), "{to}");
        let number = ground.gmail.uid(&place, came).unwrap();
        assert_eq!(answer.data["new_uid"], number, "{to}");
        let back = ground.undo(&answer.id());
        assert_eq!(back.words, "ok done", "{to}: {}", back.text);
        assert_eq!(seen(&ground.gmail, came), [Place::Trash], "{to}");
    }
    assert_eq!(ground.lying("INBOX"), 3);
}

#[test]
fn what_gmail_had_before_keeps_its_other_labels_when_a_copy_is_taken_back() {
    let mut ground = ground();
    let text = note("letter", "x");
    let had = ground.gmail.deliver(&[Place::Inbox], text.clone());
    ground.server.deliver("alice", "INBOX", &text);
    let answer = ground.come("copy", 1, "Work");
    assert!(answer.words.ends_with("done"), "{}", answer.text);
    assert_eq!(ground.gmail.messages(), [had], "it keeps one of them");
    assert_eq!(seen(&ground.gmail, had), [Place::Inbox, Place::All, work()]);
    let back = ground.undo(&answer.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(seen(&ground.gmail, had), [Place::Inbox, Place::All]);
}

#[test]
fn what_gmail_had_before_is_never_thrown_away() {
    for (labels, to, after) in [
        (vec![], "Work", vec![Place::All]),
        (vec![], "[Gmail]/All Mail", vec![Place::All]),
        (vec![work()], "Work", vec![Place::All, work()]),
        (vec![work()], "INBOX", vec![Place::All, work()]),
        (
            vec![Place::Starred],
            "Work",
            vec![Place::All, Place::Starred],
        ),
    ] {
        let mut ground = ground();
        let text = note("letter", "x");
        let old = Delivery {
            unix_time: 1_600_000_000,
            ..Delivery::new(text.clone())
        };
        let had = ground.gmail.deliver_as(&labels, &old);
        let what = format!("{labels:?} to {to}");
        ground.server.deliver("alice", "INBOX", &text);
        // A copy, and that it is taken back.
        let answer = ground.come("copy", 1, to);
        assert!(answer.words.ends_with("done"), "{what}: {}", answer.text);
        assert_eq!(ground.gmail.messages(), [had], "{what}");
        let back = ground.undo(&answer.id());
        let nothing = back.has("nothing to undo");
        assert!(nothing || back.words == "ok done", "{what}: {}", back.text);
        assert_eq!(seen(&ground.gmail, had), after, "{what}");
        // A move that cannot keep the date, and comes to nothing.
        let answer = ground.come("move", 1, to);
        assert!(answer.words.ends_with("undone"), "{what}: {}", answer.text);
        assert_eq!(seen(&ground.gmail, had), after, "{what}");
        assert_eq!(ground.lying("INBOX"), 1, "{what}");
    }
}

#[test]
fn the_same_message_may_come_twice() {
    let mut ground = ground();
    ground
        .server
        .deliver("alice", "INBOX", &note("letter", "x"));
    let first = ground.come("copy", 1, "Work");
    assert_eq!(first.words, "ok done", "{}", first.text);
    let second = ground.come("copy", 1, "Work");
    assert_eq!(second.words, "ok done", "{}", second.text);
    assert_eq!(second.data["new_uid"], first.data["new_uid"]);
    let back = ground.undo(&second.id());
    assert!(back.has("nothing to undo"), "{}", back.text);
    let one = ground.gmail.messages();
    assert_eq!(one.len(), 1);
    assert_eq!(seen(&ground.gmail, one[0]), [Place::All, work()]);
    let third = ground.come("move", 1, "Work");
    assert_eq!(third.words, "ok done", "{}", third.text);
    assert_eq!(ground.lying("INBOX"), 0);
    let back = ground.undo(&third.id());
    assert_eq!(back.words, "ok done", "{}", back.text);
    assert_eq!(ground.lying("INBOX"), 1);
    assert_eq!(seen(&ground.gmail, one[0]), [Place::All, work()]);
}

#[test]
fn two_accounts_that_are_one_mailbox_have_one_message() {
    // The second is the same home by its name, or only by what its messages are called.
    for user in [USER.to_owned(), USER.to_uppercase()] {
        let gmail = Gmail::builder().labels(&["Work"]).start();
        let home = Installation::new();
        let mut command = home.program();
        for (name, user) in [("A", USER), ("B", &user)] {
            let account = Account {
                port: gmail.port(),
                user,
                pass: PASSWORD,
                ..Account::default()
            };
            configure(&mut command, name, &account);
        }
        command
            .env("MAIL_IMAP_WRITE_ENABLED", "true")
            .env("MAILWARDEN_TOOLSETS", "imap,gateway");
        let mut client = start(command);
        let one = gmail.deliver(&[Place::Inbox], note("only", "x"));
        let mut go = |tool: &str, to: &str| {
            let asked = json!({
                "account_id": "a", "folder": "INBOX", "uid": gmail.uid(&Place::Inbox, one).unwrap(),
                "target_account_id": "b", "target_folder": to,
            });
            ask(&mut client, tool, asked)
        };
        let same = go("move", "INBOX");
        assert_eq!(same.words, "ok done", "{user}: {}", same.text);
        assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All], "{user}");
        let answer = go("move", "Work");
        assert_eq!(answer.words, "ok done", "{user}: {}", answer.text);
        assert_eq!(seen(&gmail, one), [Place::All, work()], "{user}");
        let asked = json!({ "transaction_id": answer.id() });
        let back = ask(&mut client, "undo_transaction", asked);
        assert_eq!(back.words, "ok done", "{user}: {}", back.text);
        assert_eq!(seen(&gmail, one), [Place::Inbox, Place::All], "{user}");
        assert_eq!(gmail.messages(), [one], "{user}");
    }
}
