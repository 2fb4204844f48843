//! What is remembered of an account's tokens between two runs: a small file, replaced wholly or not at all.
//!
//! No token lies in it in clear. One that is damaged, foreign or too large counts as none.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::seal::{Fingerprint, Sealed};

const VERSION: u32 = 1;
const LARGEST: u64 = 64 * 1024;

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

/// Where an account's file and its lock lie.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    dir: PathBuf,
    name: String,
}

/// Changes whenever the file is replaced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
    number: u64,
}

impl Files {
    /// `place` is where the refresh token is kept: configurations side by side may call their accounts alike.
    pub(crate) fn of(dir: &Path, account: &str, place: &str) -> Self {
        // Two accounts never share a file, whatever the file system makes of their spelling.
        let plain = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '-';
        let readable: String = account.chars().filter(plain).take(40).collect();
        let digest = Sha256::digest(format!("{account}\0{place}"));
        let hex = digest.iter().take(8).map(|byte| format!("{byte:02x}"));
        Self {
            dir: dir.to_owned(),
            name: format!("{readable}-{}", hex.collect::<String>()),
        }
    }

    pub(crate) fn stamp(&self) -> Option<Stamp> {
        let found = fs::metadata(self.path("json")).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&found);
        #[cfg(not(unix))]
        let number = 0;
        Some(Stamp {
            modified: found.modified().ok(),
            length: found.len(),
            number,
        })
    }

    pub(crate) fn read(&self) -> Kept {
        let path = self.path("json");
        match read_bounded(&path) {
            Ok(octets) => match serde_json::from_slice::<Kept>(&octets) {
                Ok(kept) if kept.version == VERSION => kept,
                _ => {
                    tracing::debug!(path = %path.display(), "what was remembered of an account's tokens is not readable and counts as nothing");
                    Kept::default()
                }
            },
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    tracing::debug!(path = %path.display(), %error, "what was remembered of an account's tokens cannot be read");
                }
                Kept::default()
            }
        }
    }

    /// It is on disk when this returns. INVARIANT: whoever writes holds the lock.
    pub(crate) fn write(&self, kept: &Kept) -> io::Result<()> {
        let mut kept = kept.clone();
        kept.version = VERSION;
        let octets = serde_json::to_vec_pretty(&kept)?;
        self.make_dir()?;
        let new = self.path("json.new");
        // One that a crash left behind may be anybody's to read, or a link.
        match fs::remove_file(&new) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private().write(true).create_new(true).open(&new)?;
        file.write_all(&octets)?;
        file.sync_all()?;
        fs::rename(&new, self.path("json"))?;
        #[cfg(unix)]
        File::open(&self.dir)?.sync_all()?;
        Ok(())
    }

    /// The file whose lock is held around everything that uses up or replaces a refresh token.
    pub(crate) fn lock_file(&self) -> io::Result<File> {
        self.make_dir()?;
        let mut options = private();
        options.read(true).write(true).create(true).truncate(false);
        options.open(self.path("lock"))
    }

    fn make_dir(&self) -> io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::DirBuilderExt as _;
            builder.mode(0o700);
        }
        builder.recursive(true).create(&self.dir)
    }

    fn path(&self, ending: &str) -> PathBuf {
        self.dir.join(format!("{}.{ending}", self.name))
    }
}

fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    options
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut octets = Vec::new();
    file.take(LARGEST + 1).read_to_end(&mut octets)?;
    if octets.len() as u64 > LARGEST {
        return Err(io::Error::other("it is larger than anything written here"));
    }
    Ok(octets)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let files = Files::of(&dir.path().join("tokens"), "work", "");
        assert_eq!(files.read(), Kept::default());
        assert_eq!(files.stamp(), None);
        files.write(&some()).unwrap();
        assert_eq!(files.read(), some());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&files.path("json")), 0o600);
            assert_eq!(mode(&files.dir), 0o700);
        }
    }

    #[test]
    fn a_file_that_a_crash_left_half_written_is_in_nobodys_way() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::of(dir.path(), "work", "");
        fs::write(files.path("json.new"), "half").unwrap();
        files.write(&some()).unwrap();
        assert_eq!(files.read(), some());
        assert!(!files.path("json.new").exists());
    }

    #[test]
    fn every_replacement_shows() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::of(dir.path(), "work", "");
        files.write(&Kept::default()).unwrap();
        let before = files.stamp();
        files.write(&some()).unwrap();
        assert_ne!(files.stamp(), before);
    }

    #[test]
    fn what_is_damaged_foreign_or_huge_counts_as_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let files = Files::of(dir.path(), "work", "");
        let whole = serde_json::to_string(&some()).unwrap();
        let cases = [
            String::new(),
            whole.chars().take(whole.len() / 2).collect(),
            whole.replace("\"version\":1", "\"version\":2"),
            whole.replace("requested", "desired"),
            "[".repeat(10_000),
            format!("{whole}{}", " ".repeat(LARGEST as usize)),
        ];
        for case in cases {
            fs::write(files.path("json"), &case).unwrap();
            assert_eq!(files.read(), Kept::default());
        }
    }

    #[test]
    fn accounts_never_share_a_file() {
        let dir = Path::new("/state");
        let names = ["a", "A", "a/b", "ab", "../a", "", "ä", &"x".repeat(300)];
        for (at, one) in names.iter().enumerate() {
            let name = Files::of(dir, one, "").name;
            assert!(name.len() < 64 && !name.contains(['/', '.']), "{name}");
            for other in names.iter().skip(at + 1) {
                let other = Files::of(dir, other, "").name;
                assert_ne!(name.to_lowercase(), other.to_lowercase());
            }
        }
    }
}
