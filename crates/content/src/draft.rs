//! A new message, as octets (RFC 5322): the one thing here that writes mail instead of reading it.

use jiff::Timestamp;
use mail_builder::MessageBuilder;
use mail_builder::headers::address::Address;

/// What a draft says. Addresses and ids are checked by whoever makes one.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Draft<'a> {
    pub from: Option<&'a str>,
    pub to: Vec<&'a str>,
    pub cc: Vec<&'a str>,
    pub bcc: Vec<&'a str>,
    pub subject: Option<&'a str>,
    pub text: &'a str,
    /// The message that it answers, without brackets.
    pub in_reply_to: Option<&'a str>,
}

/// `id` is its Message-ID without brackets. The same draft makes the same octets.
pub fn draft(draft: &Draft<'_>, id: &str, written: Timestamp) -> Vec<u8> {
    let many = |list: &[&str]| {
        let each = list
            .iter()
            .map(|one| Address::new_address(None::<&str>, one.to_string()));
        Address::new_list(each.collect())
    };
    let mut message = MessageBuilder::new()
        .message_id(id)
        .date(written.as_second())
        .text_body(crate::whole_message::crlf(draft.text));
    if let Some(from) = draft.from {
        message = message.from(from);
    }
    if !draft.to.is_empty() {
        message = message.to(many(&draft.to));
    }
    if !draft.cc.is_empty() {
        message = message.cc(many(&draft.cc));
    }
    if !draft.bcc.is_empty() {
        message = message.bcc(many(&draft.bcc));
    }
    if let Some(subject) = draft.subject {
        message = message.subject(subject);
    }
    if let Some(answered) = draft.in_reply_to {
        message = message.in_reply_to(answered).references(answered);
    }
    // Writing to memory does not fail.
    let octets = message.write_to_vec().unwrap_or_default();
    crlf(&octets)
}

/// INVARIANT: mail servers are sent whole line ends alone.
fn crlf(octets: &[u8]) -> Vec<u8> {
    let mut whole = Vec::with_capacity(octets.len() + 64);
    let mut before = 0;
    for byte in octets.iter().copied() {
        if byte == b'\n' && before != b'\r' {
            whole.push(b'\r');
        }
        whole.push(byte);
        before = byte;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::header::fields;
    use crate::{Changes, addresses, envelope, header_text};
    use proptest::prelude::*;

    fn made(one: &Draft<'_>) -> Vec<u8> {
        draft(one, "a1@mailwarden.invalid", Timestamp::UNIX_EPOCH)
    }

    fn split(octets: &[u8]) -> (&[u8], &[u8]) {
        let end = memchr::memmem::find(octets, b"\r\n\r\n").unwrap();
        octets.split_at(end + 4)
    }

    #[test]
    fn a_draft_reads_back_as_it_was_written() {
        let octets = made(&Draft {
            from: Some("alice@example.com"),
            to: vec!["bob@example.org", "carol@example.net"],
            cc: vec!["dave@example.org"],
            bcc: vec!["eve@example.org"],
            subject: Some("Grüße aus Köln"),
            text: "Hallo Bob,\n\nbis bald.\r\nA.",
            in_reply_to: Some("earlier@example.org"),
        });
        let (header, body) = split(&octets);
        let read = envelope(header);
        let mut changes = Changes::default();
        let text =
            |raw: Option<mail::Raw>| raw.map(|raw| header_text(&raw, &mut Changes::default()));
        assert_eq!(text(read.subject).as_deref(), Some("Grüße aus Köln"));
        assert_eq!(
            text(read.message_id).as_deref(),
            Some("<a1@mailwarden.invalid>")
        );
        assert_eq!(
            text(read.in_reply_to).as_deref(),
            Some("<earlier@example.org>")
        );
        let to = addresses(&read.to, &mut changes);
        assert_eq!(to.as_deref(), Some("bob@example.org, carol@example.net"));
        assert!(fields(header).any(|field| field.is("Bcc")));
        assert_eq!(body, b"Hallo Bob,\r\n\r\nbis bald.\r\nA.");
    }

    proptest! {
        #[test]
        fn no_words_make_a_header_of_their_own(subject in "\\PC{0,120}", text in "(\\PC|\r|\n){0,200}") {
            let written = Draft {
                to: vec!["bob@example.org"],
                subject: Some(&subject),
                text: &text,
                ..Draft::default()
            };
            let octets = made(&written);
            // Line ends are whole.
            for (index, byte) in octets.iter().enumerate() {
                if *byte == b'\n' {
                    prop_assert_eq!(octets[index - 1], b'\r');
                }
            }
            let known = [
                "Message-ID", "Date", "To", "Subject", "MIME-Version", "Content-Type", "Content-Transfer-Encoding",
            ];
            for field in fields(split(&octets).0) {
                let name = String::from_utf8_lossy(field.name).into_owned();
                prop_assert!(known.iter().any(|one| one.eq_ignore_ascii_case(&name)), "{}", name);
            }
            prop_assert_eq!(octets, made(&written));
        }
    }
}
