//! Which untagged responses a flight of commands asks for. All others are unsolicited, and are not
//! worth keeping.
//!
//! RFC 3501 section 5.2 lets a server send data at any time. What tells of the open mailbox
//! (`EXISTS`, `EXPUNGE`, status codes) always counts; of everything else only the answer to a
//! question does.

use bytes::Bytes;

use crate::command::{Command, Fetches, Messages};
use crate::{Data, Fetch, SequenceSet};

/// Octets that any flight may bring.
const BASE_BYTES: u64 = 8 << 20;
/// Octets that one more search may bring: the matches of a mailbox of a million messages.
const SEARCH_BYTES: u64 = 12 << 20;
/// Octets that any flight may bring at most, whatever it asks for.
const MAX_BYTES: u64 = 32 << 20;

/// Octets that are kept of a response without a typed view.
const MAX_LINE_BYTES: usize = 256;

/// What the commands of one flight ask for.
#[derive(Debug)]
pub struct ExpectedResponses {
    list: bool,
    mailbox_status: bool,
    search: bool,
    capability: bool,
    id: bool,
    fetch: ExpectedFetches,
    octets: u64,
}

/// The messages that are asked about, and their sections.
#[derive(Default)]
struct ExpectedFetches {
    asked: bool,
    uids: SequenceSet,
    numbers: SequenceSet,
    saved: bool,
    sections: Vec<String>,
}

/// What becomes of a response.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It answers a command, or tells of the mailbox.
    Expected,
    /// A message that was not asked about was described: its flags may have changed.
    OtherMessage,
    /// Nothing asked for it.
    Unsolicited,
}

/// INVARIANT: like a [`Command`], it shows no arguments.
impl std::fmt::Debug for ExpectedFetches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ExpectedFetches").finish_non_exhaustive()
    }
}

impl ExpectedResponses {
    pub fn of(commands: &[Command]) -> Self {
        let named = |names: &[&str]| commands.iter().any(|one| names.contains(&one.name()));
        let searches = commands.iter().filter(|one| one.name() == "UID SEARCH");
        let searches = u64::try_from(searches.count()).unwrap_or(u64::MAX);
        let fetches = commands.iter().filter_map(Command::fetches);
        let fetched = fetches.clone().map(octets).fold(0, u64::saturating_add);
        let octets = BASE_BYTES
            .saturating_add(SEARCH_BYTES.saturating_mul(searches))
            .saturating_add(fetched);
        Self {
            list: named(&["LIST"]),
            mailbox_status: named(&["LIST", "STATUS"]),
            search: searches > 0,
            capability: named(&["CAPABILITY", "LOGIN", "AUTHENTICATE"]),
            id: named(&["ID"]),
            fetch: ExpectedFetches::of(fetches),
            octets: octets.min(MAX_BYTES),
        }
    }

    /// Octets that the answers may have together.
    pub fn octets(&self) -> usize {
        usize::try_from(self.octets).unwrap_or(usize::MAX)
    }

    /// Whether a response is worth keeping. Takes out of it the sections that were not asked for.
    pub fn judge(&self, data: &mut Data) -> Verdict {
        let expected = match data {
            Data::Exists(_) | Data::Expunge(_) | Data::Vanished(_) => true,
            Data::Malformed(name) => *name != "ESEARCH" || self.search,
            // The text of an untagged status is for people.
            Data::Status(status) => status.code.is_some(),
            Data::Capability(_) => self.capability,
            Data::Enabled(_) => false,
            Data::List(_) => self.list,
            Data::MailboxStatus(_) => self.mailbox_status,
            Data::Search(_) | Data::Esearch(_) => self.search,
            Data::Fetch(fetch) => return self.fetch.judge(fetch),
            Data::Other(line) => {
                shorten(line);
                self.is_expected_line(line)
            }
        };
        if expected {
            Verdict::Expected
        } else {
            Verdict::Unsolicited
        }
    }

    /// The answer to `ID`, and answers so damaged that they have no typed view.
    fn is_expected_line(&self, line: &[u8]) -> bool {
        let mut words = line.splitn(3, |octet| *octet == b' ');
        let (first, second) = (words.next(), words.next());
        let is = |word: Option<&[u8]>, name: &str| {
            word.is_some_and(|word| word.eq_ignore_ascii_case(name.as_bytes()))
        };
        (self.id && is(first, "ID"))
            || (self.list && is(first, "LIST"))
            || (self.fetch.asked && is(second, "FETCH"))
    }
}

impl ExpectedFetches {
    fn of<'c>(fetches: impl Iterator<Item = &'c Fetches>) -> Self {
        let mut expected = Self::default();
        let (mut uids, mut numbers) = (Vec::new(), Vec::new());
        for one in fetches {
            expected.asked = true;
            match &one.messages {
                Messages::Uids(set) => uids.push(set),
                Messages::Numbers(set) => numbers.push(set),
                Messages::Saved => expected.saved = true,
            }
            expected.sections.extend(one.sections.iter().cloned());
        }
        expected.uids = SequenceSet::union_of(uids);
        expected.numbers = SequenceSet::union_of(numbers);
        expected.sections.sort_unstable();
        expected.sections.dedup();
        expected
    }

    fn judge(&self, fetch: &mut Fetch) -> Verdict {
        let named = fetch.uid.is_some_and(|uid| self.uids.contains(uid));
        let counted = self.numbers.contains(fetch.sequence);
        if !named && !counted && !self.saved {
            return Verdict::OtherMessage;
        }
        // QUIRK: some servers name header fields in another order, or in their own spelling.
        let is_fields = |name: &String| name.starts_with("HEADER.FIELDS");
        let asked = |name: &String| {
            self.sections.binary_search(name).is_ok()
                || is_fields(name) && self.sections.iter().any(is_fields)
        };
        fetch.sections.retain(|one| asked(&one.section));
        Verdict::Expected
    }
}

