//! Every kind of change: what is there before, the call, and the world that it may leave. What stands here is what the
//! matrix multiplies with faults and boundaries.

use serde_json::{Value, json};
use testkit::crash::{Ends, Expected};
use testkit::{McpClient, World};

use super::ground::{AWAY, GENERATION, HOME, Plot, SUBJECT};

pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Extensions that the servers lack.
    pub(crate) hidden: &'static str,
    pub(crate) variables: &'static [(&'static str, &'static str)],
    pub(crate) change: Change,
    pub(crate) asked: Asked,
}

/// Whether the change itself is struck, or its inverse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Asked {
    Itself,
    Undo,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Change {
    Flags,
    Copy,
    Move,
    /// Copied, and the source is left flagged.
    MoveHalf,
    CopyAcross,
    MoveAcross,
    Trash,
    /// For good, in this account.
    Expunge(&'static str),
    Draft,
}

/// A call of a tool.
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

pub(crate) const ALL: &[Kind] = &[
    kind("flags", "", Change::Flags),
    kind("copy", "", Change::Copy),
    kind("copy without UIDPLUS", "UIDPLUS", Change::Copy),
    kind("move", "", Change::Move),
    kind("move without MOVE", "MOVE", Change::Move),
    kind(
        "move without MOVE and UIDPLUS",
        "MOVE UIDPLUS",
        Change::MoveHalf,
    ),
    kind("delete to trash", "", Change::Trash),
    Kind {
        variables: &[("MAIL_IMAP_DELETE", "expunge")],
        ..kind("delete by expunge", "", Change::Expunge(HOME))
    },
    kind("delete without trash", "", Change::Expunge(AWAY)),
    kind("copy across accounts", "", Change::CopyAcross),
    kind(
        "copy across accounts without UIDPLUS",
        "UIDPLUS",
        Change::CopyAcross,
    ),
    kind("move across accounts", "", Change::MoveAcross),
    kind("draft", "", Change::Draft),
    undo("undo of flags", Change::Flags),
    undo("undo of a copy", Change::Copy),
    undo("undo of a move", Change::Move),
    undo("undo of a delete", Change::Trash),
    undo("undo of a copy across accounts", Change::CopyAcross),
    undo("undo of a move across accounts", Change::MoveAcross),
    undo("undo of a draft", Change::Draft),
];

const fn kind(name: &'static str, hidden: &'static str, change: Change) -> Kind {
    Kind {
        name,
        hidden,
        variables: &[],
        change,
        asked: Asked::Itself,
    }
}

const fn undo(name: &'static str, change: Change) -> Kind {
    Kind {
        asked: Asked::Undo,
        ..kind(name, "", change)
    }
}

impl Kind {
    /// What is done before the call that is struck, and then that call and its ends.
    pub(crate) fn prepare(&self, plot: &Plot<'_>, client: &mut McpClient) -> (Call, Ends) {
        let before = plot.world();
        let call = self.change.call();
        if self.asked == Asked::Itself {
            let ends = self.change.ends(plot, before);
            return (call, ends);
        }
        let done = client.call(call.tool, call.arguments);
        let id = &done.structured["data"]["transaction_id"];
        assert!(id.is_string(), "{}: {}", self.name, done.structured);
        let call = Call {
            tool: "undo_transaction",
            arguments: json!({ "transaction_id": id }),
        };
        let ends = Ends {
            undone_too: None,
            undone: plot.world(),
            done: Expected::Exactly(before),
        };
        (call, ends)
    }
}

impl Change {
    fn call(self) -> Call {
        let id = |account: &str| format!("imap:{account}:INBOX:{GENERATION}:{SUBJECT}");
        let (tool, arguments) = match self {
            Self::Flags => (
                "imap_update_message_flags",
                json!({
                    "message_id": id(HOME),
                    "add_flags": ["\\Answered", "todo"],
                    "remove_flags": ["\\Flagged", "project"],
                }),
            ),
            Self::Copy => (
                "imap_copy_message",
                json!({ "message_id": id(HOME), "destination_mailbox": "Target" }),
            ),
            Self::Move | Self::MoveHalf => (
                "imap_move_message",
                json!({ "message_id": id(HOME), "destination_mailbox": "Target" }),
            ),
            Self::CopyAcross => (
                "imap_copy_message",
                json!({
                    "message_id": id(HOME),
                    "destination_mailbox": "Target",
                    "destination_account_id": AWAY,
                }),
            ),
            Self::MoveAcross => (
                "move",
                json!({
                    "account_id": HOME,
                    "folder": "INBOX",
                    "uid": SUBJECT,
                    "uidvalidity": GENERATION,
                    "target_account_id": AWAY,
                    "target_folder": "Target",
                }),
            ),
            Self::Trash => (
                "imap_delete_message",
                json!({ "message_id": id(HOME), "confirm": true }),
            ),
            Self::Expunge(account) => (
                "imap_delete_message",
                json!({ "account_id": account, "message_id": id(account), "confirm": true }),
            ),
            Self::Draft => (
                "create_draft",
                json!({
                    "account_id": HOME,
                    "folder": "Drafts",
                    "to": ["bob@example.org"],
                    "subject": "a draft",
                    "body": "not to be sent",
                }),
            ),
        };
        Call { tool, arguments }
    }

    /// The declared end states, given the world before.
    fn ends(self, plot: &Plot<'_>, before: World) -> Ends {
        let account = match self {
            Self::Expunge(account) => account,
            _ => HOME,
        };
        let item = plot.subject(account);
        let gone = before.without(&item);
        let done = match self {
            Self::Flags => {
                let less = item.unflagged(&["\\Flagged", "project"]);
                gone.with(less.flagged(&["\\Answered", "todo"]))
            }
            Self::Copy => before.with(item.lying_in(HOME, "Target")),
            Self::Move => gone.with(item.lying_in(HOME, "Target")),
            Self::MoveHalf => gone
                .with(item.flagged(&["\\Deleted"]))
                .with(item.lying_in(HOME, "Target")),
            Self::CopyAcross => before.with(item.lying_in(AWAY, "Target")),
            Self::MoveAcross => gone.with(item.lying_in(AWAY, "Target")),
            Self::Trash => gone.with(item.lying_in(HOME, "Trash")),
            Self::Expunge(_) => gone,
            Self::Draft => {
                let done = Expected::OneMore {
                    than: before.clone(),
                    account: HOME.to_owned(),
                    folder: "Drafts".to_owned(),
                    flags: vec!["\\Draft".to_owned(), "\\Seen".to_owned()],
                };
                return Ends {
                    undone_too: None,
                    undone: before,
                    done,
                };
            }
        };
        // A server that cannot remove one message alone takes a copy back by flagging it.
        let flagged = item.lying_in(HOME, "Target").flagged(&["\\Deleted"]);
        Ends {
            undone_too: (self == Self::MoveHalf).then(|| before.with(flagged)),
            undone: before,
            done: Expected::Exactly(done),
        }
    }
}
