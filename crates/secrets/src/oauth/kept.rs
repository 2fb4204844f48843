//! What is remembered of an account's tokens between two runs: a small record, replaced wholly or not at all.
//!
//! No token lies in it in clear. One that is damaged, foreign or too large counts as none; where replicas share it, as an error.

use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::records::{HeldLock, Reach, Records, Stamp};
use super::seal::{Fingerprint, Sealed};

const VERSION: u32 = 1;

#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub version: u32,
    pub login: Option<Login>,
    /// The refresh tokens that the provider does not take any more.
    #[serde(default)]
    pub refused: Vec<Refused>,
    #[serde(default)]
    pub granted: Option<Granted>,
    /// The refresh token that has taken the place of the store's, where the store could not be written.
    pub successor: Option<Sealed>,
    pub access: Option<Sealed>,
}

/// So many that were refused are remembered: nobody comes back to older ones.
const MOST_REFUSED: usize = 8;

/// A refresh token that was refused, and by whom to whom: at another provider, or for another client, it may be good.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refused {
    pub token: Fingerprint,
    /// As [`Login::given`].
    pub given: String,
}

/// What a provider last said that some refresh tokens are good for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Granted {
    pub scope: String,
    pub tokens: Vec<Fingerprint>,
}

/// What a person agreed to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Login {
    /// Another one for every login: whoever sees that it has changed has nothing left of the one before.
    #[serde(default)]
    pub id: String,
    /// The provider and the client.
    pub given: String,
    pub requested: String,
    /// None where the provider did not say: then it is what was requested (RFC 6749, section 5.1).
    pub granted: Option<String>,
    /// The refresh tokens that came of it: of any other one this says nothing.
    pub tokens: Vec<Fingerprint>,
}

impl Kept {
    /// Of the login that this token came from.
    pub(crate) fn login_of(&self, token: &Fingerprint) -> Option<&Login> {
        let login = self.login.as_ref()?;
        login.tokens.contains(token).then_some(login)
    }

    /// It names another token than this one as that which stores hold.
    pub(crate) fn is_of_another(&self, token: &Fingerprint, given: &str) -> bool {
        let login = self.login.as_ref().filter(|login| login.given == given);
        self.successor.as_ref().is_some_and(|it| it.under != *token)
            || login.is_some_and(|login| !login.tokens.contains(token))
    }

    pub(crate) fn refuses(&self, token: &Fingerprint, given: &str) -> bool {
        let mut refused = self.refused.iter();
        refused.any(|one| one.token == *token && one.given == given)
    }

    pub(crate) fn refuse(&mut self, refused: Refused) {
        if !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
        let surplus = self.refused.len().saturating_sub(MOST_REFUSED);
        self.refused.drain(..surplus);
    }

    /// One has taken the place of another: what is known of the old one holds of these.
    pub(crate) fn follow(&mut self, old: &Fingerprint, tokens: &[Fingerprint]) {
        let login = self.login.as_mut().map(|it| &mut it.tokens);
        let granted = self.granted.as_mut().map(|it| &mut it.tokens);
        for known in [login, granted].into_iter().flatten() {
            if known.contains(old) {
                *known = tokens.to_vec();
            }
        }
    }
}

/// Where an account's record and its lock are.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    records: Arc<dyn Records>,
    name: String,
}

impl PartialEq for Files {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.records.place() == other.records.place()
    }
}

impl Files {
    /// `place` is where the refresh token is kept: configurations side by side may call their accounts alike.
    pub(crate) fn of(records: Arc<dyn Records>, account: &str, place: &str) -> Self {
        // Two accounts never share a file, whatever the file system makes of their spelling.
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        let readable: String = account.chars().filter(plain).take(40).collect();
        let digest = Sha256::digest(format!("{account}\0{place}"));
        let hex = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
        Self {
            records,
            name: format!("{readable}-{}", hex.collect::<String>()),
        }
    }

    #[cfg(test)]
    pub(crate) fn beside(dir: &std::path::Path, account: &str, place: &str) -> Self {
        let records = super::records::Directory(dir.to_owned());
        Self::of(Arc::new(records), account, place)
    }

    pub(crate) fn reach(&self) -> Reach {
        self.records.reach()
    }

    pub(crate) fn stamp(&self) -> Option<Stamp> {
        self.records.stamp(&self.name)
    }

    /// What to call that which was read: a file may have been replaced meanwhile, so it is what it was before; a record of
    /// replicas is known by its reading.
    pub(crate) fn stamp_of_read(&self, before: Option<Stamp>) -> Option<Stamp> {
        match self.reach() {
            Reach::Machine => before,
            Reach::Replicas => self.stamp(),
        }
    }

