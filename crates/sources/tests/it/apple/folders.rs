//! Which folders there are, what they are called, and what is listed in them.

use mail::{FaultKind, Flag, MailSource as _, SpecialUse, Uid};
use testkit::apple::{ACCOUNT, Cases, EXCHANGE, GMAIL, Generation, Letter, ON_MY_MAC, rows};

use super::{Reader, folder, listing};

fn modern() -> Cases {
    Cases::new(Generation::Modern)
}

#[tokio::test]
async fn an_account_has_its_own_folders_under_their_own_names() {
    let cases = modern();
    for (which, want) in [
        (
            ACCOUNT,
            &[
                "INBOX",
                "Archive",
                "Archive/Kundér",
                "Deleted Messages",
                "Sent Messages",
            ][..],
        ),
        (GMAIL, &["INBOX", "Archive", "[Gmail]/All Mail"]),
        (EXCHANGE, &["INBOX"]),
        (ON_MY_MAC, &["Recovered (🌈)"]),
    ] {
        let reader = Reader::new(cases.store.root(), Some(&which.to_lowercase()));
        assert_eq!(reader.names().await, want, "{which}");
    }
}

#[tokio::test]
async fn with_all_accounts_names_begin_with_theirs() {
    let cases = modern();
    cases.store.account(
        ACCOUNT,
        Some("Kettenwerk"),
        Some("anna@kettenwerk.example"),
        None,
    );
    cases
        .store
        .account("PARENT", Some("Google"), Some("anna@gmail.example"), None);
    cases.store.account(GMAIL, None, Some(""), Some("PARENT"));
    cases.store.account(
        EXCHANGE,
        Some("Kettenwerk"),
        Some("anna@exchange.example"),
        None,
    );
    let reader = Reader::new(cases.store.root(), None);
    let names = reader.names().await;
    for want in [
        "Google/INBOX",
        "Google/Archive",
        "Google/[Gmail]/All Mail",
        "On My Mac/Recovered (🌈)",
        // Of two accounts of one name the second goes by who logs in.
        "anna@exchange.example/INBOX",
        "Kettenwerk/INBOX",
    ] {
        let there = names.iter().any(|name| name.eq_ignore_ascii_case(want));
        let swapped = want.contains("xchange") || want.starts_with("Kett");
        assert!(there || swapped, "{want} in {names:?}");
    }
    let unique: std::collections::HashSet<_> = names.iter().collect();
    assert_eq!(unique.len(), names.len());
    for which in ["google", "anna@gmail.example", GMAIL] {
        let reader = Reader::new(cases.store.root(), Some(which));
        assert_eq!(reader.names().await.len(), 3, "{which}");
    }
    for which in ["Kettenwerk", "nobody"] {
        let reader = Reader::new(cases.store.root(), Some(which));
        let fault = reader.source.verify(&reader.cx).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::NoStore, "{which}");
    }
}

#[tokio::test]
async fn folders_say_what_they_are_for_and_what_is_in_them() {
    let cases = modern();
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    let folders = reader.source.folders(&reader.cx).await.unwrap();
    assert_eq!(folders.unusable, 0);
    for (name, special_use, messages, unread) in [
        ("INBOX", None, 32, 31),
        ("Sent Messages", Some(SpecialUse::Sent), 1, 1),
        ("Deleted Messages", Some(SpecialUse::Trash), 1, 1),
        ("Archive", Some(SpecialUse::Archive), 1, 1),
        ("Archive/Kundér", None, 1, 1),
    ] {
        let found = folders.folders.iter().find(|one| one.name.as_str() == name);
        let found = found.unwrap();
        let counts = found.counts.unwrap();
        assert_eq!(found.special_use, special_use, "{name}");
        assert_eq!(
            (counts.messages, counts.unread),
            (messages, unread),
            "{name}"
        );
    }
}

