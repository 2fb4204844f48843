//! Message-IDs as a server is searched for them: by words that it may find in other messages too.
//!
//! A search finds what holds the words, in any case, so that whatever is found is looked at: this decides nothing. It says
//! which words may find strangers, so that others can bound them.

use imap::ThreadId;
use imap::command::Key;
use mail::HeaderId;

use super::quirks::short_lines::MOST_WORDS;

/// What stands around the words in a command.
const AROUND: usize = 30;

/// Words without brackets are parts of other ids too. Fewer octets, or fewer before the `@`, stand in too many of them:
/// `example.org` or `@example.org` would be found in half of the mailbox.
const LEAST_OF_A_PART: usize = 8;
const LEAST_BEFORE_THE_AT: usize = 4;

/// What is asked of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seeking {
    /// That it has one of the ids.
    Having,
    /// That it has one of the ids, or names one.
    HavingOrNaming,
}

/// How much of an id is searched for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grip {
    /// All of it, in its brackets: whoever is found has it or names it, another case aside.
    Whole,
    /// Words that stand in other ids as well: whoever chooses an id chooses how many strangers are found.
    Part,
}

/// One id as words.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Needle {
    /// In its brackets.
    Whole(String),
    /// The longest run of an id that is not all ASCII, with the bracket that it touches: a server knows other octets only
    /// in a charset, and an id has none.
    Run(String),
}

/// What is searched for, and where.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Words<'a> {
    text: &'a str,
    seeking: Seeking,
}

impl Needle {
    /// None where there are no words to search for.
    pub(super) fn of(id: &HeaderId) -> Option<Self> {
        let bracketed = [b"<", id.bytes(), b">"].concat();
        let plain = |byte: &u8| (b' '..=b'~').contains(byte);
        let runs = bracketed.split(|byte| !plain(byte));
        let run = runs.max_by_key(|run| run.len())?;
        let text = std::str::from_utf8(run).ok()?;
        if run.len() == bracketed.len() {
            return Some(Self::Whole(text.to_owned()));
        }
        (text.len() >= LEAST_OF_A_PART).then(|| Self::Run(text.to_owned()))
    }

    fn words(&self, seeking: Seeking, grip: Grip) -> Option<Words<'_>> {
        match (self, grip) {
            (Self::Whole(text), Grip::Whole) | (Self::Run(text), Grip::Part) => {
                Some(Words { text, seeking })
            }
            // QUIRK: some senders leave the brackets out of their own id. Where an id is named without them it is none.
            (Self::Whole(text), Grip::Part) => {
                let bare = text.strip_prefix('<')?.strip_suffix('>')?;
                let (local, domain) = bare.rsplit_once('@')?;
                let telling = bare.len() >= LEAST_OF_A_PART
                    && local.len() >= LEAST_BEFORE_THE_AT
                    && !domain.is_empty();
                telling.then_some(Words {
                    text: bare,
                    seeking: Seeking::Having,
                })
            }
            (Self::Run(_), Grip::Whole) => None,
        }
    }
}

impl<'a> Words<'a> {
    fn keys(self) -> Vec<Key<'a>> {
        let names: &[&str] = match self.seeking {
            Seeking::Having => &["Message-ID"],
            Seeking::HavingOrNaming => &["Message-ID", "References", "In-Reply-To"],
        };
        let holds = self.text;
        let each = names.iter().map(|name| Key::Header { name, holds });
        each.collect()
    }

    fn octets(self) -> usize {
        // Quotes and backslashes are written twice as long.
        let marks = self.text.bytes();
        let marks = marks.filter(|byte| matches!(byte, b'"' | b'\\')).count();
        let once = self.text.len() + marks + AROUND;
        match self.seeking {
            Seeking::Having => once,
            Seeking::HavingOrNaming => 3 * once,
        }
    }
}

/// Those that can be searched for in this way.
pub(super) fn words(needles: &[Needle], seeking: Seeking, grip: Grip) -> Vec<Words<'_>> {
    let each = needles.iter();
    each.filter_map(|needle| needle.words(seeking, grip))
        .collect()
}

/// Cut so that no search is too long for a server, the first of which asks for these threads too.
pub(super) fn batches<'w, 'a>(
    words: &'w [Words<'a>],
    threads: &[ThreadId],
) -> Vec<&'w [Words<'a>]> {
    let each = threads.iter().map(|thread| match thread {
        ThreadId::Gmail(_) => AROUND + 20,
        ThreadId::Object(id) => AROUND + id.len(),
    });
    let mut octets: usize = each.sum();
    let mut batches = Vec::new();
    let mut rest = words;
    while !rest.is_empty() || octets > 0 {
        // What is too long on its own goes on its own.
        let least = usize::from(octets == 0);
        let fits = rest.iter().take_while(|words| {
            octets += words.octets();
            octets <= MOST_WORDS
        });
        let (batch, later) = rest.split_at(fits.count().max(least).min(rest.len()));
        batches.push(batch);
        (rest, octets) = (later, 0);
    }
    batches
}

/// How far a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reach {
    /// To the messages themselves.
    Direct,
    /// To all that the folder's own threads tie to them.
    Thread,
}

