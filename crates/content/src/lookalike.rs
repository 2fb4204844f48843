//! Addresses and hosts that are made to look like others: scripts mixed in one word, words of one script that read
//! as ASCII, names that show an address which is not the sender's.
//!
//! Reported, never changed. ASCII that looks like other ASCII (`rn` for `m`) is not judged here.

use unicode_normalization::UnicodeNormalization as _;
use unicode_security::mixed_script::AugmentedScriptSet;
use unicode_security::skeleton;

use crate::address::{AddressFields, Entry, Form, Mailbox, is_overlong, readable, readable_domain};
use crate::changes::Changes;
use crate::note::Note;
use crate::shield::{self, Shape};
use crate::words;

/// Said of one message.
const MOST_NOTES: usize = 5;
/// Addresses looked at in one field.
const MOST_ADDRESSES: usize = 50;
/// A host name has no more (RFC 1035 section 2.3.4), and a mailbox 64.
const MOST_CHARS: usize = 253;

/// Looks at everybody who is named in a header.
pub(crate) fn note(addresses: &AddressFields<'_>, notes: &mut Vec<Note>) {
    const LOOKED_AT: [&str; 5] = ["From", "Reply-To", "Sender", "To", "Cc"];
    let mut found: Vec<Note> = Vec::new();
    let looked_at = addresses
        .iter()
        .filter(|(field, _)| LOOKED_AT.iter().any(|name| field.is(name)));
    for (_, list) in looked_at.take(2 * LOOKED_AT.len()) {
        for one in list.entries.iter().take(MOST_ADDRESSES) {
            for note in judged(one) {
                if !found.contains(&note) && found.len() < MOST_NOTES {
                    found.push(note);
                }
            }
        }
    }
    notes.append(&mut found);
}

/// The host as it reads and as it is registered, when it imitates another one or mixes scripts.
pub(crate) fn host_is_suspicious(host: &str) -> Option<String> {
    let Imitation { read, registered } = Imitation::of(host)?;
    Some(shown(&format!("{read} ({registered})")))
}

/// The same of the host of a link, as short as hosts are beside the text of links.
pub(crate) fn link_host_is_suspicious(host: &str) -> Option<String> {
    let Imitation { read, registered } = Imitation::of(host)?;
    let (read, registered) = (html::shown_host(&read), html::shown_host(&registered));
    Some(shown(&format!("{read} ({registered})")))
}

/// A host that imitates another one or mixes scripts.
struct Imitation {
    read: String,
    registered: String,
}

impl Imitation {
    fn of(host: &str) -> Option<Self> {
        let host = host.trim_end_matches('.');
        // Long before a host that long is looked up, it has failed.
        if host.len() > 4 * MOST_CHARS || host.is_ascii() && !has_punycode(host) {
            return None;
        }
        let labels: Vec<Label> = host
            .split(['.', '。', '．', '｡'])
            .map(Label::read)
            .collect();
        let home = labels
            .last()
            .map_or(Home::Ascii, |last| Home::of(&last.text));
        let join =
            |part: fn(&Label) -> String| labels.iter().map(part).collect::<Vec<_>>().join(".");
        labels
            .iter()
            .any(|label| label.is_suspicious(home))
            .then(|| Self {
                read: join(|label| label.text.clone()),
                registered: join(Label::registered),
            })
    }
}

/// Whether one word of an address mixes scripts or reads as ASCII.
fn is_suspicious(word: &str, home: Home) -> bool {
    let foreign = |c: char| !c.is_ascii();
    if !word.contains(foreign) {
        return false;
    }
    let set = AugmentedScriptSet::for_str(word);
    if set.is_empty() {
        // Chinese, Japanese and Korean are written with Latin letters among their own.
        let rest: String = word.chars().filter(|c| !c.is_ascii()).collect();
        let rest = AugmentedScriptSet::for_str(&rest);
        return !(rest.hanb || rest.jpan || rest.kore);
    }
    // The letters of European alphabets stand for themselves, even where they are drawn as `ae` or `i`.
    let at_home = home == Home::Foreign || word.chars().all(|c| u32::from(c) < 0x180);
    !at_home && skeleton(word).all(|c| c.is_ascii())
}

/// What the last part of a host is written in: under `.рф`, Cyrillic words are what they seem.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Ascii,
    Foreign,
}

impl Home {
    fn of(last: &str) -> Self {
        if last.is_ascii() {
            Self::Ascii
        } else {
            Self::Foreign
        }
    }
}

struct Label {
    /// Decoded, and mapped as a lookup would (UTS 46): compatibility forms and case undone.
    text: String,
    /// It claimed to be something else than ASCII, and is ASCII or nothing.
    fake: bool,
}

