//! An account that is configured and that there is no way to: every question is answered by why.

use mail::{
    Answer, Choose, Condition, Cx, Described, Fault, FaultKind, Fetched, FolderName, Folders,
    Found, MailSource, MessageRef, RawMessage, Search, Sifted, Snippets, SourceKind, Stage,
    Summary, UidSet, UidValidity, Verified,
};

pub struct Unavailable {
    why: String,
}

impl Unavailable {
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }

    fn refuse<T>(&self) -> Answer<'_, T> {
        let fault = Fault::saying(FaultKind::NotServed, Stage::Start, &self.why);
        Box::pin(async { Err(fault) })
    }
}

impl MailSource for Unavailable {
    fn describe(&self) -> Described {
        Described {
            kind: SourceKind::Imap,
            host: "nowhere".to_owned(),
            port: 0,
            secure: true,
            authserv_id: None,
        }
    }

    fn verify<'a>(&'a self, _: &'a Cx) -> Answer<'a, Verified> {
        self.refuse()
    }

    fn folders<'a>(&'a self, _: &'a Cx) -> Answer<'a, Folders> {
        self.refuse()
    }

    fn search<'a>(&'a self, _: &'a Cx, _: &'a Search) -> Answer<'a, Found> {
        self.refuse()
    }

    fn sift<'a>(&'a self, _: &'a Cx, _: &'a FolderName, _: &'a [Condition]) -> Answer<'a, Sifted> {
        self.refuse()
    }

    fn summaries<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a FolderName,
        _: UidValidity,
        _: &'a UidSet,
        _: Snippets,
    ) -> Answer<'a, Vec<Summary>> {
        self.refuse()
    }

    fn message<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: Choose<'a>) -> Answer<'a, Fetched> {
        self.refuse()
    }

    fn raw<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64) -> Answer<'a, RawMessage> {
        self.refuse()
    }
}
