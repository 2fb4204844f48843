//! `FETCH` and `UID FETCH` (RFC 3501 section 6.4.5) with Gmail's own items. Changes nothing but `\Seen`.

use super::date;
use super::envelope;
use super::mime::{Detail, Section};
use super::numbers::{By, Numbers};
use super::place::Place;
use super::session::{Access, Answer, Modseqs, Session};
use super::store::{Message, Row, SEEN, Store};
use super::syntax::{Args, Bad, Octets, Token};
use crate::utf7;
use std::collections::BTreeSet;

/// One thing to tell. They are told in this order, whatever the order of the question: X-GM items first, then `UID`, then
/// `MODSEQ` (logs in the trackers of node-imap, angus-mail and MailKit).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Item {
    Thread,
    Id,
    Labels,
    Uid,
    Modseq,
    Size,
    InternalDate,
    Flags,
    Envelope,
    Body,
    BodyStructure,
    Piece(Piece),
}

/// Whether what is fetched counts as read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Reading {
    Peeks,
    Marks,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Piece {
    /// As the answer names it: `BODY[1.MIME]`.
    name: String,
    path: Vec<u32>,
    /// See [`section`].
    section: String,
    fields: Vec<String>,
    partial: Option<(usize, usize)>,
    reading: Reading,
}

impl Session {
    pub(super) fn fetch(&mut self, verb: &str, mut args: Args) -> Answer {
        let by = By::of(verb);
        let rows = self.chosen(&args.text()?, by)?;
        let mut items = BTreeSet::new();
        for item in args.next()?.items() {
            read_item(&item, &mut items)?;
        }
        let mut since = None;
        if !args.is_empty() {
            let mut modifiers = args.list()?;
            match modifiers.word()?.as_str() {
                "CHANGEDSINCE" => since = Some(modifiers.number::<u64>()?),
                _ => return Err(Bad.into()),
            }
            modifiers.end()?;
        }
        args.end()?;
        if since.is_some() || items.contains(&Item::Modseq) {
            self.modseqs = Modseqs::Told;
        }
        if self.modseqs == Modseqs::Told && since.is_some() {
            items.insert(Item::Modseq);
        }
        if by == By::Uid {
            items.insert(Item::Uid);
        }
        let reads = items
            .iter()
            .any(|item| matches!(item, Item::Piece(piece) if piece.reading == Reading::Marks));
        let (place, access, octets) = self.standing();
        let shared = std::sync::Arc::clone(&self.shared);
        let mut account = shared.account();
        for (number, uid) in rows {
            let Some((row, message)) = account.store.row(&place, uid) else {
                continue;
            };
            if since.is_some_and(|since| message.modseq <= since) {
                continue;
            }
            let told = told(&items, &place, uid, row, message, octets);
            self.wire.say(format!("* {number} FETCH (").as_bytes());
            self.wire.say(&told);
            self.wire.say(b")\r\n");
            if reads && access == Access::Writing && !message.flags.contains(SEEN) {
                // That it is seen now is told behind all answers, as news (php-imap, "only last message", shows it there).
                let (msgid, mut flags) = (message.msgid, message.flags.clone());
                flags.insert(SEEN.to_owned());
                account.store.set_flags(msgid, flags);
            }
        }
        Ok("OK Success".to_owned())
    }

    /// The open mailbox, and how it is open.
    pub(super) fn standing(&self) -> (Place, Access, Octets) {
        let view = self.view.as_ref().expect("a mailbox is open");
        (view.place.clone(), view.access, self.octets)
    }

    /// Those of the messages the client knows that are in the set, by number and UID.
    pub(super) fn chosen(&self, set: &str, by: By) -> Result<Vec<(usize, u32)>, Bad> {
        let rows = &self.view.as_ref().expect("a mailbox is open").rows;
        let count = u32::try_from(rows.len()).unwrap_or(u32::MAX);
        let last = match by {
            By::Uid => rows.last().map_or(0, |known| known.uid),
            By::Number => count,
        };
        let set = Numbers::read(set, last)?;
        let numbered = rows.iter().zip(1_u32..);
        let chosen = numbered.filter(|(known, number)| match by {
            By::Uid => set.holds(known.uid),
            By::Number => set.holds(*number),
        });
        Ok(chosen
            .map(|(known, number)| (number as usize, known.uid))
            .collect())
    }
}

