//! Every change on a real server: what it does, what it leaves alone, what it says, and how many flights it takes.

use mail::{
    AccountId, Broken, Cx, Effect, FaultKind, Flag, FolderName, Landing, MailSource as _,
    MessageRef, Removal, SourceKind, Step, Subject, Uid, UidValidity,
};
use sources::imap::ImapSource;
use testkit::{Cyrus, Dovecot};

use crate::ground::{ARRIVED, Ground, NAMES, flags, message};
use crate::{inbox, runtime, settings};

fn mark(subject: Subject, add: &[&str], remove: &[&str]) -> Step {
    Step::Mark {
        subject,
        add: flags(add),
        remove: flags(remove),
    }
}

fn copy(subject: Subject, to: &str) -> Step {
    let to = FolderName::new(to).unwrap();
    Step::Copy { subject, to }
}

fn moved(subject: Subject, to: &str) -> Step {
    let to = FolderName::new(to).unwrap();
    Step::Move { subject, to }
}

fn remove(subject: Subject) -> Step {
    Step::Remove {
        subject,
        what: mail::Removed::Message,
    }
}

fn names(flags: Option<Vec<Flag>>) -> Vec<String> {
    let mut names: Vec<String> = flags
        .unwrap()
        .iter()
        .map(|flag| flag.as_str().to_owned())
        .collect();
    names.sort();
    names
}

fn is_nothing(broken: &Broken, kind: FaultKind) {
    assert_eq!(
        (broken.fault.kind, broken.effect),
        (kind, Effect::Nothing),
        "{broken:?}"
    );
}

/// A cold session takes two flights after the login, a warm one takes one.
#[test]
fn flights() {
    for (without, warm, cold) in [("", 1, 2), ("SEARCHRES", 2, 2)] {
        let ground = Ground::without(without);
        ground.warm_up();
        let steps = [
            mark(ground.subject(1), &["\\Seen"], &["\\Flagged"]),
            copy(ground.subject(1), "Target"),
            moved(ground.subject(1), "Target"),
            remove(ground.subject(2)),
        ];
        for step in &steps {
            let (outcome, trips) = ground.apply(step);
            outcome.unwrap();
            assert_eq!(trips, warm, "{without} {step:?}");
        }
        // Another folder has to be opened first.
        for step in [mark, |subject, _: &[&str], _: &[&str]| remove(subject)] {
            ground.apply(&copy(ground.subject(3), "a b")).0.unwrap();
            let uid = *ground.lying("a b").last_key_value().unwrap().0;
            let at = ground.at("a b", uid);
            let size = Some(message(3).raw.len() as u64);
            let (outcome, trips) = ground.apply(&step(Subject { at, size }, &["x"], &[]));
            outcome.unwrap();
            assert!(trips <= cold, "{without} {trips}");
        }
    }
}

#[test]
fn flags_are_set_and_taken_and_told() {
    let ground = Ground::new();
    let (outcome, _) = ground.apply(&mark(
        ground.subject(2),
        &["\\Seen", "work", "$Forwarded"],
        &["\\Flagged", "never-there"],
    ));
    let changed = outcome.unwrap();
    let want = ["$Forwarded", "\\Seen", "work"];
    assert_eq!(names(changed.flags), want);
    let before = changed.before.unwrap();
    assert_eq!(names(before.flags), ["\\Flagged"]);
    assert_eq!(before.size, Some(message(2).raw.len() as u64));
    assert_eq!(before.arrived.unwrap().as_second(), ARRIVED as i64 + 2);
    let lying = ground.lying("INBOX");
    assert_eq!(lying[&2].0, want);
    for other in [1, 3, 4] {
        assert_eq!(lying[&other].0, ["\\Flagged"]);
    }
}

#[test]
fn copies_keep_everything_and_say_where_they_lie() {
    let ground = Ground::new();
    ground
        .apply(&mark(ground.subject(1), &["\\Seen", "work"], &[]))
        .0
        .unwrap();
    let original = ground.lying("INBOX")[&1].clone();
    for (number, folder) in NAMES.into_iter().enumerate() {
        let changed = ground.apply(&copy(ground.subject(1), folder)).0.unwrap();
        let want = Landing {
            uidvalidity: ground.generation(folder),
            uid: Uid(1),
        };
        assert_eq!(changed.landed, Some(want), "{folder}");
        assert_eq!(ground.lying(folder)[&1], original, "{folder}");
        let before = changed.before.unwrap();
        assert_eq!(before.message_id.as_deref(), Some("1@test.example"));
        assert_eq!(
            before.digest.unwrap().octets,
            original.2.len() as u64,
            "{number}"
        );
    }
    assert_eq!(ground.lying("INBOX").len(), 4);
}

