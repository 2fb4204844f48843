//! What is left out and what stays, as tables; that nothing is lost, over threads that are made up.

use super::*;
use crate::shield::{Shape, shield};
use proptest::prelude::*;

fn parts<T: AsRef<str>>(texts: &[T]) -> Vec<Part<'_>> {
    let numbered = (1..).zip(texts);
    numbered
        .map(|(number, text)| Part {
            number,
            text: text.as_ref(),
            uncertain: &[],
            end: End::Here,
        })
        .collect()
}

#[test]
fn half_a_line_is_the_source_of_nothing() {
    let plan = "The plan is to move on Friday.\nBring the boxes, all of them, and the long lad";
    let answer = "I will.\n\n> The plan is to move on Friday.\n> Bring the boxes, all of them, and the long lad";
    let texts = [plan, answer];
    let mut given = parts(&texts);
    let last = |found: &[Packed]| found.last().map(|one| one.text.clone()).unwrap();
    assert!(!last(&pack(&given, Room::All)).contains("long lad"));
    given[0].end = End::Elsewhere;
    let told = last(&pack(&given, Room::All));
    assert!(
        told.contains("> Bring the boxes, all of them, and the long lad"),
        "{told}"
    );
}

/// Packs, and sees to it that nothing is lost.
fn packed<T: AsRef<str>>(texts: &[T]) -> Vec<String> {
    let found = pack(&parts(texts), Room::All);
    let again = unpack(&found, &[]).unwrap();
    let full: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
    assert_eq!(again, full);
    assert!(found.iter().all(|one| one.cut.is_none()));
    found.into_iter().map(|one| one.text).collect()
}

const PLAN: &str = "Hello Bob,\n\nthe plan is to move on Friday at ten.\nBring the boxes and the tape, please.\n\nWe need a van as well; I have asked Cy.\n\nAnn";

