//! Servers that lack an extension: the same changes by other means, and never at the cost of other messages.

use serde_json::{Value, json};
use testkit::world::Item;
use testkit::{McpClient, World};

use super::{Answer, ask, message, parts};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Plot, SUBJECT, leave};

/// What a server lacks, and what comes of it.
struct Server {
    lacks: &'static str,
    copied: &'static str,
    moved: &'static str,
    moved_across: &'static str,
    deleted: &'static str,
    /// Whether a message that was moved is still there, flagged.
    leaves: Leaves,
    /// Whether the number of a copy within the account is known.
    tells: Tells,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Leaves {
    Nothing,
    /// By a move to another account and a delete.
    AcrossFlagged,
    /// By any move.
    AllFlagged,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tells {
    Numbers,
    Nothing,
}

const FULL: Server = Server {
    lacks: "",
    copied: "ok done",
    moved: "ok done",
    moved_across: "ok done",
    deleted: "ok done",
    leaves: Leaves::Nothing,
    tells: Tells::Numbers,
};

const FLAGGED: &str = "partial flagged_only done";

const SERVERS: [Server; 6] = [
    Server {
        lacks: "MOVE",
        ..FULL
    },
    Server {
        lacks: "SEARCHRES",
        ..FULL
    },
    Server {
        lacks: "CONDSTORE ESEARCH SEARCHRES QRESYNC",
        ..FULL
    },
    Server {
        lacks: "UIDPLUS",
        moved_across: FLAGGED,
        deleted: FLAGGED,
        leaves: Leaves::AcrossFlagged,
        tells: Tells::Nothing,
        ..FULL
    },
    Server {
        lacks: "MOVE UIDPLUS",
        moved: FLAGGED,
        moved_across: FLAGGED,
        deleted: FLAGGED,
        leaves: Leaves::AllFlagged,
        tells: Tells::Nothing,
        ..FULL
    },
    Server {
        lacks: "MOVE UIDPLUS SEARCHRES ESEARCH CONDSTORE QRESYNC LITERAL+ LIST-EXTENDED",
        moved: FLAGGED,
        moved_across: FLAGGED,
        deleted: FLAGGED,
        leaves: Leaves::AllFlagged,
        tells: Tells::Nothing,
        ..FULL
    },
];

#[test]
fn changes_are_the_same_whatever_a_server_lacks() {
    let ground = Ground::new();
    for server in &SERVERS {
        let plot = ground.plot(server.lacks, &[("MAIL_IMAP_DELETE", "expunge")]);
        let mut client = start(plot.program());
        let mut story = Story {
            server,
            world: plot.world(),
            client: &mut client,
            plot: &plot,
        };
        story.flags();
        story.copies();
        story.moves();
        story.deletes();
        leave(client);
        quiet(&plot, server.lacks);
    }
}

/// One change after the other, and the world that there must be.
struct Story<'a> {
    server: &'a Server,
    world: World,
    client: &'a mut McpClient,
    plot: &'a Plot<'a>,
}

impl Story<'_> {
    fn ask(&mut self, tool: &str, arguments: Value, want: &str) -> Answer {
        let answer = ask(self.client, tool, arguments);
        let lacks = self.server.lacks;
        assert_eq!(answer.words, want, "{lacks}: {tool}: {}", answer.all);
        answer
    }

    fn is_so(&self, what: &str) {
        let there = self.plot.world();
        let lacks = self.server.lacks;
        assert!(
            there == self.world,
            "{lacks}: {what}: there is [{}] too much, and there lacks [{}]",
            there.beyond(&self.world),
            self.world.beyond(&there)
        );
    }

    fn item(&self, account: &str, uid: u32) -> Item {
        let all = self.plot.folder(account, "INBOX").into_iter();
        let mut all = all.filter(|found| found.uid == uid);
        all.next().expect("the message").item
    }

