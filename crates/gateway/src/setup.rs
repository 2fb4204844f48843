//! What an operator configured, as calls see it: the accounts and the callers. A reload swaps the whole of it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use mail::{
    AccountId, Cx, Described, Fault, FolderName, Folders, MailSource, Reach, Scopes, SpecialUse,
    Spelling, UncertainText,
};
use policy::Policy;

use crate::knowledge::{Knowledge, lock};
use crate::limits::Limits;
use crate::pipeline::Caller;
use crate::tools::Toolset;

/// One state of the configuration. Calls that began under it end under it.
#[derive(Clone, Default)]
pub struct Setup {
    accounts: Vec<Account>,
    callers: Vec<Standing>,
    uncertain_text: UncertainText,
}

/// An account, and what is known about its mail. A reload that leaves an account as it was takes it over.
#[derive(Clone)]
pub struct Account {
    id: AccountId,
    source: Arc<dyn MailSource>,
    home: String,
    provider: Provider,
    pub(crate) knowledge: Arc<Knowledge>,
    listing: Arc<Mutex<Option<Listing>>>,
}

/// The folders that the source listed last.
#[derive(Clone, Debug)]
struct Listing {
    names: Arc<HashSet<FolderName>>,
    /// The folder for what is deleted, if there is one.
    trash: Option<FolderName>,
    since: Instant,
}

/// Folders are rarely given another name or use.
const LISTING_STAYS: Duration = Duration::from_secs(60);

/// What kind of mail store an account is in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Provider {
    /// Any IMAP server.
    #[default]
    Standard,
    /// Folders are labels.
    Google,
    AppleMail,
    Maildir,
}

impl Provider {
    /// As configurations and callers know it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Standard => "imap-standard",
            Self::Google => "google",
            Self::AppleMail => "apple-mail",
            Self::Maildir => "maildir",
        }
    }
}

/// A caller, and what it may do.
#[derive(Clone, Debug)]
pub struct Standing {
    pub id: String,
    pub policy: Arc<Policy>,
    pub toolsets: Vec<Toolset>,
    /// Any of them will do: what was begun under one goes on under another.
    pub proofs: Vec<Proof>,
    pub writes: Writes,
    pub limits: Arc<Limits>,
}

/// Whether a caller may change anything at all.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Writes {
    /// As far as its policy goes.
    Allowed,
    /// Nobody has said yes to it yet; who tries is told how that is done.
    #[default]
    Gated,
    /// Tools that change something do not exist.
    Never,
}

/// What a caller may prove itself with, and how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Proof {
    pub credential: Credential,
    /// From then on it proves nothing; without it, it lasts as long as the configuration.
    pub until: Option<SystemTime>,
}

impl Proof {
    fn holds(&self, shown: Credential, now: SystemTime) -> bool {
        self.credential == shown && self.until.is_none_or(|until| now < until)
    }
}

/// What a caller proved itself with, as a digest. One that its standing does not list is another caller's.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Credential(pub [u8; 32]);

impl std::fmt::Debug for Credential {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credential(..)")
    }
}

impl Standing {
    /// The contract leaves raw sources out of the `gateway` set; the other sets have them.
    pub(crate) fn serves_sources(&self) -> bool {
        let has = |set| self.toolsets.contains(&set);
        has(Toolset::Imap) || !has(Toolset::Gateway)
    }
}

impl Setup {
    pub fn new(accounts: Vec<Account>, callers: Vec<Standing>) -> Self {
        Self {
            accounts,
            callers,
            uncertain_text: UncertainText::default(),
        }
    }

    /// One caller, the person whose accounts these are.
    pub fn owner(accounts: Vec<Account>, toolsets: Vec<Toolset>) -> Self {
        let owner = Standing {
            id: Caller::OWNER.to_owned(),
            policy: Arc::new(Policy::owner()),
            toolsets,
            proofs: vec![Proof::default()],
            writes: Writes::default(),
            limits: Arc::default(),
        };
        Self::new(accounts, vec![owner])
    }

    /// The same for all callers.
    pub fn with_writes(mut self, writes: Writes) -> Self {
        for caller in &mut self.callers {
            caller.writes = writes;
        }
        self
    }

    /// Withheld here, it is withheld from every caller, whatever its policy says.
    pub fn with_uncertain_text(self, uncertain_text: UncertainText) -> Self {
        Self {
            uncertain_text,
            ..self
        }
    }

    pub(crate) fn uncertain_text(&self) -> UncertainText {
        self.uncertain_text
    }

    /// INVARIANT: who is not here, or proved itself with something else or something that has expired, is nobody.
    pub(crate) fn standing(&self, caller: &Caller) -> Option<&Standing> {
        let now = SystemTime::now();
        let shown = caller.credential();
        let proven = |one: &Standing| one.proofs.iter().any(|proof| proof.holds(shown, now));
        let mut known = self.callers.iter();
        known.find(|one| one.id == caller.as_str() && proven(one))
    }

