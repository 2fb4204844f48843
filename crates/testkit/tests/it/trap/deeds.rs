//! What is counted, and what each deed does to it.

use super::{Folder, THREE_LINES, run, said, script};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use testkit::trap::{
    Call, Deed, End, Errno, Kind, Plan, Signal, Span, Stream, Switch, Trapped, Watch,
};

const KILLED: End = End::Killed(Signal::SIGKILL);
const ONE_AND_TWO: &str = "line 1.\nline 2.\n";

#[test]
fn a_dry_run_counts_the_same_twice() {
    let folder = Folder::new();
    let dd = "exec dd if=/dev/zero of=log bs=4 count=3 conv=fsync";
    let count = || {
        let plan = Plan::count(folder.watch([Kind::Write, Kind::Sync, Kind::Create]));
        let outcome = Trapped::spawn(script("sh", dd, &folder.path), plan).wait();
        assert_eq!((outcome.end, outcome.hit()), (End::Exited(0), None));
        outcome.seen
    };
    let seen = count();
    let names: Vec<_> = seen.iter().map(|call| (call.name, call.length)).collect();
    let write = ("write", Some(4));
    assert_eq!(
        names,
        [("openat", None), write, write, write, ("fsync", None)]
    );
    let log = folder.at("log");
    assert!(seen.iter().all(|call| call.path.as_ref() == Some(&log)));
    assert_eq!(count(), seen);
}

#[test]
fn only_what_begins_while_counting_counts() {
    let folder = Folder::new();
    let switch = Switch::turned_off();
    let plan = Plan::at(2, folder.watch([Kind::Write]), Deed::Kill).counting(&switch);
    let text = "echo a >> log; echo b >> log; read go; echo c >> log; echo d >> log; echo e >> log";
    let mut trapped = Trapped::spawn(script("sh", text, &folder.path), plan);
    let mut stdin = trapped.stdin.take().expect("a pipe");
    while folder.text("log") != "a\nb\n" {
        std::thread::yield_now();
    }
    switch.on();
    stdin.write_all(b"go\n").expect("a program that reads");
    let outcome = trapped.wait();
    assert_eq!((outcome.end, outcome.seen.len()), (KILLED, 2));
    assert_eq!(folder.text("log"), "a\nb\nc\n");
}

#[test]
fn killed_at_each_write_the_file_holds_those_before() {
    for nth in 1.. {
        let (folder, outcome) = run(THREE_LINES, |folder| {
            Plan::at(nth, folder.watch([Kind::Write]), Deed::Kill)
        });
        assert_eq!(folder.text("log").lines().count(), (nth - 1).min(3));
        if nth == 4 {
            assert_eq!((outcome.end, outcome.hit()), (End::Exited(0), None));
            return;
        }
        assert_eq!((outcome.end, outcome.seen.len()), (KILLED, nth));
        assert_eq!(outcome.hit(), outcome.seen.last());
    }
}

#[test]
fn each_way_to_die_at_the_second_write_leaves_its_own_file() {
    for (deed, left) in [
        (Deed::Kill, "line 1.\n"),
        (Deed::KillAfter, ONE_AND_TWO),
        (Deed::Tear, "line 1.\nline"),
    ] {
        let (folder, outcome) = run(THREE_LINES, |folder| {
            Plan::at(2, folder.watch([Kind::Write]), deed.clone())
        });
        assert_eq!((outcome.end, outcome.hits.len()), (KILLED, 1), "{deed:?}");
        assert_eq!(folder.text("log"), left, "{deed:?}");
    }
}

#[test]
fn bytes_in_several_pieces_are_torn_in_the_middle_and_others_not_at_all() {
    for (program, kind, left) in [
        (
            "os.writev(log, [b'abc', b'def', b'gh'])",
            Kind::Write,
            "abcd",
        ),
        ("os.writev(log, [b'abcdefgh'])", Kind::Write, "abcd"),
        ("os.write(log, b'a')", Kind::Write, ""),
        ("os.write(log, b'abc')", Kind::Write, "a"),
        ("os.pwrite(log, b'abcdefgh', 0)", Kind::Write, "abcd"),
        ("os.write(log, b'abc'); os.fsync(log)", Kind::Sync, "abc"),
        ("os.ftruncate(log, 4)", Kind::Truncate, ""),
    ] {
        let folder = Folder::new();
        let text = format!("import os; log = os.open('log', os.O_CREAT | os.O_RDWR); {program}");
        let plan = Plan::at(1, folder.watch([kind]), Deed::Tear);
        let outcome = Trapped::spawn(script("python3", &text, &folder.path), plan).wait();
        assert_eq!(outcome.end, KILLED, "{program}");
        assert_eq!(folder.text("log"), left, "{program}");
    }
}

