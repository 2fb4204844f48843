//! What a store itself calls the messages of a page, and where they lie in All Mail (Gmail).
//!
//! It says nothing that whoever sees a line of the page may not know, and asks nobody where a store has no such names.

use std::collections::HashMap;

use mail::{FolderName, StoreId, Uid};
use schemars::JsonSchema;
use serde::Serialize;

use crate::guarded_mail::GuardedMail;

/// Numbers that JSON's readers cannot hold are text.
#[derive(Clone, Default, Serialize, JsonSchema)]
pub(in crate::tools) struct StoreIds {
    #[serde(skip_serializing_if = "Option::is_none")]
    canonical_all_mail_uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gm_msgid: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gm_thrid: Option<String>,
}

/// By their numbers in the folder, and what is to be said of all of them.
#[derive(Default)]
pub(in crate::tools) struct OfPage {
    ids: HashMap<Uid, StoreIds>,
    pub(in crate::tools) warning: Option<&'static str>,
}

impl OfPage {
    pub(in crate::tools) fn of(&self, uid: Uid) -> StoreIds {
        self.ids.get(&uid).cloned().unwrap_or_default()
    }
}

const HIDDEN: &str = "All Mail is not shown to mail programs in this account, so canonical_all_mail_uid is missing; its \
                      owner can show it in Gmail's settings under Labels";
const UNTOLD: &str = "canonical_all_mail_uid is missing: All Mail could not be asked; the same call may bring it later";

pub(in crate::tools) async fn of_page(
    mail: &GuardedMail<'_>,
    folder: &FolderName,
    page: impl Iterator<Item = (Uid, Option<StoreId>)>,
) -> OfPage {
    let named: Vec<(Uid, StoreId)> = page.filter_map(|(uid, id)| Some((uid, id?))).collect();
    if named.is_empty() {
        return OfPage::default();
    }
    let wanted: Vec<(Uid, u64)> = named.iter().map(|(uid, id)| (*uid, id.message)).collect();
    let (numbers, warning) = match mail.in_all(folder, &wanted).await {
        Ok(Some(numbers)) => (numbers, None),
        Ok(None) => (HashMap::new(), Some(HIDDEN)),
        // What was found is worth more than what stands beside it.
        Err(_) => (HashMap::new(), Some(UNTOLD)),
    };
    let ids = named.into_iter().map(|(uid, id)| {
        let ids = StoreIds {
            canonical_all_mail_uid: numbers.get(&id.message).map(|uid| uid.0),
            gm_msgid: Some(id.message.to_string()),
            gm_thrid: id.thread.map(|thread| thread.to_string()),
        };
        (uid, ids)
    });
    OfPage {
        ids: ids.collect(),
        warning,
    }
}
