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
            home: "nowhere".to_owned(),
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

#[cfg(test)]
mod tests {
    use super::*;
    use mail::Effect;

    #[tokio::test]
    async fn every_question_and_every_change_is_answered_by_why() {
        let source = Unavailable::new("no driver");
        let (cx, folder) = (Cx::new(), FolderName::new("INBOX").unwrap());
        let why = |fault: Fault| (fault.kind, fault.said.unwrap().bytes().to_vec());
        let want = (FaultKind::NotServed, b"no driver".to_vec());
        let asked = source.horizon(&cx, &folder).await.unwrap_err();
        assert_eq!(why(asked), want);
        let asked = source.candidates(&cx, &folder, None, 1, 1).await;
        assert_eq!(why(asked.unwrap_err()), want);
        let append = Append {
            to: folder.clone(),
            flags: Vec::new(),
            arrived: None,
            size: 1,
        };
        let broken = source.append(&cx, &append, &mut Empty).await.unwrap_err();
        assert_eq!((why(broken.fault), broken.effect), (want, Effect::Nothing));
    }

    struct Empty;

    impl Body for Empty {
        fn next(
            &mut self,
        ) -> std::pin::Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
            Box::pin(async { Ok(Bytes::new()) })
        }
    }
}
