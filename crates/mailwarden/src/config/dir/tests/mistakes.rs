//! Each mistake is made alone, and what is said of it is kept in one snapshot.

use super::table::{A, C, I, MISTAKES, Mistake, O};
use super::*;

fn told(made: &[(&str, World)]) -> String {
    let told = made
        .iter()
        .map(|(name, world)| format!("## {name}\n{}\n", world.said()));
    told.collect::<Vec<String>>().join("\n")
}

#[test]
fn each_mistake_is_told_by_its_place_with_what_to_do() {
    let made: Vec<(&str, World)> = MISTAKES
        .iter()
        .map(|Mistake(name, file, from, to)| (*name, World::new().edit(file, from, to)))
        .collect();
    for (name, world) in &made {
        assert!(world.check().is_err(), "{name} is no mistake");
        assert!(world.said().contains(';'), "{name} has no hint");
    }
    insta::assert_snapshot!("mistakes", told(&made));
}

#[test]
fn files_that_are_missing_or_no_files() {
    let made = [
        ("no accounts", World::new().without(A)),
        ("no callers", World::new().without(C)),
        ("no policies", World::new().without("policies")),
        (
            "no file at all",
            World::new().without(A).without(C).without("policies"),
        ),
        ("an empty file", World::new().file(C, "")),
        ("a file of comments", World::new().file(A, "# nothing\n")),
        ("an empty policy", World::new().file(O, "\n")),
        (
            "not UTF-8",
            World::new().file(A, b"accounts:\n  - id: w\xf6rk\n"),
        ),
        ("too large", World::new().file(A, " ".repeat((1 << 20) + 1))),
        (
            "a directory in place of a file",
            World::new().without(A).file("accounts.yaml/x", ""),
        ),
        (
            "something else among policies",
            World::new().file("policies/README.md", "hello"),
        ),
        (
            "a list in place of a file",
            World::new().file(C, "- id: bot\n"),
        ),
        (
            "what editors leave",
            World::new()
                .file("policies/.x.yaml.swp", "x")
                .file("policies/overview.yaml~", "x"),
        ),
        (
            "a policy that nobody has",
            World::new().file("policies/spare.yml", "name: spare\naccounts: {}\n"),
        ),
    ];
    insta::assert_snapshot!("files", told(&made));
}

#[test]
fn variables_beside_a_directory() {
    let made = [
        (
            "accounts in both",
            World::new()
                .set("MAIL_IMAP_WORK_HOST", "imap.example.com")
                .set("MAIL_IMAP_WORK_PASS", CANARY)
                .set("MAIL_MAILDIR_OLD_PATH", "/tmp"),
        ),
        (
            "a timeout that is none",
            World::new().set("MAIL_IMAP_CONNECT_TIMEOUT_MS", "soon"),
        ),
        (
            "errors in both",
            World::new().set("MAIL_IMAP_ERRORS", "result"),
        ),
        (
            "text in both",
            World::new()
                .edit("accounts.yaml", "errors: protocol", "text: readable")
                .set("MAILWARDEN_TEXT", "json"),
        ),
        (
            "days in both",
            World::new().set("MAILWARDEN_AUDIT_HOT_DAYS", "7"),
        ),
        (
            "an unknown variable",
            World::new().set(concat!("IMAP_MCP", "_CALLERID"), "bot"),
        ),
        (
            "a token that is short",
            World::new().set(TOKEN_VARIABLE, "canary-4711"),
        ),
        ("an empty password", World::new().set(PASSWORD_VARIABLE, "")),
        (
            "a password of two lines",
            World::new().set(PASSWORD_VARIABLE, "canary-4711\ncanary-4711"),
        ),
    ];
    insta::assert_snapshot!("variables", told(&made));
}

