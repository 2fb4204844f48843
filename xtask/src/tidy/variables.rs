//! The variables that are documented are those that the program reads, by name.
//!
//! The program's side is found in its text: two lists in `env.rs`, and its own variables wherever they stand.

use std::collections::BTreeSet;

use crate::docs::variables::VARIABLES;
use crate::tree::{Problem, Tree};

const READER: &str = "crates/mailwarden/src/config/env.rs";
const PROGRAM: &str = "crates/mailwarden/src/";
/// What names of variables of ours begin with, wherever they stand.
const OURS: [&str; 2] = ["MAILWARDEN_", "IMAP_MCP_"];
const LIST: &str = "xtask/src/docs/variables.rs";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let documented: BTreeSet<String> = VARIABLES
        .iter()
        .map(|variable| variable.name.to_owned())
        .collect();
    match read_by_program(tree) {
        Ok(read) => compare(&documented, &read),
        Err(problem) => vec![problem],
    }
}

fn compare(documented: &BTreeSet<String>, read: &BTreeSet<String>) -> Vec<Problem> {
    let problem = |what: String| Problem {
        path: LIST.to_owned(),
        line: 0,
        what,
    };
    let missing = read
        .difference(documented)
        .map(|name| format!("{name} is read and not listed"));
    let gone = documented
        .difference(read)
        .map(|name| format!("{name} is listed and not read"));
    missing.chain(gone).map(problem).collect()
}

fn read_by_program(tree: &Tree) -> Result<BTreeSet<String>, Problem> {
    let text = tree
        .file(READER)
        .map(|file| file.text.as_str())
        .unwrap_or_default();
    let list = |name: &str| {
        literals_of(text, name).ok_or_else(|| Problem {
            path: READER.to_owned(),
            line: 0,
            what: format!("has no list {name}; tidy compares it with the documented variables"),
        })
    };
    let mut names = BTreeSet::from([
        "MAIL_MAILDIR_<ACCOUNT>_PATH".to_owned(),
        "MAIL_APPLE_<ACCOUNT>_PATH".to_owned(),
        "MAIL_APPLE_<ACCOUNT>_ACCOUNT".to_owned(),
        "IMAP_MCP_SECRET__<PATH>".to_owned(),
    ]);
    names.extend(list("SERVER_WIDE")?.map(|name| format!("MAIL_IMAP_{name}")));
    names.extend(list("PER_ACCOUNT")?.map(|name| format!("MAIL_IMAP_<ACCOUNT>_{name}")));
    for file in tree.rust().filter(|file| file.path.starts_with(PROGRAM)) {
        let literals = file.text.split('"').skip(1).step_by(2);
        let ours = |text: &&str| OURS.iter().any(|ours| text.starts_with(ours)) && is_name(text);
        let own = literals.filter(ours);
        names.extend(own.map(str::to_owned));
    }
    Ok(names)
}

/// The string literals of `const NAME: … = […];`.
fn literals_of<'a>(text: &'a str, name: &str) -> Option<impl Iterator<Item = &'a str> + use<'a>> {
    let (_, rest) = text.split_once(&format!("const {name}: "))?;
    let (_, rest) = rest.split_once("= [")?;
    let (list, _) = rest.split_once("];")?;
    Some(list.split('"').skip(1).step_by(2))
}

/// A whole name, not the beginning that names share.
fn is_name(text: &str) -> bool {
    let letters = text
        .chars()
        .all(|char| char.is_ascii_uppercase() || char == '_');
    letters && !text.ends_with('_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::tests::tree;

    const ENV: &str = "const SERVER_WIDE: [&str; 1] = [\n    \"ERRORS\",\n];\nconst PER_ACCOUNT: [&str; 2] = [\"HOST\", \"USER\"];\n";

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn names_are_found_in_the_program() {
        let main = (
            "crates/mailwarden/src/main.rs",
            "var(\"MAILWARDEN_LOG\"); // MAILWARDEN_NOT\nx(\"MAILWARDEN_\")",
        );
        let read = read_by_program(&tree(&[(READER, ENV), main])).unwrap();
        let want = [
            "IMAP_MCP_SECRET__<PATH>",
            "MAILWARDEN_LOG",
            "MAIL_APPLE_<ACCOUNT>_ACCOUNT",
            "MAIL_APPLE_<ACCOUNT>_PATH",
            "MAIL_IMAP_<ACCOUNT>_HOST",
            "MAIL_IMAP_<ACCOUNT>_USER",
            "MAIL_IMAP_ERRORS",
            "MAIL_MAILDIR_<ACCOUNT>_PATH",
        ];
        assert_eq!(read, set(&want));
    }

    #[test]
    fn differences_are_found_either_way() {
        let found = compare(&set(&["A", "B"]), &set(&["B", "C"]));
        let found: Vec<&str> = found.iter().map(|problem| problem.what.as_str()).collect();
        assert_eq!(
            found,
            ["C is read and not listed", "A is listed and not read"]
        );
        assert_eq!(check(&tree(&[(READER, "nothing")])).len(), 1);
    }
}
