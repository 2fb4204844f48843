//! FETCH and SEARCH, Gmail's items and keys among them.

use super::{converse, letter, open};
use imap_codec::ResponseCodec;
use imap_codec::decode::Decoder as _;
use testkit::gmail::{Matching, Place};
use testkit::{Delivery, Flag, Gmail};

const MIXED: &str = "From: carol@example.org\r\nTo: alice@gmail.com\r\nSubject: =?utf-8?q?=C3=9Cbersicht?=\r\n\
    Message-ID: <mixed@example.org>\r\nIn-Reply-To: <one@example.com>\r\n\
    Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nsee attached\r\n--b\r\n\
    Content-Type: application/pdf; name=a.pdf\r\nContent-Disposition: attachment; filename=a.pdf\r\n\r\n%PDF\r\n--b--\r\n";

fn stocked() -> (Gmail, [u64; 3]) {
    let gmail = Gmail::builder().now(1_767_225_600 + 86_400).start();
    let one = gmail.deliver(
        &[Place::Inbox, Place::Important, Place::label("Work")],
        letter("one", "The budget"),
    );
    let two = Delivery::new(letter("two", "Lunch"))
        .at(1_735_689_600)
        .flags(&[Flag::Seen, Flag::Flagged]);
    let two = gmail.deliver_as(&[Place::Inbox, Place::label("Für dich")], &two);
    let three = gmail.deliver(&[Place::Inbox, Place::label("[x]")], MIXED);
    (gmail, [one, two, three])
}

#[test]
fn items_are_told_in_gmails_order() {
    let (gmail, [one, two, three]) = stocked();
    let mut imap = open(&gmail, &Place::Inbox);
    let values = [
        ("one", one.to_string()),
        ("two", two.to_string()),
        ("three", three.to_string()),
    ];
    converse(
        &mut imap,
        &values,
        &[
            (
                "UID FETCH 1:3 (FLAGS X-GM-LABELS X-GM-MSGID X-GM-THRID)",
                "* 1 FETCH (X-GM-THRID {one} X-GM-MSGID {one} X-GM-LABELS (\"\\\\Important\" Work) UID 1 FLAGS ())\n\
                 * 2 FETCH (X-GM-THRID {two} X-GM-MSGID {two} X-GM-LABELS (\"\\\\Starred\" \"F&APw-r dich\") UID 2 \
                 FLAGS (\\Flagged \\Seen))\n\
                 * 3 FETCH (X-GM-THRID {three} X-GM-MSGID {three} X-GM-LABELS ([x]) UID 3 FLAGS ())\nOK Success",
            ),
            (
                "FETCH 2 (RFC822.SIZE INTERNALDATE)",
                "* 2 FETCH (RFC822.SIZE 149 INTERNALDATE \"01-Jan-2025 00:00:00 +0000\")\nOK Success",
            ),
            (
                "UID FETCH 1 ENVELOPE",
                "* 1 FETCH (UID 1 ENVELOPE (\"Thu, 1 Jan 2026 00:00:00 +0000\" \"The budget\" \
                 ((\"Bob\" NIL \"bob\" \"example.com\")) ((\"Bob\" NIL \"bob\" \"example.com\")) \
                 ((\"Bob\" NIL \"bob\" \"example.com\")) ((NIL NIL \"alice\" \"gmail.com\")) NIL NIL NIL \
                 \"<one@example.com>\"))\nOK Success",
            ),
            (
                "FETCH 3 (BODYSTRUCTURE)",
                "* 3 FETCH (BODYSTRUCTURE ((\"TEXT\" \"PLAIN\" NIL NIL NIL \"7BIT\" 12 0 NIL NIL NIL)\
                 (\"APPLICATION\" \"PDF\" (\"NAME\" \"a.pdf\") NIL NIL \"7BIT\" 4 NIL (\"ATTACHMENT\" (\"FILENAME\" \"a.pdf\")) NIL) \
                 \"MIXED\" (\"BOUNDARY\" \"b\") NIL NIL))\nOK Success",
            ),
            (
                "UID FETCH 3 (BODY.PEEK[2] BODY.PEEK[1]<4.100> BODY.PEEK[HEADER.FIELDS (FROM CC)] BODY.PEEK[9])",
                "* 3 FETCH (UID 3 BODY[1]<4> {8}\r\nattached BODY[2] {4}\r\n%PDF BODY[9] NIL \
                 BODY[HEADER.FIELDS (FROM CC)] {27}\r\nFrom: carol@example.org\r\n\r\n)\nOK Success",
            ),
            ("FETCH 1 (FLAGS NONSENSE)", "BAD Could not parse command"),
            ("FETCH 1 (BINARY[1])", "BAD Could not parse command"),
            ("FETCH 1 (BODY[MIME])", "BAD Could not parse command"),
            ("UID FETCH 9 (FLAGS)", "OK Success"),
            ("UID FETCH $ (FLAGS)", "BAD Could not parse command"),
        ],
    );
    let mut all = open(&gmail, &Place::All);
    converse(
        &mut all,
        &values,
        &[(
            "UID FETCH 1 (X-GM-LABELS)",
            "* 1 FETCH (X-GM-LABELS (\"\\\\Inbox\" \"\\\\Important\" Work) UID 1)\nOK Success",
        )],
    );
}

