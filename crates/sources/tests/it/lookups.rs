//! Finding out what became of a change: the message itself, where a folder ends, and what came after that.

use bytes::Bytes;
use mail::{
    Candidate, Cx, FaultKind, FolderName, Horizon, MailSource as _, MessageRef, Step, Uid,
    UidValidity, Witness,
};
use sources::maildir::Maildir;
use testkit::{Cut, Delivery};

use crate::ground::{ARRIVED, Ground, message};

fn look(ground: &Ground, at: &MessageRef, octets: u64) -> Option<(Witness, Bytes)> {
    let cx = Cx::new();
    ground
        .runtime
        .block_on(ground.source.look(&cx, at, octets))
        .unwrap()
}

fn horizon(ground: &Ground, folder: &str) -> (Horizon, u32) {
    let (cx, folder) = (Cx::new(), FolderName::new(folder).unwrap());
    let ends = ground
        .runtime
        .block_on(ground.source.horizon(&cx, &folder))
        .unwrap();
    (ends, cx.round_trips())
}

fn candidates(ground: &Ground, folder: &str, beyond: Option<Horizon>, size: u64) -> Vec<Candidate> {
    let (cx, folder) = (Cx::new(), FolderName::new(folder).unwrap());
    let found = ground
        .source
        .candidates(&cx, &folder, beyond, size, u64::MAX);
    ground.runtime.block_on(found).unwrap()
}

#[test]
fn a_message_is_seen_as_it_is_now() {
    let ground = Ground::new();
    let at = ground.at("INBOX", 3);
    let raw = message(3).raw;
    for (octets, shown) in [(0, 0), (1, 1), (10, 10), (u64::MAX, raw.len())] {
        let (witness, bytes) = look(&ground, &at, octets).unwrap();
        assert_eq!(bytes, raw[..shown]);
        assert_eq!(witness.size, Some(raw.len() as u64));
        assert_eq!(witness.arrived.unwrap().as_second(), ARRIVED as i64 + 3);
        assert_eq!(
            witness.digest.map_or(0, |digest| digest.octets),
            shown as u64
        );
    }
    // What another client does is seen at once, though the folder is open.
    ground.warm_up();
    ground.eyes("SELECT INBOX");
    ground.eyes("UID STORE 3 FLAGS (\\Seen other)");
    let (witness, _) = look(&ground, &at, 10).unwrap();
    let flags = witness.flags.unwrap();
    assert!(flags.len() == 2 && flags.iter().any(|flag| flag.is("other")));
    ground.eyes("UID STORE 3 +FLAGS (\\Deleted)");
    ground.eyes("UID EXPUNGE 3");
    assert_eq!(look(&ground, &at, 10), None);
}

#[test]
fn octets_come_from_the_middle_and_end_at_the_end() {
    let ground = Ground::new();
    let at = ground.at("INBOX", 2);
    let raw = message(2).raw;
    let size = raw.len();
    for (from, most, want) in [
        (0, 5, 0..5),
        (5, 7, 5..12),
        (size - 2, 100, size - 2..size),
        (size, 100, size..size),
        (size + 100, 100, size..size),
        (0, 0, 0..0),
    ] {
        let cx = Cx::new();
        let octets = ground.source.octets(&cx, &at, from as u64, most);
        assert_eq!(
            ground.runtime.block_on(octets).unwrap(),
            raw[want],
            "{from} {most}"
        );
    }
    let cx = Cx::new();
    let beyond = ground.source.octets(&cx, &at, u64::MAX, 10);
    assert_eq!(ground.runtime.block_on(beyond).unwrap(), "");
}

#[test]
fn a_folder_ends_where_it_ends() {
    let ground = Ground::new();
    let next = |(ends, trips): (Horizon, u32)| (ends.next.0, trips);
    let (ends, trips) = horizon(&ground, "Target");
    assert!(trips > 0);
    assert_eq!(ends.uidvalidity, ground.generation("Target"));
    assert_eq!(next(horizon(&ground, "Target")), (1, 0), "it is remembered");
    let copy = Step::Copy {
        subject: ground.subject(1),
        to: FolderName::new("Target").unwrap(),
    };
    ground.apply(&copy).0.unwrap();
    assert_eq!(
        next(horizon(&ground, "Target")),
        (2, 0),
        "what was put there is known"
    );
    assert_eq!(
        next(horizon(&ground, "INBOX")),
        (5, 0),
        "so is a folder that was opened"
    );
    let (cx, nowhere) = (Cx::new(), FolderName::new("Nowhere").unwrap());
    let fault = ground
        .runtime
        .block_on(ground.source.horizon(&cx, &nowhere))
        .unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSuchFolder);
}

