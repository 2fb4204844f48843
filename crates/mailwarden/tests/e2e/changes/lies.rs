//! Servers that name another message than the one that came: nothing of a stranger's is ever taken away, neither when a
//! change is put back nor when it is given up.

use std::sync::Mutex;

use serde_json::{Value, json};
use testkit::proxy::Refusal;
use testkit::world::{self, World};
use testkit::{Delivery, FaultProxy, RawImap};

use super::{Answer, ask, parts, same, subject, tx};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Plot, SUBJECT, leave};

/// Which message a server names instead of the one that came.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Names {
    /// One that was there before, octet for octet the same.
    Twin,
    /// One that came a moment before, of the same size.
    Stranger,
}

/// A change that puts something into a folder.
#[derive(Clone, Copy, Debug)]
struct Put {
    name: &'static str,
    hidden: &'static str,
    tool: &'static str,
    /// Where the folder is, and the command that puts something there.
    account: &'static str,
    folder: &'static str,
    by: &'static str,
}

const PUTS: [Put; 6] = [
    put("copy", "", "imap_copy_message", HOME, "UID COPY"),
    put("move", "", "imap_move_message", HOME, "UID MOVE"),
    put("move", "MOVE", "imap_move_message", HOME, "UID COPY"),
    put("copy across", "", "copy", AWAY, "APPEND"),
    put("move across", "", "move", AWAY, "APPEND"),
    Put {
        folder: "Drafts",
        ..put("draft", "", "create_draft", HOME, "APPEND")
    },
];

const fn put(
    name: &'static str,
    hidden: &'static str,
    tool: &'static str,
    account: &'static str,
    by: &'static str,
) -> Put {
    Put {
        name,
        hidden,
        tool,
        account,
        folder: "Target",
        by,
    }
}

impl Put {
    fn arguments(self) -> Value {
        let across = json!({ "target_folder": "Target", "target_account_id": AWAY });
        match self.name {
            "copy" | "move" => subject(HOME, json!({ "destination_mailbox": "Target" })),
            "copy across" | "move across" => parts(HOME, SUBJECT, across),
            _ => json!({ "account_id": HOME, "folder": "Drafts", "body": "x" }),
        }
    }

    fn proxy<'a>(self, plot: &'a Plot<'_>) -> &'a FaultProxy {
        match self.account {
            HOME => &plot.home,
            _ => &plot.away,
        }
    }

    /// What is there beside the subject, and a server that takes it for what came.
    fn lie(self, plot: &Plot<'_>, names: Names) {
        let (mut imap, raw) = (plot.bare(self.account), raw(plot));
        let proxy = self.proxy(plot);
        match names {
            Names::Twin => {
                imap.append(self.folder, &Delivery::new(raw));
                let all = plot.folder(self.account, self.folder);
                let twin = all.last().unwrap().uid;
                proxy.rewrite_replies(move |line| misquoted(line, |_| twin));
            }
            Names::Stranger => {
                // Behind where the folder ended when the change began, and before what it puts there.
                let other = strange(&raw);
                self.first(plot, move |imap, folder| {
                    imap.append(folder, &Delivery::new(other.clone()));
                });
                proxy.rewrite_replies(|line| misquoted(line, |uid| uid - 1));
            }
        }
    }

    /// Does something the first time the server is about to be asked to put something there.
    fn first(self, plot: &Plot<'_>, does: impl Fn(&mut RawImap, &str) + Send + Sync + 'static) {
        let imap = Mutex::new(Some(plot.bare(self.account)));
        self.proxy(plot).refuse_command(Refusal::No, move |line| {
            if line.contains(self.by)
                && let Some(mut imap) = imap.lock().unwrap().take()
            {
                does(&mut imap, self.folder);
            }
            false
        });
    }
}

/// The octets of the message that changes are about; the other account holds the same.
pub(super) fn raw(plot: &Plot<'_>) -> Vec<u8> {
    let mut imap = plot.bare(AWAY);
    imap.command("EXAMINE INBOX");
    let reply = imap.command(&format!("UID FETCH {SUBJECT} BODY.PEEK[]"));
    let text = String::from_utf8(reply.untagged[0].clone()).unwrap();
    let (_, literal) = text.split_once("}\r\n").unwrap();
    literal.strip_suffix(')').unwrap().into()
}

