//! What is said of each mistake, and that nothing said holds a secret.

use std::fs;
use std::path::Path;

use super::*;
use crate::config::identity::{IdentityProblem, of_stdio};
use crate::config::{LedgerPlace, Provider, Store};
use sources::imap::Security;

mod mistakes;
mod schemas;
mod table;

/// Where the secrets of a [`World`] are. In two parts, as no variables of ours to be documented.
pub(super) const PASSWORD_VARIABLE: &str = concat!("IMAP_MCP", "_SECRET__ACCOUNTS__WORK__PASSWORD");
pub(super) const TOKEN_VARIABLE: &str =
    concat!("IMAP_MCP", "_SECRET__CALLERS__INVOICE_AGENT__TOKEN");

/// In every secret. No message may hold it.
pub(super) const CANARY: &str = "canary-4711";

pub(super) const ACCOUNTS: &str = "\
accounts:
  - id: work
    provider: imap-standard
    host: imap.example.com
    port: 993
    tls: implicit
    auth:
      type: password
      user: anna@example.com
      secret_ref: secret://accounts/work/password
  - id: old
    provider: maildir
    path: /tmp
secret_store:
  backend: env_var
audit:
  directory: /var/log/mail-audit
  hot_days: 90
  warm_days: 275
  delete_after_days: 365
wal:
  path: /var/lib/wal.db
errors: protocol
";

pub(super) const CALLERS: &str = "\
callers:
  - id: invoice-agent
    policy: invoices
    auth:
      type: shared_token
      token_secret_ref: secret://callers/invoice-agent/token
  - id: bot
    policy: overview
    auth:
      type: stdio_trusted
    toolsets: [gateway]
";

pub(super) const INVOICES: &str = "\
name: invoices
accounts:
  work:
    - path: INBOX
      mode: whitelist
      default: NONE
      mark_seen: true
      rules:
        - match: { from_domain: example.com }
          grant: FULL
        - match: { from: a@example.org, newer_than: 30d }
          grant: BODY
";

pub(super) const OVERVIEW: &str = "\
name: overview
accounts:
  old:
    - path: INBOX
      mode: blacklist
      default: ENVELOPE
      rules:
        - match: { subject_contains: private }
          cap: COUNT
";

