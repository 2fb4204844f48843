//! Messages by their ids, and conversations, against directories made for each test.

use mail::{Coverage, Effort, HeaderId, Member, Why, Within};

use super::*;

const EFFORT: Effort = Effort {
    folders: 100,
    rounds: 100,
    messages: 1_000,
};

fn sought(ids: &[&str]) -> Sought {
    let id = |text: &&str| HeaderId::new(text.as_bytes()).unwrap();
    Sought {
        ids: ids.iter().map(id).collect(),
        within: Within::All,
        effort: EFFORT,
    }
}

fn letter(own: &str, names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("<{name}>")).collect();
    let names = match names.is_empty() {
        true => String::new(),
        false => format!("References: {}\n", names.join(" ")),
    };
    format!("From: a@b.example\nSubject: {own}\nMessage-ID: <{own}>\n{names}\nbody of {own}\n")
}

/// Where, and what it is called.
fn shown(members: &[Member]) -> Vec<String> {
    let mut all: Vec<String> = members
        .iter()
        .map(|one| format!("{}:{}", one.at.folder, subject(&one.summary)))
        .collect();
    all.sort();
    all
}

fn skipped(coverage: &Coverage) -> Vec<(String, Why)> {
    let skipped = coverage.skipped.iter();
    skipped
        .map(|one| (one.folder.to_string(), one.why))
        .collect()
}

fn conversation() -> Store {
    Store::new(&[
        ("cur/1000000001.a:2,S", &letter("a", &[])),
        (".Sent/cur/1000000002.b:2,S", &letter("b", &["a"])),
        ("new/1000000003.c", &letter("c", &["missing", "b"])),
        (".Work/cur/1000000004.d:2,S", &letter("d", &["missing"])),
        (".Work/cur/1000000005.e:2,S", &letter("e", &["x"])),
        (".Work/cur/1000000006.a:2,S", &letter("a", &[])),
        (".Trash/cur/1000000007.t:2,S", &letter("t", &["a"])),
        (".Junk/cur/1000000008.j:2,S", &letter("j", &[])),
        (
            "old",
            &format!("From x Mon Nov  3 10:12:30 2025\n{}\n", letter("m", &["c"])),
        ),
    ])
}

#[tokio::test]
async fn every_copy_is_located() {
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    for (ids, want, passed) in [
        (&["a"][..], &["INBOX:a", "Work:a"][..], 2),
        (&["<b>"], &["Sent:b"], 2),
        (&["m"], &["old:m"], 2),
        (&["a", "d"], &["INBOX:a", "Work:a", "Work:d"], 2),
        // Nowhere else.
        (&["t"], &["Trash:t"], 0),
        (&["a", "j"], &["INBOX:a", "Junk:j", "Work:a"], 0),
        (&["missing"], &[], 0),
        (&["A"], &[], 0),
    ] {
        let found = source.locate(cx, &sought(ids)).await.unwrap();
        assert_eq!(shown(&found.members), want, "{ids:?}");
        assert_eq!(found.coverage.skipped.len(), passed, "{ids:?}");
        assert_eq!(found.coverage.searched.len() + passed, 6);
        assert!(found.coverage.exhausted && found.coverage.as_of.is_none());
    }
}

#[tokio::test]
async fn members_are_what_summaries_say() {
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    let found = source.kindred(cx, &sought(&["a"])).await.unwrap();
    assert_eq!(found.members.len(), 6);
    for member in &found.members {
        let uids: UidSet = [member.at.uid].into_iter().collect();
        let told = source
            .summaries(
                cx,
                &member.at.folder,
                member.at.uidvalidity,
                &uids,
                Snippets::Without,
            )
            .await
            .unwrap();
        assert_eq!(told, std::slice::from_ref(&member.summary));
        assert!(source.raw(cx, &member.at, 10).await.is_ok());
    }
}

