//! `search`: the messages of a folder that match and may be seen, newest first, and how many there are besides.

use audit::Summary;
use content::Changes;
use mail::{Anchor, FaultKind, Level, Snippets, Summary as Described, Uid, UidValidity};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::looked_for::LookedFor;
use crate::Refusal;
use crate::args::{Account, Cursor, Mailbox, Within};
use crate::cursor::{BadCursor, Binding, Place};
use crate::envelope::{Done, Pagination, Reply, Status};
use crate::guarded_mail::{Halt, Sighting, Wanted};
use crate::pipeline::Ctx;
use crate::setup::Provider;
use crate::tools::store_ids::{self, OfPage, StoreIds};
use crate::tools::{Annotations, Tool, Toolset, shown};
use crate::trouble::{Issue, NextAction};

pub(crate) struct Search;

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Account,
    folder: Mailbox,
    /// All must match. Without them the folder is listed.
    criteria: Option<LookedFor>,
    /// next_cursor of the page before, instead of criteria.
    cursor: Option<Cursor>,
    #[schemars(extend("default" = 50))]
    limit: Option<Within<1, 500>>,
    /// Sender, subject and date too, of messages that are open at ENVELOPE.
    #[schemars(extend("default" = false))]
    include_envelope: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Page {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    account_id: String,
    folder: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    uidvalidity: Option<u32>,
    uids: Vec<u32>,
    messages: Vec<Line>,
    matched_total: u64,
    matched_visible: u64,
    filtered_out: u64,
    hidden_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    has_more: bool,
}

#[derive(Serialize, JsonSchema)]
struct Line {
    uid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    received: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<Vec<String>>,
    #[serde(flatten)]
    date: shown::Dated,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    visibility: &'static str,
    #[serde(flatten)]
    ids: StoreIds,
}

impl Line {
    fn of(summary: &Described, level: Level, ids: StoreIds, changes: &mut Changes) -> Self {
        let envelope = content::summary_envelope(summary);
        let said = envelope.as_ref();
        let subject = said.and_then(|said| said.subject.as_ref());
        Self {
            uid: summary.uid.0,
            size_bytes: summary.size,
            received: content::date(None, summary.arrived).map(|date| date.text),
            flags: shown::flags(summary.flags.as_deref(), changes),
            date: said
                .and_then(|said| content::date(said.date.as_ref(), summary.arrived))
                .into(),
            from: said.and_then(|said| content::addresses(&said.from, changes)),
            subject: subject.map(|raw| content::header_text(raw, changes)),
            visibility: level.name(),
            ids,
        }
    }
}

impl Reply for Page {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        self.uids.len()
    }

    fn hidden(&self) -> u64 {
        self.hidden_count
    }

    fn seen(&self) -> Option<audit::Seen> {
        Some(audit::Seen {
            uidvalidity: self.uidvalidity?,
            uids: self.uids.clone(),
        })
    }
}

