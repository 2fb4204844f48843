//! `imap_search_messages`: a page of a folder, newest first.

use content::{Changes, Snippet};
use jiff::{Timestamp, ToSpan as _};
use mail::{
    AccountId, Anchor, FolderName, Found, Level, MessageRef, Query, Search, Snippets, SourceKind,
    Stage, Summary, Uid, UidValidity,
};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Refusal;
use crate::args::{Account, Cursor, Day, Mailbox, SearchText, Within};
use crate::cursor::{BadCursor, Binding, Place};
use crate::envelope::{Done, Pagination, Reply, Status};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, MOST_MATCHES, NextAction};

use crate::tools::shown::{self, Changed, Dated, Located};
use crate::tools::store_ids::{self, OfPage, StoreIds};

/// So much of each text is fetched for its snippet.
const SNIPPET_BYTES: u32 = 32 * 1_024;

// Their names say what they are, and every client would pay for the definitions.
plain_object!(Line);

pub(crate) struct SearchMessages;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    #[schemars(extend("default" = "default"))]
    account_id: Account,
    /// Exact name, such as INBOX.
    mailbox: Mailbox,
    /// next_cursor of the page before, instead of criteria.
    cursor: Option<Cursor>,
    /// Text anywhere in the message.
    query: Option<SearchText>,
    from: Option<SearchText>,
    to: Option<SearchText>,
    subject: Option<SearchText>,
    unread_only: Option<bool>,
    /// Not with start_date or end_date.
    last_days: Option<Within<1, 365>>,
    /// First day, inclusive.
    start_date: Option<Day>,
    /// Last day, inclusive.
    end_date: Option<Day>,
    #[schemars(extend("default" = 10))]
    limit: Option<Within<1, 50>>,
    /// The beginning of each text.
    #[schemars(extend("default" = false))]
    include_snippet: Option<bool>,
    /// Only with include_snippet.
    #[schemars(extend("default" = 200))]
    snippet_max_chars: Option<Within<50, 500>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Page {
    status: Status,
    issues: Vec<Issue>,
    next_action: NextAction,
    account_id: String,
    mailbox: String,
    total: u64,
    attempted: u64,
    returned: u64,
    failed: u64,
    messages: Vec<Line>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    has_more: bool,
}

#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    at: Located,
    #[serde(flatten)]
    date: Dated,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flags: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    snippet: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Changed>,
    #[serde(flatten)]
    ids: StoreIds,
    /// It is not just what stands in the mail.
    #[serde(skip)]
    is_notable: bool,
}

impl Reply for Page {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        self.messages.len()
    }

    fn seen(&self) -> Option<audit::Seen> {
        let first = self.messages.first()?;
        Some(audit::Seen {
            uidvalidity: first.at.uidvalidity,
            uids: self.messages.iter().map(|line| line.at.uid).collect(),
        })
    }
}

impl Tool for SearchMessages {
    const NAME: &'static str = "imap_search_messages";
    const TITLE: &'static str = "Search messages";
    const SUMMARY: &'static str = "Search one mailbox, or list it when no criteria are given; newest first. All \
        criteria must match; text matches anywhere, in any case. \
        Days and order are those of arrival; the date shown is the sender's. For the next page pass next_cursor as cursor, with \
        the same account_id and mailbox and no criteria.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Metadata;
    const UNTRUSTED: &'static [&'static str] = &["messages"];
    type Args = Args;
    type Reply = Page;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        args.check()?;
        Ok(Ask::Messages {
            account: args.account_id.0.clone(),
            folder: args.mailbox.0.clone(),
            level: if args.include_snippet == Some(true) {
                Level::Body
            } else {
                Level::Metadata
            },
        })
    }

    fn shows(args: &Args) -> Option<Level> {
        args.include_snippet
            .is_none_or(|wanted| !wanted)
            .then_some(Level::Envelope)
    }

    fn kept(args: &Args) -> audit::Summary {
        let words = |text: &Option<SearchText>| text.as_ref().map(|text| text.0.clone());
        audit::Summary::new()
            .account(&args.account_id.0)
            .folder(&args.mailbox.0)
            .switch_if("cursor", args.cursor.as_ref().map(|_| true))
            .digest_if("query", words(&args.query))
            .digest_if("from", words(&args.from))
            .digest_if("to", words(&args.to))
            .digest_if("subject", words(&args.subject))
            .switch_if("unread_only", args.unread_only)
            .number_if("last_days", args.last_days.map(|n| n.0))
            .date_if("start_date", args.start_date.as_ref().map(|day| day.0))
            .date_if("end_date", args.end_date.as_ref().map(|day| day.0))
            .number_if("limit", args.limit.map(|n| n.0))
            .switch_if("include_snippet", args.include_snippet)
            .number_if("snippet_max_chars", args.snippet_max_chars.map(|n| n.0))
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Page>, Refusal> {
        let mail = ctx.mail()?;
        let turn = Turn::new(&ctx, &args)?;
        let search = turn.search(&args);
        let found = match mail.search(&search).await {
            Ok(found) => found,
            Err(halt) => return Ok(failed(&args, mail.sort(halt)?)),
        };
        let lines = found.summaries.iter();
        let lines = lines.map(|line| (line.uid, line.store_id));
        let ids = store_ids::of_page(&mail, &search.folder, lines).await;
        let page = PageOf {
            ids,
            kind: mail.describe().kind,
            args,
            turn,
        };
        page.answer(&ctx, found).await
    }
}

