//! The envelope of a message from its raw header.

use jiff::Timestamp;
use mail::{Envelope, HeaderFields, Raw, Summary, SummaryHeader};

use crate::address::{AddressFields, MOST_READ};
use crate::date;
use crate::header::{self, fields};

/// The header fields that IMAP's ENVELOPE gives, undecoded. The first field of a name counts; but of addresses all do, as
/// if they stood in one field: else a second field would hide some.
pub fn envelope(header: &[u8]) -> Envelope {
    envelope_with(header, &AddressFields::read(header))
}

/// As [`envelope`], where the addresses were read already.
pub(crate) fn envelope_with(header: &[u8], addresses: &AddressFields<'_>) -> Envelope {
    let mut found = Envelope::default();
    for field in fields(header) {
        let name = String::from_utf8_lossy(field.name).to_ascii_lowercase();
        match name.as_str() {
            "date" => fill(&mut found.date, field.value),
            "subject" => fill(&mut found.subject, field.value),
            "message-id" => fill(&mut found.message_id, field.value),
            "in-reply-to" => fill(&mut found.in_reply_to, field.value),
            _ => {}
        }
    }
    for (field, list) in addresses.iter() {
        let into = [
            ("From", &mut found.from),
            ("To", &mut found.to),
            ("Cc", &mut found.cc),
        ];
        let into = into.into_iter().find(|(name, _)| field.is(name));
        if let Some((_, into)) = into.filter(|(_, into)| into.len() < MOST_READ) {
            into.extend(list.clone().into_envelope());
        }
    }
    found
}

/// The same of a header that was cut off: its last field is not read.
pub fn envelope_of_beginning(header: &[u8]) -> Envelope {
    // Where nothing follows, the field may go on.
    let begins = |at: &usize| !matches!(header.get(at + 1), None | Some(b' ' | b'\t'));
    let last = memchr::memrchr_iter(b'\n', header).find(begins);
    let whole = header.get(..last.map_or(0, |at| at + 1));
    envelope(whole.unwrap_or_default())
}

/// What a list shows of a message's header; absent where the source gives none.
pub fn summary_envelope(summary: &Summary) -> Option<Envelope> {
    match summary.header.as_ref()? {
        SummaryHeader::Fields(fields) if fields.truncated => {
            Some(envelope_of_beginning(fields.block.bytes()))
        }
        SummaryHeader::Fields(fields) => Some(envelope(fields.block.bytes())),
        SummaryHeader::Database(envelope) => Some(envelope.clone()),
    }
}

/// The fields of a header that lists show and policies judge. `truncated` says that the header was
/// cut off.
pub fn list_fields(header: &[u8], truncated: bool) -> HeaderFields {
    let is_listed = |name: &[u8]| {
        let mut names = HeaderFields::NAMES.iter();
        names.any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
    };
    let mut block = Vec::new();
    for field in fields(header).filter(|field| is_listed(field.name)) {
        block.extend_from_slice(field.name);
        block.push(b':');
        block.extend_from_slice(field.value);
        block.extend_from_slice(b"\r\n");
    }
    let is_long = block.len() > HeaderFields::MAX_BYTES;
    block.truncate(HeaderFields::MAX_BYTES);
    HeaderFields {
        block: Raw::new(block),
        truncated: truncated || is_long,
    }
}

/// When the header says that it was sent, where it can be read.
pub(crate) fn sent(envelope: &Envelope) -> Option<Timestamp> {
    envelope.date.as_ref().and_then(date::sent)
}

fn fill(slot: &mut Option<Raw>, value: &[u8]) {
    if slot.is_none() {
        *slot = Some(Raw::new(header::unfolded(value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn first_fields_count() {
        let found = envelope(
            b"Subject: =?utf-8?q?a?=\r\n b\r\nSubject: other\r\nFROM: A <a@b>\r\nfrom: <c@d>\r\nMessage-Id: <1@b>\r\nCc: x@y\r\nCC: z@y, v@w\r\n\r\nTo: x@y",
        );
        assert_eq!(found.subject, Some(Raw::copied(b"=?utf-8?q?a?= b")));
        assert_eq!(found.message_id, Some(Raw::copied(b"<1@b>")));
        assert_eq!(
            (found.from.len(), found.to.len(), found.cc.len()),
            (2, 0, 3)
        );
        assert_eq!(found.from[0].host, Some(Raw::copied(b"b")));
    }

    #[test]
    fn cut_header_loses_its_last_field() {
        for (header, from, to, cc) in [
            (&b"From: a@b\nTo: c@d\n e@f\nCc: g@h, i"[..], 1, 2, 0),
            (b"From: a@b\nTo: c@d,\n e@f,\n g", 1, 0, 0),
            (b"From: a@b", 0, 0, 0),
            (b"From: a@b\nCc: c@d\n", 1, 0, 0),
            (b"", 0, 0, 0),
        ] {
            let found = envelope_of_beginning(header);
            let got = (found.from.len(), found.to.len(), found.cc.len());
            assert_eq!(got, (from, to, cc), "{}", header.escape_ascii());
        }
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(bytes: Vec<u8>) {
            envelope(&bytes);
        }
    }
}
