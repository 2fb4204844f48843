//! The mixed reads: what a client asks for, and the least that somebody who knows IMAP, and remembers nothing, would send to know the same.
//!
//! The expert is logged in, has INBOX open, knows UIDs, and asks (NOOP) whether the folder changed wherever the answer
//! depends on it. What it is told it throws away.

use testkit::mailgen::Rng;

use super::world::{FOLDER, Letter, Mailbox};

/// Messages on a page.
const PAGE: usize = 20;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Tool {
    SearchAll,
    SearchFrom,
    FetchEnvelope,
    FetchHeaders,
    FetchBody,
    ListFolders,
    FolderStats,
    ReadThread,
}

impl Tool {
    /// With how often each is asked for, of a hundred.
    pub(super) const MIX: [(Self, u64); 8] = [
        (Self::SearchAll, 15),
        (Self::SearchFrom, 10),
        (Self::FetchEnvelope, 20),
        (Self::FetchHeaders, 5),
        (Self::FetchBody, 30),
        (Self::ListFolders, 8),
        (Self::FolderStats, 7),
        (Self::ReadThread, 5),
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::SearchAll | Self::SearchFrom => "search",
            Self::FetchEnvelope => "fetch_envelope",
            Self::FetchHeaders => "fetch_headers",
            Self::FetchBody => "fetch_body",
            Self::ListFolders => "list_folders",
            Self::FolderStats => "folder_stats",
            Self::ReadThread => "read_thread",
        }
    }

    pub(super) fn told(self) -> &'static str {
        match self {
            Self::SearchAll => "search: the newest 20, with envelopes",
            Self::SearchFrom => "search: by sender, 20 with envelopes",
            Self::ReadThread => "read_thread: headers",
            other => other.name(),
        }
    }

    /// By what it is told as, or how that begins.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut all = Self::MIX.iter().map(|(tool, _)| *tool);
        all.find(|tool| tool.told().starts_with(text))
    }

    fn pick(rng: &mut Rng) -> Self {
        let mut chosen = rng.below(100);
        for (tool, share) in Self::MIX {
            match chosen.checked_sub(share) {
                Some(left) => chosen = left,
                None => return tool,
            }
        }
        Self::FetchBody
    }
}

/// One read of one mailbox.
pub(super) struct Read<'a> {
    pub tool: Tool,
    mailbox: &'a Mailbox,
    letter: &'a Letter,
    uid: usize,
}

impl<'a> Read<'a> {
    /// Of something that the caller may see.
    pub(super) fn pick(mailbox: &'a Mailbox, rng: &mut Rng) -> Option<Self> {
        let tool = mailbox.only.unwrap_or_else(|| Tool::pick(rng));
        let count = u64::try_from(mailbox.letters.len()).ok()?;
        for _ in 0..100 {
            let index = usize::try_from(rng.below(count)).ok()?;
            let letter = mailbox.letters.get(index)?;
            if letter.open {
                return Some(Self {
                    tool,
                    mailbox,
                    letter,
                    uid: index + 1,
                });
            }
        }
        None
    }

    /// For show: the first letter that may be seen.
    pub(super) fn example(mailbox: &'a Mailbox, tool: Tool) -> Option<Self> {
        let mut letters = mailbox.letters.iter().enumerate();
        let (index, letter) = letters.find(|(_, letter)| letter.open)?;
        Some(Self {
            tool,
            mailbox,
            letter,
            uid: index + 1,
        })
    }

    /// The arguments of the call, as JSON.
    pub(super) fn arguments(&self) -> String {
        let account = &self.mailbox.account;
        let uid = self.uid;
        let from = &self.letter.from;
        match self.tool {
            Tool::SearchAll => format!(
                r#"{{"account_id":"{account}","folder":"INBOX","limit":{PAGE},"include_envelope":true}}"#
            ),
            Tool::SearchFrom => format!(
                r#"{{"account_id":"{account}","folder":"INBOX","criteria":{{"from":"{from}"}},"limit":{PAGE},"include_envelope":true}}"#
            ),
            Tool::FetchEnvelope | Tool::FetchHeaders | Tool::FetchBody => {
                format!(r#"{{"account_id":"{account}","folder":"INBOX","uid":{uid}}}"#)
            }
            Tool::ListFolders => format!(r#"{{"account_id":"{account}"}}"#),
            Tool::FolderStats => format!(r#"{{"account_id":"{account}","folder":"INBOX"}}"#),
            Tool::ReadThread => {
                let id = &self.letter.message_id;
                format!(r#"{{"account_id":"{account}","message_id":"{id}","view":"headers"}}"#)
            }
        }
    }

    /// What the expert sends, in flights: what needs no answer first goes together.
    pub(super) fn commands(&self) -> Vec<Vec<String>> {
        let uid = self.uid;
        let fetch = |items: &str| flight(&[&format!("UID FETCH {uid} ({FACTS} {items})"), NOOP]);
        match self.tool {
            Tool::SearchAll => {
                let last = self.mailbox.letters.len();
                let first = (last + 1).saturating_sub(PAGE).max(1);
                vec![flight(&[
                    &format!("FETCH {first}:{last} (UID {FACTS} ENVELOPE)"),
                    NOOP,
                ])]
            }
            Tool::SearchFrom => {
                let from = &self.letter.from;
                let find = format!("UID SEARCH RETURN (COUNT ALL) FROM \"{from}\"");
                let describe = format!("UID FETCH {} ({FACTS} ENVELOPE)", self.by_the_same());
                vec![flight(&[&find, NOOP]), flight(&[&describe])]
            }
            Tool::FetchEnvelope => vec![fetch("ENVELOPE")],
            Tool::FetchHeaders => vec![fetch("BODY.PEEK[HEADER]")],
            Tool::FetchBody => vec![fetch(
                "BODYSTRUCTURE BODY.PEEK[HEADER] BODY.PEEK[TEXT]<0.8192>",
            )],
            Tool::ListFolders => vec![flight(&[r#"LIST "" "*" RETURN (SPECIAL-USE)"#])],
            Tool::FolderStats => vec![flight(&["UID SEARCH RETURN (COUNT ALL) ALL", NOOP])],
            Tool::ReadThread => vec![self.conversation()],
        }
    }

    /// Both folders that the caller may know of are looked through, and INBOX is open again in the end.
    fn conversation(&self) -> Vec<String> {
        let id = &self.letter.message_id;
        let find = format!(
            "UID SEARCH RETURN (SAVE ALL) INTHREAD REFS OR HEADER Message-ID \"{id}\" HEADER References \"{id}\""
        );
        let describe = format!(
            "UID FETCH $ ({FACTS} ENVELOPE BODYSTRUCTURE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID IN-REPLY-TO REFERENCES)])"
        );
        let other = format!("EXAMINE {FOLDER}");
        flight(&[&find, &describe, &other, &find, &describe, "EXAMINE INBOX"])
    }

    /// The newest letters from the same address.
    fn by_the_same(&self) -> String {
        let letters = self.mailbox.letters.iter().enumerate().rev();
        let same = letters.filter(|(_, letter)| letter.from == self.letter.from);
        let uids: Vec<String> = same
            .take(PAGE)
            .map(|(index, _)| (index + 1).to_string())
            .collect();
        uids.join(",")
    }
}

const FACTS: &str = "FLAGS INTERNALDATE RFC822.SIZE";
const NOOP: &str = "NOOP";

fn flight(commands: &[&str]) -> Vec<String> {
    commands
        .iter()
        .map(|command| (*command).to_owned())
        .collect()
}
