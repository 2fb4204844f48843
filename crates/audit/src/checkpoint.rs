//! A signed statement of how long the log is and what its tree's root is: kept elsewhere, it makes a cut tail visible.
//!
//! The form is the one that transparency logs share (C2SP tlog-checkpoint in a signed note, Ed25519), so that their tools
//! can read it: three lines (origin, size, root in base64), an empty one, and one line for each signature.

use aws_lc_rs::signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::{Hash, LogId, Peaks};

/// What a signature line begins with.
const DASH: &str = "\u{2014} ";
/// Ed25519, in the numbering of signed notes.
const ALGORITHM: u8 = 1;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Checkpoint {
    pub origin: String,
    /// How many records it covers.
    pub size: u64,
    pub root: Hash,
}

/// Why a text is no checkpoint of this log.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadCheckpoint {
    #[error("it is no checkpoint: three lines, an empty one and a signature are expected")]
    Shape,
    #[error("it is of another log, {0}")]
    Origin(String),
    #[error("it carries no valid signature of {0}")]
    Signature(String),
}

/// Who signs: the name of the log and its public key, written `NAME+ID+KEY` as signed notes do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verifier {
    name: String,
    key: [u8; 32],
}

impl Verifier {
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().splitn(3, '+');
        let (name, id, key) = (parts.next()?, parts.next()?, parts.next()?);
        let key = STANDARD.decode(key).ok()?;
        let key: [u8; 32] = key.strip_prefix(&[ALGORITHM])?.try_into().ok()?;
        let verifier = Self {
            name: name.to_owned(),
            key,
        };
        let same = name == origin(&verifier.log_id()) && verifier.id_hex() == id;
        same.then_some(verifier)
    }

    pub(crate) fn of(pair: &Ed25519KeyPair) -> Self {
        let mut key = [0u8; 32];
        key.iter_mut()
            .zip(pair.public_key().as_ref())
            .for_each(|(to, from)| *to = *from);
        Self {
            name: origin(&LogId::of_key(&key)),
            key,
        }
    }

    /// A log is named after its key.
    pub fn log_id(&self) -> LogId {
        LogId::of_key(&self.key)
    }

    fn id(&self) -> [u8; 4] {
        let named = [self.name.as_bytes(), b"\n", &[ALGORITHM], &self.key].concat();
        let [a, b, c, d, ..] = *Hash::of_bytes(&named).as_bytes();
        [a, b, c, d]
    }

    fn id_hex(&self) -> String {
        format!("{:08x}", u32::from_be_bytes(self.id()))
    }

    fn accepts(&self, text: &str, signature: &str) -> bool {
        let Ok(bytes) = STANDARD.decode(signature) else {
            return false;
        };
        let key = UnparsedPublicKey::new(&ED25519, &self.key);
        bytes
            .strip_prefix(&self.id())
            .is_some_and(|signature| key.verify(text.as_bytes(), signature).is_ok())
    }
}

impl std::fmt::Display for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = STANDARD.encode([&[ALGORITHM], self.key.as_slice()].concat());
        write!(f, "{}+{}+{key}", self.name, self.id_hex())
    }
}

const ORIGIN: &str = "mailwarden/audit/";

fn origin(log: &LogId) -> String {
    format!("{ORIGIN}{log}")
}

/// Which log a signed text speaks of, by its own word: nothing is verified.
pub(crate) fn log_of(note: &str) -> Option<LogId> {
    let first = note.lines().next()?;
    LogId::parse(first.strip_prefix(ORIGIN)?)
}

impl Checkpoint {
    /// The signed text for the tree as it stands.
    pub(crate) fn sign(tree: &Peaks, pair: &Ed25519KeyPair) -> String {
        let verifier = Verifier::of(pair);
        let root = STANDARD.encode(tree.root().as_bytes());
        let text = format!("{}\n{}\n{root}\n", verifier.name, tree.size());
        let signature = pair.sign(text.as_bytes());
        let signed = STANDARD.encode([&verifier.id(), signature.as_ref()].concat());
        format!("{text}\n{DASH}{} {signed}\n", verifier.name)
    }

    /// Reads a text that this log's key has signed; signatures of others beside it do no harm.
    pub fn open(note: &str, verifier: &Verifier) -> Result<Self, BadCheckpoint> {
        let end = note.rfind("\n\n").ok_or(BadCheckpoint::Shape)? + 1;
        let (text, signatures) = note.split_at_checked(end).ok_or(BadCheckpoint::Shape)?;
        let read = Self::read(text).ok_or(BadCheckpoint::Shape)?;
        if read.origin != verifier.name {
            return Err(BadCheckpoint::Origin(read.origin));
        }
        let signed = signatures
            .lines()
            .filter_map(|line| line.strip_prefix(DASH)?.split_once(' '))
            .any(|(name, signature)| name == verifier.name && verifier.accepts(text, signature));
        match signed {
            true => Ok(read),
            false => Err(BadCheckpoint::Signature(verifier.name.clone())),
        }
    }

    fn read(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let number: u64 = size.parse().ok()?;
        let root = STANDARD.decode(root).ok()?;
        (number.to_string() == size).then_some(Self {
            origin: origin.to_owned(),
            size: number,
            root: Hash::from_bytes(root.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn tree(size: u8) -> Peaks {
        let mut tree = Peaks::default();
        (0..size).for_each(|n| tree.push(Hash::of_record(&[n])));
        tree
    }

    #[test]
    fn what_was_signed_is_opened() {
        let (pair, tree) = (pair(1), tree(5));
        let verifier = Verifier::of(&pair);
        let note = Checkpoint::sign(&tree, &pair);
        let opened = Checkpoint::open(&note, &verifier).unwrap();
        assert_eq!((opened.size, opened.root), (5, tree.root()));
        assert_eq!(Verifier::parse(&verifier.to_string()), Some(verifier));
    }

    #[test]
    fn no_changed_byte_is_accepted() {
        let pair = pair(1);
        let verifier = Verifier::of(&pair);
        let note = Checkpoint::sign(&tree(5), &pair);
        for at in 0..note.len() {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1;
            let Ok(changed) = String::from_utf8(bytes) else {
                continue;
            };
            // The very last line feed is not part of anything.
            if at + 1 < note.len() {
                assert!(Checkpoint::open(&changed, &verifier).is_err(), "{at}");
            }
        }
    }

    #[test]
    fn another_log_is_told_apart() {
        let note = Checkpoint::sign(&tree(5), &pair(2));
        let opened = Checkpoint::open(&note, &Verifier::of(&pair(1)));
        assert!(matches!(opened, Err(BadCheckpoint::Origin(_))));
        assert_eq!(
            Checkpoint::open("hello", &Verifier::of(&pair(1))),
            Err(BadCheckpoint::Shape)
        );
    }

    #[test]
    fn a_witness_may_sign_too() {
        let pair = pair(1);
        let note = Checkpoint::sign(&tree(5), &pair) + DASH + "witness.example AAAA\n";
        assert!(Checkpoint::open(&note, &Verifier::of(&pair)).is_ok());
    }
}
