//! A configuration directory, written for one test. What stands in it is the test's business.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::McpClient;

/// The password of every account.
pub(crate) const PASSWORD: &str = "secret";

/// A place for one, in memory where there is such a place: its log is synced for every call, and no test here is about that.
pub(crate) fn place() -> TempDir {
    let memory = Path::new("/dev/shm");
    match memory.is_dir() {
        true => tempfile::tempdir_in(memory).unwrap(),
        false => tempfile::tempdir().unwrap(),
    }
}

/// Writes the three kinds of files; JSON is YAML too.
pub(crate) fn write(dir: &Path, accounts: &[Value], callers: &[Value], policies: &[Value]) {
    fs::create_dir_all(dir.join("policies")).unwrap();
    let put = |name: &str, value: &Value| {
        fs::write(dir.join(name), format!("{value:#}\n")).unwrap();
    };
    put(
        "accounts.yaml",
        &json!({
            "accounts": accounts,
            "secret_store": { "backend": "env_var" },
            "audit": { "directory": dir.join("audit") },
        }),
    );
    put("callers.yaml", &json!({ "callers": callers }));
    for policy in policies {
        let name = policy["name"].as_str().unwrap();
        put(&format!("policies/{name}.yaml"), policy);
    }
}

/// Lets mail be changed: a ledger beside the configuration.
pub(crate) fn add_ledger(dir: &Path) {
    let file = dir.join("accounts.yaml");
    let mut accounts: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    accounts["wal"] = json!({ "path": dir.join("wal.db") });
    fs::write(file, format!("{accounts:#}\n")).unwrap();
}

/// An account of a server on this machine.
pub(crate) fn account(id: &str, user: &str, port: u16) -> Value {
    json!({
        "id": id, "host": "127.0.0.1", "port": port, "tls": "none",
        "auth": { "type": "password", "user": user, "secret_ref": "secret://accounts/password" },
    })
}

/// The program on this directory, before it is said who calls.
pub(crate) fn program(dir: &Path) -> Command {
    let mut command = crate::support::program();
    for name in ["IMAP_MCP_CALLER_ID", "IMAP_MCP_CALLER_TOKEN"] {
        command.env_remove(name);
    }
    command
        .env("IMAP_MCP_CONFIG_DIR", dir)
        .env("IMAP_MCP_SECRET__ACCOUNTS__PASSWORD", PASSWORD)
        .arg("stdio")
        .stdin(Stdio::piped());
    command
}

/// A client that is this caller.
pub(crate) fn client(dir: &Path, caller: &str) -> McpClient {
    let mut command = program(dir);
    command.env("IMAP_MCP_CALLER_ID", caller);
    let mut client = McpClient::spawn(command);
    client.initialize();
    client
}
