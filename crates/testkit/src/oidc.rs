//! A private OpenID Connect server (npm `oidc-provider`, see `oidc/` beside `src/`), gone without trace when dropped. It is
//! a real one; what is ours is that it fails on demand, and that the person at the browser is automatic.

mod browser;
mod control;
mod fault;
mod flow;

pub use browser::Page;
pub use control::{Device, Hold, Served};
pub use fault::{Endpoint, Fault, Point, Times};
pub use flow::{Granted, Pkce};

use crate::http::Http;
use crate::ports::{LOOPBACK, ReservedPort};
use crate::process::{ServerProcess, is_root, read_logs, scratch_dir};
use crate::tls::{Ca, Leaf};
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tempfile::TempDir;

/// The client of [`Oidc`] that has no secret.
pub const CLIENT: &str = "mailwarden";
/// The client that has one, as Google gives to desktop programs.
pub const SECRET_CLIENT: &str = "mailwarden-desktop";
pub const CLIENT_SECRET: &str = "not-much-of-a-secret";

/// A running server. The user is whom the login hint names, else `alice`; a user called `deny` refuses.
#[derive(Debug)]
pub struct Oidc {
    // Declared before the directory: the process must be gone when it is removed.
    process: ServerProcess,
    port: ReservedPort,
    ca: Option<Ca>,
    http: Http,
    audience: String,
    scopes: Vec<String>,
    holds: AtomicU64,
    dir: TempDir,
}

/// What becomes of a refresh token that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// It stays, and is given out again.
    Never,
    /// There is a new one, and the old one still works.
    Lenient,
    /// There is a new one. Using the old one again ends both, and the grant.
    Strict,
}

/// What may differ from test to test.
#[derive(Clone, Debug)]
pub struct Builder {
    rotation: Rotation,
    access_lifetime: Duration,
    audience: String,
    scopes: Vec<String>,
    leaf: Option<Leaf>,
}

impl Oidc {
    pub fn start() -> Self {
        Self::builder().start()
    }

    pub fn builder() -> Builder {
        let scopes = ["openid", "offline_access", "email", "mail", "mail.readonly"];
        Builder {
            rotation: Rotation::Strict,
            access_lifetime: Duration::from_secs(3600),
            audience: "imap.test".to_owned(),
            scopes: scopes.map(str::to_owned).to_vec(),
            leaf: None,
        }
    }

    /// What discovery begins with.
    pub fn issuer(&self) -> String {
        issuer(self.port(), self.ca.as_ref())
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// The audience of good tokens.
    pub fn audience(&self) -> &str {
        &self.audience
    }

    /// The trust anchor, where the server speaks TLS.
    pub fn ca_path(&self) -> Option<PathBuf> {
        self.ca.as_ref().map(|_| self.dir().join("ca.pem"))
    }

    /// Public keys as Dovecot looks for them.
    pub fn keys_dir(&self) -> PathBuf {
        self.dir().join("jwt")
    }

    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// What the server printed so far, for failure messages.
    pub fn log(&self) -> String {
        read_logs(self.dir(), &[])
    }

    /// A client that trusts this server.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Ends the server for good: what it gave out is forgotten.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Freezes the server: connections stay open and nothing answers.
    pub fn pause(&self) {
        self.process.pause();
    }

    pub fn resume(&self) {
        self.process.resume();
    }
}

impl Builder {
    #[must_use]
    pub fn rotation(mut self, rotation: Rotation) -> Self {
        self.rotation = rotation;
        self
    }

    /// How long access tokens live; [`Oidc::set_access_lifetime`] changes it later.
    #[must_use]
    pub fn access_lifetime(mut self, lifetime: Duration) -> Self {
        self.access_lifetime = lifetime;
        self
    }

    #[must_use]
    pub fn audience(mut self, audience: &str) -> Self {
        audience.clone_into(&mut self.audience);
        self
    }

    /// A scope that is known besides `openid`, `offline_access`, `email`, `mail` and `mail.readonly`; unknown ones are not
    /// granted.
    #[must_use]
    pub fn scope(mut self, scope: &str) -> Self {
        self.scopes.push(scope.to_owned());
        self
    }

    /// Speaks TLS with this certificate, signed by the server's own authority where it is signed by one.
    #[must_use]
    pub fn tls(mut self, leaf: Leaf) -> Self {
        self.leaf = Some(leaf);
        self
    }

    pub fn start(self) -> Oidc {
        let dir = scratch_dir();
        if is_root() {
            // Dovecot reads the keys as a user of its own.
            std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755))
                .expect("open the scratch directory");
        }
        let port = ReservedPort::on(&[LOOPBACK]);
        let ca = self.leaf.map(|leaf| {
            let ca = Ca::new();
            ca.write(dir.path(), leaf);
            ca
        });
        let modules = modules();
        let config = self.config(dir.path(), &modules, port.number());
        let file = dir.path().join("config.json");
        std::fs::write(&file, config.to_string()).expect("write the server's configuration");
        let mut command = Command::new(node(&modules));
        command.arg(scripts().join("server.mjs")).arg(file);
        let mut process = ServerProcess::spawn(command, dir.path());
        let log = || read_logs(dir.path(), &[]);
        process.await_ready(|| log().lines().any(|line| line == "ready"), log);
        let http = match &ca {
            Some(ca) => Http::trusting(ca.pem()),
            None => Http::plain(),
        };
        Oidc {
            process,
            port,
            ca,
            http,
            audience: self.audience,
            scopes: self.scopes,
            holds: AtomicU64::new(0),
            dir,
        }
    }

    fn config(&self, dir: &Path, modules: &Path, port: u16) -> Value {
        let tls = self.leaf.map(
            |_| json!({ "certificate": dir.join("server.pem"), "key": dir.join("server.key") }),
        );
        json!({
            "port": port,
            "issuer": issuer(port, self.leaf.as_ref()),
            "modules": modules,
            "keys": dir.join("jwt"),
            "scopes": self.scopes,
            "clients": [{ "id": CLIENT }, { "id": SECRET_CLIENT, "secret": CLIENT_SECRET }],
            "tls": tls,
            "settings": {
                "rotation": self.rotation.word(),
                "accessSeconds": self.access_lifetime.as_secs(),
                "audience": self.audience,
                "person": "alice",
                "interval": 1,
                "stillborn": false,
            },
        })
    }
}

impl Rotation {
    fn word(self) -> &'static str {
        match self {
            Rotation::Never => "never",
            Rotation::Lenient => "lenient",
            Rotation::Strict => "strict",
        }
    }
}

/// With TLS where there is anything to speak it with.
fn issuer<T>(port: u16, tls: Option<&T>) -> String {
    let scheme = if tls.is_some() { "https" } else { "http" };
    format!("{scheme}://{LOOPBACK}:{port}")
}

fn scripts() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/oidc"))
}

/// Where install.sh put the server's packages, or `MAILWARDEN_OIDC_ROOT`.
fn modules() -> PathBuf {
    let root = std::env::var_os("MAILWARDEN_OIDC_ROOT").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/testkit/oidc"),
        PathBuf::from,
    );
    assert!(
        root.join("node_modules/oidc-provider").is_dir(),
        "no OpenID Connect server at {}: run crates/testkit/install.sh",
        root.display()
    );
    root
}

/// The system's Node unless install.sh found it too old.
fn node(modules: &Path) -> PathBuf {
    let own = modules.join("node_modules/.bin/node");
    if own.is_file() { own } else { "node".into() }
}
