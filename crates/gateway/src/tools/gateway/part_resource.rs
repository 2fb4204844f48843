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
use crate::envelope::{Bytes, Done, Reply, Status};
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
    #[serde(skip)]
    bytes: Option<Bytes>,
}

impl Reply for Blob {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        usize::from(self.bytes.is_some())
    }

    fn take_bytes(&mut self) -> Option<Bytes> {
        self.bytes.take()
    }
}

impl Tool for PartResource {
    const NAME: &'static str = "read_attachment_resource";
    const TITLE: &'static str = "Read an attachment resource";
    const SUMMARY: &'static str = "Read an attachment by its URI.";
    const TOOLSET: Toolset = Toolset::Gateway;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::Full;
    const UNTRUSTED: &'static [&'static str] = &[];
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
        Summary::new()
            .account(&at.account)
            .message(at)
            .part(&args.part_id.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Blob>, Refusal> {
        let mail = ctx.mail()?;
        let at = args.message_id.0;
        let taken = fetch_attachment::take(&ctx, &mail, &at, &args.part_id.0, MOST).await?;
        let (status, issues, bytes) = match taken {
            Ok(Taken {
                base64: Some(base64),
                about,
                ..
            }) => {
                let mime_type = mime_type(about.content_type);
                (Status::Ok, Vec::new(), Some(Bytes { mime_type, base64 }))
            }
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
                bytes,
            },
        ))
    }
}

/// What the sender says it is, if that can be one (RFC 6838 section 4.2).
fn mime_type(said: String) -> String {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    let name = |part: &str| !part.is_empty() && part.bytes().all(good);
    match said.split_once('/') {
        Some((kind, of)) if name(kind) && name(of) => said,
        _ => "application/octet-stream".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_told_only_if_it_is_one() {
        for (said, told) in [
            ("image/svg+xml", "image/svg+xml"),
            ("text", "application/octet-stream"),
            ("text/", "application/octet-stream"),
            ("text/a b", "application/octet-stream"),
            ("text/a/b", "application/octet-stream"),
        ] {
            assert_eq!(mime_type(said.to_owned()), told, "{said}");
        }
    }
}
