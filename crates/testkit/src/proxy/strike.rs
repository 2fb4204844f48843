//! A fault at one command of a conversation, found by what the command is and how many like it came before. Finds the
//! commands in what was sent; says nothing of what should come of it.

use super::{Cut, FaultProxy, Refusal};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The n-th command of its name, from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boundary {
    /// In upper case, with `UID`: `UID FETCH`.
    pub verb: String,
    pub nth: usize,
}

/// What happens at a boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Blow {
    No,
    Bad,
    Bye,
    /// The connection ends; the server never sees the command.
    CutBefore,
    /// The server does it, and the connection ends before the client hears of it.
    CutAfter,
    /// The server never sees the command, and nothing moves any more.
    StallBefore,
    /// The server does it, and the client hears nothing any more.
    StallAfter,
}

/// A blow that was armed.
#[derive(Clone, Debug)]
pub struct Strike {
    seen: Arc<AtomicUsize>,
    nth: usize,
}

impl Boundary {
    /// The commands that these lines are, in their order.
    pub fn of(lines: &[String]) -> Vec<Self> {
        let mut counts = BTreeMap::new();
        let verbs = lines.iter().filter_map(|line| verb(line));
        verbs
            .map(|verb| {
                let count = counts.entry(verb.clone()).or_insert(0);
                *count += 1;
                Self { verb, nth: *count }
            })
            .collect()
    }
}

impl fmt::Display for Boundary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{}", self.verb, self.nth)
    }
}

impl Strike {
    /// Whether the command has come.
    pub fn has_landed(&self) -> bool {
        self.seen.load(Ordering::SeqCst) >= self.nth
    }
}

impl FaultProxy {
    /// Strikes once, at a command yet to come.
    pub fn strike(&self, blow: Blow, at: &Boundary) -> Strike {
        let strike = Strike {
            seen: Arc::default(),
            nth: at.nth,
        };
        let (seen, at) = (Arc::clone(&strike.seen), at.clone());
        let matches = move |line: &str| {
            verb(line).is_some_and(|verb| verb == at.verb)
                && seen.fetch_add(1, Ordering::SeqCst) + 1 == at.nth
        };
        match blow {
            Blow::No => self.refuse_command(Refusal::No, matches),
            Blow::Bad => self.refuse_command(Refusal::Bad, matches),
            Blow::Bye => self.refuse_command(Refusal::Bye, matches),
            Blow::CutBefore => self.cut_before(Cut::Reset, matches),
            Blow::CutAfter => self.cut_reply(Cut::Close, matches),
            Blow::StallBefore => self.cut_before(Cut::Stall, matches),
            Blow::StallAfter => self.cut_reply(Cut::Stall, matches),
        }
        strike
    }
}

/// A command's name; none for a line that is no command (`DONE`, the rest of an exchange).
fn verb(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip(1);
    let first = words.next()?.to_ascii_uppercase();
    match first.as_str() {
        "UID" => Some(format!("UID {}", words.next()?.to_ascii_uppercase())),
        _ => Some(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_are_counted_by_name() {
        let lines = [
            "a1 UID FETCH 1 FLAGS",
            "a2 uid store 1 +FLAGS (x)",
            "DONE",
            "a3 UID FETCH 2 FLAGS",
            "a4 APPEND x {3+}",
        ];
        let lines = lines.map(str::to_owned);
        let names: Vec<_> = Boundary::of(&lines)
            .iter()
            .map(Boundary::to_string)
            .collect();
        assert_eq!(
            names,
            ["UID FETCH#1", "UID STORE#1", "UID FETCH#2", "APPEND#1"]
        );
    }
}
