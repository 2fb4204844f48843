//! Every kind of secret store: it lets the program log in to a real server, and what is wrong with it is told with status 2.

mod failing;
mod gpg;
mod keyring;
mod leaving;
mod manual;
mod missing_secrets;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use testkit::Dovecot;

use crate::directory::{Directory, accounts};
use gpg::Keys;

/// What no output may hold.
const CANARY: &str = "canary-4711";

const TRUSTED: &str = "\
callers:
  - id: agent
    policy: some
    auth: { type: stdio_trusted }
";

/// A directory with this secret store, and one account at this port whose password is `secret://accounts/work/password`.
fn world(port: u16, store: &str) -> Directory {
    let directory = Directory::new(port, port);
    let text = accounts(&[("work", port)])
        .replace(
            "secret_store: { backend: file_dir, path: secrets }\n",
            store,
        )
        .replace("secret://password", "secret://accounts/work/password");
    directory.write("accounts.yaml", &text);
    directory.write("callers.yaml", TRUSTED);
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
    for name in [
        "secrets",
        "secrets/accounts",
        "secrets/accounts/work",
        "bin",
    ] {
        fs::create_dir_all(directory.path().join(name)).unwrap();
        mode(&directory, name, 0o700);
    }
    directory
}

fn mode(directory: &Directory, name: &str, mode: u32) {
    let path = directory.path().join(name);
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// Programs of the test's own come first.
fn with_programs(directory: &Directory) -> Command {
    let mut command = directory.program();
    let bin = directory.path().join("bin");
    command.env("PATH", format!("{}:/usr/bin:/bin", bin.display()));
    command
}

/// A program of the test's own. Another process writes it: a file that this one holds open for writing could not be run meanwhile.
fn script(directory: &Directory, name: &str, text: &str) {
    let path = directory.path().join("bin").join(name);
    let mut write = Command::new("sh");
    write.args([
        "-c",
        "printf '%s' \"$1\" > \"$2\" && chmod 700 \"$2\"",
        "sh",
    ]);
    let written = write.arg(format!("#!/bin/sh\n{text}\n")).arg(path).status();
    assert!(written.unwrap().success());
}

/// How it ended, and all that it printed. Places of this test's own are named alike each time.
fn run(mut command: Command, words: &[&str], here: &Path) -> (Option<i32>, String) {
    let output = command.args(words).stdin(Stdio::null()).output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    assert!(!said.contains(CANARY), "{said}");
    (
        output.status.code(),
        said.replace(&here.display().to_string(), "DIR"),
    )
}

/// The account is logged in to, whoever is asked for the password.
fn logs_in(directory: &Directory, command: impl Fn() -> Command) {
    let (code, said) = run(command(), &["check"], directory.path());
    assert_eq!(code, Some(0), "{said}");
    let (code, said) = run(command(), &["config", "check"], directory.path());
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn each_store_lets_the_program_log_in() {
    let server = Dovecot::start();
    let (keys, port) = (Keys::new(), server.port());
    for (store, begin) in [
        (
            "{ backend: file_dir, path: secrets }",
            (|directory, _| directory.secret("secrets/accounts/work/password", "secret\n"))
                as fn(&Directory, &Keys),
        ),
        ("{ backend: env_var }", |_, _| ()),
        (
            "{ backend: gpg_file, path: secrets, gnupghome: KEYS }",
            |directory, keys| {
                keys.encrypt(
                    "secret\n",
                    &directory.path().join("secrets/accounts/work/password.gpg"),
                );
            },
        ),
        ("{ backend: keyring }", |directory, _| {
            script(
                directory,
                "secret-tool",
                "[ \"$*\" = 'lookup service mailwarden username accounts/work/password' ] && printf secret",
            )
        }),
        (
            "{ backend: command, command: [keeper, '{ref}'] }",
            |directory, _| {
                script(
                    directory,
                    "keeper",
                    "[ \"$1\" = accounts/work/password ] && printf 'secret\\nurl: x\\n'",
                )
            },
        ),
    ] {
        let store = store.replace("KEYS", &keys.path().display().to_string());
        let directory = world(port, &format!("secret_store: {store}\n"));
        begin(&directory, &keys);
        let env = store.contains("env_var");
        logs_in(&directory, || {
            let mut command = with_programs(&directory);
            if env {
                command.env("IMAP_MCP_SECRET__ACCOUNTS__WORK__PASSWORD", "secret");
            }
            command
        });
    }
}

#[test]
fn variables_lead_to_files_and_programs() {
    let server = Dovecot::start();
    let directory = world(1, "");
    directory.secret("password", "secret\n");
    script(&directory, "keeper", "echo secret");
    let file = directory.path().join("password").display().to_string();
    for (name, value) in [
        ("PASS_FILE", file.as_str()),
        ("PASS_COMMAND", "keeper 'my mail'"),
    ] {
        let mut command = with_programs(&directory);
        command
            .env_remove("IMAP_MCP_CONFIG_DIR")
            .env("MAIL_IMAP_WORK_HOST", "127.0.0.1")
            .env("MAIL_IMAP_WORK_PORT", server.port().to_string())
            .env("MAIL_IMAP_WORK_SECURE", "false")
            .env("MAIL_IMAP_WORK_USER", "alice")
            .env(format!("MAIL_IMAP_WORK_{name}"), value);
        let (code, said) = run(command, &["check"], directory.path());
        assert_eq!(code, Some(0), "{name}: {said}");
    }
}
