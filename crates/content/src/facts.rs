//! The facts of a message, by which a policy judges it: the one place where they are computed, for
//! every tool and every source.
//!
//! They come from one strict reading of the header fields. A field that is missing, repeated,
//! malformed or too long gives no fact: a policy that does not know does not show.

use mail::{FactsBuf, Folded, HeaderFields, Known, MailAddress, Structure, Summary, SummaryHeader};

use crate::address::strict;
use crate::header::{Field, fields};
use crate::roles::{attached, roles};
use crate::words;

/// A longer subject, once decoded, is unknown. Facts of whole folders are kept in memory.
const MAX_SUBJECT_BYTES: usize = 4 * 1024;
/// Octets of the recipients of one field; more are unknown.
const MAX_RECIPIENT_BYTES: usize = 8 * 1024;

pub fn facts(summary: &Summary) -> FactsBuf {
    let header = HeaderFacts::of(summary);
    FactsBuf {
        from: header.from.ok(),
        recipients_known: header.recipients.known(),
        recipients: header.recipients.addresses,
        subject: header.subject.ok(),
        has_attachment: summary.structure.as_deref().and_then(has_attachment),
        arrived: summary.arrived.map(|time| time.as_second()),
        size: summary.size,
    }
}

/// A fact that a message does not give, and why.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownFact {
    /// The header field, or `attachments`, `arrival` or `size`.
    pub name: &'static str,
    pub reason: UnknownReason,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnknownReason {
    NotGiven,
    Absent,
    Repeated,
    Malformed,
    SeveralSenders,
    NoAddress,
    TooLong,
}

impl UnknownReason {
    pub fn text(self) -> &'static str {
        match self {
            Self::NotGiven => "the source does not give it",
            Self::Absent => "the message has no such field",
            Self::Repeated => "the message has the field more than once",
            Self::Malformed => "the field is not well formed; programs may read it differently",
            Self::SeveralSenders => "the field names several senders or a group",
            Self::NoAddress => "the field names no address",
            Self::TooLong => "it is too long",
        }
    }
}

/// What [`facts`] does not know of a message: for the author of a policy.
pub fn unknown_facts(summary: &Summary) -> Vec<UnknownFact> {
    let header = HeaderFacts::of(summary);
    let unknown = |name, reason| UnknownFact { name, reason };
    let mut found = Vec::new();
    found.extend(header.from.err().map(|reason| unknown("From", reason)));
    found.extend(header.recipients.gaps);
    found.extend(
        header
            .subject
            .err()
            .map(|reason| unknown("Subject", reason)),
    );
    let structure = summary.structure.as_deref();
    let others = [
        ("attachments", structure.and_then(has_attachment).is_none()),
        ("arrival", summary.arrived.is_none()),
        ("size", summary.size.is_none()),
    ];
    let missing = others.into_iter().filter(|(_, is_missing)| *is_missing);
    found.extend(missing.map(|(name, _)| unknown(name, UnknownReason::NotGiven)));
    found
}

struct HeaderFacts {
    from: Result<MailAddress, UnknownReason>,
    recipients: RecipientFacts,
    subject: Result<Folded, UnknownReason>,
}

#[derive(Default)]
struct RecipientFacts {
    addresses: Vec<MailAddress>,
    gaps: Vec<UnknownFact>,
}

impl HeaderFacts {
    fn of(summary: &Summary) -> Self {
        match &summary.header {
            Some(SummaryHeader::Fields(fields)) if fields.truncated => {
                Self::unknown(UnknownReason::TooLong)
            }
            Some(SummaryHeader::Fields(fields)) => Self::read(fields),
            Some(SummaryHeader::Database(_)) | None => Self::unknown(UnknownReason::NotGiven),
        }
    }

    fn unknown(reason: UnknownReason) -> Self {
        let gap = |name| UnknownFact { name, reason };
        Self {
            from: Err(reason),
            recipients: RecipientFacts {
                addresses: Vec::new(),
                gaps: vec![gap("To"), gap("Cc")],
            },
            subject: Err(reason),
        }
    }

    fn read(header: &HeaderFields) -> Self {
        let block = header.block.bytes();
        Self {
            from: sole_field(block, "From").and_then(sender),
            recipients: recipients(block),
            subject: sole_field(block, "Subject").and_then(subject),
        }
    }
}

impl RecipientFacts {
    fn known(&self) -> Known {
        if self.gaps.is_empty() && !self.addresses.is_empty() {
            Known::Whole
        } else {
            Known::NotWhole
        }
    }
}

/// RFC 5322 section 3.6: programs differ in which of two fields they show.
fn sole_field<'h>(header: &'h [u8], name: &str) -> Result<&'h [u8], UnknownReason> {
    let mut found = fields(header).filter(|field: &Field<'_>| field.is(name));
    let first = found.next().ok_or(UnknownReason::Absent)?;
    if found.next().is_some() {
        return Err(UnknownReason::Repeated);
    }
    Ok(first.value)
}

