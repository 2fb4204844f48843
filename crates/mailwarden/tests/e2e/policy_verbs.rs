//! `mailwarden policy`: what its commands print over a real mailbox.

use serde_json::Value;
use testkit::{Dovecot, closed_port};

use crate::directory::{Directory, Printed, accounts, mailbox};

const POLICY: &str = "  work:
    - path: INBOX
      mode: whitelist
      default: NONE
      mark_seen: true
      rules:
        - match: { from_domain: example.com, has_attachment: true }
          grant: FULL
        - match: { from_domain: example.com }
          grant: ENVELOPE
        - match: { subject_contains: invoice, newer_than: 1000w }
          grant: METADATA
    - path: Invoices
      mode: blacklist
      default: BODY
      rules:
        - match: { from: doctor@clinic.example }
          cap: NONE
        - match: { to_contains: team }
          cap: COUNT
    - { path: Nowhere, mode: whitelist, default: NONE, accept_incoming: true }
";

/// What an author might make of it.
const NEXT: &str = "  work:
    - path: INBOX
      mode: blacklist
      default: ENVELOPE
      move_out: true
      rules:
        - match: { from_domain: example.com }
          cap: COUNT
  home:
    - { path: Invoices, mode: blacklist, default: COUNT }
";

fn served() -> (Dovecot, Directory) {
    let server = mailbox();
    let directory = Directory::new(server.port(), server.port());
    directory.policy(POLICY);
    (server, directory)
}

/// All that a person would see.
fn shown(printed: &Printed) -> String {
    format!(
        "{}{}exit {}",
        printed.stdout,
        printed.stderr.replace('\n', "\n! "),
        printed.code
    )
}

fn explain(directory: &Directory, more: &[&str]) -> Printed {
    let mut arguments = vec!["policy", "explain", "--caller", "agent"];
    arguments.extend(more);
    directory.run(&arguments)
}

fn json(printed: &Printed) -> Value {
    let parsed = serde_json::from_str(&printed.stdout);
    parsed.unwrap_or_else(|error| panic!("{error}: {} {}", printed.stdout, printed.stderr))
}

#[test]
fn explain_tells_what_a_folder_gives() {
    let (_server, directory) = served();
    let mut all = String::new();
    for (account, folder) in [
        ("work", "INBOX"),
        ("work", "Invoices"),
        ("work", "Nowhere"),
        ("work", "Drafts"),
        ("home", "INBOX"),
        ("away", "INBOX"),
    ] {
        let printed = explain(&directory, &["--account", account, "--folder", folder]);
        all.push_str(&format!("# {account} {folder}\n{}\n", shown(&printed)));
    }
    let nobody = [
        "policy",
        "explain",
        "--caller",
        "nobody",
        "--account",
        "work",
        "--folder",
        "INBOX",
    ];
    all.push_str(&format!("# nobody\n{}\n", shown(&directory.run(&nobody))));
    insta::assert_snapshot!("explain_folder", all);
    let told = json(&explain(
        &directory,
        &["--account", "work", "--folder", "INBOX", "--json"],
    ));
    insta::assert_json_snapshot!("explain_folder_json", told);
    // No mail was looked at, so nothing is recorded.
    assert!(!directory.home.state().exists());
}

#[test]
fn explain_tells_which_rule_decides_of_a_message() {
    let (_server, directory) = served();
    let mut all = String::new();
    for (folder, uid) in [
        ("INBOX", "1"),
        ("INBOX", "2"),
        ("INBOX", "3"),
        ("INBOX", "4"),
        ("INBOX", "5"),
        ("Invoices", "1"),
        ("Invoices", "9"),
        ("Drafts", "1"),
        ("Nowhere", "1"),
    ] {
        let printed = explain(
            &directory,
            &["--account", "work", "--folder", folder, "--uid", uid],
        );
        all.push_str(&format!("# {folder} {uid}\n{}\n", shown(&printed)));
    }
    assert!(
        !all.contains('\u{1b}') && !all.contains('\u{202e}'),
        "{all}"
    );
    insta::assert_snapshot!("explain_message", all);
    let wanted = [
        "--account",
        "work",
        "--folder",
        "INBOX",
        "--uid",
        "5",
        "--json",
    ];
    insta::assert_json_snapshot!("explain_message_json", json(&explain(&directory, &wanted)));
}