#[tokio::test]
async fn a_conversation_is_all_that_hangs_together() {
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    let whole = ["INBOX:a", "INBOX:c", "Sent:b", "Work:a", "Work:d", "old:m"];
    let thrown = [
        "INBOX:a", "INBOX:c", "Sent:b", "Trash:t", "Work:a", "Work:d", "old:m",
    ];
    for (ids, want, discarded) in [
        (&["a"][..], &whole[..], &["Junk", "Trash"][..]),
        (&["d"], &whole, &["Junk", "Trash"]),
        // Nobody has it, so that everything was looked at.
        (&["missing"], &thrown, &[]),
        (&["e"], &["Work:e"], &["Junk", "Trash"]),
        // The one that was asked for lies there.
        (&["t"], &thrown, &["Junk"]),
        (&["nobody"], &[], &[]),
    ] {
        let found = source.kindred(cx, &sought(ids)).await.unwrap();
        assert_eq!(shown(&found.members), want, "{ids:?}");
        let passed: Vec<_> = discarded
            .iter()
            .map(|name| ((*name).to_owned(), Why::Discarded))
            .collect();
        assert_eq!(skipped(&found.coverage), passed, "{ids:?}");
        assert!(found.coverage.exhausted);
    }
}

#[tokio::test]
async fn bounds_are_kept_and_said() {
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    let folder = |name: &str| FolderName::new(name).unwrap();
    let mut few = sought(&["a"]);
    few.effort.messages = 2;
    let found = source.kindred(cx, &few).await.unwrap();
    assert_eq!((found.members.len(), found.coverage.exhausted), (2, false));
    let mut only = sought(&["a"]);
    only.within = Within::Only(vec![folder("Work"), folder("nowhere")]);
    let found = source.kindred(cx, &only).await.unwrap();
    assert_eq!(shown(&found.members), ["Work:a"]);
    assert_eq!(found.coverage.searched, [folder("Work")]);
    assert!(found.coverage.is_complete());
}

