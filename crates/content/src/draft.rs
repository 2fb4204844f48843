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
        .text_body(lines(draft.text));
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

/// However its lines end.
fn lines(text: &str) -> String {
    text.replace("\r\n", "\n").replace(['\r', '\n'], "\r\n")
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
    use mail_parser::MessageParser;
    use proptest::prelude::*;

    fn made(one: &Draft<'_>) -> Vec<u8> {
        draft(one, "a1@mailwarden.invalid", Timestamp::UNIX_EPOCH)
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
        let read = MessageParser::default().parse(&octets).unwrap();
        assert_eq!(read.subject(), Some("Grüße aus Köln"));
        assert_eq!(read.message_id(), Some("a1@mailwarden.invalid"));
        assert_eq!(read.in_reply_to().as_text(), Some("earlier@example.org"));
        assert_eq!(read.to().unwrap().as_list().unwrap().len(), 2);
        assert!(read.bcc().is_some());
        let text = read.body_text(0).unwrap();
        assert_eq!(text.trim_end(), "Hallo Bob,\r\n\r\nbis bald.\r\nA.");
    }

    proptest! {
        #[test]
        fn no_words_make_a_header_of_their_own(subject in "\\PC{0,120}", text in "(\\PC|\r|\n){0,200}") {
            let octets = made(&Draft {
                to: vec!["bob@example.org"],
                subject: Some(&subject),
                text: &text,
                ..Draft::default()
            });
            // Line ends are whole.
            for (index, byte) in octets.iter().enumerate() {
                if *byte == b'\n' {
                    prop_assert_eq!(octets[index - 1], b'\r');
                }
            }
            let read = MessageParser::default().parse(&octets).unwrap();
            let names: Vec<&str> = read.headers().iter().map(|header| header.name()).collect();
            for name in &names {
                let known = ["Message-ID", "Date", "To", "Subject", "MIME-Version", "Content-Type", "Content-Transfer-Encoding"];
                prop_assert!(known.iter().any(|one| one.eq_ignore_ascii_case(name)), "{names:?}");
            }
            prop_assert_eq!(octets, made(&Draft {
                to: vec!["bob@example.org"],
                subject: Some(&subject),
                text: &text,
                ..Draft::default()
            }));
        }
    }
}
