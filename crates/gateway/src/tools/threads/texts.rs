//! The texts of a conversation: fetched, rendered, and packed into what room there is.

use std::ops::Range;

use content::UncertainRun;
use content::pack::{self, End, Packed, Part, Room};
use mail::{HeaderId, Level, MessageRef, Stage};
use serde::Serialize;

use super::email::{self, Email, Missing, written};
use super::going_on::{About, Rest, Way, left};
use super::read_email::ReadEmail;
use super::read_thread::Seen;
use super::turns::{Turn, Turns};
use crate::Refusal;
use crate::envelope::Warning;
use crate::guarded_mail::{GuardedMail, Known};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::tools::Tool as _;
use crate::tools::shown::uncertain;
use crate::trouble::Issue;

/// Characters of one text that are looked at; what is longer is read by `read_email`.
const MOST_TEXT: usize = 100_000;

/// References beyond the first that are told of a message here.
const MOST_NEAR: usize = 3;

// What is in it stands in the definition of read_email, or speaks for itself.
plain_object!(Shown);

/// A message, and its place.
#[derive(Serialize)]
pub(super) struct Shown {
    n: usize,
    /// The n of the message that it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<usize>,
    #[serde(flatten)]
    email: Email,
    /// The text is cut; `read_email` with `body_cursor` and this message_id shows the rest, or with the conversation's where
    /// this has none that can be said again.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_chars_left: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_cursor: Option<String>,
}

impl Shown {
    pub(super) fn at(&self) -> Option<MessageRef> {
        self.email.at()
    }
}

/// A message on its way into the answer.
pub(super) struct Told<'k> {
    n: usize,
    parent: Option<usize>,
    known: &'k Known,
    email: Email,
    /// What of its text may not be visible.
    uncertain: Vec<UncertainRun>,
    /// Where its text goes on, and how much follows.
    rest: Option<(usize, usize)>,
}

pub(super) struct Texts<'k> {
    pub told: Vec<Told<'k>>,
    pub issues: Vec<Issue>,
    pub warnings: Vec<Warning>,
}

pub(super) async fn read<'k>(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    turns: &'k Turns,
    window: Range<usize>,
    view: Seen,
) -> Result<Texts<'k>, Refusal> {
    let numbered = || {
        let turns = turns.turns.iter().enumerate();
        turns.take(window.end).skip(window.start)
    };
    let open = |turn: &Turn| view != Seen::Headers && email::is_open(&turn.copies.read);
    let wanted: Vec<&Known> = numbered()
        .map(|(_, turn)| turn)
        .filter(|turn| open(turn))
        .map(|turn| &turn.copies.read)
        .collect();
    let wish = email::wish(0, MOST_TEXT);
    let choose = |structure: &mail::Structure| content::choose(structure, &wish);
    let mut all = Texts {
        told: Vec::new(),
        issues: Vec::new(),
        warnings: Vec::new(),
    };
    let mut contents = match mail.contents(&wanted, Level::Body, &choose).await {
        Ok(contents) => contents.into_iter(),
        Err(halt) => {
            all.issues.push(mail.sort(halt)?);
            Vec::new().into_iter()
        }
    };
    for (place, turn) in numbered() {
        let n = place + 1;
        let known = &turn.copies.read;
        let missing = match (view, open(turn)) {
            (Seen::Headers, _) => Missing::NotAsked,
            (_, false) => Missing::NotPermitted,
            (_, true) => Missing::Unavailable,
        };
        let mut told = Told {
            n,
            parent: turn.parent.map(|parent| parent + 1),
            known,
            email: email::bare(known, missing),
            uncertain: Vec::new(),
            rest: None,
        };
        if missing == Missing::NotPermitted {
            all.issues.push(withheld(known));
        }
        if open(turn) {
            match contents.next() {
                Some(Ok(fetched)) => {
                    let rendered = email::render(ctx, mail, known, fetched, wish.clone()).await?;
                    let cut = rendered.view.body_truncated;
                    told.rest = cut.and_then(|cut| Some((cut.next_offset?, cut.left.chars())));
                    told.email = rendered.email;
                    told.uncertain = rendered.view.uncertain_text;
                    let warnings = rendered.warnings.into_iter();
                    all.warnings.extend(warnings.map(|one| of(n, one)));
                }
                // Of one that is gone meanwhile, or hidden since, the description stands and the text does not.
                Some(Err(halt)) => {
                    if let Ok(mut issue) = mail.sort(halt) {
                        if issue.code == "not_downloaded" {
                            told.email = email::bare(known, Missing::NotDownloaded);
                        }
                        issue.message_id = Some(known.at().to_string());
                        all.issues.push(issue);
                    }
                }
                None => {}
            }
        }
        told.email.also_in = turn.copies.also_in();
        // Who answers whom is told by numbers; the whole of it, in every message, would be most of the answer.
        told.email.references = email::several(&known.member.links.references, MOST_NEAR);
        all.told.push(told);
    }
    Ok(all)
}

