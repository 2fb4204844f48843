//! A proof for one record: the path from it up to a root that the log has signed (RFC 9162, section 2.1.3).
//!
//! Whoever holds the proof and the log's public key can check it without the log: that the record is in it, at its
//! place, and was there when the checkpoint was signed.

use std::io;
use std::path::Path;

use serde_json::{Value, json};

use crate::read::{Days, Piece, Read, Stated, newest};
use crate::{BadCheckpoint, Checkpoint, Hash, Line, Peaks, Verifier, verifier};

/// What the document says it is.
const KIND: &str = "mailwarden-audit-proof-1";
/// No tree is higher.
const MOST: usize = 64;
/// No proof is longer: a record of the greatest length, written as a string, and little beside it.
pub const LONGEST: usize = 3 << 20;

/// Why there is no proof.
#[derive(Debug, thiserror::Error)]
pub enum NoProof {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("the log has no signed checkpoint yet")]
    NoCheckpoint,
    #[error("the newest checkpoint covers {size} records, and record {seq} is not among them")]
    NotCovered { seq: u64, size: u64 },
    #[error("the log begins with record {first}; what stood before it was deleted")]
    Deleted { first: u64 },
    #[error("the log is not good at {file}, line {line}; `audit verify` says more")]
    Broken { file: String, line: u64 },
    #[error("the log does not lead to the checkpoint; `audit verify` says more")]
    Root,
}

/// Why a document proves nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadProof {
    #[error("it is no proof: {0}")]
    Shape(&'static str),
    #[error("its record is not whole: its hash is not that of its text")]
    Record,
    #[error("its record is {seq}, and it says {index}")]
    Index { seq: u64, index: u64 },
    #[error("its checkpoint cannot be used: {0}")]
    Checkpoint(#[from] BadCheckpoint),
    #[error("its checkpoint covers {signed} records, and it says {stated}")]
    Size { signed: u64, stated: u64 },
    #[error("its path does not lead from the record to the root that was signed")]
    Path,
}

/// What a proof proves.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proven {
    /// The record's line, as it stands in the log.
    pub record: String,
    pub index: u64,
    pub checkpoint: Checkpoint,
    /// Who signed. Without a key of one's own it is the one that came with the document, to be compared.
    pub key: Verifier,
}

/// Makes the proof for a record, in one pass from the oldest day up to the newest checkpoint.
pub fn prove(dir: &Path, seq: u64) -> Result<Value, NoProof> {
    let key = verifier(dir)?;
    let (signed, checkpoint) = newest(dir, &key)?.ok_or(NoProof::NoCheckpoint)?;
    if seq >= checkpoint.size {
        return Err(NoProof::NotCovered {
            seq,
            size: checkpoint.size,
        });
    }
    let climb = walk(dir, seq, &checkpoint)?;
    let (record, path) = match (climb.tree.root() == checkpoint.root, climb.record) {
        (true, Some(record)) => (record, climb.trail.finish(&climb.tree)),
        _ => return Err(NoProof::Root),
    };
    let path: Vec<String> = path.iter().map(Hash::to_string).collect();
    Ok(json!({
        "kind": KIND,
        "record": record,
        "index": seq,
        "tree_size": checkpoint.size,
        "path": path,
        "checkpoint": signed.note,
        "key": key.to_string(),
    }))
}

struct Climb {
    tree: Peaks,
    trail: Trail,
    record: Option<String>,
}

