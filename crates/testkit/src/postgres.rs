//! A private PostgreSQL on loopback, from the installed package (see install.sh), beside any system cluster and without touching it.
//!
//! The program's role may connect and create a schema, and nothing else: what works here works with least rights.

use crate::ports::{LOOPBACK, ReservedPort};
use crate::process::{ServerProcess, is_root, read_logs, scratch_dir};
use crate::tls::{Ca, Leaf};
use rustix::process::Signal;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tempfile::TempDir;

/// PostgreSQL refuses to be root; this user owns nothing else.
const NOBODY: u32 = 65_534;
const ROLE: &str = "warden";
/// With letters that have to be escaped in an address.
pub const PASSWORD: &str = "p@ss:w/rd%1";

/// A running server with one empty database; see [`Postgres::url`].
#[derive(Debug)]
pub struct Postgres {
    // Declared before the directory: the processes must be gone when it is removed.
    process: Option<ServerProcess>,
    bin: PathBuf,
    port: ReservedPort,
    databases: AtomicU32,
    ca: Option<Ca>,
    dir: TempDir,
}

/// Whether what is committed is on disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Commits {
    Durable,
    /// As far as the operating system: enough where nothing crashes.
    Fast,
}

impl Postgres {
    /// Durable: for tests that kill it.
    pub fn start_durable() -> Self {
        Self::build(Commits::Durable, None)
    }

    /// Fast: for tests of behaviour.
    pub fn start_fast() -> Self {
        Self::build(Commits::Fast, None)
    }

    /// Nobody gets in without TLS.
    pub fn start_with_tls(leaf: Leaf) -> Self {
        Self::build(Commits::Fast, Some(leaf))
    }

    /// Whether there is one to be started; if not, what is missing.
    pub fn available() -> Result<(), String> {
        find().map(drop)
    }

    pub fn port(&self) -> u16 {
        self.port.number()
    }

    /// Of the first database, without the password.
    pub fn url(&self) -> String {
        self.url_of("mail")
    }