/// The bound is for servers, which are asked folder by folder.
#[tokio::test]
async fn every_folder_is_searched_however_many_there_are() {
    let store = Store::new(&[("cur/1000000001.a:2,S", &letter("a", &[]))]);
    for number in 0..100 {
        let file = format!(".f{number:03}/cur/1000000002.{number}:2,S");
        store.put(&file, &letter(&format!("n{number}"), &["a"]));
    }
    let mut wanted = sought(&["a"]);
    wanted.effort.folders = 2;
    let found = store.source.kindred(&store.cx, &wanted).await.unwrap();
    assert_eq!(found.members.len(), 101);
    assert_eq!(found.coverage.searched.len(), 101);
    assert!(found.coverage.is_complete());
    let mut last = sought(&["n99"]);
    last.effort.folders = 2;
    let found = store.source.locate(&store.cx, &last).await.unwrap();
    assert_eq!(shown(&found.members), ["f099:n99"]);
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_was_not_named_is_not_opened() {
    use std::os::unix::fs::PermissionsExt as _;
    let store = conversation();
    let cur = store.path(".Sent/cur");
    fs::set_permissions(&cur, fs::Permissions::from_mode(0o000)).unwrap();
    let mut only = sought(&["a"]);
    only.within = Within::Only(vec![FolderName::new("INBOX").unwrap()]);
    let found = store.source.kindred(&store.cx, &only).await.unwrap();
    assert!(found.coverage.is_complete());
    let readable = fs::read_dir(&cur).is_ok(); // the superuser reads everything
    let found = store.source.kindred(&store.cx, &sought(&["a"])).await;
    let failed = skipped(&found.unwrap().coverage).contains(&("Sent".to_owned(), Why::Failed));
    fs::set_permissions(&cur, fs::Permissions::from_mode(0o700)).unwrap();
    assert_ne!(failed, readable);
}

#[tokio::test]
async fn what_comes_and_goes_is_seen_at_once() {
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    let count = |found: Kindred| found.members.len();
    for number in 0..20 {
        let name = format!("new/{}.n", 1_100_000_000 + number);
        store.put(&name, &letter(&format!("n{number}"), &["a"]));
        let found = source.kindred(cx, &sought(&["a"])).await.unwrap();
        assert_eq!(count(found), 7);
        fs::remove_file(store.path(&name)).unwrap();
        let found = source.kindred(cx, &sought(&["a"])).await.unwrap();
        assert_eq!(count(found), 6);
    }
}

/// A chain in which each message names the one before it alone, the loop at its end, and one that names itself.
#[tokio::test]
async fn long_chains_and_loops_end() {
    let store = Store::new(&[]);
    let last = 2_000;
    for number in 0..=last {
        let before = if number == 0 { last } else { number - 1 };
        let text = letter(&format!("n{number}"), &[&format!("n{before}")]);
        store.put(&format!("cur/{}.x:2,", 1_000_000_000 + number), &text);
    }
    store.put("cur/1100000000.s:2,", &letter("self", &["self"]));
    let mut all = sought(&["n7"]);
    all.effort.messages = 10_000;
    let found = store.source.kindred(&store.cx, &all).await.unwrap();
    assert_eq!(found.members.len(), last + 1);
    let found = store.source.kindred(&store.cx, &sought(&["self"])).await;
    assert_eq!(found.unwrap().members.len(), 1);
}

#[tokio::test]
async fn ids_are_looked_up_and_never_become_paths() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("mail");
    let account = AccountId::new("home").unwrap();
    fs::create_dir_all(root.join("cur")).unwrap();
    let canary = letter("../../canary", &[]);
    fs::write(dir.path().join("canary"), &canary).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::symlink;
        symlink(dir.path().join("canary"), root.join("cur/1000000001.x:2,")).unwrap();
        symlink(dir.path().join("canary"), root.join("box")).unwrap();
        symlink(dir.path(), root.join(".Linked")).unwrap();
    }
    let long = "x".repeat(998);
    let inside = [
        "../../cur/1000000002.y",
        "%2e%2e%2fcanary",
        "a b/c",
        "';DROP/**/TABLE",
        &long,
    ];
    for (number, id) in inside.iter().enumerate() {
        let path = root.join(format!("cur/{}.y:2,", 1_000_000_002 + number));
        fs::write(path, letter(id, &[])).unwrap();
    }
    let source = Maildir::open(account, root.clone()).with_index(dir.path().join("state"));
    let cx = Cx::new();
    for (id, want) in [
        ("../../canary", 0),
        ("../canary", 0),
        ("/etc/passwd", 0),
        (inside[0], 1),
        (inside[1], 1),
        (inside[3], 1),
        (inside[4], 1),
    ] {
        for found in [
            source.locate(&cx, &sought(&[id])).await.unwrap(),
            source.kindred(&cx, &sought(&[id])).await.unwrap(),
        ] {
            assert_eq!(found.members.len(), want, "{id}");
            for member in &found.members {
                let file = source.file(&cx, &member.at).await.unwrap().unwrap();
                assert!(file.starts_with(root.join("cur")));
                assert!(fs::symlink_metadata(file).unwrap().is_file());
            }
        }
    }
}

#[tokio::test]
async fn a_file_is_where_the_message_is_now() {
    let store = Store::new(&[("new/1000000001.a", &letter("a", &[]))]);
    let (source, cx) = (&store.source, &store.cx);
    let found = source.locate(cx, &sought(&["a"])).await.unwrap();
    let at = &found.members[0].at;
    let file = source.file(cx, at).await.unwrap();
    assert_eq!(file, Some(store.path("new/1000000001.a")));
    fs::rename(
        store.path("new/1000000001.a"),
        store.path("cur/1000000001.a:2,S"),
    )
    .unwrap();
    let file = source.file(cx, at).await.unwrap();
    assert_eq!(file, Some(store.path("cur/1000000001.a:2,S")));
    fs::remove_file(store.path("cur/1000000001.a:2,S")).unwrap();
    let fault = source.file(cx, at).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NoSuchMessage);
}

