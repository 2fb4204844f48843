//! The file that a message lies in: its own at a local store, a copy in the spool where it lies at a server.

use std::io;
use std::path::{Path, PathBuf};

use mail::{Fault, FaultKind, Stage};

use crate::Refusal;
use crate::guarded_mail::{GuardedMail, Halt, Known};
use crate::pipeline::Ctx;
use crate::spool::Spool;
use crate::trouble::Issue;

/// So much travels at a time.
const PIECE: u32 = 256 << 10;
/// A message that is larger is not written to a file.
const MOST_OCTETS: u64 = 100 << 20;

/// The inner error is an answer of its own: the source could not give it.
type Given<T> = Result<Result<T, Issue>, Refusal>;

/// Where it lies already, or else a copy that is made now.
pub(super) async fn path(ctx: &Ctx<'_>, mail: &GuardedMail<'_>, known: &Known) -> Given<String> {
    match at_hand(ctx, mail, known).await? {
        Ok(Some(path)) => Ok(Ok(path)),
        Ok(None) => fetched(ctx, mail, known).await,
        Err(issue) => Ok(Err(issue)),
    }
}

/// Its own file, or the copy that was made before; none where it has to be fetched.
pub(super) async fn at_hand(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    known: &Known,
) -> Given<Option<String>> {
    match mail.file(known).await {
        Ok(Some(path)) => return Ok(shown(mail, &path)?.map(Some)),
        Ok(None) => {}
        Err(halt) => return mail.sort(halt).map(Err),
    }
    let Some(spool) = ctx.spool() else {
        return Ok(Err(nowhere()));
    };
    let size = known.member.summary.size;
    if size.is_some_and(|size| size > MOST_OCTETS) {
        return Ok(Err(too_large()));
    }
    let (spool, at) = (spool.clone(), known.at().clone());
    match apart(move || Ok(spool.get(&at, size))).await {
        Ok(Some(path)) => Ok(shown(mail, &path)?.map(Some)),
        _ => Ok(Ok(None)),
    }
}

/// A copy of a message that is nowhere at hand.
pub(super) async fn fetched(ctx: &Ctx<'_>, mail: &GuardedMail<'_>, known: &Known) -> Given<String> {
    let Some(spool) = ctx.spool() else {
        return Ok(Err(nowhere()));
    };
    match fetch(mail, known, spool).await {
        Ok(path) => shown(mail, &path),
        Err(Failed::Halt(halt)) => mail.sort(halt).map(Err),
        Err(Failed::TooLarge) => Ok(Err(too_large())),
        Err(Failed::Changed) => Ok(Err(issue(
            "changed",
            "the server told another size of this message than it gave, so that it cannot be judged as a file; read it instead",
        ))),
        Err(Failed::Disk(error)) if error.kind() == io::ErrorKind::StorageFull => Ok(Err(issue(
            FULL,
            "there is no room for another message file; those that nobody asks for again go within a day",
        ))),
        Err(Failed::Disk(error)) => {
            tracing::error!(%error, "a message file cannot be written");
            Ok(Err(issue(
                UNWRITTEN,
                "the message file cannot be written: check that the state directory has room and is ours",
            )))
        }
    }
}

/// INVARIANT: a path is for another program, so it leaves as it is or not at all.
fn shown(mail: &GuardedMail<'_>, path: &Path) -> Given<String> {
    let safe = path.to_str().filter(|path| {
        let mut changes = content::Changes::default();
        content::name(path, &mut changes) == **path
    });
    match safe {
        Some(path) => Ok(Ok(path.to_owned())),
        None => {
            let said = "the file's path holds characters that cannot be shown";
            let fault = Fault::saying(FaultKind::NotOffered, Stage::Fetch, said);
            mail.sort(fault.into()).map(Err)
        }
    }
}

/// Of a message that its caller sees, though not whole.
pub(super) fn withheld() -> Issue {
    issue(
        "not_permitted",
        "the policy does not show this message as a file",
    )
}

/// Of one that was seen, and cannot be had any more.
pub(super) fn refused(refusal: &Refusal) -> Issue {
    issue("not_found", refusal.to_string())
}

/// Whether the next message would meet with the same.
pub(super) fn is_ours(issue: &Issue) -> bool {
    [FULL, UNWRITTEN].contains(&issue.code.as_str())
}

const FULL: &str = "no_room";
const UNWRITTEN: &str = "not_written";

fn issue(code: &str, message: impl Into<String>) -> Issue {
    Issue {
        code: code.to_owned(),
        stage: Stage::Fetch.name().to_owned(),
        message: message.into(),
        retryable: false,
        uid: None,
        message_id: None,
    }
}

fn nowhere() -> Issue {
    let words =
        "there is no place for message files: mailwarden was started without a state directory";
    issue(UNWRITTEN, words)
}

fn too_large() -> Issue {
    let words = format!(
        "the message is larger than {MOST_OCTETS} octets and is not written to a file; read it instead"
    );
    issue("too_large", words)
}

enum Failed {
    Halt(Halt),
    TooLarge,
    /// What came is not what was described.
    Changed,
    Disk(io::Error),
}

/// Piece by piece: it is never held as a whole. The first piece is asked for before anything else is waited for, so that
/// those of several messages travel together.
async fn fetch(mail: &GuardedMail<'_>, known: &Known, spool: &Spool) -> Result<PathBuf, Failed> {
    let mut piece = mail.beginning(known, PIECE).await.map_err(Failed::Halt)?;
    let (spool, at) = (spool.clone(), known.at().clone());
    let size = known.member.summary.size;
    let begin = move || spool.begin(&at, size.unwrap_or(MOST_OCTETS));
    let mut writing = apart(begin).await.map_err(Failed::Disk)?;
    let mut given = 0_u64;
    loop {
        given += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if given > MOST_OCTETS {
            return Err(Failed::TooLarge);
        }
        // QUIRK: some servers tell a size that is not the message's; then what ends it is that nothing more comes.
        let short = piece.len() < PIECE as usize;
        let last = piece.is_empty() || short && size.is_none_or(|size| given >= size);
        let add = move || writing.add(&piece).map(|()| writing);
        writing = apart(add).await.map_err(Failed::Disk)?;
        if last {
            break;
        }
        let next = mail.octets(known, given, PIECE).await;
        piece = next.map_err(Failed::Halt)?;
    }
    if !mail.is_judged(known, given) {
        return Err(Failed::Changed);
    }
    apart(move || writing.finish()).await.map_err(Failed::Disk)
}

/// Where a slow disk holds up nobody else.
async fn apart<R: Send + 'static>(
    work: impl FnOnce() -> io::Result<R> + Send + 'static,
) -> io::Result<R> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(io::Error::other("the work fell over")))
}
