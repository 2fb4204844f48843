//! `imap_get_message_raw`: a message's source, byte for byte.

use audit::Summary;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mail::{Level, MessageRef};
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Refusal;
use crate::args::{Account, MessageId, Within, same_account};
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, NextAction};

pub(crate) struct GetMessageRaw;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    account_id: Option<Account>,
    message_id: MessageId,
    /// Bytes to return at most.
    #[schemars(extend("default" = 200_000))]
    max_bytes: Option<Within<1_024, 1_000_000>>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct RawSource {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_action: Option<NextAction>,
    account_id: String,
    message_id: String,
    size_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_source_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    raw_source_encoding: Option<&'static str>,
}

impl Reply for RawSource {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.raw_source_base64.is_some())
    }
}

impl Tool for GetMessageRaw {
    const NAME: &'static str = "imap_get_message_raw";
    const TITLE: &'static str = "Read a message's source";
    const SUMMARY: &'static str = "Return the raw RFC 822 source of a message as base64, for diagnosis only: it is \
        large and unfiltered. To read a message use imap_get_message.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Full;
    const UNTRUSTED: &'static [&'static str] = &["raw_source_base64"];
    type Args = Args;
    type Reply = RawSource;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let at = &args.message_id.0;
        same_account(args.account_id.as_ref(), at)?;
        Ok(Ask::Messages {
            account: at.account.clone(),
            folder: at.folder.clone(),
            level: Level::Full,
        })
    }

    fn kept(args: &Args) -> Summary {
        let at = &args.message_id.0;
        Summary::new()
            .account(&at.account)
            .message(at)
            .number_if("max_bytes", args.max_bytes.map(|n| n.0))
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<RawSource>, Refusal> {
        let at = args.message_id.0;
        let max_bytes = u64::from(args.max_bytes.map_or(200_000, |bytes| bytes.0));
        let mail = ctx.mail()?;
        let raw = match mail.raw(&at, max_bytes).await {
            Ok(raw) => raw,
            Err(halt) => return Ok(failed(&at, mail.sort(halt)?)),
        };
        let sent = u64::try_from(raw.bytes.len()).unwrap_or(u64::MAX);
        let data = RawSource {
            status: Status::Ok,
            issues: Vec::new(),
            next_action: None,
            account_id: at.account.to_string(),
            message_id: at.to_string(),
            size_bytes: raw.size,
            raw_source_base64: Some(STANDARD.encode(&raw.bytes)),
            raw_source_encoding: Some("base64"),
        };
        let mut done = Done::new(format!("{sent} of {} bytes of source", raw.size), data);
        if sent < raw.size {
            let more = match max_bytes < 1_000_000 {
                true => "; max_bytes may be up to 1000000",
                false => ", which is the most there is",
            };
            done.warn(format!(
                "the source is cut after {sent} of {} bytes{more}",
                raw.size
            ));
        }
        Ok(done)
    }
}

fn failed(at: &MessageRef, issue: Issue) -> Done<RawSource> {
    let summary = format!("the source could not be read: {}", issue.message);
    let data = RawSource {
        status: Status::Failed,
        next_action: Some(NextAction::after(&issue, &at.account)),
        issues: vec![issue],
        account_id: at.account.to_string(),
        message_id: at.to_string(),
        size_bytes: 0,
        raw_source_base64: None,
        raw_source_encoding: None,
    };
    Done::new(summary, data)
}