impl Label {
    fn read(label: &str) -> Self {
        let encoded = label
            .get(..4)
            .filter(|head| head.eq_ignore_ascii_case("xn--"))
            .and_then(|_| label.get(4..));
        if encoded.is_none() && label.is_ascii() {
            return Self {
                text: label.to_ascii_lowercase(),
                fake: false,
            };
        }
        let decoded =
            encoded.map(|rest| idna::punycode::decode_to_string(&rest.to_ascii_lowercase()));
        match decoded {
            Some(Some(text)) if !text.is_ascii() => Self {
                text: text.nfkc().collect::<String>().to_lowercase(),
                fake: false,
            },
            Some(_) => Self {
                text: label.to_owned(),
                fake: true,
            },
            None => Self {
                text: label.nfkc().collect::<String>().to_lowercase(),
                fake: false,
            },
        }
    }

    fn is_suspicious(&self, home: Home) -> bool {
        self.fake || is_suspicious(&self.text, home)
    }

    fn registered(&self) -> String {
        if self.text.is_ascii() {
            return self.text.clone();
        }
        let encoded = idna::punycode::encode_str(&self.text);
        encoded.map_or_else(|| self.text.clone(), |text| format!("xn--{text}"))
    }
}

fn has_punycode(host: &str) -> bool {
    let mut labels = host.split('.');
    labels.any(|label| {
        label
            .get(..4)
            .is_some_and(|head| head.eq_ignore_ascii_case("xn--"))
    })
}

/// What is wrong with one element of an address field.
fn judged(entry: &Entry) -> Vec<Note> {
    let one = match entry {
        Entry::Mailbox(one) => one,
        Entry::GroupEnd => return Vec::new(),
        Entry::GroupStart(name) => {
            let name = words::shown(name.bytes(), &mut Changes::default()).text;
            let held = address_in(&name).map(|_| Note::AddressAmbiguous {
                shown: shown(&name),
            });
            return held.into_iter().collect();
        }
    };
    let name = one.display_name.as_ref().map(mail::Raw::bytes);
    let name = words::shown(name.unwrap_or_default(), &mut Changes::default()).text;
    let mailbox = readable(one.local_part.bytes());
    let host = one.domain.as_ref().map(mail::Raw::bytes);
    let host = readable_domain(host.unwrap_or_default());
    let mut notes = Vec::new();
    if is_ambiguous(one, &mailbox) {
        notes.push(Note::AddressAmbiguous {
            shown: shown(&one.spec()),
        });
    }
    let last = host.rsplit(['.', '。']).next().unwrap_or_default();
    let home = Home::of(&Label::read(last).text);
    let imitates = || {
        let mapped: String = mailbox.nfkc().collect();
        let mut parts = mapped.split(|c: char| c.is_ascii_punctuation());
        parts.any(|part| is_suspicious(part, home))
    };
    if !mailbox.is_ascii() && imitates() {
        notes.push(Note::LookAlike {
            shown: shown(&format!("{mailbox}@{host}")),
        });
    }
    notes.extend(host_is_suspicious(&host).map(|shown| Note::LookAlike { shown }));
    let real = one.spec();
    if let Some(other) = address_in(&name).filter(|other| !other.eq_ignore_ascii_case(&real)) {
        notes.push(Note::NameHoldsAddress {
            shown: shown(&other),
            real: shown(&real),
        });
    }
    notes
}

/// Other programs may read another address, or show another one than mail to it goes to.
fn is_ambiguous(one: &Mailbox, local: &str) -> bool {
    let is_address = one.domain.is_some() || local.contains('@');
    let disguised = |c: char| "@<>\u{FFFD}".contains(c);
    let is_doubtful = || {
        one.form == Form::Repaired
            || is_overlong(one)
            || local.contains(disguised)
            || local.contains("=?")
    };
    is_address && is_doubtful()
}

/// The first thing in a name that reads as an address.
fn address_in(name: &str) -> Option<String> {
    if name.is_ascii() && !name.contains('@') {
        return None;
    }
    let read: String = name.nfkc().collect();
    let mut words = read.split(|c: char| c.is_whitespace() || "<>()[]\"',;:".contains(c));
    let address = words.find(|word| {
        word.split_once('@').is_some_and(|(user, host)| {
            !user.is_empty() && host.trim_matches('.').contains('.') && !host.contains('@')
        })
    })?;
    Some(address.trim_matches('.').to_owned())
}

