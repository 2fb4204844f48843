//! The facts of a message, by which a policy judges it: the one place where they are computed, for every tool.
//!
//! As the sender wrote them, decoded; the shield is for readers. What is missing, unreadable or too long is unknown,
//! never a default: a policy that does not know does not show.

use std::str;

use mail::{Address, Envelope, FactsBuf, Folded, Known, MailAddress, Raw, Structure, Summary};

use crate::address::{MOST_READ, is_no_host, is_no_mailbox, unquoted};
use crate::roles::{attached, roles};
use crate::words;

/// A subject of more bytes is unknown, decoded or not.
const MOST_SUBJECT: usize = 16 * 1024;
const MOST_RAW_SUBJECT: usize = 4 * MOST_SUBJECT;
/// Octets of recipients that are read, beyond what a thousand ordinary addresses take. They are kept in memory.
const MOST_RECIPIENTS: usize = 64 * 1024;

pub fn facts(summary: &Summary) -> FactsBuf {
    let envelope = summary.envelope.as_ref();
    let (recipients, recipients_known) = envelope.map(recipients).unwrap_or_default();
    FactsBuf {
        from: envelope.and_then(from),
        recipients,
        recipients_known,
        subject: envelope.and_then(|envelope| subject(envelope.subject.as_ref()?)),
        has_attachment: summary.structure.as_deref().and_then(has_attachment),
        arrived: summary.arrived.map(|time| time.as_second()),
        size: summary.size,
    }
}

/// The first address counts. If it cannot be read, the second one is not taken for it.
fn from(envelope: &Envelope) -> Option<MailAddress> {
    address(envelope.from.iter().find(|one| !is_group_mark(one))?)
}

fn recipients(envelope: &Envelope) -> (Vec<MailAddress>, Known) {
    let mut found = Vec::new();
    let mut whole = true;
    let mut room = MOST_RECIPIENTS;
    for list in [&envelope.to, &envelope.cc] {
        // A list of this length may have been cut.
        whole &= list.len() < MOST_READ;
        let named = list.iter().take(MOST_READ);
        for one in named.filter(|one| !is_group_mark(one)) {
            let address = address(one);
            let left = |one: &MailAddress| room.checked_sub(one.as_str().len());
            match address.as_ref().and_then(left) {
                Some(left) => {
                    room = left;
                    found.extend(address);
                }
                None => whole = false,
            }
        }
    }
    let known = match whole && !found.is_empty() {
        true => Known::Whole,
        false => Known::NotWhole,
    };
    (found, known)
}

/// Where a group begins, and where it ends (RFC 3501 section 7.4.2). An address has a host.
pub(crate) fn is_group_mark(one: &Address) -> bool {
    one.host.is_none() && (one.mailbox.is_some() || one.name.is_none())
}

pub(crate) fn address(one: &Address) -> Option<MailAddress> {
    let local = spelled(one.mailbox.as_ref()?)?;
    let host = spelled(one.host.as_ref()?)?;
    if is_no_mailbox(local.as_bytes()) || is_no_host(host.as_bytes()) {
        return None;
    }
    MailAddress::new(str::from_utf8(&unquoted(local.as_bytes())).ok()?, host)
}

/// RFC 2047 section 5: no encoded word stands in an address. One that does would be read by some and not by others.
fn spelled(raw: &Raw) -> Option<&str> {
    let text = str::from_utf8(raw.bytes()).ok()?;
    (!text.contains("=?")).then_some(text)
}

fn subject(raw: &Raw) -> Option<Folded> {
    if raw.len() > MOST_RAW_SUBJECT {
        return None;
    }
    let text = words::decoded(raw.bytes());
    (text.len() <= MOST_SUBJECT).then(|| Folded::new(&text))
}

/// How many attachments the tools that read a message would list.
pub fn attachment_count(structure: &Structure) -> usize {
    attached(structure, &roles(structure)).count()
}