#[test]
fn many_mistakes_are_told_at_once() {
    let world = World::new()
        .edit(A, "port: 993", "prot: 993")
        .edit(A, "tls: implicit", "tls: none")
        .edit(A, "hot_days: 90", "hot_days: many")
        .edit(C, "policy: overview", "policy: overvew")
        .edit(C, "id: bot", "id: owner")
        .edit(I, "grant: FULL", "grant: full")
        .edit(I, "30d", "30")
        .edit(O, "  old:", "  olt:")
        .edit(O, "cap: COUNT", "cap: FULL")
        .file("policies/notes.txt", "x")
        .set("MAIL_IMAP_ERRORS", "loud");
    let Problems(problems) = world.load().unwrap_err();
    assert_eq!(problems.len(), 11, "{}", world.said());
    insta::assert_snapshot!("many", world.said());
}

/// A torn file is one problem; what refers to it is not blamed for that.
#[test]
fn one_torn_file_makes_no_other_problem() {
    for file in [A, C, I, O] {
        let Problems(problems) = World::new().file(file, "a: [").load().unwrap_err();
        assert_eq!(problems.len(), 1, "{file}: {problems:?}");
    }
}

/// Whatever stands in a file, reading ends, and a tree that is refused says why.
#[test]
fn hostile_files_are_told_quickly() {
    for text in [
        "[".repeat(100_000),
        "{a: ".repeat(50_000),
        "- ".repeat(100_000),
        "&a ".repeat(10_000),
        format!("{}: x\n", "a".repeat(500_000)),
        "x: y\n".repeat(20_000),
        (0..20_000).map(|n| format!("k{n}: v\n")).collect(),
        "callers:\n".to_owned() + &"  - id: a\n".repeat(20_000),
        "\u{feff}callers: []\u{0}\u{1b}[31m".to_owned(),
        "callers: \"\u{202e}\\x1b[31m".to_owned(),
        "? : ? :".repeat(1_000),
        "|".repeat(1_000),
        "'".repeat(99_999),
    ] {
        let said = World::new().file(C, &text).said();
        assert!(said.len() < 100_000, "{}", said.len());
        assert!(
            !said.contains('\u{1b}') && !said.contains('\u{202e}'),
            "{said:?}"
        );
        assert!(said.starts_with("callers.yaml:"), "{said}");
    }
}

/// Words are lost, lines are moved, doubled and shifted: a secret that stands in a file is never told.
#[test]
fn a_secret_in_a_mangled_file_is_not_told() {
    // Numbers of no order that are the same each time.
    let mut state: u32 = 4_711;
    let mut next = |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % below.max(1)
    };
    for _ in 0..400 {
        let text = ACCOUNTS.replace("secret://accounts/work/password", CANARY);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for _ in 0..=next(3) {
            let at = next(lines.len());
            let line = lines[at].clone();
            match next(6) {
                0 => lines.insert(next(lines.len()), line),
                1 => lines.swap(at, at.saturating_sub(1)),
                2 => lines[at] = format!("  {line}"),
                3 => lines[at] = line.strip_prefix("  ").unwrap_or(&line).to_owned(),
                4 => {
                    let words: Vec<&str> = line.split_inclusive(' ').collect();
                    let lost = next(words.len());
                    let left = words.iter().enumerate().filter(|(index, _)| *index != lost);
                    let left: String = left.map(|(_, word)| *word).collect();
                    if !line.contains(CANARY) || left.contains(CANARY) {
                        lines[at] = left;
                    }
                }
                _ => {
                    let joined = lines
                        .get(at + 1)
                        .map(|after| format!("{line} {}", after.trim()));
                    if let Some(joined) = joined {
                        lines.splice(at..=at + 1, [joined]);
                    }
                }
            }
        }
        World::new().file(A, lines.join("\n")).said();
    }
}