impl Args {
    /// What the arguments mean together.
    fn check(&self) -> Result<(), Refusal> {
        let texts = [&self.query, &self.from, &self.to, &self.subject];
        let has_criteria = texts.iter().any(|text| text.is_some())
            || self.unread_only == Some(true)
            || self.last_days.is_some()
            || self.start_date.is_some()
            || self.end_date.is_some();
        if self.cursor.is_some() && has_criteria {
            return Err(Refusal::argument(
                "cursor",
                "cursor cannot be combined with search criteria; it already carries them",
            ));
        }
        if self.last_days.is_some() && (self.start_date.is_some() || self.end_date.is_some()) {
            return Err(Refusal::argument(
                "last_days",
                "last_days cannot be combined with start_date or end_date",
            ));
        }
        if let (Some(start), Some(end)) = (&self.start_date, &self.end_date)
            && start.0 > end.0
        {
            return Err(Refusal::argument(
                "start_date",
                "start_date must not be after end_date",
            ));
        }
        if self.snippet_max_chars.is_some() && self.include_snippet != Some(true) {
            return Err(Refusal::argument(
                "snippet_max_chars",
                "snippet_max_chars needs include_snippet: true",
            ));
        }
        Ok(())
    }

    fn query(&self, now: Timestamp) -> Query {
        let text = |given: &Option<SearchText>| given.as_ref().map(|text| text.0.clone());
        let today = now.to_zoned(jiff::tz::TimeZone::UTC).date();
        let last_days = self
            .last_days
            .and_then(|n| today.checked_sub(i64::from(n.0).days()).ok());
        Query {
            text: text(&self.query),
            from: text(&self.from),
            to: text(&self.to),
            subject: text(&self.subject),
            unread_only: self.unread_only == Some(true),
            since: self.start_date.as_ref().map(|day| day.0).or(last_days),
            until: self.end_date.as_ref().map(|day| day.0),
        }
    }
}

/// The conditions inside a cursor, dates already settled.
#[derive(Serialize, Deserialize)]
struct Criteria(
    Option<String>,
    Option<String>,
    Option<String>,
    Option<String>,
    bool,
    Option<jiff::civil::Date>,
    Option<jiff::civil::Date>,
);

impl From<Query> for Criteria {
    fn from(q: Query) -> Self {
        Self(
            q.text,
            q.from,
            q.to,
            q.subject,
            q.unread_only,
            q.since,
            q.until,
        )
    }
}

impl From<Criteria> for Query {
    fn from(c: Criteria) -> Self {
        let Criteria(text, from, to, subject, unread_only, since, until) = c;
        Self {
            text,
            from,
            to,
            subject,
            unread_only,
            since,
            until,
        }
    }
}

/// Which page this is.
struct Turn {
    query: Query,
    below: Option<Anchor>,
    /// Matches on the pages before.
    shown: u64,
    limit: u32,
}

