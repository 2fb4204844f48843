//! Mail of all kinds, with conversations in it, for stores that should agree on it.

use testkit::{Delivery, Flag, Mailgen, fixtures};

use super::super::letters::{Letter, day};

/// A field of a header, as it stands in one line.
pub(super) fn field_of(raw: &[u8], name: &str) -> Option<String> {
    let text = String::from_utf8_lossy(raw).into_owned();
    let header = text.split("\r\n\r\n").next().unwrap_or_default().to_owned();
    let own = |line: &&str| {
        let colon = line.split_once(':');
        colon.is_some_and(|(field, _)| field.eq_ignore_ascii_case(name))
    };
    let line = header.lines().find(own)?.to_owned();
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The conversation about a kiln: a fork, an answer in Sent, a copy in the archive, an ancestor that nobody has, one with
/// another subject, and one who names its parent only in In-Reply-To.
fn kiln() -> Vec<(&'static str, Letter)> {
    let id = |name: &str| format!("{name}@talk.example");
    let first = Letter::new(&id("first"))
        .after(&["lost@talk.example"])
        .says("When does the kiln arrive?\r\n\r\nI ask because of the roof.");
    let answer = Letter::new(&id("answer"))
        .from("Ben <ben@talk.example>")
        .subject("Re: The kiln, answered")
        .after(&["lost@talk.example", "first@talk.example"])
        .on(day(2))
        .flags(&[Flag::Seen])
        .says("On Monday.\r\n\r\nOn Fri, Anna wrote:\r\n> When does the kiln arrive?\r\n>\r\n> I ask because of the roof.");
    let fork = Letter::new(&id("fork"))
        .from("=?utf-8?q?Cem_=C3=96zdemir?= <cem@talk.example>")
        .subject("=?utf-8?b?R3LDvMOfZSB2b20gRGFjaA==?=")
        .after(&["lost@talk.example", "first@talk.example"])
        .on(day(3))
        .flags(&[Flag::Answered, Flag::Flagged, Flag::Seen])
        .says("> I ask because of the roof.\r\nThe roof is fine.\r\n> When does the kiln arrive?\r\nAsk Ben.");
    let late = Letter::new(&id("late"))
        .subject("Re: The kiln, late")
        .header("In-Reply-To: <fork@talk.example>\r\nCc: \"Doe, Dora\" <dora@talk.example>, eve@talk.example\r\n")
        .on(day(6))
        .says("Good.");
    vec![
        ("INBOX", first.clone()),
        ("Archive", first),
        ("Sent", answer),
        ("INBOX", fork),
        ("Projects/Tiles", late),
    ]
}

fn odd() -> Vec<(&'static str, Letter)> {
    let one = |name: &str, number: u64| {
        Letter::new(&format!("{name}@odd.example"))
            .subject(&format!("Odd: {name}"))
            .on(day(number))
    };
    vec![
        ("INBOX", one("empty", 7).says("")),
        ("INBOX", one("loop-a", 8).after(&["loop-b@odd.example"])),
        ("INBOX", one("loop-b", 9).after(&["loop-a@odd.example"])),
        ("INBOX", one("self", 10).after(&["self@odd.example"])),
        (
            "INBOX",
            one("quoted-printable", 11)
                .header("Content-Type: text/plain; charset=iso-8859-15\r\nContent-Transfer-Encoding: quoted-printable\r\n")
                .says("Zehn =A4 f=FCr das Dach=\r\n, nicht mehr."),
        ),
        (
            "Drafts",
            one("draft", 12).flags(&[Flag::Draft, Flag::Seen]).says("Not yet said."),
        ),
        (
            "INBOX",
            one("html", 13)
                .header("Content-Type: text/html; charset=utf-8\r\n")
                .says("<p>On <b>Monday</b> at <a href=\"https://kiln.example/x\">nine</a>.</p><blockquote>When?</blockquote>"),
        ),
        (
            "INBOX",
            one("long", 14).says(&"All work and no play makes a long letter. ".repeat(900)),
        ),
        ("INBOX", one("brackets%2F..", 15).says("An id with a percent sequence.")),
        (
            "INBOX",
            one("folded", 16)
                .header("X-Folded: one\r\n two\r\n\tthree\r\nReply-To: Desk <desk@odd.example>\r\n")
                .says("A folded header."),
        ),
        (
            "INBOX",
            one("attached", 17)
                .header("Content-Type: multipart/mixed; boundary=\"b\"\r\n")
                .says(
                    "--b\r\nContent-Type: text/plain\r\n\r\nSee the plan.\r\n--b\r\nContent-Type: application/pdf; \
                     name=\"plan.pdf\"\r\nContent-Disposition: attachment; filename=\"plan.pdf\"\r\n\
                     Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjQK\r\n--b--",
                ),
        ),
    ]
}

pub(super) fn every_message() -> Vec<(&'static str, Delivery)> {
    let written = kiln().into_iter().chain(odd());
    let mut all: Vec<(&'static str, Delivery)> = written
        .map(|(folder, letter)| (folder, letter.delivery()))
        .collect();
    let fixed = [
        fixtures::plain(),
        fixtures::html_only(),
        fixtures::alternative(),
        fixtures::with_attachment(),
        fixtures::nested_rfc822(),
        fixtures::calendar(),
        fixtures::two_text_parts(),
        fixtures::unnamed_inline(),
        fixtures::big(20_000),
        fixtures::deep_multipart(12),
    ];
    for (number, raw) in (30..).zip(fixed) {
        all.push(("Archive", Delivery::new(raw).at(day(number))));
    }
    for (number, one) in (60..).zip(Mailgen::new(7).messages(20)) {
        let plain: Vec<Flag> = one
            .flags
            .iter()
            .copied()
            .filter(|flag| *flag != Flag::Deleted)
            .collect();
        let folder = ["INBOX", "Sent"][usize::from(number % 2 == 0)];
        all.push((folder, one.at(day(number)).flags(&plain)));
    }
    all
}
