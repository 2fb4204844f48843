//! Messages by their Message-IDs, whole conversations, and the index that makes both fast.

use std::fs;

use mail::{Effort, MailSource as _, Skipped, Why, Within};
use testkit::apple::{ACCOUNT, Cases, GMAIL, Generation, Letter, rows};

use super::{Reader, folder, places, sought};

fn reader(cases: &Cases) -> Reader {
    let which = match cases.store.generation() {
        Generation::Ancient => format!("anna@{ACCOUNT}@mail.example"),
        _ => ACCOUNT.to_owned(),
    };
    Reader::new(cases.store.root(), Some(&which))
}

fn named(folder: &str, rows: &[i64]) -> Vec<String> {
    let mut names: Vec<String> = rows.iter().map(|row| format!("{folder}:{row}")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn every_copy_is_found_by_its_id() {
    for generation in Generation::ALL {
        let cases = Cases::new(generation);
        let reader = reader(&cases);
        let found = reader.locate(&["answer@x"]).await;
        let want = [
            format!("Archive:{}", rows::ANSWER_COPY),
            format!("Sent Messages:{}", rows::ANSWER),
        ];
        assert_eq!(places(&found), want, "{generation:?}");
        assert!(found.coverage.exhausted || generation != Generation::Modern);
        assert_eq!(found.coverage.searched.len(), 4);
        let skipped = Skipped {
            folder: folder("Deleted Messages"),
            why: Why::Discarded,
        };
        assert_eq!(found.coverage.skipped, [skipped]);
        for member in &found.members {
            assert_eq!(member.links.id.as_ref().unwrap().bytes(), b"answer@x");
            let summary = &member.summary;
            assert!(summary.structure.is_some() && summary.size.is_some());
        }
        let found = reader.locate(&["nobody@x"]).await;
        assert!(found.members.is_empty() && found.coverage.skipped.is_empty());
        // What is nowhere else is looked for in what was thrown away.
        assert_eq!(found.coverage.searched.len(), 5);
        assert_eq!(
            found.coverage.is_complete(),
            generation == Generation::Modern
        );
        let found = reader.locate(&["unnamed@x"]).await;
        assert_eq!(
            places(&found),
            named("INBOX", &[rows::UNNAMED]),
            "{generation:?}"
        );
        assert!(reader.locate(&["deleted@x"]).await.members.is_empty());
        // As long as nothing was asked of its other account, nothing is told of it.
        assert!(reader.locate(&["labelled@x"]).await.members.is_empty());
    }
}

#[tokio::test]
async fn a_message_is_a_member_of_every_folder_that_shows_it() {
    let cases = Cases::new(Generation::Modern);
    let reader = Reader::new(cases.store.root(), Some(GMAIL));
    let want = [
        format!("INBOX:{}", rows::LABELLED),
        format!("[Gmail]/All Mail:{}", rows::LABELLED),
    ];
    assert_eq!(places(&reader.locate(&["labelled@x"]).await), want);
    let mut sought = sought(&["labelled@x"]);
    sought.within = Within::Only(vec![folder("INBOX"), folder("None")]);
    let found = reader.source.locate(&reader.cx, &sought).await.unwrap();
    assert_eq!(places(&found), want[..1]);
    assert_eq!(found.coverage.searched, [folder("INBOX")]);
    assert_eq!(found.coverage.skipped.len(), 1);
    assert!(!found.coverage.is_complete());
}

#[tokio::test]
async fn conversations_are_whole_and_strangers_stay_out() {
    for generation in Generation::ALL {
        let cases = Cases::new(generation).chained();
        let reader = reader(&cases);
        let mut talk = named("INBOX", &[rows::QUESTION, rows::RENAMED]);
        // Who names a message that is only known by the database is known where that has a table for it.
        if generation != Generation::Ancient {
            talk.extend(named("INBOX", &[rows::MISSING]));
        }
        talk.extend(named("Archive", &[rows::ANSWER_COPY]));
        talk.extend(named("Sent Messages", &[rows::ANSWER]));
        talk.sort();
        let chain: Vec<i64> = (0..rows::LINKS).map(|step| rows::CHAIN + step).collect();
        for (asked, want) in [
            ("question@x", talk.clone()),
            ("renamed@x", talk.clone()),
            ("answer@x", talk),
            ("same@x", named("INBOX", &[rows::SAME_SUBJECT])),
            ("stranger.610@x", named("INBOX", &[rows::STRANGERS[0]])),
            // Nobody has this one; two name it.
            ("lost@x", named("INBOX", &rows::ORPHANS)),
            ("orphan.620@x", named("INBOX", &rows::ORPHANS)),
            ("loop.1@x", named("INBOX", &rows::LOOP)),
            (
                "conversed.1@x",
                named("INBOX", &[rows::CONVERSED, rows::CONVERSED + 1]),
            ),
            ("chain.250@x", named("Archive", &chain)),
            ("nobody@x", Vec::new()),
        ] {
            let found = reader.kindred(&[asked]).await;
            assert_eq!(places(&found), want, "{generation:?} {asked}");
            // What was not downloaded may be part of it where the database does not say so.
            let told = found.coverage.exhausted || generation != Generation::Modern;
            assert!(told, "{generation:?} {asked}");
        }
    }
}

#[tokio::test]
async fn what_was_thrown_away_joins_where_it_is_asked_for() {
    for generation in Generation::ALL {
        let mut cases = Cases::new(generation);
        let (trash, inbox) = (cases.trash, cases.inbox);
        let thrown = Letter::new("Message-ID: <thrown@x>\nReferences: <question@x>\n\nx\n");
        cases.store.message(trash, thrown.row(700));
        let reply = Letter::new("Message-ID: <reply@x>\nReferences: <thrown@x>\n\nx\n");
        cases.store.message(inbox, reply.row(701));
        let reader = reader(&cases);
        let found = reader.locate(&["thrown@x", "question@x"]).await;
        let mut want = named("Deleted Messages", &[700]);
        want.extend(named("INBOX", &[rows::QUESTION]));
        assert_eq!(places(&found), want, "{generation:?}");
        let talk = places(&reader.kindred(&["thrown@x"]).await);
        for want in [
            "Deleted Messages:700",
            "Deleted Messages:604",
            "INBOX:600",
            "INBOX:701",
        ] {
            assert!(talk.contains(&want.to_owned()), "{generation:?} {want}");
        }
        let talk = places(&reader.kindred(&["question@x"]).await);
        assert!(
            !talk.contains(&"Deleted Messages:700".to_owned()),
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn what_may_not_be_searched_leads_nowhere() {
    for generation in Generation::ALL {
        let cases = Cases::new(generation);
        let reader = reader(&cases);
        let mut sought = sought(&["question@x"]);
        sought.within = Within::Only(vec![folder("Sent Messages")]);
        let found = reader.source.kindred(&reader.cx, &sought).await.unwrap();
        assert_eq!(
            places(&found),
            named("Sent Messages", &[rows::ANSWER]),
            "{generation:?}"
        );
    }
}

#[tokio::test]
async fn a_bound_that_was_met_is_said() {
    let cases = Cases::new(Generation::Modern).chained();
    let reader = reader(&cases);
    let mut sought = sought(&["chain.0@x"]);
    sought.effort = Effort {
        folders: 1,
        rounds: 1,
        messages: 10,
    };
    let found = reader.source.kindred(&reader.cx, &sought).await.unwrap();
    assert_eq!(found.members.len(), 10);
    assert!(!found.coverage.exhausted);
}

#[tokio::test]
async fn the_index_is_private_holds_no_ids_and_follows_the_store() {
    for generation in Generation::ALL {
        let mut cases = Cases::new(generation);
        let state = tempfile::tempdir().unwrap();
        let state = state.path().join("new/state");
        let which = match generation {
            Generation::Ancient => format!("anna@{ACCOUNT}@mail.example"),
            _ => ACCOUNT.to_owned(),
        };
        let open = || Reader::keeping(cases.store.root(), Some(&which), Some(state.clone()));
        let first = open();
        assert_eq!(first.locate(&["question@x"]).await.members.len(), 1);
        let file = |state: &std::path::Path| {
            let mut files = fs::read_dir(state).unwrap();
            let file = files.next().unwrap().unwrap().path();
            assert!(files.next().is_none());
            file
        };
        let file = file(&state);
        let bytes = fs::read(&file).unwrap();
        assert!(
            !bytes.windows(8).any(|at| at == b"question"),
            "{generation:?}"
        );
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode =
                |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!((mode(&file), mode(&state)), (0o600, 0o700));
        }
        let new =
            Letter::new("Message-ID: <new@x>\nReferences: <question@x>\n\nnew\n").row(1_500_000);
        cases.store.message(cases.sent, new);
        for reader in [
            first,
            Reader::keeping(cases.store.root(), Some(&which), Some(state.clone())),
        ] {
            let found = reader.locate(&["new@x"]).await;
            assert_eq!(
                places(&found),
                named("Sent Messages", &[1_500_000]),
                "{generation:?}"
            );
            let talk = places(&reader.kindred(&["question@x"]).await);
            assert!(
                talk.contains(&"Sent Messages:1500000".to_owned()),
                "{generation:?}"
            );
        }
        let copy = Letter::new("Message-ID: <new@x>\nReferences: <question@x>\n\nnew\n");
        cases
            .store
            .message(cases.inbox, copy.row(1_500_001).unnamed());
        let reader = Reader::keeping(cases.store.root(), Some(&which), Some(state.clone()));
        let found = reader.locate(&["new@x"]).await;
        let want = ["INBOX:1500001", "Sent Messages:1500000"];
        assert_eq!(places(&found), want, "{generation:?}");
        // Whatever became of the file, the answer is the same.
        for broken in [
            &b""[..],
            b"no database at all",
            bytes.get(..bytes.len() / 2).unwrap(),
        ] {
            fs::write(&file, broken).unwrap();
            let reader = Reader::keeping(cases.store.root(), Some(&which), Some(state.clone()));
            assert_eq!(
                reader.locate(&["new@x"]).await.members.len(),
                2,
                "{generation:?}"
            );
        }
    }
}

#[tokio::test]
async fn an_id_that_is_told_later_is_found_later() {
    let cases = Cases::new(Generation::Modern);
    let reader = reader(&cases);
    assert!(reader.locate(&["late@x"]).await.members.is_empty());
    let tell = "UPDATE message_global_data SET message_id_header = '<late@x>' WHERE ROWID = \
                (SELECT global_message_id FROM messages WHERE ROWID = 510)";
    cases.store.sql(tell);
    assert_eq!(
        places(&reader.locate(&["late@x"]).await),
        named("INBOX", &[rows::MISSING])
    );
    assert!(reader.locate(&["missing@x"]).await.members.is_empty());
}

#[tokio::test]
async fn a_store_that_was_built_anew_is_indexed_anew() {
    let state = tempfile::tempdir().unwrap();
    let mut cases = Cases::new(Generation::Modern);
    let open = |root| Reader::keeping(root, Some(ACCOUNT), Some(state.path().to_owned()));
    let reader = open(cases.store.root());
    assert_eq!(reader.locate(&["question@x"]).await.members.len(), 1);
    // As Mail does it: the database goes, and a new one numbers from the beginning.
    cases.store.quit();
    let database = cases.store.database();
    let mut other = Cases::new(Generation::Modern);
    other.store.sql("UPDATE message_global_data SET message_id_header = replace(message_id_header, 'question', 'asked')");
    other.store.quit();
    fs::remove_file(&database).unwrap();
    fs::copy(other.store.database(), &database).unwrap();
    assert!(reader.locate(&["asked@x"]).await.members.len() == 1);
    assert_eq!(
        open(cases.store.root())
            .locate(&["asked@x"])
            .await
            .members
            .len(),
        1
    );
}

#[tokio::test]
async fn an_index_that_goes_bad_under_a_running_program_is_made_again() {
    type Harm = fn(&std::path::Path);
    let harms: [(&str, Harm); 5] = [
        ("file", |file| fs::remove_file(file).unwrap()),
        ("directory", |file| {
            fs::remove_dir_all(file.parent().unwrap()).unwrap();
        }),
        ("no directory", |file| {
            let directory = file.parent().unwrap();
            fs::remove_dir_all(directory).unwrap();
            fs::write(directory, "in the way").unwrap();
        }),
        ("zeros", |file| fs::write(file, [0; 65_536]).unwrap()),
        ("table", |file| {
            let index = rusqlite::Connection::open(file).unwrap();
            index
                .execute_batch("DROP TABLE has; DROP TABLE headers")
                .unwrap();
        }),
    ];
    for generation in Generation::ALL {
        for (name, harm) in harms {
            let mut cases = Cases::new(generation);
            let which = match generation {
                Generation::Ancient => format!("anna@{ACCOUNT}@mail.example"),
                _ => ACCOUNT.to_owned(),
            };
            let home = tempfile::tempdir().unwrap();
            let state = home.path().join("index");
            let reader = Reader::keeping(cases.store.root(), Some(&which), Some(state.clone()));
            assert_eq!(reader.locate(&["question@x"]).await.members.len(), 1);
            let file = fs::read_dir(&state).unwrap().next().unwrap().unwrap();
            harm(&file.path());
            let new = Letter::new("Message-ID: <new@x>\nReferences: <question@x>\n\nnew\n");
            cases.store.message(cases.sent, new.row(1_500_000));
            for _ in 0..2 {
                let found = reader.locate(&["new@x"]).await;
                let want = named("Sent Messages", &[1_500_000]);
                assert_eq!(places(&found), want, "{generation:?} {name}");
                let talk = places(&reader.kindred(&["question@x"]).await);
                let told = talk.contains(&"Sent Messages:1500000".to_owned());
                assert!(told, "{generation:?} {name}");
            }
        }
    }
}
