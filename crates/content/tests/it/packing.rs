//! Threads of whole messages, made up and real, packed and made full again.

use content::pack::{Packed, Part, Room, pack, unpack};
use content::{BodyWish, HtmlWish};
use testkit::corpora::{Corpus, Sample};

use crate::source::view;

fn text(raw: &[u8]) -> String {
    let wish = BodyWish {
        offset: 0,
        max_chars: 200_000,
        html: HtmlWish::Skip,
        attachment_text: None,
        only: None,
    };
    view(raw, &wish).body_text.unwrap_or_default()
}

/// Packs, and sees to it that nothing is lost.
fn packed(texts: &[String]) -> Vec<Packed> {
    let numbered = (1..).zip(texts);
    let parts: Vec<Part<'_>> = numbered
        .map(|(number, text)| Part {
            number,
            text,
            uncertain: &[],
            end: content::pack::End::Here,
        })
        .collect();
    let found = pack(&parts, Room::All);
    assert_eq!(unpack(&found, &[]).unwrap(), texts);
    for most in [1_000, 24_000] {
        let found = pack(&parts, Room::Chars(most));
        let shown = found.iter().map(|one| one.text.chars().count());
        assert!(shown.sum::<usize>() <= most);
        let rests: Vec<String> = found
            .iter()
            .zip(texts)
            .map(|(one, full)| {
                let skipped = one.cut.map_or(usize::MAX, |cut| cut.shown_chars);
                full.chars().skip(skipped).collect()
            })
            .collect();
        let rests: Vec<&str> = rests.iter().map(String::as_str).collect();
        assert_eq!(unpack(&found, &rests).unwrap(), texts);
    }
    found
}

/// In percent of all texts as they are.
fn left(texts: &[String]) -> usize {
    let small: usize = packed(texts).iter().map(|one| one.text.len()).sum();
    let plain: usize = texts.iter().map(String::len).sum();
    small * 100 / plain.max(1)
}

/// What letter `number` says that no other does.
fn own(number: usize) -> [String; 4] {
    let about = |what: &str| {
        format!(
            "Letter {number} has something to say about the {what}, and it says it in a line that is longer than most programs like to leave it."
        )
    };
    [
        format!("Dear all, this is letter {number}."),
        about("plan"),
        about("van"),
        "Best regards".to_owned(),
    ]
}

fn reply(kind: &str, body: &str) -> Vec<u8> {
    format!("From: a@b.example\nSubject: Re: Plan\nContent-Type: {kind}\n\n{body}\n").into_bytes()
}

#[test]
fn forty_letters_in_html_each_quoting_all_before() {
    let mut older = String::new();
    let mut texts = Vec::new();
    for number in 0..40 {
        let own: String = own(number)
            .iter()
            .map(|line| format!("<p>{line}</p>"))
            .collect();
        let page = match older.as_str() {
            "" => own,
            older => format!(
                "{own}<div>On Monday, Ann &lt;a@b.example&gt; wrote:<br></div><blockquote>{older}</blockquote>"
            ),
        };
        texts.push(text(&reply("text/html; charset=utf-8", &page)));
        older = page;
    }
    assert!(
        texts[39].contains("> > > > > Letter 2 has"),
        "{}",
        texts[39]
    );
    let left = left(&texts);
    assert!(left <= 15, "{left} %");
}

#[test]
fn forty_letters_in_flowed_text_each_quoting_all_before() {
    let mut older: Vec<String> = Vec::new();
    let mut texts = Vec::new();
    for number in 0..40 {
        let mut lines: Vec<String> = own(number).to_vec();
        if !older.is_empty() {
            lines.push("On Monday Ann wrote:".to_owned());
            lines.extend(older.iter().map(|line| match line.starts_with('>') {
                true => format!(">{line}"),
                false => format!("> {line}"),
            }));
        }
        texts.push(text(&reply(
            "text/plain; charset=utf-8; format=flowed",
            &lines.join("\n"),
        )));
        older = lines;
    }
    let left = left(&texts);
    assert!(left <= 15, "{left} %");
}

/// Plain text of fixed lines below a first letter whose lines are long.
#[test]
fn an_answer_that_wraps_what_it_quotes() {
    let long = own(1).join("\n");
    let first = text(&reply("text/plain", &long));
    let wrapped = "Fine.\n\n> Dear all, this is letter 1.\n> Letter 1 has something to say about the plan, and it says it in a line\n> that is longer than most programs like to leave it.\n> Letter 1 has something to say about the van, and it says it in a line\n> that is longer than most programs like to leave it.\n> Best regards";
    let found = packed(&[first, text(&reply("text/plain", wrapped))]);
    assert_eq!(
        found[1].text,
        "Fine.\n\n[quoted: lines 1-4 of #1, wrapped at 72]"
    );
}

#[test]
fn real_messages_in_threads_that_quote_to_the_end() {
    let samples = Corpus::ALL.into_iter().flat_map(Corpus::samples);
    let bodies: Vec<String> = samples.map(|Sample { raw, .. }| text(&raw)).collect();
    packed(&bodies);
    for some in bodies.chunks(12) {
        let mut spaced: Vec<String> = Vec::new();
        let mut below: Vec<String> = Vec::new();
        for body in some {
            let quote = |line: &str| format!("> {line}").trim_end().to_owned();
            let older = spaced
                .last()
                .map(|last| last.split('\n').map(quote).collect::<Vec<_>>().join("\n"));
            spaced.push(match older {
                Some(older) => format!("{body}\n\nOn Monday Ann wrote:\n{older}"),
                None => body.clone(),
            });
            below.push(match below.last() {
                Some(older) => format!(
                    "{body}\n\n-----Original Message-----\nFrom: A\nSent: B\nTo: C\n\n{older}"
                ),
                None => body.clone(),
            });
        }
        packed(&spaced);
        packed(&below);
        let plain: usize = some.iter().map(String::len).sum();
        let small: usize = packed(&spaced).iter().map(|one| one.text.len()).sum();
        // Each body once, and a few lines for each quote.
        assert!(small <= plain + plain / 5 + 12 * 400, "{small} of {plain}");
    }
}