    /// Something that cannot be read counts as nothing.
    pub(crate) fn read(&self) -> Kept {
        self.try_read().unwrap_or_else(|error| {
            tracing::debug!(name = %self.name, %error, "what was remembered of an account's tokens cannot be read");
            Kept::default()
        })
    }

    /// What is damaged or foreign counts as nothing on one machine. INVARIANT: what replicas share is never replaced by one who
    /// cannot read it: a newer version may have written it.
    pub(crate) fn try_read(&self) -> io::Result<Kept> {
        let Some(octets) = self.records.read(&self.name)? else {
            return Ok(Kept::default());
        };
        Ok(match serde_json::from_slice::<Kept>(&octets) {
            Ok(kept) if kept.version == VERSION => kept,
            _ if self.reach() == Reach::Replicas => {
                return Err(io::Error::other(
                    "it is damaged, or a newer version of mailwarden has written it; use that one everywhere, or log in again",
                ));
            }
            _ => {
                tracing::debug!(name = %self.name, "what was remembered of an account's tokens is not readable and counts as nothing");
                Kept::default()
            }
        })
    }

    /// It is durable when this returns. INVARIANT: whoever writes holds the lock.
    pub(crate) fn write(&self, kept: &Kept) -> io::Result<()> {
        let mut kept = kept.clone();
        kept.version = VERSION;
        let octets = serde_json::to_vec_pretty(&kept)?;
        self.records.replace(&self.name, &octets)
    }

    /// Held around everything that uses up or replaces a refresh token.
    pub(crate) fn try_lock(&self) -> io::Result<Option<HeldLock>> {
        self.records.try_lock(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::super::records::Directory;
    use super::*;

    fn path(dir: &Path, files: &Files, ending: &str) -> PathBuf {
        Directory(dir.to_owned()).path(&files.name, ending)
    }

    fn some() -> Kept {
        Kept {
            version: VERSION,
            login: Some(Login {
                id: "1".to_owned(),
                given: "google x".to_owned(),
                requested: "mail".to_owned(),
                granted: None,
                tokens: vec![Fingerprint::of("work", &"r".into())],
            }),
            ..Kept::default()
        }
    }

    #[test]
    fn what_is_written_is_read_and_belongs_to_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let tokens = dir.path().join("tokens");
        let files = Files::beside(&tokens, "work", "");
        assert_eq!(files.read(), Kept::default());
        assert_eq!(files.stamp(), None);
        files.write(&some()).unwrap();
        assert_eq!(files.read(), some());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&path(&tokens, &files, "json")), 0o600);
            assert_eq!(mode(&tokens), 0o700);
        }
    }

    #[test]
    fn a_file_that_a_crash_left_half_written_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::beside(dir.path(), "work", "");
        fs::write(path(dir.path(), &files, "json.new"), "half").unwrap();
        files.write(&some()).unwrap();
        assert_eq!(files.read(), some());
        assert!(!path(dir.path(), &files, "json.new").exists());
    }

    #[test]
    fn every_replacement_shows() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::beside(dir.path(), "work", "");
        files.write(&Kept::default()).unwrap();
        let before = files.stamp();
        files.write(&some()).unwrap();
        assert_ne!(files.stamp(), before);
    }

    #[test]
    fn what_is_damaged_foreign_or_huge_counts_as_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::beside(dir.path(), "work", "");
        let whole = serde_json::to_string(&some()).unwrap();
        let cases = [
            String::new(),
            whole.chars().take(whole.len() / 2).collect(),
            whole.replace("\"version\":1", "\"version\":2"),
            whole.replace("requested", "desired"),
            "[".repeat(10_000),
            format!("{whole}{}", " ".repeat(64 * 1024)),
        ];
        for case in cases {
            fs::write(path(dir.path(), &files, "json"), &case).unwrap();
            assert_eq!(files.read(), Kept::default());
        }
    }

    #[test]
    fn accounts_never_share_a_file() {
        let dir = Path::new("/state");
        let names = ["a", "A", "a/b", "ab", "../a", "", "ä", &"x".repeat(300)];
        for (at, one) in names.iter().enumerate() {
            let name = Files::beside(dir, one, "").name;
            assert!(name.len() < 64 && !name.contains(['/', '.']), "{name}");
            for other in names.iter().skip(at + 1) {
                let other = Files::beside(dir, other, "").name;
                assert_ne!(name.to_lowercase(), other.to_lowercase());
            }
        }
    }
}
