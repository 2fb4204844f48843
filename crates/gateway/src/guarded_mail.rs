//! The only place that holds a source: every question goes through a permit, and only to the permitted account.

use mail::{
    Choose, Cx, Described, Fault, Fetched, Folders, Found, MailSource, MessageRef, RawMessage,
    Search, Verified,
};

/// One account's mail, as far as a permit reaches.
pub(crate) struct GuardedMail<'a> {
    source: &'a dyn MailSource,
    cx: &'a Cx,
}

impl<'a> GuardedMail<'a> {
    /// Called by the pipeline's context alone, which has looked at the permit.
    pub(crate) fn new(source: &'a dyn MailSource, cx: &'a Cx) -> Self {
        Self { source, cx }
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
        self.source.search(self.cx, search).await
    }

    pub(crate) async fn message(
        &self,
        at: &MessageRef,
        choose: Choose<'_>,
    ) -> Result<Fetched, Fault> {
        self.source.message(self.cx, at, choose).await
    }

    pub(crate) async fn raw(&self, at: &MessageRef, max_bytes: u64) -> Result<RawMessage, Fault> {
        self.source.raw(self.cx, at, max_bytes).await
    }
}
