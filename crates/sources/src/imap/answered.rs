//! What searches found before that ask for what never changes in a message, and in which state their folder was then.
//!
//! Such a search finds something else only after a message came or went, and a folder's [`Stamp`] tells that. Nothing is
//! answered from here alone: whoever uses it learns from the server in the same flight whether the folder is still so.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use imap::Command;
use imap::command::{Key, SearchReturn};
use mail::{FolderName, Room, Uid, UidSet};

use super::census::Stamp;
use super::conditions;
use super::session::Session;

/// Answers that are kept for one account.
const MOST: usize = 64;
/// And their octets; one alone may have a quarter.
const MOST_OCTETS: usize = 64 << 10;
/// For all accounts of this process together.
static ROOM: Room = Room::new(8 << 20, 8 << 10);

/// QUIRK: an index may lag behind what came: such a server finds more a while later, though nothing has come or gone since.
const LASTS: Duration = Duration::from_secs(60);

/// A search whose answer lasts as long as nothing comes or goes.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Question(
    /// Spelled as a plain search: in which form the server answers is no part of what is asked.
    Command,
);

impl Question {
    /// None where the answer may change by itself.
    pub(super) fn to(session: &Session, keys: &[Key<'_>]) -> Option<Self> {
        // QUIRK: Gmail finds by an index, whatever is asked for, and folders are labels there.
        match session.is_gmail() {
            true => None,
            false => Self::of(keys),
        }
    }

    fn of(keys: &[Key<'_>]) -> Option<Self> {
        let lasts = keys.iter().all(lasts);
        let command = conditions::command(SearchReturn::Plain, keys).ok();
        command.filter(|_| lasts).map(Self)
    }
}

/// Whether no message that meets it ceases to, and none begins to. INVARIANT: a new key has to be thought about.
fn lasts(key: &Key<'_>) -> bool {
    match key {
        Key::Each(keys) | Key::Any(keys) => keys.iter().all(lasts),
        Key::Not(key) => lasts(key),
        Key::All
        | Key::Text(_)
        | Key::From(_)
        | Key::To(_)
        | Key::Cc(_)
        | Key::Subject(_)
        | Key::Header { .. }
        | Key::Larger(_)
        | Key::Smaller(_)
        | Key::Since(_)
        | Key::Before(_)
        | Key::Uid(_) => true,
        // Anybody may change flags at any time; what the server makes of the others is its own affair.
        Key::Flag(_)
        | Key::GmailMessage(_)
        | Key::GmailRaw(_)
        | Key::Thread(_)
        | Key::InThread(_) => false,
    }
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Hits {
    pub count: u64,
    /// All of them, or the newest.
    pub newest: UidSet,
}

impl Hits {
    pub(super) fn all(uids: &UidSet) -> Self {
        Self {
            count: uids.len(),
            newest: uids.clone(),
        }
    }

    /// All of them, if they are here.
    pub(super) fn whole(self) -> Option<UidSet> {
        (self.newest.len() == self.count).then_some(self.newest)
    }

    /// The newest so many, newest first, if they are here.
    pub(super) fn page(&self, limit: usize) -> Option<Vec<u32>> {
        let newest = self.newest.iter().rev().map(|Uid(uid)| uid);
        let page: Vec<u32> = newest.take(limit).collect();
        let whole = self.newest.len() == self.count;
        (whole || page.len() == limit).then_some(page)
    }

    /// INVARIANT: what a folder in this state cannot hold is not remembered of it.
    fn fit(&self, stamp: Stamp) -> bool {
        let last = self.newest.last().map_or(0, |Uid(uid)| uid);
        self.newest.len() <= self.count
            && self.count <= u64::from(stamp.exists)
            && last < stamp.uidnext
    }
}

/// One account's. Whoever asked is no part of it: what was found is for those who asked to judge.
#[derive(Default)]
pub(super) struct Answered(Mutex<Kept>);

impl Answered {
    /// What it found when the folder was in this state.
    pub(super) fn recall(
        &self,
        folder: &FolderName,
        question: &Question,
        stamp: Stamp,
        now: Instant,
    ) -> Option<Hits> {
        let kept = self.lock();
        let at = kept.position(folder, question)?;
        let entry = kept.entries.get(at)?;
        let young = now.saturating_duration_since(entry.asked) < LASTS;
        (young && entry.stamp == stamp).then(|| entry.hits.clone())
    }

    /// What it found, asked at that time.
    pub(super) fn keep(
        &self,
        folder: &FolderName,
        question: Question,
        stamp: Stamp,
        hits: Hits,
        asked: Instant,
    ) {
        let mut kept = self.lock();
        if let Some(old) = kept.position(folder, &question) {
            kept.forget(old);
        }
        let entry = Entry {
            folder: folder.clone(),
            question,
            stamp,
            hits,
            asked,
        };
        if entry.hits.fit(stamp) && entry.octets() <= MOST_OCTETS / 4 {
            kept.add(entry);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The oldest first.
struct Kept {
    entries: VecDeque<Entry>,
    octets: usize,
    /// INVARIANT: it knows of all that is in `octets`.
    room: &'static Room,
}

struct Entry {
    folder: FolderName,
    question: Question,
    stamp: Stamp,
    hits: Hits,
    asked: Instant,
}

impl Entry {
    fn octets(&self) -> usize {
        let question = usize::try_from(self.question.0.octets()).unwrap_or(usize::MAX);
        let ranges = self.hits.newest.ranges();
        size_of::<Self>()
            .saturating_add(question)
            .saturating_add(self.folder.as_str().len())
            .saturating_add(size_of_val(ranges))
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self::within(&ROOM)
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.room.leave(self.octets);
    }
}

impl Kept {
    fn within(room: &'static Room) -> Self {
        room.enter();
        Self {
            entries: VecDeque::new(),
            octets: 0,
            room,
        }
    }

    fn position(&self, folder: &FolderName, question: &Question) -> Option<usize> {
        let mut entries = self.entries.iter();
        entries.position(|entry| entry.folder == *folder && entry.question == *question)
    }

    fn add(&mut self, entry: Entry) {
        let octets = entry.octets();
        self.octets += octets;
        self.room.take(octets);
        self.entries.push_back(entry);
        while self.entries.len() > MOST || self.octets > self.room.bound(MOST_OCTETS) {
            self.forget(0);
        }
    }

    fn forget(&mut self, at: usize) {
        if let Some(old) = self.entries.remove(at) {
            self.octets -= old.octets();
            self.room.give_back(old.octets());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imap::command::Day;
    use imap::{SequenceSet, ThreadId};
    use mail::UidValidity;

    const STAMP: Stamp = Stamp {
        uidvalidity: UidValidity(1),
        uidnext: 100_001,
        exists: 100_000,
    };

    fn folder(name: &str) -> FolderName {
        FolderName::new(name).unwrap()
    }

    fn subject(word: &str) -> Question {
        Question::of(&[Key::Subject(word)]).unwrap()
    }

    fn hits(uids: impl IntoIterator<Item = u32>) -> Hits {
        Hits::all(&uids.into_iter().map(Uid).collect())
    }

    #[test]
    fn only_what_never_changes_in_a_message_is_worth_keeping() {
        let day = Day {
            year: 2026,
            month: 1,
            day: 1,
        };
        let header = Key::Header {
            name: "List-Id",
            holds: "x",
        };
        let lasting = vec![
            Key::All,
            Key::Text("x"),
            Key::From("x"),
            Key::To("x"),
            Key::Cc("x"),
            Key::Subject("x"),
            header,
            Key::Larger(1),
            Key::Smaller(1),
            Key::Since(day),
            Key::Before(day),
            Key::Uid(SequenceSet::range(1, 7)),
        ];
        let thread = ThreadId::object(b"T1").unwrap();
        let moving = [
            Key::Flag("\\Seen"),
            Key::Flag("$Work"),
            Key::GmailMessage(1),
            Key::GmailRaw("x"),
            Key::Thread(&thread),
            Key::InThread(Box::new(Key::All)),
        ];
        assert!(Question::of(&[]).is_some());
        assert!(Question::of(&lasting).is_some());
        for (keys, kept) in lasting
            .iter()
            .map(|key| (key, true))
            .chain(moving.iter().map(|key| (key, false)))
        {
            let key = || keys.clone();
            for wrapped in [
                vec![key()],
                vec![Key::Subject("y"), key()],
                vec![Key::Not(Box::new(key()))],
                vec![Key::Each(vec![Key::All, key()])],
                vec![Key::Any(vec![key(), Key::From("y")])],
                vec![Key::Not(Box::new(Key::Any(vec![Key::Each(vec![key()])])))],
            ] {
                assert_eq!(Question::of(&wrapped).is_some(), kept, "{wrapped:?}");
            }
        }
    }

    #[test]
    fn it_is_told_for_the_same_question_folder_and_state_and_not_for_long() {
        let answered = Answered::default();
        let (inbox, sent) = (folder("INBOX"), folder("Sent"));
        let asked = Instant::now();
        let found = hits([3, 9]);
        answered.keep(&inbox, subject("x"), STAMP, found.clone(), asked);
        let told = |folder, word, stamp, now| answered.recall(folder, &subject(word), stamp, now);
        let another = |change: fn(&mut Stamp)| {
            let mut stamp = STAMP;
            change(&mut stamp);
            stamp
        };
        assert_eq!(told(&inbox, "x", STAMP, asked), Some(found.clone()));
        assert_eq!(told(&inbox, "y", STAMP, asked), None);
        assert_eq!(told(&sent, "x", STAMP, asked), None);
        for stamp in [
            another(|stamp| stamp.uidvalidity = UidValidity(2)),
            another(|stamp| stamp.uidnext += 1),
            another(|stamp| stamp.exists -= 1),
        ] {
            assert_eq!(told(&inbox, "x", stamp, asked), None);
        }
        let tick = Duration::from_nanos(1);
        assert_eq!(told(&inbox, "x", STAMP, asked + LASTS - tick), Some(found));
        assert_eq!(told(&inbox, "x", STAMP, asked + LASTS), None);
        // What is found later stands in its place.
        let later = asked + LASTS;
        answered.keep(&inbox, subject("x"), STAMP, hits([9]), later);
        assert_eq!(told(&inbox, "x", STAMP, later), Some(hits([9])));
        assert_eq!(answered.lock().entries.len(), 1);
    }

    #[test]
    fn what_does_not_add_up_is_not_kept_and_what_stood_there_goes() {
        let answered = Answered::default();
        let inbox = folder("INBOX");
        let now = Instant::now();
        let too_many = Hits {
            count: 100_001,
            newest: UidSet::range(Uid(1), Uid(5)),
        };
        let fewer_than_named = Hits {
            count: 1,
            newest: UidSet::range(Uid(1), Uid(5)),
        };
        let scattered = hits((1..=3_000).map(|n| n * 2));
        for wrong in [too_many, fewer_than_named, hits([100_001]), scattered] {
            answered.keep(&inbox, subject("x"), STAMP, hits([1]), now);
            answered.keep(&inbox, subject("x"), STAMP, wrong, now);
            assert_eq!(answered.recall(&inbox, &subject("x"), STAMP, now), None);
        }
        assert_eq!(answered.lock().octets, 0);
    }

    #[test]
    fn the_oldest_go_first_and_nothing_grows_without_bound() {
        let inbox = folder("INBOX");
        let now = Instant::now();
        for (uids, count) in [(1, 500), (1_000, 500)] {
            let answered = Answered::default();
            for n in 0..count {
                let found = hits((1..=uids).map(|n| n * 2));
                answered.keep(&inbox, subject(&n.to_string()), STAMP, found, now);
                let kept = answered.lock();
                assert!(kept.entries.len() <= MOST && kept.octets <= MOST_OCTETS);
                let all: usize = kept.entries.iter().map(Entry::octets).sum();
                assert_eq!(kept.octets, all);
            }
            let left = answered.lock().entries.len();
            assert!(left > 5, "{left}");
            for n in 0..count {
                let found = answered.recall(&inbox, &subject(&n.to_string()), STAMP, now);
                assert_eq!(found.is_some(), n + left >= count, "{n}");
            }
        }
    }

    #[test]
    fn accounts_share_the_room_and_give_it_back() {
        static SMALL: Room = Room::new(4 << 10, 1 << 10);
        let inbox = folder("INBOX");
        let now = Instant::now();
        let fill = || {
            let answered = Answered(Mutex::new(Kept::within(&SMALL)));
            for n in 0..MOST {
                answered.keep(&inbox, subject(&n.to_string()), STAMP, hits([1]), now);
            }
            answered
        };
        let accounts: Vec<Answered> = (0..10).map(|_| fill()).collect();
        let last = accounts.last().unwrap().lock().octets;
        assert!((1..=1 << 10).contains(&last), "{last}");
        drop(accounts);
        assert_eq!(SMALL.bound(MOST_OCTETS), MOST_OCTETS);
    }

    #[test]
    fn a_page_is_told_only_if_it_is_whole() {
        let few = hits([2, 4, 6]);
        assert_eq!(few.page(2), Some(vec![6, 4]));
        assert_eq!(few.page(3), Some(vec![6, 4, 2]));
        assert_eq!(few.page(50), Some(vec![6, 4, 2]));
        assert_eq!(few.whole(), Some([2, 4, 6].map(Uid).into_iter().collect()));
        let many = Hits {
            count: 700,
            newest: [2, 4, 6].map(Uid).into_iter().collect(),
        };
        assert_eq!(many.page(2), Some(vec![6, 4]));
        assert_eq!(many.page(3), Some(vec![6, 4, 2]));
        assert_eq!(many.page(4), None);
        assert_eq!(many.whole(), None);
        assert_eq!(hits([]).page(50), Some(vec![]));
    }
}
