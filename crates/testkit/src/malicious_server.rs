//! Mail servers that lie: absurd ranges, floods and malformed numbers, for tests and benchmarks.
//!
//! Each is a scripted server that behaves until a client sends the command that it answers with its
//! lie.

use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Fake;
use crate::fake::Session;

/// One kind of lie.
#[derive(Clone, Copy, Debug)]
pub struct Lie {
    pub name: &'static str,
    /// The call that brings it out.
    pub call: Call,
    /// What the call fails with; `none` where it does not.
    pub code: &'static str,
    capabilities: &'static str,
    /// The command that is answered with the lie; empty for a lie that comes before the greeting.
    on: &'static str,
    folder: Folder,
    answer: fn(&mut Session),
}

/// A call of an account on such a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Call {
    Folders,
    Page,
    Search,
    /// A search of the `gateway` set: all messages are listed and judged.
    Survey,
    Read,
}

impl Call {
    pub fn tool(self) -> &'static str {
        match self {
            Self::Folders => "imap_list_mailboxes",
            Self::Page | Self::Search => "imap_search_messages",
            Self::Survey => "search",
            Self::Read => "imap_get_message",
        }
    }

    pub fn arguments(self, account: &str) -> Value {
        match self {
            Self::Folders => json!({ "account_id": account }),
            Self::Page => json!({ "account_id": account, "mailbox": "INBOX" }),
            Self::Search => json!({ "account_id": account, "mailbox": "INBOX", "query": "x" }),
            Self::Survey => json!({ "account_id": account, "folder": "INBOX" }),
            Self::Read => json!({ "message_id": format!("imap:{account}:INBOX:7:5") }),
        }
    }
}

/// What the server says of INBOX when it is opened, before its UIDVALIDITY.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Folder {
    OfFive,
    OfBillions,
    BeyondNumbers,
}

impl Folder {
    fn lines(self) -> &'static str {
        match self {
            Self::OfFive => "* 5 EXISTS\r\n* OK [UIDNEXT 6] x\r\n",
            Self::OfBillions => "* 4294967295 EXISTS\r\n* OK [UIDNEXT 4294967295] x\r\n",
            Self::BeyondNumbers => "* 99999999999 EXISTS\r\n",
        }
    }
}

const PLAIN: &str = "IMAP4rev1";
const EXTENDED: &str = "IMAP4rev1 ESEARCH";
const PROTOCOL: &str = "protocol_error";
/// What could be so is no fault.
const NO_FAULT: &str = "none";

const fn lie(name: &'static str, call: Call, on: &'static str, answer: fn(&mut Session)) -> Lie {
    Lie {
        name,
        call,
        code: PROTOCOL,
        capabilities: PLAIN,
        on,
        folder: Folder::OfFive,
        answer,
    }
}

