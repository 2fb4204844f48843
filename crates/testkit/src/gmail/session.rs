//! One client's session: which command is in order when, and what it is told of others' changes. What commands do stands in
//! the files beside this one.

use super::place::Place;
use super::record::Fault;
use super::settings::{Settings, Throttle};
use super::store::Store;
use super::syntax::{self, Args, Bad, Octets};
use super::wire::{Came, Gone, Line, Wire};
use super::{Account, Shared};
use crate::utf7;
use std::sync::{Arc, MutexGuard};

pub(super) struct Session {
    pub(super) wire: Wire,
    pub(super) shared: Arc<Shared>,
    number: usize,
    pub(super) login: Login,
    pub(super) view: Option<View>,
    pub(super) octets: Octets,
    pub(super) modseqs: Modseqs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Login {
    Stranger,
    User,
}

/// Whether FETCH answers tell `MODSEQ` unasked (RFC 7162 section 3.1: once a client has shown that it knows of it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Modseqs {
    Untold,
    Told,
}

/// The open mailbox as this client knows it.
#[derive(Debug)]
pub(super) struct View {
    pub(super) place: Place,
    pub(super) access: Access,
    /// By sequence number, from 1.
    pub(super) rows: Vec<Known>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    Reading,
    Writing,
}

/// A message that the client has been told of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub(super) uid: u32,
    /// As of when.
    pub(super) modseq: u64,
}

/// Why a command has no answer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    Bad,
    Gone,
}

/// What stands behind the tag.
pub(super) type Answer = Result<String, Failed>;

/// Whether messages that went may be told of (RFC 3501 section 7.4.1: not while numbers are in use). With the `UID`
/// commands Gmail does tell (jakarta mail, "EXPUNGE response during UID FETCH").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Departures {
    Told,
    Held,
}

impl From<Bad> for Failed {
    fn from(_: Bad) -> Self {
        Self::Bad
    }
}

impl From<Gone> for Failed {
    fn from(_: Gone) -> Self {
        Self::Gone
    }
}

impl Session {
    pub(super) fn new(wire: Wire, shared: Arc<Shared>, number: usize) -> Self {
        Self {
            wire,
            shared,
            number,
            login: Login::Stranger,
            view: None,
            octets: Octets::Ascii,
            modseqs: Modseqs::Untold,
        }
    }

    /// Serves until the client leaves or is left.
    pub(super) fn run(mut self) {
        self.untagged(&format!(
            "OK Gimap ready for requests from 127.0.0.1 {}",
            self.token()
        ));
        while self.serve().is_ok() {}
        if self.login == Login::User {
            self.account().logged_in -= 1;
        }
        self.wire.close();
    }

    fn serve(&mut self) -> Result<(), Gone> {
        let (bytes, complaint) = match self.wire.command()? {
            Came::Command(bytes) => (bytes, None),
            Came::TooLong(bytes) => (bytes, Some("BAD Command line too long")),
            Came::Unasked(bytes) => (bytes, Some("BAD Could not parse command")),
        };
        let space = bytes
            .iter()
            .position(|byte| *byte == b' ')
            .unwrap_or(bytes.len());
        let tag = String::from_utf8_lossy(&bytes[..space]).trim().to_owned();
        if tag.is_empty() || complaint.is_some() {
            let complaint = complaint.unwrap_or("BAD Could not parse command");
            self.say(&format!(
                "{} {complaint}",
                if tag.is_empty() { "*" } else { &tag }
            ));
            // What is left of a line that was too long cannot be told from a command.
            return match complaint.contains("too long") {
                true => Err(Gone),
                false => Ok(()),
            };
        }
        let rest = bytes.get(space + 1..).unwrap_or_default();
        let (verb, args) = match self.read(rest) {
            Ok(read) => read,
            Err(Bad) => {
                self.note("?", rest);
                self.say(&format!("{tag} BAD Could not parse command"));
                return Ok(());
            }
        };
        match self.note(&verb, rest) {
            None => self.answer(&tag, &verb, args),
            Some(fault) => self.suffer(fault, &tag, &verb, args),
        }
    }