/// At least one of these.
pub(super) fn key<'a>(words: &[Words<'a>], reach: Reach, threads: &'a [ThreadId]) -> Key<'a> {
    let sought = Key::Any(words.iter().flat_map(|one| one.keys()).collect());
    let sought = match (reach, words) {
        (Reach::Thread, [_, ..]) => Key::InThread(Box::new(sought)),
        _ => sought,
    };
    let mut any: Vec<Key<'a>> = threads.iter().map(Key::Thread).collect();
    any.extend((!words.is_empty()).then_some(sought));
    Key::Any(any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use imap::command::SearchReturn;
    use imap::{Command, Connection, Limits};

    fn needle(id: &[u8]) -> Option<Needle> {
        Needle::of(&HeaderId::new(id).unwrap())
    }

    #[test]
    fn ids_become_words_that_a_server_can_search_for() {
        let text = |needle: &Needle, grip| {
            let words = needle.words(Seeking::HavingOrNaming, grip);
            words.map(|words| words.text.to_owned())
        };
        for (id, whole, part) in [
            (&b"abcdefgh@x"[..], Some("<abcdefgh@x>"), Some("abcdefgh@x")),
            (b"1@x", Some("<1@x>"), None),
            (b"e", Some("<e>"), None),
            // What stands in everybody's ids is searched for as a whole alone.
            (b"mail.example.org", Some("<mail.example.org>"), None),
            (b"@mail.example.org", Some("<@mail.example.org>"), None),
            (b"1@mail.example.org", Some("<1@mail.example.org>"), None),
            (b"long.enough@", Some("<long.enough@>"), None),
            (
                b"a\"b\\c%*@x.example",
                Some("<a\"b\\c%*@x.example>"),
                Some("a\"b\\c%*@x.example"),
            ),
            ("gr\u{fc}n.kohl@x".as_bytes(), None, Some("n.kohl@x>")),
            (b"\xe9t\xe9.long@host", None, Some(".long@host>")),
            (b"long@host.\xe9", None, Some("<long@host.")),
            (b"\xe9.in-the-middle.\xe9", None, Some(".in-the-middle.")),
        ] {
            let needle = needle(id).unwrap();
            assert_eq!(text(&needle, Grip::Whole).as_deref(), whole, "{id:?}");
            assert_eq!(text(&needle, Grip::Part).as_deref(), part, "{id:?}");
        }
        for unspeakable in ["\u{fc}", "a\u{e9}\u{fc}\u{e9}@\u{f6}", "\u{fc}@x.org"] {
            assert!(needle(unspeakable.as_bytes()).is_none(), "{unspeakable}");
        }
    }

    #[test]
    fn a_search_says_what_is_sought_and_stays_short() {
        let wire = |key: Key<'_>| {
            let mut connection = Connection::new(Limits::default());
            connection.push(&Command::uid_search(SearchReturn::Plain, &[key]).unwrap());
            String::from_utf8(connection.outgoing().to_vec()).unwrap()
        };
        let one = [needle(b"abcdefgh@x").unwrap()];
        let gmail = [ThreadId::Gmail(7)];
        let naming = words(&one, Seeking::HavingOrNaming, Grip::Whole);
        let having = words(&one, Seeking::Having, Grip::Whole);
        let part = words(&one, Seeking::HavingOrNaming, Grip::Part);
        let all = "OR HEADER \"Message-ID\" \"<abcdefgh@x>\" OR HEADER \"References\" \"<abcdefgh@x>\" \
                   HEADER \"In-Reply-To\" \"<abcdefgh@x>\"";
        for (key, want) in [
            (key(&naming, Reach::Direct, &[]), all.to_owned()),
            (
                key(&naming, Reach::Thread, &[]),
                format!("INTHREAD REFS {all}"),
            ),
            (
                key(&naming, Reach::Thread, &gmail),
                format!("OR X-GM-THRID 7 INTHREAD REFS {all}"),
            ),
            (key(&[], Reach::Thread, &gmail), "X-GM-THRID 7".to_owned()),
            (
                key(&having, Reach::Direct, &[]),
                "HEADER \"Message-ID\" \"<abcdefgh@x>\"".to_owned(),
            ),
            (
                key(&part, Reach::Direct, &[]),
                "HEADER \"Message-ID\" \"abcdefgh@x\"".to_owned(),
            ),
        ] {
            assert_eq!(wire(key), format!("w1 UID SEARCH {want}\r\n"));
        }
        let longest = [b'"'; HeaderId::MOST];
        let object = ThreadId::object(&[b'T'; 255]).unwrap();
        for (id, threads) in [
            (&longest[..], &[][..]),
            (&longest, &vec![object; 16]),
            (
                b"usual-as-ids-are@x.example",
                &vec![ThreadId::Gmail(u64::MAX); 16],
            ),
        ] {
            let many: Vec<Needle> = (0..50).filter_map(|_| needle(id)).collect();
            let words = words(&many, Seeking::HavingOrNaming, Grip::Whole);
            let batches = batches(&words, threads);
            for (place, batch) in batches.iter().enumerate() {
                let threads = if place == 0 { threads } else { &[] };
                let length = wire(key(batch, Reach::Thread, threads)).len();
                assert!(length <= MOST_WORDS + 200, "{length}");
                assert!(!batch.is_empty() || place == 0);
            }
            assert_eq!(batches.concat().len(), 50);
        }
        assert!(batches(&[], &[]).is_empty());
    }
}
