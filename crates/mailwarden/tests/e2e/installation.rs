//! An installation of its own, and its audit log as a reader sees it: every reading checks the whole chain.

use std::path::PathBuf;
use std::process::Command;

use audit::read::Verify;
use audit::{Checkpoint, Hash, Line, Peaks};
use serde_json::Value;
use tempfile::TempDir;
use testkit::McpClient;

use crate::support::{Account, configure, program, start};

/// A state directory that no other test uses. It is not there before the program makes it.
pub(crate) struct Installation(TempDir);

/// What may stand at the end of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tail {
    Whole,
    /// A process was killed while it wrote.
    MayBeTorn,
}

/// One record of the log.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Record {
    pub(crate) seq: u64,
    pub(crate) event: String,
    pub(crate) hash: String,
    /// The whole of it.
    pub(crate) json: Value,
}

impl Installation {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    pub(crate) fn audit(&self) -> PathBuf {
        self.state().join("audit")
    }

    pub(crate) fn program(&self) -> Command {
        let mut command = program();
        command.env("MAILWARDEN_STATE_DIR", self.state());
        command
    }

    pub(crate) fn client(&self, port: u16) -> McpClient {
        let account = Account {
            port,
            ..Account::default()
        };
        self.client_with(&account, &[])
    }

    pub(crate) fn client_with(
        &self,
        account: &Account<'_>,
        variables: &[(&str, &str)],
    ) -> McpClient {
        let mut command = self.program();
        configure(&mut command, "DEFAULT", account);
        command.envs(variables.iter().copied());
        start(command)
    }

    /// All records, from the very first: one chain without a gap, and the signed checkpoint is of it.
    pub(crate) fn records(&self) -> Vec<Record> {
        self.read(Tail::Whole)
    }

    pub(crate) fn read(&self, tail: Tail) -> Vec<Record> {
        let mut records = Vec::new();
        let (mut prev, mut tree) = (Hash::ZERO, Peaks::default());
        let mut roots = vec![tree.root()];
        for file in audit::days(&self.audit()).unwrap_or_default() {
            let bytes = std::fs::read(&file.path).unwrap();
            for text in bytes.split_inclusive(|byte| *byte == b'\n') {
                let Some(text) = text.strip_suffix(b"\n") else {
                    assert_eq!(tail, Tail::MayBeTorn, "{}", String::from_utf8_lossy(text));
                    break;
                };
                let shown = String::from_utf8_lossy(text);
                let line = Line::parse(text).unwrap_or_else(|bad| panic!("{bad}: {shown}"));
                assert!(line.is_whole(), "{shown}");
                assert_eq!(line.prev, prev, "{shown}");
                assert_eq!(line.seq, tree.size(), "{shown}");
                prev = line.hash;
                tree.push(line.hash);
                roots.push(tree.root());
                records.push(Record {
                    seq: line.seq,
                    event: line.event.to_owned(),
                    hash: line.hash.to_string(),
                    json: serde_json::from_slice(text).unwrap(),
                });
            }
        }
        if let Ok(note) = std::fs::read_to_string(self.audit().join("checkpoint")) {
            let verifier = audit::verifier(&self.audit()).unwrap();
            let signed = Checkpoint::open(&note, &verifier).unwrap();
            assert_eq!(roots[usize::try_from(signed.size).unwrap()], signed.root);
        }
        records
    }

    /// What `audit verify` says: the tree, the days, the checkpoints and whatever was set aside.
    pub(crate) fn verify(&self) {
        let report =
            audit::read::verify(&self.audit(), &Verify::default(), &mut |_, _| {}).unwrap();
        assert_eq!(report.fault, None, "{report:?}");
    }

    /// The record that an answer's `meta` has a receipt for, which is the only one of its call.
    pub(crate) fn receipted(&self, meta: &Value) -> Record {
        let records = self.records();
        let log = audit::verifier(&self.audit()).unwrap().log_id();
        receipted(&records, log.as_str(), meta)
    }

    /// What was said to the log, without what it says of its own days.
    pub(crate) fn said(&self) -> Vec<Record> {
        let mut records = self.records();
        records.retain(|record| !record.event.starts_with("day_"));
        records
    }

    /// The one record of this event for which that is so.
    pub(crate) fn only(&self, event: &str, fits: impl Fn(&Record) -> bool) -> Record {
        let mut found = self.records();
        found.retain(|record| record.event == event && fits(record));
        assert_eq!(found.len(), 1, "{event}: {found:#?}");
        found.remove(0)
    }

    /// Every byte of every file under the state directory.
    pub(crate) fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut directories = vec![self.state()];
        while let Some(directory) = directories.pop() {
            for entry in std::fs::read_dir(directory).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => directories.push(path),
                    false => files.push((path.clone(), std::fs::read(path).unwrap())),
                }
            }
        }
        files
    }
}

/// Whether the record of a reply is there, given the reply's `meta`.
pub(crate) fn has_record(records: &[Record], meta: &Value) -> Result<(), String> {
    let receipt = &meta["receipt"];
    let seq = receipt["seq"]
        .as_u64()
        .ok_or_else(|| format!("no receipt: {meta}"))?;
    let record = usize::try_from(seq).ok().and_then(|seq| records.get(seq));
    let record = record.ok_or_else(|| format!("record {seq} of {} is missing", records.len()))?;
    let same =
        receipt["leaf_hash"] == record.hash && record.json["request_id"] == meta["request_id"];
    match same {
        true => Ok(()),
        false => Err(format!("{} is not the record of {meta}", record.json)),
    }
}

/// As [`Installation::receipted`], of records that were read already.
pub(crate) fn receipted(records: &[Record], log: &str, meta: &Value) -> Record {
    let receipt = &meta["receipt"];
    assert_eq!(receipt["log_id"], log, "{meta}");
    let seq = receipt["seq"]
        .as_u64()
        .unwrap_or_else(|| panic!("no receipt in {meta}"));
    let record = &records[usize::try_from(seq).unwrap()];
    assert_eq!(receipt["leaf_hash"], record.hash.as_str(), "{meta}");
    assert_eq!(record.json["request_id"], meta["request_id"]);
    let same_call = records
        .iter()
        .filter(|record| record.json["request_id"] == meta["request_id"]);
    assert_eq!(same_call.count(), 1, "{meta}");
    record.clone()
}

impl Record {
    pub(crate) fn text(&self, field: &str) -> &str {
        let value = self.json[field].as_str();
        value.unwrap_or_else(|| panic!("no {field} in {}", self.json))
    }

    pub(crate) fn number(&self, field: &str) -> u64 {
        let value = self.json[field].as_u64();
        value.unwrap_or_else(|| panic!("no {field} in {}", self.json))
    }

    pub(crate) fn is_without(&self, fields: &[&str]) -> bool {
        fields.iter().all(|field| self.json.get(field).is_none())
    }
}