#[test]
fn what_is_sent_is_torn_as_well() {
    for program in [
        "os.write(peer.fileno(), b'abcdefgh')",
        "peer.send(b'abcdefgh')",
        "peer.sendmsg([b'abc', b'def', b'gh'])",
    ] {
        let folder = Folder::new();
        let listener = UnixListener::bind(folder.at("socket")).unwrap();
        let text = format!(
            "import os, socket; peer = socket.socket(socket.AF_UNIX); peer.connect('socket'); {program}"
        );
        let plan = Plan::at(1, Watch::of([Kind::Send]), Deed::Tear);
        let trapped = Trapped::spawn(script("python3", &text, &folder.path), plan);
        let (peer, _) = listener.accept().unwrap();
        assert_eq!(said(Some(peer)), "abcd", "{program}");
        let outcome = trapped.wait();
        assert_eq!(outcome.end, KILLED, "{program}");
        assert_eq!(outcome.hit().unwrap().length, Some(8), "{program}");
    }
}

#[test]
fn what_comes_from_a_socket_is_received_by_whatever_call() {
    for (program, name) in [
        ("os.read(peer.fileno(), 8)", "read"),
        ("peer.recv(8)", "recvfrom"),
        ("peer.recvmsg(8)", "recvmsg"),
    ] {
        let folder = Folder::new();
        let listener = UnixListener::bind(folder.at("socket")).unwrap();
        let text = format!(
            "import os, socket; peer = socket.socket(socket.AF_UNIX); peer.connect('socket'); {program}; \
             open('log', 'w').write('received')"
        );
        let plan = Plan::at(1, Watch::of([Kind::Receive]), Deed::KillAfter);
        let trapped = Trapped::spawn(script("python3", &text, &folder.path), plan);
        let (mut peer, _) = listener.accept().unwrap();
        peer.write_all(b"hello").unwrap();
        let outcome = trapped.wait();
        assert_eq!(outcome.end, KILLED, "{program}");
        assert_eq!(outcome.hit().unwrap().name, name);
        assert_eq!(folder.text("log"), "");
    }
}

#[test]
fn a_lock_may_fail() {
    let folder = Folder::new();
    let text = "import fcntl; fcntl.flock(open('lock', 'w'), fcntl.LOCK_EX)";
    let plan = Plan::at(
        1,
        folder.watch([Kind::Lock]),
        Deed::Fail(Errno::ENOLCK, Span::Once),
    );
    let outcome = Trapped::spawn(script("python3", text, &folder.path), plan).wait();
    assert_eq!(outcome.end, End::Exited(1));
    let hit = outcome.hit().unwrap();
    assert_eq!((hit.name, &hit.path), ("flock", &Some(folder.at("lock"))));
}

#[test]
fn a_program_sees_the_error_and_its_file_nothing() {
    for (error, words) in [
        (Errno::EIO, "Input/output error"),
        (Errno::ENOSPC, "No space left on device"),
        (Errno::EROFS, "Read-only file system"),
        (Errno::EDQUOT, "Disk quota exceeded"),
    ] {
        for (kind, left) in [
            (Kind::Create, None),
            (Kind::Write, Some("")),
            (Kind::Sync, Some("abc")),
        ] {
            let folder = Folder::new();
            let text = "printf abc > in; LC_ALL=C exec dd if=in of=log conv=fsync";
            let watch = Watch::of([kind]).under(folder.at("log"));
            let plan = Plan::at(1, watch, Deed::Fail(error, Span::Once));
            let mut trapped = Trapped::spawn(script("sh", text, &folder.path), plan);
            let complaint = said(trapped.stderr.take());
            let outcome = trapped.wait();
            assert!(complaint.contains(words), "{error}, {kind:?}: {complaint}");
            assert_eq!((outcome.end, outcome.hits.len()), (End::Exited(1), 1));
            let log = folder.at("log");
            assert_eq!(log.exists().then(|| folder.text("log")).as_deref(), left);
        }
    }
}

/// Appends each line that it is told to `log`, and says how that went.
const CLERK: &str = "while read -r line; do \
    if printf '%s\\n' \"$line\" 2> /dev/null >> log; then echo done; else echo failed; fi; done";

#[test]
fn failures_last_as_long_as_they_should() {
    let switch = Switch::turned_off();
    for (span, answers) in [
        (Span::Once, ["done", "failed", "done", "done"]),
        (Span::Onwards, ["done", "failed", "failed", "failed"]),
        (
            Span::While(switch.clone()),
            ["done", "failed", "failed", "done"],
        ),
    ] {
        let folder = Folder::new();
        let deed = Deed::Fail(Errno::ENOSPC, span.clone());
        let plan = Plan::at(2, folder.watch([Kind::Write]), deed);
        let mut trapped = Trapped::spawn(script("sh", CLERK, &folder.path), plan);
        let mut stdin = trapped.stdin.take().unwrap();
        let mut heard = BufReader::new(trapped.stdout.take().unwrap()).lines();
        for (number, answer) in answers.into_iter().enumerate() {
            match number {
                1 => switch.on(),
                3 => switch.off(),
                _ => {}
            }
            writeln!(stdin, "{number}").unwrap();
            assert_eq!(heard.next().unwrap().unwrap(), answer, "{span:?}, {number}");
        }
        drop(stdin);
        let outcome = trapped.wait();
        let failed = answers.iter().filter(|answer| **answer == "failed").count();
        assert_eq!((outcome.seen.len(), outcome.hits.len()), (4, failed));
        assert_eq!(folder.text("log").lines().count(), 4 - failed);
    }
}