    fn suffer(&mut self, fault: Fault, tag: &str, verb: &str, args: Args) -> Result<(), Gone> {
        // What was answered before is not to be lost with it.
        self.wire.flush()?;
        match fault {
            Fault::CloseBefore => return Err(Gone),
            Fault::Answer(text) => {
                self.say(&format!("{tag} {text}"));
                return Ok(());
            }
            Fault::CloseAfter | Fault::CutAnswer(_) | Fault::Stall => {}
        }
        self.answer(tag, verb, args)?;
        match fault {
            Fault::CutAnswer(octets) => self.wire.unsent().truncate(octets),
            Fault::Stall => self.wire.stall(),
            _ => self.wire.unsent().clear(),
        }
        Err(Gone)
    }

    fn read(&self, rest: &[u8]) -> Result<(String, Args), Bad> {
        let mut args = syntax::read(rest, self.octets)?;
        let mut verb = args.word()?;
        if verb == "UID" {
            verb = format!("UID {}", args.word()?);
        }
        Ok((verb, args))
    }

    fn note(&self, verb: &str, rest: &[u8]) -> Option<Fault> {
        let text = String::from_utf8_lossy(rest);
        let words = match verb {
            "LOGIN" => 1,
            "AUTHENTICATE" => 2,
            _ => usize::MAX,
        };
        let text: Vec<&str> = text.split(' ').take(words).collect();
        self.shared
            .record
            .command(self.number, verb, text.join(" "))
    }

    fn answer(&mut self, tag: &str, verb: &str, args: Args) -> Result<(), Gone> {
        let throttle = self.account().throttle;
        let refused =
            throttle == Throttle::Refused && self.login == Login::User && verb != "LOGOUT";
        let text = match refused {
            true => Ok(
                "NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)".to_owned(),
            ),
            false => self.perform(tag, verb, args),
        };
        let text = match text {
            Ok(text) => text,
            Err(Failed::Bad) => "BAD Could not parse command".to_owned(),
            Err(Failed::Gone) => return Err(Gone),
        };
        match verb {
            "FETCH" | "STORE" | "SEARCH" => self.tell_news(Departures::Held),
            _ => self.tell_news(Departures::Told),
        }
        let note = match throttle == Throttle::Noted && text.starts_with("OK") {
            true => " [THROTTLED]",
            false => "",
        };
        self.say(&format!("{tag} {text}{note}"));
        match verb {
            "LOGOUT" => Err(Gone),
            _ => Ok(()),
        }
    }

    fn perform(&mut self, tag: &str, verb: &str, args: Args) -> Answer {
        match verb {
            "CAPABILITY" => return self.capability(args),
            "NOOP" => return done(args, "OK Success"),
            "ID" => return self.id(args),
            "LOGOUT" => {
                self.untagged("BYE LOGOUT Requested");
                return done(args, "OK 73 good day (Success)");
            }
            _ => {}
        }
        if self.login == Login::Stranger {
            return match verb {
                "LOGIN" => self.log_in(args),
                "AUTHENTICATE" => self.authenticate(args),
                _ => Ok(format!("BAD Unknown command {}", self.token())),
            };
        }
        match verb {
            "LIST" | "LSUB" | "XLIST" => self.list(verb, args),
            "SELECT" => self.open(args, Access::Writing),
            "EXAMINE" => self.open(args, Access::Reading),
            "STATUS" => self.status(args),
            "CREATE" | "DELETE" | "RENAME" => self.relabel(verb, args),
            "SUBSCRIBE" | "UNSUBSCRIBE" => self.subscribe(args),
            "NAMESPACE" => {
                self.untagged("NAMESPACE ((\"\" \"/\")) NIL NIL");
                done(args, "OK Success")
            }
            "ENABLE" => self.enable(args),
            "APPEND" => self.append(args),
            "IDLE" => self.idle(args),
            _ => self.perform_inside(tag, verb, args),
        }
    }

    fn perform_inside(&mut self, tag: &str, verb: &str, args: Args) -> Answer {
        const INSIDE: [&str; 15] = [
            "CHECK",
            "CLOSE",
            "UNSELECT",
            "EXPUNGE",
            "UID EXPUNGE",
            "FETCH",
            "UID FETCH",
            "STORE",
            "UID STORE",
            "COPY",
            "UID COPY",
            "MOVE",
            "UID MOVE",
            "SEARCH",
            "UID SEARCH",
        ];
        if !INSIDE.contains(&verb) {
            return Ok("BAD Unknown command".to_owned());
        }
        if self.view.is_none() {
            return Ok(format!("BAD {verb} not allowed now."));
        }
        match verb {
            "CHECK" => done(args, "OK Success"),
            "CLOSE" | "UNSELECT" => self.leave(verb, args),
            "EXPUNGE" | "UID EXPUNGE" => self.expunge(verb, args),
            "FETCH" | "UID FETCH" => self.fetch(verb, args),
            "STORE" | "UID STORE" => self.store(verb, args),
            "COPY" | "UID COPY" | "MOVE" | "UID MOVE" => self.transfer(verb, args),
            _ => self.search(tag, verb, args),
        }
    }

