//! Where Cyrus is, and its configuration files for one scratch directory. Starts only the tool that adds users.

use crate::process::is_root;
use std::ffi::OsString;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Cyrus refuses to be root; this user owns nothing else.
pub(super) const NOBODY: u32 = 65_534;
const NOBODY_NAME: &str = "nobody";

/// Realm of the users, and the server's name.
const REALM: &str = "imap.test";

/// An unpacked Cyrus.
#[derive(Clone, Debug)]
pub(super) struct Prefix(PathBuf);

impl Prefix {
    /// At `MAILWARDEN_CYRUS_ROOT`, else where install.sh puts it; the error says what is missing.
    pub(super) fn find() -> Result<Self, String> {
        let root = match std::env::var_os("MAILWARDEN_CYRUS_ROOT") {
            Some(root) => PathBuf::from(root),
            None => workspace().join("target/testkit/cyrus"),
        };
        for program in [
            "usr/lib/cyrus/bin/master",
            "usr/lib/cyrus/bin/imapd",
            "usr/sbin/saslpasswd2",
        ] {
            if !root.join(program).is_file() {
                let root = root.display();
                return Err(format!(
                    "no Cyrus at {root} ({program} is missing): run crates/testkit/install.sh"
                ));
            }
        }
        if is_root() {
            for dir in root.ancestors() {
                let open = dir
                    .metadata()
                    .is_ok_and(|meta| meta.permissions().mode() & 0o001 != 0);
                if !open {
                    return Err(format!(
                        "user {NOBODY_NAME} cannot enter {}, where Cyrus is",
                        dir.display()
                    ));
                }
            }
        }
        Ok(Self(root))
    }

    /// A program of the prefix, with the libraries and SASL plugins unpacked beside it.
    pub(super) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.0.join(program));
        let libraries = ["usr/lib", "lib"]
            .iter()
            .flat_map(|dir| triplets(&self.0.join(dir)));
        command.env("LD_LIBRARY_PATH", join(libraries));
        let everywhere = [self.0.join("usr/lib"), PathBuf::from("/usr/lib")];
        let plugins = everywhere
            .iter()
            .flat_map(|dir| triplets(dir))
            .map(|dir| dir.join("sasl2"));
        command.env("SASL_PATH", join(plugins));
        command
    }
}

/// Writes imapd.conf and cyrus.conf and makes the directories they name.
pub(super) fn write(prefix: &Prefix, dir: &Path, [port, tls_port]: [u16; 2], extra: &str) {
    for name in [
        "lib",
        "lib/proc",
        "lib/db",
        "lib/socket",
        "lib/log",
        "lib/msg",
        "lib/sieve",
        "lib/tmp",
        "spool",
        "sock",
    ] {
        std::fs::create_dir(dir.join(name)).expect("make a directory for Cyrus");
    }
    put(&dir.join("imapd.conf"), &imapd_conf(dir, extra));
    put(
        &dir.join("cyrus.conf"),
        &cyrus_conf(&prefix.0.join("usr/lib/cyrus/bin"), dir, port, tls_port),
    );
}

/// Users and passwords go into a SASL database.
pub(super) fn add_users(prefix: &Prefix, dir: &Path, users: &[(String, String)]) {
    for (name, password) in users {
        let mut tool = prefix
            .command("usr/sbin/saslpasswd2")
            .args(["-c", "-p", "-u", REALM, "-f"])
            .arg(dir.join("sasldb2"))
            .arg(name)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("start saslpasswd2");
        let mut input = tool.stdin.take().expect("a piped stdin");
        input
            .write_all(password.as_bytes())
            .expect("hand over a password");
        drop(input);
        assert!(
            tool.wait().is_ok_and(|status| status.success()),
            "saslpasswd2 did not add {name}"
        );
    }
}

/// Everything in `dir` to the user the server runs as.
pub(super) fn give_away(dir: &Path) {
    if !is_root() {
        return;
    }
    chown(dir, Some(NOBODY), Some(NOBODY))
        .unwrap_or_else(|e| panic!("cannot chown {}: {e}", dir.display()));
    for entry in dir.read_dir().into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            give_away(&entry.path());
        } else {
            chown(entry.path(), Some(NOBODY), Some(NOBODY)).expect("chown a file");
        }
    }
}

fn imapd_conf(dir: &Path, extra: &str) -> String {
    let user = if is_root() {
        NOBODY_NAME.to_owned()
    } else {
        own_name()
    };
    let folders = "Drafts | Sent | Junk | Trash | Archive";
    let dir = dir.display();
    // autocreate_quota: 0 makes an INBOX at the first login, -1 would not.
    format!(
        "configdirectory: {dir}/lib
defaultpartition: default
partition-default: {dir}/spool
sievedir: {dir}/lib/sieve
cyrus_user: {user}
servername: {REALM}
unixhierarchysep: yes
virtdomains: no
altnamespace: yes
allowplaintext: yes
autocreate_quota: 0
autocreate_inbox_folders: {folders}
autocreate_subscribe_folders: {folders}
xlist-drafts: Drafts
xlist-sent: Sent
xlist-junk: Junk
xlist-trash: Trash
xlist-archive: Archive
specialusealways: 1
conversations: yes
imapidlepoll: 1
idlesocket: {dir}/sock/idle
notifysocket: {dir}/sock/notify
lmtpsocket: {dir}/sock/lmtp
sasl_mech_list: PLAIN LOGIN
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: {dir}/sasldb2
tls_server_cert: {dir}/server.pem
tls_server_key: {dir}/server.key
tls_client_ca_file: {dir}/ca.pem
maxlogins_per_user: 0
{extra}"
    )
}

fn cyrus_conf(programs: &Path, dir: &Path, port: u16, tls_port: u16) -> String {
    let (programs, config) = (programs.display(), dir.join("imapd.conf"));
    let config = config.display();
    format!(
        r#"START {{
  recover cmd="{programs}/ctl_cyrusdb -C {config} -r"
}}
SERVICES {{
  imap cmd="{programs}/imapd -C {config} -U 30" listen="127.0.0.1:{port}" prefork=0 maxchild=200
  imaps cmd="{programs}/imapd -C {config} -s -U 30" listen="127.0.0.1:{tls_port}" prefork=0 maxchild=200
}}
DAEMON {{
  idled cmd="{programs}/idled -C {config}"
}}
EVENTS {{
  checkpoint cmd="{programs}/ctl_cyrusdb -C {config} -c" period=30
}}
"#
    )
}

fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}

/// The directories of `dir` named after an architecture.
fn triplets(dir: &Path) -> Vec<PathBuf> {
    let entries = dir
        .read_dir()
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path());
    entries
        .filter(|path| path.to_string_lossy().contains("-linux-gnu"))
        .collect()
}

fn join(paths: impl Iterator<Item = PathBuf>) -> OsString {
    std::env::join_paths(paths).expect("no colon in library paths")
}

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("the workspace is two levels up")
        .to_owned()
}

fn own_name() -> String {
    let output = Command::new("id").arg("-un").output().expect("run id");
    String::from_utf8(output.stdout)
        .expect("id prints text")
        .trim()
        .to_owned()
}
