//! CSS selectors: parsing, and matching against the tree.

pub(crate) mod matching;
pub(crate) mod parser;