    /// RFC 2177. Looks for news until the client says `DONE`.
    fn idle(&mut self, args: Args) -> Answer {
        args.end()?;
        self.say("+ idling");
        loop {
            self.tell_news(Departures::Told);
            match self.wire.glance()? {
                Line::NotYet => {}
                Line::Came(line) if line.trim_ascii().eq_ignore_ascii_case(b"DONE") => {
                    return Ok("OK IDLE terminated (Success)".to_owned());
                }
                Line::Came(_) => return Err(Failed::Bad),
            }
        }
    }

    /// What others changed in the open mailbox. A count follows whatever went or came: MailKit's log of a removal ("expunge
    /// does not seem to work") shows a bare EXISTS; that it stands behind the EXPUNGE lines is our reading.
    fn tell_news(&mut self, departures: Departures) {
        let Some(view) = &mut self.view else {
            return;
        };
        let account = self.shared.account();
        let store = &account.store;
        let empty = std::collections::BTreeMap::new();
        let rows = store
            .hidden_or_shown(&view.place)
            .map_or(&empty, |mailbox| &mailbox.rows);
        let mut lines = Vec::new();
        let before = (view.rows.len(), view.rows.last().map(|known| known.uid));
        if departures == Departures::Told {
            let mut at = 0;
            view.rows.retain(|known| {
                at += 1;
                if !rows.contains_key(&known.uid) {
                    lines.push(format!("{at} EXPUNGE"));
                    at -= 1;
                }
                rows.contains_key(&known.uid)
            });
        }
        let newest = before.1.unwrap_or(0);
        for (uid, row) in rows.range(newest + 1..) {
            let modseq = store.message(row.msgid).map_or(0, |message| message.modseq);
            view.rows.push(Known { uid: *uid, modseq });
        }
        if view.rows.len() != before.0 || !lines.is_empty() {
            lines.push(format!("{} EXISTS", view.rows.len()));
        }
        for (at, known) in view.rows.iter_mut().enumerate() {
            let Some((row, message)) = store.row(&view.place, known.uid) else {
                continue;
            };
            if message.modseq > known.modseq {
                known.modseq = message.modseq;
                let told = match self.modseqs {
                    Modseqs::Told => format!(" MODSEQ ({})", message.modseq),
                    Modseqs::Untold => String::new(),
                };
                let flags = Store::flags(row, message).join(" ");
                lines.push(format!(
                    "{} FETCH (UID {}{told} FLAGS ({flags}))",
                    at + 1,
                    known.uid
                ));
            }
        }
        drop(account);
        for line in lines {
            self.untagged(&line);
        }
    }

    pub(super) fn account(&self) -> MutexGuard<'_, Account> {
        self.shared.account()
    }

    pub(super) fn settings(&self) -> Settings {
        self.account().store.settings.clone()
    }

    /// What a mailbox's name stands for.
    pub(super) fn place(&self, name: &str) -> Place {
        let place = self.settings().language.place(&self.decoded(name));
        self.account().store.spelled(place)
    }

    pub(super) fn decoded(&self, name: &str) -> String {
        match self.octets {
            Octets::Utf8 => name.to_owned(),
            // A name that is no UTF-7 is no mailbox either.
            Octets::Ascii => utf7::decode(name).unwrap_or_else(|| name.to_owned()),
        }
    }

    pub(super) fn encoded(&self, name: &str) -> String {
        match self.octets {
            Octets::Utf8 => name.to_owned(),
            Octets::Ascii => utf7::encode(name),
        }
    }

    pub(super) fn untagged(&mut self, text: &str) {
        self.say(&format!("* {text}"));
    }

    pub(super) fn say(&mut self, line: &str) {
        self.wire.say(line.as_bytes());
        self.wire.say(b"\r\n");
    }

    /// What Gmail puts behind some answers to find them in its logs.
    pub(super) fn token(&self) -> String {
        format!("sim{}mb", self.number)
    }
}

/// For commands that take nothing.
pub(super) fn done(args: Args, text: &str) -> Answer {
    args.end()?;
    Ok(text.to_owned())
}