impl Turn {
    fn new(ctx: &Ctx<'_>, args: &Args) -> Result<Self, Refusal> {
        let asked = args.limit.map(|limit| limit.0);
        let Some(cursor) = &args.cursor else {
            let limit = asked.unwrap_or(10);
            return Ok(Self {
                query: args.query(ctx.now),
                below: None,
                shown: 0,
                limit,
            });
        };
        let opened = ctx
            .cursor_key()
            .open::<Criteria>(&cursor.0, &binding(ctx, args), ctx.now);
        let Place((criteria, uidvalidity, order, uid, shown, limit)) = opened.map_err(|bad| {
            Refusal::argument("cursor", match bad {
                BadCursor::Foreign => {
                    "cursor is not valid for this account_id and mailbox; search again without it"
                }
                BadCursor::Expired => "cursor has expired; search again without it",
            })
        })?;
        let below = Anchor {
            uidvalidity: UidValidity(uidvalidity),
            order,
            uid: Uid(uid),
        };
        Ok(Self {
            query: criteria.into(),
            below: Some(below),
            shown,
            limit: asked.unwrap_or(limit).clamp(1, 50),
        })
    }

    fn search(&self, args: &Args) -> Search {
        Search {
            folder: args.mailbox.0.clone(),
            query: self.query.clone(),
            below: self.below,
            limit: self.limit as usize,
            snippets: match args.include_snippet {
                Some(true) => Snippets::Bytes(SNIPPET_BYTES),
                _ => Snippets::Without,
            },
            most_matches: MOST_MATCHES,
        }
    }
}

fn binding<'a>(ctx: &Ctx<'a>, args: &'a Args) -> Binding<'a> {
    Binding {
        caller: ctx.caller.as_str(),
        account: args.account_id.0.as_str(),
        folder: args.mailbox.0.as_str(),
    }
}

/// A found page on its way to becoming an answer.
struct PageOf {
    ids: OfPage,
    kind: SourceKind,
    args: Args,
    turn: Turn,
}

impl PageOf {
    async fn answer(mut self, ctx: &Ctx<'_>, found: Found) -> Result<Done<Page>, Refusal> {
        let returned = count(found.summaries.len());
        let failed = count(found.missing.len() + found.undescribed);
        let attempted = returned + failed;
        let total = self.turn.shown + found.matches;
        let next_cursor = found.next.and_then(|next| {
            let place = Place((
                Criteria::from(self.turn.query.clone()),
                next.uidvalidity.0,
                next.order,
                next.uid.0,
                self.turn.shown + attempted,
                self.turn.limit,
            ));
            ctx.cursor_key()
                .seal(&place, &binding(ctx, &self.args), ctx.now)
        });
        let missing = found
            .missing
            .iter()
            .map(|uid| self.missing(found.uidvalidity, *uid));
        let undescribed = (found.undescribed > 0).then(|| undescribed(found.undescribed));
        let issues: Vec<Issue> = missing.chain(undescribed).collect();
        let lines = Lines {
            kind: self.kind,
            account: self.args.account_id.0.clone(),
            folder: self.args.mailbox.0.clone(),
            uidvalidity: UidValidity(found.uidvalidity),
            snippet_chars: self.args.snippet_max_chars.map_or(200, |n| n.0) as usize,
            ids: std::mem::take(&mut self.ids),
        };
        let warning = lines.ids.warning;
        let summaries = found.summaries;
        let octets = summaries.iter().map(mail::Summary::octets).sum();
        let (messages, changed) = ctx.read(octets, move || lines.all(&summaries)).await?;
        let summary = if total == returned {
            format!("{returned} message(s) returned")
        } else {
            format!("{returned} of {total} message(s) returned")
        };
        let has_more = next_cursor.is_some();
        let mut done = Done::new(
            summary,
            Page {
                status: if issues.is_empty() {
                    Status::Ok
                } else {
                    Status::Partial
                },
                issues,
                next_action: self.next_action(messages.first()),
                account_id: self.args.account_id.0.to_string(),
                mailbox: self.args.mailbox.0.to_string(),
                total,
                attempted,
                returned,
                failed,
                messages,
                next_cursor: next_cursor.clone(),
                has_more,
            },
        );
        if changed > 0 {
            done.warn(format!(
                "in {changed} message(s) hidden text was left out, or invisible characters or chat markers were made harmless (changes)"
            ));
        }
        if let Some(warning) = warning {
            done.warn(warning.to_owned());
        }
        done.pagination = Some(Pagination {
            cursor: next_cursor,
            has_more,
            total_count: total,
            page_size: self.turn.limit,
        });
        Ok(done)
    }

