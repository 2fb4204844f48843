//! What each variable makes, and what is said of one that is wrong.

use gateway::Writes;
use sources::imap::{Login, Security, Settings};

use super::*;

fn read(pairs: &[(&str, &str)]) -> Result<Config, Problems> {
    from_environment(pairs.iter().map(|(n, v)| (n.into(), v.into())))
}

const GOOD: [(&str, &str); 3] = [
    ("MAIL_IMAP_DEFAULT_HOST", "imap.example.com"),
    ("MAIL_IMAP_DEFAULT_USER", "anna"),
    ("MAIL_IMAP_DEFAULT_PASS", "secret"),
];

fn with(more: &[(&str, &str)]) -> Result<Config, Problems> {
    let mut pairs: Vec<(&str, &str)> = GOOD.to_vec();
    for pair in more {
        pairs.retain(|(name, _)| *name != pair.0);
        pairs.push(*pair);
    }
    read(&pairs)
}

fn lines(read: Result<Config, Problems>) -> Vec<String> {
    let Problems(problems) = read.unwrap_err();
    problems.iter().map(ToString::to_string).collect()
}

fn imap(config: &Config) -> &Settings {
    match &config.accounts[0].store {
        Store::Imap(settings) => settings,
        _ => panic!("not imap"),
    }
}

#[test]
fn three_variables_make_an_account() {
    let config = read(&GOOD).unwrap();
    assert_eq!(config.accounts[0].id.as_str(), "default");
    let settings = imap(&config);
    assert_eq!(
        (settings.port, settings.security),
        (993, Security::Implicit)
    );
    assert_eq!(settings.max_connections, 4);
    assert_eq!(settings.timeouts.connect.as_millis(), 30_000);
    assert_eq!(settings.timeouts.greeting.as_millis(), 15_000);
    assert_eq!(settings.timeouts.socket.as_millis(), 300_000);
    assert!(!format!("{config:?}").contains("secret"));
}

#[test]
fn nothing_is_changed_unless_somebody_says_so() {
    for (set, alone, beside) in [
        (None, Writes::Gated, Writes::Allowed),
        (Some("false"), Writes::Gated, Writes::Gated),
        (Some("true"), Writes::Allowed, Writes::Allowed),
    ] {
        let set: Vec<_> = set
            .map(|value| ("MAIL_IMAP_WRITE_ENABLED", value))
            .into_iter()
            .collect();
        let changes = with(&set).unwrap().changes;
        assert_eq!((changes.writes, changes.deletes), (alone, Deletes::ToTrash));
        assert_eq!(changes.ledger, LedgerPlace::State);
        let set = set.iter().map(|(name, value)| (name.into(), value.into()));
        let (wide, problems) = beside_directory(set);
        assert_eq!(wide.gate.beside_directory(), beside);
        assert!(problems.is_empty());
    }
    let config = with(&[
        ("MAIL_IMAP_DELETE", "Expunge"),
        ("IMAP_MCP_APPEND_TIMEOUT", "7"),
    ]);
    let config = config.unwrap();
    assert_eq!(config.changes.deletes, Deletes::ForGood);
    assert_eq!(imap(&config).timeouts.append, Duration::from_secs(7));
}

#[test]
fn account_names_may_hold_underscores() {
    let config = read(&[
        ("MAIL_IMAP_MY_WORK_HOST", "localhost"),
        ("MAIL_IMAP_MY_WORK_USER", "u"),
        ("MAIL_IMAP_MY_WORK_PASS", "p"),
        ("MAIL_IMAP_MY_WORK_AUTHSERV_ID", "mx.example.com"),
        ("MAIL_MAILDIR_OLD_PATH", "/var/mail/x"),
    ])
    .unwrap();
    let ids: Vec<&str> = config.accounts.iter().map(|a| a.id.as_str()).collect();
    assert_eq!(ids, ["my_work", "old"]);
    assert_eq!(imap(&config).authserv_id.as_deref(), Some("mx.example.com"));
}