#[tokio::test]
async fn many_messages_come_in_the_order_they_were_asked_for() {
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    let found = source.kindred(cx, &sought(&["a"])).await.unwrap();
    let mut wanted: Vec<MessageRef> = found.members.iter().map(|one| one.at.clone()).collect();
    wanted.push(at(Uid(1)));
    let mut elsewhere = at(Uid(1));
    elsewhere.uidvalidity = UidValidity(9);
    wanted.insert(0, elsewhere);
    let choose = |_: &Structure| wishes(&["1"], 1_000);
    let many = source.messages(cx, &wanted, &choose).await.unwrap();
    assert_eq!(many.len(), wanted.len());
    for (at, one) in wanted.iter().zip(&many) {
        let single = source.message(cx, at, &choose).await;
        match (one, single) {
            (Ok(one), Ok(single)) => {
                assert_eq!(one.header, single.header);
                assert_eq!(one.parts[0].bytes, single.parts[0].bytes);
            }
            (Err(one), Err(single)) => assert_eq!(one.kind, single.kind),
            _ => panic!("{at}"),
        }
    }
}

/// Two names whose uids are the same by chance, found by trying.
#[tokio::test]
async fn what_cannot_be_told_apart_is_said_to_be_missing() {
    let mut seen = std::collections::HashMap::new();
    let (one, other) = (0u32..)
        .find_map(|number| {
            let name = format!("1000000001.{number}");
            let uid = name::Name::parse(name.as_bytes()).unwrap().uid();
            seen.insert(uid, name.clone()).map(|first| (first, name))
        })
        .unwrap();
    let store = Store::new(&[
        (&format!("cur/{one}:2,S"), &letter("a", &[])),
        (&format!("new/{other}"), &letter("b", &[])),
        ("cur/1000000002.c:2,S", &letter("c", &["b"])),
        ("cur/1000000003.d:2,S", &letter("d", &[])),
    ]);
    for (id, want, exhausted) in [
        ("a", 0, false),
        ("b", 1, false),
        ("c", 1, false),
        ("d", 1, true),
    ] {
        let found = store.source.kindred(&store.cx, &sought(&[id])).await;
        let found = found.unwrap();
        assert_eq!(found.members.len(), want, "{id}");
        assert_eq!(found.coverage.exhausted, exhausted, "{id}");
    }
}

#[tokio::test]
async fn progress_is_counted() {
    let store = conversation();
    let cx = Cx::new();
    store.source.locate(&cx, &sought(&["a"])).await.unwrap();
    assert_eq!(cx.counted(), Some((7, 7)));
    assert_eq!(cx.stage(), Stage::Index);
}

/// Files that were written a moment ago, so that nothing that is remembered proves anything yet.
#[tokio::test]
async fn a_folder_is_listed_once_for_each_question() {
    let store = Store::new(&[]);
    for number in 0..60 {
        let folder = ["", ".Sent/", ".Work/"][number % 3];
        let before = number.saturating_sub(1);
        let text = letter(&format!("n{number}"), &[&format!("n{before}")]);
        let name = format!("{folder}cur/{}.x:2,", 1_000_000_000 + number);
        store.put(&name, &text);
    }
    let (source, cx) = (&store.source, &store.cx);
    let reads = || {
        let reads = &store.source.catalog.reads;
        reads.swap(0, std::sync::atomic::Ordering::Relaxed)
    };
    for round in 0..3 {
        let found = source.kindred(cx, &sought(&["n30"])).await.unwrap();
        assert_eq!(found.members.len(), 60);
        assert!(reads() <= 3, "{round}");
        let found = source.locate(cx, &sought(&["n30"])).await.unwrap();
        assert_eq!(found.members.len(), 1);
        assert!(reads() <= 3, "{round}");
    }
    let found = source.kindred(cx, &sought(&["n0"])).await.unwrap();
    let wanted: Vec<MessageRef> = found.members.iter().map(|one| one.at.clone()).collect();
    reads();
    let choose = |_: &Structure| Vec::new();
    let many = source.messages(cx, &wanted, &choose).await.unwrap();
    assert!(many.iter().all(Result::is_ok));
    assert!(reads() <= 3);
}

