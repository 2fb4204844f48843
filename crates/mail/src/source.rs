//! The seam behind which mail lives: what can be asked of a source, and what it answers.
//!
//! Questions change nothing at the source (EXAMINE and PEEK, never SELECT). Only [`MailSource::apply`] and
//! [`MailSource::append`] do, and only where the source is one that can be written to.

use std::collections::HashMap;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use jiff::Timestamp;

use crate::{
    Append, Body, Broken, Candidate, Changing, Condition, Cx, Fault, FaultKind, Flag, Folder,
    FolderName, Horizon, Kindred, Landing, MessageRef, Query, Removal, Section, Sought, SourceKind,
    Stage, Step, Structure, SummaryHeader, Uid, UidSet, UidValidity, Witness,
};

/// A source's answer, on its way. Dropping it cancels the work at the source.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Fault>> + Send + 'a>>;

/// Which parts of a message are wanted, decided by who knows content once the structure is known.
pub type Choose<'a> = &'a (dyn Fn(&Structure) -> Vec<PartWish> + Send + Sync);

/// Where the mail of one account lives.
pub trait MailSource: Send + Sync {
    /// From configuration alone: no I/O.
    fn describe(&self) -> Described;

    /// How far the account's login goes, as far as is known without asking anybody.
    fn reach(&self) -> Reach {
        Reach::Everything
    }

    /// The scopes of a login that may only read; none of any other login: no I/O.
    fn scopes(&self) -> Option<Scopes> {
        None
    }

    /// What its folders are to each other; none where nobody has said so yet: no I/O.
    fn keeping(&self) -> Option<Keeping> {
        Some(Keeping::Apart)
    }

    /// The one name of a folder that may be asked for by several: ids, cursors and policies know no other. No I/O.
    fn spelled(&self, folder: &FolderName) -> Spelling {
        Spelling::Known(folder.clone())
    }

