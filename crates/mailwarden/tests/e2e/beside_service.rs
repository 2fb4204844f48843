//! Commands that are run beside whoever serves: they leave nothing that it cannot write, and no log that nobody knows of.

use std::process::{Output, Stdio};

use testkit::Dovecot;

use crate::installation::Installation;
use crate::support::{Account, configure};

fn run(home: &Installation, port: u16, words: &[&str]) -> Output {
    let mut command = home.program();
    let account = Account {
        port,
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    let output = command.args(words).stdin(Stdio::null()).output();
    output.unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What stands in a directory, and in those in it.
fn names(dir: &std::path::Path) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(names(&path));
        }
        found.push(path.display().to_string());
    }
    found.sort();
    found
}

/// Only root can leave files to others; everybody else is kept out, or writes what is its own.
#[cfg(unix)]
#[test]
fn root_leaves_nothing_in_the_state_of_another_user() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    const SERVICE: u32 = 65_533;
    let server = Dovecot::start();
    let home = Installation::new();
    std::fs::create_dir(home.state()).unwrap();
    let root = home.state().metadata().unwrap().uid() == 0;
    if root {
        chown(home.state(), Some(SERVICE), Some(SERVICE)).unwrap();
    }
    for (words, works) in [
        (&["--replica", "one", "check"][..], true),
        (&["check"], true),
        // Also what is refused is recorded by nobody.
        (&["check", "--toolsets", "none"], false),
    ] {
        let checked = run(&home, server.port(), words);
        let (good, stderr) = (checked.status.success(), said(&checked));
        match root {
            true => {
                assert!(!good, "{stderr}");
                let hint = format!("belongs to the user {SERVICE}");
                assert!(stderr.contains(&hint) && stderr.contains("sudo -u '#65533'"));
                assert_eq!(names(&home.state()), Vec::<String>::new(), "{words:?}");
            }
            false => assert_eq!(good, works, "{stderr}"),
        }
    }
}

/// Nobody knows yet whose service it will be.
#[cfg(unix)]
#[test]
fn root_is_told_what_it_makes() {
    use std::os::unix::fs::MetadataExt as _;
    let server = Dovecot::start();
    let home = Installation::new();
    let told = |output: &Output| said(output).contains("as root: a service of another user");
    let first = run(&home, server.port(), &["check"]);
    assert!(first.status.success(), "{}", said(&first));
    let root = home.state().metadata().unwrap().uid() == 0;
    assert_eq!(told(&first), root, "{}", said(&first));
    let second = run(&home, server.port(), &["check"]);
    assert!(second.status.success() && !told(&second));
}

#[test]
fn a_command_without_a_name_begins_no_log_beside_those_of_replicas() {
    let server = Dovecot::start();
    let home = Installation::new();
    let check = |words: &[&str]| run(&home, server.port(), words);
    assert!(check(&["--replica", "one", "check"]).status.success());
    let records = || {
        let log = home.audit().join("one");
        let report = audit::read::verify(&log, &audit::read::Verify::default(), &mut |_, _| {});
        report.unwrap().size
    };
    // There is but one, so it is meant.
    let before = records();
    assert!(check(&["check"]).status.success());
    assert!(records() > before);
    assert_eq!(std::fs::read_dir(home.audit()).unwrap().count(), 1);
    // Of several nobody knows which.
    assert!(check(&["--replica", "two", "check"]).status.success());
    let before = names(&home.audit());
    let checked = check(&["check"]);
    assert!(!checked.status.success());
    assert!(
        said(&checked).contains("several replicas (one, two); say with --replica"),
        "{}",
        said(&checked)
    );
    let refused = check(&["check", "--toolsets", "none"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(said(&refused).contains("not recorded: "));
    assert_eq!(names(&home.audit()), before);
}
