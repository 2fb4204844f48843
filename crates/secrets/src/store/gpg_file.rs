//! Secrets as files that the `gpg` program decrypts: `secret://a/b` is `a/b.gpg`, or `a/b` where there is no such file.
//!
//! The file goes in and the secret comes out by pipes; neither is ever an argument. Of what gpg says, only its status codes are read.

mod status;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use super::place::{Place, Readers};
use super::program::{Ended, Input, Program, Stderr, how};
use super::{NoSecret, text};
use crate::SecretRef;
use status::{Status, Trouble};

/// A directory of encrypted files, and the key that they are encrypted for.
#[derive(PartialEq, Eq, Debug)]
pub struct GpgFile {
    path: PathBuf,
    recipient: Option<String>,
    home: Option<PathBuf>,
    gpg: Program,
}

impl GpgFile {
    /// `home` is what gpg calls its home directory; `search` is the value of `PATH`.
    pub fn new(
        path: PathBuf,
        recipient: Option<String>,
        home: Option<PathBuf>,
        search: Option<&OsStr>,
    ) -> Result<Self, NoSecret> {
        let gpg = Program::find("gpg", search).map_err(|_| {
            NoSecret::new(
                "the program gpg, which a gpg_file store needs, is not in PATH",
                "install GnuPG",
            )
        })?;
        if let Some(home) = home.as_deref().filter(|home| !home.is_dir()) {
            return Err(NoSecret::new(
                format!("there is no gnupghome {}", home.display()),
                "name the directory that holds the keys, or leave it out for that of the user",
            ));
        }
        Ok(Self {
            path,
            recipient,
            home,
            gpg,
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        let place = Place::open(&self.path)?;
        let (names, file) = found(&place, wanted)?;
        let path = place.path(&refs(&names));
        let file = file.ok_or_else(|| missing(&path))?;
        let ended = self.run(&["--decrypt"], Input::File(file))?;
        let status = Status::of(&ended.stderr);
        let shown = path.display().to_string();
        // What was signed but not encrypted also ends well.
        if !ended.status.success() || !status.has("DECRYPTION_OKAY") {
            return Err(refused(&shown, status.trouble(), &ended));
        }
        text::whole(&ended.stdout, &format!("what {shown} holds"))
    }

    pub(super) fn write(&self, which: &SecretRef, secret: &SecretString) -> Result<(), NoSecret> {
        let line = text::line_of(secret)?;
        let place = Place::open(&self.path)?;
        let (names, _) = found(&place, which)?;
        let key = self.key()?;
        // INVARIANT: it is the very key whose secret half is here, named by its fingerprint; that it is trusted needs no asking.
        let words = [
            "--trust-model",
            "always",
            "--encrypt",
            "--recipient",
            key.as_str(),
        ];
        let ended = self.run(&words, Input::Secret(&line))?;
        if !ended.status.success() || ended.stdout.is_empty() {
            return Err(NoSecret::new(
                format!(
                    "gpg could not encrypt for the recipient: it {}",
                    how(ended.status)
                ),
                "see whether the key can encrypt and has not expired: gpg --list-keys",
            ));
        }
        place.replace(&refs(&names), &ended.stdout)
    }

    pub(super) fn writable(&self, which: &SecretRef) -> Result<(), NoSecret> {
        let place = Place::open(&self.path)?;
        let (names, _) = found(&place, which)?;
        place.replaceable(&refs(&names))?;
        self.key().map(|_| ())
    }

    /// It takes somebody to encrypt for.
    pub(super) fn is_read_only(&self) -> bool {
        self.recipient.is_none()
    }

    /// The fingerprint of the one key that is meant, whose secret half is here: what is encrypted must be readable again.
    fn key(&self) -> Result<String, NoSecret> {
        let Some(recipient) = &self.recipient else {
            return Err(NoSecret::new(
                "this gpg_file store can be read only: it has no recipient to encrypt for",
                "add 'recipient' to the secret_store: the fingerprint of a key",
            ));
        };
        let ended = self.run(
            &["--with-colons", "--list-secret-keys", "--", recipient],
            Input::Nothing,
        )?;
        let mut keys = status::fingerprints(&ended.stdout);
        match (keys.next(), keys.next()) {
            (Some(key), None) => Ok(key),
            (Some(_), Some(_)) => Err(NoSecret::new(
                "several keys fit the recipient of the secret_store",
                "write the fingerprint of the one that is meant: gpg --list-secret-keys",
            )),
            (None, _) => Err(NoSecret::new(
                "gpg has no secret key for the recipient of the secret_store, so what was encrypted for it could not be read again",
                "name a key of your own: gpg --list-secret-keys; or the gnupghome that holds it",
            )),
        }
    }

    fn run(&self, words: &[&str], input: Input<'_>) -> Result<Ended, NoSecret> {
        // QUIRK: with --quiet it leaves out why it failed, also where it speaks to programs.
        let mut all: Vec<OsString> = ["--batch", "--no-tty", "--status-fd", "2"]
            .map(OsString::from)
            .to_vec();
        if let Some(home) = &self.home {
            all.extend([OsString::from("--homedir"), home.into()]);
        }
        all.extend(words.iter().map(OsString::from));
        self.gpg.run(&all, input, Stderr::Kept)
    }
}

/// The names of the file, and the file if it is there.
fn found(place: &Place, wanted: &SecretRef) -> Result<(Vec<String>, Option<File>), NoSecret> {
    let bare = wanted.names().to_vec();
    let mut suffixed = bare.clone();
    if let Some(last) = suffixed.last_mut() {
        last.push_str(".gpg");
    }
    if let Some(file) = place.file(&refs(&suffixed), Readers::Anybody)? {
        return Ok((suffixed, Some(file)));
    }
    match place.file(&refs(&bare), Readers::Anybody)? {
        Some(file) => Ok((bare, Some(file))),
        None => Ok((suffixed, None)),
    }
}

fn refs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

fn missing(path: &Path) -> NoSecret {
    let shown = path.display();
    NoSecret::absent(
        format!("there is no file {shown}"),
        format!("encrypt the secret into it: gpg --encrypt --recipient KEY --output {shown}"),
    )
}

fn refused(shown: &str, trouble: Trouble, ended: &Ended) -> NoSecret {
    match trouble {
        Trouble::NoKey => NoSecret::new(
            format!("gpg has no secret key that opens {shown}"),
            "set gnupghome to the directory that holds the key, or encrypt the file for a key that is there",
        ),
        Trouble::Locked => NoSecret::new(
            format!(
                "gpg could not use the key that opens {shown}: it is locked by a passphrase, and nobody could be asked for that"
            ),
            "unlock it in gpg-agent before this program starts, or give it a key without a passphrase",
        ),
        Trouble::NotEncrypted => NoSecret::new(
            format!("{shown} is not a file that gpg encrypted"),
            "write it by: gpg --encrypt --recipient KEY",
        ),
        Trouble::Damaged => NoSecret::new(
            format!("{shown} is damaged, or not protected against changes"),
            "encrypt it anew: gpg --encrypt --recipient KEY",
        ),
        Trouble::Unknown => NoSecret::new(
            format!("gpg could not decrypt {shown}: it {}", how(ended.status)),
            "run gpg --decrypt on it by hand, as the user that runs this program, and see what it says",
        ),
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests;