    /// Where these messages of a folder lie in the one that holds all: each by its number here and what its store calls it.
    fn in_all<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        messages: &'a [(Uid, u64)],
    ) -> Answer<'a, InAll> {
        let _ = (cx, folder, messages);
        Box::pin(async { Ok(None) })
    }

    /// Where a message is read that other changes may take out of its folder meanwhile: a place that they do not touch, or
    /// the folder itself.
    fn anchored<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef) -> Answer<'a, MessageRef> {
        let _ = cx;
        Box::pin(async { Ok(at.clone()) })
    }

    /// Where a message lies in the folder that holds all, whatever became of it where it was; none where it does not, or where
    /// there is no such folder.
    fn recalled<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        message: u64,
    ) -> Answer<'a, Option<MessageRef>> {
        let _ = (cx, at, message);
        Box::pin(async { Ok(None) })
    }

    /// Where the folder that holds all ends, asked now; none where there is none.
    fn end_of_all<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Option<Horizon>> {
        let _ = cx;
        Box::pin(async { Ok(None) })
    }

    /// How far a message goes that is removed from a folder, as far as anybody has said so yet: no I/O.
    fn removes(&self, folder: &FolderName) -> Removal {
        let _ = folder;
        Removal::Gone
    }

    /// Whether a message that is known by its store's own name lies in a folder, and where.
    fn standing<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        message: u64,
    ) -> Answer<'a, Option<Landing>> {
        let _ = (cx, folder, message);
        Box::pin(async { Err(Fault::new(FaultKind::NotOffered, Stage::Start)) })
    }

    /// Goes there and back once, on a connection of its own.
    fn verify<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Verified>;

    /// With counts only where they cost nothing.
    fn folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders>;

    /// The same with counts, as far as the source tells them in one go.
    fn counted_folders<'a>(&'a self, cx: &'a Cx) -> Answer<'a, Folders> {
        self.folders(cx)
    }

    /// A page of a folder, newest first.
    fn search<'a>(&'a self, cx: &'a Cx, search: &'a Search) -> Answer<'a, Found>;

    /// Which messages meet each of several tests, asked in one flight. A set may hold more than what meets its test
    /// where the source cannot tell; of a test for text it never does.
    fn sift<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
    ) -> Answer<'a, Sifted>;

    /// The same, with descriptions of messages that are likely to be asked for next, as far as they cost no other round trip. Of
    /// those that are not described nothing is said.
    fn sift_ahead<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        tests: &'a [Condition],
        _likely: Likely<'a>,
    ) -> Answer<'a, (Sifted, Vec<Summary>)> {
        Box::pin(async move { Ok((self.sift(cx, folder, tests).await?, Vec::new())) })
    }

    /// These messages, described; those that are gone are left out. Any order.
    fn summaries<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        uidvalidity: UidValidity,
        uids: &'a UidSet,
        snippets: Snippets,
    ) -> Answer<'a, Vec<Summary>>;

    /// One message: its header and the parts that `choose` picks from its structure.
    fn message<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        choose: Choose<'a>,
    ) -> Answer<'a, Fetched>;

    /// The first `max_bytes` of a message as it lies at the source.
    fn raw<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef, max_bytes: u64) -> Answer<'a, RawMessage>;

    /// Several messages, each as [`message`](Self::message) gives it, in the order in which they were asked for.
    fn messages<'a>(
        &'a self,
        cx: &'a Cx,
        wanted: &'a [MessageRef],
        choose: Choose<'a>,
    ) -> Answer<'a, Vec<Result<Fetched, Fault>>> {
        Box::pin(async move {
            let mut all = Vec::with_capacity(wanted.len());
            for at in wanted {
                all.push(self.message(cx, at, choose).await);
            }
            Ok(all)
        })
    }

    /// The messages that have one of these Message-IDs: every copy that is found, wherever it lies.
    fn locate<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        let _ = (cx, sought);
        Box::pin(async { Err(Fault::new(FaultKind::NotOffered, Stage::Start)) })
    }

    /// The conversations that these Message-IDs are of: every message that has or names one of them, and all that those
    /// have and name in turn.
    fn kindred<'a>(&'a self, cx: &'a Cx, sought: &'a Sought) -> Answer<'a, Kindred> {
        let _ = (cx, sought);
        Box::pin(async { Err(Fault::new(FaultKind::NotOffered, Stage::Start)) })
    }

    /// The file that a message lies in. None where messages lie in no files of their own here.
    fn file<'a>(&'a self, cx: &'a Cx, at: &'a MessageRef) -> Answer<'a, Option<PathBuf>> {
        let _ = (cx, at);
        Box::pin(async { Ok(None) })
    }

    /// A message as it is now and its first `octets`, which the digest covers; none if it is gone.
    fn look<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        octets: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        let _ = (cx, at, octets);
        Box::pin(async { Err(Fault::new(FaultKind::NotOffered, Stage::Start)) })
    }

    /// The same for whoever wants what it says rather than whether it is still there: of a message that somebody took
    /// away a moment ago the source may tell still.
    fn read<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        octets: u64,
    ) -> Answer<'a, Option<(Witness, Bytes)>> {
        self.look(cx, at, octets)
    }

    /// So many octets of a message from an offset on; fewer at its end.
    fn octets<'a>(
        &'a self,
        cx: &'a Cx,
        at: &'a MessageRef,
        from: u64,
        most: u32,
    ) -> Answer<'a, Bytes> {
        let _ = (cx, at, from, most);
        Box::pin(async { Err(Fault::new(FaultKind::NotOffered, Stage::Start)) })
    }

    /// Where a folder ends. It may be an earlier end that is remembered.
    fn horizon<'a>(&'a self, cx: &'a Cx, folder: &'a FolderName) -> Answer<'a, Horizon> {
        let _ = (cx, folder);
        Box::pin(async { Err(read_only()) })
    }

    /// The messages of a folder beyond the horizon that have this size, each with a digest over `octets`. Where the
    /// folder is of another generation by now, all of that size.
    fn candidates<'a>(
        &'a self,
        cx: &'a Cx,
        folder: &'a FolderName,
        beyond: Option<Horizon>,
        size: u64,
        octets: u64,
    ) -> Answer<'a, Vec<Candidate>> {
        let _ = (cx, folder, beyond, size, octets);
        Box::pin(async { Err(read_only()) })
    }

    /// Does one step. A step whose answer is lost is neither done again nor undone here.
    fn apply<'a>(&'a self, cx: &'a Cx, step: &'a Step) -> Changing<'a> {
        let _ = (cx, step);
        Box::pin(async { Err(Broken::before_anything(read_only())) })
    }

    /// Adds a message to a folder.
    fn append<'a>(
        &'a self,
        cx: &'a Cx,
        append: &'a Append,
        body: &'a mut dyn Body,
    ) -> Changing<'a> {
        let _ = (cx, append, body);
        Box::pin(async { Err(Broken::before_anything(read_only())) })
    }
}

