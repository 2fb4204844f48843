//! One spelling for Gmail's system folders, Google's English one, whatever language a mailbox is kept in.
//!
//! They are told by special use (RFC 6154), and translated where commands are written and lists are read; nobody else knows the
//! other names. The English ones are tried first: a list is asked for only where a server does not know them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mail::{Cx, Fault, FaultKind, Folder, FolderName, Keeping, SpecialUse, Spelling, Stage};

use super::super::folders::ListFolders;
use super::super::job::Job as _;
use super::super::session::Session;
use super::MOST_CONNECTIONS;

/// What each is called in English, and as a label (`X-GM-LABELS`).
const SYSTEM: [(SpecialUse, &str, &str); 7] = [
    (SpecialUse::All, "[Gmail]/All Mail", ""),
    (SpecialUse::Drafts, "[Gmail]/Drafts", "\\Draft"),
    (SpecialUse::Flagged, "[Gmail]/Starred", "\\Starred"),
    (SpecialUse::Important, "[Gmail]/Important", "\\Important"),
    (SpecialUse::Junk, "[Gmail]/Spam", "\\Spam"),
    (SpecialUse::Sent, "[Gmail]/Sent Mail", "\\Sent"),
    (SpecialUse::Trash, "[Gmail]/Trash", "\\Trash"),
];

/// Where system folders stand. Nobody can make a label there.
const ROOTS: [&str; 2] = ["[Gmail]/", "[Google Mail]/"];

/// A list that is older may be asked for again where a folder is not found: owners change their language.
const TRUSTED: Duration = Duration::from_secs(600);

/// What is known of an account's names, by all of its sessions.
#[derive(Default)]
pub(in super::super) struct Names(Mutex<State>);

#[derive(Default)]
struct State {
    /// Absent before the first login.
    keeping: Option<Keeping>,
    listed: Option<Listed>,
}

struct Listed {
    since: Instant,
    /// From our spelling to the server's; those that are the same are left out.
    theirs: HashMap<FolderName, FolderName>,
    ours: HashMap<FolderName, FolderName>,
    /// By our spelling. INVARIANT: what a folder is for decides what it is, and not what it is called.
    uses: HashMap<FolderName, SpecialUse>,
}

/// What a folder is to a message in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in super::super) enum Place {
    /// All Mail.
    All,
    /// Trash and Spam: a message in one of them is nowhere else.
    Discarded,
    /// A label of this name.
    Label(String),
    /// A label whose name `X-GM-LABELS` would take for one of the system's.
    Unlabelled,
}

impl Names {
    /// A session has logged in.
    pub(in super::super) fn meet(&self, keeping: Keeping) {
        self.lock().keeping = Some(keeping);
    }

    /// None before the first login.
    pub(in super::super) fn keeping(&self) -> Option<Keeping> {
        self.lock().keeping
    }

    /// So many connections may be open of those that are configured. Before the first login nobody knows who is there.
    pub(in super::super) fn bound(&self, configured: usize) -> usize {
        match self.lock().keeping {
            Some(Keeping::Apart) => configured,
            Some(Keeping::Labels) | None => configured.min(MOST_CONNECTIONS),
        }
    }

