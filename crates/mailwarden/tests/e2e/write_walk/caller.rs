//! One caller of the walk: a process of its own, messages of its own, and what it knows of them. It asks for a change,
//! under a key, until it knows what came of it, whatever happens to its process and its connections meanwhile.

use serde_json::{Value, json};
use testkit::crash::Said;
use testkit::mailgen::Rng;
use testkit::mcp::{Gone, RpcError};
use testkit::proxy::{Blow, Boundary};
use testkit::world::{self, Item};
use testkit::{McpClient, RawImap};

use crate::support::start;
use crate::write_crash::{AWAY, HOME, Plot, said};

/// Folders that all callers share. Every account has them.
pub(super) const FOLDERS: [&str; 3] = ["INBOX", "Target", "Archive"];
/// A caller that holds so many throws some away.
const MANY: usize = 14;
/// How often a call is repeated before the walk counts as stuck.
const TRIES: usize = 200;

pub(super) struct Caller<'a> {
    plot: &'a Plot<'a>,
    number: usize,
    client: Option<McpClient>,
    rng: Rng,
    /// Everything of its own, as it must lie there.
    pub(super) held: Vec<Item>,
    bare: [RawImap; 2],
    asked: usize,
    /// The change before, if it can be undone.
    last: Option<Undoable>,
    pub(super) tally: Tally,
}

/// What a change was called, what it took and what it gave.
#[derive(Clone)]
struct Undoable {
    id: String,
    gone: Option<Item>,
    come: Option<Item>,
}

/// What came to pass.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Tally {
    pub(super) done: usize,
    pub(super) undone: usize,
    pub(super) repeated: usize,
    pub(super) killed: usize,
    pub(super) struck: usize,
    pub(super) forgotten: usize,
    pub(super) decided: usize,
}

