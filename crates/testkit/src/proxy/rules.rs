//! Which faults are armed. Says when to cut; does not cut.

use super::strip::Strip;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// TCP reset, both ways.
    Reset,
    /// An orderly end of stream.
    Close,
    /// The sockets stay open and nothing moves any more.
    Stall,
}

/// What a client hears instead of the server's answer to a command that the server never sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    No,
    Bad,
    /// `* BYE` and an orderly end of stream. What the client sent behind the command is not looked at any more.
    Bye,
}

impl Refusal {
    /// The line in place of the tagged one.
    pub(super) fn line(self, tag: &[u8]) -> Vec<u8> {
        match self {
            Self::No => [tag, b" NO Refused on purpose\r\n"].concat(),
            Self::Bad => [tag, b" BAD Refused on purpose\r\n"].concat(),
            Self::Bye => b"* BYE Leaving on purpose\r\n".to_vec(),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Up,
    Down,
}

pub(super) type Predicate = Arc<dyn Fn(&str) -> bool + Send + Sync>;
/// What stands in a line's place; none leaves it as it is.
pub(super) type Rewriting = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    pub(super) delay: Duration,
    pub(super) split: Option<usize>,
    pub(super) garbage: Option<(u64, Vec<u8>)>,
    pub(super) strip: Option<Arc<Strip>>,
    cuts: Vec<Rule>,
    /// Each happens once.
    refusals: Vec<Refused>,
    rewrites: Vec<Rewrite>,
}

#[derive(Clone)]
pub(super) struct Rewrite(Direction, Rewriting);

#[derive(Clone)]
struct Refused(Predicate, Refusal);

#[derive(Clone, Debug)]
struct Rule {
    trigger: Trigger,
    cut: Cut,
    once: bool,
}

#[derive(Clone)]
enum Trigger {
    /// This many bytes of any one connection.
    Bytes(Direction, u64),
    /// This many more bytes, over whatever connection.
    MoreBytes(Direction, u64),
    Before(Predicate),
    Reply(Predicate),
}

impl Rules {
    pub(super) fn cut_after(&mut self, direction: Direction, bytes: u64, cut: Cut) {
        self.arm(Trigger::Bytes(direction, bytes), cut);
    }

    pub(super) fn cut_after_more(&mut self, direction: Direction, bytes: u64, cut: Cut) {
        self.arm(Trigger::MoreBytes(direction, bytes), cut);
    }

    pub(super) fn cut_before(&mut self, cut: Cut, matches: Predicate) {
        self.arm(Trigger::Before(matches), cut);
    }

    pub(super) fn cut_reply(&mut self, cut: Cut, matches: Predicate) {
        self.arm(Trigger::Reply(matches), cut);
    }

    pub(super) fn once(&mut self) {
        self.cuts.iter_mut().for_each(|rule| rule.once = true);
    }

    pub(super) fn last_once(&mut self) {
        self.cuts
            .iter_mut()
            .rev()
            .take(1)
            .for_each(|rule| rule.once = true);
    }

    pub(super) fn disarm(&mut self) {
        self.cuts.clear();
        self.refusals.clear();
        self.rewrites.clear();
    }

    pub(super) fn rewrite(&mut self, way: Direction, change: Rewriting) {
        self.rewrites.push(Rewrite(way, change));
    }

    pub(super) fn rewrites(&self, way: Direction) -> Vec<Rewrite> {
        let mut all = self.rewrites.clone();
        all.retain(|one| one.0 == way);
        all
    }

    pub(super) fn refuse(&mut self, refusal: Refusal, matches: Predicate) {
        self.refusals.push(Refused(matches, refusal));
    }

    pub(super) fn refusal(&mut self, line: &str) -> Option<Refusal> {
        let hit = |refused: &Refused| (refused.0)(line);
        let at = self.refusals.iter().position(hit)?;
        Some(self.refusals.remove(at).1)
    }

    /// If `next` more bytes after `passed` reach a limit: how many may still pass, and the cut then due.
    pub(super) fn bytes_cut(
        &mut self,
        way: Direction,
        passed: u64,
        next: usize,
    ) -> Option<(usize, Cut)> {
        let next = next as u64;
        for at in 0..self.cuts.len() {
            let left = match &mut self.cuts[at].trigger {
                Trigger::Bytes(direction, limit) if *direction == way => {
                    limit.saturating_sub(passed)
                }
                Trigger::MoreBytes(direction, left) if *direction == way => {
                    let before = *left;
                    *left = left.saturating_sub(next);
                    before
                }
                _ => continue,
            };
            if left <= next {
                return Some((usize::try_from(left).ok()?, self.fire(at).cut));
            }
        }
        None
    }

    pub(super) fn command_cut(&mut self, line: &str) -> Option<Cut> {
        let hit = |rule: &Rule| matches!(&rule.trigger, Trigger::Before(matches) if matches(line));
        self.cuts.iter().position(hit).map(|at| self.fire(at).cut)
    }

    pub(super) fn reply_cut(&mut self, line: &str) -> Option<Cut> {
        let hit = |rule: &Rule| matches!(&rule.trigger, Trigger::Reply(matches) if matches(line));
        self.cuts.iter().position(hit).map(|at| self.fire(at).cut)
    }

    fn arm(&mut self, trigger: Trigger, cut: Cut) {
        self.cuts.push(Rule {
            trigger,
            cut,
            once: false,
        });
    }

    fn fire(&mut self, at: usize) -> Rule {
        if self.cuts[at].once {
            self.cuts.remove(at)
        } else {
            self.cuts[at].clone()
        }
    }
}

/// A first line as these say, each in its turn. Bytes that are no UTF-8 leave it as it is.
pub(super) fn rewritten(line: Vec<u8>, rewrites: &[Rewrite]) -> Vec<u8> {
    let Ok(mut text) = std::str::from_utf8(&line).map(str::to_owned) else {
        return line;
    };
    for Rewrite(_, change) in rewrites {
        if let Some(other) = change(text.trim_end()) {
            text = format!("{other}\r\n");
        }
    }
    text.into_bytes()
}

impl fmt::Debug for Rewrite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} rewritten", self.0)
    }
}

impl fmt::Debug for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} to a command", self.1)
    }
}

impl fmt::Debug for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trigger::Bytes(direction, bytes) => write!(f, "{direction:?} {bytes}"),
            Trigger::MoreBytes(direction, left) => write!(f, "{direction:?} {left} more"),
            Trigger::Before(_) => write!(f, "before a command"),
            Trigger::Reply(_) => write!(f, "instead of a reply"),
        }
    }
}
