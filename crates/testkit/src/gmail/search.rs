//! `SEARCH` and `UID SEARCH` (RFC 3501 section 6.4.4, RFC 4731) with Gmail's own keys. `X-GM-RAW` is read in `raw.rs`.

use super::date;
use super::mime;
use super::numbers::{By, Numbers, spelled};
use super::place::Place;
use super::raw::Query;
use super::session::{Answer, Modseqs, Session};
use super::settings::Matching;
use super::store::{Message, Row, Store};
use super::syntax::{Args, Bad, Octets, Token};
use super::text;
use crate::utf7;

const MOST_DEPTH: usize = 50;

/// One condition.
enum Key {
    All,
    Never,
    Each(Vec<Key>),
    Either(Box<Key>, Box<Key>),
    Not(Box<Key>),
    Numbers(Numbers),
    Uids(Numbers),
    Flag(String),
    /// Of a header; an empty name is any.
    Field {
        name: String,
        holds: String,
    },
    Body(String),
    Text(String),
    Larger(usize),
    Smaller(usize),
    Arrived(When, i64),
    Sent(When, i64),
    Modseq(u64),
    Id(u64),
    Thread(u64),
    Label(Place),
    Raw(Query),
}

#[derive(Clone, Copy)]
enum When {
    Before,
    On,
    Since,
}

/// A message as a search looks at it.
pub(super) struct Candidate<'a> {
    pub(super) number: u32,
    pub(super) uid: u32,
    pub(super) row: &'a Row,
    pub(super) message: &'a Message,
    pub(super) matching: Matching,
    /// Seconds since 1970.
    pub(super) now: u64,
}

impl Session {
    pub(super) fn search(&mut self, tag: &str, verb: &str, mut args: Args) -> Answer {
        let by = By::of(verb);
        let returns = match args.take("RETURN") {
            true => Some(read_returns(args.list()?)?),
            false => None,
        };
        if args.take("CHARSET") {
            let charset = args.text()?.to_ascii_uppercase();
            if !["UTF-8", "US-ASCII"].contains(&charset.as_str()) {
                return Ok("NO [BADCHARSET (UTF-8 US-ASCII)] Unknown charset (Failure)".to_owned());
            }
        }
        let rows = &self.view.as_ref().expect("a mailbox is open").rows;
        let last = (
            u32::try_from(rows.len()).unwrap_or(u32::MAX),
            rows.last().map_or(0, |known| known.uid),
        );
        let reader = KeyReader {
            last,
            octets: self.octets,
        };
        let key = reader.each(args, 0)?;
        let modseqs = key.asks_modseq();
        let (place, _, _) = self.standing();
        let mut found = Vec::new();
        let mut highest = 0;
        let account = self.account();
        for (known, number) in rows.iter().zip(1_u32..) {
            let Some((row, message)) = account.store.row(&place, known.uid) else {
                continue;
            };
            let candidate = Candidate {
                number,
                uid: known.uid,
                row,
                message,
                matching: account.store.settings.matching,
                now: account.now(),
            };
            if key.holds(&candidate) {
                found.push(match by {
                    By::Uid => known.uid,
                    By::Number => number,
                });
                highest = highest.max(message.modseq);
            }
        }
        drop(account);
        if modseqs {
            self.modseqs = Modseqs::Told;
        }
        let line = match returns {
            Some(returns) => {
                let uid = match by {
                    By::Uid => " UID",
                    By::Number => "",
                };
                format!("ESEARCH (TAG \"{tag}\"){uid}{}", extended(&returns, &found))
            }
            None => {
                let numbers = found.iter().map(|number| format!(" {number}"));
                let modseq = match modseqs && !found.is_empty() {
                    true => format!(" (MODSEQ {highest})"),
                    false => String::new(),
                };
                format!("SEARCH{}{modseq}", numbers.collect::<String>())
            }
        };
        self.untagged(&line);
        Ok("OK SEARCH completed (Success)".to_owned())
    }
}