/// What the tools that read a message would list.
fn has_attachment(structure: &Structure) -> Option<bool> {
    let roles = roles(structure);
    match attached(structure, &roles).next() {
        Some(_) => Some(true),
        None if structure.cut || structure.leaves.is_empty() => None,
        None => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outline::outline;
    use jiff::Timestamp;
    use mail::Uid;
    use proptest::prelude::*;
    use std::sync::Arc;

    fn summary(envelope: Option<Envelope>) -> Summary {
        Summary {
            store_id: None,
            uid: Uid(1),
            order: 0,
            flags: None,
            arrived: None,
            size: None,
            envelope,
            structure: None,
            text: None,
        }
    }

    fn of_header(header: &[u8]) -> FactsBuf {
        facts(&summary(Some(crate::envelope(header))))
    }

    fn sender(header: &str) -> Option<String> {
        let from = of_header(header.as_bytes()).from;
        from.map(|address| address.as_str().to_owned())
    }

    #[test]
    fn the_first_sender_counts() {
        for (header, want) in [
            ("From: Alice@Example.COM.\n\n", Some("alice@example.com")),
            (
                "From: \"boss@good.com\" <x@evil.com>\n\n",
                Some("x@evil.com"),
            ),
            (
                "From: =?utf-8?Q?boss=40good.com?= <x@evil.com>\n\n",
                Some("x@evil.com"),
            ),
            (
                "From: =?utf-8?Q?boss=40good.com_=3Cboss=40good.com=3E=2C?= <x@evil.com>\n\n",
                Some("x@evil.com"),
            ),
            ("From: boss@good.com <x@evil.com>\n\n", Some("x@evil.com")),
            ("From: (boss@good.com) x@evil.com\n\n", Some("x@evil.com")),
            ("From: x@evil.com (boss@good.com)\n\n", Some("x@evil.com")),
            ("From: x(c)@evil.com\n\n", Some("x@evil.com")),
            ("From: <x@evil.com(c)>\n\n", Some("x@evil.com")),
            ("From: a@b.example, c@d.example\n\n", Some("a@b.example")),
            (
                "From: a@b.example\nFrom: c@d.example\n\n",
                Some("a@b.example"),
            ),
            ("From: root, c@d.example\n\n", None),
            ("From: root\nFrom: c@d.example\n\n", None),
            ("From: <a b@d.example>, c@d.example\n\n", None),
            ("From: Team: c@d.example;\n\n", Some("c@d.example")),
            ("From: good@good.com:;, x@evil.com\n\n", Some("x@evil.com")),
            ("From: undisclosed:;\n\n", None),
            ("From: \"alice\"@example.com\n\n", Some("alice@example.com")),
            (
                "From: <\"alice\"@example.com>\n\n",
                Some("alice@example.com"),
            ),
            (
                "From: <\"al\\ice\"@example.com>\n\n",
                Some("alice@example.com"),
            ),
            ("From: \"a b\"@example.com\n\n", None),
            (
                "From: <\"a@good.com\"@evil.com>\n\n",
                Some("a@good.com@evil.com"),
            ),
            (
                "From: <a@good.com@evil.com>\n\n",
                Some("a@good.com@evil.com"),
            ),
            ("From: <@good.com,@b:x@evil.com>\n\n", Some("x@evil.com")),
            (
                "From: J <j@MÜLLER.example>\n\n",
                Some("j@xn--mller-kva.example"),
            ),
            (
                "From: j@xn--mller-kva.example\n\n",
                Some("j@xn--mller-kva.example"),
            ),
            ("From: =?utf-8?q?j?=@good.com\n\n", None),
            ("From: <j@=?utf-8?q?good.com?=>\n\n", None),
            ("From: x@[192.0.2.1]\n\n", Some("x@[192.0.2.1]")),
            ("From: x@a..b\n\n", None),
            ("From: x@\n\n", None),
            ("From: @evil.com\n\n", None),
            ("From: <>\n\n", None),
            ("From: x\0y@evil.com\n\n", None),
            ("From: x@evil\0.com\n\n", None),
            ("From: x@e\u{ad}vil.com\n\n", None),
            ("From:\n\n", None),
            ("To: a@b.example\n\n", None),
            ("", None),
        ] {
            assert_eq!(sender(header).as_deref(), want, "{header:?}");
        }
        assert_eq!(
            of_header(b"From: x\xfc@good.com, a@b.example\n\n").from,
            None
        );
        assert_eq!(facts(&summary(None)).from, None);
    }

    #[test]
    fn recipients_are_whole_or_not() {
        use Known::{NotWhole, Whole};
        let many = |times| format!("To: {}\n\n", vec!["a@b.example"; times].join(", "));
        for (header, want, known) in [
            (
                "To: A@b.Example, c@d.e\n\n",
                vec!["a@b.example", "c@d.e"],
                Whole,
            ),
            ("To: a@b.c\nCC: d@e.f\n\n", vec!["a@b.c", "d@e.f"], Whole),
            ("To: a@b.c\nTo: d@e.f\n\n", vec!["a@b.c", "d@e.f"], Whole),
            ("Cc: a@b.c\nBcc: x@y.z\n\n", vec!["a@b.c"], Whole),
            (
                "To: Team: a@b.c, d@e.f;, g@h.i\n\n",
                vec!["a@b.c", "d@e.f", "g@h.i"],
                Whole,
            ),
            ("To: undisclosed-recipients:;\n\n", vec![], NotWhole),
            (
                "To: undisclosed-recipients:;\nCc: a@b.c\n\n",
                vec!["a@b.c"],
                Whole,
            ),
            ("To: root, a@b.c\n\n", vec!["a@b.c"], NotWhole),
            ("To: a@b.c\nCc: <x y@z>\n\n", vec!["a@b.c"], NotWhole),
            ("To:\n\n", vec![], NotWhole),
            ("", vec![], NotWhole),
            ("To: \"a@b.c, d@e.f\" <g@h.i>\n\n", vec!["g@h.i"], Whole),
        ] {
            let facts = of_header(header.as_bytes());
            let got: Vec<&str> = facts.recipients.iter().map(MailAddress::as_str).collect();
            assert_eq!((got, facts.recipients_known), (want, known), "{header:?}");
        }
        for (times, kept, known) in [
            (MOST_READ - 1, MOST_READ - 1, Whole),
            (MOST_READ, MOST_READ, NotWhole),
            (100_000, MOST_READ, NotWhole),
        ] {
            let facts = of_header(many(times).as_bytes());
            assert_eq!(facts.recipients.len(), kept);
            assert_eq!(facts.recipients_known, known);
        }
        assert_eq!(facts(&summary(None)).recipients_known, NotWhole);
    }

    #[test]
    fn what_servers_say_for_nothing_is_nothing() {
        let raw = |text: &str| Some(Raw::copied(text.as_bytes()));
        let one = |name: Option<&str>, mailbox: Option<&str>, host: Option<&str>| Address {
            name: name.and_then(raw),
            mailbox: mailbox.and_then(raw),
            host: host.and_then(raw),
        };
        for (first, want, known) in [
            (
                one(None, Some("a"), Some("b.c")),
                Some("a@b.c"),
                Known::Whole,
            ),
            (
                one(None, Some("a"), Some("MISSING_DOMAIN")),
                None,
                Known::NotWhole,
            ),
            (
                one(None, Some("MISSING_MAILBOX"), Some("b.c")),
                None,
                Known::NotWhole,
            ),
            (
                one(None, Some("a"), Some(".MISSING-HOST-NAME.")),
                None,
                Known::NotWhole,
            ),
            (
                one(None, Some("a"), Some("unspecified-domain")),
                None,
                Known::NotWhole,
            ),
            (one(None, Some("a"), Some("")), None, Known::NotWhole),
            (one(None, None, Some("")), None, Known::NotWhole),
            (one(Some("Only a name"), None, None), None, Known::NotWhole),
            (one(None, Some("Group"), None), Some("x@y.z"), Known::Whole),
            (one(None, None, None), Some("x@y.z"), Known::Whole),
        ] {
            let list = vec![first, one(None, Some("x"), Some("y.z"))];
            let envelope = Envelope {
                from: list.clone(),
                to: list,
                ..Envelope::default()
            };
            let facts = facts(&summary(Some(envelope)));
            assert_eq!(facts.from.as_ref().map(MailAddress::as_str), want);
            assert_eq!(facts.recipients_known, known, "{want:?}");
        }
    }

    #[test]
    fn subjects_are_decoded_and_not_shielded() {
        let long = "x".repeat(MOST_SUBJECT);
        let (fits, too_long) = (
            format!("Subject: {long}\n\n"),
            format!("Subject: {long}y\n\n"),
        );
        let word = format!(
            "Subject: {}\n\n",
            "=?utf-8?q?abc?= ".repeat(MOST_RAW_SUBJECT / 16 + 1)
        );
        for (header, want) in [
            ("Subject: RECHNUNG 4\n\n", Some("rechnung 4")),
            (
                "Subject: =?utf-8?Q?=C3=9CBER?=\n =?utf-8?q?_ALLES?=\n\n",
                Some("über alles"),
            ),
            ("Subject: U\u{308}ber\n\n", Some("über")),
            (
                "Subject: a\u{200b}b <|im_start|>\n\n",
                Some("a\u{200b}b <|im_start|>"),
            ),
            ("Subject: one\nSubject: two\n\n", Some("one")),
            ("Subject:\n\n", Some("")),
            ("Subject: a\0b\n\n", Some("a\0b")),
            ("From: a@b.c\n\n", None),
            (fits.as_str(), Some(long.as_str())),
            (too_long.as_str(), None),
            (word.as_str(), None),
        ] {
            let facts = of_header(header.as_bytes());
            assert_eq!(facts.subject.as_ref().map(Folded::as_str), want);
        }
        let latin = of_header(b"Subject: gr\xfcn\n\n").subject;
        assert_eq!(latin, Some(Folded::new("grün")));
        assert_eq!(facts(&summary(None)).subject, None);
    }

    #[test]
    fn attachments_are_those_that_are_listed() {
        let mixed = |part: &str| {
            format!(
                "Content-Type: multipart/mixed; boundary=b\n\n--b\n\ntext\n--b\n{part}\n\nx\n--b--\n"
            )
        };
        for (message, want) in [
            ("Subject: x\n\ntext".to_owned(), Some(false)),
            (mixed("Content-Type: text/plain"), Some(false)),
            (mixed("Content-Type: text/plain; name=a.txt"), Some(true)),
            (mixed("Content-Disposition: attachment"), Some(true)),
            (mixed("Content-Type: image/png"), Some(true)),
            ("Content-Type: application/pdf\n\nx".to_owned(), Some(true)),
        ] {
            let mut structure = outline(message.as_bytes()).structure;
            let of = |structure: &Structure| {
                let known = Summary {
                    structure: Some(Arc::new(structure.clone())),
                    ..summary(None)
                };
                facts(&known).has_attachment
            };
            assert_eq!(of(&structure), want, "{message}");
            structure.cut = true;
            assert_eq!(of(&structure), want.filter(|has| *has), "{message}");
        }
        assert_eq!(facts(&summary(None)).has_attachment, None);
        let empty = Summary {
            structure: Some(Arc::default()),
            ..summary(None)
        };
        assert_eq!(facts(&empty).has_attachment, None);
    }

    #[test]
    fn size_and_time_are_as_told() {
        let told = Summary {
            size: Some(0),
            arrived: Timestamp::from_second(-5).ok(),
            ..summary(None)
        };
        let got = facts(&told);
        assert_eq!((got.size, got.arrived), (Some(0), Some(-5)));
        let untold = facts(&summary(None));
        assert_eq!((untold.size, untold.arrived), (None, None));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            of_header(&bytes);
        }

        /// However addresses are written, lines hold one address each.
        #[test]
        fn lines_are_addresses(text in "(From|To): [a@<>\"(),;:.=?\\\\ \u{0}\u{85}\u{2028}üA]{0,40}\n\n") {
            let facts = of_header(text.as_bytes());
            let lines = facts.recipient_lines();
            prop_assert_eq!(lines.lines().count(), facts.recipients.len());
            let again = lines.lines().map(MailAddress::parse);
            prop_assert!(again.eq(facts.recipients.iter().cloned().map(Some)));
        }
    }

    #[test]
    fn recipients_take_no_more_room_than_they_may() {
        let raw = |text: String| Some(Raw::new(text.into_bytes()));
        let long = |number: usize| Address {
            mailbox: raw(format!("{}{number}", "a".repeat(1_000))),
            host: raw("example.com".to_owned()),
            ..Address::default()
        };
        let envelope = Envelope {
            to: (0..200).map(long).collect(),
            ..Envelope::default()
        };
        let (found, known) = recipients(&envelope);
        let octets: usize = found.iter().map(|one| one.as_str().len()).sum();
        assert!((60_000..=MOST_RECIPIENTS).contains(&octets), "{octets}");
        assert_eq!(known, Known::NotWhole);
    }
}
