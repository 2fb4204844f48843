//! The change that adds a message to a folder, its octets streamed from wherever they come.

use imap::{Code, Command};
use mail::{
    Append, Broken, Changed, Cx, Effect, Fault, FaultKind, Landing, Stage, Uid, UidValidity,
};

use super::cargo::Cargo;
use super::change::{names, unspeakable};
use super::faults;
use super::session::Session;

/// What a server says it takes at most (RFC 7889).
const LIMIT: &str = "APPENDLIMIT=";

pub(super) async fn append(
    session: &mut Session,
    cx: &Cx,
    append: &Append,
    cargo: &mut Cargo<'_>,
) -> Result<Changed, Broken> {
    cx.enter(Stage::Append);
    let command = command(session, append).map_err(Broken::before_anything)?;
    let flown = session.append(cx, command, cargo).await;
    let broken = |fault, effect| Broken {
        fault,
        effect,
        before: None,
    };
    match flown.status(0) {
        Some(status) if status.is_ok() && cargo.is_complete() => Ok(Changed {
            landed: status.code.as_ref().and_then(landing),
            ..Changed::default()
        }),
        Some(status) if status.is_ok() => {
            let said = "the server took a message that it had not got";
            let fault = Fault::saying(FaultKind::Protocol, Stage::Append, said);
            Err(broken(fault, Effect::Unknown))
        }
        Some(status) => {
            let fault = faults::change_refused(status, Stage::Append);
            Err(broken(fault, Effect::Nothing))
        }
        None => {
            let unanswered = Fault::new(FaultKind::Protocol, Stage::Append);
            let fault = flown.fault.unwrap_or(unanswered);
            // INVARIANT: a server that did not get the last octets did not get a message.
            let effect = match cargo.is_complete() {
                true => Effect::Unknown,
                false => Effect::Nothing,
            };
            Err(broken(fault, effect))
        }
    }
}

fn command(session: &Session, append: &Append) -> Result<Command, Fault> {
    let mut limits = session.capabilities().names().iter();
    let limit: Option<u64> = limits.find_map(|name| name.strip_prefix(LIMIT)?.parse().ok());
    if limit.is_some_and(|limit| append.size > limit) {
        return Err(Fault::new(FaultKind::TooLarge, Stage::Append));
    }
    if append.size == 0 {
        let said = "a message without octets is none";
        return Err(Fault::saying(FaultKind::Rejected, Stage::Append, said));
    }
    let flags = append.flags.iter().filter(|flag| !flag.is("\\Recent"));
    let flags: Vec<_> = flags.cloned().collect();
    let arrived = append.arrived.map(jiff::Timestamp::as_second);
    let names = names(&flags, Stage::Append)?;
    Command::append(
        &session.names.wire(&append.to),
        &names,
        arrived,
        append.size,
    )
    .map_err(|_| unspeakable(Stage::Append))
}

fn landing(code: &Code) -> Option<Landing> {
    let landed = code.append_uid()?;
    Some(Landing {
        uidvalidity: UidValidity(landed.uidvalidity),
        uid: Uid(landed.uid),
    })
}