impl Tool for Search {
    const NAME: &'static str = "search";
    const TITLE: &'static str = "Search a folder";
    const SUMMARY: &'static str = "Find messages of one folder, newest (highest uid) first: uids, sizes, flags and how much of \
        each you can see; with include_envelope who wrote about what. A message matches only if you may see what the criteria look at (size, flags, arrival: METADATA; \
        addresses, subject: ENVELOPE; header: HEADERS; text, attachments: FULL; gm_raw: every folder at FULL). hidden_count is the number of \
        messages that you cannot see, whatever you look for. For more pass next_cursor as cursor, without criteria. \
        Read on with fetch_body.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Metadata;
    const UNTRUSTED: &'static [&'static str] = &["messages"];
    type Args = Args;
    type Reply = Page;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        if args.cursor.is_some() && args.criteria.is_some() {
            return Err(Refusal::argument(
                "cursor",
                "cursor cannot be combined with criteria; it already carries them",
            ));
        }
        Ok(Ask::Messages {
            account: args.account_id.0.clone(),
            folder: args.folder.0.clone(),
            level: Level::Metadata,
        })
    }

    fn shows(args: &Args) -> Option<Level> {
        (args.include_envelope == Some(true)).then_some(Level::Envelope)
    }

    fn kept(args: &Args) -> Summary {
        let summary = Summary::new()
            .account(&args.account_id.0)
            .folder(&args.folder.0)
            .switch_if("cursor", args.cursor.as_ref().map(|_| true))
            .number_if("limit", args.limit.map(|n| n.0))
            .switch_if("include_envelope", args.include_envelope);
        match &args.criteria {
            Some(criteria) => criteria.kept(summary),
            None => summary,
        }
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Page>, Refusal> {
        let mail = ctx.mail()?;
        let turn = Turn::new(&ctx, &args)?;
        let searches_itself = matches!(mail.provider(), Provider::Standard | Provider::Google);
        if turn.looked_for.asks_the_store() && !searches_itself {
            return Err(Refusal::not_for_provider());
        }
        if turn.looked_for.asks_the_store() {
            match mail.may_ask_the_store().await {
                Ok(true) => {}
                Ok(false) => return Err(Refusal::not_all_open()),
                Err(halt) => return Ok(failed(&args, mail.sort(halt)?)),
            }
        }
        let criteria = turn.looked_for.criteria();
        let wanted = Wanted {
            criteria: &criteria,
            below: turn.below,
            limit: turn.limit as usize,
            snippets: Snippets::Without,
        };
        let found = match mail.find(&args.folder.0, &wanted).await {
            Ok(found) => found,
            Err(Halt::Fault(fault)) if fault.kind == FaultKind::NotOffered => {
                return Err(Refusal::not_for_provider());
            }
            Err(halt) => return Ok(failed(&args, mail.sort(halt)?)),
        };
        let lines = found.page.iter();
        let lines = lines.map(|(line, _)| (line.uid, line.store_id));
        let ids = store_ids::of_page(&mail, &args.folder.0, lines).await;
        let counts = match criteria.is_empty() {
            true => Counts::of_everything(&found),
            false => Counts::of_matches(&found),
        };
        let warning = ids.warning;
        let mut done = page(&ctx, &args, &turn, found, counts, ids).await?;
        if let Some(warning) = warning {
            done.warn(warning.to_owned());
        }
        if criteria.reads > ctx.least_visible() {
            done.warn(format!(
                "the criteria look at what visibility {} shows: messages that are open to you below that were not searched",
                criteria.reads.name()
            ));
        }
        Ok(done)
    }
}

/// Which page this is.
struct Turn {
    looked_for: LookedFor,
    below: Option<Anchor>,
    limit: u32,
}

impl Turn {
    fn new(ctx: &Ctx<'_>, args: &Args) -> Result<Self, Refusal> {
        let asked = args.limit.map(|limit| limit.0);
        let Some(cursor) = &args.cursor else {
            return Ok(Self {
                looked_for: args.criteria.clone().unwrap_or_default(),
                below: None,
                limit: asked.unwrap_or(50),
            });
        };
        let key = ctx.cursor_key();
        let opened = key.open::<LookedFor>(&cursor.0, &binding(ctx, args), ctx.now);
        let Place((looked_for, uidvalidity, order, uid, _, limit)) = opened.map_err(|bad| {
            Refusal::argument("cursor", match bad {
                BadCursor::Foreign => {
                    "cursor is not valid for this account_id and folder; search again without it"
                }
                BadCursor::Expired => "cursor has expired; search again without it",
            })
        })?;
        Ok(Self {
            looked_for,
            below: Some(Anchor {
                uidvalidity: UidValidity(uidvalidity),
                order,
                uid: Uid(uid),
            }),
            limit: asked.unwrap_or(limit).clamp(1, 500),
        })
    }
}

fn binding<'a>(ctx: &Ctx<'a>, args: &'a Args) -> Binding<'a> {
    Binding {
        caller: ctx.caller.as_str(),
        account: args.account_id.0.as_str(),
        folder: args.folder.0.as_str(),
    }
}

/// INVARIANT: with criteria nothing is counted that the caller may not see; what is hidden is counted without them.
struct Counts {
    matched_total: u64,
    matched_visible: u64,
    filtered_out: u64,
}

impl Counts {
    /// Nothing is looked for.
    fn of_everything(found: &Sighting) -> Self {
        let matched_total = found.tally.total();
        Self {
            matched_total,
            matched_visible: found.matched,
            filtered_out: matched_total.saturating_sub(found.matched),
        }
    }