    /// The mailboxes of all accounts.
    pub(crate) fn homes(&self) -> Vec<String> {
        let homes = self.accounts.iter().map(Account::home);
        homes.map(str::to_owned).collect()
    }

    pub(crate) fn account(&self, id: &AccountId) -> Option<&Account> {
        self.accounts.iter().find(|account| account.id == *id)
    }

    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }
}

impl Account {
    pub fn new(id: AccountId, source: Arc<dyn MailSource>, provider: Provider) -> Self {
        Self {
            id,
            home: source.describe().home,
            source,
            provider,
            knowledge: Arc::default(),
            listing: Arc::default(),
        }
    }

    /// Where deleted mail goes (RFC 6154), whatever it is called; none where the server names no such folder.
    pub(crate) async fn trash(&self, cx: &Cx) -> Result<Option<FolderName>, Fault> {
        if let Some(listing) = self.recent_listing() {
            return Ok(listing.trash);
        }
        let found = self.folders(cx).await?;
        Ok(trash_among(&found))
    }

    /// Whether the source listed a folder in this very spelling lately. No I/O.
    pub(crate) fn listed_lately(&self, folder: &FolderName) -> bool {
        let listing = self.recent_listing();
        listing.is_some_and(|listing| listing.names.contains(folder))
    }

    /// Whether the source lists a folder in this very spelling now.
    pub(crate) async fn lists(&self, cx: &Cx, folder: &FolderName) -> Result<bool, Fault> {
        let found = self.folders(cx).await?;
        Ok(found.folders.iter().any(|one| one.name == *folder))
    }

    fn recent_listing(&self) -> Option<Listing> {
        let listing = lock(&self.listing).clone();
        listing.filter(|listing| listing.since.elapsed() < LISTING_STAYS)
    }

    pub(crate) async fn folders(&self, cx: &Cx) -> Result<Folders, Fault> {
        let found = self.source.folders(cx).await?;
        self.note_listing(&found);
        Ok(found)
    }

    /// With counts, which take a server some time.
    pub(crate) async fn counted_folders(&self, cx: &Cx) -> Result<Folders, Fault> {
        let found = self.source.counted_folders(cx).await?;
        self.note_listing(&found);
        Ok(found)
    }

    fn note_listing(&self, found: &Folders) {
        let names = found.folders.iter().map(|one| one.name.clone());
        *lock(&self.listing) = Some(Listing {
            names: Arc::new(names.collect()),
            trash: trash_among(found),
            since: Instant::now(),
        });
    }

    /// The one name of a folder that may be asked for by several; asks nobody.
    pub(crate) fn spelled(&self, folder: &FolderName) -> Spelling {
        self.source.spelled(folder)
    }

    pub fn id(&self) -> &AccountId {
        &self.id
    }

    pub fn provider(&self) -> Provider {
        self.provider
    }

    /// Which mailbox it is, whatever it is called.
    pub(crate) fn home(&self) -> &str {
        &self.home
    }

    /// How far its login goes; asks nobody.
    pub fn reach(&self) -> Reach {
        self.source.reach()
    }

    /// The scopes of a login that may only read: no I/O.
    pub(crate) fn scopes(&self) -> Option<Scopes> {
        self.source.scopes()
    }

    pub(crate) fn describe(&self) -> Described {
        self.source.describe()
    }

    /// For the one place that may reach it.
    pub(crate) fn source(&self) -> &dyn MailSource {
        self.source.as_ref()
    }
}

fn trash_among(found: &Folders) -> Option<FolderName> {
    let mut folders = found.folders.iter();
    let trash = folders.find(|one| one.special_use == Some(SpecialUse::Trash));
    trash.map(|one| one.name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_known_by_any_of_its_proofs_until_that_is_over() {
        let now = SystemTime::now();
        let proof = |byte: u8, until| Proof {
            credential: Credential([byte; 32]),
            until,
        };
        let hour = Duration::from_secs(3600);
        let standing = Standing {
            id: "anna".to_owned(),
            policy: Arc::new(Policy::owner()),
            toolsets: Vec::new(),
            limits: Arc::default(),
            proofs: vec![
                proof(1, None),
                proof(2, Some(now + hour)),
                proof(3, Some(now - hour)),
            ],
            writes: Writes::default(),
        };
        let setup = Setup::new(Vec::new(), vec![standing]);
        let is_known = |id: &str, byte: u8| {
            let caller = Caller::new(id, "", Credential([byte; 32]));
            setup.standing(&caller).is_some()
        };
        assert!(is_known("anna", 1) && is_known("anna", 2));
        assert!(!is_known("anna", 3), "over");
        assert!(!is_known("anna", 4), "never hers");
        assert!(!is_known("bert", 1), "another's");
        assert!(!is_known("anna", 0) && setup.standing(&Caller::nobody()).is_none());
    }
}