/// Of a message that its caller sees without its text.
fn withheld(known: &Known) -> Issue {
    Issue {
        code: Missing::NotPermitted.name().to_owned(),
        stage: Stage::Fetch.name().to_owned(),
        message: "the policy does not show the text of this message".to_owned(),
        retryable: false,
        uid: None,
        message_id: Some(known.at().to_string()),
    }
}

/// Which message a warning is about.
fn of(n: usize, warning: Warning) -> Warning {
    Warning {
        text: format!("#{n}: {}", warning.text),
        ..warning
    }
}

/// Leaves out what stands in an earlier message of the same answer, and cuts what is too much; the newest last.
pub(super) async fn fit(
    ctx: &Ctx<'_>,
    told: &mut [Told<'_>],
    view: Seen,
    max_chars: usize,
) -> Result<(), Refusal> {
    let texts: Vec<Text> = told
        .iter_mut()
        .filter_map(|one| {
            Some(Text {
                number: u32::try_from(one.n).ok()?,
                text: one.email.body_text.take()?,
                uncertain: std::mem::take(&mut one.uncertain),
                end: match one.rest {
                    Some(_) => End::Elsewhere,
                    None => End::Here,
                },
            })
        })
        .collect();
    let packed = ctx.render(move || packed(&texts, view, max_chars)).await?;
    let mut packed = packed.into_iter().peekable();
    for one in told {
        let own = |packed: &Packed| u32::try_from(one.n).is_ok_and(|n| n == packed.number);
        let Some(found) = packed.next_if(own) else {
            continue;
        };
        if let Some(cut) = found.cut {
            let beyond = one.rest.map_or(0, |(_, left)| left);
            let left = cut.total_chars.saturating_sub(cut.shown_chars) + beyond;
            one.rest = Some((cut.shown_chars, left));
        }
        one.email.uncertain_text = uncertain(&found.uncertain);
        one.email.body_text = Some(found.text);
    }
    Ok(())
}

/// A text on its way into a pack.
struct Text {
    number: u32,
    text: String,
    uncertain: Vec<UncertainRun>,
    end: End,
}

fn packed(texts: &[Text], view: Seen, max_chars: usize) -> Vec<Packed> {
    let each = texts.iter().map(|one| Part {
        number: one.number,
        text: &one.text,
        uncertain: &one.uncertain,
        end: one.end,
    });
    let parts: Vec<Part<'_>> = each.collect();
    let room = Room::Chars(max_chars);
    match view {
        Seen::New => pack::pack(&parts, room),
        Seen::Full | Seen::Headers => pack::whole(&parts, room),
    }
}

impl Told<'_> {
    pub(super) fn is_whole(&self) -> bool {
        self.email.success
    }

    /// `asked` is the id of the conversation, as its caller gave it.
    pub(super) fn shown(self, ctx: &Ctx<'_>, asked: &HeaderId) -> Shown {
        let own = self.known.member.links.id.as_ref();
        // One that cannot be said again as it is shown is of no use to the caller.
        let own = own.filter(|own| HeaderId::new(written(own).as_bytes()).as_ref() == Some(own));
        let (id, way) = match own {
            Some(own) => (own, Way::Id),
            None => (asked, Way::Kin),
        };
        let about = About {
            tool: ReadEmail::NAME,
            id,
            account: None,
        };
        let cursor = self
            .rest
            .and_then(|(offset, _)| about.seal(ctx, &Rest::of(self.known, offset, way)));
        Shown {
            n: self.n,
            reply_to: self.parent,
            email: self.email,
            body_chars_left: self.rest.and_then(|(_, chars)| left(chars)),
            body_cursor: cursor,
        }
    }
}
