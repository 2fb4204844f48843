//! What a log needs to stay secret: the key that signs checkpoints and the key of the digests. Made on first use.
//!
//! Both lie in the log's directory, readable by its owner alone. Neither is ever printed.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use aws_lc_rs::hmac;
use aws_lc_rs::signature::Ed25519KeyPair;

use crate::checkpoint::{Checkpoint, Verifier};
use crate::{Hash, Peaks, files};

pub(crate) const SIGNING: &str = "signing.key";
pub(crate) const DIGEST: &str = "digest.key";
/// The public half, for whoever verifies.
pub(crate) const PUBLIC: &str = "log.pub";

/// The name of a log: the beginning of its public key's hash.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct LogId(String);

impl LogId {
    pub(crate) fn of_key(public: &[u8]) -> Self {
        Self(
            Hash::of_bytes(public)
                .to_string()
                .chars()
                .take(16)
                .collect(),
        )
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (text.len() == 16 && text.bytes().all(hex)).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LogId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Turns words that must not be kept into ones that can still be compared.
#[derive(Clone)]
pub struct Digester(hmac::Key);

impl Digester {
    fn new(key: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, key))
    }

    /// The key of an existing log, to look for a word in it.
    pub fn of(dir: &Path) -> io::Result<Self> {
        match read(&dir.join(DIGEST))? {
            Some(key) => Ok(Self::new(&key)),
            None => Err(io::Error::other("there is no digest.key beside the log")),
        }
    }

    /// 128 bits of HMAC-SHA-256 over the text in lower case and without the space around it, as mail is searched and
    /// addresses are compared.
    pub fn digest(&self, text: &str) -> String {
        let tag = hmac::sign(&self.0, text.trim().to_lowercase().as_bytes());
        let hex = tag
            .as_ref()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"));
        format!("hmac:{}", hex.collect::<String>())
    }
}

pub(crate) struct Keys {
    seeds: Seeds,
    pair: Ed25519KeyPair,
    digester: Digester,
    log: LogId,
}

/// The keys themselves, for a process whose directory was taken from under it.
#[derive(Clone)]
pub(crate) struct Seeds {
    signing: [u8; 32],
    digest: [u8; 32],
}

impl Keys {
    /// Reads the keys of a directory; where there are none, puts those that are known, or makes new ones. Two processes
    /// that start at once end up with the same ones.
    pub(crate) fn of(dir: &Path, known: Option<&Seeds>) -> io::Result<Self> {
        let public = dir.join(PUBLIC);
        // A new key would make another log of this one, and nobody would be told.
        for name in [SIGNING, DIGEST] {
            if public.exists() && !dir.join(name).exists() && known.is_none() {
                return Err(io::Error::other(format!(
                    "{name} is gone and log.pub is there; put the key back, or move the directory away to begin a new log"
                )));
            }
        }
        let seeds = Seeds {
            signing: kept(dir, SIGNING, known.map(|seeds| seeds.signing))?,
            digest: kept(dir, DIGEST, known.map(|seeds| seeds.digest))?,
        };
        let pair = Ed25519KeyPair::from_seed_unchecked(&seeds.signing)
            .map_err(|_| io::Error::other("signing.key is damaged"))?;
        let digester = Digester::new(&seeds.digest);
        let verifier = Verifier::of(&pair);
        match verifier_at(&public) {
            Ok(stated) if stated == verifier => {}
            Ok(_) => {
                return Err(io::Error::other(
                    "log.pub is not the public half of signing.key; put the right one back, or move the directory away to \
                     begin a new log",
                ));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                place(dir, &public, format!("{verifier}\n").as_bytes())?;
            }
            Err(error) => return Err(error),
        }
        Ok(Self {
            seeds,
            pair,
            digester,
            log: verifier.log_id(),
        })
    }

    pub(crate) fn seeds(&self) -> &Seeds {
        &self.seeds
    }

    pub(crate) fn log(&self) -> &LogId {
        &self.log
    }

