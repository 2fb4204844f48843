//! The audit log as a test reads it: records that follow each other, and what a reply's receipt points at.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use audit::read::Verify;
use audit::{Hash, Line};
use serde_json::Value;

use crate::support::program;

/// A state directory of its own, with the log in it.
pub(crate) struct State(tempfile::TempDir);

/// What may stand at the end of a log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tail {
    Whole,
    /// A process was killed while it wrote.
    MayBeTorn,
}

impl State {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn audit(&self) -> PathBuf {
        self.0.path().join("audit")
    }

    /// The program with this state, ready for account variables.
    pub(crate) fn program(&self) -> Command {
        let mut command = program();
        command.env("MAILWARDEN_STATE_DIR", self.path());
        command
    }

    /// All records, after checking that they are one chain from the very first on.
    pub(crate) fn records(&self, tail: Tail) -> Vec<Value> {
        let mut expected = (0, Hash::ZERO);
        let mut records = Vec::new();
        for file in audit::days(&self.audit()).unwrap_or_default() {
            let bytes = fs::read(&file.path).unwrap();
            let end = bytes
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1);
            let torn = &bytes[end..];
            assert!(
                torn.is_empty() || tail == Tail::MayBeTorn,
                "torn: {}",
                String::from_utf8_lossy(torn)
            );
            for text in bytes[..end].split_inclusive(|byte| *byte == b'\n') {
                let text = &text[..text.len() - 1];
                let shown = String::from_utf8_lossy(text);
                let line = Line::parse(text).unwrap_or_else(|bad| panic!("{bad}: {shown}"));
                assert!(line.is_whole(), "{shown}");
                assert_eq!((line.seq, line.prev), expected, "{shown}");
                expected = (line.seq + 1, line.hash);
                records.push(serde_json::from_slice(text).unwrap());
            }
        }
        records
    }
}

impl State {
    /// What `audit verify` says: the tree, the days, the checkpoints and whatever was set aside.
    pub(crate) fn verify(&self) {
        let report =
            audit::read::verify(&self.audit(), &Verify::default(), &mut |_, _| {}).unwrap();
        assert_eq!(report.fault, None, "{report:?}");
    }
}

/// That the record of a reply is there, given the reply's `meta`.
pub(crate) fn has_record(records: &[Value], meta: &Value) -> Result<(), String> {
    let receipt = &meta["receipt"];
    let seq = receipt["seq"]
        .as_u64()
        .ok_or_else(|| format!("no receipt: {meta}"))?;
    let record = usize::try_from(seq).ok().and_then(|seq| records.get(seq));
    let record = record.ok_or_else(|| format!("record {seq} of {} is missing", records.len()))?;
    let same = record["hash"] == receipt["leaf_hash"] && record["request_id"] == meta["request_id"];
    match same {
        true => Ok(()),
        false => Err(format!("{record} is not the record of {meta}")),
    }
}