    /// Another database, empty and of its own.
    pub fn new_database(&self) -> String {
        let name = format!("mail{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.make_database(&name);
        self.url_of(&name)
    }

    pub fn ca_path(&self) -> PathBuf {
        self.dir.path().join("ca.pem")
    }

    /// What it wrote to its log.
    pub fn log(&self) -> String {
        read_logs(self.dir.path(), &[])
    }

    /// As its superuser, in the database of this address: every row a line, its columns apart by `|`.
    pub fn query(&self, url: &str, sql: &str) -> String {
        let database = url.rsplit('/').next().unwrap_or_default();
        let database = database.split('?').next().unwrap_or_default();
        self.psql(database, sql)
    }

    /// Ends it at once, as a crash does: what was under way is undone when it starts again.
    pub fn kill(&mut self) {
        self.end(Signal::QUIT);
    }

    /// Ends it in order; connections are cut.
    pub fn stop(&mut self) {
        self.end(Signal::INT);
    }

    /// Starts it again: same port, same data.
    pub fn start(&mut self) {
        if self.process.is_none() {
            self.process = Some(self.launch());
        }
    }

    pub fn restart(&mut self) {
        self.stop();
        self.start();
    }

    /// Where its data are.
    pub fn directory(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    fn build(commits: Commits, leaf: Option<Leaf>) -> Self {
        let bin = find().unwrap_or_else(|missing| panic!("{missing}"));
        let dir = scratch_dir();
        let port = ReservedPort::on(&[LOOPBACK]);
        std::fs::write(dir.path().join("password"), PASSWORD).expect("write the password file");
        let ca = leaf.map(|leaf| {
            let ca = Ca::new();
            ca.write(dir.path(), leaf);
            ca
        });
        give_away(dir.path());
        let made = Self {
            process: None,
            bin,
            port,
            databases: AtomicU32::new(0),
            ca,
            dir,
        };
        made.init(commits);
        let mut made = made;
        made.start();
        made.psql(
            "postgres",
            &format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'"),
        );
        made.make_database("mail");
        made
    }

    fn init(&self, commits: Commits) {
        let data = self.directory();
        let mut init = self.command("initdb");
        init.arg("-D").arg(&data).args([
            "-U",
            "postgres",
            "--auth=scram-sha-256",
            "--no-sync",
            "-E",
            "UTF8",
            "--locale=C",
        ]);
        init.arg(format!("--pwfile={}/password", self.dir.path().display()));
        run(init);
        let mut settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = ''\nmax_connections = 100\n\
             shared_buffers = 32MB\nlog_line_prefix = '%m [%p] %q%a '\n",
            self.port()
        );
        if commits == Commits::Fast {
            settings += "fsync = off\nfull_page_writes = off\n";
        }
        if self.ca.is_some() {
            let dir = self.dir.path().display();
            settings += &format!(
                "ssl = on\nssl_cert_file = '{dir}/server.pem'\nssl_key_file = '{dir}/server.key'\n"
            );
            std::fs::write(
                data.join("pg_hba.conf"),
                "hostssl all all 127.0.0.1/32 scram-sha-256\n",
            )
            .expect("write pg_hba.conf");
        }
        let path = data.join("postgresql.conf");
        let given = std::fs::read_to_string(&path).expect("read postgresql.conf");
        std::fs::write(&path, given + &settings).expect("write postgresql.conf");
    }

    fn launch(&self) -> ServerProcess {
        let mut command = self.command("postgres");
        command.arg("-D").arg(self.directory());
        let mut process = ServerProcess::spawn(command, self.dir.path());
        let ready = || {
            let mut asks = Command::new(self.bin.join("pg_isready"));
            asks.args(["-q", "-h", "127.0.0.1", "-p", &self.port().to_string()]);
            asks.status().is_ok_and(|status| status.success())
        };
        process.await_ready(ready, || read_logs(self.dir.path(), &[]));
        process
    }

    fn end(&mut self, signal: Signal) {
        let Some(mut process) = self.process.take() else {
            return;
        };
        // QUIRK: its processes are groups of their own; only it can end them all.
        process.signal_leader(signal);
        let ended = process.await_exit(Duration::from_secs(30));
        assert!(ended.is_some(), "PostgreSQL does not end: {}", self.log());
    }

    fn make_database(&self, name: &str) {
        self.psql("postgres", &format!("CREATE DATABASE {name}"));
        self.psql(
            "postgres",
            &format!("GRANT CONNECT, CREATE ON DATABASE {name} TO {ROLE}"),
        );
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{}/{database}", self.port())
    }

    fn psql(&self, database: &str, sql: &str) -> String {
        let mut psql = Command::new(self.bin.join("psql"));
        psql.args(["-XqAt", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1"]);
        psql.args(["-p", &self.port().to_string(), "-U", "postgres"]);
        psql.args(["-d", database, "-c", sql])
            .env("PGPASSWORD", PASSWORD);
        run(psql)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command
            .env("HOME", self.dir.path())
            .current_dir(self.dir.path());
        if is_root() {
            command.uid(NOBODY).gid(NOBODY);
        }
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            process.signal_leader(Signal::QUIT);
            let _ = process.await_exit(Duration::from_secs(10));
        }
    }
}

fn run(mut command: Command) -> String {
    let out = command
        .output()
        .unwrap_or_else(|e| panic!("cannot start {command:?}: {e}"));
    assert!(
        out.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    String::from_utf8_lossy(&out.stdout).trim_end().to_owned()
}

/// The directory of its programs: `MAILWARDEN_POSTGRES`, else the newest that Debian has installed.
fn find() -> Result<PathBuf, String> {
    let fits = |dir: &PathBuf| {
        let programs = ["postgres", "initdb", "psql", "pg_isready"];
        programs.iter().all(|program| dir.join(program).is_file())
    };
    if let Some(given) = std::env::var_os("MAILWARDEN_POSTGRES").map(PathBuf::from) {
        return Some(given).filter(fits).ok_or_else(|| {
            "MAILWARDEN_POSTGRES names no directory with PostgreSQL's programs".to_owned()
        });
    }
    let versions = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten();
    let mut found: Vec<(u32, PathBuf)> = versions
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, bin)| fits(bin))
        .collect();
    found.sort();
    let newest = found.pop().map(|(_, bin)| bin);
    newest.ok_or_else(|| "no PostgreSQL here: run crates/testkit/install.sh".to_owned())
}

/// It keeps its data, and reads its key, as the user that it runs as.
fn give_away(dir: &Path) {
    let key = dir.join("server.key");
    if key.exists() {
        let private = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&key, private).expect("make the key private");
    }
    if is_root() {
        for entry in std::fs::read_dir(dir).expect("list the scratch directory") {
            let path = entry.expect("list the scratch directory").path();
            chown(path, Some(NOBODY), Some(NOBODY)).expect("give a file to nobody");
        }
        chown(dir, Some(NOBODY), Some(NOBODY)).expect("give the directory to nobody");
    }
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(dir, open).expect("let others see certificates");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_committed_is_there_after_a_kill_and_a_restart() {
        let mut server = Postgres::start_durable();
        let other = server.new_database();
        server.query(&other, "CREATE TABLE kept AS SELECT 42 AS answer");
        server.kill();
        server.start();
        assert_eq!(server.query(&other, "SELECT answer FROM kept"), "42");
        server.restart();
        assert_eq!(server.query(&other, "SELECT answer FROM kept"), "42");
        let mine = "SELECT has_database_privilege('warden', 'mail', 'CREATE'), rolsuper FROM pg_roles WHERE rolname = 'warden'";
        assert_eq!(server.query(&server.url(), mine), "t|f");
    }
}
