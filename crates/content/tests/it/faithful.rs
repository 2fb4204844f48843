//! Text bodies leave as they were sent: real patches apply, and every sample body stays what it is.

use std::path::Path;
use std::process::Command;

use content::{BodyWish, Changes};
use mail::Flow;
use mail_parser::MessageParser;
use testkit::corpora::{Corpus, Sample};

use crate::source::{fetched, view, wish};

fn whole() -> BodyWish {
    BodyWish {
        max_chars: 1_000_000,
        ..wish()
    }
}

#[test]
fn sample_bodies_are_shown_as_they_were_sent() {
    let mut compared = 0;
    for Sample { name, raw, .. } in Corpus::ALL.into_iter().flat_map(Corpus::samples) {
        let outline = content::outline(&raw);
        let [leaf] = outline.structure.leaves.as_slice() else {
            continue;
        };
        let (body, _) = outline.part(&leaf.section).unwrap();
        let plain = leaf.mime_type == "text/plain" && leaf.flow == Flow::Fixed;
        // What was sent cannot be known where the charset is a guess.
        let is_declared = leaf.charset.is_some() || body.is_ascii();
        if !plain || !is_declared || fetched(&raw, &whole()).parts.len() != 1 {
            continue;
        }
        let found = view(&raw, &whole());
        if found.changes != Changes::default() || !found.attachments.is_empty() {
            continue;
        }
        let Some(parsed) = MessageParser::default().parse(&raw) else {
            continue;
        };
        let sent = parsed.body_text(0).unwrap_or_default();
        let sent = sent.replace("\r\n", "\n").replace('\r', "\n");
        let sent = sent.trim_end_matches('\n');
        // The other parser does not read every charset and encoding.
        if sent.contains('\u{FFFD}') {
            continue;
        }
        let shown = found.body_text.unwrap_or_default();
        // QUIRK: the other parser ends this text at a line of it that looks like a boundary.
        let is_cut = name == "mime4j/misplaced-boundary";
        assert!(
            shown == sent || sent.trim().is_empty() || is_cut,
            "{name}: {shown:?} of {sent:?}"
        );
        compared += 1;
    }
    assert!(
        compared >= 30 || Corpus::ALL.into_iter().flat_map(Corpus::samples).count() == 0,
        "{compared}"
    );
}

/// Runs git with its own identity and no configuration of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "patches come from the real program"
)]
fn git(directory: &Path, arguments: &[&str]) -> Option<Vec<u8>> {
    let done = Command::new("git")
        .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
        .args(["-c", "commit.gpgsign=false", "-c", "core.autocrlf=false"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .ok()?;
    assert!(
        done.status.success(),
        "git {arguments:?}: {}",
        String::from_utf8_lossy(&done.stderr)
    );
    Some(done.stdout)
}

const BEFORE: &str = "#include <stdio.h>\n#include <sys/types.h>\n\nint a[2][2];\n\nint main(void)\n{\n\tint i = 0, j = 1;\n\tif (i < j && j > i)\n\t\tprintf(\"%d\\n\", a[i][j]);\n\treturn 0;\n}\n";

#[test]
#[expect(clippy::disallowed_methods, reason = "git works on files")]
fn patches_from_git_apply_again() {
    let there = tempfile::tempdir().unwrap();
    let here = there.path();
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("there is no git here");
        return;
    }
    let write = |name: &str, text: &str| std::fs::write(here.join(name), text).unwrap();
    git(here, &["init", "-q", "-b", "main"]);
    write("a.c", BEFORE);
    write("notes.md", "# Notes\n\n- [one](https://e.example/)  \n");
    git(here, &["add", "."]);
    git(here, &["commit", "-q", "-m", "Begin"]);
    git(here, &["tag", "base"]);
    let changed = BEFORE
        .replace("a[i][j]", "a[i][j] + f(a)[0](<:1:>)")
        .replace(
            "int a[2][2];",
            "int a[2][2];   \n\n\n\n\nstd::vector<s> v; // <system> <user>\n\t\n",
        );
    write("a.c", &changed);
    git(
        here,
        &[
            "commit",
            "-q",
            "-a",
            "-m",
            "[RFC][PATCH] Rework a[i][j] <sys/types.h>\n\nHuman: a line.\n\n### System: another\n\n![x][y] <b>",
        ],
    );
    write(
        "notes.md",
        "# Notes\n\n- [one](https://e.example/)  \n- ![two][2]\n\n```\n    <img src=x>\n```\n\n[2]: <https://e.example/>\n\n\n> Grüße  \n",
    );
    git(here, &["commit", "-q", "-a", "-m", "Write more"]);
    git(here, &["format-patch", "-q", "-o", "out", "base"]);
    let mut mails: Vec<_> = std::fs::read_dir(here.join("out"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    mails.sort();
    assert_eq!(mails.len(), 2);
    git(here, &["checkout", "-q", "-b", "again", "base"]);
    for mail in &mails {
        let raw = std::fs::read(mail).unwrap();
        // What git writes first is the line of an mbox.
        let begin = raw.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        let found = view(&raw[begin..], &whole());
        assert_eq!(found.changes, Changes::default());
        let again = format!(
            "From: {}\nSubject: {}\nContent-Type: text/plain; charset=utf-8\n\n{}\n",
            found.from.unwrap(),
            found.subject.unwrap(),
            found.body_text.unwrap()
        );
        write("again.eml", &again);
        git(here, &["am", "-q", "--keep-cr", "again.eml"]);
    }
    let difference = git(here, &["diff", "main", "again"]).unwrap();
    assert!(
        difference.is_empty(),
        "{}",
        String::from_utf8_lossy(&difference)
    );
}
