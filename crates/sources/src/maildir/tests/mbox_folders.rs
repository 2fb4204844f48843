//! mbox files as folders, through the seam that all tools use.

use super::*;

const FROM: &str = "From a@b.example Mon Nov  3 10:12:30 2025\n";

fn in_a_box(messages: &[&str]) -> String {
    let one = |text: &&str| format!("{FROM}{text}\n");
    messages.iter().map(one).collect()
}

fn folder(name: &str) -> FolderName {
    FolderName::new(name).unwrap()
}

async fn names(source: &Maildir) -> Vec<(String, u64)> {
    let found = source.folders(&Cx::new()).await.unwrap();
    let shown = |folder: &Folder| {
        let messages = folder.counts.map_or(99, |counts| counts.messages);
        (folder.name.to_string(), messages)
    };
    found.folders.iter().map(shown).collect()
}

#[tokio::test]
async fn files_are_folders_beside_directories() {
    let two = in_a_box(&[&plain("one"), &plain("two")]);
    let store = Store::new(&[
        ("Sent", &two),
        (".Sent/cur/.keep", ""),
        ("R&D", &two),
        ("&ANw-ber", &two),
        ("work/2024.mbox", &two),
        (".hidden", &two),
        ("notes.txt", "From here on\n"),
        ("empty", ""),
        ("cur.txt", "A: b\n"),
    ]);
    #[cfg(unix)]
    std::os::unix::fs::symlink(store.path("Sent"), store.path("linked")).unwrap();
    let want = [
        ("INBOX", 0),
        ("R&D", 2),
        ("Sent", 0),
        ("Sent (mbox)", 2),
        ("work/2024.mbox", 2),
        ("Über", 2),
    ];
    let want: Vec<(String, u64)> = want.map(|(name, n)| (name.to_owned(), n)).to_vec();
    assert_eq!(names(&store.source).await, want);
}

#[tokio::test]
async fn an_account_may_be_one_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("alice");
    let account = AccountId::new("home").unwrap();
    let source = Maildir::open(account, path.clone());
    for (text, want) in [
        (in_a_box(&[&plain("one")]), Some(1)),
        (String::new(), Some(0)),
        ("dear diary\n".to_owned(), None),
    ] {
        fs::write(&path, text).unwrap();
        match want {
            Some(count) => {
                assert_eq!(names(&source).await, [("INBOX".to_owned(), count)]);
            }
            None => {
                let fault = source.folders(&Cx::new()).await.unwrap_err();
                assert_eq!(fault.kind, FaultKind::Unreadable);
            }
        }
    }
}

