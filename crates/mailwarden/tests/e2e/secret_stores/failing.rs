//! What is said when a secret cannot be had: one line with what to do, status 2, and nothing secret in it.

use std::fs;
use std::os::unix::fs::symlink;

use super::{CANARY, Keys, mode, run, script, with_programs, world};
use crate::directory::{CALLERS, Directory};

const FILES: &str = "secret_store: { backend: file_dir, path: secrets }\n";
const VARIABLES: &str = "secret_store: { backend: env_var }\n";
const KEYRING: &str = "secret_store: { backend: keyring }\n";
const PASSWORD: &str = "secrets/accounts/work/password";

/// What is wrong, the store, and how it is made so.
type Case<'a> = (&'a str, &'a str, &'a dyn Fn(&Directory));

/// Every line that is said of these, by `config check` and by who would serve.
fn told(cases: &[Case<'_>]) -> String {
    let mut all = String::new();
    for (name, store, make) in cases {
        let directory = world(1, store);
        make(&directory);
        let (code, said) = run(
            with_programs(&directory),
            &["config", "check"],
            directory.path(),
        );
        assert_eq!(code, Some(2), "{name}: {said}");
        let mut serve = with_programs(&directory);
        serve.env("IMAP_MCP_CALLER_ID", "agent");
        let (code, again) = run(serve, &["stdio"], directory.path());
        let line = said.lines().find(|line| line.starts_with("accounts.yaml:"));
        let line = line.unwrap_or_else(|| panic!("{name}: {said}"));
        // A reference or a store that is no good is a problem; a secret that is missing concerns
        // its account alone.
        match code {
            Some(2) => assert!(again.contains(line), "{name}: {again}"),
            _ => {
                let (place, what) = line.split_once(": ").unwrap();
                let wanted = format!("{place}: the account 'work' is unavailable: {what}");
                assert!(again.contains(&wanted), "{name}: {wanted} in {again}");
            }
        }
        all.push_str(&format!("## {name}\n{line}\n\n"));
    }
    all
}

fn secret(directory: &Directory) {
    directory.secret(PASSWORD, CANARY);
}

fn linked(directory: &Directory, from: &str, to: &str) {
    directory.secret("outside/work/password", CANARY);
    let from = directory.path().join(from);
    let _ = fs::remove_dir(&from);
    symlink(to, from).unwrap();
}

#[test]
fn files() {
    let open = |mask: u32| {
        move |directory: &Directory| {
            secret(directory);
            mode(directory, PASSWORD, mask);
        }
    };
    let wide = |name: &'static str, mask: u32| {
        move |directory: &Directory| {
            secret(directory);
            mode(directory, name, mask);
        }
    };
    let said = told(&[
        ("a file that the group may read", FILES, &open(0o640)),
        ("a file that all may read", FILES, &open(0o644)),
        ("a file that others may change", FILES, &open(0o602)),
        (
            "a store that the group may change",
            FILES,
            &wide("secrets", 0o770),
        ),
        (
            "a directory that all may change",
            FILES,
            &wide("secrets/accounts", 0o777),
        ),
        ("no file", FILES, &|_| ()),
        ("no store", &FILES.replace("secrets", "nowhere"), &|_| ()),
        ("a link that leads out", FILES, &|directory| {
            linked(directory, PASSWORD, "../../../outside/work/password");
        }),
        ("a whole path that leads out", FILES, &|directory| {
            let outside = directory.path().join("outside/work/password");
            linked(directory, PASSWORD, outside.to_str().unwrap());
        }),
        ("a directory that leads out", FILES, &|directory| {
            linked(directory, "secrets/accounts/work", "../../outside/work");
        }),
        ("a link to itself", FILES, &|directory| {
            linked(directory, PASSWORD, "password")
        }),
        ("a directory", FILES, &|directory| {
            fs::create_dir(directory.path().join(PASSWORD)).unwrap();
        }),
        ("a file on the way", FILES, &|directory| {
            fs::remove_dir(directory.path().join("secrets/accounts/work")).unwrap();
            directory.secret("secrets/accounts/work", CANARY);
        }),
        ("nothing in it", FILES, &|directory| {
            directory.secret(PASSWORD, "\n")
        }),
        ("two lines in it", FILES, &|directory| {
            directory.secret(PASSWORD, &format!("{CANARY}\n{CANARY}\n"));
        }),
        ("too much in it", FILES, &|directory| {
            directory.secret(PASSWORD, &CANARY.repeat(10_000));
        }),
        ("a reference that climbs", FILES, &|directory| {
            let file = directory.path().join("accounts.yaml");
            let text = fs::read_to_string(&file).unwrap();
            let climbs = text.replace("secret://accounts/work", "secret://../outside");
            fs::write(file, climbs).unwrap();
        }),
        ("no variable", VARIABLES, &|_| ()),
    ]);
    insta::assert_snapshot!(said);
}

