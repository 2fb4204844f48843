//! Policies that load, and what is said of them.

use mail::{Domain, Folded, Level, MailAddress};

use super::*;
use crate::Capability::{AcceptIncoming, DraftAppend, MarkSeen, MarkTagged, MoveOut};
use crate::{Capability, Mode, Predicate, Rule, Span};

fn folder(mode: Mode, path: &str, default: Level) -> FolderPolicy {
    FolderPolicy {
        path: FolderPattern::parse(path).unwrap(),
        mode,
        default,
        rules: Vec::new(),
        capabilities: crate::Capabilities::NONE,
    }
}

fn white(path: &str, default: Level) -> FolderPolicy {
    folder(Mode::Whitelist, path, default)
}

fn black(path: &str, default: Level) -> FolderPolicy {
    folder(Mode::Blacklist, path, default)
}

impl FolderPolicy {
    fn can(mut self, each: &[Capability]) -> Self {
        self.capabilities = each.iter().copied().collect();
        self
    }

    fn rule(mut self, level: Level, predicates: Vec<Predicate>) -> Self {
        self.rules.push(Rule { predicates, level });
        self
    }
}

fn policy(folders: Vec<FolderPolicy>) -> Policy {
    Policy::new("some", vec![(AccountId::new("a").unwrap(), folders)]).unwrap()
}

fn attached() -> Vec<Predicate> {
    vec![Predicate::HasAttachment(true)]
}

/// `code @ spot` of each, in order.
fn told(callers: &[(&str, &Policy)]) -> Vec<String> {
    let line = |one: &Warning| format!("{} @ {}: {}", one.code.name(), one.caller, one.spot);
    let found = lint(callers);
    for one in &found {
        assert!(
            !one.text.contains('\n') && !one.text.ends_with('.'),
            "{}",
            one.text
        );
    }
    found.iter().map(line).collect()
}

#[test]
fn codes_are_stable() {
    let names = Code::ALL.map(Code::name);
    let distinct: std::collections::BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), Code::ALL.len());
    let hints: Vec<_> = Code::ALL
        .into_iter()
        .filter(|code| code.weight() == Weight::Hint)
        .map(Code::name)
        .collect();
    assert_eq!(
        hints,
        [
            "target_shows_more",
            "sender_not_proven",
            "folder_without_use"
        ]
    );
}

#[test]
fn limits_and_tools() {
    for (folders, want) in [
        (vec![], vec![]),
        (
            vec![black("X", Level::Full)],
            vec!["caller_without_limits @ me: the policy"],
        ),
        (
            vec![black("X", Level::Full), black("Y", Level::Body)],
            vec!["folder_without_limits @ me: a / X"],
        ),
        (
            vec![black("X", Level::Full).rule(Level::Body, attached())],
            vec![],
        ),
        (vec![black("X", Level::Body)], vec![]),
        (
            vec![white("X", Level::None)],
            vec!["folder_without_use @ me: a / X"],
        ),
        (
            vec![black("X", Level::Count).can(&[MarkSeen, MarkTagged, MoveOut])],
            vec!["nothing_to_change @ me: a / X"; 3],
        ),
        (
            vec![black("X", Level::Metadata).can(&[MarkSeen, MarkTagged])],
            vec![],
        ),
        (
            vec![
                black("X", Level::Metadata).can(&[MoveOut]),
                black("Y", Level::Metadata),
            ],
            vec!["nowhere_to_move @ me: a / X"],
        ),
        (
            vec![black("X", Level::Metadata).can(&[MoveOut, AcceptIncoming])],
            vec![
                "nowhere_to_move @ me: a / X",
                "nothing_to_accept @ me: a / X",
            ],
        ),
        (
            vec![
                black("X", Level::Metadata).can(&[MoveOut]),
                white("Y", Level::None).can(&[AcceptIncoming]),
            ],
            vec![],
        ),
        (
            vec![
                black("X", Level::Count),
                white("Y", Level::None).can(&[AcceptIncoming]),
            ],
            vec!["nothing_to_accept @ me: a / Y"],
        ),
        (
            vec![white("Drafts", Level::None).can(&[DraftAppend])],
            vec![],
        ),
    ] {
        assert_eq!(
            told(&[("me", &policy(folders.clone()))]),
            want,
            "{folders:?}"
        );
    }
    assert_eq!(
        told(&[("me", &Policy::owner())]),
        ["caller_without_limits @ me: the policy"]
    );
}