impl Tally {
    pub(super) fn and(self, other: Self) -> Self {
        Self {
            done: self.done + other.done,
            undone: self.undone + other.undone,
            repeated: self.repeated + other.repeated,
            killed: self.killed + other.killed,
            struck: self.struck + other.struck,
            forgotten: self.forgotten + other.forgotten,
            decided: self.decided + other.decided,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mischief {
    None,
    /// A fault at whoever's next command of some name.
    Strike,
    /// The process dies.
    Kill,
    /// The answer does not reach the caller.
    Forget,
}

/// A change, and what it makes of the model.
struct Change {
    tool: &'static str,
    arguments: Value,
    gone: Option<Item>,
    come: Come,
}

enum Come {
    Nothing,
    Known(Item),
    /// A draft with this subject: its content is the program's.
    Draft(String),
}

type Answer = Result<Result<Value, RpcError>, Gone>;

impl<'a> Caller<'a> {
    pub(super) fn new(plot: &'a Plot<'a>, number: usize, seed: u64) -> Self {
        Self {
            plot,
            number,
            client: None,
            rng: Rng::new(seed, number as u64 + 1),
            held: Vec::new(),
            bare: [plot.bare(HOME), plot.bare(AWAY)],
            asked: 0,
            last: None,
            tally: Tally::default(),
        }
    }

    /// One change, until it is known how it ended.
    pub(super) fn step(&mut self) -> Result<(), String> {
        self.asked += 1;
        let change = self.choose()?;
        let key = format!("walk-{}-{}", self.number, self.asked);
        let mut arguments = change.arguments.clone();
        arguments["idempotency_key"] = json!(key);
        let mut last = String::new();
        for tried in 0..TRIES {
            let answer = self.ask(change.tool, &arguments, tried);
            last = format!("{answer:?}");
            match said(&answer) {
                Said::Done => {
                    self.tally.done += 1;
                    let id = answer.ok().and_then(Result::ok).and_then(|result| {
                        let id = &result["structuredContent"]["data"]["transaction_id"];
                        id.as_str().map(str::to_owned)
                    });
                    return self.apply(change, id);
                }
                Said::Undone => {
                    self.tally.undone += 1;
                    return Ok(());
                }
                Said::Unknown => self.tally.repeated += 1,
            }
            if let Some(id) = for_a_person(&answer) {
                self.decide(id);
            }
        }
        Err(format!("{key} {} stays unknown: {last}", change.tool))
    }

    /// Ends the process as a client that leaves does.
    pub(super) fn retire(&mut self) {
        if let Some(client) = self.client.take() {
            crate::write_crash::leave(client);
        }
    }

    fn ask(&mut self, tool: &str, arguments: &Value, tried: usize) -> Answer {
        let mischief = self.mischief(tried);
        if mischief == Mischief::Strike {
            self.strike();
        }
        let mut client = match self.client.take() {
            Some(client) => client,
            None => start(self.plot.program()),
        };
        let params = json!({ "name": tool, "arguments": arguments });
        let id = client.try_send("tools/call", params)?;
        if mischief == Mischief::Kill {
            // Somewhere between its first command and its answer.
            let until = self.sent() + self.rng.below(24);
            while !client.has_answer(id) && self.sent() < until {
                std::thread::yield_now();
            }
            self.tally.killed += 1;
            client.kill();
        }
        let answer = client.try_wait(id);
        self.client = (answer.is_ok() && mischief != Mischief::Kill).then_some(client);
        match mischief {
            Mischief::Forget => {
                self.tally.forgotten += 1;
                Err(Gone("the answer was lost on its way".to_owned()))
            }
            _ => answer,
        }
    }

    /// What two refusals in a row have left, of a step and of putting it back, is for a person: who has it tried again.
    fn decide(&mut self, id: &str) {
        let mut retry = self.plot.program();
        let ran = retry.args(["tx", "retry", id]).output();
        // How it went is asked for by the key.
        ran.expect("the program runs");
        self.tally.decided += 1;
    }

    fn mischief(&mut self, tried: usize) -> Mischief {
        match self.rng.below(100) {
            // What is asked again and again shall come to an end.
            _ if tried > 2 => Mischief::None,
            0..15 => Mischief::Strike,
            15..27 => Mischief::Kill,
            27..37 => Mischief::Forget,
            _ => Mischief::None,
        }
    }

    /// Commands that all callers have sent by now.
    fn sent(&self) -> u64 {
        self.plot.home.stats().commands + self.plot.away.stats().commands
    }

    /// Arms a fault that hits whoever comes next.
    fn strike(&mut self) {
        let verbs = [
            "UID STORE",
            "UID COPY",
            "UID MOVE",
            "UID EXPUNGE",
            "APPEND",
            "UID FETCH",
        ];
        let blows = [
            Blow::No,
            Blow::Bad,
            Blow::Bye,
            Blow::CutBefore,
            Blow::CutAfter,
            Blow::StallAfter,
        ];
        let at = Boundary {
            verb: (*self.rng.pick(&verbs)).to_owned(),
            nth: 1,
        };
        let blow = *self.rng.pick(&blows);
        let proxies = [&self.plot.home, &self.plot.away];
        self.rng.pick(&proxies).strike(blow, &at);
        self.tally.struck += 1;
    }

    fn choose(&mut self) -> Result<Change, String> {
        let dice = self.rng.below(100);
        if self.held.is_empty() || (dice < 8 && self.held.len() < MANY) {
            return Ok(self.draft());
        }
        if let Some(last) = self.last.take_if(|_| dice >= 92) {
            return Ok(Change {
                tool: "undo_transaction",
                arguments: json!({ "transaction_id": last.id }),
                gone: last.come,
                come: last.gone.map_or(Come::Nothing, Come::Known),
            });
        }
        let item = self.rng.pick(&self.held).clone();
        let id = self.id_of(&item)?;
        let other = if item.account == HOME { AWAY } else { HOME };
        let places: Vec<_> = FOLDERS
            .into_iter()
            .filter(|name| *name != item.folder)
            .collect();
        let folder = (*self.rng.pick(&places)).to_owned();
        let here = item.lying_in(&item.account, &folder);
        let there = item.lying_in(other, &folder);
        let across = |tool| {
            (
                tool,
                json!({
                    "account_id": item.account,
                    "folder": item.folder,
                    "uid": id.uid,
                    "uidvalidity": id.uidvalidity,
                    "target_account_id": other,
                    "target_folder": folder,
                }),
            )
        };
        let within = |tool| {
            (
                tool,
                json!({
                    "account_id": item.account,
                    "message_id": id.text,
                    "destination_mailbox": folder,
                }),
            )
        };
        let full = self.held.len() >= MANY;
        let ((tool, arguments), gone, come) = match dice {
            _ if full && dice < 40 => self.delete(&item, &id),
            0..35 => self.flags(&item, &id),
            35..45 if !full => (within("imap_copy_message"), None, Come::Known(here)),
            45..55 if !full => (across("copy"), None, Come::Known(there)),
            35..75 => (
                within("imap_move_message"),
                Some(item.clone()),
                Come::Known(here),
            ),
            75..90 => (across("move"), Some(item.clone()), Come::Known(there)),
            _ => self.delete(&item, &id),
        };
        Ok(Change {
            tool,
            arguments,
            gone,
            come,
        })
    }

    fn flags(&mut self, item: &Item, id: &Id) -> ((&'static str, Value), Option<Item>, Come) {
        let all = ["\\Seen", "\\Flagged", "\\Answered", "walked"];
        let (mut add, mut remove) = (Vec::new(), Vec::new());
        for flag in all {
            match self.rng.below(4) {
                0 => add.push(flag),
                1 => remove.push(flag),
                _ => {}
            }
        }
        let mut arguments = json!({ "account_id": item.account, "message_id": id.text });
        if add.is_empty() && remove.is_empty() {
            add.push("\\Seen");
        }
        for (name, flags) in [("add_flags", &add), ("remove_flags", &remove)] {
            if !flags.is_empty() {
                arguments[name] = json!(flags);
            }
        }
        let come = Come::Known(item.unflagged(&remove).flagged(&add));
        (
            ("imap_update_message_flags", arguments),
            Some(item.clone()),
            come,
        )
    }

    fn delete(&self, item: &Item, id: &Id) -> ((&'static str, Value), Option<Item>, Come) {
        let arguments =
            json!({ "account_id": item.account, "message_id": id.text, "confirm": true });
        // Without a trash, and from it, a message goes for good.
        let come = match item.account == HOME && item.folder != "Trash" {
            true => Come::Known(item.lying_in(HOME, "Trash")),
            false => Come::Nothing,
        };
        (("imap_delete_message", arguments), Some(item.clone()), come)
    }

    fn draft(&self) -> Change {
        let subject = format!("draft {} of caller {}", self.asked, self.number);
        Change {
            tool: "create_draft",
            arguments: json!({
                "account_id": HOME,
                "folder": "Drafts",
                "to": ["bob@example.org"],
                "subject": subject,
                "body": "not to be sent",
            }),
            gone: None,
            come: Come::Draft(subject),
        }
    }

    /// Makes of the model what the change made of the mail.
    fn apply(&mut self, change: Change, id: Option<String>) -> Result<(), String> {
        if let Some(gone) = &change.gone {
            let at = self.held.iter().position(|item| item == gone);
            self.held.swap_remove(at.ok_or("the model lost count")?);
        }
        let come = match change.come {
            Come::Nothing => None,
            Come::Known(item) => Some(item),
            Come::Draft(subject) => Some(self.found_draft(&subject)?),
        };
        self.held.extend(come.clone());
        // What is gone for good stays gone, and what was undone is not done again.
        self.last = match (id, &come) {
            (Some(id), Some(_)) if change.tool != "undo_transaction" => Some(Undoable {
                id,
                gone: change.gone,
                come,
            }),
            _ => None,
        };
        Ok(())
    }

    fn found_draft(&mut self, subject: &str) -> Result<Item, String> {
        let imap = &mut self.bare[0];
        imap.command("EXAMINE Drafts");
        let found = imap.command(&format!("UID SEARCH HEADER Subject \"{subject}\""));
        let uid = found.lines().iter().find_map(|line| {
            let uids = line.strip_prefix("* SEARCH ")?;
            uids.trim().parse::<u32>().ok()
        });
        let uid = uid.ok_or_else(|| format!("not one {subject}: {}", found.text()))?;
        let all = world::list(imap, HOME, "Drafts");
        let found = all.into_iter().find(|found| found.uid == uid);
        Ok(found.ok_or("the draft is gone again")?.item)
    }

    /// A message of this kind, as the servers have it now.
    fn id_of(&mut self, item: &Item) -> Result<Id, String> {
        let imap = &mut self.bare[usize::from(item.account != HOME)];
        let all = world::list(imap, &item.account, &item.folder);
        let found = all.iter().find(|found| found.item == *item);
        let found = found.ok_or_else(|| format!("caller {} misses {item}", self.number))?;
        let (uidvalidity, uid) = (found.uidvalidity, found.uid);
        Ok(Id {
            text: format!("imap:{}:{}:{uidvalidity}:{uid}", item.account, item.folder),
            uidvalidity,
            uid,
        })
    }
}

/// The transaction that an answer says is not to be ended by the program alone.
fn for_a_person(answer: &Answer) -> Option<&str> {
    let told = match answer.as_ref().ok()? {
        Ok(result) => &result["structuredContent"]["data"],
        Err(error) => &error.data["details"],
    };
    let waits = told["transaction_state"] == "needs_operator";
    told["transaction_id"].as_str().filter(|_| waits)
}

struct Id {
    text: String,
    uidvalidity: u32,
    uid: u32,
}