/// Of a source that cannot be written to.
fn read_only() -> Fault {
    Fault::new(FaultKind::ReadOnly, Stage::Start)
}

/// What an operator configured, secrets left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Described {
    pub kind: SourceKind,
    /// The server, or `localhost` for a local store.
    pub host: String,
    /// 0 for a local store.
    pub port: u16,
    /// The way there is encrypted, or never leaves this machine.
    pub secure: bool,
    /// The name under which the receiving server writes Authentication-Results (RFC 8601), when it was configured.
    pub authserv_id: Option<String>,
    /// Names this one mailbox among all that there are, whatever an account is called; nothing can be read from it.
    pub home: String,
}

/// How far the login of an account goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reach {
    Everything,
    /// What was granted lets nothing be changed.
    ReadingOnly,
    /// Nowhere, before a person has logged in.
    Nothing(Unadmitted, Remedy),
    /// So far, once something is set right at this end: until then whatever is asked of it may fail.
    Broken(Granted),
}

impl Reach {
    /// Whether nothing may be changed, whatever else is the matter.
    pub fn is_for_reading(&self) -> bool {
        matches!(self, Self::ReadingOnly | Self::Broken(Granted::Reading))
    }
}

/// The OAuth scopes of a login that may only read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Scopes {
    /// The scope that a change needs, where the provider's is known.
    pub required: Option<String>,
    pub granted: String,
}

/// What was granted at a login.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Granted {
    Everything,
    Reading,
}

/// What a person does so that an account can be reached.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Remedy {
    LogIn,
    /// Put a new token where this name leads: it is kept where this program cannot write.
    Replace(String),
}

/// Why a person has to log in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unadmitted {
    /// Nobody has yet.
    Never,
    /// What was granted has been taken back, or is too old.
    Revoked,
    /// Another scope is configured than was granted.
    ScopeChanged,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Verified {
    pub capabilities: Vec<String>,
    /// What is wrong with the server and is worked around. INVARIANT: words of ours, and none of the server's.
    pub remarks: Vec<&'static str>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Folders {
    pub folders: Vec<Folder>,
    /// Names that could not be spelled as a [`FolderName`], and are missing above.
    pub unusable: usize,
}

#[derive(Clone, Debug)]
pub struct Search {
    pub folder: FolderName,
    pub query: Query,
    /// Continue below this message.
    pub below: Option<Anchor>,
    pub limit: usize,
    pub snippets: Snippets,
    /// A search with conditions may match this many messages; listing a folder is never refused.
    pub most_matches: u64,
}

/// Whether the beginning of each text is wanted too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Snippets {
    Without,
    /// About this many bytes of each message's text.
    Bytes(u32),
}

/// A place in the newest-first order of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Anchor {
    pub uidvalidity: UidValidity,
    /// What the source orders by before the UID; 0 where the UID alone is the order.
    pub order: i64,
    pub uid: Uid,
}

#[derive(Clone, Default, PartialEq, Debug)]
pub struct Found {
    pub uidvalidity: u32,
    /// Matches at and below the beginning of this page.
    pub matches: u64,
    pub summaries: Vec<Summary>,
    /// Matches of this page that the source then did not describe.
    pub missing: Vec<Uid>,
    /// Messages of this page whose description could not be read, not even their UIDs.
    pub undescribed: usize,
    /// Where the next page begins; absent on the last page.
    pub next: Option<Anchor>,
}

/// The messages that met each test, in the order of the tests.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sifted {
    pub uidvalidity: UidValidity,
    pub sets: Vec<UidSet>,
    pub order: Order,
}