/// No `SAVE` and no `PARTIAL`: Gmail announces neither `SEARCHRES` nor `PARTIAL`.
fn read_returns(mut list: Args) -> Result<Vec<String>, Bad> {
    let mut returns = Vec::new();
    while !list.is_empty() {
        let word = list.word()?;
        if !["MIN", "MAX", "COUNT", "ALL"].contains(&word.as_str()) {
            return Err(Bad);
        }
        returns.push(word);
    }
    if returns.is_empty() {
        returns.push("ALL".to_owned());
    }
    Ok(returns)
}

/// Nothing but the count when there is nothing (MailKit, "example for pulling all folders", shows a bare `UID`).
fn extended(returns: &[String], found: &[u32]) -> String {
    let asked = |word: &str| returns.iter().any(|one| one == word);
    let mut out = String::new();
    if let (Some(first), Some(last)) = (found.first(), found.last()) {
        if asked("MIN") {
            out.push_str(&format!(" MIN {first}"));
        }
        if asked("MAX") {
            out.push_str(&format!(" MAX {last}"));
        }
    }
    if asked("COUNT") {
        out.push_str(&format!(" COUNT {}", found.len()));
    }
    if asked("ALL") && !found.is_empty() {
        out.push_str(&format!(" ALL {}", spelled(found)));
    }
    out
}

struct KeyReader {
    /// The last number and the last UID.
    last: (u32, u32),
    octets: Octets,
}

impl KeyReader {
    fn each(&self, mut args: Args, depth: usize) -> Result<Key, Bad> {
        if depth > MOST_DEPTH || args.is_empty() {
            return Err(Bad);
        }
        let mut keys = Vec::new();
        while !args.is_empty() {
            keys.push(self.key(&mut args, depth + 1)?);
        }
        Ok(Key::Each(keys))
    }

    fn key(&self, args: &mut Args, depth: usize) -> Result<Key, Bad> {
        if depth > MOST_DEPTH {
            return Err(Bad);
        }
        let word = match args.next()? {
            Token::List(inner) => return self.each(Args::of(inner), depth + 1),
            Token::Atom(word) => word.to_ascii_uppercase(),
            Token::Text(_) => return Err(Bad),
        };
        let field = |name: &str, args: &mut Args| {
            Ok(Key::Field {
                name: name.to_owned(),
                holds: args.text()?,
            })
        };
        Ok(match word.as_str() {
            "ALL" | "OLD" => Key::All,
            "NEW" | "RECENT" => Key::Never,
            "NOT" => Key::Not(Box::new(self.key(args, depth + 1)?)),
            "OR" => {
                let one = self.key(args, depth + 1)?;
                Key::Either(Box::new(one), Box::new(self.key(args, depth + 1)?))
            }
            "UID" => Key::Uids(Numbers::read(&args.text()?, self.last.1)?),
            "FROM" | "TO" | "CC" | "BCC" | "SUBJECT" => field(&word, args)?,
            "HEADER" => {
                let name = args.text()?;
                field(&name, args)?
            }
            "BODY" => Key::Body(args.text()?),
            "TEXT" => Key::Text(args.text()?),
            "KEYWORD" => Key::Flag(args.text()?),
            "UNKEYWORD" => Key::Not(Box::new(Key::Flag(args.text()?))),
            "LARGER" => Key::Larger(args.number()?),
            "SMALLER" => Key::Smaller(args.number()?),
            "MODSEQ" => {
                // An entry's name and type may stand before the number (RFC 7162 section 3.1.5).
                if let Some(Token::Text(_)) = args.peek() {
                    args.next()?;
                    args.next()?;
                }
                Key::Modseq(args.number()?)
            }
            "X-GM-MSGID" => Key::Id(args.number()?),
            "X-GM-THRID" => Key::Thread(args.number()?),
            "X-GM-LABELS" => Key::Label(self.label(&args.text()?)),
            "X-GM-RAW" => Key::Raw(Query::read(&args.text()?)),
            _ => return self.plain(&word, args),
        })
    }