    fn of_matches(found: &Sighting) -> Self {
        Self {
            matched_total: found.matched,
            matched_visible: found.matched,
            filtered_out: 0,
        }
    }
}

async fn page(
    ctx: &Ctx<'_>,
    args: &Args,
    turn: &Turn,
    found: Sighting,
    counts: Counts,
    ids: OfPage,
) -> Result<Done<Page>, Refusal> {
    let next_cursor = found.next.and_then(|next| {
        let place = Place((
            turn.looked_for.clone(),
            next.uidvalidity.0,
            next.order,
            next.uid.0,
            0,
            turn.limit,
        ));
        ctx.cursor_key().seal(&place, &binding(ctx, args), ctx.now)
    });
    let mut lines = found.page;
    if args.include_envelope != Some(true) {
        lines.iter_mut().for_each(|(line, _)| line.header = None);
    }
    let octets = lines.iter().map(|(line, _)| line.octets()).sum();
    let (messages, changes) = ctx
        .read(octets, move || {
            let mut changes = Changes::default();
            let shown = lines
                .iter()
                .map(|(line, level)| Line::of(line, *level, ids.of(line.uid), &mut changes));
            (shown.collect::<Vec<Line>>(), changes)
        })
        .await?;
    let hidden_count = found.tally.hidden();
    let summary = format!(
        "{} of {} message(s) found, {hidden_count} hidden",
        messages.len(),
        counts.matched_visible
    );
    let has_more = next_cursor.is_some();
    let mut done = Done::new(
        summary,
        Page {
            status: Status::Ok,
            issues: Vec::new(),
            next_action: None,
            account_id: args.account_id.0.to_string(),
            folder: args.folder.0.to_string(),
            uidvalidity: Some(found.uidvalidity.0),
            uids: messages.iter().map(|line| line.uid).collect(),
            messages,
            matched_total: counts.matched_total,
            matched_visible: counts.matched_visible,
            filtered_out: counts.filtered_out,
            hidden_count,
            next_cursor: next_cursor.clone(),
            has_more,
        },
    );
    done.warnings = shown::warnings(changes);
    done.pagination = Some(Pagination {
        cursor: next_cursor,
        has_more,
        total_count: counts.matched_visible,
        page_size: turn.limit,
    });
    Ok(done)
}

fn failed(args: &Args, issue: Issue) -> Done<Page> {
    let summary = format!("the search failed: {}", issue.message);
    Done::new(
        summary,
        Page {
            status: Status::Failed,
            next_action: Some(NextAction::again::<Search>(&issue, args)),
            issues: vec![issue],
            account_id: args.account_id.0.to_string(),
            folder: args.folder.0.to_string(),
            uidvalidity: None,
            uids: Vec::new(),
            messages: Vec::new(),
            matched_total: 0,
            matched_visible: 0,
            filtered_out: 0,
            hidden_count: 0,
            next_cursor: None,
            has_more: false,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::CursorKey;
    use serde_json::json;

    #[test]
    fn the_longest_criteria_come_back_in_a_cursor() {
        let [long, quotes] = ["\u{20000}", "\""].map(|one| one.repeat(256));
        let domain = ["b"; 120].join(".");
        let address = format!("{}@{}.example", "a".repeat(64), ["b"; 90].join("."));
        let looked_for: LookedFor = serde_json::from_value(json!({
            "from": address, "to": address, "from_domain": domain,
            "to_contains": long, "subject_contains": long, "text": long,
            "header": { "name": "x".repeat(76), "contains": quotes },
            "newer_than": "1000d", "older_than": "1d", "size_gt": u64::MAX, "size_lt": u64::MAX,
            "has_attachment": false, "seen": false, "flagged": false, "keyword": "k".repeat(64),
            "since": "2026-01-01", "before": "2026-01-01", "gm_raw": long,
        }))
        .unwrap();
        let place = Place((looked_for, u32::MAX, i64::MAX, u32::MAX, u64::MAX, 500));
        let binding = Binding {
            caller: "a",
            account: "b",
            folder: "c",
        };
        let now = jiff::Timestamp::UNIX_EPOCH;
        let cursor = CursorKey::new([7; 32]).seal(&place, &binding, now).unwrap();
        assert!(cursor.len() > 4_096);
        assert!(serde_json::from_value::<Cursor>(json!(cursor)).is_ok());
    }
}