#[test]
fn ports_and_security() {
    for (more, want) in [
        (
            vec![("MAIL_IMAP_DEFAULT_SECURE", "starttls")],
            (143, Security::StartTls),
        ),
        (
            vec![
                ("MAIL_IMAP_DEFAULT_SECURE", "false"),
                ("MAIL_IMAP_DEFAULT_HOST", "127.0.0.9"),
            ],
            (143, Security::Plain),
        ),
        (
            vec![
                ("MAIL_IMAP_DEFAULT_SECURE", "false"),
                ("MAIL_IMAP_ALLOW_PLAINTEXT", "true"),
            ],
            (143, Security::Plain),
        ),
        (
            vec![("MAIL_IMAP_DEFAULT_PORT", "1993")],
            (1993, Security::Implicit),
        ),
    ] {
        let config = with(&more).unwrap();
        assert_eq!(
            (imap(&config).port, imap(&config).security),
            want,
            "{more:?}"
        );
    }
}

#[test]
fn every_wrong_value_is_one_line_that_names_its_variable() {
    for (name, value, says) in [
        ("MAIL_IMAP_DEFAULT_HOST", "", "is missing"),
        ("MAIL_IMAP_DEFAULT_HOST", "imaps://x", "without scheme"),
        (
            "MAIL_IMAP_DEFAULT_HOST",
            "imap.example.com:993",
            "without a port",
        ),
        ("MAIL_MAILDIR_OLD_PATH", "mail/here", "whole path"),
        (
            concat!("MAILWARDEN", "_LOGS"),
            "debug",
            "not a known variable",
        ),
        ("MAIL_IMAP_DEFAULT_USER", "a\nb", "control characters"),
        ("MAIL_IMAP_DEFAULT_PASS", "", "is missing"),
        ("MAIL_IMAP_DEFAULT_PORT", "0", "1 to 65535"),
        ("MAIL_IMAP_DEFAULT_PORT", "imaps", "1 to 65535"),
        (
            "MAIL_IMAP_DEFAULT_SECURE",
            "maybe",
            "true, starttls or false",
        ),
        ("MAIL_IMAP_DEFAULT_SECURE", "false", "in the clear"),
        ("MAIL_IMAP_DEFAULT_AUTHSERV_ID", "mx example", "one word"),
        ("MAIL_IMAP_DEFAULT_AUTHSERV_ID", "", "one word"),
        ("MAIL_IMAP_CONNECT_TIMEOUT_MS", "5", "100 to 3600000"),
        ("MAIL_IMAP_GREETING_TIMEOUT_MS", "-1", "100 to 3600000"),
        ("MAIL_IMAP_SOCKET_TIMEOUT_MS", "soon", "100 to 3600000"),
        ("MAIL_IMAP_SETTLE_TIMEOUT_MS", "1", "100 to 3600000"),
        ("MAIL_IMAP_MAX_CONNECTIONS", "17", "1 to 16"),
        ("MAIL_IMAP_WRITE_ENABLED", "perhaps", "true or false"),
        ("MAIL_IMAP_DELETE", "sometimes", "trash or expunge"),
        (
            concat!("IMAP_MCP", "_UNCERTAIN_TEXT"),
            "withhold",
            "is not a known variable",
        ),
        ("IMAP_MCP_APPEND_TIMEOUT", "0", "seconds from 1 to 3600"),
        ("IMAP_MCP_APPEND_TIMEOUT", "a while", "from 1 to 3600"),
        ("MAIL_IMAP_ALLOW_PLAINTEXT", "2", "true or false"),
        ("MAIL_IMAP_ERRORS", "json", "protocol or result"),
        ("MAILWARDEN_UNCERTAIN_TEXT", "hide", "show or withhold"),
        ("MAILWARDEN_TEXT", "xml", "readable or json"),
        ("MAIL_IMAP_CA_CERT_PATH", "/no/such/file", "cannot be read"),
        (
            "MAIL_IMAP_DEFAULT_PASSWORD",
            "x",
            "did you mean MAIL_IMAP_DEFAULT_PASS?",
        ),
        (
            "MAIL_IMAP_HOST",
            "x",
            "did you mean MAIL_IMAP_DEFAULT_HOST?",
        ),
        ("MAIL_IMAP_FOO", "x", "not a known variable"),
        ("MAIL_MAILDIR_OLD_PATH", "", "is empty"),
        ("MAIL_APPLE_MAC_PATH", "", "is empty"),
        ("MAIL_APPLE_MAC_PATH", "Library/Mail", "whole path"),
        ("MAIL_APPLE_MAC", "/tmp", "not a known variable"),
        ("MAIL_MAILDIR_OLD", "x", "MAIL_MAILDIR_<ACCOUNT>_PATH"),
    ] {
        let lines = lines(with(&[(name, value)]));
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(
            lines[0].starts_with(name) && lines[0].contains(says),
            "{lines:?}"
        );
        assert!(!lines[0].contains('\n'));
    }
}