/// The labels as `X-GM-LABELS` lists them. That of the open mailbox is left out (gmailbuttons, "labels should include
/// current folder"); system labels are strings with a backslash inside (angus-mail, "label value corrupted").
pub(super) fn labels(message: &Message, open: &Place, octets: Octets) -> Vec<u8> {
    let mut out = vec![b'('];
    let others = message.labels().into_iter().filter(|label| label != open);
    for (at, label) in others.enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let name = match (&label, octets) {
            (Place::Label(name), Octets::Utf8) => name.clone(),
            (Place::Label(name), Octets::Ascii) => utf7::encode(name),
            (system, _) => system.system_label().unwrap_or_default().to_owned(),
        };
        // QUIRK: brackets do not make it quote (MailKit, "google bug while fetch X-GM-LABELS").
        let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+&,[]#'".contains(&byte);
        match !name.is_empty() && name.bytes().all(bare) {
            true => out.extend(name.as_bytes()),
            false => envelope::string(&mut out, name.as_bytes()),
        }
    }
    out.push(b')');
    out
}

fn told(
    items: &BTreeSet<Item>,
    place: &Place,
    uid: u32,
    row: &Row,
    message: &Message,
    octets: Octets,
) -> Vec<u8> {
    let mut out = Vec::new();
    let raw = message.raw.as_ref();
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(b' ');
        }
        let text = match item {
            Item::Thread => format!("X-GM-THRID {}", message.thrid),
            Item::Id => format!("X-GM-MSGID {}", message.msgid),
            Item::Uid => format!("UID {uid}"),
            Item::Modseq => format!("MODSEQ ({})", message.modseq),
            Item::Size => format!("RFC822.SIZE {}", raw.len()),
            Item::InternalDate => format!("INTERNALDATE \"{}\"", date::internal(message.unix_time)),
            Item::Flags => format!("FLAGS ({})", Store::flags(row, message).join(" ")),
            Item::Labels => {
                out.extend(b"X-GM-LABELS ");
                out.extend(labels(message, place, octets));
                continue;
            }
            Item::Envelope => {
                out.extend(b"ENVELOPE ");
                out.extend(envelope::envelope(message.header()));
                continue;
            }
            Item::Body => {
                out.extend(b"BODY ");
                out.extend(message.part.structure(raw, Detail::Basic));
                continue;
            }
            Item::BodyStructure => {
                out.extend(b"BODYSTRUCTURE ");
                out.extend(message.part.structure(raw, Detail::Full));
                continue;
            }
            Item::Piece(piece) => {
                piece.tell(&mut out, message);
                continue;
            }
        };
        out.extend(text.as_bytes());
    }
    out
}

impl Piece {
    fn tell(&self, out: &mut Vec<u8>, message: &Message) {
        out.extend(self.name.as_bytes());
        let section = section(&self.section, &self.fields);
        let found =
            section.and_then(|section| message.part.section(&message.raw, &self.path, &section));
        let octets = match (&found, self.partial) {
            (Some(octets), Some((from, most))) => {
                out.extend(format!("<{from}>").as_bytes());
                let from = from.min(octets.len());
                Some(&octets[from..from.saturating_add(most).min(octets.len())])
            }
            (found, _) => found.as_deref(),
        };
        match octets {
            None => out.extend(b" NIL"),
            Some(octets) => {
                out.extend(format!(" {{{}}}\r\n", octets.len()).as_bytes());
                out.extend(octets);
            }
        }
    }
}

/// The part of a section that is no number.
fn section(word: &str, fields: &[String]) -> Option<Section> {
    Some(match word {
        "" => Section::Whole,
        "HEADER" => Section::Header,
        "TEXT" => Section::Text,
        "MIME" => Section::Mime,
        "HEADER.FIELDS" => Section::Fields(fields.to_vec()),
        "HEADER.FIELDS.NOT" => Section::FieldsNot(fields.to_vec()),
        _ => return None,
    })
}