#[test]
fn a_copy_whose_answer_was_lost_is_found_and_nothing_else() {
    let ground = Ground::new();
    let to = FolderName::new("Target").unwrap();
    let copy = Step::Copy {
        subject: ground.subject(3),
        to: to.clone(),
    };
    // One like it lay there before, and one of the same size comes with it.
    ground.apply(&copy).0.unwrap();
    let (ends, _) = horizon(&ground, "Target");
    let mut other = message(3).raw;
    let at = other.len() - 3;
    other[at] = b'y';
    ground
        .server
        .deliver_many("alice", "Target", [Delivery::new(other)]);
    ground
        .proxy
        .cut_reply(Cut::Reset, |line| line.contains("UID COPY"));
    ground.apply(&copy).0.unwrap_err();
    let size = message(3).raw.len() as u64;
    let (source, _) = look(&ground, &ground.at("INBOX", 3), u64::MAX).unwrap();
    let found = candidates(&ground, "Target", Some(ends), size);
    let uids: Vec<u32> = found.iter().map(|one| one.landing.uid.0).collect();
    assert_eq!(uids, [2, 3]);
    let same: Vec<_> = found
        .iter()
        .filter(|one| one.witness.digest == source.digest)
        .collect();
    assert_eq!(same.len(), 1);
    assert_eq!(same[0].witness, source, "flags and date as well");
    for (beyond, size, want) in [
        (None, size, 3),
        (
            Some(Horizon {
                next: Uid(4),
                ..ends
            }),
            size,
            0,
        ),
        (
            Some(Horizon {
                next: Uid(4),
                uidvalidity: UidValidity(1),
            }),
            size,
            3,
        ),
        (None, size + 1, 0),
        (None, 0, 0),
        (None, u64::MAX, 0),
    ] {
        assert_eq!(
            candidates(&ground, "Target", beyond, size).len(),
            want,
            "{beyond:?} {size}"
        );
    }
}

#[test]
fn large_ones_are_told_apart_at_their_ends() {
    let ground = Ground::new();
    let text = |end: &str| {
        let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\r\n";
        let body = line.repeat(9_000);
        format!("Subject: x\r\n\r\n{body}{end}\r\n")
    };
    let both = ["one", "two"].map(|end| Delivery::new(text(end)));
    ground.server.deliver_many("alice", "Target", both);
    let found = candidates(&ground, "Target", None, text("one").len() as u64);
    let digests: Vec<_> = found
        .iter()
        .map(|one| one.witness.digest.unwrap())
        .collect();
    assert_eq!(digests.len(), 2);
    assert_ne!(digests[0], digests[1]);
    assert!(
        digests
            .iter()
            .all(|digest| digest.octets == text("one").len() as u64)
    );
}

#[test]
fn too_many_are_no_answer_and_of_small_ones_many_are_not_too_many() {
    let small = message(1).raw;
    let large = [small.as_slice(), &vec![b'x'; 200 << 10]].concat();
    for (raw, count, too_many) in [
        (&small, 120, false),
        (&small, 2_001, true),
        (&large, 50, false),
        (&large, 51, true),
    ] {
        let ground = Ground::new();
        let many = (0..count).map(|_| Delivery::new(raw.clone()));
        ground.server.deliver_many("alice", "Target", many);
        let (cx, folder) = (Cx::new(), FolderName::new("Target").unwrap());
        let size = raw.len() as u64;
        let found = ground.source.candidates(&cx, &folder, None, size, u64::MAX);
        match ground.runtime.block_on(found) {
            Ok(found) => assert!(!too_many && found.len() == count, "{count} of {size}"),
            Err(fault) => {
                let matches = count as u64;
                assert!(too_many, "{count} of {size}: {fault:?}");
                assert_eq!(fault.kind, FaultKind::TooMany { matches });
            }
        }
    }
}

#[test]
fn what_a_maildir_shows_is_what_a_server_shows() {
    let ground = Ground::new();
    for text in [
        "Subject: a\n\nline\nend\n",
        "Subject: b\r\n\r\nmixed\nends\r\n\n",
        "x",
    ] {
        ground.server.deliver("alice", "Target", text.as_bytes());
    }
    let root = ground.server.dir().join("mail/alice/Maildir");
    let account = mail::AccountId::new("a").unwrap();
    let maildir = Maildir::open(account, root);
    let cx = Cx::new();
    let folder = FolderName::new("Target").unwrap();
    let everything = [mail::Condition::EVERYTHING];
    let sifted = ground
        .runtime
        .block_on(maildir.sift(&cx, &folder, &everything))
        .unwrap();
    let local: Vec<_> = sifted.sets[0]
        .ranges()
        .iter()
        .flat_map(|(first, last)| *first..=*last)
        .map(|uid| {
            let at = MessageRef {
                source: mail::SourceKind::Maildir,
                uidvalidity: sifted.uidvalidity,
                uid: Uid(uid),
                ..ground.at("Target", 1)
            };
            let looked = ground.runtime.block_on(maildir.look(&cx, &at, u64::MAX));
            looked.unwrap().unwrap()
        })
        .map(|(witness, bytes)| (witness.size, witness.digest, bytes))
        .collect();
    let remote: Vec<_> = (1..=3)
        .map(|uid| look(&ground, &ground.at("Target", uid), u64::MAX).unwrap())
        .map(|(witness, bytes)| (witness.size, witness.digest, bytes))
        .collect();
    for one in &remote {
        assert!(local.contains(one), "{one:?} {local:?}");
    }
}
