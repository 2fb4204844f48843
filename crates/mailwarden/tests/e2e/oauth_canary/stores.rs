//! Secret stores of every kind for a test, with programs that write down how they were started. What is kept in them is the
//! test's business.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

pub(super) const PASSPHRASE: &str = "canary-passphrase-of-gpg";

/// Where secrets are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Backend {
    FileDir,
    EnvVar,
    GpgFile,
    Command,
    /// With a program in the place of `secret-tool`.
    Keyring,
}

/// A store, and the programs by which it is asked.
pub(super) struct Stores {
    backend: Backend,
    /// Programs, and what they wrote down. In a short place: sockets of gpg's agent lie in it.
    home: TempDir,
}

impl Stores {
    pub(super) fn new(backend: Backend) -> Self {
        let home = tempfile::Builder::new().prefix("oc").tempdir_in("/tmp");
        let stores = Self {
            backend,
            home: home.unwrap(),
        };
        for name in ["bin", "kept", "gnupg"] {
            fs::create_dir(stores.at(name)).unwrap();
            fs::set_permissions(stores.at(name), PermissionsExt::from_mode(0o700)).unwrap();
        }
        let kept = stores.at("kept").display().to_string();
        let path = std::env::var("PATH").unwrap();
        stores.script(
            "gpg",
            &format!("PATH='{path}'\nexport PATH\nexec gpg \"$@\""),
        );
        let place = format!("for last; do :; done\nfile={kept}/$(echo \"$last\" | tr / _)");
        let tool = format!(
            "{place}\ncase $1 in\nlookup) exec cat \"$file\" ;;\nstore) exec cat > \"$file\" ;;\nesac"
        );
        stores.script("secret-tool", &tool);
        stores.script("xdg-open", "exit 0");
        stores.script("read-secret", &format!("{place}\nexec cat \"$file\""));
        stores.script("keep-secret", &format!("{place}\nexec cat > \"$file\""));
        if backend == Backend::GpgFile {
            stores.make_key("");
        }
        stores
    }

    pub(super) fn is_writable(&self) -> bool {
        self.backend != Backend::EnvVar
    }

    /// For accounts.yaml.
    pub(super) fn yaml(&self) -> Value {
        match self.backend {
            Backend::FileDir => json!({ "backend": "file_dir", "path": self.at("kept") }),
            Backend::EnvVar => json!({ "backend": "env_var" }),
            Backend::GpgFile => json!({
                "backend": "gpg_file", "path": self.at("kept"), "gnupghome": self.at("gnupg"),
                "recipient": "test@example.com",
            }),
            Backend::Command => json!({
                "backend": "command", "command": [self.at("bin/read-secret"), "{ref}"],
                "store_command": [self.at("bin/keep-secret"), "{ref}"],
            }),
            Backend::Keyring => json!({ "backend": "keyring" }),
        }
    }

    /// Puts a secret there by hand; the variable that has to be set, where it is one.
    pub(super) fn put(&self, reference: &str, secret: &str) -> Option<(String, String)> {
        let flat = self.at("kept").join(reference.replace('/', "_"));
        match self.backend {
            Backend::FileDir => private(&self.at("kept").join(reference), secret),
            Backend::EnvVar => {
                let name = reference.to_uppercase().replace('/', "__");
                let name = format!("{}{name}", concat!("IMAP_MCP", "_SECRET__"));
                return Some((name, secret.to_owned()));
            }
            Backend::GpgFile => {
                let plain = self.at("plain");
                private(&plain, secret);
                let sealed = self.at("kept").join(format!("{reference}.gpg"));
                fs::create_dir_all(sealed.parent().unwrap()).unwrap();
                let always = ["--trust-model", "always", "--recipient", "test@example.com"];
                let (plain, sealed) = (plain.to_str().unwrap(), sealed.to_str().unwrap());
                self.gpg(&[&always[..], &["--output", sealed, "--encrypt", plain]].concat());
                fs::remove_file(plain).unwrap();
            }
            Backend::Command | Backend::Keyring => private(&flat, secret),
        }
        None
    }

    /// A program of this store's does something else from now on.
    pub(super) fn script(&self, name: &str, text: &str) {
        let path = self.at("bin").join(name);
        let children = self.at("children");
        let children = children.display();
        let head = "tr '\\0' '\\n' < /proc/$$/cmdline; tr '\\0' '\\n' < /proc/$$/environ";
        let text = format!("#!/bin/sh\n{{ {head}; }} >> {children}\n{text}\n");
        fs::write(&path, text).unwrap();
        fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
    }

    /// Another key takes the place of the one there is; nobody can be asked for its passphrase.
    pub(super) fn lock(&self) {
        self.forget();
        fs::remove_dir_all(self.at("gnupg")).unwrap();
        fs::create_dir(self.at("gnupg")).unwrap();
        fs::set_permissions(self.at("gnupg"), PermissionsExt::from_mode(0o700)).unwrap();
        self.make_key(PASSPHRASE);
    }

    /// Programs of the store come first.
    pub(super) fn search_path(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.at("bin").display())
    }

    /// How programs were started, and with which variables.
    pub(super) fn children(&self) -> Vec<u8> {
        fs::read(self.at("children")).unwrap_or_default()
    }

    fn make_key(&self, passphrase: &str) {
        let key = [
            "--quick-generate-key",
            "test@example.com",
            "rsa2048",
            "encrypt,sign",
            "never",
        ];
        let passphrase = ["--pinentry-mode", "loopback", "--passphrase", passphrase];
        self.gpg(&[&passphrase[..], &key].concat());
        self.forget();
    }

    fn gpg(&self, words: &[&str]) {
        let mut gpg = Command::new("gpg");
        gpg.args(["--batch", "--no-tty", "--quiet", "--yes", "--homedir"]);
        gpg.arg(self.at("gnupg")).args(words).stdin(Stdio::null());
        let output = gpg.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    /// The agent ends, and with it what it remembers.
    fn forget(&self) {
        let mut end = Command::new("gpgconf");
        end.arg("--homedir").arg(self.at("gnupg"));
        end.args(["--kill", "gpg-agent"]).stderr(Stdio::null());
        let _ = end.status();
    }

    fn at(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }
}

impl Drop for Stores {
    fn drop(&mut self) {
        if self.backend == Backend::GpgFile {
            self.forget();
        }
    }
}

fn private(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
}