#[test]
fn uncertain_text_is_shown_unless_it_is_withheld() {
    for (word, want) in [
        ("", mail::UncertainText::Show),
        ("show", mail::UncertainText::Show),
        (" Withhold", mail::UncertainText::Withhold),
    ] {
        let config = with(&[("MAILWARDEN_UNCERTAIN_TEXT", word)]).unwrap();
        assert_eq!(config.uncertain_text, want, "{word}");
    }
}

#[test]
fn all_problems_are_reported_at_once() {
    let lines = lines(with(&[
        ("MAIL_IMAP_DEFAULT_PORT", "x"),
        ("MAIL_IMAP_DEFAULT_SECURE", "y"),
        ("MAIL_IMAP_WORK_HOST", "h"),
        ("MAIL_IMAP_ERRORS", "z"),
    ]));
    assert_eq!(lines.len(), 5, "{lines:?}");
}

#[test]
fn no_account_is_a_problem_that_says_what_to_set() {
    let lines = lines(read(&[]));
    assert!(lines[0].contains("MAIL_IMAP_DEFAULT_HOST"));
}

#[test]
fn one_account_is_configured_once() {
    let lines = lines(with(&[("MAIL_MAILDIR_DEFAULT_PATH", "/x")]));
    assert!(lines[0].contains("twice"), "{lines:?}");
}

#[test]
fn every_variable_of_the_manual_is_known() {
    let manual = include_str!("../../../../../docs/config.md");
    let names: Vec<String> = manual
        .lines()
        .filter_map(|line| Some(line.strip_prefix("| `")?.split_once('`')?.0))
        .filter(|name| {
            let ours = [IMAP, MAILDIR, APPLE, OURS, GATEWAY];
            ours.iter().any(|prefix| name.starts_with(prefix))
        })
        .map(|name| name.replace("<ACCOUNT>", "WORK").replace("<PATH>", "A__B"))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        let (_, problems) = beside_directory([(name.clone().into(), "1".into())]);
        let alone = read(&[(&name, "1")]).err().unwrap_or_default();
        for problem in problems.iter().chain(&alone.0) {
            assert!(!problem.what.contains("not a known variable"), "{problem}");
        }
    }
}

/// Three variables of which the last says where the password is.
fn password(config: &Config) -> &secrecy::SecretString {
    match &imap(config).login {
        Login::Password(password) => password,
        Login::Tokens(..) => panic!("no password"),
    }
}

fn with_password(more: &[(&str, &str)]) -> Result<Config, Problems> {
    let mut pairs: Vec<(&str, &str)> = GOOD[..2].to_vec();
    pairs.push(("PATH", "/usr/bin:/bin"));
    pairs.extend(more);
    read(&pairs)
}

