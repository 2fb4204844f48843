//! One spelling of a folder that has several: arguments that name it otherwise are read as if they named it so.
//!
//! Which names are the same only a source knows. What cannot be found out stays as it was said, and is refused or fails where
//! it is used.

use mail::{AccountId, Cx, FolderName, MessageRef};
use policy::Policy;
use serde_json::{Map, Value};

use crate::setup::Setup;

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

pub(super) async fn one(
    setup: &Setup,
    policy: &Policy,
    cx: &Cx,
    mut arguments: Map<String, Value>,
) -> Map<String, Value> {
    let text = |arguments: &Map<String, Value>, name: &str| {
        let said = arguments.get(name).and_then(Value::as_str);
        said.map(str::to_owned)
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
        if let Some(other) = other(setup, policy, cx, account.as_ref(), &folder).await {
            arguments.insert(name.to_owned(), Value::from(other.as_str()));
        }
    }
    if let Some(at) = message
        && let Some(folder) = other(setup, policy, cx, Some(&at.account), &at.folder).await
    {
        let at = MessageRef { folder, ..at };
        arguments.insert(MESSAGE.to_owned(), Value::from(at.to_string()));
    }
    arguments
}

/// The one name, where it is another.
///
/// INVARIANT: an account that a caller may not know of is not asked.
async fn other(
    setup: &Setup,
    policy: &Policy,
    cx: &Cx,
    account: Option<&AccountId>,
    folder: &FolderName,
) -> Option<FolderName> {
    let account = account.filter(|account| policy.shows_account(account))?;
    let spelled = setup.account(account)?.spelled(cx, folder).await.ok()?;
    (spelled != *folder).then_some(spelled)
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
