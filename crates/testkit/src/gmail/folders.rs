//! Commands about mailboxes: listing, opening, counting, making. Reads no message.

use super::place::Place;
use super::session::{Access, Answer, Known, Modseqs, Session, View};
use super::store::{DELETED, Mailbox, SEEN, Store};
use super::syntax::{Args, Bad, Octets, Token};
use std::collections::BTreeSet;

/// The flags that every mailbox has (MailKit and php-imap logs); keywords join them as they come.
const FLAGS: [&str; 7] = [
    "\\Answered",
    "\\Flagged",
    "\\Draft",
    "\\Deleted",
    "\\Seen",
    "$NotPhishing",
    "$Phishing",
];

/// What a LIST shall tell beside the names (RFC 5258, 5819, 6154).
#[derive(Default)]
struct Returns {
    subscribed: bool,
    status: Option<Vec<String>>,
}

/// A line of a LIST.
struct Listed {
    name: String,
    attributes: BTreeSet<&'static str>,
    place: Option<Place>,
}

impl Session {
    pub(super) fn list(&mut self, verb: &str, mut args: Args) -> Answer {
        let only_special = match args.peek() {
            Some(Token::List(_)) => selects_special(args.list()?)?,
            _ => false,
        };
        let reference = args.text()?;
        let patterns = match args.next()? {
            Token::List(patterns) => patterns,
            one => vec![one],
        };
        let mut returns = Returns::default();
        if args.take("RETURN") {
            returns.read(args.list()?)?;
        }
        args.end()?;
        let mut patterns = patterns
            .iter()
            .map(|pattern| {
                let pattern = format!("{reference}{}", pattern.text()?);
                Ok(self.decoded(&pattern))
            })
            .collect::<Result<Vec<String>, Bad>>()?;
        if patterns == [""] {
            self.untagged(&format!("{verb} (\\Noselect) \"/\" \"/\""));
            return Ok("OK Success".to_owned());
        }
        patterns.retain(|pattern| !pattern.is_empty());
        for line in self.listed(verb) {
            let wanted = patterns.iter().any(|pattern| matches(pattern, &line.name));
            let special = line
                .place
                .as_ref()
                .is_some_and(|place| place.special_use().is_some());
            if !wanted || (only_special && !special) {
                continue;
            }
            let mut attributes = line.attributes;
            if returns.subscribed && line.place.is_some() {
                attributes.insert("\\Subscribed");
            }
            let attributes: Vec<&str> = attributes.into_iter().collect();
            let name = quoted(&self.encoded(&line.name));
            self.untagged(&format!("{verb} ({}) \"/\" {name}", attributes.join(" ")));
            if let (Some(items), Some(place)) = (&returns.status, &line.place) {
                let counted = self.counted(place, items)?;
                self.untagged(&format!("STATUS {name} ({counted})"));
            }
        }
        Ok("OK Success".to_owned())
    }

    /// Everything there is, INBOX first, the user's labels next, then the special ones. Attributes stand in the order of the
    /// alphabet (MailKit and imap_tools logs); those of RFC 6154 come with every LIST, as Google's page says.
    fn listed(&self, verb: &str) -> Vec<Listed> {
        let account = self.account();
        let language = account.store.settings.language;
        let shown = account.store.places();
        drop(account);
        let named = |place: &Place| (language.name(place), Some(place.clone()));
        let mut names: Vec<(String, Option<Place>)> = shown.iter().map(named).collect();
        names.push((language.root().to_owned(), None));
        // A label below one that does not exist: its parent is listed and cannot be opened.
        let parents: BTreeSet<String> = names.iter().flat_map(|(name, _)| above(name)).collect();
        for parent in parents {
            if !names.iter().any(|(name, _)| *name == parent) {
                names.push((parent, None));
            }
        }
        let rank = |name: &str| match name {
            "INBOX" => 0,
            name if name.starts_with(language.root()) => 2,
            _ => 1,
        };
        names.sort_by(|(one, _), (other, _)| (rank(one), one).cmp(&(rank(other), other)));
        let has_children = |name: &str| {
            let below = format!("{name}/");
            names.iter().any(|(other, _)| other.starts_with(&below))
        };
        let listed = names.iter().map(|(name, place)| {
            let children = if has_children(name) {
                "\\HasChildren"
            } else {
                "\\HasNoChildren"
            };
            let special = match (place, verb) {
                (None, _) => Some("\\Noselect"),
                (Some(place), "XLIST") => place.xlist(),
                (Some(place), _) => place.special_use(),
            };
            Listed {
                name: name.clone(),
                attributes: [children].into_iter().chain(special).collect(),
                place: place.clone(),
            }
        });
        listed.collect()
    }

