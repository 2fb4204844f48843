//! How trapped programs end, by themselves and otherwise, and that nothing of them stays.

use super::{Folder, run, said, script};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use testkit::trap::{Deed, End, Kind, Plan, Signal, Trapped, Watch};

fn nothing() -> Plan {
    Plan::count(Watch::of([]))
}

fn is_there(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[test]
fn a_program_that_ends_by_itself_is_reported() {
    for (text, end) in [
        ("exit 0", End::Exited(0)),
        ("exit 3", End::Exited(3)),
        ("kill -TERM $$", End::Killed(Signal::SIGTERM)),
        ("trap 'exit 7' TERM; kill -TERM $$", End::Exited(7)),
        ("kill -STOP $$; exit 4", End::Exited(4)),
        ("sh -c 'exit 5'; exit $?", End::Exited(5)),
        ("exec sh -c 'exit 6'", End::Exited(6)),
    ] {
        let (_, outcome) = run(text, |_| Plan::at(99, Watch::of([Kind::Write]), Deed::Kill));
        assert_eq!((outcome.end, outcome.hit()), (end, None), "{text}");
        let status = outcome.end.status();
        assert_eq!(status.code().is_some(), matches!(end, End::Exited(_)));
    }
}

#[test]
fn arguments_variables_and_streams_reach_the_program() {
    let mut command = script(
        "sh",
        "cat; echo \"$0|$1|$A|$B|$PWD\"; echo no >&2",
        Path::new("/"),
    );
    command
        .args(["it's", "a \"b\" $c"])
        .env("A", "a b")
        .env_remove("B");
    let mut trapped = Trapped::spawn(command, nothing());
    drop(trapped.stdin.take());
    assert_eq!(said(trapped.stdout.take()), "it's|a \"b\" $c|a b||/\n");
    assert_eq!(said(trapped.stderr.take()), "no\n");
}

#[test]
#[should_panic(expected = "cannot start \"/nowhere/at/all\" in the trap")]
fn a_program_that_is_not_there_fails_the_test() {
    Trapped::spawn(Command::new("/nowhere/at/all"), nothing());
}

#[test]
#[should_panic(expected = "env_clear cannot be carried over")]
fn a_cleared_environment_is_refused() {
    let mut command = Command::new("true");
    command.current_dir("/").env_clear();
    Trapped::spawn(command, nothing());
}

#[test]
#[should_panic(expected = "a real-time signal came to the program")]
fn a_signal_that_cannot_be_handed_on_fails_the_test() {
    run("kill -40 $$", |_| nothing());
}

#[test]
fn a_thread_that_becomes_another_program_is_followed() {
    const PROGRAM: &str = "
import os, threading
def work(): os.execv('/bin/sh', ['sh', '-c', 'echo x > log; exit 8'])
threading.Thread(target=threading.Event().wait, daemon=True).start()
threading.Thread(target=work).start()
";
    let folder = Folder::new();
    let plan = Plan::count(folder.watch([Kind::Write]));
    let outcome = Trapped::spawn(script("python3", PROGRAM, &folder.path), plan).wait();
    assert_eq!((outcome.end, outcome.seen.len()), (End::Exited(8), 1));
}

#[test]
fn dropping_kills() {
    let trapped = Trapped::spawn(script("sh", "exec sleep 600", Path::new("/")), nothing());
    let pid = trapped.pid();
    assert!(is_there(pid) && trapped.wait_for(Duration::ZERO).is_none());
    drop(trapped);
    assert!(!is_there(pid));
}

#[test]
fn killing_is_an_end_as_any_other() {
    let trapped = Trapped::spawn(script("sh", "exec sleep 600", Path::new("/")), nothing());
    trapped.kill();
    trapped.kill();
    assert_eq!(trapped.wait().end, End::Killed(Signal::SIGKILL));
}

#[test]
fn what_the_program_started_is_not_counted_and_dies_with_it() {
    let folder = Folder::new();
    let text = "sh -c 'echo not counted > log; echo started; exec sleep 600' & \
        read -r _; echo counted > log";
    let plan = Plan::at(1, folder.watch([Kind::Write]), Deed::Kill);
    let mut trapped = Trapped::spawn(script("sh", text, &folder.path), plan);
    let mut stdout = BufReader::new(trapped.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    assert_eq!((line.as_str(), trapped.seen().len()), ("started\n", 0));
    drop(trapped.stdin.take());
    assert_eq!(trapped.wait().hits.len(), 1);
    // The sleeper holds the stream open as long as it lives.
    assert_eq!(said(Some(stdout)), "");
}

#[test]
fn many_traps_at_once_keep_to_themselves() {
    std::thread::scope(|scope| {
        for code in 0..8 {
            scope.spawn(move || {
                let leave = format!("exit {code}");
                let text = format!("echo a > log; sh -c :; {leave}");
                for _ in 0..5 {
                    let plan = |folder: &Folder| Plan::count(folder.watch([Kind::Write]));
                    let (_, outcome) = run(&text, plan);
                    assert_eq!((outcome.end, outcome.seen.len()), (End::Exited(code), 1));
                    let free = Command::new("sh").args(["-c", &leave]).status();
                    assert_eq!(free.unwrap().code(), Some(code));
                }
            });
        }
    });
}