#[test]
fn files_for_gpg() {
    let (keys, other) = (Keys::new(), Keys::new());
    let locked = Keys::locked_by(CANARY);
    let store = |keys: &Keys| {
        let home = keys.path().display();
        format!("secret_store: {{ backend: gpg_file, path: secrets, gnupghome: {home} }}\n")
    };
    let of = |keys: &Keys, directory: &Directory| {
        keys.encrypt(
            CANARY,
            &directory.path().join(PASSWORD).with_extension("gpg"),
        );
    };
    let file = "secrets/accounts/work/password.gpg";
    let said = told(&[
        ("no file", &store(&keys), &|_| ()),
        (
            "no such home",
            "secret_store: { backend: gpg_file, path: secrets, gnupghome: nowhere }\n",
            &|_| (),
        ),
        ("a key that is not there", &store(&other), &|directory| {
            of(&keys, directory)
        }),
        ("a key that is locked", &store(&locked), &|directory| {
            of(&locked, directory)
        }),
        (
            "a file that is not encrypted",
            &store(&keys),
            &|directory| directory.secret(file, CANARY),
        ),
        ("a file that is damaged", &store(&keys), &|directory| {
            of(&keys, directory);
            let path = directory.path().join(file);
            let mut bytes = fs::read(&path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            fs::write(path, bytes).unwrap();
        }),
        (
            "a file that others may change",
            &store(&keys),
            &|directory| {
                of(&keys, directory);
                mode(directory, file, 0o620);
            },
        ),
        (
            "a directory that others may change",
            &store(&keys),
            &|directory| {
                of(&keys, directory);
                mode(directory, "secrets/accounts/work", 0o770);
            },
        ),
        ("a gpg that fails", &store(&keys), &|directory| {
            of(&keys, directory);
            script(
                directory,
                "gpg",
                &format!("echo {CANARY}; echo {CANARY} >&2; exit 3"),
            );
        }),
        ("a gpg that says too much", &store(&keys), &|directory| {
            of(&keys, directory);
            script(directory, "gpg", &format!("yes {CANARY}"));
        }),
        ("a gpg that is killed", &store(&keys), &|directory| {
            of(&keys, directory);
            script(directory, "gpg", "kill -9 $$");
        }),
    ]);
    insta::assert_snapshot!(said);
}

#[test]
fn keyrings_and_programs() {
    let command =
        |words: &str| format!("secret_store: {{ backend: command, command: [{words}] }}\n");
    let shell = |script: &str| command(&format!("sh, -c, '{script}', '{{ref}}'"));
    let said = told(&[
        ("a keyring without an entry", KEYRING, &|directory| {
            script(directory, "secret-tool", "exit 1")
        }),
        ("a keyring that does not answer", KEYRING, &|directory| {
            script(
                directory,
                "secret-tool",
                &format!("echo {CANARY} >&2; exit 1"),
            );
        }),
        (
            "a program that is not there",
            &command("no-such-program, '{ref}'"),
            &|_| (),
        ),
        (
            "a program by half a path",
            &command("bin/keeper, '{ref}'"),
            &|_| (),
        ),
        (
            "a program that is told nothing",
            &command("sh, -c, echo x"),
            &|_| (),
        ),
        (
            "a program that fails",
            &shell(&format!("echo {CANARY}; exit 7")),
            &|_| (),
        ),
        ("a program that is killed", &shell("kill -9 $$"), &|_| ()),
        (
            "a program that prints nothing",
            &shell("echo x >&2"),
            &|_| (),
        ),
        (
            "a program whose first line is empty",
            &shell(&format!("echo; echo {CANARY}")),
            &|_| (),
        ),
        (
            "a program that prints no text",
            &shell(&format!("printf \"{CANARY}\\\\377\"")),
            &|_| (),
        ),
        (
            "a program that prints too much",
            &shell(&format!("yes {CANARY}")),
            &|_| (),
        ),
    ]);
    insta::assert_snapshot!(said);
}

/// Whoever has none of the programs is told which.
#[test]
fn programs_that_are_not_installed() {
    for (store, says) in [
        (
            "{ backend: gpg_file, path: secrets }",
            "the program gpg, which a gpg_file store needs, is not in PATH; install GnuPG",
        ),
        (
            "{ backend: keyring }",
            "the program secret-tool, by which the keyring is asked, is not in PATH; install it",
        ),
    ] {
        let directory = world(1, &format!("secret_store: {store}\n"));
        let mut command = directory.program();
        command.env("PATH", "/nowhere");
        let (code, said) = run(command, &["config", "check"], directory.path());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(says), "{said}");
    }
}