    /// Line by line as in logs of MailKit ("pulling all folders") and php-imap; the refusal as in mustang's, "unknown mailbox".
    pub(super) fn open(&mut self, mut args: Args, access: Access) -> Answer {
        let name = args.text()?;
        if !args.is_empty() {
            match args.list()?.word()?.as_str() {
                "CONDSTORE" => self.modseqs = Modseqs::Told,
                _ => return Err(Bad.into()),
            }
        }
        args.end()?;
        let place = self.place(&name);
        // One that was open is no longer, whatever comes.
        self.view = None;
        let account = self.account();
        let Some(mailbox) = account.store.shown(&place) else {
            return Ok(format!(
                "NO [NONEXISTENT] Unknown Mailbox: {name} (now in authenticated state) (Failure)"
            ));
        };
        let row = |(uid, row): (&u32, &super::store::Row)| Known {
            uid: *uid,
            modseq: account
                .store
                .message(row.msgid)
                .map_or(0, |message| message.modseq),
        };
        let rows: Vec<Known> = mailbox.rows.iter().map(row).collect();
        let flags = known_flags(&account.store, mailbox).join(" ");
        let (uidvalidity, uidnext) = (mailbox.uidvalidity, mailbox.uidnext);
        let modseq = account.store.modseq;
        drop(account);
        let (kept, word) = match access {
            Access::Writing => (format!("{flags} \\*"), "READ-WRITE"),
            Access::Reading => (String::new(), "READ-ONLY"),
        };
        self.untagged(&format!("FLAGS ({flags})"));
        self.untagged(&format!("OK [PERMANENTFLAGS ({kept})] Flags permitted."));
        self.untagged(&format!("OK [UIDVALIDITY {uidvalidity}] UIDs valid."));
        self.untagged(&format!("{} EXISTS", rows.len()));
        self.untagged("0 RECENT");
        self.untagged(&format!("OK [UIDNEXT {uidnext}] Predicted next UID."));
        // QUIRK: no text behind the code, which the grammar wants (the same logs).
        self.untagged(&format!("OK [HIGHESTMODSEQ {modseq}]"));
        self.view = Some(View {
            place,
            access,
            rows,
        });
        Ok(format!("OK [{word}] {name} selected. (Success)"))
    }

    pub(super) fn leave(&mut self, verb: &str, args: Args) -> Answer {
        args.end()?;
        let view = self.view.take();
        if let Some(view) = view.filter(|view| verb == "CLOSE" && view.access == Access::Writing) {
            let mut account = self.account();
            for known in view.rows {
                let deleted = account
                    .store
                    .row(&view.place, known.uid)
                    .is_some_and(|(row, _)| row.deleted);
                if deleted {
                    account.store.expunge(&view.place, known.uid);
                }
            }
        }
        Ok("OK Returned to authenticated state. (Success)".to_owned())
    }

    /// The refusal is in alps's tracker, "Gmail error".
    pub(super) fn status(&mut self, mut args: Args) -> Answer {
        let name = args.text()?;
        let items = args.list()?.rest();
        args.end()?;
        let items: Vec<String> = items.iter().map(Token::text).collect::<Result<_, _>>()?;
        let place = self.place(&name);
        if self.account().store.shown(&place).is_none() {
            return Ok(format!("NO [NONEXISTENT] Invalid folder: {name} (Failure)"));
        }
        let counted = self.counted(&place, &items)?;
        self.untagged(&format!("STATUS {} ({counted})", quoted(&name)));
        Ok("OK Success".to_owned())
    }

    fn counted(&self, place: &Place, items: &[String]) -> Result<String, Bad> {
        let account = self.account();
        let mailbox = account.store.shown(place).ok_or(Bad)?;
        let unseen = mailbox.rows.values().filter(|row| {
            let message = account.store.message(row.msgid);
            message.is_some_and(|message| !message.flags.contains(SEEN))
        });
        let counts = items.iter().map(|item| {
            let item = item.to_ascii_uppercase();
            let count = match item.as_str() {
                "MESSAGES" => mailbox.rows.len() as u64,
                "UNSEEN" => unseen.clone().count() as u64,
                "RECENT" => 0,
                "UIDNEXT" => u64::from(mailbox.uidnext),
                "UIDVALIDITY" => u64::from(mailbox.uidvalidity),
                "HIGHESTMODSEQ" => account.store.modseq,
                _ => return Err(Bad),
            };
            Ok(format!("{item} {count}"))
        });
        Ok(counts.collect::<Result<Vec<_>, _>>()?.join(" "))
    }

