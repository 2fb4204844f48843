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
