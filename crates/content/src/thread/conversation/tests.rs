//! Conversations as tables: trees of the RFC, lost and repeated messages, wrong clocks, loops, depth.

use super::*;
use crate::thread::copies;
use crate::thread::groups::tests::links;
use mail::{Summary, Uid};

/// Whom it answers and when, of a message written as `a < b c @ time`, where `time` is `sent`, `sent/arrived` or nothing.
struct Letter {
    links: Links,
    sent: Option<Timestamp>,
    arrived: Option<Timestamp>,
}

fn letter(text: &str) -> Letter {
    let (names, times) = text.split_once('@').unwrap_or((text, ""));
    let (sent, arrived) = times.split_once('/').unwrap_or((times, ""));
    let time = |text: &str| {
        let seconds = text.trim().parse().ok()?;
        Timestamp::from_second(seconds).ok()
    };
    Letter {
        links: links(names),
        sent: time(sent),
        arrived: time(arrived),
    }
}

fn nodes(letters: &[Letter]) -> Vec<Node<'_>> {
    let each = letters.iter().map(|letter| Node {
        links: &letter.links,
        sent: letter.sent,
        arrived: letter.arrived,
        rank: 0,
        text: Text::Here,
        likeness: Likeness::default(),
    });
    each.collect()
}

/// `a b(a) c(b)`: the turns in order, each with the one it answers.
fn told(found: &Conversation, letters: &[Letter]) -> String {
    let name = |place: usize| {
        let id = letters[found.turns[place].index].links.id.as_ref();
        id.map_or("_".to_owned(), |id| {
            String::from_utf8_lossy(id.bytes()).into_owned()
        })
    };
    let turns = found.turns.iter().enumerate().map(|(place, turn)| {
        let copies = "+".repeat(turn.copies.len());
        match turn.parent {
            Some(parent) => format!("{}{copies}({})", name(place), name(parent)),
            None => format!("{}{copies}", name(place)),
        }
    });
    turns.collect::<Vec<_>>().join(" ")
}

fn missing_names(found: &Conversation) -> String {
    let names = found
        .missing
        .iter()
        .map(|id| String::from_utf8_lossy(id.bytes()).into_owned());
    names.collect::<Vec<_>>().join(" ")
}