fn walk(dir: &Path, seq: u64, checkpoint: &Checkpoint) -> Result<Climb, NoProof> {
    let mut days = Days::of(dir, None, None)?;
    let mut climb: Option<Climb> = None;
    let mut head = Hash::ZERO;
    while climb
        .as_ref()
        .is_none_or(|climb| climb.tree.size() < checkpoint.size)
    {
        let whole = match days.advance() {
            None => break,
            Some(Read::Day(_)) => continue,
            Some(Read::Piece(Piece::Line(bytes))) => {
                let line = Line::parse(bytes).ok().filter(Line::is_whole);
                line.map(|line| (line, bytes))
            }
            Some(_) => None,
        };
        let taken = match (whole, &mut climb) {
            (Some((line, bytes)), Some(climb)) => climb.take(&line, bytes, head),
            (Some((line, bytes)), None) => {
                let tree = before(&line, bytes);
                let first = tree.size();
                if first > seq {
                    return Err(NoProof::Deleted { first });
                }
                let mut begun = Climb {
                    tree,
                    trail: Trail::of(seq),
                    record: None,
                };
                head = line.prev;
                let taken = begun.take(&line, bytes, head);
                climb = Some(begun);
                taken
            }
            (None, _) => None,
        };
        let Some(hash) = taken else {
            let at = days.at();
            return Err(NoProof::Broken {
                file: at.file,
                line: at.line,
            });
        };
        head = hash;
    }
    climb.ok_or(NoProof::Root)
}

/// The tree over what stood before the first record that is there.
fn before(line: &Line<'_>, bytes: &[u8]) -> Peaks {
    match Stated::of(line.event, bytes) {
        Some(Stated::Tree(tree)) if tree.size() == line.seq => tree,
        _ => Peaks::default(),
    }
}

impl Climb {
    /// The record's hash, when it is the next one.
    fn take(&mut self, line: &Line<'_>, bytes: &[u8], head: Hash) -> Option<Hash> {
        if line.seq != self.tree.size() || line.prev != head {
            return None;
        }
        if line.seq == self.trail.index {
            self.record = Some(std::str::from_utf8(bytes).ok()?.to_owned());
        }
        self.trail.push(&self.tree, line.hash);
        self.tree.push(line.hash);
        Some(line.hash)
    }
}

/// The siblings on the way from one leaf to the root, gathered while the tree grows.
struct Trail {
    index: u64,
    siblings: Vec<Hash>,
}

impl Trail {
    fn of(index: u64) -> Self {
        Self {
            index,
            siblings: Vec::new(),
        }
    }

    /// To be called just before the leaf is pushed.
    fn push(&mut self, tree: &Peaks, leaf: Hash) {
        let (newest, index) = (tree.size(), self.index);
        let merges = newest.trailing_ones();
        // Whether the node that the leaf becomes a part of, so many merges up, covers ours.
        let covers = |merges: u32| newest + 1 - (1 << merges) <= index && index <= newest;
        if !covers(merges) {
            return;
        }
        let mut node = leaf;
        for (height, left) in (0..merges).zip(tree.as_slice().iter().rev()) {
            match (covers(height), covers(height + 1)) {
                (true, _) => self.siblings.push(*left),
                (false, true) => self.siblings.push(node),
                (false, false) => {}
            }
            node = Hash::of_nodes(left, &node);
        }
    }

    /// The siblings above the peak that the leaf is under: what stands right of it as one node, then what stands left.
    fn finish(mut self, tree: &Peaks) -> Vec<Hash> {
        let mut from = 0;
        let mut left = Vec::new();
        let mut peaks = tree.as_slice().iter();
        let heights = (0..u64::BITS)
            .rev()
            .filter(|bit| tree.size() >> bit & 1 == 1);
        for (height, peak) in heights.zip(&mut peaks) {
            from += 1 << height;
            if self.index < from {
                break;
            }
            left.push(*peak);
        }
        let right = peaks
            .rev()
            .copied()
            .reduce(|right, left| Hash::of_nodes(&left, &right));
        self.siblings.extend(right);
        self.siblings.extend(left.into_iter().rev());
        self.siblings
    }
}

