//! What has to lie where, by what was answered; and what else clients were told. It asks nobody.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// A folder of an account.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Spot {
    pub account: String,
    pub folder: String,
}

impl Spot {
    pub(super) fn new(account: &str, folder: &str) -> Self {
        Self {
            account: account.to_owned(),
            folder: folder.to_owned(),
        }
    }
}

/// A message in its place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Lying {
    /// Its Message-ID, or the subject of one that was written there.
    pub name: String,
    pub spot: Spot,
    /// None where no answer has told it.
    pub uid: Option<u64>,
    pub flags: BTreeSet<String>,
    /// None where it is not ours to say.
    pub size: Option<u64>,
}

/// Where an answer says that it is recorded.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Receipt {
    pub log: String,
    pub seq: u64,
    pub hash: String,
    /// What the answer calls its call; the record has to say the same.
    pub request: String,
}

impl Receipt {
    /// Of an answer, or of an error.
    pub(super) fn of(body: &Value) -> Option<Self> {
        let places = ["/result/structuredContent/meta", "/error/data/meta"];
        let meta = places.iter().find_map(|place| body.pointer(place))?;
        let receipt = meta.get("receipt")?;
        Some(Self {
            log: receipt.get("log_id")?.as_str()?.to_owned(),
            seq: receipt.get("seq")?.as_u64()?,
            hash: receipt.get("leaf_hash")?.as_str()?.to_owned(),
            request: meta.get("request_id")?.as_str()?.to_owned(),
        })
    }
}

/// What one client heard on the wire.
#[derive(Default)]
pub(super) struct Heard {
    pub asked: usize,
    pub answered: usize,
    /// Nobody was there, and the other was asked at once.
    pub refused: usize,
    /// Cut off before the answer: whether it was done is not known.
    pub broken: usize,
    pub receipts: Vec<Receipt>,
    /// Answers that say of no record, by what they say.
    pub without: BTreeMap<String, usize>,
}

/// What all clients together were told.
#[derive(Default)]
pub(super) struct Told {
    pub heard: Heard,
    pub lying: Vec<Lying>,
    /// Changes that are done, by their kind.
    pub done: BTreeMap<&'static str, usize>,
    /// And those that are not, with why.
    pub undone: BTreeMap<String, usize>,
    /// Changes that were asked for more than once, and how often in all.
    pub again: usize,
    pub repeats: usize,
    /// Answers after which a change was asked for again, by what they say.
    pub waits: BTreeMap<String, usize>,
    /// Until a change was known to be done or not, in microseconds.
    pub settled: Vec<u32>,
    /// Until a page came, in microseconds.
    pub read: Vec<u32>,
    /// Pages by a cursor that the other replica had handed out.
    pub handed_over: usize,
    /// Searches that were followed to their last page.
    pub walks: usize,
    pub wrong: Vec<String>,
}

impl Told {
    pub(super) fn join(&mut self, other: Self) {
        self.heard.join(other.heard);
        self.lying.extend(other.lying);
        add(&mut self.done, other.done);
        add(&mut self.undone, other.undone);
        self.again += other.again;
        self.repeats += other.repeats;
        add(&mut self.waits, other.waits);
        self.settled.extend(other.settled);
        self.read.extend(other.read);
        self.handed_over += other.handed_over;
        self.walks += other.walks;
        self.wrong.extend(other.wrong);
    }

    pub(super) fn changes(&self) -> usize {
        self.done.values().sum()
    }
}

impl Heard {
    fn join(&mut self, other: Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.refused += other.refused;
        self.broken += other.broken;
        self.receipts.extend(other.receipts);
        add(&mut self.without, other.without);
    }
}

fn add<K: Ord>(to: &mut BTreeMap<K, usize>, more: BTreeMap<K, usize>) {
    for (key, count) in more {
        *to.entry(key).or_default() += count;
    }
}
