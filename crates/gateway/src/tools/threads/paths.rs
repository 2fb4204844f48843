//! The file that a message lies in: its own at a local store, a copy in the spool where it lies at a server.

use std::path::PathBuf;

use mail::{Fault, FaultKind, Stage};

use crate::guarded_mail::{GuardedMail, Halt, Known};
use crate::pipeline::Ctx;
use crate::spool::Spool;
use crate::trouble::Issue;
use crate::{Code, Refusal};

/// So much travels at a time.
const PIECE: u32 = 256 << 10;
/// A message that is larger is not written to a file.
const MOST_OCTETS: u64 = 100 << 20;

/// The inner error is an answer of its own: the source could not give it.
pub(super) async fn path(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    known: &Known,
) -> Result<Result<String, Issue>, Refusal> {
    let path = match found(ctx, mail, known).await? {
        Ok(path) => path,
        Err(issue) => return Ok(Err(issue)),
    };
    // INVARIANT: a path is for another program, so it leaves as it is or not at all.
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
pub(super) fn withheld(known: &Known) -> Issue {
    Issue {
        code: "not_permitted".to_owned(),
        stage: Stage::Fetch.name().to_owned(),
        message: "the policy does not show this message as a file".to_owned(),
        retryable: false,
        uid: None,
        message_id: Some(known.at().to_string()),
    }
}

async fn found(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    known: &Known,
) -> Result<Result<PathBuf, Issue>, Refusal> {
    match mail.file(known).await {
        Ok(Some(path)) => return Ok(Ok(path)),
        Ok(None) => {}
        Err(halt) => return mail.sort(halt).map(Err),
    }
    let Some(spool) = ctx.spool() else {
        return Err(Refusal::new(
            Code::Internal,
            "there is no place for message files: mailwarden was started without a state directory",
        ));
    };
    if let Some(path) = spool.get(known.at(), known.member.summary.size) {
        return Ok(Ok(path));
    }
    match fetch(mail, known, spool).await {
        Ok(path) => Ok(Ok(path)),
        Err(Failed::Halt(halt)) => mail.sort(halt).map(Err),
        Err(Failed::TooLarge) => Err(Refusal::new(
            Code::Conflict,
            format!(
                "the message is larger than {MOST_OCTETS} octets and is not written to a file; read it instead"
            ),
        )),
        Err(Failed::Disk(error)) => {
            tracing::error!(%error, "a message file cannot be written");
            Err(Refusal::new(
                Code::Internal,
                "the message file cannot be written: check that the state directory has room and is ours",
            ))
        }
    }
}

enum Failed {
    Halt(Halt),
    TooLarge,
    Disk(std::io::Error),
}

/// Piece by piece: it is never held as a whole.
async fn fetch(mail: &GuardedMail<'_>, known: &Known, spool: &Spool) -> Result<PathBuf, Failed> {
    let mut writing = spool.begin(known.at()).map_err(Failed::Disk)?;
    let mut given = 0_u64;
    loop {
        let piece = mail.octets(known, given, PIECE).await;
        let piece = piece.map_err(Failed::Halt)?;
        writing.add(&piece).map_err(Failed::Disk)?;
        given += u64::try_from(piece.len()).unwrap_or(u64::MAX);
        if given > MOST_OCTETS {
            return Err(Failed::TooLarge);
        }
        if piece.len() < PIECE as usize {
            return writing.finish().map_err(Failed::Disk);
        }
    }
}