#[test]
fn what_the_operator_looks_at_is_recorded_like_any_call() {
    let (_server, directory) = served();
    explain(
        &directory,
        &["--account", "work", "--folder", "INBOX", "--uid", "3"],
    );
    let record = directory.home.only("call", |_| true);
    assert_eq!(record.text("caller_id"), "operator");
    assert_eq!(record.text("tool"), "policy_inspect");
    assert_eq!(record.text("decision"), "ALLOW");
    assert_eq!(record.text("level"), "ENVELOPE");
    assert_eq!(record.text("result"), "ok");
    assert_eq!(record.number("shown"), 1);
    let want = serde_json::json!({ "account": "work", "folder": "INBOX", "uid": 3 });
    assert_eq!(record.json["arguments"], want);
    let started = directory.home.only("start", |_| true);
    assert_eq!(started.text("verb"), "policy explain");
    for (path, bytes) in directory.home.files() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("results"), "{}", path.display());
    }
    directory.home.verify();
}

#[test]
fn without_a_record_the_operator_is_told_nothing() {
    let (_server, directory) = served();
    std::fs::create_dir_all(directory.home.state()).unwrap();
    // A log cannot be there where a file is.
    std::fs::write(directory.home.audit(), "").unwrap();
    let printed = explain(
        &directory,
        &["--account", "work", "--folder", "INBOX", "--uid", "3"],
    );
    assert_eq!((printed.code, printed.stdout.as_str()), (1, ""));
    assert!(
        printed.stderr.contains("audit unavailable"),
        "{}",
        printed.stderr
    );
}

fn simulate(directory: &Directory, more: &[&str]) -> Printed {
    let mut arguments = vec!["policy", "simulate", "--caller", "agent"];
    arguments.extend(more);
    directory.run(&arguments)
}

#[test]
fn simulate_counts_what_a_caller_would_see() {
    let (_server, directory) = served();
    let mut all = String::new();
    for more in [
        &[][..],
        &["--folder", "INBOX"],
        &["--account", "home"],
        &["--account", "away"],
    ] {
        let printed = simulate(&directory, more);
        all.push_str(&format!("# {}\n{}\n", more.join(" "), shown(&printed)));
    }
    insta::assert_snapshot!("simulate", all);
    let mut told = json(&simulate(&directory, &["--json"]));
    assert!(told["at"].take().is_string());
    insta::assert_json_snapshot!("simulate_json", told);
}

#[test]
fn simulate_of_a_folder_that_no_policy_names_is_an_error() {
    let (_server, directory) = served();
    for more in [
        &["--folder", "Typo"][..],
        &["--folder", "INBOX", "--account", "home"],
    ] {
        let printed = simulate(&directory, more);
        assert_eq!((printed.code, printed.stdout.as_str()), (1, ""), "{more:?}");
        let said = format!("the policy of 'agent' names no folder '{}' there", more[1]);
        assert!(printed.stderr.contains(&said), "{}", printed.stderr);
    }
    // One that only the server lacks is told of as missing.
    assert_eq!(simulate(&directory, &["--folder", "Nowhere"]).code, 0);
}

#[test]
fn simulate_agrees_with_what_the_caller_is_told() {
    let (_server, directory) = served();
    let told = json(&simulate(&directory, &["--json"]));
    let mut client = directory.client("agent");
    for folder in ["INBOX", "Invoices"] {
        let place = serde_json::json!({ "account_id": "work", "folder": folder });
        let stats = client.call("folder_stats", place).structured;
        let rows = told["folders"].as_array().unwrap();
        let row = rows.iter().find(|row| row["folder"] == folder).unwrap();
        assert_eq!(row["by_level"], stats["data"]["by_visibility"], "{folder}");
    }
}

