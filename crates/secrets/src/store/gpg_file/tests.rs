//! Real gpg with keys made for the test, and scripts in its place for what real ones do not do.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use secrecy::ExposeSecret as _;
use tempfile::TempDir;

use super::*;
use crate::store::tests::{SEARCH, reference, script};

/// A home of gpg's, with a key that has no passphrase.
struct Keys(TempDir);

impl Keys {
    fn new() -> Self {
        Self::locked_by("")
    }

    fn locked_by(passphrase: &str) -> Self {
        // In a short place: the sockets of its agent have to fit into a name of 108 bytes.
        let home = tempfile::Builder::new().prefix("g").tempdir_in("/tmp");
        let keys = Self(home.unwrap());
        keys.gpg(&[
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            passphrase,
            "--quick-generate-key",
            "test@example.com",
            "rsa2048",
            "encrypt,sign",
            "never",
        ]);
        keys.forget();
        keys
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn gpg(&self, words: &[&str]) {
        let mut gpg = std::process::Command::new("gpg");
        gpg.args(["--batch", "--no-tty", "--quiet", "--yes", "--homedir"]);
        gpg.arg(self.path()).args(words).stdin(Stdio::null());
        let output = gpg.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// The agent ends, and with it what it remembers.
    fn forget(&self) {
        let mut end = std::process::Command::new("gpgconf");
        end.arg("--homedir")
            .arg(self.path())
            .args(["--kill", "gpg-agent"]);
        end.stderr(Stdio::null());
        let _ = end.status();
    }

    fn encrypt(&self, text: &str, into: &Path) {
        let plain = self.path().join("plain");
        fs::write(&plain, text).unwrap();
        fs::create_dir_all(into.parent().unwrap()).unwrap();
        let (plain, into) = (plain.to_str().unwrap(), into.to_str().unwrap());
        let always = ["--trust-model", "always", "--recipient", "test@example.com"];
        self.gpg(&[&always[..], &["--output", into, "--encrypt", plain]].concat());
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.forget();
    }
}

fn store(path: &Path, keys: &Keys, recipient: Option<&str>) -> GpgFile {
    GpgFile::new(
        path.to_owned(),
        recipient.map(str::to_owned),
        Some(keys.path().to_owned()),
        Some(OsStr::new(SEARCH)),
    )
    .unwrap()
}

fn private() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
    place
}

const FILE: &str = "accounts/work/password.gpg";

#[test]
fn real_files_are_decrypted_written_and_refused() {
    let (keys, other) = (Keys::new(), Keys::new());
    let place = private();
    let file = place.path().join(FILE);
    let bare = place.path().join("accounts/work/password");
    keys.encrypt("hunter2\n", &file);
    let good = store(place.path(), &keys, Some("test@example.com"));
    let read = |store: &GpgFile| {
        store
            .read(&reference())
            .map(|secret| secret.expose_secret().to_owned())
    };
    assert_eq!(read(&good).unwrap(), "hunter2");
    // Everybody may see what is encrypted, and nobody else change it.
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(read(&good).unwrap(), "hunter2");
    // The suffix goes before the bare name.
    keys.encrypt("bare", &bare);
    assert_eq!(read(&good).unwrap(), "hunter2");
    fs::remove_file(&file).unwrap();
    assert_eq!(read(&good).unwrap(), "bare");

    // Kept where it was found, with nothing left beside it.
    let secret = SecretString::from("canary-4711");
    good.writable(&reference()).unwrap();
    good.write(&reference(), &secret).unwrap();
    assert!(!file.exists());
    fs::remove_file(&bare).unwrap();
    good.write(&reference(), &secret).unwrap();
    assert!(file.exists() && !bare.exists());
    assert_eq!(read(&good).unwrap(), "canary-4711");
    let kept = fs::read(&file).unwrap();
    assert!(!kept.windows(6).any(|bytes| bytes == b"canary"));
    assert_eq!(
        fs::metadata(&file).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 1);

    let said = |store: &GpgFile| read(store).unwrap_err();
    let elsewhere = store(place.path(), &other, None);
    assert!(said(&elsewhere).what.contains("no secret key that opens"));
    for (recipient, says) in [
        (None, "has no recipient"),
        (
            Some("nobody@example.com"),
            "no secret key for the recipient",
        ),
        (Some("--version"), "no secret key for the recipient"),
    ] {
        let store = store(place.path(), &keys, recipient);
        let none = store.writable(&reference()).unwrap_err();
        assert!(none.what.contains(says), "{none}");
        assert_eq!(store.write(&reference(), &secret).unwrap_err(), none);
        assert_eq!(fs::read(&file).unwrap(), kept);
    }

    // Cut short, changed, empty, not encrypted, not of OpenPGP.
    let half = kept.get(..kept.len() - 20).unwrap().to_vec();
    let mut changed = kept.clone();
    *changed.last_mut().unwrap() ^= 1;
    keys.gpg(&[
        "--output",
        bare.to_str().unwrap(),
        "--store",
        keys.path().join("plain").to_str().unwrap(),
    ]);
    let stored = fs::read(&bare).unwrap();
    for (bytes, says) in [
        (half, "is damaged"),
        (changed, "is damaged"),
        (Vec::new(), "is not a file that gpg encrypted"),
        (stored, "is not a file that gpg encrypted"),
        (b"hunter2\n".to_vec(), "is not a file that gpg encrypted"),
    ] {
        fs::write(&file, bytes).unwrap();
        let none = said(&good).to_string();
        assert!(none.contains(says), "{none}");
        assert!(
            none.contains(FILE) && !none.contains("hunter2") && !none.contains("canary"),
            "{none}"
        );
    }
    for (text, says) in [("", "is empty"), ("two\nlines\n", "line breaks")] {
        keys.encrypt(text, &file);
        assert!(said(&good).what.contains(says), "{text:?}");
    }
    keys.encrypt("hunter2", &file);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o620)).unwrap();
    assert!(said(&good).what.contains("can be changed by other users"));
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o770)).unwrap();
    assert!(
        said(&good)
            .what
            .contains("other users can change the directory")
    );
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o700)).unwrap();
    fs::remove_file(&file).unwrap();
    fs::remove_file(&bare).unwrap();
    assert!(said(&good).what.contains("there is no file"));
}