    /// As the server calls it.
    pub(in super::super) fn wire<'f>(&self, folder: &'f FolderName) -> Cow<'f, str> {
        let state = self.lock();
        let listed = state.listed.as_ref();
        match listed.and_then(|listed| listed.theirs.get(folder)) {
            Some(theirs) => Cow::Owned(theirs.as_str().to_owned()),
            None => Cow::Borrowed(folder.as_str()),
        }
    }

    /// Gives a server's folders our names, and remembers theirs.
    pub(in super::super) fn take(&self, folders: &mut [Folder]) {
        let taken: HashSet<FolderName> = folders.iter().map(|one| one.name.clone()).collect();
        let (mut theirs, mut ours) = (HashMap::new(), HashMap::new());
        for folder in folders.iter_mut() {
            let Some(name) = folder.special_use.and_then(english) else {
                continue;
            };
            // A folder that bears the name itself, or that came first, keeps it.
            if name == folder.name || taken.contains(&name) || theirs.contains_key(&name) {
                continue;
            }
            let before = std::mem::replace(&mut folder.name, name.clone());
            ours.insert(before.clone(), name.clone());
            theirs.insert(name, before);
        }
        let each = folders.iter();
        let uses = each.filter_map(|one| Some((one.name.clone(), one.special_use?)));
        let mut uses: HashMap<FolderName, SpecialUse> = uses.collect();
        for (special_use, name, _) in SYSTEM {
            let told = uses.values().any(|one| *one == special_use);
            let mut named = folders.iter().filter(|one| one.name.as_str() == name);
            if let (false, Some(folder)) = (told, named.next()) {
                uses.insert(folder.name.clone(), special_use);
            }
        }
        self.lock().listed = Some(Listed {
            since: Instant::now(),
            theirs,
            ours,
            uses,
        });
    }

    /// All Mail is not shown to mail programs, as its owner chose.
    pub(in super::super) fn hides_all(&self) -> bool {
        let state = self.lock();
        let listed = state.listed.as_ref();
        listed.is_some_and(|listed| listed.is_fresh() && listed.of_use(SpecialUse::All).is_none())
    }

    /// The folder for this: the one that is listed so, or the one that English names so.
    pub(in super::super) fn of_use(&self, special_use: SpecialUse) -> Result<FolderName, Fault> {
        let state = self.lock();
        let listed = state.listed.as_ref();
        let listed = listed
            .and_then(|listed| listed.of_use(special_use))
            .cloned();
        let found = listed.or_else(|| english(special_use));
        found.ok_or_else(|| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))
    }

    pub(in super::super) fn place(&self, folder: &FolderName) -> Place {
        let state = self.lock();
        let listed = state.listed.as_ref();
        let folder = listed
            .and_then(|listed| listed.ours.get(folder))
            .unwrap_or(folder);
        let told = listed.and_then(|listed| listed.uses.get(folder));
        let is_shown =
            |special_use| listed.is_some_and(|listed| listed.of_use(special_use).is_some());
        let system = SYSTEM
            .iter()
            .find(|(special_use, name, _)| match is_shown(*special_use) {
                true => told == Some(special_use),
                false => *name == folder.as_str(),
            });
        match (system, folder.as_str()) {
            (Some((SpecialUse::All, ..)), _) => Place::All,
            (Some((SpecialUse::Trash | SpecialUse::Junk, ..)), _) => Place::Discarded,
            (Some((_, _, label)), _) => Place::Label((*label).to_owned()),
            (None, "INBOX") => Place::Label("\\Inbox".to_owned()),
            (None, name) if name.starts_with('\\') => Place::Unlabelled,
            (None, name) => Place::Label(name.to_owned()),
        }
    }

    /// As we call it.
    pub(in super::super) fn ours(&self, folder: &FolderName) -> Spelling {
        if self.is_doubtful(folder) {
            return Spelling::Unlisted;
        }
        let state = self.lock();
        let listed = state.listed.as_ref();
        let ours = listed.and_then(|listed| listed.ours.get(folder));
        Spelling::Known(ours.unwrap_or(folder).clone())
    }

    /// It may be a system folder by another name.
    pub(in super::super) fn is_doubtful(&self, folder: &FolderName) -> bool {
        let state = self.lock();
        let name = folder.as_str();
        let listed = state.listed.as_ref();
        state.keeping != Some(Keeping::Apart)
            && !listed.is_some_and(Listed::is_fresh)
            && ROOTS.iter().any(|root| name.starts_with(root))
            && !SYSTEM.iter().any(|(_, english, _)| *english == name)
    }

    fn is_listed(&self) -> bool {
        let state = self.lock();
        state.listed.as_ref().is_some_and(Listed::is_fresh)
    }

    fn has_others(&self) -> bool {
        let state = self.lock();
        let listed = state.listed.as_ref();
        listed.is_some_and(|listed| !listed.theirs.is_empty())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Listed {
    fn is_fresh(&self) -> bool {
        self.since.elapsed() < TRUSTED
    }

    fn of_use(&self, special_use: SpecialUse) -> Option<&FolderName> {
        let mut uses = self.uses.iter();
        uses.find(|(_, one)| **one == special_use)
            .map(|(name, _)| name)
    }
}

/// After a folder was said not to be there: whether it may be, by another name. At most one `LIST`.
pub(in super::super) async fn mend(session: &mut Session, cx: &Cx, kind: FaultKind) -> bool {
    let missing = matches!(kind, FaultKind::NoSuchFolder | FaultKind::NoSuchTarget);
    if !missing || !session.is_gmail() || session.names.is_listed() || !session.is_sound() {
        return false;
    }
    ListFolders::Names.run(session, cx).await.is_ok() && session.names.has_others()
}

/// Before something is changed: which folders these are must be beyond doubt.
pub(in super::super) async fn settle(
    session: &mut Session,
    cx: &Cx,
    folders: &[&FolderName],
) -> Result<(), Fault> {
    if folders.iter().any(|one| session.names.is_doubtful(one)) {
        ListFolders::Names.run(session, cx).await?;
    }
    Ok(())
}

fn english(special_use: SpecialUse) -> Option<FolderName> {
    let mut known = SYSTEM.iter();
    let (_, name, _) = known.find(|(one, ..)| *one == special_use)?;
    FolderName::new(*name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> FolderName {
        FolderName::new(name).unwrap()
    }

    fn folders(names: &[(&str, Option<SpecialUse>)]) -> Vec<Folder> {
        let each = names.iter().map(|(name, special_use)| Folder {
            name: named(name),
            delimiter: Some('/'),
            special_use: *special_use,
            counts: None,
        });
        each.collect()
    }

    #[test]
    fn system_folders_have_one_spelling_in_every_language() {
        use SpecialUse::{All, Drafts, Flagged, Important, Junk, Sent, Trash};
        let uses = [All, Drafts, Flagged, Important, Junk, Sent, Trash];
        for theirs in [
            [
                "[Gmail]/All Mail",
                "[Gmail]/Drafts",
                "[Gmail]/Starred",
                "[Gmail]/Important",
                "[Gmail]/Spam",
                "[Gmail]/Sent Mail",
                "[Gmail]/Trash",
            ],
            [
                "[Gmail]/Alle Nachrichten",
                "[Gmail]/Entwürfe",
                "[Gmail]/Markiert",
                "[Gmail]/Wichtig",
                "[Gmail]/Spam",
                "[Gmail]/Gesendet",
                "[Gmail]/Papierkorb",
            ],
            [
                "[Google Mail]/All Mail",
                "[Google Mail]/Drafts",
                "[Google Mail]/Starred",
                "[Google Mail]/Important",
                "[Google Mail]/Spam",
                "[Google Mail]/Sent Mail",
                "[Google Mail]/Bin",
            ],
            [
                "[Gmail]/すべてのメール",
                "[Gmail]/下書き",
                "[Gmail]/スター付き",
                "[Gmail]/重要",
                "[Gmail]/迷惑メール",
                "[Gmail]/送信済みメール",
                "[Gmail]/ゴミ箱",
            ],
        ] {
            let told: Vec<_> = theirs.into_iter().zip(uses.map(Some)).collect();
            let mut list = folders(&told);
            list.extend(folders(&[("INBOX", None), ("Rechnungen", None)]));
            let names = Names::default();
            names.take(&mut list);
            for (folder, (special_use, theirs)) in list.iter().zip(uses.into_iter().zip(theirs)) {
                assert_eq!(Some(&folder.name), english(special_use).as_ref());
                assert_eq!(names.wire(&folder.name), theirs);
                assert_eq!(names.wire(&named(theirs)), theirs, "by its own name too");
                assert_eq!(names.place(&named(theirs)), names.place(&folder.name));
            }
            assert!(!names.hides_all());
            assert_eq!(names.wire(&named("Rechnungen")), "Rechnungen");
        }
    }

    #[test]
    fn a_folder_is_all_mail_discarded_or_a_label() {
        let names = Names::default();
        let label = |name: &str| Place::Label(name.to_owned());
        for (folder, want) in [
            ("INBOX", label("\\Inbox")),
            ("[Gmail]/Sent Mail", label("\\Sent")),
            ("[Gmail]/Drafts", label("\\Draft")),
            ("[Gmail]/All Mail", Place::All),
            ("[Gmail]/Trash", Place::Discarded),
            ("[Gmail]/Spam", Place::Discarded),
            ("Work/2026", label("Work/2026")),
            ("\\Trash", Place::Unlabelled),
        ] {
            assert_eq!(names.place(&named(folder)), want, "{folder}");
        }
        for (folder, doubtful) in [
            ("[Gmail]/Papierkorb", true),
            ("[Google Mail]/Bin", true),
            ("[Gmail]/Trash", false),
            ("Papierkorb", false),
        ] {
            assert_eq!(names.is_doubtful(&named(folder)), doubtful, "{folder}");
        }
    }

    #[test]
    fn a_name_that_is_taken_stays_where_it_is() {
        let mut list = folders(&[
            ("[Gmail]/Trash", None),
            ("[Google Mail]/Bin", Some(SpecialUse::Trash)),
            ("One", Some(SpecialUse::All)),
            ("Two", Some(SpecialUse::All)),
        ]);
        let names = Names::default();
        names.take(&mut list);
        let got: Vec<&str> = list.iter().map(|one| one.name.as_str()).collect();
        let all = "[Gmail]/All Mail";
        assert_eq!(got, ["[Gmail]/Trash", "[Google Mail]/Bin", all, "Two"]);
        // What it is for says what it is.
        let label = Place::Label("[Gmail]/Trash".to_owned());
        assert_eq!(names.place(&named("[Gmail]/Trash")), label);
        assert_eq!(names.place(&named("[Google Mail]/Bin")), Place::Discarded);
        let trash = names.of_use(SpecialUse::Trash).unwrap();
        assert_eq!(trash.as_str(), "[Google Mail]/Bin");
        assert_eq!(names.place(&named("One")), Place::All);
        let mut hidden = folders(&[("INBOX", None)]);
        names.take(&mut hidden);
        assert!(names.hides_all());
    }

    #[test]
    fn there_is_room_for_the_owners_own_programs() {
        let names = Names::default();
        for (keeping, configured, want) in [
            (None, 16, 10),
            (Some(Keeping::Labels), 16, 10),
            (Some(Keeping::Labels), 4, 4),
            (Some(Keeping::Apart), 16, 16),
        ] {
            keeping.into_iter().for_each(|keeping| names.meet(keeping));
            assert_eq!(names.bound(configured), want);
        }
    }
}