#[test]
fn patterns_and_trust() {
    let domain = |text| Predicate::FromDomain(Domain::new(text).unwrap());
    let from = |text| Predicate::From(MailAddress::parse(text).unwrap());
    let to = |text| Predicate::To(MailAddress::parse(text).unwrap());
    let subject = |text| Predicate::SubjectContains(Folded::new(text));
    let to_contains = |text| Predicate::ToContains(Folded::new(text));
    let newer = |text| Predicate::NewerThan(Span::parse(text).unwrap());
    let older = |text| Predicate::OlderThan(Span::parse(text).unwrap());
    let top = u64::from(u32::MAX);
    for (predicate, want) in [
        (domain("x.example"), None),
        (domain("https://x.example"), Some("never_matches")),
        (domain("x.example/y"), Some("never_matches")),
        (domain("localhost"), Some("never_matches")),
        (domain("[192.0.2.1]"), None),
        (domain("[ipv6:2001:db8::1]"), None),
        (from("a@x.example"), None),
        (from("*@x.example"), Some("never_matches")),
        (from("mailto:a@x.example"), Some("never_matches")),
        (to("<a@x.example"), Some("never_matches")),
        (to("\"a@x.example"), Some("never_matches")),
        (to("a@x.example"), None),
        (subject("  "), Some("always_matches")),
        (subject(" a "), None),
        (to_contains("@"), Some("always_matches")),
        (to_contains("."), Some("always_matches")),
        (to_contains("@x"), None),
        (Predicate::SizeGt(top), Some("never_matches")),
        (Predicate::SizeGt(top - 1), None),
        (Predicate::SizeLt(top), Some("always_matches")),
        (Predicate::SizeLt(top - 1), None),
        (older("50y"), Some("never_matches")),
        (older("49y"), None),
        (newer("50y"), Some("always_matches")),
        (newer("49y"), None),
    ] {
        let inbox = white("X", Level::None).rule(Level::Headers, vec![predicate.clone()]);
        let want: Vec<_> = want
            .map(|code| format!("{code} @ me: a / X, rule 1"))
            .into_iter()
            .collect();
        assert_eq!(told(&[("me", &policy(vec![inbox]))]), want, "{predicate:?}");
    }

    let x = || domain("x.example");
    for (folder, want) in [
        (
            white("X", Level::None).rule(Level::Headers, vec![x()]),
            None,
        ),
        (
            white("X", Level::None).rule(Level::Body, vec![subject("a"), x()]),
            Some("sender_not_proven"),
        ),
        (
            white("X", Level::None).rule(Level::Full, vec![from("a@x.example")]),
            Some("sender_not_proven"),
        ),
        (
            white("X", Level::None).rule(Level::Full, vec![subject("a")]),
            None,
        ),
        (
            black("X", Level::Body).rule(Level::None, vec![x()]),
            Some("blacklist_by_sender"),
        ),
        (
            black("X", Level::Body).rule(Level::None, vec![x(), subject("a")]),
            None,
        ),
        (black("X", Level::Body).rule(Level::None, attached()), None),
    ] {
        let want: Vec<_> = want
            .map(|code| format!("{code} @ me: a / X, rule 1"))
            .into_iter()
            .collect();
        assert_eq!(
            told(&[("me", &policy(vec![folder.clone()]))]),
            want,
            "{folder:?}"
        );
    }
}