#[test]
fn a_locked_key_is_told() {
    let keys = Keys::locked_by("canary-4711");
    // Nobody can be asked.
    fs::write(
        keys.path().join("gpg-agent.conf"),
        "pinentry-program /bin/false\n",
    )
    .unwrap();
    let place = private();
    keys.encrypt("hunter2", &place.path().join(FILE));
    keys.forget();
    let none = store(place.path(), &keys, None)
        .read(&reference())
        .unwrap_err();
    assert!(none.what.contains("locked by a passphrase"), "{none}");
}

#[test]
fn two_keys_of_one_name_are_told_apart() {
    let keys = Keys::new();
    keys.gpg(&[
        "--pinentry-mode",
        "loopback",
        "--passphrase",
        "",
        "--quick-generate-key",
        "Other <test@example.com>",
        "rsa2048",
        "encrypt,sign",
        "never",
    ]);
    let place = private();
    let none = store(place.path(), &keys, Some("test@example.com"));
    let none = none.writable(&reference()).unwrap_err();
    assert!(none.what.contains("several keys fit"), "{none}");
}

/// A program in the place of gpg.
fn instead(text: &str) -> (TempDir, GpgFile) {
    let home = private();
    script(&home.path().join("gpg"), text);
    let file = home.path().join(FILE);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "x").unwrap();
    let search = format!("{}:{SEARCH}", home.path().display());
    let store = GpgFile::new(
        home.path().to_owned(),
        None,
        None,
        Some(OsStr::new(&search)),
    );
    (home, store.unwrap())
}

#[test]
fn a_gpg_that_misbehaves_is_told_and_ended() {
    for (text, says) in [
        ("echo canary", "gpg could not decrypt"),
        ("echo canary >&2; exit 2", "it ended with status 2"),
        ("kill -9 $$", "it was ended by a signal"),
        ("yes canary", "gpg printed more than 64 kB"),
        ("yes canary >&2", "gpg printed more than 64 kB"),
        (
            "echo '[GNUPG:] DECRYPTION_OKAY' >&2; printf 'canary\\377'",
            "is not UTF-8",
        ),
        ("echo '[GNUPG:] DECRYPTION_OKAY' >&2", "is empty"),
    ] {
        let (_home, store) = instead(text);
        let said = store.read(&reference()).unwrap_err().to_string();
        assert!(
            said.contains(says) && !said.contains("canary"),
            "{text}: {said}"
        );
    }
    let (_home, mut store) = instead("sleep 600");
    store.gpg = store.gpg.within(Duration::from_millis(200));
    let none = store.read(&reference()).unwrap_err();
    assert!(
        none.is_timeout() && none.what.contains("gpg took more than"),
        "{none}"
    );
}

#[test]
fn what_is_missing_is_told_at_once() {
    let search = Some(OsStr::new(SEARCH));
    let none = GpgFile::new("/".into(), None, Some("/no/such/home".into()), search);
    assert!(none.unwrap_err().what.contains("there is no gnupghome"));
    let none = GpgFile::new("/".into(), None, None, Some(OsStr::new("/nowhere")));
    assert!(none.unwrap_err().what.contains("gpg"));
}
