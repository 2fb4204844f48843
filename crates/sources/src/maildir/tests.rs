//! The Maildir source through its seam, against directories made for each test.

use std::fs;
use std::path::Path;

use mail::{Anchor, FolderName, PartWish, Query, Section, Snippets, Structure, Summary, Uid};
use tempfile::TempDir;

use super::*;

struct Store {
    root: TempDir,
    source: Maildir,
    cx: Cx,
}

impl Store {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        let account = AccountId::new("home").unwrap();
        let source = Maildir::open(account, root.path().to_owned());
        let store = Self {
            root,
            source,
            cx: Cx::new(),
        };
        store.put("cur/.keep", "");
        for (file, text) in files {
            store.put(file, text);
        }
        store
    }

    fn path(&self, file: &str) -> PathBuf {
        self.root.path().join(file)
    }

    fn put(&self, file: &str, text: &str) {
        let path = self.path(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    async fn search(&self, search: &Search) -> Result<Found, Fault> {
        self.source.search(&self.cx, search).await
    }

    async fn list(&self) -> Found {
        self.search(&search(Query::default())).await.unwrap()
    }

    async fn message(&self, uid: Uid, sections: &[&str]) -> Result<Fetched, Fault> {
        let choose = |_: &Structure| wishes(sections, 1_000);
        self.source.message(&self.cx, &at(uid), &choose).await
    }
}

fn search(query: Query) -> Search {
    Search {
        folder: FolderName::new("INBOX").unwrap(),
        query,
        below: None,
        limit: 50,
        snippets: Snippets::Without,
        most_matches: 20_000,
    }
}

fn query(conditions: &[(&str, &str)]) -> Query {
    let mut query = Query::default();
    for (field, word) in conditions {
        let text = Some((*word).to_owned());
        match *field {
            "text" => query.text = text,
            "from" => query.from = text,
            "to" => query.to = text,
            "subject" => query.subject = text,
            "unread" => query.unread_only = true,
            "since" => query.since = word.parse().ok(),
            "until" => query.until = word.parse().ok(),
            other => panic!("no condition {other}"),
        }
    }
    query
}

fn at(uid: Uid) -> MessageRef {
    MessageRef {
        source: SourceKind::Maildir,
        account: AccountId::new("home").unwrap(),
        folder: FolderName::new("INBOX").unwrap(),
        uidvalidity: UIDVALIDITY,
        uid,
    }
}

fn wishes(sections: &[&str], max_bytes: u64) -> Vec<PartWish> {
    let wish = |text: &&str| PartWish {
        section: Section::parse(text).unwrap(),
        max_bytes,
        urgency: mail::Urgency::Needed,
    };
    sections.iter().map(wish).collect()
}

fn subject(summary: &Summary) -> String {
    content::header_text(
        &content::summary_envelope(summary).unwrap().subject.unwrap(),
        &mut content::Changes::default(),
    )
}

fn subjects(found: &Found) -> Vec<String> {
    found.summaries.iter().map(subject).collect()
}

const LETTER: &str = "From: =?utf-8?Q?J=C3=BCrgen?= <j@kettenwerk.example>\nTo: lena@kettenwerk.example\n\
    Subject: Kapazit=?utf-8?Q?=C3=A4t?=\nContent-Type: text/plain; charset=utf-8\n\
    Content-Transfer-Encoding: quoted-printable\n\nGr=C3=BC=C3=9Fe aus der Halle\n";
const PARTS: &str = "From: a@b.example\nSubject: parts\nMIME-Version: 1.0\n\
    Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/html\n\n<p>Visible</p>\
    <p style=\"display:none\">Secret</p>\n--x\nContent-Type: text/csv; name=a.csv\n\
    Content-Disposition: attachment; filename=a.csv\nContent-Transfer-Encoding: base64\n\n\
    S1ctMTEsMTIwMAo=\n--x--\n";

fn plain(subject: &str) -> String {
    format!("From: a@b.example\nSubject: {subject}\n\nbody of {subject}\n")
}

#[tokio::test]
async fn folders_have_names_uses_and_counts() {
    let store = Store::new(&[
        ("cur/1000000001.a:2,S", LETTER),
        ("new/1000000002.b", LETTER),
        (".Sent/cur/1000000003.c:2,S", LETTER),
        (".Projekte.&ANw-bersicht/cur/.keep", ""),
        (".Projekte.R&D/cur/.keep", ""),
    ]);
    let found = store.source.folders(&store.cx).await.unwrap();
    let shown: Vec<_> = found
        .folders
        .iter()
        .map(|folder| {
            let counts = folder.counts.unwrap();
            let use_ = folder.special_use.map(mail::SpecialUse::as_str);
            (folder.name.as_str(), use_, counts.messages, counts.unread)
        })
        .collect();
    let want = [
        ("INBOX", None, 2, 1),
        ("Projekte/Übersicht", None, 0, 0),
        ("Sent", Some("sent"), 1, 0),
    ];
    assert_eq!(shown, want);
    assert_eq!(found.unusable, 1);
}

#[tokio::test]
async fn a_missing_root_is_a_fault_and_never_an_empty_answer() {
    let account = AccountId::new("home").unwrap();
    let source = Maildir::open(account, PathBuf::from("/no/such/place"));
    let cx = Cx::new();
    let faults = [
        source.verify(&cx).await.unwrap_err(),
        source.folders(&cx).await.unwrap_err(),
        source
            .search(&cx, &search(Query::default()))
            .await
            .unwrap_err(),
        source.raw(&cx, &at(Uid(1)), 10).await.err().unwrap(),
    ];
    for fault in faults {
        assert_eq!(fault.kind, FaultKind::Unreadable);
        assert_eq!(fault.said.unwrap().bytes(), b"entity not found");
    }
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repetition() {
    let store = Store::new(&[]);
    for number in 0..25 {
        // Several in one second: then the uid decides.
        let seconds = 1_000_000_000 + number / 4;
        store.put(
            &format!("cur/{seconds}.M{number}.x:2,"),
            &plain(&number.to_string()),
        );
    }
    let whole = subjects(&store.list().await);
    assert_eq!(whole.len(), 25);
    for query in [Query::default(), query(&[("from", "A@B")])] {
        let mut wanted = search(query);
        wanted.limit = 7;
        let mut pages = Vec::new();
        loop {
            let page = store.search(&wanted).await.unwrap();
            assert_eq!(page.matches, 25 - count(pages.len()));
            pages.extend(subjects(&page));
            wanted.below = page.next;
            if page.next.is_none() {
                break;
            }
        }
        assert_eq!(pages, whole);
    }
}

#[tokio::test]
async fn new_mail_does_not_shift_the_next_page() {
    let store = Store::new(&[
        ("cur/1000000001.a:2,", &plain("one")),
        ("cur/1000000002.b:2,", &plain("two")),
    ]);
    let mut wanted = search(Query::default());
    wanted.limit = 1;
    let first = store.search(&wanted).await.unwrap();
    store.put("new/1000000003.c", &plain("three"));
    wanted.below = first.next;
    let second = store.search(&wanted).await.unwrap();
    assert_eq!(subjects(&second), ["one"]);
    assert_eq!(subjects(&store.list().await), ["three", "two", "one"]);
}

#[tokio::test]
async fn conditions_hold_together() {
    let store = Store::new(&[
        ("cur/1761955200.a:2,S", LETTER), // 2025-11-01 00:00 UTC
        ("cur/1761955199.b:2,", PARTS),   // 2025-10-31 23:59:59 UTC
    ]);
    for (conditions, want) in [
        (&[("text", "HALLE")][..], &["Kapazität"][..]),
        (&[("text", "grüße")], &["Kapazität"]),
        (&[("text", "jürgen")], &["Kapazität"]),
        (&[("text", "visible")], &["parts"]),
        (&[("text", "kw-11,1200")], &["parts"]),
        (&[("text", "secret")], &[]),
        (&[("from", "JÜRGEN")], &["Kapazität"]),
        (&[("to", "lena@")], &["Kapazität"]),
        (&[("subject", "PARTS")], &["parts"]),
        (&[("unread", "")], &["parts"]),
        (&[("since", "2025-11-01")], &["Kapazität"]),
        (&[("until", "2025-10-31")], &["parts"]),
        (
            &[("since", "2025-10-31"), ("until", "2025-11-01")],
            &["Kapazität", "parts"],
        ),
        (&[("from", "jürgen"), ("unread", "")], &[]),
        (&[("text", "halle"), ("subject", "parts")], &[]),
    ] {
        let found = store.search(&search(query(conditions))).await.unwrap();
        assert_eq!(subjects(&found), want, "{conditions:?}");
        assert_eq!(found.matches, count(want.len()));
    }
}

#[tokio::test]
async fn a_search_with_too_many_matches_is_refused_and_a_listing_never() {
    let store = Store::new(&[
        ("cur/1000000001.a:2,", LETTER),
        ("cur/1000000002.b:2,", LETTER),
    ]);
    for (query, refused) in [
        (Query::default(), false),
        (query(&[("unread", "")]), true),
        (query(&[("text", "halle")]), true),
    ] {
        let mut wanted = search(query);
        wanted.most_matches = 1;
        let fault = store.search(&wanted).await.err().map(|fault| fault.kind);
        assert_eq!(fault, refused.then_some(FaultKind::TooMany { matches: 2 }));
    }
}

#[tokio::test]
async fn summaries_carry_flags_size_and_the_beginning_of_the_text() {
    let store = Store::new(&[("cur/1000000001.a,S=9:2,FS", LETTER)]);
    let mut wanted = search(Query::default());
    wanted.snippets = Snippets::Bytes(7);
    let found = store.search(&wanted).await.unwrap();
    let one = &found.summaries[0];
    assert_eq!(one.size, Some(count(LETTER.replace('\n', "\r\n").len())));
    assert_eq!(one.arrived.unwrap().as_second(), 1_000_000_001);
    assert!(one.flags.iter().flatten().any(|flag| flag.is("\\flagged")));
    let text = one.text.as_ref().unwrap();
    assert_eq!((&text.text[..], text.truncated), (&b"Gr=C3=B"[..], true));
    assert!(text.header.ends_with(b"quoted-printable\r\n\r\n"));
}

#[tokio::test]
async fn a_message_comes_with_the_parts_that_were_chosen() {
    let store = Store::new(&[("cur/1000000001.a:2,S", PARTS)]);
    let uid = store.list().await.summaries[0].uid;
    let fetched = store.message(uid, &["2", "7.7"]).await.unwrap();
    let types: Vec<&str> = fetched
        .structure
        .leaves
        .iter()
        .map(|leaf| leaf.mime_type.as_str())
        .collect();
    assert_eq!(types, ["text/html", "text/csv"]);
    assert_eq!(fetched.parts.len(), 1);
    assert_eq!(&fetched.parts[0].bytes[..], b"S1ctMTEsMTIwMAo=");
    assert!(!fetched.parts[0].truncated && !fetched.header_truncated);
    assert!(fetched.header.starts_with(b"From: a@b.example\r\n"));

    let choose = |_: &Structure| wishes(&["2"], 4);
    let at = at(uid);
    let cut = store.source.message(&store.cx, &at, &choose).await.unwrap();
    assert_eq!(
        (&cut.parts[0].bytes[..], cut.parts[0].truncated),
        (&b"S1ct"[..], true)
    );

    let wire = PARTS.replace('\n', "\r\n");
    for (most, want) in [(5, "From:"), (1_000_000, wire.as_str()), (0, "")] {
        let raw = store.source.raw(&store.cx, &at, most).await.unwrap();
        assert_eq!(
            (&raw.bytes[..], raw.size),
            (want.as_bytes(), count(wire.len()))
        );
    }
}

#[tokio::test]
async fn ids_that_mean_nothing_here() {
    let store = Store::new(&[("cur/1000000001.a:2,S", PARTS)]);
    let uid = store.list().await.summaries[0].uid;
    let good = at(uid);
    type Change = fn(&mut MessageRef);
    let changes: [(Change, FaultKind); 7] = [
        (|id| id.uid.0 ^= 1, FaultKind::NoSuchMessage),
        (|id| id.uid.0 = 0, FaultKind::NoSuchMessage),
        (|id| id.uidvalidity.0 = 2, FaultKind::Conflict),
        (|id| id.source = SourceKind::Imap, FaultKind::NoSuchMessage),
        (
            |id| id.account = AccountId::new("x").unwrap(),
            FaultKind::NoSuchMessage,
        ),
        (
            |id| id.folder = FolderName::new("../../x").unwrap(),
            FaultKind::NoSuchFolder,
        ),
        (
            |id| id.folder = FolderName::new("cur").unwrap(),
            FaultKind::NoSuchFolder,
        ),
    ];
    for (change, want) in changes {
        let mut id = good.clone();
        change(&mut id);
        let fault = store.source.raw(&store.cx, &id, 9).await.err().unwrap();
        assert_eq!(fault.kind, want, "{id}");
    }
    let mut old = search(Query::default());
    old.below = Some(Anchor {
        uidvalidity: UidValidity(9),
        order: 0,
        uid,
    });
    assert_eq!(
        store.search(&old).await.unwrap_err().kind,
        FaultKind::Conflict
    );
}

#[tokio::test]
async fn a_uid_of_two_files_answers_conflict() {
    let store = Store::new(&[
        ("cur/1000000001.a:2,S", &plain("one")),
        ("cur/1000000001.a:2,", &plain("other")),
        ("cur/1000000002.b:2,", &plain("two")),
    ]);
    let found = store.list().await;
    assert_eq!(subjects(&found), ["two"]);
    assert_eq!((found.missing.len(), found.matches), (1, 2));
    let fault = store.message(found.missing[0], &[]).await.err().unwrap();
    assert_eq!(fault.kind, FaultKind::Conflict);
    let text = query(&[("text", "body of")]);
    let found = store.search(&search(text)).await.unwrap();
    assert_eq!(
        (subjects(&found), found.missing.len()),
        (vec!["two".to_owned()], 1)
    );
}

/// Two names whose uids are the same by chance, found by trying.
#[tokio::test]
async fn different_names_with_one_uid_answer_conflict_too() {
    let mut seen = std::collections::HashMap::new();
    let (one, other) = (0u32..)
        .find_map(|number| {
            let name = format!("1000000001.{number}");
            let uid = name::Name::parse(name.as_bytes()).unwrap().uid();
            seen.insert(uid, name.clone()).map(|first| (first, name))
        })
        .unwrap();
    let store = Store::new(&[
        (&format!("cur/{one}:2,S"), &plain("one")),
        (&format!("new/{other}"), &plain("other")),
    ]);
    let found = store.list().await;
    assert_eq!((found.summaries.len(), found.missing.len()), (0, 1));
    let fault = store.message(found.missing[0], &[]).await.err().unwrap();
    assert_eq!(fault.kind, FaultKind::Conflict);
}

#[tokio::test]
async fn a_message_keeps_its_id_when_a_mail_program_moves_it() {
    let store = Store::new(&[("new/1000000001.a", &plain("one"))]);
    let before = store.list().await;
    fs::rename(
        store.path("new/1000000001.a"),
        store.path("cur/1000000001.a:2,RS"),
    )
    .unwrap();
    let fetched = store
        .message(before.summaries[0].uid, &["1"])
        .await
        .unwrap();
    assert_eq!(fetched.flags.as_ref().unwrap().len(), 2);
    assert_eq!(before.summaries[0].flags.as_ref().unwrap().len(), 0);
}

/// Another program renames all the time: nothing is doubled or taken for another message.
#[tokio::test]
async fn renaming_meanwhile_mixes_nothing_up() {
    let store = Store::new(&[]);
    for number in 0..40 {
        store.put(
            &format!("cur/{}.x:2,", 1_000_000_000 + number),
            &plain(&number.to_string()),
        );
    }
    let root = store.root.path().to_owned();
    let flips = tokio::task::spawn_blocking(move || {
        for round in 0..60 {
            flip(&root, round);
        }
    });
    let want: Vec<String> = (0..40).rev().map(|number| number.to_string()).collect();
    let mut rounds = 0;
    while !flips.is_finished() || rounds == 0 {
        let found = store.list().await;
        assert!(found.summaries.len() + found.missing.len() <= 40);
        let shown = subjects(&found);
        assert!(shown.iter().all(|subject| want.contains(subject)));
        assert!(shown.is_sorted_by_key(|s| std::cmp::Reverse(s.parse::<u32>().unwrap())));
        rounds += 1;
    }
    flips.await.unwrap();
    assert_eq!(subjects(&store.list().await), want);
}

fn flip(root: &Path, round: usize) {
    let (from, to) = if round.is_multiple_of(2) {
        ("", "S")
    } else {
        ("S", "")
    };
    for number in 0..40 {
        let name = |flags: &str| root.join(format!("cur/{}.x:2,{flags}", 1_000_000_000 + number));
        fs::rename(name(from), name(to)).unwrap();
    }
}

#[cfg(unix)]
#[tokio::test]
async fn what_may_not_be_read_is_named_and_not_passed_over() {
    use std::os::unix::fs::PermissionsExt as _;
    let store = Store::new(&[
        ("cur/1000000001.a:2,", &plain("one")),
        ("cur/1000000002.b:2,", &plain("two")),
    ]);
    let locked = store.path("cur/1000000002.b:2,");
    fs::set_permissions(&locked, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&locked).is_ok() {
        return; // the superuser reads everything
    }
    let text = query(&[("text", "body")]);
    for query in [Query::default(), text] {
        let found = store.search(&search(query)).await.unwrap();
        assert_eq!(
            (subjects(&found), found.missing.len()),
            (vec!["one".to_owned()], 1)
        );
    }
}

#[tokio::test]
async fn a_listing_of_a_huge_folder_counts_all_and_describes_its_page() {
    let store = Store::new(&[("cur/1900000000.newest:2,S", &plain("newest"))]);
    for number in 0..5_000 {
        fs::File::create(store.path(&format!("cur/{}.x:2,S", 1_000_000_000 + number))).unwrap();
    }
    let mut wanted = search(Query::default());
    wanted.limit = 1;
    let found = store.search(&wanted).await.unwrap();
    assert_eq!(
        (subjects(&found), found.matches),
        (vec!["newest".to_owned()], 5_001)
    );
}

/// Sizes are those on the wire, which only the whole file tells.
#[tokio::test]
async fn a_file_is_read_for_its_size_once() {
    let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
    let put = |store: &Store, file: &str, text: &str| {
        store.put(file, text);
        let file = fs::File::options().write(true).open(store.path(file));
        file.unwrap().set_modified(long_ago).unwrap();
    };
    let store = Store::new(&[]);
    let from = "From a@b.example Mon Nov  3 10:12:30 2025\n";
    put(&store, "cur/1000000001.a:2,", &plain("one"));
    put(&store, "cur/1000000002.b:2,", &plain("two").repeat(9_000));
    let boxed = format!("{from}{}\n{from}{}\n", plain("three"), plain("four"));
    put(&store, "old", &boxed);
    let sizes = async || {
        let mut sizes = Vec::new();
        for folder in ["INBOX", "old"] {
            let mut wanted = search(Query::default());
            wanted.folder = FolderName::new(folder).unwrap();
            let found = store.search(&wanted).await.unwrap();
            sizes.extend(found.summaries.iter().map(|one| one.size.unwrap()));
        }
        sizes
    };
    let wire = |text: &str| count(text.replace('\n', "\r\n").len());
    let long = wire(&plain("two").repeat(9_000));
    let want = [
        long,
        wire(&plain("one")),
        wire(&plain("four")),
        wire(&plain("three")),
    ];
    let counted = || store.source.catalog.sizes.times();
    for _ in 0..3 {
        assert_eq!(sizes().await, want);
        assert_eq!(counted(), 4);
    }
    // As long as before, at the same time, and other lines.
    #[cfg(unix)]
    {
        let other = plain("one").replacen('\n', " ", 1);
        put(&store, "cur/1000000001.a:2,", &other);
        assert_eq!(sizes().await[1], want[1] - 1);
        assert_eq!(counted(), 5);
    }
    // Written a moment ago: it may go on.
    store.put("cur/1000000003.c:2,", &plain("five"));
    for _ in 0..2 {
        assert_eq!(sizes().await[0], wire(&plain("five")));
    }
    store.put("cur/1000000003.c:2,", &plain("fivefold"));
    assert_eq!(sizes().await[0], wire(&plain("fivefold")));
}

#[tokio::test]
async fn a_very_large_file_is_read_only_at_its_beginning() {
    let store = Store::new(&[("cur/1000000001.a:2,", &plain("large"))]);
    let file = fs::File::options()
        .write(true)
        .open(store.path("cur/1000000001.a:2,"))
        .unwrap();
    file.set_len(65 * 1024 * 1024).unwrap();
    let uid = store.list().await.summaries[0].uid;
    let fetched = store.message(uid, &["1"]).await.unwrap();
    assert!(fetched.structure.cut && fetched.parts[0].truncated);
    assert_eq!(fetched.size, 65 * 1024 * 1024);
    assert!(fetched.structure.leaves[0].octets < 5 * 1024 * 1024);
}

mod conversations;
#[cfg(unix)]
mod links;
mod mbox_folders;
