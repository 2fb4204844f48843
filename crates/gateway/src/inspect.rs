//! What the operator sees of the mail that policies are about: folders, and the facts of their messages.
//!
//! It is for the command line alone; no tool leads here, and it judges nothing.

use audit::Summary;
use mail::{AccountId, Cx, FolderName, Level};
use policy::Ask;

use crate::guarded_mail::{GuardedMail, Halt, Inspection, Progress, Which};
use crate::pipeline::{Look, Looked};
use crate::{Code, Gateway, Refusal};

/// The folders that an account has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderList {
    pub folders: Vec<FolderName>,
    /// Names that cannot be spelled, and so cannot be in a policy.
    pub unusable: usize,
}

impl Gateway {
    /// The messages of a folder, each with its facts.
    pub async fn inspect(
        &self,
        cx: &Cx,
        account: &AccountId,
        folder: &FolderName,
        which: Which,
        progress: Progress<'_>,
    ) -> Result<Inspection, Refusal> {
        let uid = match which {
            Which::All => None,
            Which::One(uid) => Some(uid.0),
        };
        let look = Look {
            ask: Ask::Messages {
                account: account.clone(),
                folder: folder.clone(),
                level: Level::Envelope,
            },
            kept: Summary::new()
                .account(account)
                .folder(folder)
                .number_if("uid", uid),
        };
        self.look(cx, look, async |ctx| {
            let mail = ctx.mail()?;
            let found = mail.inspect(folder, which, progress).await;
            let found = found.map_err(|halt| refused(&mail, halt))?;
            Ok(Looked {
                shown: found.messages.len(),
                what: found,
            })
        })
        .await
    }

    /// The folders of an account, all that there are.
    pub async fn inspect_folders(
        &self,
        cx: &Cx,
        account: &AccountId,
    ) -> Result<FolderList, Refusal> {
        let look = Look {
            ask: Ask::Folders {
                account: account.clone(),
            },
            kept: Summary::new().account(account),
        };
        self.look(cx, look, async |ctx| {
            let mail = ctx.mail()?;
            let found = mail.folders().await;
            let found = found.map_err(|halt| refused(&mail, halt))?;
            let folders = found.folders.into_iter().map(|folder| folder.name);
            let folders: Vec<FolderName> = folders.collect();
            Ok(Looked {
                shown: folders.len(),
                what: FolderList {
                    folders,
                    unusable: found.unusable,
                },
            })
        })
        .await
    }
}

/// There is no half an answer here: what a server could not do is a refusal too.
fn refused(mail: &GuardedMail<'_>, halt: Halt) -> Refusal {
    match mail.sort(halt) {
        Ok(issue) if issue.code == "timeout" => Refusal::new(Code::Timeout, issue.message),
        Ok(issue) if issue.code == "auth_failed" => Refusal::new(Code::AuthFailed, issue.message),
        Ok(issue) => Refusal::new(Code::Internal, issue.message),
        Err(refusal) => refusal,
    }
}