    pub(crate) fn digester(&self) -> &Digester {
        &self.digester
    }

    pub(crate) fn sign(&self, tree: &Peaks) -> String {
        Checkpoint::sign(tree, &self.pair)
    }
}

/// The public key beside a log.
pub fn verifier(dir: &Path) -> io::Result<Verifier> {
    verifier_at(&dir.join(PUBLIC))
}

fn verifier_at(path: &Path) -> io::Result<Verifier> {
    let text = fs::read_to_string(path)?;
    Verifier::parse(&text).ok_or_else(|| io::Error::other("log.pub is no public key of a log"))
}

fn kept(dir: &Path, name: &str, known: Option<[u8; 32]>) -> io::Result<[u8; 32]> {
    let path = dir.join(name);
    if let Some(key) = read(&path)? {
        return Ok(key);
    }
    let key = match known {
        Some(key) => key,
        None => fresh()?,
    };
    place(dir, &path, &key)?;
    // Another process may have been first.
    read(&path)?.ok_or_else(|| io::Error::other(format!("{name} cannot be kept")))
}

fn fresh() -> io::Result<[u8; 32]> {
    let mut key = [0u8; 32];
    getrandom::fill(&mut key).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(key)
}

fn read(path: &Path) -> io::Result<Option<[u8; 32]>> {
    match fs::read(path) {
        Ok(bytes) => match <[u8; 32]>::try_from(bytes.as_slice()) {
            Ok(key) => Ok(Some(key)),
            Err(_) => Err(io::Error::other(format!(
                "{} is damaged: it should hold 32 bytes",
                path.file_name().unwrap_or_default().to_string_lossy()
            ))),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Puts a whole file where there is none. One that is there already stays.
fn place(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    match files::whole(dir, bytes)?.persist_noclobber(path) {
        Ok(_) => files::sync_dir(dir),
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_made_once_and_are_private() {
        let dir = tempfile::tempdir().unwrap();
        let first = Keys::of(dir.path(), None).unwrap();
        let again = Keys::of(dir.path(), None).unwrap();
        assert_eq!(first.log(), again.log());
        assert_eq!(
            first.digester().digest("word"),
            again.digester().digest("word")
        );
        assert_eq!(&verifier(dir.path()).unwrap().log_id(), first.log());
        #[cfg(unix)]
        for name in [SIGNING, DIGEST] {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(dir.path().join(name)).unwrap().permissions();
            assert_eq!(mode.mode() & 0o777, 0o600, "{name}");
        }
    }

    #[test]
    fn a_damaged_key_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(SIGNING), b"short").unwrap();
        assert!(Keys::of(dir.path(), None).is_err());
    }

    #[test]
    fn a_lost_key_is_not_replaced_unseen() {
        let dir = tempfile::tempdir().unwrap();
        let keys = Keys::of(dir.path(), None).unwrap();
        fs::remove_file(dir.path().join(SIGNING)).unwrap();
        assert!(Keys::of(dir.path(), None).is_err());
        assert!(!dir.path().join(SIGNING).exists());
        // A process that knows it puts it back.
        let again = Keys::of(dir.path(), Some(keys.seeds())).unwrap();
        assert_eq!(again.log(), keys.log());
        fs::write(dir.path().join(SIGNING), [7; 32]).unwrap();
        assert!(Keys::of(dir.path(), None).is_err());
    }

    #[test]
    fn digests_compare_and_do_not_tell() {
        let one = Digester::new(&[1; 32]);
        assert_eq!(one.digest("salary"), one.digest("salary"));
        assert_eq!(one.digest("salary"), one.digest("Salary"));
        assert_eq!(one.digest("salary"), one.digest(" salary "));
        assert_ne!(one.digest("salary"), one.digest("salaries"));
        assert_ne!(
            one.digest("salary"),
            Digester::new(&[2; 32]).digest("salary")
        );
        assert_eq!(one.digest("").len(), 37);
    }
}