#[test]
fn reading_marks_as_read_in_all_mailboxes_unless_it_peeks() {
    let (gmail, [one, ..]) = stocked();
    let mut work = open(&gmail, &Place::label("Work"));
    let mut imap = open(&gmail, &Place::Inbox);
    let whole = letter("one", "The budget");
    let values = [("whole", whole.clone()), ("size", whole.len().to_string())];
    converse(
        &mut imap,
        &values,
        &[
            (
                "UID FETCH 1 (BODY.PEEK[])",
                "* 1 FETCH (UID 1 BODY[] {{size}}\r\n{whole})\nOK Success",
            ),
            (
                "UID FETCH 1 (BODY[])",
                "* 1 FETCH (UID 1 BODY[] {{size}}\r\n{whole})\n* 1 FETCH (UID 1 FLAGS (\\Seen))\nOK Success",
            ),
        ],
    );
    assert!(gmail.flags(one).contains("\\Seen"));
    assert_eq!(
        work.command("NOOP").text(),
        "* 1 FETCH (UID 1 FLAGS (\\Seen))\nOK Success"
    );
}

#[test]
fn changes_are_told_by_modseq() {
    let (gmail, [one, ..]) = stocked();
    let mut imap = open(&gmail, &Place::Inbox);
    let before = imap.command("SELECT INBOX (CONDSTORE)").text();
    let modseq: u64 = before
        .split("HIGHESTMODSEQ ")
        .nth(1)
        .unwrap()
        .split(']')
        .next()
        .unwrap()
        .parse()
        .unwrap();
    gmail.mark_read(one);
    let values = [
        ("was", modseq.to_string()),
        ("is", (modseq + 1).to_string()),
    ];
    converse(
        &mut imap,
        &values,
        &[
            (
                "UID SEARCH MODSEQ {is}",
                "* SEARCH 1 (MODSEQ {is})\n* 1 FETCH (UID 1 MODSEQ ({is}) FLAGS (\\Seen))\nOK SEARCH completed (Success)",
            ),
            (
                "UID FETCH 1:* (FLAGS) (CHANGEDSINCE {was})",
                "* 1 FETCH (UID 1 MODSEQ ({is}) FLAGS (\\Seen))\nOK Success",
            ),
            (
                "UID STORE 1 (UNCHANGEDSINCE {was}) +FLAGS (\\Answered)",
                "OK [MODIFIED 1] Conditional STORE failed",
            ),
        ],
    );
}

