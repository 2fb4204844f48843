//! Programs that are asked for secrets: not to read a configuration alone, not twice at once, and not longer than we live.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::{run, script, with_programs, world};
use crate::directory::Directory;
use crate::support::{Look as _, start};

/// Two accounts by tokens, one by password, all of them told by `keeper`.
fn keepers() -> Directory {
    let directory = world(1, "");
    let account = |id: &str, kind: &str| {
        let mut auth =
            json!({ "type": kind, "user": "anna", "secret_ref": format!("secret://{id}") });
        if kind == "xoauth2" {
            auth["oauth_provider"] = json!("google");
            auth["oauth_client_id"] = json!("client");
        }
        json!({ "id": id, "host": "127.0.0.1", "port": 1, "tls": "none", "auth": auth })
    };
    let accounts = json!({
        "secret_store": {
            "backend": "command", "command": ["keeper", "{ref}"], "store_command": ["keeper", "{ref}"],
        },
        "accounts": [account("work", "password"), account("one", "xoauth2"), account("two", "xoauth2")],
    });
    directory.write("accounts.yaml", &accounts.to_string());
    let folder = "{ path: INBOX, mode: blacklist, default: FULL }";
    let policy = ["work", "one", "two"].map(|id| format!("  {id}:\n    - {folder}\n"));
    directory.policy(&policy.concat());
    directory
}

/// Who was asked for, in this order.
fn asked(directory: &Directory) -> Vec<String> {
    let asked = fs::read_to_string(directory.path().join("asked")).unwrap_or_default();
    asked.lines().map(str::to_owned).collect()
}

/// It tells passwords, and thinks for ever about tokens.
fn slow_keeper(directory: &Directory) {
    let dir = directory.path().display();
    script(
        directory,
        "keeper",
        &format!(
            "echo \"$1\" >> {dir}/asked\n[ \"$1\" = work ] && exec echo secret\n\
             sleep 600 & echo $! > {dir}/child.part; mv {dir}/child.part {dir}/child\nwait"
        ),
    );
}

#[test]
fn no_token_is_asked_for_to_read_a_configuration() {
    let directory = keepers();
    slow_keeper(&directory);
    let (code, said) = run(
        with_programs(&directory),
        &["config", "reload"],
        directory.path(),
    );
    // Nobody serves it, so nobody could be told.
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("nobody was told to read it"), "{said}");
    assert_eq!(asked(&directory), ["work"]);
}

#[test]
fn one_program_hangs_for_all_and_everybody_is_served() {
    let directory = keepers();
    slow_keeper(&directory);
    let mut command = with_programs(&directory);
    command.env("IMAP_MCP_CALLER_ID", "agent");
    let mut client = start(command);
    for _ in 0..20 {
        let listed = client.call("list_accounts", json!({}));
        assert_eq!(listed.data("/accounts").as_array().map(Vec::len), Some(3));
    }
    assert_eq!(asked(&directory), ["work", "one"]);
    let child = child(directory.path());
    // It goes on thinking when the client hangs up.
    client.close_stdin();
    assert!(client.wait_exit(Duration::from_secs(60)).is_some());
    until_gone(&child);
}

#[test]
fn whoever_ends_us_ends_the_programs_that_we_started() {
    for (words, signal, code) in [
        (&["config", "check"][..], "TERM", 143),
        (&["config", "check"], "INT", 130),
        (&["check"], "TERM", 143),
        (&["stdio"], "TERM", 143),
    ] {
        let directory = keepers();
        slow_keeper(&directory);
        let mut command = with_programs(&directory);
        command.args(words).env("IMAP_MCP_CALLER_ID", "agent");
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut program = command.spawn().unwrap();
        let child = child(directory.path());
        end(&program, signal);
        assert_eq!(
            program.wait().unwrap().code(),
            Some(code),
            "{words:?} {signal}"
        );
        until_gone(&child);
    }
}

fn end(program: &Child, signal: &str) {
    let mut kill = Command::new("kill");
    kill.args([format!("-{signal}"), program.id().to_string()]);
    assert!(kill.status().unwrap().success());
}

/// The process that a keeper waits for, once there is one.
fn child(directory: &Path) -> String {
    loop {
        match fs::read_to_string(directory.join("child")) {
            Ok(pid) => return pid.trim().to_owned(),
            Err(_) => std::thread::yield_now(),
        }
    }
}

/// Killed, and perhaps not yet waited for by whoever inherited it.
fn until_gone(pid: &str) {
    while let Ok(state) = fs::read_to_string(format!("/proc/{pid}/stat")) {
        if state.contains(") Z ") {
            break;
        }
        std::thread::yield_now();
    }
}

/// A keyring that may only be locked does not make whoever is logged in log in again.
#[test]
fn a_keyring_that_is_silent_may_be_locked() {
    let directory = world(1, "secret_store: { backend: keyring }\n");
    let path = directory.path().join("accounts.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let oauth = text.replace(
        "type: password",
        "type: xoauth2, oauth_provider: google, oauth_client_id: x",
    );
    fs::write(path, oauth).unwrap();
    script(&directory, "secret-tool", "exit 1");
    let (code, said) = run(
        with_programs(&directory),
        &["config", "check"],
        directory.path(),
    );
    assert_eq!(code, Some(0), "{said}");
    for part in [
        "nobody has logged in to this account yet, as far as can be told",
        "it has none, or it is locked",
    ] {
        assert!(said.contains(part), "{said}");
    }
}