/// With one thread for work, which whoever waits for the index must leave to others.
#[test]
fn who_waits_for_the_index_takes_no_thread_and_may_give_up() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .max_blocking_threads(1)
        .build()
        .unwrap();
    let store = conversation();
    let (source, cx) = (&store.source, &store.cx);
    let wanted = sought(&["a"]);
    runtime.block_on(async {
        let claim = source.index.claim().await;
        let mut given_up = source.locate(cx, &wanted);
        let mut waiting = source.kindred(cx, &wanted);
        for _ in 0..3 {
            for question in [&mut given_up, &mut waiting] {
                tokio::select! {
                    biased;
                    _ = question => panic!("the index was in other hands"),
                    () = std::future::ready(()) => {}
                }
            }
            tokio::task::yield_now().await;
        }
        // Another question, which needs no index, is answered meanwhile.
        source.folders(cx).await.unwrap();
        drop(given_up);
        drop(claim);
        assert_eq!(waiting.await.unwrap().members.len(), 6);
    });
}

/// As if all of it had been written long ago: what was written a moment ago is read again, and counted.
fn age(directory: &Path) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            age(&path);
            continue;
        }
        let file = fs::File::options().write(true).open(path).unwrap();
        let long_ago = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        file.set_modified(long_ago).unwrap();
    }
}

/// Two stores that differ by what lies in a folder that the caller has no part in.
#[tokio::test]
async fn what_lies_outside_changes_no_answer() {
    let from = "From x Mon Nov  3 10:12:30 2025\n";
    let boxed = |text: String| format!("{from}{text}\n");
    let hidden: [&[(&str, String)]; 6] = [
        // An id that is nowhere else, and messages that tie visible ones together.
        &[
            (".Hidden/cur/1200000001.h:2,", letter("h", &["a", "e"])),
            (".Hidden/cur/1200000002.i:2,", letter("i", &["h"])),
        ],
        // More copies of a visible one, also under its file's name.
        &[
            (".Hidden/cur/1000000001.a:2,S", letter("a", &["e"])),
            (".Hidden/new/1000000009.b", letter("b", &["h"])),
        ],
        // What nobody can read or tell apart.
        &[
            (".Hidden/cur/1200000001.h:2,", letter("h", &[])),
            (".Hidden/cur/1200000001.h:2,S", letter("h", &["a"])),
        ],
        &[("secret", boxed(letter("h", &["a"])))],
        &[(".Hidden.Deep/cur/.keep", String::new())],
        &[(".Trash/cur/1200000001.h:2,", letter("h", &["a"]))],
    ];
    let only = ["INBOX", "Sent", "Work", "old", "nowhere"];
    let only: Vec<FolderName> = only.map(|name| FolderName::new(name).unwrap()).to_vec();
    for (case, files) in hidden.iter().enumerate() {
        for known in ["by nobody", "by the owner"] {
            let (plain, other) = (conversation(), conversation());
            for (file, text) in *files {
                other.put(file, text);
            }
            age(plain.root.path());
            age(other.root.path());
            let mut told = Vec::new();
            for store in [&plain, &other] {
                if known == "by the owner" {
                    let all = sought(&["a", "h"]);
                    store.source.kindred(&store.cx, &all).await.unwrap();
                }
                for id in ["h", "a", "e", "nobody's"] {
                    let mut wanted = sought(&[id]);
                    wanted.within = Within::Only(only.clone());
                    let cx = Cx::new();
                    let located = store.source.locate(&cx, &wanted).await.unwrap();
                    let counted = cx.counted();
                    let cx = Cx::new();
                    let kindred = store.source.kindred(&cx, &wanted).await.unwrap();
                    told.push((located, counted, kindred, cx.counted()));
                }
            }
            let (one, two) = told.split_at(told.len() / 2);
            assert_eq!(one, two, "{case}, known {known}");
        }
    }
}
