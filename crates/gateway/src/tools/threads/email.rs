//! One message of a conversation, in the fields that the clients of these tools know.

use content::{BodyWish, Changes, Date, HtmlWish, Note, View};
use mail::{Fetched, HeaderId, Level, MessageRef, Section};
use schemars::JsonSchema;
use serde::Serialize;

use crate::Refusal;
use crate::envelope::Warning;
use crate::guarded_mail::{GuardedMail, Known};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::tools::shown::{Uncertain, uncertain};

#[derive(Serialize, JsonSchema)]
pub(super) struct Email {
    pub success: bool,
    /// The Message-ID, or empty where the message has none.
    pub message_id: String,
    pub subject: String,
    pub from: String,
    pub to: String,
    pub cc: String,
    /// As it was sent; where the message has none, when it arrived.
    pub date: String,
    pub references: String,
    pub in_reply_to: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub uncertain_text: Vec<Uncertain>,
    /// ok, empty, html_converted, not_downloaded, not_permitted, not_asked, or unavailable.
    pub body_state: &'static str,
    /// For the other tools.
    pub id: String,
    pub mailbox: String,
    pub unread: bool,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub attachments: Vec<Attachment>,
    /// Copies of the same message.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub also_in: Vec<String>,
}

plain_object!(Attachment);

#[derive(Serialize)]
pub(super) struct Attachment {
    part_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    filename: Option<String>,
    content_type: String,
    size_bytes: u64,
    /// Only at the server.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    not_downloaded: bool,
}

/// References beyond the first that are shown without the header itself.
const MOST_NEAR: usize = 20;

/// Fields that hold words of strangers.
pub(super) const UNTRUSTED: &[&str] = &[
    "message_id",
    "subject",
    "from",
    "to",
    "cc",
    "date",
    "references",
    "in_reply_to",
    "body_text",
    "attachments",
    "id",
    "mailbox",
    "also_in",
    "coverage",
];

impl Email {
    pub(super) fn at(&self) -> Option<MessageRef> {
        MessageRef::parse(&self.id).ok()
    }
}

/// What became of a message's text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Missing {
    NotAsked,
    NotPermitted,
    NotDownloaded,
    Unavailable,
}

impl Missing {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NotAsked => "not_asked",
            Self::NotPermitted => "not_permitted",
            Self::NotDownloaded => "not_downloaded",
            Self::Unavailable => "unavailable",
        }
    }
}

/// A message as its caller may see it, and what they should know of it.
pub(super) struct Rendered {
    pub email: Email,
    pub view: View,
    pub warnings: Vec<Warning>,
}

pub(super) fn wish(offset: usize, max_chars: usize) -> BodyWish {
    BodyWish {
        offset,
        max_chars,
        html: HtmlWish::Skip,
        attachment_text: None,
        only: None,
    }
}

/// In brackets, as clients expect it.
pub(super) fn written(id: &HeaderId) -> String {
    content::header_id(id, &mut Changes::default())
}

/// Several of a header: the first and so many of the nearest.
pub(super) fn several(ids: &[HeaderId], most: usize) -> String {
    let (first, rest) = ids.split_at(1.min(ids.len()));
    let near = rest.get(rest.len().saturating_sub(most)..);
    let near = near.unwrap_or_default();
    let mut all: Vec<String> = first.iter().map(written).collect();
    if near.len() < rest.len() {
        all.push("…".to_owned());
    }
    all.extend(near.iter().map(written));
    all.join(" ")
}

