//! Message-IDs as a server is searched for them: by words that it may find in other messages too.
//!
//! A search finds what holds the words, in any case, so that whatever is found is looked at: this decides nothing.

use imap::ThreadId;
use imap::command::Key;
use mail::HeaderId;

/// Octets of one search. Servers take lines of 8,192 octets at least (RFC 7162 section 4).
const MOST_OCTETS: usize = 6_000;

/// What stands around the words in a command.
const AROUND: usize = 30;

/// A shorter id is looked for with its brackets: as a part of others it would be found everywhere.
const LEAST: usize = 8;

/// Of an id that is not all ASCII, less is not worth a search.
const LEAST_OF_A_RUN: usize = 4;

/// What is asked of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Seeking {
    /// That it has one of the ids.
    Having,
    /// That it has one of the ids, or names one.
    HavingOrNaming,
}

/// One id as words.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Needle {
    own: String,
    named: String,
}

impl Needle {
    /// None where there are no words to search for.
    ///
    /// Of an id with other octets than those of ASCII the longest run without is taken: a server knows them only in a
    /// charset, and an id has none.
    pub(super) fn of(id: &HeaderId) -> Option<Self> {
        let plain = |byte: &u8| (b' '..=b'~').contains(byte);
        let runs = id.bytes().split(|byte| !plain(byte));
        let run = runs.max_by_key(|run| run.len())?;
        let text = std::str::from_utf8(run).ok()?;
        if run.len() < id.bytes().len() {
            let words = text.trim();
            return (words.len() >= LEAST_OF_A_RUN).then(|| Self {
                own: words.to_owned(),
                named: words.to_owned(),
            });
        }
        let named = format!("<{text}>");
        Some(Self {
            // QUIRK: some senders leave the brackets out.
            own: match text.len() < LEAST {
                true => named.clone(),
                false => text.to_owned(),
            },
            named,
        })
    }

    fn keys(&self, seeking: Seeking) -> Vec<Key<'_>> {
        let header = |name, holds| Key::Header { name, holds };
        let own = header("Message-ID", self.own.as_str());
        match seeking {
            Seeking::Having => vec![own],
            Seeking::HavingOrNaming => vec![
                own,
                header("References", &self.named),
                header("In-Reply-To", &self.named),
            ],
        }
    }

    fn octets(&self, seeking: Seeking) -> usize {
        // Quotes and backslashes are written twice as long.
        let of = |words: &str| {
            let marks = words.bytes().filter(|byte| matches!(byte, b'"' | b'\\'));
            words.len() + marks.count() + AROUND
        };
        match seeking {
            Seeking::Having => of(&self.own),
            Seeking::HavingOrNaming => of(&self.own) + 2 * of(&self.named),
        }
    }
}

/// Cut so that no search is too long for a server.
pub(super) fn batches(needles: &[Needle], seeking: Seeking) -> Vec<&[Needle]> {
    let mut batches = Vec::new();
    let mut rest = needles;
    while !rest.is_empty() {
        let mut octets = 0;
        let fits = rest.iter().take_while(|needle| {
            octets += needle.octets(seeking);
            octets <= MOST_OCTETS
        });
        let (batch, later) = rest.split_at(fits.count().clamp(1, rest.len()));
        batches.push(batch);
        rest = later;
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
pub(super) fn key<'a>(
    needles: &'a [Needle],
    seeking: Seeking,
    reach: Reach,
    threads: &'a [ThreadId],
) -> Key<'a> {
    let words = Key::Any(
        needles
            .iter()
            .flat_map(|needle| needle.keys(seeking))
            .collect(),
    );
    let words = match (reach, needles) {
        (Reach::Thread, [_, ..]) => Key::InThread(Box::new(words)),
        _ => words,
    };
    let mut any: Vec<Key<'a>> = threads.iter().map(Key::Thread).collect();
    any.extend((!needles.is_empty()).then_some(words));
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
        for (id, own, named) in [
            (&b"abcdefgh@x"[..], "abcdefgh@x", "<abcdefgh@x>"),
            (b"1@x", "<1@x>", "<1@x>"),
            (
                b"a\"b\\c%*@x.example",
                "a\"b\\c%*@x.example",
                "<a\"b\\c%*@x.example>",
            ),
            ("grün.kohl@x".as_bytes(), "n.kohl@x", "n.kohl@x"),
            (b"\xe9t\xe9.long@host", ".long@host", ".long@host"),
        ] {
            let needle = needle(id).unwrap();
            assert_eq!((needle.own.as_str(), needle.named.as_str()), (own, named));
        }
        assert!(needle("ü".as_bytes()).is_none());
        assert!(needle("aéüé@ö".as_bytes()).is_none());
    }

    #[test]
    fn a_search_says_what_is_sought_and_stays_short() {
        let wire = |key: Key<'_>| {
            let mut connection = Connection::new(Limits::default());
            connection.push(&Command::uid_search(SearchReturn::Plain, &[key]).unwrap());
            String::from_utf8(connection.outgoing().to_vec()).unwrap()
        };
        let one = [needle(b"abcdefgh@x").unwrap()];
        let thread = [ThreadId::Gmail(7)];
        let both = Seeking::HavingOrNaming;
        let words = "OR HEADER \"Message-ID\" \"abcdefgh@x\" OR HEADER \"References\" \"<abcdefgh@x>\" \
                     HEADER \"In-Reply-To\" \"<abcdefgh@x>\"";
        for (key, want) in [
            (key(&one, both, Reach::Direct, &[]), words.to_owned()),
            (
                key(&one, both, Reach::Thread, &[]),
                format!("INTHREAD REFS {words}"),
            ),
            (
                key(&one, both, Reach::Thread, &thread),
                format!("OR X-GM-THRID 7 INTHREAD REFS {words}"),
            ),
            (
                key(&[], both, Reach::Thread, &thread),
                "X-GM-THRID 7".to_owned(),
            ),
            (
                key(&one, Seeking::Having, Reach::Direct, &[]),
                "HEADER \"Message-ID\" \"abcdefgh@x\"".to_owned(),
            ),
        ] {
            assert_eq!(wire(key), format!("w1 UID SEARCH {want}\r\n"));
        }
        let longest = [b'"'; HeaderId::MOST];
        let many: Vec<Needle> = (0..50).filter_map(|_| needle(&longest)).collect();
        for batch in batches(&many, both) {
            assert!(wire(key(batch, both, Reach::Thread, &[])).len() <= 8_192 || batch.len() == 1);
        }
        assert_eq!(batches(&many, both).concat().len(), 50);
    }
}
