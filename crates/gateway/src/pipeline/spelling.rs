//! One spelling of a folder that has several: arguments that name it otherwise are read as if they named it so.
//!
//! Which names are the same only a source knows. What cannot be found out stays as it was said, and is refused or fails where
//! it is used.

use mail::{AccountId, FolderName, MessageRef, Spelling};
use policy::{Ask, Permit, Refused as Denied};
use serde_json::{Map, Value};

use super::{Ctx, decide, folder_patterns, parse};
use crate::Refusal;
use crate::setup::{Setup, Standing};
use crate::tools::Tool;

/// Arguments that name a folder, and those that say of which account, the first that is there.
const FOLDERS: [(&str, &[&str]); 4] = [
    ("folder", &["account_id"]),
    ("mailbox", &["account_id"]),
    ("target_folder", &["target_account_id", "account_id"]),
    (
        "destination_mailbox",
        &["destination_account_id", "account_id"],
    ),
];

const MESSAGE: &str = "message_id";

/// What was said, in the names that are known.
pub(super) struct Said {
    pub arguments: Map<String, Value>,
    /// There, once somebody may ask, other names may be found out.
    pub unlisted: Option<Unlisted>,
}

pub(super) struct Unlisted {
    account: AccountId,
    arguments: Map<String, Value>,
}

impl Said {
    /// INVARIANT: nobody is asked here: there is neither a permit nor an entry of the log yet.
    pub(super) fn read(setup: &Setup, mut arguments: Map<String, Value>) -> Self {
        let text = |arguments: &Map<String, Value>, name: &str| {
            let said = arguments.get(name).and_then(Value::as_str);
            said.map(str::to_owned)
        };
        let mut unlisted = None;
        let mut other = |account: Option<&AccountId>, folder: &FolderName| {
            let account = setup.account(account?)?;
            match account.spelled(folder) {
                Spelling::Known(name) => Some(name).filter(|name| name != folder),
                Spelling::Unlisted => {
                    unlisted = Some(account.id().clone());
                    None
                }
            }
        };
        let message = text(&arguments, MESSAGE).and_then(|said| MessageRef::parse(&said).ok());
        for (name, accounts) in FOLDERS {
            let Some(folder) = text(&arguments, name).and_then(|said| FolderName::new(said).ok())
            else {
                continue;
            };
            let mut said = accounts.iter().filter_map(|one| text(&arguments, one));
            let account = match said.next() {
                Some(said) => AccountId::new(said).ok(),
                None => message.as_ref().map(|at| at.account.clone()),
            };
            let account = account.or_else(|| AccountId::new("default").ok());
            if let Some(other) = other(account.as_ref(), &folder) {
                arguments.insert(name.to_owned(), Value::from(other.as_str()));
            }
        }
        if let Some(at) = message
            && let Some(folder) = other(Some(&at.account), &at.folder)
        {
            let at = MessageRef { folder, ..at };
            arguments.insert(MESSAGE.to_owned(), Value::from(at.to_string()));
        }
        let unlisted = unlisted.map(|account| Unlisted {
            account,
            arguments: arguments.clone(),
        });
        Self {
            arguments,
            unlisted,
        }
    }
}

impl Unlisted {
    /// A folder that is not open by this name may be by its other: then there is leave to list the folders, and to decide anew.
    pub(super) fn leave(
        &self,
        setup: &Setup,
        standing: &Standing,
        refusal: Refusal,
    ) -> Result<Permit, Refusal> {
        let account = self.account.clone();
        match refusal.denial.map(|denial| denial.refused) {
            Some(Denied::FolderHidden) => {
                decide(setup, standing, &Ask::Folders { account }).map_err(|_| refusal)
            }
            _ => Err(refusal),
        }
    }

    /// Finds the names out, and decides anew about what they say.
    pub(super) async fn settle<T: Tool>(self, ctx: &mut Ctx<'_>) -> Result<T::Args, Refusal> {
        if let Some(account) = ctx.account(&self.account) {
            ctx.mail_of(account).learn_names().await;
        }
        let said = Said::read(ctx.setup, self.arguments);
        let args: T::Args = parse(said.arguments)?;
        let ask = T::ask(&args)?;
        let decided = decide(ctx.setup, ctx.standing, &ask);
        ctx.permit = decided
            .or_else(|refusal| folder_patterns::leave(ctx.setup, ctx.standing, &ask, refusal))?;
        Ok(args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::ALL;

    /// A folder that an argument names is a string of this length, and nothing else is.
    #[test]
    fn each_argument_that_names_a_folder_is_known() {
        let known = |name: &str| FOLDERS.iter().any(|(one, _)| *one == name);
        for tool in ALL {
            let schema = tool.input_schema();
            let properties = schema.get("properties").and_then(Value::as_object);
            for name in properties.into_iter().flatten().map(|(name, _)| name) {
                let names = ["folder", "mailbox", "label"];
                let looks = names.iter().any(|one| name.ends_with(one));
                assert_eq!(looks, known(name), "{}: {name}", tool.name());
            }
        }
    }
}