/// The root that a path leads to. None when it is not as long as the tree is high (RFC 9162, section 2.1.3.2).
fn root_of(leaf: Hash, index: u64, size: u64, path: &[Hash]) -> Option<Hash> {
    let (mut node, mut last) = (index, size.checked_sub(1).filter(|last| index <= *last)?);
    let mut root = leaf;
    for sibling in path {
        if last == 0 {
            return None;
        }
        if node & 1 == 1 || node == last {
            root = Hash::of_nodes(sibling, &root);
            while node & 1 == 0 && node != 0 {
                (node, last) = (node >> 1, last >> 1);
            }
        } else {
            root = Hash::of_nodes(&root, sibling);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    (last == 0).then_some(root)
}

/// Checks a proof, without the log. Without a key of one's own it is checked against the key that came with it: then
/// it proves something only to who compares that key.
pub fn verify_proof(document: &str, key: Option<&Verifier>) -> Result<Proven, BadProof> {
    if document.len() > LONGEST {
        return Err(BadProof::Shape("it is too long"));
    }
    let value: Value =
        serde_json::from_str(document).map_err(|_| BadProof::Shape("it is no JSON"))?;
    let text = |name: &'static str| {
        value
            .get(name)
            .and_then(Value::as_str)
            .ok_or(BadProof::Shape(name))
    };
    let number = |name: &'static str| {
        value
            .get(name)
            .and_then(Value::as_u64)
            .ok_or(BadProof::Shape(name))
    };
    if text("kind")? != KIND {
        return Err(BadProof::Shape("kind"));
    }
    let (record, index, stated) = (text("record")?, number("index")?, number("tree_size")?);
    let path = path(&value).ok_or(BadProof::Shape("path"))?;
    let own = Verifier::parse(text("key")?).ok_or(BadProof::Shape("key"))?;
    let key = key.unwrap_or(&own);
    let line = Line::parse(record.as_bytes()).map_err(|_| BadProof::Shape("record"))?;
    if !line.is_whole() {
        return Err(BadProof::Record);
    }
    if line.seq != index {
        return Err(BadProof::Index {
            seq: line.seq,
            index,
        });
    }
    let checkpoint = Checkpoint::open(text("checkpoint")?, key)?;
    if checkpoint.size != stated {
        return Err(BadProof::Size {
            signed: checkpoint.size,
            stated,
        });
    }
    if root_of(line.hash, index, stated, &path) != Some(checkpoint.root) {
        return Err(BadProof::Path);
    }
    Ok(Proven {
        record: record.to_owned(),
        index,
        checkpoint,
        key: key.clone(),
    })
}

