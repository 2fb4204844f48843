//! The name of this process among several that serve the same configuration: each writes an audit log of its own.

use std::path::PathBuf;
use std::sync::OnceLock;

use crate::config::{Problem, Problems, Said, Setting};

const NAME: Setting = Setting {
    option: "--replica",
    variable: "MAILWARDEN_REPLICA",
};
const LONGEST: usize = 64;

/// Chosen once, when the process starts: like its number, and for as long.
static CHOSEN: OnceLock<Replica> = OnceLock::new();

/// Letters, digits, '-', '_' and '.', and no file of a log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Replica(String);

/// What the command line says, else the environment.
pub(crate) fn choose(option: Option<&str>) -> Result<(), Problems> {
    let set = || std::env::var_os(NAME.variable).filter(|value| !value.is_empty());
    let text = option
        .map(str::to_owned)
        .or_else(|| set().map(|value| value.to_string_lossy().into_owned()));
    let chosen = text.as_deref().map(Replica::parse).transpose();
    let chosen = chosen.map_err(|what| {
        let said = Said::of(option.as_ref());
        Problems(vec![Problem::setting(NAME, said, what)])
    })?;
    if let Some(chosen) = chosen {
        // Nobody has chosen before: this is called once.
        let _ = CHOSEN.set(chosen);
    }
    Ok(())
}

/// Takes the name of whose log is the only one there, where nobody has chosen.
pub(crate) fn adopt(name: &str) {
    if let Ok(replica) = Replica::parse(name) {
        let _ = CHOSEN.set(replica);
    }
}

/// None where this process is the only one.
pub(crate) fn chosen() -> Option<&'static Replica> {
    CHOSEN.get()
}

/// Where this process writes its log, when all logs are there.
pub(crate) fn log_in(all: PathBuf) -> PathBuf {
    match chosen() {
        Some(replica) => all.join(&replica.0),
        None => all,
    }
}

impl Replica {
    fn parse(text: &str) -> Result<Self, &'static str> {
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if !(1..=LONGEST).contains(&text.len()) || !text.bytes().all(fits) {
            return Err("must be 1 to 64 letters, digits, '-', '_' and '.'");
        }
        if !text.starts_with(|first: char| first.is_ascii_alphanumeric()) {
            return Err("must begin with a letter or a digit");
        }
        // INVARIANT: no replica's directory stands where a file of the log around it would.
        let lower = text.to_ascii_lowercase();
        let dated = lower
            .get(..10)
            .is_some_and(|day| audit::Day::parse(day).is_some());
        let kept = ["lock", "keeper.lock", "root-sent", "checkpoint"].contains(&lower.as_str());
        match dated || kept || lower.ends_with(".key") || lower.ends_with(".pub") {
            true => Err("must not be the name of a file of an audit log"),
            false => Ok(Self(text.to_owned())),
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_plain_word_and_leads_nowhere_else() {
        for good in ["a", "replica-1", "eu_west.2", &"x".repeat(64), "0"] {
            assert_eq!(Replica::parse(good).unwrap().as_str(), good);
        }
        for bad in [
            "",
            ".",
            "..",
            "../x",
            "a/b",
            "a b",
            "ä",
            "-a",
            ".a",
            "log.pub",
            "signing.key",
            "checkpoint",
            "2026-11-15.jsonl",
            "2026-11-15.torn-1",
            "lock",
            "LOG.PUB",
        ] {
            assert!(Replica::parse(bad).is_err(), "{bad}");
        }
        assert!(Replica::parse(&"x".repeat(65)).is_err());
    }
}
