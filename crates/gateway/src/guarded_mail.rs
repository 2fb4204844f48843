//! The only place that holds a source: every question goes through a permit, and only to the permitted account.

use mail::{
    Choose, Cx, Described, Fault, FaultKind, Fetched, Folders, Found, Level, MailSource,
    MessageRef, RawMessage, Search, Snippets, Stage, Verified,
};
use policy::Permit;

/// One account's mail, as far as a permit reaches.
pub(crate) struct GuardedMail<'a> {
    source: &'a dyn MailSource,
    level: Level,
    cx: &'a Cx,
}

impl<'a> GuardedMail<'a> {
    /// Called by the pipeline's context alone, for the account that the permit is for.
    pub(crate) fn new(source: &'a dyn MailSource, permit: &Permit, cx: &'a Cx) -> Self {
        Self {
            source,
            level: permit.level(),
            cx,
        }
    }

    /// INVARIANT: what lies above the permitted level answers as what does not exist.
    fn needs(&self, level: Level) -> Result<(), Fault> {
        match self.level >= level {
            true => Ok(()),
            false => Err(Fault::new(FaultKind::NoSuchMessage, Stage::Start)),
        }
    }

    pub(crate) fn describe(&self) -> Described {
        self.source.describe()
    }

    pub(crate) async fn verify(&self) -> Result<Verified, Fault> {
        self.source.verify(self.cx).await
    }

    pub(crate) async fn folders(&self) -> Result<Folders, Fault> {
        self.source.folders(self.cx).await
    }

    pub(crate) async fn search(&self, search: &Search) -> Result<Found, Fault> {
        self.needs(match search.snippets {
            Snippets::Without => Level::Envelope,
            Snippets::Bytes(_) => Level::Body,
        })?;
        self.source.search(self.cx, search).await
    }

    pub(crate) async fn message(
        &self,
        at: &MessageRef,
        choose: Choose<'_>,
    ) -> Result<Fetched, Fault> {
        self.needs(Level::Body)?;
        self.source.message(self.cx, at, choose).await
    }

    pub(crate) async fn raw(&self, at: &MessageRef, max_bytes: u64) -> Result<RawMessage, Fault> {
        self.needs(Level::Full)?;
        self.source.raw(self.cx, at, max_bytes).await
    }
}

#[cfg(test)]
mod tests {
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
        fn message<'a>(
            &'a self,
            _: &'a Cx,
            _: &'a MessageRef,
            _: Choose<'a>,
        ) -> Answer<'a, Fetched> {
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
}