    fn plain(&self, word: &str, args: &mut Args) -> Result<Key, Bad> {
        const FLAGS: [&str; 5] = ["Answered", "Deleted", "Draft", "Flagged", "Seen"];
        let flag = |word: &str| {
            let found = FLAGS.iter().find(|flag| flag.eq_ignore_ascii_case(word));
            found.map(|flag| Key::Flag(format!("\\{flag}")))
        };
        if let Some(key) = flag(word) {
            return Ok(key);
        }
        if let Some(key) = word.strip_prefix("UN").and_then(flag) {
            return Ok(Key::Not(Box::new(key)));
        }
        let when = match word.trim_start_matches("SENT") {
            "BEFORE" => Some(When::Before),
            "ON" => Some(When::On),
            "SINCE" => Some(When::Since),
            _ => None,
        };
        if let Some(when) = when {
            let day = date::parse_day(&args.text()?).ok_or(Bad)?;
            return Ok(match word.starts_with("SENT") {
                true => Key::Sent(when, day),
                false => Key::Arrived(when, day),
            });
        }
        Numbers::read(word, self.last.0).map(Key::Numbers)
    }

    fn label(&self, name: &str) -> Place {
        match self.octets {
            Octets::Utf8 => Place::of_label(name),
            Octets::Ascii => {
                Place::of_label(&utf7::decode(name).unwrap_or_else(|| name.to_owned()))
            }
        }
    }
}

impl Key {
    fn holds(&self, one: &Candidate<'_>) -> bool {
        let message = one.message;
        match self {
            Self::All => true,
            Self::Never => false,
            Self::Each(keys) => keys.iter().all(|key| key.holds(one)),
            Self::Either(this, that) => this.holds(one) || that.holds(one),
            Self::Not(key) => !key.holds(one),
            Self::Numbers(set) => set.holds(one.number),
            Self::Uids(set) => set.holds(one.uid),
            Self::Flag(flag) => {
                let flags = Store::flags(one.row, message);
                flags.iter().any(|has| has.eq_ignore_ascii_case(flag))
            }
            Self::Field { name, holds } => one.field_holds(name, holds),
            Self::Body(holds) => one.body_holds(holds),
            Self::Text(holds) => one.header_holds(holds) || one.body_holds(holds),
            Self::Larger(octets) => message.raw.len() > *octets,
            Self::Smaller(octets) => message.raw.len() < *octets,
            Self::Arrived(when, day) => when.fits(arrival_day(message), *day),
            Self::Sent(when, day) => {
                let sent = mime::field(message.header(), "date");
                let sent = sent.and_then(|text| date::header_day(&text));
                when.fits(sent.unwrap_or_else(|| arrival_day(message)), *day)
            }
            Self::Modseq(least) => message.modseq >= *least,
            Self::Id(id) => message.msgid == *id,
            Self::Thread(id) => message.thrid == *id,
            Self::Label(place) => message.labels().contains(place),
            Self::Raw(query) => query.holds(one),
        }
    }

    fn asks_modseq(&self) -> bool {
        match self {
            Self::Modseq(_) => true,
            Self::Each(keys) => keys.iter().any(Self::asks_modseq),
            Self::Either(this, that) => this.asks_modseq() || that.asks_modseq(),
            Self::Not(key) => key.asks_modseq(),
            _ => false,
        }
    }
}

impl Candidate<'_> {
    pub(super) fn field_holds(&self, name: &str, holds: &str) -> bool {
        let values = mime::all_fields(self.message.header(), name);
        values
            .iter()
            .any(|value| text::holds(&text::header(value), holds, self.matching))
    }

    pub(super) fn header_holds(&self, holds: &str) -> bool {
        let header = String::from_utf8_lossy(self.message.header());
        text::holds(&text::header(&header), holds, self.matching)
    }

    pub(super) fn body_holds(&self, holds: &str) -> bool {
        text::holds(
            &self.message.part.text(&self.message.raw),
            holds,
            self.matching,
        )
    }
}

impl When {
    fn fits(self, is: i64, wanted: i64) -> bool {
        match self {
            Self::Before => is < wanted,
            Self::On => is == wanted,
            Self::Since => is >= wanted,
        }
    }
}

/// In UTC: the zone of a real account is its owner's.
pub(super) fn arrival_day(message: &Message) -> i64 {
    i64::try_from(message.unix_time / 86_400).unwrap_or(i64::MAX)
}
