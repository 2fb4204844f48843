//! Reading one message: what is fetched, rendered and told about it, for every tool that shows one.

use content::{BodyWish, Changes, Known, Left, Note, View};
use mail::{Fetched, Level, MessageRef};

use crate::Refusal;
use crate::envelope::{Status, Warning};
use crate::guarded_mail::GuardedMail;
use crate::pipeline::Ctx;
use crate::tools::shown;
use crate::trouble::Issue;

/// What is wanted of which message.
pub(super) struct Asked<'a> {
    pub at: &'a MessageRef,
    pub needed: Level,
    pub wish: BodyWish,
    pub headers: Shown,
    /// The argument that shows what follows.
    pub offset: &'static str,
}

/// Which headers will be shown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Shown {
    Curated,
    All,
}

/// A message as its caller may see it.
pub(super) struct Seen {
    pub view: View,
    pub flags: Option<Vec<String>>,
    pub level: Level,
    pub issues: Vec<Issue>,
    pub warnings: Vec<Warning>,
    offset: &'static str,
}

/// The inner error is an answer of its own: the source could not do it.
pub(super) async fn read(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    asked: Asked<'_>,
) -> Result<Result<Seen, Issue>, Refusal> {
    let Asked {
        at,
        needed,
        wish,
        headers,
        offset,
    } = asked;
    let choose = |structure: &mail::Structure| content::choose(structure, &wish);
    let (fetched, level) = match mail.message(at, needed, &choose).await {
        Ok(fetched) => fetched,
        Err(halt) => return mail.sort(halt).map(Err),
    };
    let flags = fetched.flags.clone();
    let known = Known {
        authserv_id: mail.describe().authserv_id,
        uncertain_text: ctx.uncertain_text(),
        ..Known::default()
    };
    let plain = is_plain(&fetched).then(|| octets(&fetched));
    // Most have nothing to be taken out of attachments: they are read in one go.
    let first = move || {
        let jobs = content::extractions(&fetched, &wish);
        match jobs.is_empty() {
            true => Ok(content::view(&fetched, &wish, &known)),
            false => Err(Box::new((fetched, wish, known, jobs))),
        }
    };
    let first = match plain {
        Some(octets) => ctx.read(octets, first).await,
        None => ctx.render(first).await,
    };
    let mut view = match first? {
        Ok(view) => view,
        Err(left) => {
            let (fetched, wish, mut known, jobs) = *left;
            known.extractions = ctx.extract(jobs).await;
            let work = move || content::view(&fetched, &wish, &known);
            ctx.render(work).await?
        }
    };
    if headers == Shown::All {
        view.rare_changes.tell(&mut view.notes);
        view.changes += view.rare_changes;
    }
    let mut changes = Changes::default();
    let flags = shown::flags(flags.as_deref(), &mut changes);
    changes.tell(&mut view.notes);
    view.changes += changes;
    let issues: Vec<Issue> = view
        .notes
        .iter()
        .filter_map(|note| issue(note, at))
        .collect();
    let warnings = view
        .notes
        .iter()
        .filter(|note| issue(note, at).is_none() && !note.is_ordinary());
    let mut warnings: Vec<Warning> = warnings.map(|note| warning(note, &view, offset)).collect();
    if level < Level::Full {
        warnings.push(Warning::from(format!(
            "your policy gives {} of this message: whether it has attachments is not told",
            level.name()
        )));
    }
    Ok(Ok(Seen {
        view,
        flags,
        level,
        issues,
        warnings,
        offset,
    }))
}

/// Whether there is nothing to read but a header and plain text.
fn is_plain(fetched: &Fetched) -> bool {
    let leaves = &fetched.structure.leaves;
    leaves.iter().all(|leaf| leaf.mime_type == "text/plain")
}

fn octets(fetched: &Fetched) -> usize {
    let parts = fetched.parts.iter().map(|part| part.bytes.len());
    fetched.header.len() + parts.sum::<usize>()
}

impl Seen {
    pub(super) fn status(&self) -> Status {
        match self.issues.is_empty() {
            true => Status::Ok,
            false => Status::Partial,
        }
    }

    pub(super) fn summary(&self) -> String {
        summary(&self.view, |next| format!("{}: {next}", self.offset))
    }
}

/// What is missing is an issue; what was only changed is a warning.
fn issue(note: &Note, at: &MessageRef) -> Option<Issue> {
    if !matches!(
        note,
        Note::PartMissing { .. }
            | Note::ExtractionUnsupported { .. }
            | Note::ExtractionSkipped { .. }
            | Note::ExtractionFailed { .. }
    ) {
        return None;
    }
    Some(Issue {
        code: note.code().to_owned(),
        stage: mail::Stage::Render.name().to_owned(),
        message: note.to_string(),
        retryable: matches!(note, Note::PartMissing { .. }),
        uid: Some(at.uid.0),
        message_id: Some(at.to_string()),
    })
}

/// A note in words, and the way to what it says is missing.
fn warning(note: &Note, view: &View, offset: &str) -> Warning {
    let next = view.body_truncated.and_then(|cut| cut.next_offset);
    match (note, next) {
        (Note::BodyTruncated, Some(next)) => {
            Warning::from(format!("{note}; {offset}: {next} shows what follows"))
        }
        _ => Warning {
            text: note.to_string(),
            quote: note.quote(),
        },
    }
}

/// `again` says with what to call again for what follows.
pub(super) fn summary(view: &View, again: impl Fn(usize) -> String) -> String {
    let shown = view
        .body_text
        .as_ref()
        .map_or(0, |text| text.chars().count());
    let more = match view.body_truncated {
        Some(cut) => {
            let left = match cut.left {
                Left::Exactly(chars) => format!("{chars} more follow"),
                Left::AtLeast(0) => "more follow".to_owned(),
                Left::AtLeast(chars) => format!("at least {chars} more follow"),
            };
            match cut.next_offset {
                Some(next) => format!(", {left} (call again with {})", again(next)),
                None => format!(", {left} that cannot be shown"),
            }
        }
        None => String::new(),
    };
    match view.attachments.len() {
        0 => format!("message read: {shown} characters of text{more}"),
        n => format!("message read: {shown} characters of text{more}, {n} attachment(s)"),
    }
}
