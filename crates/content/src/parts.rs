//! The parts that came, cut to what was wished: one wish has one answer, whatever else a source has at hand.

use std::collections::HashMap;

use mail::{Fetched, Leaf, Section};

use crate::choose::{BodyWish, choose};
use crate::outline::Completeness;

pub(crate) struct Parts<'a> {
    came: HashMap<&'a Section, &'a mail::Part>,
    wished: HashMap<Section, u64>,
}

/// Bytes of a part, transfer encoding still on.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    pub bytes: &'a [u8],
    pub whole: Completeness,
}

pub(crate) enum Sought<'a> {
    Here(Piece<'a>),
    /// It was wished for and did not come.
    Missing,
    /// It was left at the source on purpose.
    Left,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(fetched: &'a Fetched, wish: &BodyWish) -> Self {
        let wished = choose(&fetched.structure, wish);
        Self {
            came: fetched
                .parts
                .iter()
                .map(|part| (&part.section, part))
                .collect(),
            wished: wished
                .into_iter()
                .map(|one| (one.section, one.max_bytes))
                .collect(),
        }
    }

    pub(crate) fn find(&self, leaf: &Leaf) -> Sought<'a> {
        let Some(most) = self.wished.get(&leaf.section) else {
            return Sought::Left;
        };
        let Some(part) = self.came.get(&leaf.section) else {
            return Sought::Missing;
        };
        let bytes: &'a [u8] = &part.bytes;
        let most = usize::try_from(*most).unwrap_or(usize::MAX);
        let kept = bytes.get(..most).unwrap_or(bytes);
        Sought::Here(Piece {
            bytes: kept,
            whole: if part.truncated || kept.len() < bytes.len() {
                Completeness::Cut
            } else {
                Completeness::Complete
            },
        })
    }

    pub(crate) fn piece(&self, leaf: &Leaf) -> Option<Piece<'a>> {
        match self.find(leaf) {
            Sought::Here(piece) => Some(piece),
            Sought::Missing | Sought::Left => None,
        }
    }
}

impl Piece<'_> {
    pub(crate) fn is_cut(&self) -> bool {
        self.whole == Completeness::Cut
    }
}