fn sender(value: &[u8]) -> Result<MailAddress, UnknownReason> {
    let found = strict::read(value).ok_or(UnknownReason::Malformed)?;
    let has_groups = found.groups > 0;
    let mut addresses = found.addresses.into_iter();
    match (addresses.next(), addresses.next()) {
        (None, _) => Err(UnknownReason::NoAddress),
        (Some(only), None) if !has_groups => Ok(only),
        (Some(_), _) => Err(UnknownReason::SeveralSenders),
    }
}

fn recipients(header: &[u8]) -> RecipientFacts {
    let mut facts = RecipientFacts::default();
    for name in ["To", "Cc"] {
        let found = match sole_field(header, name) {
            Ok(value) => recipients_of(value),
            Err(UnknownReason::Absent) => Ok(Vec::new()),
            Err(reason) => Err(reason),
        };
        match found {
            Ok(addresses) => facts.addresses.extend(addresses),
            Err(reason) => facts.gaps.push(UnknownFact { name, reason }),
        }
    }
    facts
}

fn recipients_of(value: &[u8]) -> Result<Vec<MailAddress>, UnknownReason> {
    let addresses = strict::read(value)
        .ok_or(UnknownReason::Malformed)?
        .addresses;
    let octets: usize = addresses.iter().map(|one| one.as_str().len() + 1).sum();
    if octets > MAX_RECIPIENT_BYTES {
        return Err(UnknownReason::TooLong);
    }
    Ok(addresses)
}