#[test]
fn simulate_against_another_directory_tells_each_message_that_changes() {
    let (server, directory) = served();
    let next = Directory::new(server.port(), server.port());
    next.policy(NEXT);
    next.write(
        "callers.yaml",
        "callers:\n  - { id: agent, policy: some, auth: { type: stdio_trusted } }\n  \
         - { id: fresh, policy: some, auth: { type: stdio_trusted } }\n",
    );
    let place = next.path().display().to_string();
    let neutral = |printed: &Printed| shown(printed).replace(&place, "NEXT");
    let mut all = String::new();
    let compared = simulate(&directory, &["--against", &place]);
    all.push_str(&format!("# agent\n{}\n", neutral(&compared)));
    for caller in ["fresh", "other", "nobody"] {
        let printed = directory.run(&[
            "policy",
            "simulate",
            "--caller",
            caller,
            "--against",
            &place,
            "--folder",
            "INBOX",
        ]);
        all.push_str(&format!("# {caller}\n{}\n", neutral(&printed)));
    }
    insta::assert_snapshot!("simulate_against", all);
    let mut told = json(&simulate(&directory, &["--against", &place, "--json"]));
    assert_eq!(told["against"]["directory"].take(), place);
    insta::assert_json_snapshot!("simulate_against_json", told["against"]);

    next.policy("  work: [");
    let printed = simulate(&directory, &["--against", &place]);
    assert_eq!((printed.code, printed.stdout.as_str()), (2, ""));
    assert!(
        printed.stderr.contains("policies/some.yaml:"),
        "{}",
        printed.stderr
    );
}

#[test]
fn changes_are_bounded_for_people_and_whole_in_json() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", testkit::Mailgen::new(5).messages(130));
    let directory = Directory::new(server.port(), server.port());
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: FULL }\n");
    let next = Directory::new(server.port(), server.port());
    next.policy("  work:\n    - { path: INBOX, mode: blacklist, default: BODY }\n");
    let place = next.path().display().to_string();
    let printed = simulate(&directory, &["--against", &place]);
    assert!(
        printed
            .stdout
            .contains("… and 30 more; --json has them all\n")
    );
    assert!(
        printed
            .stdout
            .ends_with("0 more visible, 130 less visible, 0 the same\n")
    );
    assert!(
        printed
            .stdout
            .lines()
            .all(|line| line.chars().count() < 200)
    );
    let told = json(&simulate(&directory, &["--against", &place, "--json"]));
    assert_eq!(told["against"]["changes"].as_array().unwrap().len(), 130);
}

#[test]
fn what_cannot_be_looked_at_is_told_and_fails() {
    let server = mailbox();
    let closed = closed_port();
    let directory = Directory::new(server.port(), closed.number());
    let policy =
        format!("{POLICY}  home:\n    - {{ path: INBOX, mode: blacklist, default: FULL }}\n");
    directory.policy(&policy);
    let printed = simulate(&directory, &[]);
    assert_eq!(printed.code, 1);
    let said = &printed.stdout;
    assert!(
        said.contains("could not be looked at: home: internal error: nothing listens at"),
        "{said}"
    );
    assert!(said.contains("work     INBOX "), "{said}");
}

#[test]
fn lint_tells_what_is_worth_a_second_look() {
    let (server, directory) = served();
    let mut all = format!("# lint\n{}\n", shown(&directory.run(&["policy", "lint"])));
    let place = directory.path().display().to_string();
    let check = directory.run(&["config", "check"]);
    let hint = check.stdout.lines().last().unwrap();
    all.push_str(&format!("# config check\n{hint}\n"));
    let denied = directory.run(&["policy", "lint", &place, "--deny"]);
    all.push_str(&format!("# --deny\nexit {}\n", denied.code));
    insta::assert_snapshot!("lint", all);
    let told = json(&directory.run(&["policy", "lint", "--json"]));
    insta::assert_json_snapshot!("lint_json", told);

    // Nothing to warn of.
    directory.write("accounts.yaml", &accounts(&[("work", server.port())]));
    directory.policy("  work:\n    - { path: INBOX, mode: blacklist, default: ENVELOPE }\n");
    let printed = directory.run(&["policy", "lint", "--deny"]);
    assert_eq!(shown(&printed), "3 callers: 0 warnings, 0 hints\nexit 0");
    let check = directory.run(&["config", "check"]);
    assert!(!check.stdout.contains("policy lint"), "{}", check.stdout);

    directory.policy("  work: [");
    assert_eq!(directory.run(&["policy", "lint"]).code, 2);
}

#[test]
fn no_caller_can_be_taken_for_the_operator() {
    let (_server, directory) = served();
    let callers = "callers:\n  - { id: operator, policy: some, auth: { type: stdio_trusted } }\n";
    directory.write("callers.yaml", callers);
    let printed = directory.run(&["config", "check"]);
    assert_eq!(printed.code, 2, "{}", printed.stdout);
    let told = "callers.yaml:2:11: 'operator' is who asks from the command line";
    assert!(printed.stderr.contains(told), "{}", printed.stderr);
}
