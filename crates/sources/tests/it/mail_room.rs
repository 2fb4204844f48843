//! A server with letters that answer each other, a source that reads them, and a count of the ways it took.

use std::collections::BTreeSet;
use std::time::Duration;

use mail::{
    Coverage, Cx, Effort, Fault, Fetched, FolderName, HeaderId, Kindred, MailSource as _,
    MessageRef, PartWish, Section, Sought, Structure, Urgency, Within,
};
use sources::imap::ImapSource;
use testkit::{Delivery, Dovecot, FaultProxy};
use tokio::runtime::Runtime;

use crate::settings;

pub(crate) struct MailRoom {
    pub(crate) server: Dovecot,
    pub(crate) proxy: FaultProxy,
    pub(crate) source: ImapSource,
    pub(crate) runtime: Runtime,
}

pub(crate) const EFFORT: Effort = Effort {
    folders: 50,
    rounds: 20,
    messages: 500,
};

impl MailRoom {
    pub(crate) fn new() -> Self {
        Self::without("")
    }

    /// A server that has not these capabilities.
    pub(crate) fn without(capabilities: &str) -> Self {
        let server = Dovecot::start();
        for folder in ["Sent", "Archive", "Trash", "Junk", "Drafts"] {
            server.create_folder("alice", folder);
        }
        // Longer than it takes to send a flight, so that the proxy counts round trips exactly.
        let proxy = FaultProxy::builder(server.port())
            .strip(capabilities)
            .delay(Duration::from_millis(5))
            .start();
        let source = ImapSource::new(crate::account(), settings(proxy.port()));
        Self {
            server,
            proxy,
            source,
            runtime: crate::runtime(),
        }
    }

    pub(crate) fn post(&self, folder: &str, letter: &Letter<'_>) {
        self.server
            .deliver_many("alice", folder, [Delivery::new(letter.raw())]);
    }

    /// Makes a connection, so that none has to be made later.
    pub(crate) fn warm_up(&self) {
        self.runtime
            .block_on(self.source.verify(&Cx::new()))
            .unwrap();
        self.proxy.reset_stats();
    }

    /// With the number of round trips, on which source and proxy agree.
    pub(crate) fn kindred(&self, sought: &Sought) -> (Kindred, u32) {
        self.counted(|cx| self.runtime.block_on(self.source.kindred(cx, sought)))
    }

    pub(crate) fn locate(&self, sought: &Sought) -> (Kindred, u32) {
        self.counted(|cx| self.runtime.block_on(self.source.locate(cx, sought)))
    }

    pub(crate) fn messages(&self, wanted: &[MessageRef]) -> (Vec<Result<Fetched, Fault>>, u32) {
        self.counted(|cx| {
            let choose: mail::Choose<'_> = &first_text;
            self.runtime
                .block_on(self.source.messages(cx, wanted, choose))
        })
    }

    /// What somebody finds who remembers nothing.
    pub(crate) fn fresh(&self, sought: &Sought) -> Kindred {
        let source = ImapSource::new(crate::account(), settings(self.server.port()));
        let cx = Cx::new();
        let found = source.kindred(&cx, sought);
        self.runtime.block_on(found).unwrap()
    }

    /// By EXAMINE and PEEK only, so far.
    pub(crate) fn was_only_read(&self) {
        let commands = self.proxy.commands();
        for word in ["SELECT", "STORE", "BODY["] {
            let changing = commands.iter().find(|line| line.contains(word));
            assert_eq!(changing, None);
        }
    }

    fn counted<T>(&self, ask: impl FnOnce(&Cx) -> Result<T, Fault>) -> (T, u32) {
        let cx = Cx::new();
        let before = self.proxy.stats().flights;
        let answer = ask(&cx).unwrap();
        let flights = self.proxy.stats().flights - before;
        let connected = self.proxy.stats().connections > 0;
        if !connected {
            assert_eq!(u64::from(cx.round_trips()), flights, "counted and counted");
        }
        (answer, cx.round_trips())
    }
}

/// Up to this much of the first text.
pub(crate) const MOST_TEXT: u64 = 4_096;

pub(crate) fn first_text(structure: &Structure) -> Vec<PartWish> {
    let text = structure
        .leaves
        .iter()
        .find(|leaf| leaf.mime_type == "text/plain");
    let wish = text.map(|leaf| PartWish {
        section: leaf.section.clone(),
        max_bytes: MOST_TEXT,
        urgency: Urgency::Needed,
    });
    wish.into_iter().collect()
}

pub(crate) fn text_of(fetched: &Fetched) -> &[u8] {
    let part = fetched
        .parts
        .iter()
        .find(|part| part.section == Section::parse("1").unwrap());
    &part.unwrap().bytes
}

/// A letter of few words.
#[derive(Clone, Default)]
pub(crate) struct Letter<'a> {
    /// Octets, without brackets.
    pub(crate) id: &'a [u8],
    pub(crate) references: &'a [&'a [u8]],
    pub(crate) replies_to: &'a [u8],
    pub(crate) says: &'a str,
}

impl Letter<'_> {
    pub(crate) fn raw(&self) -> Vec<u8> {
        let mut raw = b"From: Bob <bob@test.example>\r\nTo: alice@test.example\r\n".to_vec();
        let mut field = |name: &str, ids: &[&[u8]]| {
            if ids.iter().all(|id| id.is_empty()) {
                return;
            }
            raw.extend_from_slice(name.as_bytes());
            for id in ids {
                raw.extend_from_slice(&[b" <", *id, b">\r\n"].concat());
            }
        };
        field("Message-ID:", &[self.id]);
        field("References:", self.references);
        field("In-Reply-To:", &[self.replies_to]);
        raw.extend_from_slice(format!("Subject: Plan\r\n\r\n{}\r\n", self.says).as_bytes());
        raw
    }
}

pub(crate) fn id(octets: impl AsRef<[u8]>) -> HeaderId {
    HeaderId::new(octets.as_ref()).unwrap()
}

pub(crate) fn sought(ids: &[&str]) -> Sought {
    Sought {
        ids: ids.iter().map(id).collect(),
        within: Within::All,
        effort: EFFORT,
    }
}

pub(crate) fn name(folder: &str) -> FolderName {
    FolderName::new(folder).unwrap()
}

/// Where the members lie, and what they call themselves.
pub(crate) fn shown(kindred: &Kindred) -> BTreeSet<String> {
    let each = kindred.members.iter().map(|member| {
        let id = member.links.id.as_ref().map_or(&b"-"[..], HeaderId::bytes);
        format!("{}:{}", member.at.folder, String::from_utf8_lossy(id))
    });
    let shown: BTreeSet<String> = each.collect();
    let places: BTreeSet<String> = kindred
        .members
        .iter()
        .map(|one| one.at.to_string())
        .collect();
    assert_eq!(places.len(), kindred.members.len(), "each copy once");
    shown
}

/// Alike, in whichever order they were found.
pub(crate) fn same(mut one: Kindred, mut other: Kindred) {
    for found in [&mut one, &mut other] {
        let members = &mut found.members;
        members.sort_by_key(|member| (member.at.folder.clone(), member.at.uid));
    }
    assert_eq!(one, other);
}

pub(crate) fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

pub(crate) fn skipped(coverage: &Coverage) -> BTreeSet<String> {
    let each = coverage.skipped.iter();
    each.map(|one| format!("{}:{}", one.folder, one.why.name()))
        .collect()
}
