//! Commands that change mail: STORE, COPY, MOVE, EXPUNGE and APPEND. What labels make of it stands in `store.rs`.

use super::date;
use super::fetch::labels;
use super::numbers::{By, Numbers, spelled};
use super::place::Place;
use super::session::{Access, Answer, Modseqs, Session};
use super::settings::Deleting;
use super::store::{DELETED, DRAFT, Mark, Store};
use super::syntax::{Args, Bad, Octets, Token};
use crate::utf7;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What `APPENDLIMIT` announces.
const MOST_OCTETS: usize = 35_651_584;

const READ_ONLY: &str = "NO [READ-ONLY] Mailbox is read-only. (Failure)";

/// What becomes of what is named.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Added,
    Removed,
    Replaced,
}

/// `+FLAGS.SILENT` taken apart.
struct Asked {
    how: How,
    labels: bool,
    silent: bool,
}

impl Session {
    pub(super) fn store(&mut self, verb: &str, mut args: Args) -> Answer {
        let by = By::of(verb);
        let rows = self.chosen(&args.text()?, by)?;
        let unchanged = match args.peek() {
            Some(Token::List(_)) => {
                let mut modifier = args.list()?;
                match modifier.take("UNCHANGEDSINCE") {
                    true => Some(modifier.number::<u64>()?),
                    false => return Err(Bad.into()),
                }
            }
            _ => None,
        };
        let asked = Asked::read(&args.word()?)?;
        let named = match args.peek() {
            Some(Token::List(_)) => args.list()?.rest(),
            _ => args.rest(),
        };
        args.end()?;
        let (place, access, octets) = self.standing();
        if access == Access::Reading {
            return Ok(READ_ONLY.to_owned());
        }
        if unchanged.is_some() {
            self.modseqs = Modseqs::Told;
        }
        let named: Vec<String> = named.iter().map(Token::text).collect::<Result<_, _>>()?;
        let changed = unchanged.map(|since| self.changed_since(&place, &rows, since));
        let changed = changed.unwrap_or_default();
        for (number, uid) in rows {
            if changed.contains(&uid) {
                continue;
            }
            match asked.labels {
                true => self.store_labels(&place, uid, &asked, &named, octets),
                false => self.store_flags(&place, uid, &asked, &named)?,
            }
            self.tell_stored(number, uid, &place, &asked, by);
        }
        Ok(match changed.is_empty() {
            true => "OK Success".to_owned(),
            false => format!(
                "OK [MODIFIED {}] Conditional STORE failed",
                spelled(&changed)
            ),
        })
    }

    fn changed_since(&self, place: &Place, rows: &[(usize, u32)], since: u64) -> Vec<u32> {
        let account = self.account();
        let newer = |uid: u32| {
            account
                .store
                .row(place, uid)
                .is_some_and(|(_, message)| message.modseq > since)
        };
        rows.iter()
            .map(|(_, uid)| *uid)
            .filter(|uid| newer(*uid))
            .collect()
    }

    fn store_flags(
        &mut self,
        place: &Place,
        uid: u32,
        asked: &Asked,
        named: &[String],
    ) -> Result<(), Bad> {
        let named: BTreeSet<String> = named
            .iter()
            .map(|flag| spelled_flag(flag))
            .collect::<Result<_, _>>()?;
        let mut account = self.account();
        let Some((row, message)) = account.store.row(place, uid) else {
            return Ok(());
        };
        let before: BTreeSet<String> = Store::flags(row, message).into_iter().collect();
        let msgid = message.msgid;
        let mut after: BTreeSet<String> = match asked.how {
            How::Added => before.union(&named).cloned().collect(),
            How::Removed => before.difference(&named).cloned().collect(),
            How::Replaced => named,
        };
        let deleted = after.remove(DELETED);
        account.store.set_flags(msgid, after);
        account
            .store
            .mark(place, uid, if deleted { Mark::Deleted } else { Mark::Kept });
        if deleted && account.store.settings.deleting == Deleting::AtOnce {
            account.store.expunge(place, uid);
        }
        Ok(())
    }

