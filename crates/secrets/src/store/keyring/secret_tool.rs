//! The Secret Service, by libsecret's `secret-tool`. Secrets travel by pipes only.

use std::ffi::OsStr;

use secrecy::{ExposeSecret as _, SecretString};

use super::SERVICE;
use crate::SecretRef;
use crate::store::program::{Ended, Input, Program, Stderr, how};
use crate::store::{NoSecret, text};

/// The keyring of whoever runs this program.
#[derive(PartialEq, Eq, Debug)]
pub struct Keyring {
    tool: Program,
}

impl Keyring {
    /// `search` is the value of `PATH`.
    pub fn new(search: Option<&OsStr>) -> Result<Self, NoSecret> {
        let tool = Program::find("secret-tool", search).map_err(|_| {
            NoSecret::new(
                "the program secret-tool, by which the keyring is asked, is not in PATH",
                "install it: it is in the package libsecret-tools or libsecret; or choose another backend",
            )
        })?;
        Ok(Self { tool })
    }

    pub(in crate::store) fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        let user = wanted.path();
        let words = ["lookup", "service", SERVICE, "username", &user];
        let ended = self.tool.run(&words, Input::Nothing, Stderr::Kept)?;
        match ended.status.success() {
            true => text::whole(&ended.stdout, "the entry of the keyring"),
            // QUIRK: it ends alike when there is no entry, when it is locked and nobody unlocks it, and when there is no
            // keyring; only then it says something.
            false if ended.stderr.is_empty() => Err(none_or_locked(&user)),
            false => Err(unasked(&ended)),
        }
    }

    pub(in crate::store) fn write(
        &self,
        which: &SecretRef,
        secret: &SecretString,
    ) -> Result<(), NoSecret> {
        text::line_of(secret)?;
        let user = which.path();
        let label = format!("--label={SERVICE}: {user}");
        let words = ["store", &label, "service", SERVICE, "username", &user];
        // Without a line end: all of it is kept.
        let secret = Input::Secret(secret.expose_secret().as_bytes());
        let ended = self.tool.run(&words, secret, Stderr::Kept)?;
        match ended.status.success() {
            true => Ok(()),
            false => Err(unasked(&ended)),
        }
    }
}

fn none_or_locked(user: &str) -> NoSecret {
    NoSecret::unclear(
        format!(
            "the keyring gives no entry with service {SERVICE} and username {user}: it has none, or it is locked"
        ),
        format!("unlock it, or, if there is none, {}", super::hint(user)),
    )
}

fn unasked(ended: &Ended) -> NoSecret {
    NoSecret::new(
        format!(
            "the keyring could not be asked: secret-tool {}",
            how(ended.status)
        ),
        "it needs a session bus (DBUS_SESSION_BUS_ADDRESS) with a keyring such as GNOME Keyring or KWallet that is unlocked",
    )
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::{SEARCH, reference, script};

    /// A keyring that does what the script says.
    fn with(text: &str) -> (tempfile::TempDir, Keyring) {
        let home = tempfile::tempdir().unwrap();
        script(&home.path().join("secret-tool"), text);
        let search = format!("{}:{SEARCH}", home.path().display());
        let keyring = Keyring::new(Some(OsStr::new(&search))).unwrap();
        (home, keyring)
    }

    #[test]
    fn an_entry_is_found_by_service_and_user() {
        let (_home, keyring) = with("printf 'pass for %s' \"$*\"");
        let read = keyring.read(&reference()).unwrap();
        assert_eq!(
            read.expose_secret(),
            "pass for lookup service mailwarden username accounts/work/password"
        );
    }

    #[test]
    fn each_failure_is_told_without_what_was_said() {
        for (text, says) in [
            (
                "exit 1",
                "gives no entry with service mailwarden and username accounts/work/password: it has none, or it is locked; unlock it, or, if there is none, add it: secret-tool store",
            ),
            (
                "echo canary >&2; exit 1",
                "could not be asked: secret-tool ended with status 1",
            ),
            ("printf 'canary\\nmore'", "line breaks"),
            ("exit 0", "is empty"),
        ] {
            let (_home, keyring) = with(text);
            let said = keyring.read(&reference()).unwrap_err().to_string();
            assert!(said.contains(says) && !said.contains("canary"), "{said}");
        }
        // Who is logged in and has a locked keyring is not told to log in.
        let (_home, keyring) = with("exit 1");
        let none = keyring.read(&reference()).unwrap_err();
        assert!(none.may_be_absent() && !none.is_absent());
        let said = Keyring::new(Some(OsStr::new("/nowhere")))
            .unwrap_err()
            .to_string();
        assert!(said.contains("secret-tool"), "{said}");
    }

    #[test]
    fn a_secret_is_kept_by_its_standard_input_alone() {
        let (home, keyring) = with("cat > \"${0%/*}/kept\"; echo \"$*\" > \"${0%/*}/words\"");
        let secret = SecretString::from("canary-4711");
        keyring.write(&reference(), &secret).unwrap();
        let kept = |name: &str| std::fs::read_to_string(home.path().join(name)).unwrap();
        assert_eq!(kept("kept"), "canary-4711");
        assert_eq!(
            kept("words"),
            "store --label=mailwarden: accounts/work/password service mailwarden username accounts/work/password\n"
        );
        let (_home, keyring) = with("cat > /dev/null; echo canary >&2; exit 1");
        let said = keyring
            .write(&reference(), &secret)
            .unwrap_err()
            .to_string();
        assert!(
            said.contains("could not be asked") && !said.contains("canary"),
            "{said}"
        );
    }
}