    fn flags(&mut self) {
        let item = self.item(HOME, 33);
        let arguments = json!({
            "message_id": message(HOME, 33), "add_flags": ["\\Answered", "new"], "remove_flags": ["other", "never"],
        });
        let answer = self.ask("imap_update_message_flags", arguments, "ok done");
        let mut flags: Vec<&str> = answer.data["flags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flag| flag.as_str().unwrap())
            .collect();
        flags.sort_unstable();
        assert_eq!(flags, ["\\Answered", "new"], "{}", self.server.lacks);
        let marked = item.unflagged(&["other"]).flagged(&["\\Answered", "new"]);
        self.world = self.world.without(&item).with(marked);
        self.is_so("flags");
    }

    fn copies(&mut self) {
        let item = self.item(HOME, SUBJECT);
        let id = message(HOME, SUBJECT);
        let within = json!({ "message_id": id, "destination_mailbox": "Target" });
        let across = json!({
            "message_id": id, "destination_mailbox": "Target", "destination_account_id": AWAY,
        });
        let copy = self.ask("imap_copy_message", within, self.server.copied);
        let told = copy.data["new_message_id"].is_string();
        assert_eq!(
            told,
            self.server.tells == Tells::Numbers,
            "{}: {}",
            self.server.lacks,
            copy.data
        );
        self.world = self.world.with(item.lying_in(HOME, "Target"));
        self.is_so("copy");
        // The copy is confirmed by its number, so that is found out.
        let copy = self.ask("imap_copy_message", across, "ok done");
        assert!(
            copy.data["new_message_id"].is_string(),
            "{}: {}",
            self.server.lacks,
            copy.data
        );
        self.world = self.world.with(item.lying_in(AWAY, "Target"));
        self.is_so("copy across accounts");
    }

    fn moves(&mut self) {
        let (one, other) = (self.item(HOME, SUBJECT), self.item(HOME, 33));
        let to = json!({ "message_id": message(HOME, SUBJECT), "destination_mailbox": "Target" });
        self.ask("imap_move_message", to, self.server.moved);
        self.gone(&one, self.server.leaves == Leaves::AllFlagged);
        self.world = self.world.with(one.lying_in(HOME, "Target"));
        self.is_so("move");
        let across = json!({ "target_folder": "Target", "target_account_id": AWAY });
        self.ask("move", parts(HOME, 33, across), self.server.moved_across);
        self.gone(&other, self.server.leaves != Leaves::Nothing);
        self.world = self.world.with(other.lying_in(AWAY, "Target"));
        self.is_so("move across accounts");
    }

    fn deletes(&mut self) {
        let item = self.item(AWAY, SUBJECT);
        let arguments = json!({ "message_id": message(AWAY, SUBJECT), "confirm": true });
        self.ask("imap_delete_message", arguments, self.server.deleted);
        self.gone(&item, self.server.leaves != Leaves::Nothing);
        self.is_so("delete");
    }

    fn gone(&mut self, item: &Item, flagged: bool) {
        self.world = self.world.without(item);
        if flagged {
            self.world = self.world.with(item.flagged(&["\\Deleted"]));
        }
    }
}

/// INVARIANT: there is no EXPUNGE but by number, no CLOSE, and no search by what a message calls itself.
fn quiet(plot: &Plot<'_>, lacks: &str) {
    for line in [plot.home.commands(), plot.away.commands()].concat() {
        let upper = line.to_uppercase();
        let command = upper.split_once(' ').map_or("", |(_, command)| command);
        for never in ["EXPUNGE", "CLOSE", "DELETE"] {
            assert!(!command.starts_with(never), "{lacks}: {line}");
        }
        let searches = command.contains("SEARCH") && command.contains("HEADER");
        assert!(!searches, "{lacks}: {line}");
        let expunge = command.strip_prefix("UID EXPUNGE ");
        let one = |what: &str| what == "$" || what.parse::<u32>().is_ok();
        assert!(expunge.is_none_or(one), "{lacks}: {line}");
    }
}
