//! The password of an account: the value of a variable, in a file, or told by another program. Exactly one of them.

use std::collections::BTreeMap;
use std::path::Path;

use secrecy::SecretString;
use secrets::{CommandLine, NoSecret, read_file};

use super::{IMAP, Reader, words};

pub(super) const MISSING: &str =
    "is missing; an account needs HOST, USER and one of PASS, PASS_FILE and PASS_COMMAND";

const WAYS: [&str; 3] = ["PASS", "PASS_FILE", "PASS_COMMAND"];

impl Reader {
    /// `None` when there is none; that has been complained of.
    pub(super) fn password(
        &mut self,
        account: &str,
        fields: &BTreeMap<String, String>,
    ) -> Option<SecretString> {
        let variable = |suffix: &str| format!("{IMAP}{account}_{suffix}");
        let given = |suffix: &&'static str| {
            let value = fields.get(*suffix)?.as_str();
            (!value.is_empty()).then_some((*suffix, value))
        };
        let mut given = WAYS.iter().filter_map(given);
        let Some((suffix, value)) = given.next() else {
            self.problem(&variable("PASS"), MISSING);
            return None;
        };
        let others: Vec<&str> = given.map(|(suffix, _)| suffix).collect();
        for other in &others {
            let what = format!("is set beside {}; keep one of them", variable(suffix));
            self.problem(&variable(other), &what);
        }
        if !others.is_empty() {
            return None;
        }
        let password = match suffix {
            "PASS" if value.contains('\0') => {
                self.problem(&variable(suffix), "contains a NUL character");
                return None;
            }
            "PASS" => return Some(SecretString::from(value)),
            "PASS_FILE" => of_file(value),
            _ => self.of_command(value),
        };
        password
            .map_err(|what| self.problem(&variable(suffix), &what))
            .ok()
    }

    fn of_command(&self, text: &str) -> Result<SecretString, String> {
        let words = words::of(text)?;
        let line = CommandLine::new(&words, self.search.as_deref());
        line.and_then(|line| line.read(None)).map_err(told)
    }
}

fn of_file(path: &str) -> Result<SecretString, String> {
    let path = Path::new(path);
    match path.is_absolute() {
        true => read_file(path).map_err(told),
        false => Err("must be a whole path, beginning at the root".to_owned()),
    }
}

/// INVARIANT: neither the words of the command nor anything that was read is in it.
fn told(none: NoSecret) -> String {
    format!("leads to no password: {none}")
}