const PASS: &str = "MAIL_IMAP_DEFAULT_PASS";
const PASS_FILE: &str = "MAIL_IMAP_DEFAULT_PASS_FILE";
const PASS_COMMAND: &str = "MAIL_IMAP_DEFAULT_PASS_COMMAND";

#[cfg(unix)]
#[test]
fn a_password_is_taken_from_one_of_three_places() {
    use secrecy::ExposeSecret as _;
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("pass");
    std::fs::write(&file, "hunter2\n").unwrap();
    let private = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(&file, private).unwrap();
    let file = file.to_str().unwrap();
    for given in [
        &[(PASS, "hunter2")][..],
        &[(PASS_FILE, file)],
        &[(PASS_COMMAND, "printf 'hunter2\nlogin: anna'")],
        &[(PASS_COMMAND, "/bin/sh -c 'echo hunter2'")],
        // Empty is not set.
        &[(PASS, ""), (PASS_FILE, file)],
        &[(PASS_COMMAND, ""), (PASS_FILE, file)],
    ] {
        let config = with_password(given).unwrap();
        assert_eq!(password(&config).expose_secret(), "hunter2", "{given:?}");
        assert!(!format!("{config:?}").contains("hunter2"));
    }
}

#[cfg(unix)]
#[test]
fn each_mistake_about_a_password_is_one_line_without_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let home = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let open = file("open", "canary-4711", 0o644);
    let two = file("two", "canary-4711\ncanary-4711", 0o600);
    let here = home.path().join("directory");
    std::fs::create_dir(&here).unwrap();
    let here = here.to_str().unwrap().to_owned();
    for (given, name, says) in [
        (&[][..], PASS, "one of PASS, PASS_FILE and PASS_COMMAND"),
        (
            &[(PASS_FILE, "")],
            PASS,
            "one of PASS, PASS_FILE and PASS_COMMAND",
        ),
        (
            &[(PASS, "canary-4711"), (PASS_FILE, "/x")],
            PASS_FILE,
            "is set beside MAIL_IMAP_DEFAULT_PASS; keep one",
        ),
        (
            &[(PASS_FILE, "/x"), (PASS_COMMAND, "canary-4711")],
            PASS_COMMAND,
            "is set beside MAIL_IMAP_DEFAULT_PASS_FILE; keep one",
        ),
        (&[(PASS_FILE, "pass")], PASS_FILE, "whole path"),
        (
            &[(PASS_FILE, "/no/such")],
            PASS_FILE,
            "no password: there is no file /no/such",
        ),
        (
            &[(PASS_FILE, &open)],
            PASS_FILE,
            "can be read or changed by other users; run: chmod 600",
        ),
        (&[(PASS_FILE, &two)], PASS_FILE, "line breaks"),
        (&[(PASS_FILE, &here)], PASS_FILE, "not a regular file"),
        (
            &[(PASS_COMMAND, " ")],
            PASS_COMMAND,
            "no program in this command",
        ),
        (
            &[(PASS_COMMAND, "canary-4711")],
            PASS_COMMAND,
            "nothing in PATH",
        ),
        (
            &[(PASS_COMMAND, "echo canary-4711 | cat")],
            PASS_COMMAND,
            "unquoted |",
        ),
        (
            &[(PASS_COMMAND, "sh -c 'echo canary-4711; exit 3'")],
            PASS_COMMAND,
            "sh ended with status 3",
        ),
        (
            &[(PASS_COMMAND, "true")],
            PASS_COMMAND,
            "true printed nothing",
        ),
        (
            &[(PASS_COMMAND, "yes canary-4711")],
            PASS_COMMAND,
            "yes printed more than 64 kB",
        ),
    ] {
        let lines = lines(with_password(given));
        assert_eq!(lines.len(), 1, "{lines:?}");
        let line = &lines[0];
        assert!(line.starts_with(name) && line.contains(says), "{line}");
        assert!(!line.contains("canary") && !line.contains('\n'), "{line}");
    }
}