#[test]
fn who_answers_whom_and_when() {
    for (what, messages, want, missing) in [
        ("one alone", &["a @1"][..], "a", ""),
        (
            "its own references count",
            &["a @1", "b < a @2", "x @3"],
            "a b(a)",
            "",
        ),
        // RFC 5256 section 4: (3 6 (4 23)(44 7 96)).
        (
            "the tree of the RFC",
            &[
                "3 @1",
                "6 < 3 @2",
                "4 < 3 6 @3",
                "23 < 6 4 @4",
                "44 < 6 @5",
                "7 < 6 44 @6",
                "96 < 7 @7",
            ],
            "3 6(3) 4(6) 23(4) 44(6) 7(44) 96(7)",
            "",
        ),
        // RFC 5256 section 4: ((3)(5)), siblings whose parent is not there.
        (
            "siblings without their parent",
            &["3 < p @1", "5 < p @2"],
            "3 5",
            "p",
        ),
        (
            "a lost link is passed over",
            &["a @1", "c < a b @2"],
            "a c(a)",
            "b",
        ),
        ("several lost ancestors", &["d < a b c @1"], "d", "a b c"),
        (
            "a renamed subject is no matter",
            &["a @1", "b < a @2", "c < a b @3"],
            "a b(a) c(b)",
            "",
        ),
        (
            "time, not depth, orders branches",
            &["a @1", "b < a @4", "c < a @2", "d < c @3"],
            "a c(a) d(c) b(a)",
            "",
        ),
        (
            "a reply whose clock is slow",
            &["a @100", "b < a @50", "c < a @60"],
            "a b(a) c(a)",
            "",
        ),
        (
            "a clock in the future yields to arrival",
            &["a @1", "b < a @9999/5", "c < b @7/8"],
            "a b(a) c(b)",
            "",
        ),
        (
            "no date: by arrival",
            &["a @/1", "c < a @/3", "b < a @/2"],
            "a b(a) c(a)",
            "",
        ),
        (
            "no time at all: behind its parent",
            &["a @1", "b < a @2", "c < a"],
            "a c(a) b(a)",
            "",
        ),
        (
            "the same moment: by references",
            &["c < a b @1", "b < a @1", "a @1"],
            "a b(a) c(b)",
            "",
        ),
        (
            "the same moment: by id",
            &["a @1", "d < a @2", "b < a @2"],
            "a b(a) d(a)",
            "",
        ),
        (
            "oneself is no parent",
            &["a < a @1", "b < b a @2"],
            "a b(a)",
            "",
        ),
        (
            "a loop opens at its earliest",
            &["a < c @1", "b < a @2", "c < b @3"],
            "a b(a) c(b)",
            "",
        ),
        (
            "a loop with a tail",
            &["a < b @2", "b < a @1", "c < a @3", "d < x @9"],
            "b a(b) c(a)",
            "",
        ),
        (
            "a copy is no turn",
            &["a @1", "a @1", "b < a @2", "b < a @2", "b < a @3"],
            "a+ b++(a)",
            "",
        ),
        (
            "no id and no likeness: no copy",
            &["a @1", "_ < a @2", "_ < a @2"],
            "a _(a) _(a)",
            "",
        ),
    ] {
        let letters: Vec<Letter> = messages.iter().map(|text| letter(text)).collect();
        let found = conversation(&nodes(&letters), 0);
        assert_eq!(told(&found, &letters), want, "{what}");
        assert_eq!(missing_names(&found), missing, "{what}");
        for turn in &found.turns {
            let above = turn.parent.map(|parent| found.turns[parent].depth);
            assert_eq!(turn.depth, above.map_or(0, |above| above + 1), "{what}");
        }
    }
    assert_eq!(conversation(&[], 0), Conversation::default());
}

fn member(header: &str, body: &str) -> Member {
    let raw = format!("{header}\n\n{body}");
    let outline = crate::outline(raw.as_bytes());
    Member {
        at: mail::MessageRef::parse("imap:a:INBOX:1:1").unwrap(),
        links: crate::links(outline.header()),
        summary: Summary {
            store_id: None,
            uid: Uid(1),
            order: 0,
            flags: None,
            arrived: None,
            size: Some(raw.len() as u64),
            header: Some(mail::SummaryHeader::Fields(crate::list_fields(
                outline.header(),
                false,
            ))),
            structure: Some(std::sync::Arc::new(outline.structure.clone())),
            text: None,
        },
    }
}

#[test]
fn copies_are_told_from_strangers_under_one_name() {
    let root = "Message-ID: <r@x>\nFrom: r@x\nSubject: Plan";
    let ann = "Message-ID: <a@x>\nReferences: <r@x>\nFrom: Ann <ann@x>\nDate: Mon, 2 Nov 2026 10:00:00 +0000\nSubject: Re: Plan";
    let nameless = "References: <r@x>\nFrom: Ann <ann@x>\nDate: Mon, 2 Nov 2026 10:00:00 +0000\nSubject: Re: Plan";
    let another = |from: &str, to: &str| ann.replace(from, to);
    for (what, members, turns, namesakes) in [
        (
            "the same in two folders, with other fields of the way",
            vec![
                (ann.to_owned(), "hello"),
                (format!("Received: x\n{ann}"), "hello"),
            ],
            2,
            0,
        ),
        (
            "a list puts its name before the subject",
            vec![
                (ann.to_owned(), "hello"),
                (another("Re: Plan", "[dev] Plan"), "hello"),
            ],
            2,
            0,
        ),
        (
            "another sender under the same id",
            vec![
                (ann.to_owned(), "hello"),
                (another("ann@x", "eve@x"), "hello"),
            ],
            3,
            1,
        ),
        (
            "another text under the same id",
            vec![(ann.to_owned(), "hello"), (ann.to_owned(), "hello, pay")],
            3,
            1,
        ),
        (
            "no id: all agrees",
            vec![
                (nameless.to_owned(), "hello"),
                (nameless.to_owned(), "hello"),
            ],
            2,
            0,
        ),
        (
            "no id: the size differs",
            vec![
                (nameless.to_owned(), "hello"),
                (format!("X: y\n{nameless}"), "hello"),
            ],
            3,
            0,
        ),
    ] {
        let mut all = vec![member(root, "first")];
        all.extend(members.iter().map(|(header, body)| member(header, body)));
        let nodes: Vec<Node<'_>> = all
            .iter()
            .map(|one| Node::new(one, 0, Text::Here, Likeness::of(&one.summary)))
            .collect();
        let found = conversation(&nodes, 0);
        assert_eq!(found.turns.len(), turns, "{what}");
        assert_eq!(found.namesakes.len(), namesakes, "{what}");
    }
}

