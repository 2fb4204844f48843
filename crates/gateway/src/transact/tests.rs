//! Transactions that are made up.

use jiff::Timestamp;
use ledger::{Asked, Kind, Known, Place, State, Transaction, TransactionId};
use mail::{AccountId, FolderName, MessageRef, SourceKind, Uid, UidValidity};

pub(crate) fn at(account: &str, folder: &str, uid: u32) -> MessageRef {
    MessageRef {
        source: SourceKind::Imap,
        account: AccountId::new(account).unwrap(),
        folder: FolderName::new(folder).unwrap(),
        uidvalidity: UidValidity(7),
        uid: Uid(uid),
    }
}

/// `one` message, `within` an account, `across` two, or a `new` one.
pub(crate) fn transaction(kind: Kind, shape: &str) -> Transaction {
    let place = |account: &str| Place {
        account: AccountId::new(account).unwrap(),
        folder: FolderName::new("Archive").unwrap(),
    };
    let (source, target) = match shape {
        "one" => (Some(at("work", "INBOX", 3)), None),
        "within" => (Some(at("work", "INBOX", 3)), Some(place("work"))),
        "across" => (Some(at("work", "INBOX", 3)), Some(place("home"))),
        _ => (None, Some(place("work"))),
    };
    Transaction {
        id: TransactionId::new(1, [0; 10]),
        asked: Asked {
            kind,
            caller: "owner".to_owned(),
            tool: "some".to_owned(),
            request_id: "req".to_owned(),
            policy: "owner".to_owned(),
            source,
            target,
            source_home: None,
            target_home: None,
            horizon: None,
            marks: Vec::new(),
            key: None,
            undoes: None,
        },
        known: Known::default(),
        steps: Vec::new(),
        state: State::Open,
        ending: None,
        began: Timestamp::UNIX_EPOCH,
        ended: None,
        attempts: 0,
        next_try: None,
        undone_by: None,
    }
}
