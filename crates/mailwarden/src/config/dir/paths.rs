//! Paths in a configuration: those that do not begin at the root begin at the configuration directory.

use std::path::{Path, PathBuf};

use super::reader::Reader;
use super::yaml::Node;

/// `None` for what is no path; that has been complained of, here or when its type was checked.
pub(super) fn resolve(node: &Node, dir: &Path, reader: &mut Reader<'_>) -> Option<PathBuf> {
    let text = node.text()?;
    if text.starts_with('~') || text.contains('$') {
        reader.problem(
            node,
            "'~' and variables mean nothing here",
            "write the whole path",
        );
        return None;
    }
    if text.contains("://") {
        reader.problem(
            node,
            "this is an address, not a path",
            "write the path of a file or directory",
        );
        return None;
    }
    Some(dir.join(text))
}
