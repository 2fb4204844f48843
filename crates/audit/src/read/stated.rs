//! What the records say that a reader must understand: the trees that they state, and what became of other records.

use serde_json::Value;

use crate::event::{BASES, DAY_CLOSED, RETENTION, TORN_TAIL};
use crate::{Hash, Peaks};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stated {
    /// Nothing that a reader has to compare.
    Nothing,
    /// The tree over the records before: `day_opened`, `tree_stated`, `log_cut`.
    Tree(Peaks),
    /// Its root alone: `day_closed`.
    Root { size: u64, root: Hash },
    /// Bytes that were set aside after a crash.
    Torn {
        kept_as: String,
        bytes: u64,
        sha256: Hash,
    },
    /// A day that retention deleted, and what it ended with.
    Deleted { day: String, last: u64, hash: Hash },
}

impl Stated {
    /// None when a record that must state something does not.
    pub(crate) fn of(event: &str, line: &[u8]) -> Option<Self> {
        match event {
            base if BASES.contains(&base) => Self::tree(&json(line)?),
            DAY_CLOSED => {
                let value = json(line)?;
                Some(Self::Root {
                    size: value.get("tree_size")?.as_u64()?,
                    root: hash(value.get("root")?)?,
                })
            }
            TORN_TAIL => {
                let value = json(line)?;
                Some(Self::Torn {
                    kept_as: value.get("kept_as")?.as_str()?.to_owned(),
                    bytes: value.get("bytes")?.as_u64()?,
                    sha256: hash(value.get("sha256")?)?,
                })
            }
            RETENTION => Self::retention(&json(line)?),
            _ => Some(Self::Nothing),
        }
    }

    fn tree(value: &Value) -> Option<Self> {
        let size = value.get("tree_size")?.as_u64()?;
        let peaks = value.get("peaks")?.as_array()?;
        let peaks: Option<Vec<Hash>> = peaks.iter().map(hash).collect();
        Peaks::new(size, peaks?).map(Self::Tree)
    }

    fn retention(value: &Value) -> Option<Self> {
        match value.get("step")?.as_str()? {
            "deleted" => Some(Self::Deleted {
                day: value.get("day")?.as_str()?.to_owned(),
                last: value.get("through_seq")?.as_u64()?,
                hash: hash(value.get("through_hash")?)?,
            }),
            _ => Some(Self::Nothing),
        }
    }
}

fn json(line: &[u8]) -> Option<Value> {
    serde_json::from_slice(line).ok()
}

fn hash(value: &Value) -> Option<Hash> {
    Hash::parse(value.as_str()?.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_must_be_stated_is() {
        let of = |event: &str, line: &str| Stated::of(event, line.as_bytes());
        assert_eq!(of("call", "no JSON"), Some(Stated::Nothing));
        assert_eq!(
            of("day_opened", r#"{"tree_size":0,"peaks":[]}"#),
            Some(Stated::Tree(Peaks::default()))
        );
        assert_eq!(
            of("retention", r#"{"step":"compressed","day":"2026-11-15"}"#),
            Some(Stated::Nothing)
        );
        let peaks = vec![Hash::ZERO.to_string(); 64];
        let endless = serde_json::json!({ "tree_size": u64::MAX, "peaks": peaks }).to_string();
        for (event, line) in [
            ("day_opened", r#"{"tree_size":1,"peaks":[]}"#),
            ("tree_stated", r#"{"tree_size":0}"#),
            ("day_opened", &endless),
            ("log_cut", r#"{"tree_size":-1,"peaks":[]}"#),
            ("day_closed", r#"{"tree_size":0,"root":"00"}"#),
            ("torn_tail", r#"{"kept_as":7,"bytes":1,"sha256":""}"#),
            ("retention", r#"{"step":"deleted","day":"2026-11-15"}"#),
            ("day_opened", "{"),
        ] {
            assert_eq!(of(event, line), None, "{event} {line}");
        }
    }
}