    fn next_action(&self, first: Option<&Line>) -> NextAction {
        let account = self.args.account_id.0.as_str();
        match first {
            Some(line) => NextAction::new(
                "Read a message",
                "imap_get_message",
                json!({ "account_id": account, "message_id": line.at.message_id }),
            ),
            None if self.turn.query.is_everything() => NextAction::new(
                "The mailbox is empty; look into another one",
                "imap_list_mailboxes",
                json!({ "account_id": account }),
            ),
            None => NextAction::new(
                "Nothing matched; search with fewer criteria or in another mailbox",
                "imap_list_mailboxes",
                json!({ "account_id": account }),
            ),
        }
    }

    fn missing(&self, uidvalidity: u32, uid: Uid) -> Issue {
        let at = MessageRef {
            source: self.kind,
            account: self.args.account_id.0.clone(),
            folder: self.args.mailbox.0.clone(),
            uidvalidity: UidValidity(uidvalidity),
            uid,
        };
        Issue {
            code: "fetch_failed".to_owned(),
            stage: Stage::Fetch.name().to_owned(),
            message: format!(
                "uid {}: the server listed this message but did not describe it",
                uid.0
            ),
            retryable: true,
            uid: Some(uid.0),
            message_id: Some(at.to_string()),
        }
    }
}

/// Makes the lines of a page; pure, and off the async threads.
struct Lines {
    kind: SourceKind,
    account: AccountId,
    folder: FolderName,
    uidvalidity: UidValidity,
    snippet_chars: usize,
    ids: OfPage,
}

impl Lines {
    /// The lines, and how many of them are not just what stands in the mail.
    fn all(&self, summaries: &[Summary]) -> (Vec<Line>, usize) {
        let snippets: Vec<Option<Snippet>> = summaries
            .iter()
            .map(|one| content::snippet(one.text.as_ref()?, self.snippet_chars))
            .collect();
        let lines = summaries.iter().zip(snippets);
        let lines: Vec<Line> = lines
            .map(|(summary, snippet)| self.line(summary, snippet))
            .collect();
        let changed = lines.iter().filter(|line| line.is_notable).count();
        (lines, changed)
    }

    fn line(&self, summary: &Summary, snippet: Option<Snippet>) -> Line {
        let at = MessageRef {
            source: self.kind,
            account: self.account.clone(),
            folder: self.folder.clone(),
            uidvalidity: self.uidvalidity,
            uid: summary.uid,
        };
        let envelope = content::summary_envelope(summary).unwrap_or_default();
        let mut changes: Changes = snippet.iter().map(|snippet| snippet.changes).sum();
        let hidden = snippet.as_ref().map_or(0, |snippet| snippet.hidden);
        let ordinary = snippet.as_ref().map_or(0, |snippet| snippet.ordinary);
        let from = content::addresses(&envelope.from, &mut changes);
        let subject = envelope.subject.as_ref();
        let subject = subject.map(|raw| content::header_text(raw, &mut changes));
        let flags = shown::flags(summary.flags.as_deref(), &mut changes);
        Line {
            is_notable: !changes.is_empty() || hidden > ordinary,
            ids: self.ids.of(summary.uid),
            at: Located::from(&at),
            date: content::date(envelope.date.as_ref(), summary.arrived).into(),
            from,
            subject,
            flags,
            snippet: snippet
                .map(|snippet| snippet.text)
                .filter(|text| !text.is_empty()),
            changes: Changed::of(changes, hidden),
        }
    }
}

fn undescribed(messages: usize) -> Issue {
    Issue {
        code: "fetch_failed".to_owned(),
        stage: Stage::Fetch.name().to_owned(),
        message: format!(
            "{messages} message(s) of this page were described in a way that cannot be read"
        ),
        retryable: false,
        uid: None,
        message_id: None,
    }
}

fn count(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn failed(args: &Args, issue: Issue) -> Done<Page> {
    let account = &args.account_id.0;
    let summary = format!("the search failed: {}", issue.message);
    let data = Page {
        status: Status::Failed,
        next_action: NextAction::after(&issue, account),
        issues: vec![issue],
        account_id: account.to_string(),
        mailbox: args.mailbox.0.to_string(),
        total: 0,
        attempted: 0,
        returned: 0,
        failed: 0,
        messages: Vec::new(),
        next_cursor: None,
        has_more: false,
    };
    Done::new(summary, data)
}