fn quoted(text: &str) -> String {
    let line = |line: &str| match line {
        "" => ">".to_owned(),
        line => format!("> {line}"),
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

fn html_quoted(text: &str) -> String {
    let line = |line: &str| match line {
        deep if deep.starts_with("> > > > >") || deep.starts_with(">>>>>") => deep.to_owned(),
        marks if marks.bytes().all(|byte| byte == b'>') => format!(">{marks}"),
        line => format!("> {line}"),
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

#[test]
fn quotes_of_what_is_here_are_left_out() {
    let answer = format!("Fine.\n\nOn Monday Ann wrote:\n{}", quoted(PLAN));
    let forward = "See below.\n\nBegin forwarded message:\nFrom: somebody who has something to say";
    let tight = |text: &str| quoted(text).replace("> > ", ">> ").replace("> >", ">>");
    let wrapped = "The plan is to move on Friday at ten, and everybody brings boxes and tape and whatever else there may be at home.";
    for (what, first, second, want) in [
        (
            "a whole message below the answer",
            PLAN,
            answer.clone(),
            "Fine.\n\nOn Monday Ann wrote:\n[quoted: lines 1-8 of #1]",
        ),
        (
            "a part of it",
            PLAN,
            "Yes.\n\n> the plan is to move on Friday at ten.\n> Bring the boxes and the tape, please.".to_owned(),
            "Yes.\n\n[quoted: lines 3-4 of #1]",
        ),
        (
            "an older message below its own head",
            PLAN,
            format!("Fine.\n\n-----Original Message-----\nFrom: Ann\nSent: Monday\nTo: Bob\nSubject: Plan\n\n{PLAN}"),
            "Fine.\n\n-----Original Message-----\nFrom: Ann\nSent: Monday\nTo: Bob\nSubject: Plan\n\n[quoted: lines 1-8 of #1, as is]",
        ),
        (
            "the same in another language, without a line above",
            PLAN,
            format!("Gut.\n\nVon: Ann\nGesendet: Montag\nAn: Bob\n\n{PLAN}"),
            "Gut.\n\nVon: Ann\nGesendet: Montag\nAn: Bob\n\n[quoted: lines 1-8 of #1, as is]",
        ),
        (
            "a quote that is quoted again",
            answer.as_str(),
            format!("So be it.\n\n{}", tight(&answer)),
            "So be it.\n\n[quoted: lines 1-11 of #1, tight]",
        ),
        (
            "a quote as our HTML renderer writes it",
            answer.as_str(),
            format!("So be it.\n\n{}", html_quoted(&answer)),
            "So be it.\n\n[quoted: lines 1-11 of #1, html]",
        ),
        (
            "a quote of somebody's forward",
            forward,
            format!("Thanks.\n\n{}", quoted(forward)),
            "Thanks.\n\n[quoted: lines 1-4 of #1]",
        ),
        (
            "no blank behind the mark",
            PLAN,
            format!("Fine.\n>{}", PLAN.replace('\n', "\n>")),
            "Fine.\n[quoted: lines 1-8 of #1, bare]",
        ),
        (
            "twice quoted, and nobody quoted it once",
            PLAN,
            format!("Fine.\n\n{}", quoted(&quoted(PLAN))),
            "Fine.\n\n[quoted: lines 1-8 of #1, 2 times]",
        ),
        (
            "a long line that was wrapped",
            wrapped,
            "Fine.\n\n> The plan is to move on Friday at ten, and everybody brings\n> boxes and tape and whatever else there may be at home.".to_owned(),
            "Fine.\n\n[quoted: line 1 of #1, wrapped at 60]",
        ),
    ] {
        assert_eq!(packed(&[first, &second])[1], want, "{what}");
    }
}

#[test]
fn what_stands_nowhere_else_stays() {
    for (what, first, second) in [
        (
            "a quote of another message",
            PLAN,
            quoted("What does the van cost?\nAnd who drives it on Friday, I wonder?"),
        ),
        (
            "a changed quote",
            PLAN,
            "> the plan is to move on Sunday at ten.\n> Bring the boxes and the rope, please."
                .to_owned(),
        ),
        ("other line ends", PLAN, quoted(PLAN).replace('\n', " \n")),
        (
            "a forward",
            PLAN,
            format!(
                "See below.\n\n---------- Forwarded message ---------\n\n{}",
                quoted(PLAN)
            ),
        ),
        (
            "a forward that says so in words",
            PLAN,
            format!("Begin forwarded message:\n\n{}", quoted(PLAN)),
        ),
        (
            "a short quote",
            PLAN,
            "> Hello Bob,\n>\n\nHello Ann".to_owned(),
        ),
        ("one's own words, said again", PLAN, PLAN.to_owned()),
        (
            "wrapped elsewhere than where it was full",
            "The plan is to move on Friday at ten, and everybody brings boxes.",
            "> The plan is to move\n> on Friday at ten, and everybody\n> brings boxes.".to_owned(),
        ),
    ] {
        assert_eq!(packed(&[first, &second])[1], second, "{what}");
    }
    let later = [quoted(PLAN), PLAN.to_owned()];
    assert_eq!(packed(&later), later, "what is said later is no source");
}

#[test]
fn an_answer_between_quoted_lines_keeps_what_it_answers() {
    let first = "one line of a letter that is long enough\ntwo lines of a letter that is long enough\nthree lines of a letter that is long\n\nAnd this is the question that matters?\n\nfour lines of a letter that is long enough\nfive lines of a letter that is long enough";
    let second = quoted(first).replace("> four", "\nYes, it is.\n\n> four");
    assert_eq!(
        packed(&[first, &second])[1],
        "[quoted: lines 1-4 of #1]\n> And this is the question that matters?\n>\n\nYes, it is.\n\n[quoted: lines 7-8 of #1]"
    );
}

#[test]
fn mail_that_looks_like_a_marker_is_told_from_one() {
    let first = "[quoted: lines 1-8 of #1]\n\\[quoted: \nand more of the same, over and over, and on\nand more of the same, once again, and off";
    let second = format!("{}\n[quoted: line 1 of #9]\n{first}", quoted(first));
    let found = packed(&[first, &second]);
    assert!(found[0].starts_with("\\[quoted: lines 1-8 of #1]\n\\\\[quoted: \nand"));
    let marker = unpack(
        &[Packed {
            number: 1,
            text: "[quoted: line 1 of #1]".to_owned(),
            uncertain: Vec::new(),
            cut: None,
        }],
        &[],
    );
    assert_eq!(marker, Err(Broken::Lines));
}

/// Forty people who quote all that came before.
fn forty(quote: fn(&str) -> String) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for number in 0..40 {
        let mut text =
            format!("Dear all,\n\nthis is what I think of it, and my number is {number}.\n");
        for line in 0..6 {
            text.push_str(&format!(
                "Line {line} of letter {number} says something that no other letter says.\n"
            ));
        }
        text.push_str("\nBest regards\nPerson");
        if let Some(last) = texts.last() {
            text.push_str(&format!(
                "\n\nOn Monday at {number} o'clock somebody <some@body.example> wrote:\n{}",
                quote(last)
            ));
        }
        texts.push(text);
    }
    texts
}

fn below_a_head(text: &str) -> String {
    format!(
        "-----Original Message-----\nFrom: Somebody <some@body.example>\nSent: Monday\nTo: All\nSubject: RE: Plan\n\n{text}"
    )
}

#[test]
fn of_forty_messages_quoted_to_the_end_a_seventh_is_left() {
    for quote in [quoted, html_quoted, below_a_head] {
        let texts = forty(quote);
        let plain: usize = texts.iter().map(String::len).sum();
        let small: usize = packed(&texts).iter().map(String::len).sum();
        assert!(small * 100 <= plain * 15, "{small} of {plain}");
    }
}

/// What holds of any texts and any room.
fn holds(texts: &[String], most: usize) {
    packed(texts);
    let found = pack(&parts(texts), Room::Chars(most));
    let shown: usize = found.iter().map(|one| one.text.chars().count()).sum();
    assert!(shown <= most);
    let rests: Vec<String> = found
        .iter()
        .zip(texts)
        .map(|(one, full)| {
            let total = full.chars().count();
            let Some(cut) = one.cut else {
                return String::new();
            };
            assert_eq!((cut.number, cut.total_chars), (one.number, total));
            assert!(cut.shown_chars < total);
            full.chars().skip(cut.shown_chars).collect()
        })
        .collect();
    let rests: Vec<&str> = rests.iter().map(String::as_str).collect();
    assert_eq!(unpack(&found, &rests).unwrap(), texts);
}

#[test]
fn what_was_cut_is_told_and_so_are_quotes_of_it() {
    let texts = forty(quoted);
    for most in [0, 50, 12_500, 14_000] {
        holds(&texts, most);
    }
    let found = pack(&parts(&texts), Room::Chars(13_500));
    let least = found.iter().map(|one| one.text.chars().count()).min();
    assert!(least.unwrap() > 200, "{least:?}");
    assert_eq!(
        found.last().unwrap().cut,
        None,
        "the newest is not cut first"
    );
    assert!(found[1].cut.is_some());
    assert!(
        found[39]
            .text
            .ends_with("[quoted: lines 1-544 of #39, shown to line 7]"),
        "{}",
        found[39].text
    );
}

#[test]
fn the_newest_is_cut_when_all_others_are_at_their_least() {
    let long =
        |letter: &str| format!("{letter} says a line of about forty characters.\n").repeat(100);
    let texts = [long("Ann"), "short".to_owned(), long("Cy")];
    let found = pack(&parts(&texts), Room::Chars(2_000));
    let sizes: Vec<usize> = found.iter().map(|one| one.text.chars().count()).collect();
    assert!(sizes[0] > 250 && sizes[0] <= LEAST, "{sizes:?}");
    assert_eq!(found[1].text, "short");
    assert!(sizes[2] > 1_500, "{sizes:?}");
    let cuts = found.iter().map(|one| one.cut.is_some());
    assert!(cuts.eq([true, false, true]));
}

#[test]
fn repeats_without_end_take_no_time_without_end() {
    let same = "a b c\n".repeat(20_000);
    let deep = ">>>>>>>> a b c\n".repeat(20_000);
    let long = "a b c ".repeat(50_000);
    let marks = ">".repeat(200_000);
    let begun = format!("x\n{}\n", ">".repeat(100_000));
    let texts = [
        same,
        deep.clone(),
        long,
        marks,
        begun,
        "> x\n>y\n".repeat(10_000),
        deep,
    ];
    packed(&texts);
}

/// Lines that are common to many texts, and lines that look like marks and markers.
fn line() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "",
        "a",
        "> ",
        ">",
        ">> ",
        "the same words over and over again ",
        "[quoted: lines 1-2 of #1]",
        "\\",
        "[quoted: ",
        "-----Original Message-----",
        "From: a",
        "Sent: b",
        "To: c",
        "---- Forwarded message ----",
        " ",
        "ü",
        "On Monday Ann wrote:",
        "long enough that it may be left out when it is quoted",
        "\r",
        "<image@x.y>",
        "👩\u{200D}🚀",
    ]);
    prop::collection::vec(pieces, 0..4).prop_map(|pieces| pieces.concat())
}

