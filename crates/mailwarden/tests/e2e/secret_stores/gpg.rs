//! A home of gpg's with a key of its own, for one test.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Its agent ends with it.
pub(super) struct Keys(TempDir);

impl Keys {
    /// Of `test@example.com`, without a passphrase.
    pub(super) fn new() -> Self {
        Self::locked_by("")
    }

    pub(super) fn locked_by(passphrase: &str) -> Self {
        // In a short place: the sockets of its agent have to fit into a name of 108 bytes.
        let home = tempfile::Builder::new().prefix("g").tempdir_in("/tmp");
        let keys = Self(home.unwrap());
        // Nobody can be asked.
        let agent = keys.path().join("gpg-agent.conf");
        std::fs::write(agent, "pinentry-program /bin/false\n").unwrap();
        let unlocked = ["--pinentry-mode", "loopback", "--passphrase", passphrase];
        let key = ["test@example.com", "rsa2048", "encrypt,sign", "never"];
        keys.gpg(&[&unlocked[..], &["--quick-generate-key"], &key].concat());
        keys.forget();
        keys
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn encrypt(&self, text: &str, into: &Path) {
        let plain = self.path().join("plain");
        std::fs::write(&plain, text).unwrap();
        let (plain, into) = (plain.to_str().unwrap(), into.to_str().unwrap());
        let whom = ["--trust-model", "always", "--recipient", "test@example.com"];
        self.gpg(&[&whom[..], &["--output", into, "--encrypt", plain]].concat());
    }

    fn gpg(&self, words: &[&str]) {
        let mut gpg = Command::new("gpg");
        gpg.args(["--batch", "--no-tty", "--quiet", "--yes", "--homedir"]);
        gpg.arg(self.path()).args(words).stdin(Stdio::null());
        let output = gpg.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    fn forget(&self) {
        let mut end = Command::new("gpgconf");
        end.arg("--homedir").arg(self.path());
        let _ = end
            .args(["--kill", "gpg-agent"])
            .stderr(Stdio::null())
            .status();
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.forget();
    }
}