/// Messages of a folder, as it was.
#[derive(Clone, Copy, Debug)]
pub struct Likely<'a> {
    pub uidvalidity: UidValidity,
    pub uids: &'a UidSet,
}

/// What is newest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Order {
    /// The highest UID.
    ByUid,
    /// The first of these: all messages of the folder, each with what it is ordered by before its UID.
    Listed(Vec<(i64, Uid)>),
}

/// One line of a list of mail.
#[derive(Clone, PartialEq, Debug)]
pub struct Summary {
    pub uid: Uid,
    /// What the source orders by before the UID; 0 where the UID alone is the order.
    pub order: i64,
    /// Absent when the source did not tell.
    pub flags: Option<Vec<Flag>>,
    pub arrived: Option<Timestamp>,
    /// Absent when the source did not tell; so are the next two.
    pub size: Option<u64>,
    pub header: Option<SummaryHeader>,
    pub structure: Option<Arc<Structure>>,
    pub text: Option<TextPrefix>,
    /// Present where the store has names of its own for messages.
    pub store_id: Option<StoreId>,
}

impl Summary {
    /// How much there is to read in it, in octets, or about.
    pub fn octets(&self) -> usize {
        let text = self.text.as_ref();
        let text = text.map_or(0, |text| text.header.len() + text.text.len());
        let structure = self.structure.as_ref().map_or(0, |one| one.octets_told());
        self.header.as_ref().map_or(0, SummaryHeader::octets) + structure + text
    }
}

/// What a store itself calls a message, the same in every folder that it is in, and its conversation (Gmail).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct StoreId {
    pub message: u64,
    pub thread: Option<u64>,
}

/// What the folders of an account are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Keeping {
    /// A message lies in a folder.
    Apart,
    /// Folders are labels: one holds what every other does, trash and junk aside (Gmail).
    Labels,
}

/// What a folder is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Spelling {
    Known(FolderName),
    /// Whoever has listed the folders knows.
    Unlisted,
}

/// The number of each of these messages in the folder that holds all; those that are not in it are left out. None where the
/// account shows no such folder.
pub type InAll = Option<HashMap<u64, Uid>>;

/// The beginning of a message: enough of its header to read the text that follows.
#[derive(Clone, PartialEq, Eq)]
pub struct TextPrefix {
    /// At least `Content-Type` and `Content-Transfer-Encoding`.
    pub header: Bytes,
    pub text: Bytes,
    /// There is more text than this.
    pub truncated: bool,
    /// Of the whole message, where the source knows it: which part is the body is not known from a
    /// beginning.
    pub structure: Option<Arc<Structure>>,
}

#[derive(Clone)]
pub struct Fetched {
    /// Absent when the source did not tell.
    pub flags: Option<Vec<Flag>>,
    pub arrived: Option<Timestamp>,
    pub size: u64,
    /// The header block, as far as it fits the source's bound.
    pub header: Bytes,
    pub header_truncated: bool,
    pub structure: Structure,
    pub parts: Vec<Part>,
    /// Parts that the store names and whose content is at the server only.
    pub not_downloaded: Vec<Section>,
}

impl Fetched {
    /// How much there is to read in it, in octets, or about.
    pub fn octets(&self) -> usize {
        let parts = self.parts.iter().map(|part| part.bytes.len());
        self.header.len() + parts.sum::<usize>() + self.structure.octets_told()
    }
}

/// Wanted: a part, up to so many encoded bytes of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PartWish {
    pub section: Section,
    pub max_bytes: u64,
    pub urgency: Urgency,
}

/// Whether a part is worth a wait of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Urgency {
    Needed,
    /// Welcome where it costs no further round trip, missed by nobody otherwise.
    Convenient,
}

/// A part's bytes, transfer encoding still on.
#[derive(Clone)]
pub struct Part {
    pub section: Section,
    pub bytes: Bytes,
    pub truncated: bool,
}

#[derive(Clone)]
pub struct RawMessage {
    /// Of the whole message.
    pub size: u64,
    pub bytes: Bytes,
}

impl std::fmt::Debug for TextPrefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TextPrefix({} bytes)", self.text.len())
    }
}