#[test]
fn searches_find_by_words_flags_dates_and_numbers() {
    let (gmail, [one, _, three]) = stocked();
    let mut imap = open(&gmail, &Place::Inbox);
    let values = [("one", one.to_string()), ("three", three.to_string())];
    for (keys, want) in [
        ("ALL", " 1 2 3"),
        ("NOT ALL", ""),
        ("SUBJECT budget", " 1"),
        ("SUBJECT budg", ""),
        ("FROM bob", " 1 2"),
        ("FROM bob@example.com SUBJECT \"lunch\"", " 2"),
        ("HEADER Message-ID \"<one@example.com>\"", " 1"),
        ("TEXT hello", " 1 2"),
        ("BODY attached", " 3"),
        ("SEEN", " 2"),
        ("UNSEEN", " 1 3"),
        ("FLAGGED", " 2"),
        ("KEYWORD $Work", ""),
        ("SINCE 1-Jan-2026", " 1 3"),
        ("BEFORE 1-Jan-2026", " 2"),
        ("ON 1-Jan-2025", " 2"),
        ("SENTSINCE 1-Jan-2026", " 1 2 3"),
        ("LARGER 149 SMALLER 1000", " 1 3"),
        ("OR SUBJECT budget SUBJECT lunch", " 1 2"),
        ("NOT (SEEN FLAGGED)", " 1 3"),
        ("UID 2:*", " 2 3"),
        ("1:2", " 1 2"),
        ("X-GM-MSGID {one}", " 1"),
        ("X-GM-THRID {three}", " 3"),
        ("X-GM-LABELS Work", " 1"),
        ("X-GM-LABELS \"F&APw-r dich\"", " 2"),
        ("X-GM-LABELS \\Important", " 1"),
        ("X-GM-LABELS \"\\\\Starred\"", " 2"),
        ("X-GM-RAW \"from:bob -lunch\"", " 1"),
        ("X-GM-RAW \"has:attachment\"", " 3"),
        ("X-GM-RAW \"budget OR lunch\"", " 1 2"),
        ("X-GM-RAW \"\\\"the budget\\\"\"", " 1"),
        ("X-GM-RAW \"is:unread newer_than:2d\"", " 1 3"),
        ("X-GM-RAW \"older_than:1m\"", " 2"),
        ("X-GM-RAW \"label:work\"", " 1"),
        ("X-GM-RAW \"label:nothing\"", ""),
        ("X-GM-RAW \"larger:200 smaller:1k\"", " 3"),
        ("X-GM-RAW \"filename:a.pdf\"", ""),
        ("X-GM-RAW \"in:anywhere is:starred\"", " 2"),
        ("X-GM-RAW \"in:trash\"", ""),
        ("X-GM-RAW \"rfc822msgid:two@example.com\"", " 2"),
        ("X-GM-RAW \"after:2026/01/01\"", " 1 3"),
        ("X-GM-RAW \"subject:(the budget)\"", " 1"),
        ("CHARSET UTF-8 UNSEEN", " 1 3"),
    ] {
        let command = format!("UID SEARCH {keys}");
        converse(
            &mut imap,
            &values,
            &[(
                &command,
                &format!("* SEARCH{want}\nOK SEARCH completed (Success)"),
            )],
        );
    }
    let foreign =
        imap.command_with_literal("UID SEARCH CHARSET UTF-8 SUBJECT", "übersicht".as_bytes());
    assert_eq!(foreign.lines(), ["* SEARCH 3"]);
    converse(
        &mut imap,
        &values,
        &[
            (
                "UID SEARCH SUBJECT \"übersicht\"",
                "BAD Could not parse command",
            ),
            (
                "UID SEARCH CHARSET KOI8-R ALL",
                "NO [BADCHARSET (UTF-8 US-ASCII)] Unknown charset (Failure)",
            ),
            (
                "UID SEARCH RETURN (SAVE) ALL",
                "BAD Could not parse command",
            ),
            (
                "UID SEARCH INTHREAD REFS ALL",
                "BAD Could not parse command",
            ),
            ("UID SEARCH", "BAD Could not parse command"),
            ("THREAD REFERENCES UTF-8 ALL", "BAD Unknown command"),
            ("SORT (DATE) UTF-8 ALL", "BAD Unknown command"),
        ],
    );
    let tag = imap.send(&["UID SEARCH RETURN (COUNT ALL) UNSEEN"]);
    let reply = imap.read_until(&tag);
    assert_eq!(
        reply.lines(),
        [format!("* ESEARCH (TAG \"{tag}\") UID COUNT 2 ALL 1,3")]
    );
    let tag = imap.send(&["UID SEARCH RETURN (MIN MAX COUNT ALL) DELETED"]);
    let reply = imap.read_until(&tag);
    assert_eq!(
        reply.lines(),
        [format!("* ESEARCH (TAG \"{tag}\") UID COUNT 0")]
    );
}

#[test]
fn parts_of_words_are_found_only_where_that_is_chosen() {
    let gmail = Gmail::builder().matching(Matching::Substrings).start();
    gmail.deliver(&[Place::Inbox], letter("1", "The budget"));
    let mut imap = open(&gmail, &Place::Inbox);
    assert_eq!(
        imap.command("UID SEARCH SUBJECT udge").lines(),
        ["* SEARCH 1"]
    );
}

#[test]
fn answers_belong_to_the_conversation_of_what_they_answer() {
    let gmail = Gmail::start();
    let one = gmail.deliver(&[Place::Inbox], letter("one", "Plan"));
    let answer = format!(
        "In-Reply-To: <one@example.com>\r\n{}",
        letter("two", "Re: Plan")
    );
    let two = gmail.deliver(&[Place::Sent], answer);
    assert_eq!(gmail.thread(two), Some(one));
    let mut all = open(&gmail, &Place::All);
    assert_eq!(
        all.command(&format!("UID SEARCH X-GM-THRID {one}")).lines(),
        ["* SEARCH 1 2"]
    );
}

#[test]
fn answers_are_grammar() {
    let (gmail, _) = stocked();
    let mut imap = open(&gmail, &Place::Inbox);
    for command in [
        "LIST \"\" \"*\" RETURN (STATUS (MESSAGES UNSEEN))",
        "SELECT INBOX",
        "STATUS INBOX (MESSAGES UIDNEXT UIDVALIDITY UNSEEN)",
        "UID FETCH 1:* (FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE BODY)",
        "UID FETCH 1:* (BODY.PEEK[] BODY.PEEK[HEADER.FIELDS (FROM TO)] BODY.PEEK[1]<0.5> BODY.PEEK[2] BODY.PEEK[TEXT])",
        "UID SEARCH ALL",
        "UID STORE 1 +FLAGS (\\Answered)",
        "UID COPY 1:2 Work",
        "UID MOVE 2 [Gmail]/Trash",
        "NAMESPACE",
    ] {
        let reply = imap.command(command);
        let tagged = format!("a {}", reply.status).into_bytes();
        for mut line in reply.untagged.into_iter().chain([tagged]) {
            // As Gmail writes it: without a text.
            if line.starts_with(b"* OK [HIGHESTMODSEQ") {
                continue;
            }
            line.extend(b"\r\n");
            let read = ResponseCodec::default().decode(&line);
            let whole = matches!(&read, Ok((rest, _)) if rest.is_empty());
            assert!(whole, "{}: {read:?}", String::from_utf8_lossy(&line));
        }
    }
}
