//! Removing where folders are labels: the message goes to the trash, or only the label that a copy put on goes.
//!
//! INVARIANT: nothing is expunged but what is in trash or spam already. Taking the last label off leaves a message in All Mail,
//! so whoever wants it gone has it moved to the trash, where its owner finds it for 30 days.
//! INVARIANT: taking back what was added never throws away what was there before: only what is known to be new.

use mail::{
    Broken, Changed, Cx, Fault, FaultKind, Horizon, Landing, Removal, Removed, SpecialUse, Stage,
    Subject,
};

use super::super::job::Change as _;
use super::super::session::{Entry, Session};
use super::super::transfer::{Manner, Transfer};
use super::names::{self, Place};
use super::{all_mail, relabel};

/// Labels that Gmail gives by itself, or for a flag.
const GIVEN: [&str; 2] = ["\\Important", "\\Starred"];

/// None where the message is in trash or spam: there it is taken out as on any other server.
pub(in super::super) async fn remove(
    subject: &Subject,
    what: Removed,
    session: &mut Session,
    cx: &Cx,
) -> Result<Option<Changed>, Broken> {
    let nothing = Broken::before_anything;
    let folder = &subject.at.folder;
    let settled = names::settle(session, cx, &[folder]).await;
    settled.map_err(nothing)?;
    let discarded = session.names.place(folder) == Place::Discarded;
    let trash = session.names.of_use(SpecialUse::Trash);
    let is_trash = trash.is_ok_and(|trash| trash == *folder);
    match what {
        Removed::Message if discarded => return Ok(None),
        // It is nowhere else, and it is where all goes that is taken away.
        Removed::Addition { .. } if is_trash => {
            return Ok(Some(Changed {
                removal: Some(Removal::Trashed),
                ..Changed::default()
            }));
        }
        Removed::Copy | Removed::Addition { .. } if discarded => {
            return Err(nothing(Fault::new(FaultKind::NoCopyThere, Stage::Remove)));
        }
        Removed::Message | Removed::Copy | Removed::Addition { .. } => {}
    }
    let goes = match what {
        Removed::Message => Goes::Message,
        Removed::Copy => Goes::Label,
        Removed::Addition { beyond } => {
            let goes = what_was_added(subject, beyond, session, cx).await;
            goes.map_err(nothing)?
        }
    };
    match goes {
        Goes::Label => take_off(subject, session, cx).await.map(Some),
        Goes::Message => throw_away(subject, session, cx).await.map(Some),
    }
}

enum Goes {
    Label,
    Message,
}

/// Gmail keeps a message once: what was added may have been there before, under other labels or none.
async fn what_was_added(
    subject: &Subject,
    beyond: Option<Horizon>,
    session: &mut Session,
    cx: &Cx,
) -> Result<Goes, Fault> {
    let seen = relabel::see(subject, None, Stage::Remove, session, cx).await?;
    let own = session.names.place(&subject.at.folder);
    let mut labels = seen.fetch.gmail_labels.into_iter().flatten();
    let is_own = |label: &str| matches!(&own, Place::Label(own) if relabel::is_same(own, label));
    let is_other = |label: String| !GIVEN.contains(&label.as_str()) && !is_own(&label);
    let (Some(end), Some(id)) = (beyond, seen.witness.store_id) else {
        return Ok(Goes::Label);
    };
    if labels.any(is_other) {
        return Ok(Goes::Label);
    }
    let is_new = |at: Landing| at.uidvalidity == end.uidvalidity && at.uid >= end.next;
    let in_all = all_mail::number(session, cx, Entry::Reading, id).await?;
    Ok(match in_all.is_some_and(is_new) {
        true => Goes::Message,
        false => Goes::Label,
    })
}

async fn take_off(subject: &Subject, session: &mut Session, cx: &Cx) -> Result<Changed, Broken> {
    let changed = relabel::take_off(subject, session, cx).await?;
    let hidden = || {
        let said = "a label can be taken off only where All Mail is shown in IMAP; show it in Gmail's settings";
        Broken::before_anything(Fault::saying(FaultKind::NotOffered, Stage::Remove, said))
    };
    let changed = changed.ok_or_else(hidden)?;
    Ok(Changed {
        removal: Some(Removal::Gone),
        was_there: false,
        ..changed
    })
}

async fn throw_away(subject: &Subject, session: &mut Session, cx: &Cx) -> Result<Changed, Broken> {
    let trash = session.names.of_use(SpecialUse::Trash);
    let to = trash.map_err(Broken::before_anything)?;
    let transfer = Transfer {
        subject,
        to: &to,
        manner: Manner::Move,
    };
    let changed = transfer.run(session, cx).await?;
    Ok(Changed {
        before: changed.before,
        removal: Some(Removal::Trashed),
        ..Changed::default()
    })
}