#[test]
fn a_moved_message_is_in_one_place() {
    for without in ["", "UIDPLUS", "SEARCHRES", "UIDPLUS SEARCHRES ESEARCH"] {
        let ground = Ground::without(without);
        ground
            .apply(&mark(ground.subject(3), &["\\Answered", "k"], &[]))
            .0
            .unwrap();
        let original = ground.lying("INBOX")[&3].clone();
        for folder in [NAMES[1], NAMES[2]] {
            let uid = *ground.lying("INBOX").last_key_value().unwrap().0;
            let subject = match folder == NAMES[1] {
                true => ground.subject(3),
                false => ground.subject(uid),
            };
            let changed = ground.apply(&moved(subject, folder)).0.unwrap();
            let want = Landing {
                uidvalidity: ground.generation(folder),
                uid: Uid(1),
            };
            let told = (!without.contains("UIDPLUS")).then_some(want);
            assert_eq!(changed.landed, told, "{without}");
        }
        assert_eq!(ground.lying(NAMES[1])[&1], original);
        assert_eq!(
            ground.lying("INBOX").keys().copied().collect::<Vec<_>>(),
            [1, 2]
        );
    }
}

#[test]
fn only_the_message_that_is_meant_is_removed() {
    for (without, removal) in [
        ("", Removal::Gone),
        ("SEARCHRES", Removal::Gone),
        ("UIDPLUS", Removal::Flagged),
        ("UIDPLUS SEARCHRES", Removal::Flagged),
    ] {
        let ground = Ground::without(without);
        ground.eyes("SELECT INBOX");
        ground.eyes("UID STORE 1,4 +FLAGS (\\Deleted)");
        let changed = ground.apply(&remove(ground.subject(2))).0.unwrap();
        assert_eq!(changed.removal, Some(removal), "{without}");
        assert_eq!(
            changed.before.unwrap().message_id.as_deref(),
            Some("2@test.example")
        );
        let lying = ground.lying("INBOX");
        let left: Vec<u32> = lying.keys().copied().collect();
        match removal {
            Removal::Gone => assert_eq!(left, [1, 3, 4]),
            Removal::Trashed | Removal::Flagged => {
                assert_eq!(left, [1, 2, 3, 4]);
                assert_eq!(lying[&2].0, ["\\Deleted", "\\Flagged"]);
            }
        }
        // One that was flagged before goes as well, if it is meant.
        let changed = ground.apply(&remove(ground.subject(4))).0.unwrap();
        assert_eq!(changed.removal, Some(removal));
        assert!(ground.lying("INBOX").contains_key(&1));
        let said = ground.proxy.transcript();
        let plain = |line: &&str| {
            let command = line.split_once(' ').map_or("", |(_, command)| command);
            command.starts_with("EXPUNGE") || command.starts_with("CLOSE")
        };
        assert_eq!(said.lines().find(plain), None);
    }
}

#[test]
fn nothing_is_done_to_another_message() {
    for without in ["", "SEARCHRES"] {
        let ground = Ground::without(without);
        for warm in [false, true] {
            if warm {
                ground.warm_up();
            }
            let lying = ground.lying("INBOX");
            let off = |by: i64| Subject {
                size: ground
                    .subject(1)
                    .size
                    .map(|size| size.saturating_add_signed(by)),
                ..ground.subject(1)
            };
            let missing = Subject {
                at: ground.at("INBOX", 99),
                ..ground.subject(1)
            };
            let unmeasured = Subject {
                size: None,
                ..missing.clone()
            };
            let mut stale = ground.subject(1);
            stale.at.uidvalidity = UidValidity(stale.at.uidvalidity.0 - 1);
            for (subject, kind) in [
                (off(1), FaultKind::AnotherMessage),
                (off(-1), FaultKind::AnotherMessage),
                (missing, FaultKind::NoSuchMessage),
                (unmeasured, FaultKind::NoSuchMessage),
                (stale, FaultKind::Conflict),
            ] {
                for step in [
                    mark(subject.clone(), &["\\Seen"], &["\\Flagged"]),
                    copy(subject.clone(), "Target"),
                    moved(subject.clone(), "Target"),
                    remove(subject.clone()),
                ] {
                    let broken = ground.apply(&step).0.unwrap_err();
                    is_nothing(&broken, kind);
                }
            }
            assert_eq!(ground.lying("INBOX"), lying);
            assert!(ground.lying("Target").is_empty());
        }
    }
}

#[test]
fn a_message_that_came_a_moment_ago_is_found() {
    let ground = Ground::new();
    ground.warm_up();
    for uid in 5..8 {
        ground.server.deliver("alice", "INBOX", &message(uid).raw);
        let step = match uid {
            5 => mark(ground.subject(uid), &["\\Seen"], &[]),
            6 => copy(ground.subject(uid), "Target"),
            _ => moved(ground.subject(uid), "Target"),
        };
        let (outcome, trips) = ground.apply(&step);
        outcome.unwrap();
        assert!(trips <= 2);
    }
    assert_eq!(ground.lying("Target").len(), 2);
}

#[test]
fn targets_that_are_not_there() {
    let ground = Ground::new();
    for step in [
        copy(ground.subject(1), "Nowhere"),
        moved(ground.subject(1), "Nowhere/at all"),
    ] {
        is_nothing(&ground.apply(&step).0.unwrap_err(), FaultKind::NoSuchTarget);
    }
    assert_eq!(ground.lying("INBOX").len(), 4);
}