/// What an answer does with an older text.
#[derive(Clone, Debug)]
enum Deed {
    Quote,
    Tight,
    Html,
    Bare,
    Same,
    Wrap(usize),
    Twice,
}

fn done(deed: &Deed, text: &str) -> String {
    match deed {
        Deed::Quote => quoted(text),
        Deed::Tight => quoted(text).replace("> > ", ">> ").replace("> >", ">>"),
        Deed::Html => html_quoted(text),
        Deed::Bare => format!(">{}", text.replace('\n', "\n>")),
        Deed::Same => below_a_head(text),
        Deed::Wrap(width) => {
            let lines = quoted(text);
            let lines = lines.split('\n').flat_map(|line| quote::wrap(line, *width));
            lines.collect::<Vec<_>>().join("\n")
        }
        Deed::Twice => quoted(&quoted(text)),
    }
}

fn thread() -> impl Strategy<Value = Vec<String>> {
    let deed = prop_oneof![
        Just(Deed::Quote),
        Just(Deed::Tight),
        Just(Deed::Html),
        Just(Deed::Bare),
        Just(Deed::Same),
        (10_usize..80).prop_map(Deed::Wrap),
        Just(Deed::Twice),
    ];
    let lines = || prop::collection::vec(line(), 0..6).prop_map(|lines| lines.join("\n"));
    let letter = (
        lines(),
        prop::option::of((any::<prop::sample::Index>(), deed)),
        lines(),
    );
    prop::collection::vec(letter, 1..8).prop_map(|letters| {
        let mut texts: Vec<String> = Vec::new();
        for (before, quote, after) in letters {
            let mut text = before;
            if let Some((which, deed)) = quote.filter(|_| !texts.is_empty()) {
                let older = texts[which.index(texts.len())].clone();
                text = format!("{text}\n{}", done(&deed, &older));
            }
            texts.push(format!("{text}\n{after}"));
        }
        texts
    })
}

proptest! {
    #[test]
    fn nothing_is_lost(texts in thread(), most in 0_usize..2_000) {
        holds(&texts, most);
    }

    #[test]
    fn no_texts_make_it_fall(texts in prop::collection::vec(any::<String>(), 0..5), most in 0_usize..200) {
        holds(&texts, most);
    }

    #[test]
    fn what_was_safe_is_safe_when_it_is_packed(texts in thread(), most in 0_usize..2_000) {
        let safe: Vec<String> = texts.iter().map(|text| shield(text, Shape::Body).text).collect();
        for room in [Room::All, Room::Chars(most)] {
            for one in pack(&parts(&safe), room) {
                prop_assert_eq!(&shield(&one.text, Shape::Body).text, &one.text);
            }
        }
    }
}
