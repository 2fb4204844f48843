//! An account that is configured and that there is no way to: every question is answered by why.

use bytes::Bytes;
use mail::{
    Answer, Append, Body, Broken, Candidate, Changing, Choose, Condition, Cx, Described, Fault,
    FaultKind, Fetched, FolderName, Folders, Found, Horizon, MailSource, MessageRef, RawMessage,
    Search, Sifted, Snippets, SourceKind, Stage, Step, Summary, UidSet, UidValidity, Verified,
    Witness,
};

pub struct Unavailable {
    why: String,
}

impl Unavailable {
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }

    fn fault(&self) -> Fault {
        Fault::saying(FaultKind::NotServed, Stage::Start, &self.why)
    }

    fn refuse<T>(&self) -> Answer<'_, T> {
        let fault = self.fault();
        Box::pin(async { Err(fault) })
    }

    fn change_nothing(&self) -> Changing<'_> {
        let broken = Broken::before_anything(self.fault());
        Box::pin(async { Err(broken) })
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

    fn look<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a MessageRef,
        _: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        self.refuse()
    }

    fn octets<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64, _: u32) -> Answer<'a, Bytes> {
        self.refuse()
    }

    fn horizon<'a>(&'a self, _: &'a Cx, _: &'a FolderName) -> Answer<'a, Horizon> {
        self.refuse()
    }

    fn candidates<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a FolderName,
        _: Option<Horizon>,
        _: u64,
        _: u64,
    ) -> Answer<'a, Vec<Candidate>> {
        self.refuse()
    }

    fn apply<'a>(&'a self, _: &'a Cx, _: &'a Step) -> Changing<'a> {
        self.change_nothing()
    }

    fn append<'a>(&'a self, _: &'a Cx, _: &'a Append, _: &'a mut dyn Body) -> Changing<'a> {
        self.change_nothing()
    }
}
