//! What a permit does not reach is not even asked for.

use std::sync::{Arc, Mutex};

use mail::{Answer, Folders, Found, MailSource, Query, Search, Snippets};
use policy::{Ask, Policy};

use super::*;

/// A source that says what it is, and must not be reached.
struct Untouchable;

impl MailSource for Untouchable {
    fn describe(&self) -> Described {
        Described {
            kind: mail::SourceKind::Imap,
            host: "mail.example.org".to_owned(),
            port: 993,
            secure: true,
            authserv_id: None,
            home: "work".to_owned(),
        }
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
    let work = Account::new(account.clone(), Arc::new(Untouchable), Provider::Standard);
    let verdict = Mutex::new(None);
    let permit = |level| {
        let ask = Ask::Messages {
            account: account.clone(),
            folder: folder.clone(),
            level,
        };
        Arc::new(Policy::owner()).decide(&ask).unwrap()
    };
    let hidden = |halt: Option<Halt>| match halt.unwrap() {
        Halt::Fault(fault) => fault.kind == FaultKind::NoSuchMessage,
        Halt::Denied(_) => false,
    };
    let guarded = |permit| GuardedMail::new(&work, permit, &cx, 0, &verdict);
    let count = permit(Level::Count);
    let found = guarded(&count).search(&search(Snippets::Without)).await;
    assert!(hidden(found.err()));
    let mail = guarded(&count);
    let looked = mail.inspect(&folder, Which::All, &|_, _| {}).await;
    assert!(hidden(looked.err()));
    let envelope = permit(Level::Envelope);
    let mail = guarded(&envelope);
    assert!(hidden(
        mail.search(&search(Snippets::Bytes(10))).await.err()
    ));
    let read = mail.message(&at, Level::Body, &|_| Vec::new()).await;
    assert!(hidden(read.err()));
    let body = permit(Level::Body);
    let mail = guarded(&body);
    assert!(hidden(mail.raw(&at, 10).await.err()));
    let elsewhere = MessageRef {
        folder: FolderName::new("Private").unwrap(),
        ..at
    };
    let read = mail.message(&elsewhere, Level::Body, &|_| Vec::new()).await;
    assert!(hidden(read.err()));
}

#[test]
fn the_order_of_folders_is_ours() {
    let folder = |name: &str| Folder {
        name: FolderName::new(name).unwrap(),
        delimiter: None,
        special_use: None,
        counts: None,
    };
    let mut folders = ["Zoo", "A", "INBOX", "B/c", "B"].map(folder);
    folders.sort_by(|one, other| rank(one).cmp(&rank(other)));
    let names = folders.map(|folder| folder.name.to_string());
    assert_eq!(names, ["INBOX", "A", "B", "B/c", "Zoo"]);
}