    pub(super) fn relabel(&mut self, verb: &str, mut args: Args) -> Answer {
        let name = args.text()?;
        let place = self.place(name.trim_end_matches('/'));
        let to = match verb {
            "RENAME" => Some(args.text()?),
            _ => None,
        };
        args.end()?;
        let own = |place: &Place| matches!(place, Place::Label(name) if !name.starts_with(self.settings().language.root()));
        let exists = |place: &Place| self.account().store.hidden_or_shown(place).is_some();
        let to = to.map(|to| self.place(&to));
        if !own(&place) || to.as_ref().is_some_and(|to| !own(to)) {
            return Ok(format!("NO [CANNOT] Invalid folder name: {name} (Failure)"));
        }
        let target = to.as_ref().unwrap_or(&place);
        if verb != "DELETE" && exists(target) {
            return Ok("NO [ALREADYEXISTS] Duplicate folder name (Failure)".to_owned());
        }
        if verb != "CREATE" && !exists(&place) {
            return Ok(format!(
                "NO [NONEXISTENT] Unknown Mailbox: {name} (Failure)"
            ));
        }
        let store = &mut self.account().store;
        match (verb, &to) {
            ("RENAME", Some(to)) => store.rename(&place, to),
            ("DELETE", _) => store.delete(&place),
            _ => store.create(&place),
        }
        Ok("OK Success".to_owned())
    }

    pub(super) fn subscribe(&mut self, mut args: Args) -> Answer {
        let name = args.text()?;
        args.end()?;
        let place = self.place(&name);
        Ok(match self.account().store.shown(&place) {
            Some(_) => "OK Success".to_owned(),
            None => format!("NO [NONEXISTENT] Unknown Mailbox: {name} (Failure)"),
        })
    }

    /// RFC 5161.
    pub(super) fn enable(&mut self, mut args: Args) -> Answer {
        let mut enabled = String::new();
        while !args.is_empty() {
            let word = args.word()?;
            match word.as_str() {
                "UTF8=ACCEPT" => self.octets = Octets::Utf8,
                "CONDSTORE" => self.modseqs = Modseqs::Told,
                _ => continue,
            }
            enabled.push(' ');
            enabled.push_str(&word);
        }
        self.untagged(&format!("ENABLED{enabled}"));
        Ok("OK Success".to_owned())
    }
}

impl Returns {
    fn read(&mut self, mut args: Args) -> Result<(), Bad> {
        while !args.is_empty() {
            match args.word()?.as_str() {
                "SUBSCRIBED" => self.subscribed = true,
                "CHILDREN" | "SPECIAL-USE" => {}
                "STATUS" => {
                    let items = args.list()?.rest();
                    self.status = Some(items.iter().map(Token::text).collect::<Result<_, _>>()?);
                }
                _ => return Err(Bad),
            }
        }
        Ok(())
    }
}

fn selects_special(mut options: Args) -> Result<bool, Bad> {
    let mut special = false;
    while !options.is_empty() {
        match options.word()?.as_str() {
            "SPECIAL-USE" => special = true,
            "SUBSCRIBED" | "REMOTE" | "RECURSIVEMATCH" => {}
            _ => return Err(Bad),
        }
    }
    Ok(special)
}

fn known_flags(store: &Store, mailbox: &Mailbox) -> Vec<String> {
    let mut flags: Vec<String> = FLAGS.iter().map(|flag| (*flag).to_owned()).collect();
    let messages = mailbox
        .rows
        .values()
        .filter_map(|row| store.message(row.msgid));
    let keywords: BTreeSet<&String> = messages.flat_map(|message| &message.flags).collect();
    let more = keywords
        .into_iter()
        .filter(|flag| *flag != DELETED && !flags.contains(flag));
    let more: Vec<String> = more.cloned().collect();
    flags.extend(more);
    flags
}

/// The names above a nested one.
fn above(name: &str) -> Vec<String> {
    let slashes = name.match_indices('/').map(|(at, _)| at);
    slashes.map(|at| name[..at].to_owned()).collect()
}

/// RFC 3501 section 6.3.8: `*` is anything, `%` anything within one level.
fn matches(pattern: &str, name: &str) -> bool {
    let (mut from, mut rest) = (name.chars(), pattern.chars());
    match rest.next() {
        None => name.is_empty(),
        Some(any @ ('*' | '%')) => {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            let reach = ends.take_while(|end| any == '*' || !name[..*end].contains('/'));
            reach
                .into_iter()
                .any(|end| matches(rest.as_str(), &name[end..]))
        }
        Some(one) => {
            let same = from.next().is_some_and(|other| other == one);
            same && matches(rest.as_str(), from.as_str())
        }
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn patterns_know_levels() {
        for (pattern, name, want) in [
            ("*", "a/b", true),
            ("%", "a/b", false),
            ("%", "a", true),
            ("a/%", "a/b", true),
            ("[Gmail]/%", "[Gmail]/All Mail", true),
            ("INBOX", "INBOX", true),
            ("INBOX", "INBOX2", false),
            ("*b", "a/b", true),
            ("", "a", false),
        ] {
            assert_eq!(matches(pattern, name), want, "{pattern} {name}");
        }
    }
}
