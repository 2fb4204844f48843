//! One spelling for Gmail's system folders, Google's English one, whatever language a mailbox is kept in.
//!
//! They are told by special use (RFC 6154), and translated where commands are written and lists are read; nobody else knows the
//! other names. The English ones are tried first: a list is asked for only where a server does not know them.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mail::{Cx, FaultKind, Folder, FolderName, Keeping, SpecialUse};

use super::super::folders::ListFolders;
use super::super::job::Job as _;
use super::super::session::Session;
use super::MOST_CONNECTIONS;

pub(in super::super) const ALL_MAIL: &str = "[Gmail]/All Mail";
pub(in super::super) const TRASH: &str = "[Gmail]/Trash";

/// What each is called in English, and as a label (`X-GM-LABELS`).
const SYSTEM: [(SpecialUse, &str, &str); 7] = [
    (SpecialUse::All, ALL_MAIL, ""),
    (SpecialUse::Drafts, "[Gmail]/Drafts", "\\Draft"),
    (SpecialUse::Flagged, "[Gmail]/Starred", "\\Starred"),
    (SpecialUse::Important, "[Gmail]/Important", "\\Important"),
    (SpecialUse::Junk, "[Gmail]/Spam", "\\Spam"),
    (SpecialUse::Sent, "[Gmail]/Sent Mail", "\\Sent"),
    (SpecialUse::Trash, TRASH, "\\Trash"),
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
    shows_all: bool,
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
}

impl Names {
    /// A session has logged in.
    pub(in super::super) fn meet(&self, keeping: Keeping) {
        self.lock().keeping = Some(keeping);
    }

    pub(in super::super) fn keeping(&self) -> Keeping {
        self.lock().keeping.unwrap_or_default()
    }

    /// Somebody has logged in, and it is not Gmail.
    pub(in super::super) fn is_known_apart(&self) -> bool {
        self.lock().keeping == Some(Keeping::Apart)
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
        let shows_all = folders.iter().any(|one| one.name.as_str() == ALL_MAIL);
        self.lock().listed = Some(Listed {
            since: Instant::now(),
            theirs,
            ours,
            shows_all,
        });
    }

    /// All Mail is not shown to mail programs, as its owner chose.
    pub(in super::super) fn hides_all(&self) -> bool {
        let state = self.lock();
        let listed = state.listed.as_ref();
        listed.is_some_and(|listed| listed.is_fresh() && !listed.shows_all)
    }

    pub(in super::super) fn place(&self, folder: &FolderName) -> Place {
        let state = self.lock();
        let listed = state.listed.as_ref();
        let folder = listed
            .and_then(|listed| listed.ours.get(folder))
            .unwrap_or(folder);
        let system = SYSTEM.iter().find(|(_, name, _)| *name == folder.as_str());
        match system {
            Some((SpecialUse::All, ..)) => Place::All,
            Some((SpecialUse::Trash | SpecialUse::Junk, ..)) => Place::Discarded,
            Some((_, _, label)) => Place::Label((*label).to_owned()),
            None if folder.as_str() == "INBOX" => Place::Label("\\Inbox".to_owned()),
            None => Place::Label(folder.as_str().to_owned()),
        }
    }

    /// It may be a system folder by another name.
    fn is_doubtful(&self, folder: &FolderName) -> bool {
        let state = self.lock();
        let name = folder.as_str();
        state.listed.is_none()
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
}

/// After a folder was said not to be there: whether it may be, by another name. At most one `LIST`.
pub(in super::super) async fn mend(session: &mut Session, cx: &Cx, kind: FaultKind) -> bool {
    let missing = matches!(kind, FaultKind::NoSuchFolder | FaultKind::NoSuchTarget);
    if !missing || !session.is_gmail() || session.names.is_listed() || !session.is_sound() {
        return false;
    }
    ListFolders.run(session, cx).await.is_ok() && session.names.has_others()
}

/// Before something is changed: which folders these are must be beyond doubt.
pub(in super::super) async fn settle(
    session: &mut Session,
    cx: &Cx,
    folders: &[&FolderName],
) -> Result<(), mail::Fault> {
    if folders.iter().any(|one| session.names.is_doubtful(one)) {
        ListFolders.run(session, cx).await?;
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
        assert_eq!(got, ["[Gmail]/Trash", "[Google Mail]/Bin", ALL_MAIL, "Two"]);
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
