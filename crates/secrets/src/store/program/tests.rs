//! Programs that do not end, print too much, leave others behind or do not listen.

use std::ffi::OsStr;
use std::time::Duration;

use super::*;
use crate::store::tests::SEARCH;

fn shell() -> Program {
    Program::find("sh", Some(OsStr::new(SEARCH))).unwrap()
}

fn run(program: &Program, script: &str, input: Input<'_>) -> Result<Ended, NoSecret> {
    program.run(&["-c", script], input, Stderr::Kept)
}

#[test]
fn whoever_does_not_end_is_ended_with_all_it_started() {
    let home = tempfile::tempdir().unwrap();
    let child = home.path().join("child");
    let brief = shell().within(Duration::from_millis(300));
    for script in [
        // Each with a child that outlives it, if it can.
        "sleep 600 & echo $! > CHILD; wait",
        "sleep 600 & echo $! > CHILD; exec >&- 2>&-; wait",
        // The program itself has ended, and its child holds the pipe.
        "sleep 600 & echo $! > CHILD",
        "trap '' TERM INT HUP; sleep 600 & echo $! > CHILD; wait",
    ] {
        let script = script.replace("CHILD", &child.display().to_string());
        let none = run(&brief, &script, Input::Nothing).unwrap_err();
        assert!(none.is_timeout(), "{none}");
        assert!(none.what.contains("and was ended"), "{none}");
        let pid = std::fs::read_to_string(&child).unwrap();
        // Killed, and perhaps not yet waited for by whoever inherited it.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        while let Ok(state) = state() {
            if state.contains(") Z ") {
                break;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_does_not_fit_is_not_waited_for() {
    let none = run(&shell(), "yes", Input::Nothing).unwrap_err();
    assert!(none.what.contains("more than 64 kB"), "{none}");
    let none = run(&shell(), "yes >&2", Input::Nothing).unwrap_err();
    assert!(none.what.contains("more than 64 kB"), "{none}");
}

#[test]
fn both_ways_at_once_do_not_block_each_other() {
    let secret = vec![b'x'; 60_000];
    let ended = run(&shell(), "cat; printf end >&2", Input::Secret(&secret)).unwrap();
    assert_eq!(ended.stdout.len(), secret.len());
    assert_eq!(ended.stderr.as_slice(), b"end");
    assert!(ended.status.success());
}

#[test]
fn a_secret_that_nobody_reads_is_not_kept() {
    // More than a pipe holds on any system.
    let secret = vec![b'x'; 2 << 20];
    let none = run(&shell(), "exec <&-; exit 0", Input::Secret(&secret)).unwrap_err();
    assert!(none.what.contains("without reading"), "{none}");
    let ended = run(&shell(), "exec <&-; exit 7", Input::Secret(&secret)).unwrap();
    assert_eq!(ended.status.code(), Some(7));
}

#[test]
fn our_variables_are_not_handed_on() {
    for (name, ours) in [
        ("MAIL_IMAP_WORK_PASS", true),
        (concat!("IMAP_MCP", "_SECRET__A"), true),
        (concat!("MAILWARDEN", "_LOG"), true),
        ("MAIL", false),
        ("GNUPGHOME", false),
        ("PATH", false),
    ] {
        assert_eq!(is_ours(OsStr::new(name)), ours, "{name}");
    }
}

#[test]
fn programs_are_not_looked_for_where_we_happen_to_be() {
    for (search, found) in [
        (Some("/usr/bin:/bin"), true),
        (Some(":/nowhere"), false),
        (Some("."), false),
        (Some(""), false),
        (None, false),
    ] {
        let program = Program::find("sh", search.map(OsStr::new));
        assert_eq!(program.is_ok(), found, "{search:?}");
    }
}

/// Both ways of running a program agree on what they have in common.
#[test]
fn the_other_way_of_running_says_the_same() {
    let program = std::path::Path::new("/bin/sh");
    let secret = vec![b'x'; 60_000];
    let much = vec![b'x'; 2 << 20];
    for (script, input, millis) in [
        ("cat; printf end >&2; exit 3", Some(&secret), 20_000),
        ("echo out", None, 20_000),
        ("yes", None, 20_000),
        ("yes >&2", None, 20_000),
        ("exec <&-; exit 0", Some(&much), 20_000),
        ("exec sleep 600", None, 200),
        ("exec >&- 2>&- sleep 600", None, 200),
    ] {
        let words = [OsStr::new("-c"), OsStr::new(script)];
        let input = || input.map_or(Input::Nothing, |secret| Input::Secret(secret));
        let patience = Duration::from_millis(millis);
        let told = |ended: Result<Ended, Failed>| {
            let ended = ended.map(|e| (e.status.code(), e.stdout.to_vec(), e.stderr.to_vec()));
            format!("{ended:?}")
        };
        let one = unix::run(program, &words, input(), Stderr::Kept, patience);
        let other = elsewhere::run(program, &words, input(), Stderr::Kept, patience);
        assert_eq!(told(one), told(other), "{script}");
    }
    let missing = std::path::Path::new("/no/such/program");
    for run in [unix::run, elsewhere::run] {
        let run = run(missing, &[], Input::Nothing, Stderr::Discarded, PATIENCE);
        assert_eq!(
            run.unwrap_err(),
            Failed::NotStarted(io::ErrorKind::NotFound)
        );
    }
}
