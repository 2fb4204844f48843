//! An account that cannot log in, because its secret is missing at this end: every question gets
//! the same fault.
//!
//! It stands in the place of the account's real source until the configuration is read again.

use bytes::Bytes;
use mail::{
    Answer, Append, Body, Broken, Candidate, Changing, Choose, Condition, Cx, Described, Fault,
    FaultKind, Fetched, FolderName, Folders, Found, Granted, Horizon, Kindred, Landing, MailSource,
    MessageRef, RawMessage, Reach, Search, Sifted, Snippets, Sought, SourceKind, Stage, Step,
    Summary, UidSet, UidValidity, Verified, Witness,
};

/// Where the account would be.
#[derive(Debug)]
pub struct UnavailableSource {
    described: Described,
}

impl UnavailableSource {
    /// An IMAP account. Its home is that of the account with a secret, so that open transactions
    /// wait for it.
    pub fn imap(host: String, port: u16, user: &str, secure: bool) -> Self {
        let home = crate::home::named(&["imap", &host.to_lowercase(), &port.to_string(), user]);
        Self {
            described: Described {
                kind: SourceKind::Imap,
                host,
                port,
                secure,
                authserv_id: None,
                home,
            },
        }
    }
}

fn fault() -> Fault {
    Fault::new(FaultKind::TokenMisconfigured, Stage::Login)
}

fn refuse<'a, T: Send + 'a>() -> Answer<'a, T> {
    Box::pin(async { Err(fault()) })
}

fn refuse_change<'a>() -> Changing<'a> {
    Box::pin(async { Err(Broken::before_anything(fault())) })
}

impl MailSource for UnavailableSource {
    fn describe(&self) -> Described {
        self.described.clone()
    }

    fn reach(&self) -> Reach {
        Reach::Broken(Granted::Everything)
    }

    fn standing<'a>(&'a self, _: &'a Cx, _: &'a FolderName, _: u64) -> Answer<'a, Option<Landing>> {
        refuse()
    }

    fn verify<'a>(&'a self, _: &'a Cx) -> Answer<'a, Verified> {
        refuse()
    }

    fn folders<'a>(&'a self, _: &'a Cx) -> Answer<'a, Folders> {
        refuse()
    }

    fn search<'a>(&'a self, _: &'a Cx, _: &'a Search) -> Answer<'a, Found> {
        refuse()
    }

    fn sift<'a>(&'a self, _: &'a Cx, _: &'a FolderName, _: &'a [Condition]) -> Answer<'a, Sifted> {
        refuse()
    }

    fn summaries<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a FolderName,
        _: UidValidity,
        _: &'a UidSet,
        _: Snippets,
    ) -> Answer<'a, Vec<Summary>> {
        refuse()
    }

    fn message<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: Choose<'a>) -> Answer<'a, Fetched> {
        refuse()
    }

    fn raw<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64) -> Answer<'a, RawMessage> {
        refuse()
    }

    fn locate<'a>(&'a self, _: &'a Cx, _: &'a Sought) -> Answer<'a, Kindred> {
        refuse()
    }

    fn kindred<'a>(&'a self, _: &'a Cx, _: &'a Sought) -> Answer<'a, Kindred> {
        refuse()
    }

    fn look<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a MessageRef,
        _: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        refuse()
    }

    fn octets<'a>(&'a self, _: &'a Cx, _: &'a MessageRef, _: u64, _: u32) -> Answer<'a, Bytes> {
        refuse()
    }

    fn horizon<'a>(&'a self, _: &'a Cx, _: &'a FolderName) -> Answer<'a, Horizon> {
        refuse()
    }

    fn candidates<'a>(
        &'a self,
        _: &'a Cx,
        _: &'a FolderName,
        _: Option<Horizon>,
        _: u64,
        _: u64,
    ) -> Answer<'a, Vec<Candidate>> {
        refuse()
    }

    fn apply<'a>(&'a self, _: &'a Cx, _: &'a Step) -> Changing<'a> {
        refuse_change()
    }

    fn append<'a>(&'a self, _: &'a Cx, _: &'a Append, _: &'a mut dyn Body) -> Changing<'a> {
        refuse_change()
    }
}
