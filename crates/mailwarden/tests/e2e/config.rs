//! `mailwarden config`: a directory is begun, checked and refused.

use std::fs;
use std::path::Path;
use std::process::{Output, Stdio};

use serde_json::json;

use crate::directory::{Directory, accounts};
use crate::support::{Account, client_with, program};

fn run(arguments: &[&str], set: &[(&str, &str)]) -> Output {
    let mut command = program();
    command.args(arguments).envs(set.iter().copied());
    command.stdin(Stdio::null()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The example, written by the program itself.
fn begun(dir: &Path) -> String {
    let place = dir.join("config").display().to_string();
    let output = run(&["config", "init", &place], &[]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    place
}

#[test]
fn the_example_passes_the_check_in_each_way_to_name_it() {
    let dir = tempfile::tempdir().unwrap();
    let place = begun(dir.path());
    for (arguments, set) in [
        (vec!["config", "check", &place], vec![]),
        (vec!["config", "check", "--config-dir", &place], vec![]),
        (vec!["--config-dir", &place, "config", "check"], vec![]),
        (
            vec!["config", "check"],
            vec![("IMAP_MCP_CONFIG_DIR", place.as_str())],
        ),
    ] {
        let output = run(&arguments, &set);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        for wanted in [
            "2 accounts, 2 callers, 2 policies",
            "warning: accounts.yaml:16:19: the password is still the placeholder",
            "account company-mail (imap-standard): you@example.com at imap.example.com:993",
            "caller invoice-agent (shared_token): policy invoices, up to FULL in 1 account",
        ] {
            assert!(said.contains(wanted), "{wanted} in {said}");
        }
    }
    let again = run(&["config", "init", &place], &[]);
    assert_eq!(again.status.code(), Some(1));
    assert!(text(&again.stderr).contains("nothing is overwritten"));
}

#[test]
fn a_wrong_directory_is_told_line_by_line_with_status_two() {
    let dir = tempfile::tempdir().unwrap();
    let place = begun(dir.path());
    let file = Path::new(&place).join("accounts.yaml");
    let good = fs::read_to_string(&file).unwrap();
    let bad = good.replace("port: 993", "prot: 993").replace(
        "secret_ref: secret://accounts/company-mail/password",
        "password: hunter2",
    );
    fs::write(&file, bad).unwrap();
    let output = run(&["config", "check", &place], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let said = text(&output.stderr);
    assert!(
        said.contains("accounts.yaml:12:5: unknown key 'prot' in an account; did you mean 'port'?"),
        "{said}"
    );
    assert!(
        said.contains("'password' would put a secret into this file"),
        "{said}"
    );
    assert!(said.contains("3 problems"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn the_check_says_who_the_environment_is() {
    let dir = tempfile::tempdir().unwrap();
    let place = begun(dir.path());
    let token = fs::read_to_string(Path::new(&place).join("secrets/callers/invoice-agent/token"));
    let token = token.unwrap().trim().to_owned();
    let (id, shown) = ("IMAP_MCP_CALLER_ID", "IMAP_MCP_CALLER_TOKEN");
    for (set, code, wanted) in [
        (vec![(id, "overview-bot")], 0, "is the caller overview-bot"),
        (
            vec![(shown, token.as_str())],
            0,
            "is the caller invoice-agent",
        ),
        (
            vec![(id, "invoice-agent")],
            2,
            "IMAP_MCP_CALLER_TOKEN is not set",
        ),
        (
            vec![(id, "invoice-agent"), (shown, "wrong")],
            2,
            "IMAP_MCP_CALLER_TOKEN is not the token",
        ),
        (
            vec![(id, "nobody")],
            2,
            "IMAP_MCP_CALLER_ID names no caller",
        ),
    ] {
        let output = run(&["config", "check", &place], &set);
        let said = text(&output.stdout) + &text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(wanted) && !said.contains(&token), "{said}");
    }
}

/// What `mailwarden http` would refuse is known before it is started.
#[test]
fn the_check_knows_what_cannot_be_served_over_http() {
    let dir = tempfile::tempdir().unwrap();
    let place = begun(dir.path());
    let check = |more: &[&str], set: &[(&str, &str)]| {
        let output = run(&[&["config", "check", &place], more].concat(), set);
        let said = text(&output.stdout) + &text(&output.stderr);
        (output.status.code(), said)
    };
    let http = ["--transport", "http"];
    let (code, said) = check(&[], &[]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("`mailwarden http` refuses this, for 1 caller with stdio_trusted"),
        "{said}"
    );
    let (code, said) = check(&["--transport", "stdio"], &[]);
    assert_eq!((code, said.contains("mailwarden http")), (Some(0), false));
    let (code, said) = check(&http, &[]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("callers.yaml: the caller 'overview-bot' is stdio_trusted")
            && said.contains("type: shared_token")
            && !said.contains("ok, version"),
        "{said}"
    );
    // As it says, with what it says.
    let made = text(&run(&["config", "token"], &[]).stdout);
    let digest = made.split('"').nth(1).unwrap();
    let file = Path::new(&place).join("callers.yaml");
    let trusted = fs::read_to_string(&file).unwrap();
    let proven = format!("type: shared_token\n      tokens: [{{ sha256: \"{digest}\" }}]");
    fs::write(&file, trusted.replace("type: stdio_trusted", &proven)).unwrap();
    // Whom the environment names on stdio does not matter there.
    for set in [&[][..], &[("IMAP_MCP_CALLER_ID", "nobody")]] {
        let (code, said) = check(&http, set);
        assert_eq!(code, Some(0), "{said}");
        assert!(!said.contains("mailwarden http"), "{said}");
    }
}

#[test]
fn schemas_are_printed_and_written_alike() {
    let dir = tempfile::tempdir().unwrap();
    let place = begun(dir.path());
    for name in ["accounts", "callers", "policy"] {
        let output = run(&["config", "schema", name], &[]);
        let file = Path::new(&place).join(format!("schema/{name}.schema.json"));
        assert_eq!(text(&output.stdout), fs::read_to_string(file).unwrap());
        let schema: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(schema["additionalProperties"], false);
    }
}

/// Whoever names a caller wants a policy to hold. Without a directory there is none, and the owner may read everything.
#[test]
fn a_caller_without_a_directory_is_not_served_as_the_owner() {
    for name in ["IMAP_MCP_CALLER_ID", "IMAP_MCP_CALLER_TOKEN"] {
        let output = run(
            &["stdio"],
            &[
                ("MAIL_IMAP_DEFAULT_HOST", "imap.example.com"),
                ("MAIL_IMAP_DEFAULT_USER", "anna"),
                ("MAIL_IMAP_DEFAULT_PASS", "secret"),
                (name, "overview-bot"),
            ],
        );
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains("set IMAP_MCP_CONFIG_DIR too"));
    }
}

/// The variable chooses as `--toolsets` does, and starts nothing that it does not know.
#[test]
fn the_environment_chooses_the_tools() {
    // Nobody connects.
    let account = Account {
        port: 1,
        ..Account::default()
    };
    for (chosen, tool, other) in [
        ("gateway", "list_accounts", "imap_list_accounts"),
        ("imap", "imap_list_accounts", "list_accounts"),
    ] {
        let mut client = client_with(&account, &[("MAILWARDEN_TOOLSETS", chosen)]);
        let listed = client.request("tools/list", json!({})).unwrap();
        let tools = listed["tools"].as_array().unwrap();
        let has = |name: &str| tools.iter().any(|tool| tool["name"] == name);
        assert!(has(tool) && !has(other), "{chosen}: {listed}");
    }
    let output = run(&["stdio"], &[("MAILWARDEN_TOOLSETS", "everything")]);
    assert_eq!(output.status.code(), Some(2));
    let said = text(&output.stderr);
    assert!(said.contains("MAILWARDEN_TOOLSETS must be"), "{said}");
}

/// Wherever the configuration keeps its log, that is the one that is looked at.
#[test]
fn the_log_of_the_configuration_is_the_one_that_is_read() {
    let server = testkit::Dovecot::start();
    let directory = Directory::new(server.port(), server.port());
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
    let good = accounts(&[("work", server.port())]) + "audit: { directory: elsewhere }\n";
    directory.write("accounts.yaml", &good);
    let checked = directory.run(&["check"]);
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
    assert!(
        checked.stdout.contains("records, in DIR/elsewhere\n"),
        "{}",
        checked.stdout
    );
    let verified = directory.run(&["audit", "verify"]);
    assert_eq!(verified.code, 0, "{}", verified.stderr);
    assert!(!directory.home.audit().exists());

    // Also while something else is wrong with it.
    directory.write("accounts.yaml", &good.replace("tls: none", "tls: perhaps"));
    let queried = directory.run(&["audit", "query", "--tool", "imap_verify_account", "--json"]);
    assert_eq!(queried.code, 0, "{}", queried.stderr);
    assert_eq!(queried.stdout.lines().count(), 1, "{}", queried.stdout);

    directory.write("accounts.yaml", "audit: { directory: ~/elsewhere }\n");
    let lost = directory.run(&["audit", "verify"]);
    assert_eq!(lost.code, 1, "{}", lost.stdout);
    assert!(lost.stderr.contains("say so with --dir"), "{}", lost.stderr);
}

#[test]
fn a_refused_start_is_recorded_where_the_configuration_keeps_its_log() {
    let directory = Directory::new(1, 1);
    directory.policy("  work: 7\n");
    let good = accounts(&[("work", 1)]) + "audit: { directory: elsewhere }\n";
    directory.write("accounts.yaml", &good);
    for arguments in [&["stdio"][..], &["config", "reload"]] {
        let refused = directory.run(arguments);
        assert_eq!(refused.code, 2, "{}", refused.stdout);
    }
    let printed = directory.run(&["audit", "query", "--event", "config_refused", "--json"]);
    assert_eq!(printed.stdout.lines().count(), 2, "{}", printed.stdout);
    assert!(!directory.home.audit().exists());
}