/// They wait for the same twenty seconds, all at once.
#[test]
fn programs_that_do_not_end_are_ended() {
    let hangs = |name: &'static str, store: &'static str| {
        move || {
            let directory = world(1, store);
            directory.secret("secrets/accounts/work/password.gpg", "x");
            script(&directory, name, "sleep 600");
            // Whose secrets would be waited for as long again, and are not.
            directory.write("callers.yaml", CALLERS);
            let (code, said) = run(
                with_programs(&directory),
                &["config", "check"],
                directory.path(),
            );
            assert_eq!(code, Some(2), "{said}");
            let says = format!("{name} took more than 20 seconds and was ended; run it by hand");
            assert!(said.contains(&says), "{said}");
            assert!(
                said.contains("1 problem;") && !said.contains("callers.yaml"),
                "{said}"
            );
        }
    };
    let variable = || {
        let directory = world(1, "");
        let mut command = directory.home.program();
        command
            .env("MAIL_IMAP_WORK_HOST", "imap.example.com")
            .env("MAIL_IMAP_WORK_USER", "anna")
            .env("MAIL_IMAP_WORK_PASS_COMMAND", "sh -c 'sleep 600'");
        let (code, said) = run(command, &["stdio"], directory.path());
        assert_eq!(code, Some(2), "{said}");
        let says = "MAIL_IMAP_WORK_PASS_COMMAND leads to no password: sh took more than 20 seconds";
        assert!(said.contains(says), "{said}");
    };
    std::thread::scope(|scope| {
        scope.spawn(hangs(
            "gpg",
            "secret_store: { backend: gpg_file, path: secrets }\n",
        ));
        scope.spawn(hangs("secret-tool", KEYRING));
        scope.spawn(hangs(
            "keeper",
            "secret_store: { backend: command, command: [keeper, '{ref}'] }\n",
        ));
        scope.spawn(variable);
    });
}

#[test]
fn passwords_of_variables() {
    let directory = world(1, "");
    directory.secret("open", CANARY);
    mode(&directory, "open", 0o644);
    let open = directory.path().join("open").display().to_string();
    let mut all = String::new();
    for set in [
        &[][..],
        &[("PASS", CANARY), ("PASS_FILE", open.as_str())],
        &[
            ("PASS_FILE", open.as_str()),
            ("PASS_COMMAND", "pass show mail"),
        ],
        &[("PASS_FILE", open.as_str())],
        &[("PASS_FILE", "/no/such/file")],
        &[("PASS_FILE", "password")],
        &[("PASS_COMMAND", "no-such-program mail")],
        &[("PASS_COMMAND", "sh -c 'echo canary-4711; exit 9'")],
        &[("PASS_COMMAND", "pass show mail | head -1")],
        &[("PASS_COMMAND", "echo 'canary-4711")],
    ] {
        for verb in ["stdio", "check"] {
            let mut command = directory.home.program();
            command
                .env("MAIL_IMAP_WORK_HOST", "imap.example.com")
                .env("MAIL_IMAP_WORK_USER", "anna");
            for (suffix, value) in set {
                command.env(format!("MAIL_IMAP_WORK_{suffix}"), value);
            }
            let (code, said) = run(command, &[verb], directory.path());
            assert_eq!(code, Some(2), "{set:?}: {said}");
            let at = said.find("MAIL_IMAP_WORK_");
            let line = at.and_then(|at| said.get(at..)?.lines().next());
            let line = line.unwrap_or_else(|| panic!("{set:?}: {said}"));
            if verb == "stdio" {
                all.push_str(line);
                all.push('\n');
            } else {
                assert!(all.ends_with(&format!("{line}\n")), "{said}");
            }
        }
    }
    insta::assert_snapshot!(all);
}