#[test]
fn mail_that_can_reach_another_caller() {
    let leaks = "leaks_to_caller @ me: a / Shared";
    let reader = |folders| policy(folders);
    let mine = |can: &[Capability]| {
        policy(vec![
            black("INBOX", Level::Body),
            white("Shared", Level::None).can(can),
        ])
    };
    let shared = || black("Shared", Level::Envelope);
    for (mine, theirs, want) in [
        (mine(&[AcceptIncoming]), reader(vec![shared()]), vec![leaks]),
        (mine(&[DraftAppend]), reader(vec![shared()]), vec![leaks]),
        (
            mine(&[AcceptIncoming, DraftAppend]),
            reader(vec![shared()]),
            vec![leaks],
        ),
        (
            mine(&[]),
            reader(vec![shared()]),
            vec!["folder_without_use @ me: a / Shared"],
        ),
        (
            mine(&[AcceptIncoming]),
            reader(vec![black("Shared", Level::Metadata)]),
            vec![],
        ),
        (
            mine(&[AcceptIncoming]),
            reader(vec![black("Other", Level::Body)]),
            vec![],
        ),
        // Whoever sees the source as well learns nothing.
        (
            mine(&[AcceptIncoming]),
            reader(vec![shared(), black("INBOX", Level::Body)]),
            vec![],
        ),
        (
            mine(&[AcceptIncoming]),
            reader(vec![shared(), black("INBOX", Level::Headers)]),
            vec![leaks],
        ),
        // Some of it is not all of it.
        (
            mine(&[AcceptIncoming]),
            reader(vec![
                shared(),
                black("INBOX", Level::Body).rule(Level::Headers, attached()),
            ]),
            vec![leaks],
        ),
        // What shows no text is not private enough to tell of.
        (
            policy(vec![
                black("INBOX", Level::Headers),
                white("Shared", Level::None).can(&[DraftAppend]),
            ]),
            reader(vec![shared()]),
            vec![],
        ),
        // A folder leaks nothing into itself.
        (
            policy(vec![black("Shared", Level::Body).can(&[DraftAppend])]),
            reader(vec![shared()]),
            vec![],
        ),
    ] {
        let all = told(&[("me", &mine), ("other", &theirs)]);
        let of_me: Vec<_> = all.iter().filter(|line| line.contains("@ me")).collect();
        assert_eq!(of_me, want, "{mine:?} {theirs:?}");
    }
    // The same rules show the same; the owner is shown everything; nobody is another than oneself.
    let by_rule = || white("INBOX", Level::None).rule(Level::Body, attached());
    let mine = policy(vec![
        by_rule(),
        white("Shared", Level::None).can(&[AcceptIncoming]),
    ]);
    let alike = policy(vec![by_rule(), shared()]);
    assert_eq!(
        told(&[("me", &mine), ("other", &alike)]),
        Vec::<String>::new()
    );
    let lesser = policy(vec![
        white("INBOX", Level::None).rule(Level::Headers, attached()),
        shared(),
    ]);
    assert_eq!(told(&[("me", &mine), ("other", &lesser)]), [leaks]);
    let differing = white("INBOX", Level::None).rule(Level::Body, vec![Predicate::SizeGt(1)]);
    assert_eq!(
        told(&[("me", &mine), ("other", &policy(vec![differing, shared()]))]),
        [leaks]
    );
    let capped = black("INBOX", Level::Envelope).rule(Level::None, attached());
    assert_eq!(
        told(&[("me", &mine), ("other", &policy(vec![capped, shared()]))]),
        [leaks]
    );
    let owner = Policy::owner();
    assert_eq!(
        told(&[("me", &mine), ("boss", &owner)]),
        ["caller_without_limits @ boss: the policy"]
    );
    let text = &lint(&[("me", &mine), ("other", &lesser)])[0].text;
    assert!(text.starts_with("reads a / INBOX and has accept_incoming here, where 'other' reads"));
}

#[test]
fn targets_that_would_show_more() {
    let rises = "target_shows_more @ me: a / Y";
    for (source, target, want) in [
        (Level::Metadata, Level::Envelope, vec![rises]),
        (
            Level::Count,
            Level::Envelope,
            vec!["nothing_to_accept @ me: a / Y"],
        ),
        (Level::Envelope, Level::Envelope, vec![]),
        (Level::Body, Level::Envelope, vec![]),
    ] {
        let folders = vec![
            black("X", source),
            black("Y", target).can(&[AcceptIncoming]),
        ];
        assert_eq!(
            told(&[("me", &policy(folders))]),
            want,
            "{source:?} {target:?}"
        );
    }
    let only_seen = vec![
        black("X", Level::Metadata),
        black("Y", Level::Body).can(&[MarkSeen]),
    ];
    assert_eq!(told(&[("me", &policy(only_seen))]), Vec::<String>::new());
}

