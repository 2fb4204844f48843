//! An attachment as a resource: the same question as `fetch_attachment`, with more room for the answer. No tool of its
//! own: it is not on the list.

use audit::Summary;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fetch_attachment::{self, Taken};
use crate::Refusal;
use crate::args::{MessageId, PartId};
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::Issue;

/// Bytes of an attachment that a resource holds at most.
const MOST: u64 = 25 << 20;

pub(crate) struct PartResource;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    message_id: MessageId,
    part_id: PartId,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Blob {
    status: Status,
    issues: Vec<Issue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data_base64: Option<String>,
}

impl Reply for Blob {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.data_base64.is_some())
    }
}

impl Tool for PartResource {
    const NAME: &'static str = "read_attachment_resource";
    const TITLE: &'static str = "Read an attachment resource";
    const SUMMARY: &'static str = "Read an attachment by its URI.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Full;
    const UNTRUSTED: &'static [&'static str] = &["data_base64"];
    type Args = Args;
    type Reply = Blob;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        let at = &args.message_id.0;
        Ok(Ask::Messages {
            account: at.account.clone(),
            folder: at.folder.clone(),
            level: Level::Full,
        })
    }

    fn kept(args: &Args) -> Summary {
        let at = &args.message_id.0;
        Summary::new().account(&at.account).message(at)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Blob>, Refusal> {
        let mail = ctx.mail()?;
        let at = args.message_id.0;
        let taken = fetch_attachment::take(&ctx, &mail, &at, &args.part_id.0, MOST).await?;
        let (status, issues, data_base64) = match taken {
            Ok(Taken {
                base64: Some(data), ..
            }) => (Status::Ok, Vec::new(), Some(data)),
            Ok(Taken { about, .. }) => {
                return Err(Refusal::invalid(format!(
                    "the attachment has {} bytes, more than the {MOST} that a resource holds",
                    about.size_bytes
                )));
            }
            Err(issue) => (Status::Failed, vec![issue], None),
        };
        let summary = match issues.first() {
            Some(issue) => format!("the attachment could not be read: {}", issue.message),
            None => "attachment read".to_owned(),
        };
        Ok(Done::new(
            summary,
            Blob {
                status,
                issues,
                data_base64,
            },
        ))
    }
}
