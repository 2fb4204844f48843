//! Sources by their public face, against real servers, local stores, and servers that lie.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

mod ahead;
mod answered;
mod appends;
mod apple;
mod bodies;
mod census;
mod chance;
mod changes;
mod conversations;
mod doubts;
mod effects;
mod facts;
mod false_trails;
mod floods;
mod gaps;
mod gatherings;
mod ground;
mod invalid_responses;
mod lies;
mod lineages;
mod lookups;
mod mail_room;
mod many;
mod pool;
mod quirks;
mod remembered;
mod sift;
mod sightings;
mod summaries;
mod thread_ids;
mod threads;
mod together;
mod tokens;
mod uidvalidity;

use secrecy::SecretString;
use sources::imap::{Roots, Security, Settings, Timeouts};

fn account() -> mail::AccountId {
    mail::AccountId::new("a").unwrap()
}

fn settings(port: u16) -> Settings {
    Settings {
        host: "127.0.0.1".to_owned(),
        port,
        security: Security::Plain,
        user: "alice".to_owned(),
        login: sources::imap::Login::Password(SecretString::from("secret")),
        roots: Roots::system(),
        timeouts: Timeouts::default(),
        max_connections: 4,
        authserv_id: None,
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap()
}

fn inbox() -> mail::FolderName {
    mail::FolderName::new("INBOX").unwrap()
}
