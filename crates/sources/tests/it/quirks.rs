//! Faults of servers, each played by a scripted one: what was asked for is answered, or the fault is told by its name.

mod bridge;
mod false_esearch;
mod icloud;
mod id_first;
mod no_mailbox;
mod short_lines;

use std::sync::LazyLock;

use mail::{Cx, Fault, Found, MailSource as _, Query, Search, Snippets};
use sources::imap::ImapSource;
use testkit::Fake;
use testkit::fake::{Received, Session};
use tokio::runtime::Runtime;

use crate::{account, inbox, runtime, settings};

/// The only message that a scripted folder describes.
const DESCRIPTION: &str = "1 FETCH (UID 1 FLAGS () RFC822.SIZE 10 BODY[HEADER.FIELDS (FROM SUBJECT)]<0> \"Subject: hello\")";

/// On a runtime that outlives the call: sessions live and die with theirs.
fn run<T>(call: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(runtime);
    RUNTIME.block_on(call)
}

fn source(fake: &Fake) -> ImapSource {
    ImapSource::new(account(), settings(fake.port()))
}

fn search(query: Query) -> Search {
    Search {
        folder: inbox(),
        query,
        below: None,
        limit: 10,
        most_matches: 20_000,
        snippets: Snippets::Without,
    }
}

fn about(subject: &str) -> Search {
    search(Query {
        subject: Some(subject.to_owned()),
        ..Query::default()
    })
}

fn find(source: &ImapSource, search: &Search) -> Result<Found, Fault> {
    run(source.search(&Cx::new(), search))
}

/// A server without faults of its own, for commands that a script does not care for.
fn serve(session: &mut Session, command: &Received) {
    if command.mentions("EXAMINE") || command.mentions("SELECT") {
        session.examined(1);
    } else if command.mentions("SEARCH") {
        session.untagged("SEARCH 1");
        session.ok();
    } else if command.mentions("FETCH") {
        session.untagged(DESCRIPTION);
        session.ok();
    } else if command.mentions("LIST") {
        session.untagged("LIST () \"/\" INBOX");
        session.ok();
    } else {
        session.ok();
    }
}
