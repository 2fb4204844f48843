//! What a human expert would know about the mailbox before asking. Learned once, and the server's caches are warm after it.

use testkit::RawImap;

use super::world::MESSAGES;

pub(crate) const SENDER: &str = "anna.adler";
/// Messages on a page, by default.
pub(crate) const PAGE: usize = 10;

pub(crate) struct Facts {
    uidvalidity: [u32; 4],
    /// The section with the text of each message in INBOX, by UID.
    texts: Vec<String>,
    /// What `SENDER` wrote, newest first.
    hits: Vec<u32>,
    pub cursors: [String; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Folder {
    /// Generated mail of every kind.
    Inbox,
    /// Plain texts of 40 kB.
    Long,
    /// HTML of 40 kB, and no other text.
    Html,
    /// Small, small, 34 MB.
    Big,
}

impl Folder {
    const ALL: [Self; 4] = [Self::Inbox, Self::Long, Self::Html, Self::Big];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Inbox => "INBOX",
            Self::Long => "Long",
            Self::Html => "Html",
            Self::Big => "Big",
        }
    }
}

impl Facts {
    pub(crate) fn learn(imap: &mut RawImap) -> Self {
        let everything = "FETCH 1:* (FLAGS INTERNALDATE RFC822.SIZE ENVELOPE BODYSTRUCTURE BODY.PEEK[HEADER] \
             BODY.PEEK[HEADER.FIELDS (FROM TO CC SUBJECT DATE MESSAGE-ID IN-REPLY-TO)])";
        let uidvalidity = Folder::ALL.map(|folder| {
            let opened = imap.command(&format!("EXAMINE {}", folder.name())).text();
            imap.command(everything);
            number_after(&opened, "UIDVALIDITY ")
        });
        imap.command("EXAMINE INBOX");
        let structures = imap.command("FETCH 1:* (UID BODYSTRUCTURE)").lines();
        let fetched = structures
            .iter()
            .filter(|line| line.contains("BODYSTRUCTURE"));
        let texts: Vec<String> = fetched.map(|line| first_leaf(line)).collect();
        assert_eq!(texts.len(), MESSAGES as usize, "messages in INBOX");
        let found = imap.command(&format!("UID SEARCH FROM {SENDER}")).text();
        let found = found
            .lines()
            .find_map(|line| line.strip_prefix("* SEARCH "))
            .expect("a result");
        let mut hits: Vec<u32> = found.split(' ').map(|uid| uid.parse().unwrap()).collect();
        hits.sort_unstable_by(|a, b| b.cmp(a));
        Self {
            uidvalidity,
            texts,
            hits,
            cursors: Default::default(),
        }
    }

    pub(crate) fn id(&self, folder: Folder, uid: u32) -> String {
        let uidvalidity = self.uidvalidity[folder as usize];
        format!("imap:default:{}:{uidvalidity}:{uid}", folder.name())
    }

    /// Where the text of a message in INBOX is. UIDs count from 1, without gaps.
    pub(crate) fn text(&self, uid: u32) -> &str {
        &self.texts[uid as usize - 1]
    }

    /// The UIDs on the given page of the search by sender, as a set.
    pub(crate) fn hits(&self, page: usize) -> String {
        let uids = self.hits.iter().skip(page * PAGE).take(PAGE);
        uids.map(u32::to_string).collect::<Vec<_>>().join(",")
    }

    /// The oldest UID on the first page of the search by sender.
    pub(crate) fn last_hit(&self) -> u32 {
        self.hits[PAGE - 1]
    }
}

/// The section of the first leaf, by the number of parentheses before it: `("text"` and `(("text"` are 1, `((("text"`
/// is 1.1. In generated mail that is the text.
fn first_leaf(line: &str) -> String {
    let (_, structure) = line.split_once("BODYSTRUCTURE ").expect("a structure");
    let depth = structure.chars().take_while(|c| *c == '(').count();
    vec!["1"; depth.saturating_sub(1).max(1)].join(".")
}

fn number_after(text: &str, mark: &str) -> u32 {
    let (_, after) = text.split_once(mark).expect(mark);
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}