#[test]
fn every_thread_counts() {
    const PROGRAM: &str = "
import os, threading
def work(name):
    log = os.open(name, os.O_CREAT | os.O_WRONLY)
    for _ in range(10): os.write(log, b'x')
threads = [threading.Thread(target=work, args=(f'log{n}',)) for n in range(4)]
for t in threads: t.start()
for t in threads: t.join()
";
    let run = |plan: &dyn Fn(&Folder) -> Plan| {
        let folder = Folder::new();
        let outcome =
            Trapped::spawn(script("python3", PROGRAM, &folder.path), plan(&folder)).wait();
        let written: usize = (0..4).map(|n| folder.text(&format!("log{n}")).len()).sum();
        (outcome, written)
    };
    let (all, written) = run(&|folder| Plan::count(folder.watch([Kind::Write])));
    assert_eq!((all.end, all.seen.len(), written), (End::Exited(0), 40, 40));
    for nth in [1, 7, 20, 40] {
        let (outcome, written) =
            run(&|folder| Plan::at(nth, folder.watch([Kind::Write]), Deed::Kill));
        assert_eq!((outcome.end, outcome.seen.len()), (KILLED, nth));
        // A call that another thread was in may have been cut short.
        assert!(
            (nth.saturating_sub(4)..nth).contains(&written),
            "{nth}: {written}"
        );
    }
}

#[test]
fn each_kind_is_known_by_its_calls() {
    use Kind::{
        Allocate, Create, Link, MakeDir, Mode, Open, Read, Rename, Send, Sync, Truncate, Unlink,
        Write,
    };
    const PROGRAM: &str = "
import os
os.mkdir('d')
fd = os.open('d/a', os.O_CREAT | os.O_RDWR)
os.posix_fallocate(fd, 0, 2)
os.write(fd, b'abc')
os.fdatasync(fd)
os.ftruncate(fd, 1)
os.pread(fd, 9, 0)
os.fchmod(fd, 0o600)
os.chmod('d/a', 0o600)
os.link('d/a', 'b')
os.rename('b', 'c')
os.unlink('c')
os.truncate(f'/proc/self/fd/{fd}', 0)
at = os.open('d', os.O_RDONLY)
os.open('a', os.O_RDONLY, dir_fd=at)
os.fsync(at)
";
    let kinds = [
        Write, Read, Sync, Send, Open, Create, Truncate, Allocate, Rename, Link, Unlink, MakeDir,
        Mode,
    ];
    let folder = Folder::new();
    let plan = Plan::count(folder.watch(kinds));
    let outcome = Trapped::spawn(script("python3", PROGRAM, &folder.path), plan).wait();
    assert_eq!(outcome.end, End::Exited(0));
    let seen: Vec<_> = outcome
        .seen
        .iter()
        .map(|call| brief(call, &folder))
        .collect();
    let expected = [
        (MakeDir, "d", None),
        (Create, "d/a", None),
        (Allocate, "d/a", Some(2)),
        (Write, "d/a", Some(3)),
        (Sync, "d/a", None),
        (Truncate, "d/a", Some(1)),
        (Read, "d/a", Some(9)),
        (Mode, "d/a", None),
        (Mode, "d/a", None),
        (Link, "d/a", None),
        (Rename, "b", None),
        (Unlink, "c", None),
        (Truncate, "d/a", Some(0)),
        (Open, "d", None),
        (Open, "d/a", None),
        (Sync, "d", None),
    ];
    assert_eq!(seen, expected.map(|(k, p, l)| (k, p.to_owned(), l)));
}

fn brief(call: &Call, folder: &Folder) -> (Kind, String, Option<u64>) {
    let path = call.path.as_ref().unwrap().strip_prefix(&folder.path);
    (call.kind, path.unwrap().display().to_string(), call.length)
}

#[test]
fn what_is_said_is_told_from_what_is_logged() {
    let text = "echo to you; echo to the log >&2; echo to a file > log";
    for (watch, count) in [
        (Watch::of([Kind::Send]), 2),
        (Watch::of([Kind::Send]).on(Stream::Stdout), 1),
        (Watch::of([Kind::Send]).on(Stream::Stderr), 1),
        (Watch::of([Kind::Write]), 1),
        (
            Watch::of([Kind::Write]).or(Watch::of([Kind::Send]).on(Stream::Stdout)),
            2,
        ),
    ] {
        let (_, outcome) = run(text, |_| Plan::count(watch.clone()));
        assert_eq!(outcome.seen.len(), count, "{watch:?}: {:?}", outcome.seen);
    }
}