#[test]
fn pattern_over_all_folders_is_warned_of() {
    for (folder, want) in [
        (black("*", Level::Headers), vec![]),
        (
            black("*", Level::Body),
            vec!["pattern_opens_all @ me: a / *"],
        ),
        (
            black("[Gmail]/*", Level::Body),
            vec!["pattern_opens_all @ me: a / [Gmail]/*"],
        ),
        (black("INBOX/*", Level::Body), vec![]),
        (
            black("*", Level::Metadata).can(&[MarkSeen]),
            vec!["pattern_opens_all @ me: a / *"],
        ),
        (
            white("*", Level::None).rule(Level::Body, attached()),
            vec!["pattern_opens_all @ me: a / *"],
        ),
    ] {
        assert_eq!(
            told(&[("me", &policy(vec![folder.clone()]))]),
            want,
            "{folder:?}"
        );
    }
    let wide = policy(vec![
        black("*", Level::Body).can(&[MoveOut, AcceptIncoming]),
    ]);
    let text = &lint(&[("me", &wide)])[0].text;
    assert!(
        text.starts_with("gives BODY, move_out, accept_incoming in Trash, Junk"),
        "{text}"
    );
    // From one folder of a pattern to another mail can go.
    assert_eq!(told(&[("me", &wide)]), ["pattern_opens_all @ me: a / *"]);
}

#[test]
fn entry_that_takes_out_of_a_pattern_has_its_use() {
    let unused = "folder_without_use @ me: a / Private";
    for (folders, want) in [
        (
            vec![black("*", Level::Headers), white("Private", Level::None)],
            vec![],
        ),
        (
            vec![black("A/*", Level::Headers), white("Private", Level::None)],
            vec![unused],
        ),
        (
            vec![black("A/*", Level::Headers), white("A/B/*", Level::None)],
            vec![],
        ),
    ] {
        assert_eq!(
            told(&[("me", &policy(folders.clone()))]),
            want,
            "{folders:?}"
        );
    }
}

#[test]
fn mail_reaches_another_caller_through_patterns() {
    let mine = |target: &str| {
        policy(vec![
            black("INBOX", Level::Body),
            white(target, Level::None).can(&[AcceptIncoming]),
        ])
    };
    for (target, theirs, leaks) in [
        ("Shared", vec![black("*", Level::Envelope)], true),
        ("Shared/*", vec![black("Shared/A", Level::Envelope)], true),
        ("Shared/*", vec![black("Other/*", Level::Envelope)], false),
        ("Shared", vec![black("*", Level::Body)], false),
        (
            "Shared",
            vec![black("*", Level::Body), black("INBOX", Level::Headers)],
            true,
        ),
        (
            "Shared",
            vec![black("*", Level::Body), white("Shared", Level::None)],
            false,
        ),
    ] {
        let theirs = policy(theirs);
        let all = told(&[("me", &mine(target)), ("other", &theirs)]);
        let found = all
            .iter()
            .any(|line| line.starts_with("leaks_to_caller @ me"));
        assert_eq!(found, leaks, "{target} {theirs:?}");
    }
    // The source is a pattern: the other sees as much only if it does in every folder of it.
    let all = policy(vec![black("*", Level::Body).can(&[AcceptIncoming])]);
    for (theirs, leaks) in [
        (vec![black("*", Level::Body)], false),
        (
            vec![black("*", Level::Body), white("Private", Level::None)],
            true,
        ),
        (vec![black("A/*", Level::Body)], true),
    ] {
        let theirs = policy(theirs);
        let all = told(&[("me", &all), ("other", &theirs)]);
        let found = all
            .iter()
            .any(|line| line.starts_with("leaks_to_caller @ me"));
        assert_eq!(found, leaks, "{theirs:?}");
    }
}