/// Another message of the same size.
pub(super) fn strange(raw: &[u8]) -> Vec<u8> {
    let raw = std::str::from_utf8(raw).unwrap();
    let other = raw.replace("the message itself", "a stranger's words");
    assert!(raw != other && raw.len() == other.len());
    other.into()
}

/// A line whose COPYUID or APPENDUID names another number.
pub(super) fn misquoted(line: &str, number: impl Fn(u32) -> u32) -> Option<String> {
    let at = line.find("COPYUID ").or_else(|| line.find("APPENDUID "))?;
    let end = at + line.get(at..)?.find(']')?;
    let begin = line.get(..end)?.rfind(' ')? + 1;
    let told = line.get(begin..end)?.parse().ok()?;
    let (before, after) = (line.get(..begin)?, line.get(end..)?);
    Some(format!("{before}{}{after}", number(told)))
}

/// Everything is as it was, and the stranger's message is there.
fn only_the_stranger_came(plot: &Plot<'_>, before: &World, what: &str) {
    let there = plot.world();
    assert_eq!(before.beyond(&there).to_string(), "", "{what}");
    let came = there.beyond(before);
    let came: Vec<&str> = came.items().map(|item| item.hash.as_str()).collect();
    assert_eq!(came, [world::hash(&strange(&raw(plot)))], "{what}");
}

#[test]
fn putting_back_takes_nothing_that_others_put_there() {
    let ground = Ground::new();
    for put in PUTS {
        for names in [Names::Twin, Names::Stranger] {
            let what = format!("{} {names:?} {}", put.name, put.hidden);
            let plot = ground.plot(put.hidden, &[]);
            let mut client = start(plot.program());
            put.lie(&plot, names);
            let before = plot.world();
            let done = ask(&mut client, put.tool, put.arguments());
            let after = plot.world();
            put.proxy(&plot).disarm();
            let (words, undone) = expected(put, names);
            assert_eq!(done.words, words, "{what}: {}", done.all);
            if undone.is_empty() {
                only_the_stranger_came(&plot, &before, &what);
                leave(client);
                continue;
            }
            let undo = json!({ "transaction_id": done.id() });
            let undo: Answer = ask(&mut client, "undo_transaction", undo);
            assert_eq!(undo.words, undone, "{what}: {}", undo.all);
            if undone == "ok done" && names == Names::Twin {
                same(&plot.world(), &before, &what);
            } else if undone == "ok done" {
                only_the_stranger_came(&plot, &before, &what);
            } else {
                same(&plot.world(), &after, &what);
                let id = done.id();
                let _ = tx(plot.program(), &["undo", id.as_str().unwrap()]);
                same(&plot.world(), &after, &what);
            }
            leave(client);
        }
    }
}

#[test]
fn giving_up_takes_back_what_came_and_not_what_is_named() {
    let ground = Ground::new();
    for put in PUTS
        .into_iter()
        .filter(|put| put.name.starts_with("move") && put.by != "UID MOVE")
    {
        let plot = ground.plot(put.hidden, &[]);
        let mut client = start(plot.program());
        put.lie(&plot, Names::Stranger);
        let before = plot.world();
        plot.home
            .refuse_command(Refusal::No, |line| line.contains("+FLAGS"));
        let moved = ask(&mut client, put.tool, put.arguments());
        let want = match put.account {
            HOME => "failed server_refused undone",
            _ => "failed copy_differs undone",
        };
        assert_eq!(moved.words, want, "{}: {}", put.name, moved.all);
        only_the_stranger_came(&plot, &before, put.name);
        leave(client);
    }
}

/// How the change comes out, and how its undoing; nothing where there is nothing to undo.
fn expected(put: Put, names: Names) -> (&'static str, &'static str) {
    match (put.account == AWAY, names) {
        // It is looked for, and found.
        (true, Names::Twin) => ("ok done", "ok done"),
        (true, Names::Stranger) => ("failed copy_differs undone", ""),
        // The same, before the original goes.
        (false, _) if put.hidden == "MOVE" => ("ok done", "ok done"),
        (false, Names::Twin) => ("ok done", "-32600 conflict"),
        (false, Names::Stranger) => ("ok done", "failed another_message undone"),
    }
}