    /// A label that does not exist is made. Google's page does not say so, nor that it is refused; clients add labels without
    /// creating them first (paperless-ngx, "append Gmail labels"). Without a sign, all labels are replaced (the same, and
    /// imap_tools, "add support to add gmail label").
    fn store_labels(
        &mut self,
        place: &Place,
        uid: u32,
        asked: &Asked,
        named: &[String],
        octets: Octets,
    ) {
        let decoded = |name: &String| match octets {
            Octets::Utf8 => name.clone(),
            Octets::Ascii => utf7::decode(name).unwrap_or_else(|| name.clone()),
        };
        let mut account = self.account();
        let named = named.iter().map(|name| Place::of_label(&decoded(name)));
        let named: BTreeSet<Place> = named.map(|one| account.store.spelled(one)).collect();
        let Some((_, message)) = account.store.row(place, uid) else {
            return;
        };
        let (msgid, before) = (message.msgid, message.labels());
        let added = named.iter().filter(|_| asked.how != How::Removed);
        let removed = before.iter().filter(|label| match asked.how {
            How::Added => false,
            How::Removed => named.contains(label),
            How::Replaced => !named.contains(label),
        });
        for label in removed {
            account.store.remove(msgid, label);
        }
        for label in added {
            account.store.label(msgid, label);
        }
    }

    /// What became of it, unless it was not to be told. One that is gone with it is told of as that alone.
    fn tell_stored(&mut self, number: usize, uid: u32, place: &Place, asked: &Asked, by: By) {
        let shared = Arc::clone(&self.shared);
        let account = shared.account();
        let Some((row, message)) = account.store.row(place, uid) else {
            return;
        };
        // This client knows, whether told or not.
        if let Some(known) = self
            .view
            .as_mut()
            .and_then(|view| view.rows.get_mut(number - 1))
        {
            known.modseq = message.modseq;
        }
        if asked.silent && self.modseqs == Modseqs::Untold {
            return;
        }
        let mut parts: Vec<Vec<u8>> = Vec::new();
        if asked.labels && !asked.silent {
            let labels = labels(message, place, self.octets);
            parts.push([b"X-GM-LABELS ".as_slice(), &labels].concat());
        }
        if by == By::Uid {
            parts.push(format!("UID {uid}").into_bytes());
        }
        if self.modseqs == Modseqs::Told {
            parts.push(format!("MODSEQ ({})", message.modseq).into_bytes());
        }
        if !asked.labels && !asked.silent {
            let flags = Store::flags(row, message).join(" ");
            parts.push(format!("FLAGS ({flags})").into_bytes());
        }
        self.wire.say(format!("* {number} FETCH (").as_bytes());
        self.wire.say(&parts.join(&b' '));
        self.wire.say(b")\r\n");
    }

    /// Both answer with `COPYUID` in the tagged line, MOVE too (net-imap, "COPYUID in tagged vs untagged responses"). A message
    /// that is in the target already keeps its number there. How a target is refused is in Gmail.ps's tracker
    /// ("move-message exception").
    pub(super) fn transfer(&mut self, verb: &str, mut args: Args) -> Answer {
        let rows = self.chosen(&args.text()?, By::of(verb))?;
        let name = args.text()?;
        args.end()?;
        let moves = verb.ends_with("MOVE");
        let (place, access, _) = self.standing();
        if moves && access == Access::Reading {
            return Ok(READ_ONLY.to_owned());
        }
        let to = self.place(&name);
        let mut account = self.account();
        let Some(target) = account.store.shown(&to) else {
            return Ok(format!("NO [TRYCREATE] No folder {name} (Failure)"));
        };
        let uidvalidity = target.uidvalidity;
        let mut landed: Vec<(u32, u32)> = Vec::new();
        for (_, uid) in rows {
            let Some(msgid) = account.store.row(&place, uid).map(|(row, _)| row.msgid) else {
                continue;
            };
            account.store.put(msgid, &to);
            if moves && to != place {
                account.store.remove(msgid, &place);
            }
            landed.extend(account.store.uid(&to, msgid).map(|new| (uid, new)));
        }
        if landed.is_empty() {
            return Ok("OK No matching messages (Success)".to_owned());
        }
        let (from, to): (Vec<u32>, Vec<u32>) = landed.into_iter().unzip();
        Ok(format!(
            "OK [COPYUID {uidvalidity} {} {}] (Success)",
            spelled(&from),
            spelled(&to)
        ))
    }