/// A directory, and an environment beside it.
pub(super) struct World {
    dir: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl World {
    pub(super) fn new() -> Self {
        let world = Self {
            dir: tempfile::tempdir().unwrap(),
            variables: Vec::new(),
        };
        let world = world
            .file("accounts.yaml", ACCOUNTS)
            .file("callers.yaml", CALLERS)
            .file("policies/invoices.yaml", INVOICES)
            .file("policies/overview.yaml", OVERVIEW);
        let secret = |what: &str| format!("{CANARY}-{what}");
        world
            .set("PATH", "/usr/bin:/bin")
            .set(PASSWORD_VARIABLE, &secret("pass"))
            .set(TOKEN_VARIABLE, &secret("token"))
    }

    pub(super) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(super) fn file(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    pub(super) fn without(self, name: &str) -> Self {
        let path = self.path().join(name);
        match path.is_dir() {
            true => fs::remove_dir_all(path).unwrap(),
            false => fs::remove_file(path).unwrap(),
        }
        self
    }

    /// Puts `to` where `from` is, once.
    pub(super) fn edit(self, name: &str, from: &str, to: &str) -> Self {
        let text = fs::read_to_string(self.path().join(name)).unwrap();
        assert!(text.contains(from), "{name} has no {from:?}");
        self.file(name, text.replacen(from, to, 1))
    }

    pub(super) fn set(mut self, name: &str, value: &str) -> Self {
        self.variables.retain(|(known, _)| known != name);
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let pairs = self.variables.iter();
        pairs
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    pub(super) fn load(&self) -> Result<Loaded, Problems> {
        load(self.path(), self.variables())
    }

    pub(super) fn check(&self) -> Result<Loaded, Problems> {
        load_to_check(self.path(), self.variables())
    }

    /// What an operator sees. Paths of this test's own are named alike each time.
    pub(super) fn said(&self) -> String {
        let said = match self.check() {
            Ok(loaded) => format!("loads\n{}", loaded.warnings.join("\n")),
            Err(problems) => {
                for name in problems.variables() {
                    assert!(!name.contains(CANARY) && !name.contains('\n'), "{name}");
                }
                problems.to_string()
            }
        };
        assert!(!said.contains(CANARY), "a secret is told: {said}");
        let here = self.path().display().to_string();
        said.replace(&here, "DIR").trim_end().to_owned()
    }
}

#[test]
fn missing_secrets_leave_the_others_served() {
    let mut world = World::new();
    world
        .variables
        .retain(|(name, _)| name != PASSWORD_VARIABLE);
    world.variables.retain(|(name, _)| name != TOKEN_VARIABLE);
    let loaded = world.load().unwrap();
    let stores: Vec<&Store> = loaded.accounts.iter().map(|one| &one.store).collect();
    let [Store::Unavailable(_), Store::Maildir(_)] = stores.as_slice() else {
        panic!("{stores:?}");
    };
    let CallerAuth::SharedToken(tokens) = &loaded.callers[0].auth else {
        panic!("{:?}", loaded.callers[0]);
    };
    assert!(tokens.is_empty());
    assert!(matches!(loaded.callers[1].auth, CallerAuth::StdioTrusted));
    let [account, caller] = loaded.unavailable.as_slice() else {
        panic!("{:?}", loaded.unavailable);
    };
    assert!(
        account.contains("the account 'work' is unavailable"),
        "{account}"
    );
    assert!(caller.starts_with("callers.yaml:"), "{caller}");
    assert!(
        caller.contains("this caller's token is unavailable"),
        "{caller}"
    );
    // A check reports both as problems.
    let problems = load_to_check(world.path(), world.variables()).unwrap_err();
    assert_eq!(problems.0.len(), 2, "{problems}");
}

#[test]
fn a_whole_directory_is_read() {
    let loaded = World::new().load().unwrap();
    assert_eq!(loaded.warnings, Vec::<String>::new());
    let ids: Vec<&str> = loaded.accounts.iter().map(|a| a.id.as_str()).collect();
    assert_eq!(ids, ["work", "old"]);
    let Store::Imap(settings) = &loaded.accounts[0].store else {
        panic!("not imap");
    };
    assert_eq!(
        (settings.host.as_str(), settings.port, settings.security),
        ("imap.example.com", 993, Security::Implicit)
    );
    assert_eq!(settings.user, "anna@example.com");
    assert!(matches!(&loaded.accounts[1].store, Store::Maildir(path) if path == Path::new("/tmp")));
    assert_eq!(loaded.audit_directory, Some("/var/log/mail-audit".into()));
    let ledger = &loaded.changes.ledger;
    assert_eq!(*ledger, LedgerPlace::At("/var/lib/wal.db".into()));
    assert_eq!((loaded.callers.len(), loaded.policies.len()), (2, 2));
    assert_eq!(loaded.callers[0].policy.name(), "invoices");
    assert_eq!(loaded.callers[1].toolsets, Some(vec![Toolset::Gateway]));
    assert_eq!(loaded.version.len(), 12);
    assert!(!format!("{loaded:?}").contains(CANARY));
}

#[test]
fn the_toolsets_may_be_chosen_by_a_variable() {
    assert!(
        World::new()
            .set("MAILWARDEN_TOOLSETS", "gateway")
            .load()
            .is_ok()
    );
}

#[cfg(unix)]
#[test]
fn nobody_else_writes_what_decides() {
    use std::os::unix::fs::PermissionsExt as _;
    for (name, mode) in [
        (".", 0o777),
        ("policies", 0o777),
        ("callers.yaml", 0o666),
        ("policies/invoices.yaml", 0o602),
    ] {
        let world = World::new();
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(world.path().join(name), mode).unwrap();
        let said = world.said();
        assert!(
            said.contains("can be changed by every user"),
            "{name}: {said}"
        );
    }
}

#[test]
fn the_version_is_that_of_the_files() {
    let version = |world: World| world.load().unwrap().version;
    let same = version(World::new());
    assert_eq!(version(World::new()), same);
    assert_ne!(
        version(World::new().edit("callers.yaml", "[gateway]", "[imap]")),
        same
    );
    assert_ne!(
        version(World::new().edit("policies/overview.yaml", "COUNT", "NONE")),
        same
    );
}

#[test]
fn little_needs_to_be_said() {
    let world = World::new().file(
        "accounts.yaml",
        "accounts:\n  - id: work\n    auth: { type: password, secret_ref: secret://accounts/work/password }\n  - id: old\n    provider: maildir\n    path: mail\nsecret_store: { backend: env_var }\n",
    );
    let loaded = world.load().unwrap();
    let Store::Imap(settings) = &loaded.accounts[0].store else {
        panic!("not imap");
    };
    assert_eq!(
        (settings.host.as_str(), settings.port, settings.security),
        ("127.0.0.1", 143, Security::StartTls)
    );
    assert_eq!(
        (settings.user.as_str(), settings.max_connections),
        ("work", 4)
    );
    assert_eq!(loaded.audit, Keeping::default());
    assert_eq!(loaded.errors, ErrorStyle::Protocol);
    assert_eq!(loaded.changes.ledger, LedgerPlace::Nowhere);
    // Paths begin at the directory.
    let mail = world.path().join("mail");
    assert!(matches!(&loaded.accounts[1].store, Store::Maildir(path) if *path == mail));
}

#[test]
fn tls_follows_the_port_unless_said() {
    for (port, tls, want) in [
        ("port: 993", "", Security::Implicit),
        ("port: 1993", "", Security::Implicit),
        ("port: 143", "", Security::StartTls),
        ("port: 143", "tls: implicit", Security::Implicit),
        ("port: 993", "tls: starttls", Security::StartTls),
    ] {
        let world = World::new()
            .edit("accounts.yaml", "tls: implicit", tls)
            .edit("accounts.yaml", "port: 993", port);
        let loaded = world.load().unwrap();
        let Store::Imap(settings) = &loaded.accounts[0].store else {
            panic!("not imap");
        };
        assert_eq!(settings.security, want, "{port} {tls}");
    }
}

#[test]
fn providers_by_name() {
    for (from, to, provider) in [
        (
            "provider: imap-standard",
            "provider: google",
            Provider::Google,
        ),
        (
            "provider: imap-standard",
            "provider: google-mock",
            Provider::Google,
        ),
    ] {
        let loaded = World::new().edit("accounts.yaml", from, to).load().unwrap();
        let account = &loaded.accounts[0];
        assert_eq!(account.provider, provider);
        assert_eq!(loaded.warnings, [""; 0], "{to}");
    }
    let apple = World::new()
        .edit("accounts.yaml", "provider: maildir", "provider: apple-mail")
        .load()
        .unwrap();
    let Store::Apple(store) = &apple.accounts[1].store else {
        panic!("{:?}", apple.accounts[1].store);
    };
    assert_eq!(
        (store.path.as_path(), &store.account),
        (Path::new("/tmp"), &None)
    );
    assert_eq!(apple.warnings.len(), 0);
}

#[test]
fn variables_that_tune_hold_beside_a_directory() {
    let world = World::new()
        .set("MAIL_IMAP_MAX_CONNECTIONS", "7")
        .set("MAIL_IMAP_SOCKET_TIMEOUT_MS", "1000")
        .set("MAILWARDEN_AUDIT_CHECKPOINT_MINUTES", "5")
        .edit("accounts.yaml", "errors: protocol\n", "")
        .set("MAIL_IMAP_ERRORS", "result");
    let loaded = world.load().unwrap();
    let Store::Imap(settings) = &loaded.accounts[0].store else {
        panic!("not imap");
    };
    assert_eq!(settings.max_connections, 7);
    assert_eq!(settings.timeouts.socket.as_millis(), 1_000);
    assert_eq!(loaded.audit.checkpoint_every.as_secs(), 300);
    assert_eq!(loaded.errors, ErrorStyle::Result);
}

#[test]
fn the_text_block_is_chosen_by_file_or_variable() {
    let file = |word: &str| World::new().edit("accounts.yaml", "errors: protocol", word);
    for (world, want) in [
        (World::new(), TextStyle::Readable),
        (file("text: json"), TextStyle::Json),
        (file("text: readable"), TextStyle::Readable),
        (World::new().set("MAILWARDEN_TEXT", "json"), TextStyle::Json),
        (
            file("text: json").set("MAILWARDEN_TEXT", "json"),
            TextStyle::Json,
        ),
    ] {
        assert_eq!(world.load().unwrap().text, want);
    }
}

#[test]
fn uncertain_text_withheld_by_file_variable_or_policy() {
    use mail::UncertainText::{Show, Withhold};
    let read = |world: World| {
        let loaded = world.load().unwrap();
        let policy = loaded.callers[0].policy.uncertain_text();
        (loaded.uncertain_text, policy)
    };
    let file = |word: &str| {
        let errors = "errors: protocol\n";
        World::new().edit(
            "accounts.yaml",
            errors,
            &format!("{errors}uncertain_text: {word}\n"),
        )
    };
    let variable = |world: World, word: &str| world.set("MAILWARDEN_UNCERTAIN_TEXT", word);
    assert_eq!(read(World::new()), (Show, Show));
    assert_eq!(read(file("withhold")), (Withhold, Show));
    assert_eq!(read(variable(file("withhold"), "show")), (Withhold, Show));
    assert_eq!(read(variable(file("show"), "withhold")), (Withhold, Show));
    let policy = World::new().edit(
        "policies/invoices.yaml",
        "name: invoices\n",
        "name: invoices\nuncertain_text: withhold\n",
    );
    assert_eq!(read(policy), (Show, Withhold));
    assert!(file("maybe").load().is_err());
}

#[test]
fn empty_lists_allow_nobody_and_nothing() {
    let nobody = World::new()
        .file("callers.yaml", "callers: []\n")
        .load()
        .unwrap();
    assert!(nobody.callers.is_empty());
    assert!(nobody.warnings[0].contains("nobody is served"));
    let nothing = World::new()
        .file("policies/overview.yaml", "name: overview\naccounts: {}\n")
        .load()
        .unwrap();
    let policy = &nothing.callers[1].policy;
    assert_eq!(policy.accounts().count(), 0);
    assert!(!policy.is_owner());
}

#[test]
fn a_caller_without_tools_is_warned_of() {
    for (sets, said) in [
        ("[gateway]", &[][..]),
        ("[]", &["callers.yaml:11:15: no toolset is named"]),
        ("[gateway, threads]", &[]),
        ("[threads]", &[]),
    ] {
        let world = World::new().edit("callers.yaml", "[gateway]", sets);
        let warnings = world.load().unwrap().warnings;
        assert_eq!(warnings.len(), said.len(), "{sets}: {warnings:?}");
        for (warning, said) in warnings.iter().zip(said) {
            assert!(warning.starts_with(said), "{sets}: {warnings:?}");
        }
    }
}

#[test]
fn a_caller_on_stdio_is_who_it_proves_to_be() {
    let loaded = World::new().load().unwrap();
    let right = format!("{CANARY}-token");
    let right = right.as_str();
    let cut = right.strip_suffix('n').unwrap();
    for (id, token, want) in [
        (Some("bot"), None, Ok("bot")),
        (Some("invoice-agent"), Some(right), Ok("invoice-agent")),
        (None, Some(right), Ok("invoice-agent")),
        (Some("bot"), Some(""), Ok("bot")),
        (None, None, Err(IdentityProblem::Nobody)),
        (Some(""), None, Err(IdentityProblem::Nobody)),
        (Some("Bot"), None, Err(IdentityProblem::UnknownCaller)),
        (Some("owner"), None, Err(IdentityProblem::UnknownCaller)),
        (Some("bot "), None, Err(IdentityProblem::UnknownCaller)),
        (
            Some("nobody"),
            Some(right),
            Err(IdentityProblem::UnknownCaller),
        ),
        (Some("invoice-agent"), None, Err(IdentityProblem::NoToken)),
        (
            Some("invoice-agent"),
            Some("wrong"),
            Err(IdentityProblem::WrongToken),
        ),
        (
            Some("invoice-agent"),
            Some(cut),
            Err(IdentityProblem::WrongToken),
        ),
        (
            Some("bot"),
            Some(right),
            Err(IdentityProblem::NeedlessToken),
        ),
        (
            Some("bot"),
            Some("wrong"),
            Err(IdentityProblem::NeedlessToken),
        ),
        (None, Some("wrong"), Err(IdentityProblem::UnknownToken)),
        (None, Some("bot"), Err(IdentityProblem::UnknownToken)),
    ] {
        let set = [("IMAP_MCP_CALLER_ID", id), ("IMAP_MCP_CALLER_TOKEN", token)];
        let set = set
            .into_iter()
            .filter_map(|(name, value)| Some((name.into(), value?.into())));
        let got = of_stdio(&loaded.callers, set, jiff::Timestamp::now());
        let got = got.map(|shown| shown.caller.id.as_str());
        assert_eq!(got, want, "{id:?} {token:?}");
        if let Err(problem) = got {
            let said = Problems::from(problem).to_string();
            assert!(said.starts_with("IMAP_MCP_CALLER_"), "{said}");
            for hidden in ["bot", "invoice-agent", CANARY, "wrong"] {
                assert!(!said.contains(hidden), "{said}");
            }
        }
    }
}

#[test]
fn the_example_loads_as_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("new");
    let written = init(&place).unwrap();
    let loaded = load(&place, []).unwrap();
    assert_eq!((loaded.accounts.len(), loaded.callers.len()), (2, 2));
    assert_eq!(loaded.warnings.len(), 1, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].contains("placeholder"));
    // Twice is once: nothing is overwritten, and tokens differ.
    let before = fs::read(written.last().unwrap()).unwrap();
    assert!(init(&place).is_err());
    assert_eq!(fs::read(written.last().unwrap()).unwrap(), before);
    let other = init(&dir.path().join("other")).unwrap();
    assert_ne!(fs::read(other.last().unwrap()).unwrap(), before);
}