#[test]
fn a_server_without_move_is_not_asked_to() {
    let ground = Ground::without("MOVE");
    let (outcome, trips) = ground.apply(&moved(ground.subject(1), "Target"));
    let broken = outcome.unwrap_err();
    is_nothing(&broken, FaultKind::NotOffered);
    let (outcome, again) = ground.apply(&moved(ground.subject(1), "Target"));
    assert!(outcome.is_err() && trips > 0 && again == 0);
    assert!(!ground.proxy.transcript().contains("SELECT"));
}

#[test]
fn flags_that_are_not_kept() {
    let ground = Ground::new();
    let lying = ground.lying("INBOX");
    for bad in [
        "\\Recent",
        "\\*",
        "a b",
        "x)\r\nw9 DELETE INBOX",
        "ü",
        "",
        "\\NoSuchThing",
    ] {
        for step in [
            mark(ground.subject(1), &["\\Seen", bad], &[]),
            mark(ground.subject(1), &["\\Seen"], &[bad]),
        ] {
            is_nothing(&ground.apply(&step).0.unwrap_err(), FaultKind::FlagNotKept);
        }
    }
    assert_eq!(ground.lying("INBOX"), lying);
}

#[test]
fn a_folder_that_is_read_only_is_copied_from_and_not_changed() {
    let server = Dovecot::builder()
        .config(
            "protocol imap {\n mail_plugins = zlib notify imap_zlib acl imap_acl\n}\n\
             plugin {\n acl = vfile\n}\n",
        )
        .start();
    let ground = Ground::on(server, "");
    ground.eyes("SETACL INBOX alice lrk");
    let lying = ground.lying("INBOX");
    for step in [
        mark(ground.subject(1), &["\\Seen"], &[]),
        moved(ground.subject(1), "Target"),
        remove(ground.subject(1)),
    ] {
        let broken = ground.apply(&step).0.unwrap_err();
        is_nothing(&broken, FaultKind::ReadOnly);
    }
    ground.apply(&copy(ground.subject(1), "Target")).0.unwrap();
    assert_eq!(ground.lying("INBOX"), lying);
    assert_eq!(ground.lying("Target").len(), 1);
}

#[test]
fn reading_never_selects() {
    let ground = Ground::new();
    ground.apply(&copy(ground.subject(1), "Target")).0.unwrap();
    assert!(!ground.proxy.transcript().contains("SELECT"));
}

/// Another server, which keeps no result of a search or does so in its own way: the same changes all the same.
#[test]
fn the_same_on_cyrus() {
    let server = Cyrus::start();
    server.deliver_many("alice", "INBOX", (1..=4).map(message));
    let mut eyes = server.login("alice", "secret");
    eyes.command("CREATE Target");
    let source = ImapSource::new(crate::account(), settings(server.port()));
    let (runtime, inbox) = (runtime(), inbox());
    let cx = Cx::new();
    let ends = runtime.block_on(source.horizon(&cx, &inbox)).unwrap();
    assert_eq!(ends.next, Uid(5));
    let subject = |uid| Subject {
        at: MessageRef {
            source: SourceKind::Imap,
            account: AccountId::new("a").unwrap(),
            folder: inbox.clone(),
            uidvalidity: ends.uidvalidity,
            uid: Uid(uid),
        },
        size: Some(message(uid).raw.len() as u64),
    };
    let apply = |step: &Step| runtime.block_on(source.apply(&cx, step)).map_err(Box::new);
    let changed = apply(&mark(subject(1), &["\\Seen", "work"], &["\\Flagged"])).unwrap();
    assert_eq!(names(changed.flags), ["\\Seen", "work"]);
    let changed = apply(&copy(subject(1), "Target")).unwrap();
    assert_eq!(changed.landed.map(|at| at.uid), Some(Uid(1)));
    let changed = apply(&moved(subject(2), "Target")).unwrap();
    assert_eq!(changed.landed.map(|at| at.uid), Some(Uid(2)));
    let changed = apply(&remove(subject(3))).unwrap();
    assert_eq!(changed.removal, Some(Removal::Gone));
    let other = Subject {
        size: Some(1),
        ..subject(4)
    };
    is_nothing(
        &apply(&remove(other)).unwrap_err(),
        FaultKind::AnotherMessage,
    );
    is_nothing(
        &apply(&remove(subject(3))).unwrap_err(),
        FaultKind::NoSuchMessage,
    );
    is_nothing(
        &apply(&copy(subject(1), "Nope")).unwrap_err(),
        FaultKind::NoSuchTarget,
    );
    let target = FolderName::new("Target").unwrap();
    let size = message(2).raw.len() as u64;
    let found = source.candidates(&cx, &target, None, size, u64::MAX);
    let found = runtime.block_on(found).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].witness.message_id.as_deref(),
        Some("2@test.example")
    );
}