#[cfg(unix)]
#[test]
fn files_of_secrets() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let store = |text: &[u8], mode: u32| {
        let world = World::new()
            .edit(A, "backend: env_var", "backend: file_dir\n  path: secrets")
            .file("secrets/accounts/work/password", text)
            .file("secrets/callers/invoice-agent/token", "canary-4711-token\n")
            .file("outside", "canary-4711");
        let set = |name: &str, mode| {
            let path = world.path().join(name);
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        set("secrets/accounts/work/password", mode);
        set("secrets/callers/invoice-agent/token", 0o600);
        set("outside", 0o600);
        for directory in ["", "/accounts", "/accounts/work", "/callers/invoice-agent"] {
            set(&format!("secrets{directory}"), 0o755);
        }
        world
    };
    let open = |directory: &str, mode: u32| {
        let world = store(b"canary-4711", 0o600);
        let mode = fs::Permissions::from_mode(mode);
        fs::set_permissions(world.path().join(directory), mode).unwrap();
        world
    };
    let linked = |to: &str| {
        let world = store(b"x", 0o600).without("secrets/accounts/work/password");
        symlink(to, world.path().join("secrets/accounts/work/password")).unwrap();
        world
    };
    for (text, want) in [("pa ss\n", "pa ss"), ("pass\r\n", "pass"), ("pass", "pass")] {
        use secrecy::ExposeSecret as _;
        use sources::imap::Login;
        let loaded = store(text.as_bytes(), 0o600).load().unwrap();
        let Store::Imap(settings) = &loaded.accounts[0].store else {
            panic!("not imap");
        };
        let Login::Password(password) = &settings.login else {
            panic!("no password");
        };
        assert_eq!(password.expose_secret(), want);
    }
    assert!(linked("../../callers/invoice-agent/token").load().is_ok());
    let directory = store(b"x", 0o600)
        .without("secrets/accounts/work/password")
        .file("secrets/accounts/work/password/x", "x");
    let made = [
        ("readable by a group", store(b"canary-4711", 0o640)),
        ("readable by all", store(b"canary-4711", 0o604)),
        ("writable by others", store(b"canary-4711", 0o602)),
        (
            "not there",
            store(b"x", 0o600).without("secrets/accounts/work/password"),
        ),
        ("a link that leads out", linked("../../../outside")),
        ("a link that leads nowhere", linked("nowhere")),
        ("a device", linked("/dev/zero")),
        ("a directory", directory),
        ("empty", store(b"", 0o600)),
        ("only a line end", store(b"\n", 0o600)),
        ("two lines", store(b"canary-4711\ncanary-4711\n", 0o600)),
        ("too large", store(&vec![b'x'; 70_000], 0o600)),
        ("not UTF-8", store(b"canary-4711\xff", 0o600)),
        ("a store that others can change", open("secrets", 0o775)),
        (
            "a directory that others can change",
            open("secrets/accounts", 0o757),
        ),
    ];
    insta::assert_snapshot!("secrets", told(&made));
}

#[cfg(unix)]
#[test]
fn secrets_of_other_programs() {
    use secrecy::ExposeSecret as _;
    let asked = |script: &str, more: &str| {
        let to = format!("backend: command\n  command: [sh, -c, '{script}', '{{ref}}']{more}");
        World::new().edit(A, "backend: env_var", &to)
    };
    // Whatever was asked for once is known: both accounts are of one secret, and the program counts.
    let world = asked("echo x >> asked; echo \"canary-4711 for $0\"", "").edit(
        A,
        "  - id: old\n    provider: maildir\n    path: /tmp\n",
        "  - id: old\n    auth: { type: password, secret_ref: secret://accounts/work/password }\n",
    );
    let counted = world.path().join("asked");
    let script = format!("echo x >> {}; echo", counted.display());
    let world = world.edit(A, "echo x >> asked; echo", &script);
    let loaded = world.load().unwrap();
    for account in &loaded.accounts {
        let Store::Imap(settings) = &account.store else {
            panic!("not imap");
        };
        let sources::imap::Login::Password(password) = &settings.login else {
            panic!("no password");
        };
        let password = password.expose_secret();
        assert_eq!(password, "canary-4711 for accounts/work/password");
    }
    assert!(!format!("{loaded:?}").contains(CANARY));
    // And once for the token of the caller.
    assert_eq!(fs::read_to_string(&counted).unwrap(), "x\nx\n");
    // Who reads the directory for others need not be able to ask.
    let locked = asked("exit 1", "");
    assert!(locked.check().is_err());
    let version = version_without_secrets(locked.path(), locked.variables()).unwrap();
    assert_eq!(version.len(), 12);
    assert!(
        asked(
            "echo canary-4711-canary-4711",
            "\n  store_command: [sh, -c, cat, '{ref}']"
        )
        .load()
        .is_ok()
    );
}
