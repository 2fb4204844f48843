//! `docs/policies.md` is true: its files are a configuration, and its commands print what stands there.
//!
//! `MAILWARDEN_RECORD=1` writes what they print into the page.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::directory::{Directory, accounts, mailbox};

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies.md")
}

/// A block of the page: ```` ```what place ````, and its lines.
struct Block<'a> {
    what: &'a str,
    place: &'a str,
    lines: Vec<&'a str>,
}

#[test]
fn the_page_for_authors_is_true() {
    let server = mailbox();
    let directory = Directory::new(server.port(), server.port());
    // The page's own account is at a server that is not there.
    directory.secret("config/secrets/password", "secret");
    directory.secret("read/secrets/password", "secret");
    let text = std::fs::read_to_string(page()).unwrap();
    let mut client = None;
    let mut told = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        told.push_str(&format!("{line}\n"));
        let Some(heading) = line.strip_prefix("```") else {
            continue;
        };
        let (what, place) = heading.split_once(' ').unwrap_or((heading, ""));
        let block = Block {
            what,
            place,
            lines: lines.by_ref().take_while(|line| *line != "```").collect(),
        };
        match block.what {
            "yaml" => write(&directory, &block, server.port()),
            "console" => {
                // Somebody is served before anything is changed.
                if client.is_none() && block.lines.iter().any(|line| line.contains("reload")) {
                    let mut command = directory.program();
                    command
                        .env("IMAP_MCP_CONFIG_DIR", directory.path().join("config"))
                        .env("IMAP_MCP_CALLER_ID", "assistant");
                    client = Some(crate::support::start(command));
                }
                told.push_str(&run(&directory, &block));
                told.push_str("```\n");
                continue;
            }
            other => panic!("{other}: {:?}", block.lines),
        }
        for line in &block.lines {
            told.push_str(&format!("{line}\n"));
        }
        told.push_str("```\n");
    }
    let checked = directory.run(&["config", "check", &in_read(&directory)]);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
    if std::env::var_os("MAILWARDEN_RECORD").is_some() {
        std::fs::write(page(), &told).unwrap();
    }
    assert_eq!(told, text, "MAILWARDEN_RECORD=1 writes the page again");
}

/// The files as the page has them.
fn in_read(directory: &Directory) -> String {
    directory.path().join("read").display().to_string()
}

fn write(directory: &Directory, block: &Block<'_>, port: u16) {
    let text = block.lines.join("\n");
    match block.place {
        "config/accounts.yaml" => directory.write(block.place, &accounts(&[("work", port)])),
        place => directory.write(place, &text),
    };
    if let Some(name) = block.place.strip_prefix("config/") {
        directory.write(&format!("read/{name}"), &text);
    }
}

/// The commands of a block, each with what it prints.
fn run(directory: &Directory, block: &Block<'_>) -> String {
    let commands = block.lines.iter();
    let commands = commands.filter_map(|line| line.strip_prefix("$ "));
    let mut told = String::new();
    for command in commands {
        told.push_str(&format!("$ {command}\n"));
        let mut shell = Command::new("sh");
        // As the program would be started, but by its name.
        for (name, value) in directory.program().get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        shell
            .args(["-c", command])
            .current_dir(directory.path())
            .env("IMAP_MCP_CONFIG_DIR", "config")
            .env("PATH", search_path());
        let output = shell.output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        let complaint = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{command}: {shown}{complaint}");
        told.extend(shown.lines().map(|line| neutral(line) + "\n"));
    }
    told
}

/// Where a shell finds the program.
fn search_path() -> String {
    let program = Path::new(env!("CARGO_BIN_EXE_mailwarden"));
    let others = std::env::var("PATH").unwrap_or_default();
    format!("{}:{others}", program.parent().unwrap().display())
}

/// Numbers that are others in each run.
fn neutral(line: &str) -> String {
    let stands_for = |(before, word): (&str, &str)| match before {
        "process" => "4711".to_owned(),
        "version" => "5a1f0c9e7b32".to_owned(),
        _ => word.to_owned(),
    };
    let mut before = "";
    let words = line.split(' ').map(|word| {
        let shown = stands_for((before, word));
        before = word;
        shown
    });
    words.collect::<Vec<_>>().join(" ")
}