/// Raw octets that are no UTF-8, and what no charset reads, are malformed: a guess would decide.
fn subject(value: &[u8]) -> Result<Folded, UnknownReason> {
    if std::str::from_utf8(value).is_err() {
        return Err(UnknownReason::Malformed);
    }
    let text = words::decoded(&crate::header::unfolded(value));
    if text.contains('\u{fffd}') {
        return Err(UnknownReason::Malformed);
    }
    if text.len() > MAX_SUBJECT_BYTES {
        return Err(UnknownReason::TooLong);
    }
    Ok(Folded::new(&text))
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

    fn summary(header: Option<SummaryHeader>) -> Summary {
        Summary {
            store_id: None,
            uid: Uid(1),
            order: 0,
            flags: None,
            arrived: None,
            size: None,
            header,
            structure: None,
            text: None,
        }
    }

    fn of_header(header: &[u8]) -> FactsBuf {
        facts(&listed(header))
    }

    fn listed(header: &[u8]) -> Summary {
        let fields = crate::list_fields(header, false);
        summary(Some(SummaryHeader::Fields(fields)))
    }

    fn sender(header: &str) -> Option<String> {
        let from = of_header(header.as_bytes()).from;
        from.map(|address| address.as_str().to_owned())
    }

    #[test]
    fn sender_is_read_strictly() {
        for (value, want) in [
            ("Alice@Example.COM.", Some("alice@example.com")),
            ("A B <alice@example.com>", Some("alice@example.com")),
            ("John Q. Public <j@d.example>", Some("j@d.example")),
            ("\"boss@good.com\" <x@evil.com>", Some("x@evil.com")),
            (
                "=?utf-8?Q?boss=40good.com_=3Cboss=40good.com=3E=2C?= <x@evil.com>",
                Some("x@evil.com"),
            ),
            ("(boss@good.com) x@evil.com", Some("x@evil.com")),
            ("x@evil.com (boss@good.com)", Some("x@evil.com")),
            ("\"alice\"@example.com", Some("alice@example.com")),
            ("<\"a@good.com\"@evil.com>", Some("a@good.com@evil.com")),
            ("J <j@MÜLLER.example>", Some("j@xn--mller-kva.example")),
            ("j@xn--mller-kva.example", Some("j@xn--mller-kva.example")),
            ("x@[192.0.2.1]", Some("x@[192.0.2.1]")),
            ("J\r\n <j@d.example>\r\n (home)", Some("j@d.example")),
            // A second sender, or a group.
            ("a@b.example, c@d.example", None),
            ("Team: c@d.example;", None),
            ("undisclosed:;", None),
            ("good@good.com:;, x@evil.com", None),
            ("boss@corp.com: m@evil.com;", None),
            // Not well formed.
            ("boss@good.com <x@evil.com>", None),
            ("<boss@corp.com> <m@evil.com>", None),
            ("\"a\" <m@evil.com> <boss@corp.com>", None),
            ("boss@corp.com@evil.com", None),
            ("<a@good.com@evil.com>", None),
            ("<@good.com,@b:x@evil.com>", None),
            ("x(c)@evil.com", None),
            ("x@(c)evil.com", None),
            ("x @evil.com", None),
            ("x@e\r\n vil.com", None),
            ("<x@evil.com", None),
            ("X <x@evil.com> Y", None),
            ("X [Y] <x@evil.com>", None),
            ("\"X <x@evil.com>", None),
            ("x@evil.com,", None),
            (".x@evil.com", None),
            ("x.@evil.com", None),
            ("x@a..b", None),
            ("x@a..", None),
            ("x@", None),
            ("@evil.com", None),
            ("<>", None),
            ("", None),
            ("root", None),
            ("\"a b\"@example.com", None),
            ("<\"al\\ice\"@example.com>", None),
            ("=?utf-8?q?j?=@good.com", None),
            ("<j@=?utf-8?q?good.com?=>", None),
            ("x\0y@evil.com", None),
            ("X\u{7} <x@evil.com>", None),
            ("X\rY <x@evil.com>", None),
            ("x@e\u{ad}vil.com", None),
        ] {
            let got = sender(&format!("From: {value}\r\n\r\n"));
            assert_eq!(got.as_deref(), want, "{value:?}");
        }
        assert_eq!(of_header(b"From: \xfc <x@good.com>\n\n").from, None);
        assert_eq!(facts(&summary(None)).from, None);
    }

    #[test]
    fn field_that_occurs_twice_is_unknown() {
        let header =
            b"From: a@b.c\nFROM : a@b.c\nTo: d@e.f\nto: d@e.f\nCc: g@h.i\nSubject: s\nSubject: s\n";
        let found = of_header(header);
        assert_eq!((found.from, found.subject), (None, None));
        let recipients: Vec<&str> = found.recipients.iter().map(MailAddress::as_str).collect();
        assert_eq!(recipients, ["g@h.i"]);
        assert_eq!(found.recipients_known, Known::NotWhole);
        let reasons = unknown_facts(&listed(header));
        let names: Vec<_> = reasons.iter().map(|one| (one.name, one.reason)).collect();
        let repeated = ["From", "To", "Subject"].map(|name| (name, UnknownReason::Repeated));
        assert_eq!(names.get(..3), Some(&repeated[..]));
    }

    #[test]
    fn unknown_facts_name_field_and_reason() {
        use UnknownReason::{Absent, Malformed, NoAddress, NotGiven, SeveralSenders, TooLong};
        let long = "x".repeat(HeaderFields::MAX_BYTES);
        for (header, want) in [
            ("From: a@b.c\nTo: a@b.c\nSubject: x\n".to_owned(), vec![]),
            (
                "To: a@b.c\n".to_owned(),
                vec![("From", Absent), ("Subject", Absent)],
            ),
            (
                "From: a@b.c <x@y>\nTo: <\nSubject:\n".to_owned(),
                vec![("From", Malformed), ("To", Malformed)],
            ),
            (
                "From: a@b.c, x@y.z\nSubject: x\n".to_owned(),
                vec![("From", SeveralSenders)],
            ),
            (
                "From: Team:;\nSubject: x\n".to_owned(),
                vec![("From", NoAddress)],
            ),
            (
                format!("From: a@b.c\nSubject: {long}\n"),
                ["From", "To", "Cc", "Subject"]
                    .map(|name| (name, TooLong))
                    .to_vec(),
            ),
        ] {
            let found = unknown_facts(&listed(header.as_bytes()));
            let names: Vec<_> = found.iter().map(|one| (one.name, one.reason)).collect();
            let others = ["attachments", "arrival", "size"].map(|name| (name, NotGiven));
            assert_eq!(names, [want, others.to_vec()].concat(), "{header:.60}");
        }
    }

    #[test]
    fn database_envelope_gives_no_facts() {
        let envelope = crate::envelope(b"From: a@b.c\nTo: d@e.f\nSubject: s\n\n");
        let found = facts(&summary(Some(SummaryHeader::Database(envelope))));
        assert!(found == FactsBuf::default());
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
            ("To: root, a@b.c\n\n", vec![], NotWhole),
            ("To: a@b.c\nTo: d@e.f\n\n", vec![], NotWhole),
            ("To: a@b.c\nCc: <x y@z>\n\n", vec!["a@b.c"], NotWhole),
            ("To:\n\n", vec![], NotWhole),
            ("", vec![], NotWhole),
            ("To: \"a@b.c, d@e.f\" <g@h.i>\n\n", vec!["g@h.i"], Whole),
            ("To: Team: a@b.c, Other: d@e.f;;\n\n", vec![], NotWhole),
        ] {
            let facts = of_header(header.as_bytes());
            let got: Vec<&str> = facts.recipients.iter().map(MailAddress::as_str).collect();
            assert_eq!((got, facts.recipients_known), (want, known), "{header:?}");
        }
        let most = MAX_RECIPIENT_BYTES / "a@b.example ".len();
        for (times, kept, known) in [
            (most, most, Whole),
            (most + 1, 0, NotWhole),
            (100_000, 0, NotWhole),
        ] {
            let facts = of_header(many(times).as_bytes());
            assert_eq!(facts.recipients.len(), kept);
            assert_eq!(facts.recipients_known, known);
        }
        assert_eq!(facts(&summary(None)).recipients_known, NotWhole);
    }

    #[test]
    fn subjects_are_decoded_and_not_shielded() {
        let long = "x".repeat(MAX_SUBJECT_BYTES);
        let (fits, too_long) = (
            format!("Subject: {long}\n\n"),
            format!("Subject: {long}y\n\n"),
        );
        let word = format!(
            "Subject: {}\n\n",
            "=?utf-8?q?abc?= ".repeat(HeaderFields::MAX_BYTES / 16 + 1)
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
        assert_eq!(of_header(b"Subject: gr\xfcn\n\n").subject, None);
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
}
