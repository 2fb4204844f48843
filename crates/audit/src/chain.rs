//! The end of the chain: all that is needed to write the next record, or to check the next one.

use jiff::Timestamp;

use crate::event::{BASES, Event};
use crate::line::{self, Line, Place};
use crate::read::Stated;
use crate::{Digester, Hash, Peaks};

/// A reader finds the end of a file without reading all of it: at most so many records back, the whole tree is stated.
const BETWEEN_BASES: u64 = 1_024;

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Chain {
    tree: Peaks,
    prev: Hash,
    /// As the last record says it.
    ts: Option<Timestamp>,
    since_base: u64,
}

/// A line that does not go on where the chain ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Broken;

impl Chain {
    /// Before the very first record.
    pub(crate) fn new() -> Self {
        Self {
            tree: Peaks::default(),
            prev: Hash::ZERO,
            ts: None,
            since_base: 0,
        }
    }

    /// The chain up to right before a record that states the whole tree.
    pub(crate) fn before_base(line: &Line<'_>, text: &[u8]) -> Option<Self> {
        if !BASES.contains(&line.event) || !line.is_whole() {
            return None;
        }
        let Some(Stated::Tree(tree)) = Stated::of(line.event, text) else {
            return None;
        };
        (tree.size() == line.seq).then_some(Self {
            tree,
            prev: line.prev,
            ts: None,
            since_base: 0,
        })
    }

    /// Goes on by one record that was read.
    pub(crate) fn follow(&mut self, line: &Line<'_>) -> Result<(), Broken> {
        if line.seq != self.seq() || line.prev != self.prev || !line.is_whole() {
            return Err(Broken);
        }
        self.advance(line.hash, line.event);
        self.ts = line.ts.parse().ok();
        Ok(())
    }

    /// Goes on by one record that is written here.
    pub(crate) fn write(
        &mut self,
        out: &mut Vec<u8>,
        ts: Timestamp,
        event: &Event,
        digester: &Digester,
    ) -> (u64, Hash) {
        let mut fields = Vec::new();
        let tree = event.states.fields(&self.tree);
        tree.write(&mut fields, digester);
        event.fields.write(&mut fields, digester);
        event.common_fields().write(&mut fields, digester);
        self.write_fields(out, ts, event.name, &fields)
    }

    /// The same with fields that are spelled already, each behind a comma.
    pub(crate) fn write_fields(
        &mut self,
        out: &mut Vec<u8>,
        ts: Timestamp,
        event: &str,
        fields: &[u8],
    ) -> (u64, Hash) {
        let place = Place {
            seq: self.seq(),
            ts,
            prev: self.prev,
        };
        let hash = line::write(out, &place, event, fields);
        self.advance(hash, event);
        self.ts = Some(ts);
        (place.seq, hash)
    }

    /// Goes on by a record that cannot be read, but whose hash is known.
    pub(crate) fn step_over(&mut self, hash: Hash) {
        self.advance(hash, "");
    }

    fn advance(&mut self, hash: Hash, event: &str) {
        self.prev = hash;
        self.tree.push(hash);
        self.since_base = match BASES.contains(&event) {
            true => 0,
            false => self.since_base + 1,
        };
    }

    /// The number of the next record.
    pub(crate) fn seq(&self) -> u64 {
        self.tree.size()
    }

    pub(crate) fn tree(&self) -> &Peaks {
        &self.tree
    }

    /// The hash of the last record.
    pub(crate) fn prev(&self) -> Hash {
        self.prev
    }

    pub(crate) fn last_ts(&self) -> Option<Timestamp> {
        self.ts
    }

    /// Whether it is time to state the tree again.
    pub(crate) fn wants_base(&self) -> bool {
        self.since_base >= BETWEEN_BASES
    }
}