/// All kinds. The slow one is first, so that it can go on while the others are tried.
pub const ALL: [Lie; 26] = [
    Lie {
        code: "timeout",
        ..lie("an octet at a time", Call::Folders, "LIST", |s| drip(s))
    },
    Lie {
        capabilities: EXTENDED,
        ..lie("matches 1:4294967295", Call::Search, "SEARCH", |s| {
            s.reply("* ESEARCH (TAG \"{tag}\") UID ALL 1:4294967295\r\n{tag} OK done\r\n");
        })
    },
    Lie {
        capabilities: EXTENDED,
        ..lie(
            "five matches in 1:4294967295",
            Call::Search,
            "SEARCH",
            |s| {
                s.reply(
                    "* ESEARCH (TAG \"{tag}\") UID COUNT 5 ALL 1:4294967295\r\n{tag} OK done\r\n",
                );
            },
        )
    },
    Lie {
        capabilities: EXTENDED,
        folder: Folder::OfBillions,
        code: "invalid_input",
        ..lie(
            "a folder of 4294967295, all of them matches",
            Call::Search,
            "SEARCH",
            |s| {
                s.reply("* ESEARCH (TAG \"{tag}\") UID COUNT 4294967294 ALL 1:4294967294\r\n{tag} OK done\r\n");
            },
        )
    },
    Lie {
        capabilities: EXTENDED,
        folder: Folder::OfBillions,
        code: NO_FAULT,
        ..lie(
            "a folder of 4294967295 to survey",
            Call::Survey,
            "SEARCH",
            |s| {
                s.reply(
                "* ESEARCH (TAG \"{tag}\") UID COUNT 4294967294 ALL 1:4294967294\r\n{tag} OK done\r\n",
            );
            },
        )
    },
    Lie {
        folder: Folder::OfBillions,
        code: "invalid_input",
        ..lie("a million scattered matches", Call::Search, "SEARCH", |s| {
            let numbers: String = (0..1_000_000).map(|n| format!(" {}", 1 + 2 * n)).collect();
            s.reply(&format!("* SEARCH{numbers}\r\n{{tag}} OK done\r\n"));
        })
    },
    lie("numbers that no message has", Call::Search, "SEARCH", |s| {
        s.reply("* SEARCH 0 -1 99999999999\r\n{tag} OK done\r\n");
    }),
    lie("a match beyond UIDNEXT", Call::Search, "SEARCH", |s| {
        s.reply("* SEARCH 7\r\n{tag} OK done\r\n");
    }),
    lie(
        "lines of matches without end",
        Call::Search,
        "SEARCH",
        |s| {
            let numbers: String = (0..3_000).map(|n| format!(" {}", 1 + 2 * n)).collect();
            flood(s, &format!("* SEARCH{numbers}\r\n"));
        },
    ),
    lie(
        "one line of matches without end",
        Call::Search,
        "SEARCH",
        |s| {
            s.send(b"* SEARCH");
            flood(s, " 3 1");
        },
    ),
    Lie {
        folder: Folder::BeyondNumbers,
        ..lie("a folder of 99999999999", Call::Page, "never", |s| s.ok())
    },
    Lie {
        code: "conflict",
        ..lie(
            "two generations of one folder",
            Call::Search,
            "SEARCH",
            |s| {
                s.reply("* OK [UIDVALIDITY 8] x\r\n* SEARCH 1\r\n{tag} OK done\r\n");
            },
        )
    },
    lie(
        "flags of messages not asked about",
        Call::Page,
        "FETCH",
        |s| {
            flood(s, "* 9 FETCH (FLAGS (\\Seen \\Answered a b c d e f g))\r\n");
        },
    ),
    lie("one message without end", Call::Page, "FETCH", |s| {
        flood(s, "* 5 FETCH (UID 5 FLAGS (\\Seen))\r\n");
    }),
    lie(
        "a thousand flags on each message",
        Call::Page,
        "FETCH",
        |s| {
            flood(
                s,
                &format!("* 5 FETCH (UID 5 FLAGS ({}))\r\n", "a ".repeat(1_000)),
            );
        },
    ),
    lie(
        "more messages than the page has",
        Call::Page,
        "FETCH",
        |s| {
            let lines: String = (1..=500)
                .map(|n| format!("* 5 FETCH (UID {n} FLAGS ())\r\n"))
                .collect();
            s.reply(&format!("{lines}{{tag}} OK done\r\n"));
        },
    ),
    lie("sections not asked for", Call::Read, "FETCH", |s| {
        let octets = "x".repeat(1 << 20);
        flood(
            s,
            &format!("* 5 FETCH (UID 5 BODY[9] {{1048576}}\r\n{octets})\r\n"),
        );
    }),
    lie("a literal of 4 GB", Call::Read, "FETCH", |s| {
        s.send(b"* 5 FETCH (UID 5 BODY[HEADER]<0> {4294967295}\r\n");
        flood(s, "x");
    }),
    lie("everything vanished", Call::Page, "FETCH", |s| {
        s.reply("* VANISHED 1:4294967295\r\n{tag} OK done\r\n");
    }),
    lie("expunges without end", Call::Search, "SEARCH", |s| {
        flood(s, "* 1 EXPUNGE\r\n")
    }),
    lie("folders without end", Call::Folders, "LIST", |s| {
        flood(s, "* LIST (\\HasNoChildren \\Marked) \"/\" \"x\"\r\n");
    }),
    lie("status lines without end", Call::Folders, "LIST", |s| {
        flood(s, "* OK wait\r\n")
    }),
    lie("capabilities without end", Call::Folders, "LIST", |s| {
        flood(s, "* CAPABILITY IMAP4rev1 A B C D\r\n");
    }),
    lie("continuations without end", Call::Folders, "", |s| {
        flood(s, "+ go on\r\n")
    }),
    lie("one line without end", Call::Folders, "LIST", |s| {
        flood(s, "x")
    }),
    lie(
        "a reply to a command never sent",
        Call::Folders,
        "LIST",
        |s| flood(s, "w999 OK\r\n"),
    ),
];

impl Lie {
    /// A server that tells it, to as many clients as come.
    pub fn serve(self) -> Fake {
        Fake::script(move |s| self.play(s))
    }

    fn play(self, s: &mut Session) {
        if self.on.is_empty() {
            (self.answer)(s);
        }
        s.log_in(self.capabilities);
        loop {
            let command = s.command();
            if !self.on.is_empty() && command.mentions(self.on) {
                (self.answer)(s);
            } else if command.mentions("EXAMINE") {
                let lines = self.folder.lines();
                s.reply(&format!(
                    "{lines}* OK [UIDVALIDITY 7] x\r\n{{tag}} OK done\r\n"
                ));
            } else {
                s.ok();
            }
        }
    }
}

/// Sends a text again and again until the client leaves.
pub fn flood(s: &mut Session, text: &str) -> ! {
    let piece = text.repeat((64 << 10) / text.len().max(1) + 1);
    loop {
        s.send(piece.as_bytes());
    }
}

/// Sends a line octet by octet, and never its end, until the client leaves.
pub fn drip(s: &mut Session) -> ! {
    loop {
        s.send(b"x");
        thread::sleep(Duration::from_millis(20));
    }
}

/// Sends a short line that nothing asked for, again and again, until the client leaves: the call
/// goes on, and is busy.
pub fn trickle(s: &mut Session) -> ! {
    loop {
        s.untagged("OK wait");
        thread::sleep(Duration::from_millis(1));
    }
}
