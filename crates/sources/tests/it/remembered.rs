//! What is remembered of messages that were listed: given only for the very message that it was learned of, and never its flags.

use mail::{
    Cx, Fault, FaultKind, FolderName, MailSource as _, Snippets, Summary, Uid, UidSet, UidValidity,
};
use sources::imap::ImapSource;
use testkit::{Cut, Delivery, Dovecot, FaultProxy, RawImap};
use tokio::runtime::Runtime;

use crate::settings;

/// A folder that others change too.
struct Place {
    server: Dovecot,
    proxy: FaultProxy,
    source: ImapSource,
    runtime: Runtime,
    folder: FolderName,
}

/// All of one size, and of one arrival: nothing but their numbers tells them apart.
fn message(subject: &str) -> Delivery {
    assert_eq!(subject.len(), 6);
    Delivery::new(format!(
        "From: a@b.example\r\nTo: c@d.example\r\nSubject: {subject}\r\n\r\ntext\r\n"
    ))
}

impl Place {
    fn with(subjects: &[&str]) -> Self {
        Self::without("", subjects)
    }

    /// On a server that has not this capability.
    fn without(lacking: &str, subjects: &[&str]) -> Self {
        let server = Dovecot::builder().folder("Box").start();
        let each = subjects.iter().map(|subject| message(subject));
        server.deliver_many("alice", "Box", each);
        let proxy = FaultProxy::builder(server.port()).strip(lacking).start();
        let source = ImapSource::new(crate::account(), settings(proxy.port()));
        Self {
            server,
            proxy,
            source,
            runtime: crate::runtime(),
            folder: FolderName::new("Box").unwrap(),
        }
    }

    fn another_client(&self) -> RawImap {
        self.server.login("alice", "secret")
    }

    fn generation(&self) -> UidValidity {
        let cx = Cx::new();
        let sifted = self.source.sift(&cx, &self.folder, &[]);
        self.runtime.block_on(sifted).unwrap().uidvalidity
    }

    /// The first three, in their order.
    fn list(&self, uidvalidity: UidValidity) -> Result<Vec<Summary>, Fault> {
        let (cx, uids) = (Cx::new(), UidSet::range(Uid(1), Uid(3)));
        let found = self
            .source
            .summaries(&cx, &self.folder, uidvalidity, &uids, Snippets::Without);
        let mut found = self.runtime.block_on(found)?;
        found.sort_unstable_by_key(|one| one.uid);
        Ok(found)
    }

    /// The same, when all that is there was listed before: nobody is asked for what they say.
    fn list_from_memory(&self, uidvalidity: UidValidity) -> Vec<Summary> {
        let (found, asked) = self.asked_for(uidvalidity);
        assert!(
            asked.contains("FLAGS") && !asked.contains("BODYSTRUCTURE"),
            "{asked}"
        );
        found
    }

    fn asked_for(&self, uidvalidity: UidValidity) -> (Vec<Summary>, String) {
        let before = self.proxy.commands().len();
        let found = self.list(uidvalidity).unwrap();
        let asked = self.proxy.commands().split_off(before).join("\n");
        (found, asked)
    }
}

#[test]
fn sizes_are_compared_where_it_is_not_known_that_uids_stay() {
    for (lacking, compares) in [("ID", true), ("", false)] {
        let place = Place::without(lacking, &["one...", "two...", "three."]);
        let generation = place.generation();
        let first = place.list(generation).unwrap();
        let (again, asked) = place.asked_for(generation);
        assert_eq!(again, first);
        assert!(!asked.contains("BODYSTRUCTURE"), "{asked}");
        assert_eq!(
            asked.contains("INTERNALDATE RFC822.SIZE"),
            compares,
            "{asked}"
        );
    }
}

fn subjects(found: &[Summary]) -> Vec<(u32, String)> {
    let each = found.iter().map(|one| {
        let subject = content::facts(one).subject.unwrap();
        (one.uid.0, subject.as_str().to_owned())
    });
    each.collect()
}

fn has(one: &Summary, flag: &str) -> bool {
    one.flags.as_ref().unwrap().iter().any(|own| own.is(flag))
}

#[test]
fn what_is_remembered_is_not_given_for_a_message_of_another_generation() {
    let place = Place::with(&["before", "second", "third!"]);
    let before = place.generation();
    place.list(before).unwrap();
    let found = place.list_from_memory(before);
    assert_eq!(subjects(&found)[0], (1, "before".to_owned()));
    // The same name, number, size and arrival, and another message.
    let mut other = place.another_client();
    other.command("DELETE Box");
    other.command("CREATE Box");
    let after = ["after!", "2nd...", "3rd..."];
    let each = after.iter().map(|subject| message(subject));
    place.server.deliver_many("alice", "Box", each);
    // QUIRK: Dovecot goes on showing the folder that is gone to whoever has it open.
    place.proxy.cut_all(Cut::Close);
    let fault = place.list(before).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Conflict);
    let after = place.generation();
    assert_ne!(after, before);
    let found = place.list(after).unwrap();
    assert_eq!(subjects(&found)[0], (1, "after!".to_owned()));
    assert_eq!(subjects(&found)[1], (2, "2nd...".to_owned()));
    // From now on these are remembered, and the old generation stays gone.
    let again = place.list_from_memory(after);
    assert_eq!(subjects(&again), subjects(&found));
    let fault = place.list(before).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Conflict);
}

#[test]
fn what_is_remembered_goes_with_the_message() {
    let place = Place::with(&["first!", "second", "third!"]);
    let uidvalidity = place.generation();
    assert_eq!(place.list(uidvalidity).unwrap().len(), 3);
    let mut other = place.another_client();
    other.command("SELECT Box");
    other.command("UID STORE 2 +FLAGS (\\Deleted)");
    other.command("EXPUNGE");
    for _ in 0..2 {
        assert_eq!(
            subjects(&place.list_from_memory(uidvalidity)),
            [(1, "first!".to_owned()), (3, "third!".to_owned())]
        );
    }
    // All of them, while our session has the folder open.
    other.command("UID STORE 1:* +FLAGS (\\Deleted)");
    other.command("EXPUNGE");
    assert_eq!(place.list(uidvalidity).unwrap(), []);
}

#[test]
fn flags_are_those_of_now_whatever_else_is_remembered() {
    let place = Place::with(&["first!", "second", "third!"]);
    let uidvalidity = place.generation();
    let found = place.list(uidvalidity).unwrap();
    assert!(!found.iter().any(|one| has(one, "\\Seen")));
    let mut other = place.another_client();
    other.command("SELECT Box");
    for (change, flag, on) in [
        ("+FLAGS", "\\Seen", true),
        ("+FLAGS", "\\Flagged", true),
        ("+FLAGS", "invoice", true),
        ("-FLAGS", "\\Seen", false),
        ("-FLAGS", "invoice", false),
    ] {
        other.command(&format!("UID STORE 2 {change} ({flag})"));
        let found = place.list_from_memory(uidvalidity);
        assert_eq!(subjects(&found)[1], (2, "second".to_owned()));
        assert_eq!(has(&found[1], flag), on, "{change} {flag}");
        assert!(!has(&found[0], flag) && !has(&found[2], flag));
    }
}