fn path(value: &Value) -> Option<Vec<Hash>> {
    let path = value.get("path")?.as_array()?;
    if path.len() > MOST {
        return None;
    }
    path.iter()
        .map(|hash| Hash::parse(hash.as_str()?.as_bytes()))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::sample::{self, Calls};
    use crate::tree::tests::defined;

    /// The path as RFC 9162 defines it, from all leaves at once.
    fn defined_path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
        if leaves.len() <= 1 {
            return Vec::new();
        }
        let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
        let (mut path, sibling) = match index.checked_sub(left.len()) {
            None => (defined_path(index, left), defined(right)),
            Some(index) => (defined_path(index, right), defined(left)),
        };
        path.push(sibling);
        path
    }

    fn leaves(count: usize) -> Vec<Hash> {
        (0..count)
            .map(|n| Hash::of_record(&n.to_be_bytes()))
            .collect()
    }

    /// As the log is walked, from the peaks over the first `from` leaves on.
    fn gathered(index: usize, from: usize, leaves: &[Hash]) -> Vec<Hash> {
        let mut tree = Peaks::default();
        leaves[..from].iter().for_each(|leaf| tree.push(*leaf));
        let mut trail = Trail::of(index as u64);
        for leaf in &leaves[from..] {
            trail.push(&tree, *leaf);
            tree.push(*leaf);
        }
        trail.finish(&tree)
    }

    #[test]
    fn small_trees_have_the_paths_that_the_rfc_defines() {
        for size in 1..40 {
            let leaves = leaves(size);
            for index in 0..size {
                let path = defined_path(index, &leaves);
                for from in 0..=index {
                    assert_eq!(
                        gathered(index, from, &leaves),
                        path,
                        "{index} of {size}, from {from}"
                    );
                }
                let root = root_of(leaves[index], index as u64, size as u64, &path);
                assert_eq!(root, Some(defined(&leaves)));
            }
        }
    }

    proptest! {
        #[test]
        fn any_path_is_the_one_that_the_rfc_defines(size in 1usize..3000, index: prop::sample::Index, from: prop::sample::Index) {
            let leaves = leaves(size);
            let index = index.index(size);
            let path = gathered(index, from.index(index + 1), &leaves);
            prop_assert_eq!(&path, &defined_path(index, &leaves));
            let (at, count) = (index as u64, size as u64);
            prop_assert_eq!(root_of(leaves[index], at, count, &path), Some(defined(&leaves)));
            // Neither another place nor another leaf leads there.
            prop_assert_ne!(root_of(leaves[index], at ^ 1, count, &path), Some(defined(&leaves)));
            prop_assert_ne!(root_of(Hash::ZERO, at, count, &path), Some(defined(&leaves)));
            prop_assert_eq!(root_of(leaves[index], count, count, &path), None);
        }
    }

    #[test]
    fn every_record_has_a_proof() {
        let dir = tempfile::tempdir().unwrap();
        sample::three_days(dir.path(), 200, Calls::Brief).unwrap();
        let key = verifier(dir.path()).unwrap();
        for seq in (0..200).step_by(9).chain([66, 67, 199]) {
            let document = prove(dir.path(), seq).unwrap().to_string();
            let proven = verify_proof(&document, Some(&key)).unwrap();
            assert_eq!((proven.index, proven.checkpoint.size), (seq, 200));
            assert!(proven.record.starts_with(&format!(r#"{{"seq":{seq},"#)));
        }
        assert!(matches!(
            prove(dir.path(), 200),
            Err(NoProof::NotCovered { .. })
        ));
        let whole = prove(dir.path(), 150).unwrap();
        // When the oldest days are gone, the younger records can still be proven.
        let oldest = crate::Day::parse("2026-11-13").unwrap();
        std::fs::remove_file(oldest.file(dir.path())).unwrap();
        assert_eq!(prove(dir.path(), 150).unwrap(), whole);
        assert!(matches!(
            prove(dir.path(), 66),
            Err(NoProof::Deleted { first: 67 })
        ));
    }

    #[test]
    fn no_changed_proof_is_accepted() {
        let dir = tempfile::tempdir().unwrap();
        sample::three_days(dir.path(), 50, Calls::Brief).unwrap();
        let key = verifier(dir.path()).unwrap();
        let document = prove(dir.path(), 20).unwrap().to_string();
        assert!(verify_proof(&document, None).is_ok());
        for at in 0..document.len() {
            let mut changed = document.clone().into_bytes();
            changed[at] ^= 1;
            let Ok(changed) = String::from_utf8(changed) else {
                continue;
            };
            let Ok(proven) = verify_proof(&changed, Some(&key)) else {
                continue;
            };
            // What is not looked at may change: the line feed behind the signature, and the key that was not used.
            assert_eq!(
                proven.record,
                verify_proof(&document, None).unwrap().record,
                "{at}"
            );
            assert!(
                changed.as_bytes()[at] == b'o' || at > changed.find("\"key\"").unwrap(),
                "{at}"
            );
        }
        let other = tempfile::tempdir().unwrap();
        sample::three_days(other.path(), 50, Calls::Brief).unwrap();
        let other = verifier(other.path()).unwrap();
        assert!(matches!(
            verify_proof(&document, Some(&other)),
            Err(BadProof::Checkpoint(BadCheckpoint::Origin(_)))
        ));
    }

    #[test]
    fn hostile_documents_are_refused() {
        let long = format!(r#"{{"kind":"{KIND}","path":[{}]}}"#, "[".repeat(5000));
        for document in ["", "{}", "[]", "null", &long, &"x".repeat(LONGEST + 1)] {
            assert!(matches!(
                verify_proof(document, None),
                Err(BadProof::Shape(_))
            ));
        }
    }
}
