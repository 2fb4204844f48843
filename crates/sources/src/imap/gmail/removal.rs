//! Removing where folders are labels: the message goes to the trash, or only the label that a copy put on goes.
//!
//! INVARIANT: nothing is expunged but what is in trash or spam already. Taking the last label off leaves a message in All Mail,
//! so whoever wants it gone has it moved to the trash, where its owner finds it for 30 days.

use mail::{Broken, Changed, Cx, Fault, FaultKind, Removal, Removed, SpecialUse, Stage, Subject};

use super::super::job::Change as _;
use super::super::session::Session;
use super::super::transfer::{Manner, Transfer};
use super::names::{self, Place};
use super::relabel;

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
    if session.names.place(folder) == Place::Discarded {
        return Ok(None);
    }
    let only_its_label = match what {
        Removed::Message => false,
        Removed::Copy => true,
        // Gmail keeps a message once: what was added may have been there before, under other labels.
        Removed::Addition => {
            let seen = relabel::see(subject, None, Stage::Remove, session, cx).await;
            let labels = seen.map_err(nothing)?.fetch.gmail_labels;
            let own = session.names.place(folder);
            let is_own =
                |label: &str| matches!(&own, Place::Label(own) if relabel::is_same(own, label));
            let mut others = labels
                .into_iter()
                .flatten()
                .filter(|label| !GIVEN.contains(&label.as_str()) && !is_own(label));
            others.next().is_some()
        }
    };
    match only_its_label {
        true => take_off(subject, session, cx).await.map(Some),
        false => throw_away(subject, session, cx).await.map(Some),
    }
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