fn read_item(token: &Token, items: &mut BTreeSet<Item>) -> Result<(), Bad> {
    let Token::Atom(atom) = token else {
        return Err(Bad);
    };
    let whole = |name: &str, section: &str, reading: Reading| {
        Item::Piece(Piece {
            name: name.to_owned(),
            path: Vec::new(),
            section: section.to_owned(),
            fields: Vec::new(),
            partial: None,
            reading,
        })
    };
    let item = match atom.to_ascii_uppercase().as_str() {
        "ALL" => {
            return add(
                items,
                &[Item::Flags, Item::InternalDate, Item::Size, Item::Envelope],
            );
        }
        "FAST" => return add(items, &[Item::Flags, Item::InternalDate, Item::Size]),
        "FULL" => {
            let full = [
                Item::Flags,
                Item::InternalDate,
                Item::Size,
                Item::Envelope,
                Item::Body,
            ];
            return add(items, &full);
        }
        "UID" => Item::Uid,
        "FLAGS" => Item::Flags,
        "MODSEQ" => Item::Modseq,
        "INTERNALDATE" => Item::InternalDate,
        "RFC822.SIZE" => Item::Size,
        "ENVELOPE" => Item::Envelope,
        "BODY" => Item::Body,
        "BODYSTRUCTURE" => Item::BodyStructure,
        "RFC822" => whole("RFC822", "", Reading::Marks),
        "RFC822.HEADER" => whole("RFC822.HEADER", "HEADER", Reading::Peeks),
        "RFC822.TEXT" => whole("RFC822.TEXT", "TEXT", Reading::Marks),
        "X-GM-MSGID" => Item::Id,
        "X-GM-THRID" => Item::Thread,
        "X-GM-LABELS" => Item::Labels,
        _ => Item::Piece(read_piece(atom)?),
    };
    add(items, &[item])
}

fn add(items: &mut BTreeSet<Item>, more: &[Item]) -> Result<(), Bad> {
    items.extend(more.iter().cloned());
    Ok(())
}

/// `BODY.PEEK[1.HEADER.FIELDS (A B)]<0.5>`
fn read_piece(atom: &str) -> Result<Piece, Bad> {
    let (head, rest) = atom.split_once('[').ok_or(Bad)?;
    let (inner, tail) = rest.rsplit_once(']').ok_or(Bad)?;
    let reading = match head.to_ascii_uppercase().as_str() {
        "BODY" => Reading::Marks,
        "BODY.PEEK" => Reading::Peeks,
        _ => return Err(Bad),
    };
    let (word, fields) = match inner.split_once(' ') {
        Some((word, list)) => {
            let list = list
                .strip_prefix('(')
                .and_then(|list| list.strip_suffix(')'))
                .ok_or(Bad)?;
            let names = list
                .split_ascii_whitespace()
                .map(|name| name.trim_matches('"').to_owned());
            (word, names.collect())
        }
        None => (inner, Vec::new()),
    };
    let word = word.to_ascii_uppercase();
    let numbers = word
        .split('.')
        .take_while(|part| part.parse::<u32>().is_ok());
    let path: Vec<u32> = numbers.filter_map(|part| part.parse().ok()).collect();
    let section_word: Vec<&str> = word.split('.').skip(path.len()).collect();
    let section_word = section_word.join(".");
    if section(&section_word, &fields).is_none() || (section_word == "MIME" && path.is_empty()) {
        return Err(Bad);
    }
    Ok(Piece {
        name: format!("BODY[{inner}]"),
        path,
        section: section_word,
        fields,
        partial: read_partial(tail)?,
        reading,
    })
}

fn read_partial(tail: &str) -> Result<Option<(usize, usize)>, Bad> {
    if tail.is_empty() {
        return Ok(None);
    }
    let inner = tail
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'))
        .ok_or(Bad)?;
    let (from, most) = inner.split_once('.').ok_or(Bad)?;
    match (from.parse(), most.parse()) {
        (Ok(from), Ok(most)) if most > 0 => Ok(Some((from, most))),
        _ => Err(Bad),
    }
}