/// Of a line that has no typed view no more than its first words matter.
fn shorten(line: &mut Bytes) {
    if let Some(first) = line.get(..MAX_LINE_BYTES) {
        *line = Bytes::copy_from_slice(first);
    }
}

fn octets(fetches: &Fetches) -> u64 {
    let messages = match &fetches.messages {
        Messages::Uids(set) | Messages::Numbers(set) => set.len(),
        Messages::Saved => u64::MAX,
    };
    fetches.octets.saturating_mul(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::{Item, Key, ListReturn, Part, SearchReturn};
    use crate::{Limits, Response};

    fn data(line: &str) -> Data {
        let frame = Bytes::from(format!("* {line}\r\n"));
        match Response::parse(&frame, &Limits::default()) {
            Response::Untagged(data) => data,
            other => panic!("{other:?}"),
        }
    }

    fn verdicts(commands: &[Command], lines: &[&str]) -> Vec<Verdict> {
        let expected = ExpectedResponses::of(commands);
        let each = lines.iter().map(|line| expected.judge(&mut data(line)));
        each.collect()
    }

    #[test]
    fn response_is_expected_where_a_command_asks_for_it() {
        use Verdict::{Expected as Kept, OtherMessage, Unsolicited};
        let uids = SequenceSet::of([2, 4]);
        let search = Command::uid_search(SearchReturn::Plain, &[Key::All]).unwrap();
        let id = Command::id(&[("name", "x")]).unwrap();
        let lines = [
            "5 EXISTS",
            "OK [UIDVALIDITY 7] x",
            "OK still here",
            "SEARCH 1",
            "ESEARCH (TAG \"w1\") UID ALL 1",
            "LIST () \"/\" x",
            "LIST (",
            "STATUS x (MESSAGES 1)",
            "CAPABILITY X",
            "ENABLED X",
            "ID (\"name\" \"x\")",
            "2 FETCH (UID 2)",
            "3 FETCH (UID 3)",
            "2 FETCH (FLAGS ())",
            "2 FETCH (UID",
            "X-NEW thing",
        ];
        let always = [Kept, Kept, Unsolicited];
        let rest = |some: [Verdict; 13]| [&always[..], &some].concat();
        let (u, o) = (Unsolicited, OtherMessage);
        for (commands, want) in [
            (
                vec![Command::noop()],
                rest([u, u, u, u, u, u, u, u, o, o, o, u, u]),
            ),
            (
                vec![search],
                rest([Kept, Kept, u, u, u, u, u, u, o, o, o, u, u]),
            ),
            (
                vec![Command::list_all(ListReturn::default())],
                rest([u, u, Kept, Kept, Kept, u, u, u, o, o, o, u, u]),
            ),
            (
                vec![id, Command::capability()],
                rest([u, u, u, u, u, Kept, u, Kept, o, o, o, u, u]),
            ),
            (
                vec![Command::uid_fetch(&uids, &[Item::Flags])],
                rest([u, u, u, u, u, u, u, u, Kept, o, o, Kept, u]),
            ),
            (
                vec![Command::fetch(&SequenceSet::of([3]), &[Item::Flags])],
                rest([u, u, u, u, u, u, u, u, o, Kept, o, Kept, u]),
            ),
            (
                vec![Command::uid_fetch_saved(&[Item::Flags])],
                rest([u, u, u, u, u, u, u, u, Kept, Kept, Kept, Kept, u]),
            ),
        ] {
            assert_eq!(verdicts(&commands, &lines), want, "{commands:?}");
        }
    }

    #[test]
    fn section_that_was_not_asked_for_is_dropped() {
        let items = [
            Item::Peek(Part::Header, Some(9)),
            Item::Peek(Part::Whole, None),
        ];
        let expected = ExpectedResponses::of(&[Command::uid_fetch(&SequenceSet::of([2]), &items)]);
        let mut data =
            data("2 FETCH (UID 2 BODY[HEADER]<0> \"a\" BODY[TEXT] \"b\" BODY[] \"c\" BODY[1] NIL)");
        assert_eq!(expected.judge(&mut data), Verdict::Expected);
        let Data::Fetch(fetch) = data else { panic!() };
        let names: Vec<&str> = fetch
            .sections
            .iter()
            .map(|one| one.section.as_str())
            .collect();
        assert_eq!(names, ["HEADER", ""]);
    }

    #[test]
    fn octets_follow_what_is_asked() {
        let uids = |last| SequenceSet::range(1, last);
        let peek = |most| Item::Peek(Part::Whole, most);
        for (command, want) in [
            (Command::noop(), BASE_BYTES),
            (
                Command::uid_fetch(&uids(2), &[peek(Some(1 << 20))]),
                BASE_BYTES + (2 << 20) + 2_048,
            ),
            (Command::uid_fetch(&uids(1), &[peek(None)]), MAX_BYTES),
            (
                Command::uid_fetch(&uids(u32::MAX), &[Item::Flags]),
                MAX_BYTES,
            ),
            (Command::uid_fetch_saved(&[Item::Flags]), MAX_BYTES),
        ] {
            assert_eq!(ExpectedResponses::of(&[command]).octets, want);
        }
    }
}
