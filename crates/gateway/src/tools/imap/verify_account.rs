//! `imap_verify_account`: whether an account can be reached and logged in to, and what its server can do.

use std::time::Instant;

use audit::Summary;
use content::Changes;
use mail::Level;
use policy::Ask;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::Refusal;
use crate::args::Account;
use crate::envelope::{Done, Reply, Status};
use crate::pipeline::Ctx;
use crate::schema::plain_object;
use crate::tools::{Annotations, Tool, Toolset};
use crate::trouble::{Issue, NextAction};

use crate::tools::shown;

const MOST_CAPABILITIES: usize = 256;

// Their names say what they are, and every client would pay for the definitions.
plain_object!(Server);

pub(crate) struct VerifyAccount;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Args {
    #[serde(default)]
    #[schemars(extend("default" = "default"))]
    account_id: Account,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Verified {
    status: Status,
    issues: Vec<Issue>,
    next_action: NextAction,
    account_id: String,
    ok: bool,
    latency_ms: u64,
    server: Server,
    capabilities: Vec<String>,
}

#[derive(Serialize)]
struct Server {
    host: String,
    port: u16,
    secure: bool,
}

impl Reply for Verified {
    fn status(&self) -> Status {
        self.status
    }

    fn issues(&self) -> &[Issue] {
        &self.issues
    }

    fn shown(&self) -> usize {
        0
    }
}

impl Tool for VerifyAccount {
    const NAME: &'static str = "imap_verify_account";
    const TITLE: &'static str = "Verify a mail account";
    const SUMMARY: &'static str = "Check that an account can be reached and logged in to, on a fresh connection. \
        Use it when another call failed.";
    const TOOLSET: Toolset = Toolset::Imap;
    const ANNOTATIONS: Annotations = Annotations::READS;
    const LEAST: Level = Level::None;
    const UNTRUSTED: &'static [&'static str] = &["capabilities"];
    type Args = Args;
    type Reply = Verified;

    fn ask(args: &Args) -> Result<Ask, Refusal> {
        Ok(Ask::Account {
            account: args.account_id.0.clone(),
        })
    }

    fn kept(args: &Args) -> Summary {
        Summary::new().account(&args.account_id.0)
    }

    async fn run(ctx: Ctx<'_>, args: Args) -> Result<Done<Verified>, Refusal> {
        let account = args.account_id.0;
        let mail = ctx.mail()?;
        let at = mail.describe();
        let begun = Instant::now();
        let outcome = mail.verify().await;
        let latency_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let server = Server {
            host: content::name(&at.host, &mut Changes::default()),
            port: at.port,
            secure: at.secure,
        };
        let (status, issues, verified) = match outcome {
            Ok(verified) => (Status::Ok, Vec::new(), verified),
            Err(halt) => {
                let nothing = mail::Verified::default();
                (Status::Failed, vec![mail.sort(halt)?], nothing)
            }
        };
        let ok = status != Status::Failed;
        let summary = match issues.first() {
            None => format!("account '{account}' works"),
            Some(issue) => format!("account '{account}' does not work: {}", issue.message),
        };
        let next_action = if ok {
            let arguments = json!({ "account_id": account.as_str() });
            NextAction::new(
                "List the mailboxes of this account",
                "imap_list_mailboxes",
                arguments,
            )
        } else {
            NextAction::new(
                "Tell the user what is wrong; verify again once it is mended",
                Self::NAME,
                json!({ "account_id": account.as_str() }),
            )
        };
        let mut changes = Changes::default();
        let names = verified.capabilities.iter().take(MOST_CAPABILITIES);
        let capabilities = names
            .map(|name| content::name(name, &mut changes))
            .collect();
        let mut done = Done::new(
            summary,
            Verified {
                status,
                issues,
                next_action,
                account_id: account.to_string(),
                ok,
                latency_ms,
                server,
                capabilities,
            },
        );
        done.warnings = shown::warnings(changes);
        for remark in verified.remarks {
            done.warn(remark.to_owned());
        }
        Ok(done)
    }
}
