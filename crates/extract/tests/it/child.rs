//! The life of a child: what it answers, what it cannot do, when it ends.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use extract::{Limits, Runner};
use mail::{ExtractFault, ExtractJob, ExtractedText, Extractor as _, Format};

use crate::built;

pub(crate) fn runner() -> Runner {
    // Nothing here takes as long; a busy machine may.
    let limits = Limits {
        wall: Duration::from_secs(60),
        ..Limits::default()
    };
    Runner::new(
        env!("CARGO_BIN_EXE_extract-worker"),
        "extract-worker",
        limits,
    )
}

pub(crate) fn job(format: Format, bytes: Vec<u8>) -> ExtractJob {
    ExtractJob {
        format,
        bytes: Bytes::from(bytes),
        max_chars: 1_000,
    }
}

pub(crate) fn shown(done: &ExtractedText) -> &str {
    std::str::from_utf8(done.text.bytes()).expect("UTF-8")
}

#[tokio::test]
async fn text_comes_back() {
    let runner = runner();
    let body = "<w:p><w:r><w:t>Hello</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r></w:p>";
    let line = built::lines(&["Hello"]);
    for (format, bytes, hidden) in [
        (Format::Docx, built::docx(body), 6),
        (Format::Pdf, built::pdf_pages(&[&line]), 0),
        (Format::Rtf, br"{\rtf1 Hello{\v secret}}".to_vec(), 6),
    ] {
        let done = runner.text(job(format, bytes)).await.expect("text");
        assert_eq!(
            (shown(&done), done.hidden_chars(), done.cut),
            ("Hello", hidden, false),
            "{format:?}"
        );
    }
}

#[tokio::test]
async fn text_is_cut_where_asked() {
    let mut job = job(Format::Rtf, br"{\rtf1 Hello World}".to_vec());
    job.max_chars = 5;
    let done = runner().text(job).await.expect("text");
    assert_eq!((shown(&done), done.cut), ("Hello", true));
}

#[tokio::test]
async fn what_is_too_large_starts_no_child() {
    let nowhere = Runner::new("/nonexistent", "x", Limits::default());
    let large = job(Format::Pdf, vec![0; extract::formats::MAX_BYTES + 1]);
    assert_eq!(nowhere.text(large).await, Err(ExtractFault::TooLarge));
    let small = job(Format::Pdf, Vec::new());
    assert_eq!(nowhere.text(small).await, Err(ExtractFault::Unavailable));
}

#[tokio::test]
async fn the_largest_attachment_passes_the_pipes() {
    let mut rtf = br"{\rtf1 Hello}".to_vec();
    rtf.resize(extract::formats::MAX_BYTES, b'\n');
    let done = runner().text(job(Format::Rtf, rtf)).await.expect("text");
    assert_eq!(shown(&done), "Hello");
}

#[tokio::test]
async fn more_attachments_than_places_wait_for_their_turn() {
    let runner = Arc::new(runner());
    let asked: Vec<_> = (0..8)
        .map(|number| {
            let runner = Arc::clone(&runner);
            let rtf = format!("{{\\rtf1 number {number}}}").into_bytes();
            tokio::spawn(async move { runner.text(job(Format::Rtf, rtf)).await })
        })
        .collect();
    for (number, answer) in asked.into_iter().enumerate() {
        let done = answer.await.expect("no panic").expect("text");
        assert_eq!(shown(&done), format!("number {number}"));
    }
}

/// A program that is no worker: it does not answer, and what it would say is not believed.
#[cfg(unix)]
#[tokio::test]
async fn a_child_that_says_something_else_is_a_crash() {
    for (program, argument) in [
        ("/bin/true", ""),
        ("/bin/false", ""),
        ("/bin/echo", "hello"),
    ] {
        let runner = Runner::new(program, argument, Limits::default());
        let found = runner.text(job(Format::Rtf, b"{\\rtf1 x}".to_vec())).await;
        assert_eq!(found, Err(ExtractFault::Crashed), "{program}");
    }
}

/// `sleep` stands in for a reader that hangs.
#[cfg(unix)]
#[tokio::test]
async fn a_child_that_hangs_is_ended() {
    let limits = Limits {
        wall: Duration::from_millis(50),
        ..Limits::default()
    };
    let runner = Runner::new("/bin/sleep", "1000", limits);
    let found = runner.text(job(Format::Rtf, Vec::new())).await;
    assert_eq!(found, Err(ExtractFault::TimedOut));
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::process::{Command, Stdio};

    use super::*;

    #[tokio::test]
    async fn nothing_gets_out() {
        let found = runner().protections().await.expect("protections");
        assert!(found.is_sealed(), "{found:?}");
        for name in ["memory", "processor time", "open files", "system calls"] {
            assert!(
                found
                    .applied
                    .iter()
                    .any(|one| one.name == name && one.is_in_force()),
                "{name}: {found:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_caller_that_goes_takes_its_child_along() {
        let limits = Limits {
            wall: Duration::from_secs(600),
            ..Limits::default()
        };
        // Children of ours that sleep for a time that nobody else sleeps for.
        let mark = format!("{}", 1_000_000 + std::process::id());
        let runner = Runner::new("/bin/sleep", &mark, limits);
        let mut asked = runner.text(job(Format::Rtf, Vec::new()));
        // Polled until the child is there.
        while sleeping(&mark) == 0 {
            tokio::select! {
                biased;
                _ = &mut asked => panic!("it sleeps"),
                () = tokio::task::yield_now() => {}
            }
        }
        drop(asked);
        while sleeping(&mark) > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Processes with this argument that are alive.
    fn sleeping(mark: &str) -> usize {
        let processes = std::fs::read_dir("/proc").expect("processes");
        processes
            .filter_map(Result::ok)
            .filter_map(|process| std::fs::read(process.path().join("cmdline")).ok())
            .filter(|line| {
                line.split(|octet| *octet == 0)
                    .any(|one| one == mark.as_bytes())
            })
            .count()
    }

    #[test]
    fn a_child_without_a_parent_ends() {
        let mut child = Command::new(env!("CARGO_BIN_EXE_extract-worker"))
            .env_clear()
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let mut input = child.stdin.take().expect("its input");
        input
            .write_all(b"extract pdf 1000 1000000\n%PDF-1.4 and then nothing")
            .expect("written");
        drop(input);
        let status = child.wait().expect("its end");
        assert!(!status.success());
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output"))
            .read_line(&mut line)
            .expect("nothing");
        assert_eq!(line, "");
    }
}