fn shown(text: &str) -> String {
    shield::bounded(text, Shape::Line, 2 * MOST_CHARS, &mut Changes::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::AddressList;
    use proptest::prelude::*;

    #[test]
    fn real_hosts_are_not_suspected() {
        for host in [
            "example.com",
            "sub.example.co.uk",
            "пример.рф",
            "оса.рф",
            "xn--e1afmkfd.xn--p1ai",
            "россия.com",
            "例え.jp",
            "日本語abc.jp",
            "ひらがなカタカナ漢字.jp",
            "한국abc.kr",
            "bücher.de",
            "xn--bcher-kva.de",
            "læge.dk",
            "cœur.fr",
            "kadın.com.tr",
            "żółć.pl",
            "ελλάδα.gr",
            "ｅｘａｍｐｌｅ.com",
            "",
            ".",
        ] {
            assert_eq!(host_is_suspicious(host), None, "{host}");
        }
    }

    #[test]
    fn imitations_are_found() {
        for (host, want) in [
            ("аррӏе.com", "аррӏе.com (xn--80ak6aa92e.com)"),
            ("xn--80ak6aa92e.com", "аррӏе.com (xn--80ak6aa92e.com)"),
            ("XN--80AK6AA92E.com.", "аррӏе.com (xn--80ak6aa92e.com)"),
            ("www.pаypal.com", "www.pаypal.com (www.xn--pypal-4ve.com)"),
            ("gооgle.com", "gооgle.com (xn--ggle-55da.com)"),
            ("ɡoogle.com", "ɡoogle.com (xn--oogle-qmc.com)"),
            ("xn--example-.com", "xn--example-.com (xn--example-.com)"),
        ] {
            assert_eq!(host_is_suspicious(host).as_deref(), Some(want), "{host}");
        }
    }

    fn read(header: &str) -> Vec<String> {
        let mut notes = Vec::new();
        note(&AddressFields::read(header.as_bytes()), &mut notes);
        notes
            .iter()
            .map(|note| note.quote().unwrap_or_default())
            .collect()
    }

    #[test]
    fn people_in_the_header_are_looked_at() {
        for header in [
            "From: Ann <ann@example.com>\r\nTo: иван@пример.рф, jürgen@bücher.de\r\n",
            "From: \"ann@example.com\" <Ann@Example.com>\r\n",
            "From: =?utf-8?q?Ann_@_home?= <ann@example.com>\r\n",
            "Subject: pаypal.com\r\n",
        ] {
            assert_eq!(read(header), [""; 0], "{header}");
        }
        for (header, want) in [
            (
                "From: Pay <x@pаypal.com>\r\n",
                "pаypal.com (xn--pypal-4ve.com)",
            ),
            ("Reply-To: sеrvice@bank.example\r\n", "sеrvice@bank.example"),
            (
                "From: \"ceo@bank.example\" <x@evil.example>\r\n",
                "ceo@bank.example -> x@evil.example",
            ),
            (
                "From: =?utf-8?q?ceo=EF=BC=A0bank.example?= <x@evil.example>\r\n",
                "ceo@bank.example -> ",
            ),
        ] {
            let found = read(header);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].contains(want), "{found:?}");
        }
        let many: String = (0..99).map(|n| format!("a@pаypal{n}.com, ")).collect();
        assert_eq!(read(&format!("To: {many}\r\n")).len(), MOST_NOTES);
    }

    #[test]
    fn addresses_that_read_in_two_ways_are_suspicious() {
        for header in [
            "From: root\r\nTo: undisclosed-recipients:;\r\n",
            "From: \"J. Doe\" <j@d.example>, a@b.example; c@d.example\r\n",
            "From: =?utf-8?q?Ann_@_home?= <ann@example.com>\r\n",
            "From: Ann B\r\n",
        ] {
            assert_eq!(read(header), [""; 0], "{header}");
        }
        for (field, want) in [
            ("boss@corp.com@evil.com", "\"boss@corp.com\"@evil.com"),
            (
                "\"Boss <boss@corp.com>, x\"@evil.com",
                "\"Boss <boss@corp.com>, x\"@evil.com",
            ),
            (
                "<\"boss@corp.com> (via\"@evil.com>",
                "\"boss@corp.com> (via\"@evil.com",
            ),
            (
                "=?utf-8?q?boss?=@evil.com",
                "\"=\\?utf-8?q?boss?=\"@evil.com",
            ),
            ("boss@corp.com: m@evil.com;", "boss@corp.com"),
            ("Boss <m@evil.com", "m@evil.com"),
            ("Boss m@evil.com", "m@evil.com"),
            ("bo\u{200b}ss@corp.com", "\"bo\u{fffd}ss\"@corp.com"),
            ("boss@corp..com", "\"boss@corp..com\""),
        ] {
            assert_eq!(read(&format!("From: {field}\r\n")), [want], "{field}");
        }
        // The end of a long domain says where mail goes.
        let long = format!("boss@corp.com.{}evil.com", "a.".repeat(320));
        let found = read(&format!("From: {long}\r\n"));
        assert!(
            found.len() == 1 && found[0].starts_with("boss@…"),
            "{found:?}"
        );
        let printed = AddressList::parse(long.as_bytes()).print(None, &mut Changes::default());
        assert!(printed.unwrap().ends_with(".a.a.evil.com"));
        for (field, real) in [
            ("boss@corp.com <m@evil.com>", "m@evil.com"),
            ("<boss@corp.com> <m@evil.com>", "m@evil.com"),
            ("\"a\" <m@evil.com> <boss@corp.com>", "boss@corp.com"),
        ] {
            let found = read(&format!("From: {field}\r\n"));
            assert!(found.iter().any(|one| one.contains(real)), "{found:?}");
        }
    }

    proptest! {
        #[test]
        fn no_host_makes_it_fall(host: String, header: Vec<u8>) {
            host_is_suspicious(&host);
            host_is_suspicious(&format!("xn--{host}"));
            let header = [b"From: ", header.as_slice()].concat();
            note(&AddressFields::read(&header), &mut Vec::new());
        }
    }
}