#[tokio::test]
async fn every_question_is_answered() {
    let quoted = PARTS.replace("S1ctMTEsMTIwMAo=", "S1ctMTEsMTIwMAo=\n>From x");
    let unquoted = PARTS.replace("S1ctMTEsMTIwMAo=", "S1ctMTEsMTIwMAo=\nFrom x");
    let text = in_a_box(&[LETTER, &format!("Status: RO\n{quoted}"), &plain("last")]);
    let store = Store::new(&[("old", &text)]);
    let (source, cx) = (&store.source, &store.cx);
    let mut wanted = search(Query::default());
    wanted.folder = folder("old");
    let listed = store.search(&wanted).await.unwrap();
    assert_eq!(subjects(&listed), ["last", "parts", "Kapazität"]);
    wanted.limit = 1;
    let first = store.search(&wanted).await.unwrap();
    wanted.below = first.next;
    let second = store.search(&wanted).await.unwrap();
    assert_eq!(subjects(&second), ["parts"], "pages follow each other");

    for (conditions, want) in [
        (&[("text", "halle")][..], &["Kapazität"][..]),
        (&[("unread", "")], &["last", "Kapazität"]),
        (&[("subject", "parts")], &["parts"]),
        (
            &[
                ("since", "2025-11-03"),
                ("until", "2025-11-03"),
                ("text", "visible"),
            ],
            &["parts"],
        ),
        (&[("since", "2025-11-04")], &[]),
    ] {
        let mut wanted = search(query(conditions));
        wanted.folder = folder("old");
        let found = store.search(&wanted).await.unwrap();
        assert_eq!(subjects(&found), want, "{conditions:?}");
    }

    let test = Condition::Subject("PARTS".to_owned());
    let sifted = source.sift(cx, &folder("old"), &[test]).await.unwrap();
    let uid = listed.summaries[1].uid;
    assert!(sifted.sets[0].contains(uid));
    let uids: UidSet = [uid].into_iter().collect();
    let summaries = source
        .summaries(cx, &folder("old"), UIDVALIDITY, &uids, Snippets::Without)
        .await
        .unwrap();
    assert_eq!(subject(&summaries[0]), "parts");
    assert!(summaries[0].structure.is_some());

    let mut at = at(uid);
    at.folder = folder("old");
    let whole = format!("Status: RO\n{unquoted}").replace('\n', "\r\n");
    let raw = source.raw(cx, &at, 1 << 20).await.unwrap();
    assert_eq!(raw.bytes, whole.as_bytes());
    assert_eq!(raw.size, count(whole.len()));
    assert_eq!(summaries[0].size, Some(raw.size));
    let choose = |_: &Structure| wishes(&["2"], 1_000);
    let fetched = source.message(cx, &at, &choose).await.unwrap();
    assert!(fetched.flags.iter().flatten().any(|flag| flag.is("\\Seen")));
    assert!(fetched.parts[0].bytes.ends_with(b"\nFrom x"));
    let many = source
        .messages(cx, &[at.clone(), at.clone()], &choose)
        .await;
    assert_eq!(many.unwrap().len(), 2);

    let wire = whole;
    let (witness, shown) = source.look(cx, &at, 1 << 20).await.unwrap().unwrap();
    assert_eq!(shown, wire.as_bytes());
    assert_eq!(witness.size, Some(count(wire.len())));
    let middle = source.octets(cx, &at, 4, 9).await.unwrap();
    assert_eq!(middle, wire.as_bytes()[4..13]);
    assert_eq!(
        source.file(cx, &at).await.unwrap(),
        None,
        "it has none of its own"
    );
    assert_eq!(
        fs::read_to_string(store.path("old")).unwrap(),
        text,
        "nothing was changed"
    );
}

#[tokio::test]
async fn numbers_stay_while_the_file_grows_and_is_written_anew() {
    let store = Store::new(&[("old", &in_a_box(&[&plain("one"), &plain("two")]))]);
    let mut wanted = search(Query::default());
    wanted.folder = folder("old");
    let before = store.search(&wanted).await.unwrap();
    let uids = |found: &Found| -> Vec<(String, Uid)> {
        let both = |summary: &Summary| (subject(summary), summary.uid);
        found.summaries.iter().map(both).collect()
    };
    let before = uids(&before);
    for messages in [
        &["one", "two", "three"][..],
        &["two", "three"],
        &["two", "one"],
    ] {
        let texts: Vec<String> = messages.iter().map(|name| plain(name)).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        store.put("old", &in_a_box(&texts));
        let after = uids(&store.search(&wanted).await.unwrap());
        assert_eq!(after.len(), messages.len());
        for (name, uid) in after {
            let known = before.iter().find(|(known, _)| *known == name);
            assert!(known.is_none_or(|(_, known)| *known == uid), "{name}");
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_account_that_is_one_file_may_lie_where_others_are_not_seen() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = tempfile::tempdir().unwrap();
    let above = dir.path().join("spool");
    fs::create_dir(&above).unwrap();
    fs::write(above.join("alice"), in_a_box(&[&plain("one")])).unwrap();
    let allow = |mode| fs::set_permissions(&above, fs::Permissions::from_mode(mode)).unwrap();
    allow(0o311);
    let source = Maildir::open(AccountId::new("home").unwrap(), above.join("alice"));
    let found = names(&source).await;
    allow(0o700);
    assert_eq!(found, [("INBOX".to_owned(), 1)]);
}