#[test]
fn the_copy_with_a_text_is_read_then_the_first_then_the_best() {
    let header = "Message-ID: <a@x>\nFrom: ann@x\nSubject: Plan";
    let mut all: Vec<Member> = (0..4).map(|_| member(header, "hello")).collect();
    // Nothing but the header came of the first.
    all[0].summary.structure = None;
    for (arrived, one) in [2, 4, 3, 4].into_iter().zip(&mut all) {
        one.summary.arrived = Timestamp::from_second(arrived).ok();
    }
    let mut nodes: Vec<Node<'_>> = all
        .iter()
        .map(|one| Node::new(one, 1, Text::Here, Likeness::of(&one.summary)))
        .collect();
    nodes[0].text = Text::Missing;
    nodes[2].rank = 2;
    nodes[3].rank = 0;
    let found = conversation(&nodes, 1);
    assert_eq!(found.turns.len(), 1);
    assert_eq!(
        (found.turns[0].index, &found.turns[0].copies[..]),
        (2, &[3, 1, 0][..])
    );
}

#[test]
fn messages_are_told_apart_without_looking_at_what_they_answer() {
    let plan = "Message-ID: <a@x>\nFrom: ann@x\nSubject: Plan";
    let other = "Message-ID: <a@x>\nFrom: bob@x\nSubject: Plan";
    let mut all = [plan, other, plan].map(|header| member(header, "hello"));
    for (arrived, one) in [7, 6, 5].into_iter().zip(&mut all) {
        one.summary.arrived = Timestamp::from_second(arrived).ok();
    }
    let nodes: Vec<Node<'_>> = all
        .iter()
        .map(|one| Node::new(one, 0, Text::Here, Likeness::of(&one.summary)))
        .collect();
    assert_eq!(copies(&nodes), [vec![2, 0], vec![1]]);
    assert!(copies(&[]).is_empty());
}

#[test]
fn no_depth_and_no_crowd_is_a_danger() {
    let count = 20_000;
    let chain: Vec<Letter> = (0..count)
        .map(|n| letter(&format!("{} < {} @{}", n + 1, n, count - n)))
        .collect();
    let found = conversation(&nodes(&chain), 9_999);
    assert_eq!(found.turns.len(), chain.len());
    assert_eq!(found.turns.last().unwrap().depth, count - 1);
    let ring: Vec<Letter> = (0..count)
        .map(|n| letter(&format!("{} < {} @1", n, (n + 1) % count)))
        .collect();
    let found = conversation(&nodes(&ring), 0);
    assert_eq!((found.turns.len(), found.missing.len()), (ring.len(), 0));
    let crowd: Vec<Letter> = (0..count)
        .map(|n| letter(&format!("{} < r @{n}", n % 7)))
        .collect();
    let found = conversation(&nodes(&crowd), 0);
    assert_eq!((found.turns.len(), found.missing.len()), (7, 1));
}
