//! One file of the directory: its text, its tree, and which of its words may be shown.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use super::yaml::{self, Mark, Node, Value};
use crate::config::problem::{Excerpt, Place, Problem};

const MOST_BYTES: u64 = 1 << 20;
/// Longer lines are not quoted.
const MOST_QUOTED: usize = 160;

/// A file that was read.
pub(super) struct Sheet {
    /// As it is named in messages, such as `policies/a.yaml`.
    pub name: String,
    pub text: String,
    pub root: Option<Node>,
    pub slips: Vec<yaml::Slip>,
    /// Every scalar, from where to where.
    scalars: Vec<(Mark, Mark)>,
}

/// INVARIANT: whoever may only be served does not write what decides about that.
pub(super) const OPEN_TO_ALL: &str = "can be changed by every user of this machine, so anybody could give themselves anything; run chmod o-w on it";

#[cfg(unix)]
pub(super) fn is_open_to_all(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    about.permissions().mode() & 0o002 != 0
}

#[cfg(not(unix))]
pub(super) fn is_open_to_all(_about: &std::fs::Metadata) -> bool {
    false
}

impl Sheet {
    pub(super) fn read(dir: &Path, name: &str) -> Result<Self, Problem> {
        let bad = |what: &str| Problem::file(name, what);
        let path = dir.join(name);
        let unreadable = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                bad("is missing; `mailwarden config init` writes an example of a whole directory")
            }
            kind => bad(&format!("cannot be read: {kind}")),
        };
        let about = path.metadata().map_err(unreadable)?;
        if !about.is_file() {
            return Err(bad("is not a file"));
        }
        if is_open_to_all(&about) {
            return Err(bad(OPEN_TO_ALL));
        }
        let mut bytes = Vec::new();
        File::open(&path)
            .and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes))
            .map_err(unreadable)?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(bad("is larger than 1 MiB; a configuration is small"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(error) => {
                let before = error.utf8_error().valid_up_to();
                let line = error
                    .as_bytes()
                    .iter()
                    .take(before)
                    .filter(|byte| **byte == b'\n');
                Err(Problem::file(
                    name,
                    format!(
                        "line {} is not UTF-8; save the file as UTF-8",
                        line.count() + 1
                    ),
                ))
            }
        }
    }

    pub(super) fn new(name: &str, text: String) -> Self {
        let (root, slips) = yaml::parse(&text);
        let mut scalars = Vec::new();
        if let Some(root) = &root {
            gather(root, &mut scalars);
        }
        Self {
            name: name.to_owned(),
            text,
            root,
            slips,
            scalars,
        }
    }

    pub(super) fn place(&self, at: Mark) -> Place {
        Place::Position {
            file: self.name.clone(),
            line: at.line,
            column: at.column,
        }
    }

    /// The line up to the end of what stands there, if nothing before it or in it is withheld.
    pub(super) fn excerpt(&self, at: Mark, end: Mark, public: &BTreeSet<Mark>) -> Option<Excerpt> {
        let line = self.text.lines().nth(at.line.checked_sub(1)?)?;
        let before = at.column.checked_sub(1)?;
        if end.line != at.line {
            return None;
        }
        let to = end.column.saturating_sub(1);
        // INVARIANT: whatever reaches into what is shown of this line was recognized as no secret.
        let reaches = |(from, until): &&(Mark, Mark)| {
            let begins = from.line < at.line || (from.line == at.line && from.column <= to);
            begins && until.line >= at.line
        };
        let mut reaching = self.scalars.iter().filter(reaches);
        let open = reaching.all(|(from, _)| public.contains(from));
        if !open || to > MOST_QUOTED || to <= before {
            return None;
        }
        let shown = line.chars().take(to);
        let line: String = shown.map(harmless).collect();
        Some(Excerpt {
            line,
            before,
            width: to - before,
        })
    }
}

/// One column wide, and nothing that moves the cursor or turns a line around.
pub(super) fn harmless(char: char) -> char {
    match char.escape_debug().count() {
        1 => char,
        _ if matches!(char, '"' | '\'' | '\\') => char,
        _ => ' ',
    }
}

fn gather(node: &Node, scalars: &mut Vec<(Mark, Mark)>) {
    match &node.value {
        Value::Scalar { .. } | Value::Refused => scalars.push((node.at, node.end)),
        Value::List(items) => items.iter().for_each(|item| gather(item, scalars)),
        Value::Map(pairs) => {
            for (key, value) in pairs {
                gather(key, scalars);
                gather(value, scalars);
            }
        }
    }
}