#[tokio::test]
async fn labels_show_what_lies_elsewhere_and_what_is_deleted_is_gone() {
    for generation in Generation::ALL {
        let cases = Cases::new(generation);
        let which = match generation {
            Generation::Ancient => format!("anna@{GMAIL}@mail.example"),
            _ => GMAIL.to_owned(),
        };
        let reader = Reader::new(cases.store.root(), Some(&which));
        assert_eq!(
            reader.rows("INBOX").await,
            [rows::LABELLED],
            "{generation:?}"
        );
        let all = [rows::ONLY_ALL, rows::LABELLED];
        assert_eq!(reader.rows("[Gmail]/All Mail").await, all, "{generation:?}");
        assert!(
            reader
                .text("INBOX", rows::LABELLED)
                .await
                .contains("labelled@x")
        );
        let other = reader.raw("INBOX", rows::ONLY_ALL).await.err().unwrap();
        assert_eq!(other.kind, FaultKind::NoSuchMessage, "{generation:?}");
        let ours = match generation {
            Generation::Ancient => format!("anna@{ACCOUNT}@mail.example"),
            _ => ACCOUNT.to_owned(),
        };
        let reader = Reader::new(cases.store.root(), Some(&ours));
        assert!(
            !reader.rows("INBOX").await.contains(&rows::DELETED),
            "{generation:?}"
        );
        let deleted = reader.raw("INBOX", rows::DELETED).await.err().unwrap();
        assert_eq!(deleted.kind, FaultKind::NoSuchMessage, "{generation:?}");
    }
}

#[tokio::test]
async fn flags_are_those_of_imap() {
    let cases = modern();
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    let found = reader.list("INBOX").await;
    let flags = |row: i64| {
        let one = found
            .summaries
            .iter()
            .find(|one| i64::from(one.uid.0) == row);
        one.unwrap().flags.clone().unwrap()
    };
    let names = ["\\Seen", "\\Answered", "\\Flagged", "$Forwarded", "$Junk"];
    assert_eq!(flags(rows::FLAGGED), names.map(Flag::new));
    assert_eq!(flags(rows::PLACED[0]), []);
}

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended() {
    let mut cases = modern();
    let inbox = cases.ews;
    for (row, received) in [(9_001, 30), (9_002, 10), (9_003, 20), (9_004, 20)] {
        let letter = Letter::new("Subject: x\n\nx\n")
            .row(row)
            .received(1_900_000_000 + received);
        cases.store.message(inbox, letter);
    }
    let reader = Reader::new(cases.store.root(), Some(EXCHANGE));
    let mut search = listing("INBOX", 2);
    let mut seen = Vec::new();
    loop {
        let found = reader.source.search(&reader.cx, &search).await.unwrap();
        seen.extend(found.summaries.iter().map(|one| one.uid.0));
        let Some(next) = found.next else { break };
        search.below = Some(next);
    }
    assert_eq!(
        seen,
        [
            9_001,
            9_004,
            9_003,
            9_002,
            u32::try_from(rows::EWS).unwrap()
        ]
    );
}

#[tokio::test]
async fn conditions_are_met_by_what_is_here() {
    use mail::Condition;
    let cases = modern();
    let reader = Reader::new(cases.store.root(), Some(ACCOUNT));
    let tests = [
        Condition::Subject("flagged".to_owned()),
        Condition::Flagged(Flag::new("\\Flagged")),
        Condition::Text("grüße für 5 €".to_owned()),
        // Not downloaded: its subject is known, its text is not.
        Condition::Subject("missing".to_owned()),
        Condition::Text("this is missing@x".to_owned()),
        // In an attachment that lies beside its message.
        Condition::Text("and all of it".to_owned()),
    ];
    let sifted = reader
        .source
        .sift(&reader.cx, &folder("INBOX"), &tests)
        .await
        .unwrap();
    let one = |row: i64| vec![Uid(u32::try_from(row).unwrap())];
    let want = [
        one(rows::FLAGGED),
        one(rows::FLAGGED),
        one(rows::LATIN_9),
        one(rows::MISSING),
        Vec::new(),
        one(rows::PARTIAL),
    ];
    for (number, (set, want)) in sifted.sets.iter().zip(want).enumerate() {
        assert_eq!(set.iter().collect::<Vec<_>>(), want, "{number}");
    }
}