    pub(super) fn expunge(&mut self, verb: &str, mut args: Args) -> Answer {
        let view = self.view.as_ref().expect("a mailbox is open");
        let last = view.rows.last().map_or(0, |known| known.uid);
        let set = match verb {
            "UID EXPUNGE" => Some(Numbers::read(&args.text()?, last)?),
            _ => None,
        };
        args.end()?;
        if view.access == Access::Reading {
            return Ok(READ_ONLY.to_owned());
        }
        let mut account = self.account();
        for known in &view.rows {
            let deleted = account
                .store
                .row(&view.place, known.uid)
                .is_some_and(|(row, _)| row.deleted);
            if deleted && set.as_ref().is_none_or(|set| set.holds(known.uid)) {
                account.store.expunge(&view.place, known.uid);
            }
        }
        Ok("OK Success".to_owned())
    }

    /// The words of the refusal are in iris.vim's tracker, "error on sending mail"; those of the success in node-imap's, "adds
    /// support for APPEND".
    pub(super) fn append(&mut self, mut args: Args) -> Answer {
        let name = args.text()?;
        let mut flags = BTreeSet::new();
        if let Some(Token::List(_)) = args.peek() {
            let named = args.list()?.rest();
            for flag in &named {
                flags.insert(spelled_flag(&flag.text()?)?);
            }
        }
        let mut bytes = args.bytes()?;
        let mut unix_time = None;
        if !args.is_empty() {
            let text = String::from_utf8(bytes).map_err(|_| Bad)?;
            unix_time = Some(date::parse_internal(&text).ok_or(Bad)?);
            bytes = args.bytes()?;
        }
        args.end()?;
        if bytes.len() > MOST_OCTETS {
            return Ok("NO [TOOBIG] Message too large. (Failure)".to_owned());
        }
        let place = self.place(&name);
        let mut account = self.account();
        if account.store.shown(&place).is_none() {
            return Ok("NO [TRYCREATE] Folder doesn't exist. (Failure)".to_owned());
        }
        if place == Place::Drafts {
            flags.insert(DRAFT.to_owned());
        }
        let unix_time = unix_time.unwrap_or_else(|| account.now());
        let msgid = account.store.append(&place, &bytes, unix_time, &flags);
        // Where it was already, it keeps its number.
        let landing = account.store.landing(&place, msgid).ok_or(Bad)?;
        Ok(format!(
            "OK [APPENDUID {} {}] (Success)",
            landing.uidvalidity, landing.uid
        ))
    }
}

impl Asked {
    fn read(word: &str) -> Result<Self, Bad> {
        let (how, rest) = match word.split_at_checked(1) {
            Some(("+", rest)) => (How::Added, rest),
            Some(("-", rest)) => (How::Removed, rest),
            _ => (How::Replaced, word),
        };
        let (item, silent) = match rest.strip_suffix(".SILENT") {
            Some(item) => (item, true),
            None => (rest, false),
        };
        let labels = match item {
            "FLAGS" => false,
            "X-GM-LABELS" => true,
            _ => return Err(Bad),
        };
        Ok(Self {
            how,
            labels,
            silent,
        })
    }
}

/// System flags in one spelling; keywords as they come, which Gmail keeps and makes no labels of (darbaan, "label mapping").
fn spelled_flag(flag: &str) -> Result<String, Bad> {
    const SYSTEM: [&str; 5] = ["\\Answered", "\\Deleted", "\\Draft", "\\Flagged", "\\Seen"];
    if let Some(known) = SYSTEM.iter().find(|known| known.eq_ignore_ascii_case(flag)) {
        return Ok((*known).to_owned());
    }
    match flag.is_empty() || flag.starts_with('\\') {
        true => Err(Bad),
        false => Ok(flag.to_owned()),
    }
}