/// Of a message whose content came.
pub(super) async fn render(
    ctx: &Ctx<'_>,
    mail: &GuardedMail<'_>,
    known: &Known,
    fetched: Fetched,
    wish: BodyWish,
) -> Result<Rendered, Refusal> {
    let facts = content::Known {
        authserv_id: mail.describe().authserv_id,
        uncertain_text: ctx.uncertain_text(),
        ..content::Known::default()
    };
    let absent = fetched.not_downloaded.clone();
    let flags = fetched.flags.clone();
    let view = ctx
        .render(move || content::view(&fetched, &wish, &facts))
        .await?;
    let mut email = bare(known, Missing::NotAsked);
    if flags.is_some() {
        email.unread = unread(flags.as_deref());
    }
    let text = view.body_text.clone().unwrap_or_default();
    let converted = view.notes.contains(&Note::HtmlConverted);
    let attached = |part: &&Section| view.attachments.iter().any(|one| one.part_id == **part);
    let text_absent = absent.iter().any(|part| !attached(&part));
    email.success = !(text.is_empty() && text_absent);
    email.body_state = match () {
        () if !email.success => Missing::NotDownloaded.name(),
        () if text.is_empty() => "empty",
        () if converted => "html_converted",
        () => "ok",
    };
    email.body_text = Some(text);
    email.uncertain_text = uncertain(&view.uncertain_text);
    email.attachments = view
        .attachments
        .iter()
        .map(|one| Attachment {
            part_id: one.part_id.to_string(),
            filename: one.filename.clone(),
            content_type: one.content_type.clone(),
            size_bytes: one.size_bytes,
            not_downloaded: absent.contains(&one.part_id),
        })
        .collect();
    let header = |name: &str| {
        let mut found = view.headers.iter();
        let found = found.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    email.subject = view.subject.clone().unwrap_or_default();
    email.from = view.from.clone().unwrap_or_default();
    email.to = view.to.clone().unwrap_or_default();
    email.cc = view.cc.clone().unwrap_or_default();
    email.date = dated(header("date"), view.date.as_ref());
    email.references = header("references");
    email.in_reply_to = header("in-reply-to");
    let notes = view
        .notes
        .iter()
        .filter(|note| !note.is_ordinary() && **note != Note::BodyTruncated);
    let warnings = notes.map(|note| Warning {
        text: note.to_string(),
        quote: note.quote(),
    });
    Ok(Rendered {
        warnings: warnings.collect(),
        email,
        view,
    })
}

/// Of one whose content was not asked for, or did not come: what its description says.
pub(super) fn bare(known: &Known, missing: Missing) -> Email {
    let mut changes = Changes::default();
    let summary = &known.member.summary;
    let links = &known.member.links;
    let envelope = content::summary_envelope(summary).unwrap_or_default();
    let people = |list: &[mail::Address], changes: &mut Changes| {
        content::addresses(list, changes).unwrap_or_default()
    };
    let mut words = |raw: Option<&mail::Raw>| {
        raw.map(|raw| content::header_text(raw, &mut changes))
            .unwrap_or_default()
    };
    let subject = words(envelope.subject.as_ref());
    let seen = summary.header.as_ref();
    let arrived = seen.and_then(|_| content::date(None, summary.arrived));
    let date = dated(words(envelope.date.as_ref()), arrived.as_ref());
    Email {
        success: missing == Missing::NotAsked,
        message_id: links.id.as_ref().map(written).unwrap_or_default(),
        subject,
        from: people(&envelope.from, &mut changes),
        to: people(&envelope.to, &mut changes),
        cc: people(&envelope.cc, &mut changes),
        date,
        references: several(&links.references, MOST_NEAR),
        in_reply_to: several(&links.in_reply_to, MOST_NEAR),
        body_text: None,
        uncertain_text: Vec::new(),
        body_state: missing.name(),
        id: known.at().to_string(),
        mailbox: content::name(known.at().folder.as_str(), &mut changes),
        unread: is_unread(summary),
        attachments: Vec::new(),
        also_in: Vec::new(),
    }
}

/// The Date field as it was sent, else when the message arrived.
fn dated(field: String, read: Option<&Date>) -> String {
    match read {
        Some(date) if field.is_empty() => format!("{} (arrival)", date.text),
        _ => field,
    }
}

/// Known to be so.
pub(super) fn is_unread(summary: &mail::Summary) -> bool {
    unread(summary.flags.as_deref())
}

fn unread(flags: Option<&[mail::Flag]>) -> bool {
    flags.is_some_and(|flags| !flags.iter().any(|flag| flag.is("\\Seen")))
}

/// Whether its content can be asked for.
pub(super) fn is_open(known: &Known) -> bool {
    known.level() >= Level::Body
}
