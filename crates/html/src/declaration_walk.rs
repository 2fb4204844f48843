//! The walk over the declarations of one property, from the strongest down.

use std::cmp::Reverse;

use crate::style::MAX_POSSIBLE_VALUES;
use crate::stylesheet::Declaration;
use crate::truth::Truth;

/// Later and greater wins.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    pub important: bool,
    pub inline: bool,
    pub layer: Layer,
    pub specificity: u32,
    pub order: usize,
}

/// Unlayered declarations override layered ones; `!important` reverses the order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    Early(usize),
    None,
    Late(Reverse<usize>),
}

/// A declaration that may apply to the element at hand.
pub(crate) struct AppliedDeclaration<'d> {
    pub rank: Rank,
    pub applies: Truth,
    pub unranked: bool,
    pub declaration: &'d Declaration,
}

/// What the walk over the declarations of one property has gathered.
pub(crate) struct DeclarationWalk<T> {
    pub values: Vec<T>,
    pub inherits: bool,
    pub unset: bool,
    pub any: bool,
    /// Some declaration was walked.
    pub touched: bool,
    /// A declaration certainly applies: weaker ones do not.
    pub ended: bool,
}

impl<T> Default for DeclarationWalk<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            inherits: false,
            unset: false,
            any: false,
            touched: false,
            ended: false,
        }
    }
}

impl<T: PartialEq> DeclarationWalk<T> {
    pub(crate) fn is_over(&self, next: &AppliedDeclaration<'_>) -> bool {
        self.ended && !next.unranked
    }

    pub(crate) fn may_end(&mut self, one: &AppliedDeclaration<'_>) {
        self.ended |= one.applies.is_certain() && !one.unranked;
    }

    pub(crate) fn add(&mut self, value: T) {
        self.touched = true;
        if self.values.len() > MAX_POSSIBLE_VALUES {
            self.any = true;
        } else if !self.values.contains(&value) {
            self.values.push(value);
        }
    }

    pub(crate) fn inherit(&mut self) {
        (self.touched, self.inherits) = (true, true);
    }

    pub(crate) fn unset(&mut self) {
        (self.touched, self.unset) = (true, true);
    }

    pub(crate) fn any(&mut self) {
        (self.touched, self.any) = (true, true);
    }
}
