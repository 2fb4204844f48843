//! What a permit does not reach is not even asked for.

use super::*;
use mail::{AccountId, Answer, FolderName, Query, SourceKind, Uid, UidValidity};
use policy::{Ask, Policy};
use std::sync::Arc;

/// A source that must not be reached.
struct Untouchable;

impl MailSource for Untouchable {
    fn describe(&self) -> Described {
        panic!("reached")
    }
    fn verify<'a>(&'a self, _: &'a Cx) -> Answer<'a, Verified> {
        panic!("reached")
    }
    fn folders<'a>(&'a self, _: &'a Cx) -> Answer<'a, Folders> {
        panic!("reached")
    }
    fn search<'a>(&'a self, _: &'a Cx, _: &'a Search) -> Answer<'a, Found> {
        panic!("reached")
    }
    fn sift<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a FolderName,
        _: &'a [mail::Condition],
    ) -> Answer<'a, mail::Sifted> {
        panic!("reached")
    }
    fn summaries<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a FolderName,
        _: UidValidity,
        _: &'a mail::UidSet,
        _: Snippets,
    ) -> Answer<'a, Vec<mail::Summary>> {
        panic!("reached")
    }
    fn message<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: Choose<'a>) -> Answer<'a, Fetched> {
        panic!("reached")
    }
    fn raw<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64) -> Answer<'a, RawMessage> {
        panic!("reached")
    }
}

#[tokio::test]
async fn what_lies_above_the_permitted_level_is_not_found_and_not_asked_for() {
    let account = AccountId::new("work").unwrap();
    let folder = FolderName::new("INBOX").unwrap();
    let at = MessageRef {
        source: SourceKind::Imap,
        account: account.clone(),
        folder: folder.clone(),
        uidvalidity: UidValidity(1),
        uid: Uid(1),
    };
    let search = |snippets| Search {
        folder: folder.clone(),
        query: Query::default(),
        below: None,
        limit: 10,
        snippets,
        most_matches: 1,
    };
    let cx = Cx::new();
    let permitted = |level| {
        let (account, folder) = (account.clone(), folder.clone());
        let ask = Ask::Messages {
            account,
            folder,
            level,
        };
        let permit = Arc::new(Policy::owner()).decide(&ask).unwrap();
        GuardedMail::new(&Untouchable, &permit, &cx)
    };
    let hidden = |fault: Option<Fault>| fault.unwrap().kind == FaultKind::NoSuchMessage;
    let metadata = permitted(Level::Metadata);
    assert!(hidden(
        metadata.search(&search(Snippets::Without)).await.err()
    ));
    let envelope = permitted(Level::Envelope);
    assert!(hidden(
        envelope.search(&search(Snippets::Bytes(10))).await.err()
    ));
    assert!(hidden(envelope.message(&at, &|_| Vec::new()).await.err()));
    assert!(hidden(permitted(Level::Body).raw(&at, 10).await.err()));
}
