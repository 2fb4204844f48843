//! A client that pages through a folder nobody changes, each page by the replica that did not hand out its cursor.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::client::Client;
use super::model::{Receipt, Told};
use super::world::{QUIET, QUIET_LETTERS, account};

/// Fewer than there are messages, so that there are further pages.
const PAGE: usize = 7;
const BREATH: Duration = Duration::from_millis(60);

pub(super) async fn work(number: usize, mut client: Client, over: Arc<AtomicBool>) -> Told {
    let mut told = Told::default();
    let mut walk = Walk::new(number);
    while !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        // Who was killed answers nobody: the same page is asked of the other.
        if let Ok(body) = client.ask("search", &walk.arguments).await {
            told.read
                .push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
            match walk.take(&body) {
                Ok(Step::Page(over)) => {
                    told.handed_over += usize::from(over == From::TheOther);
                }
                Ok(Step::Last(over)) => {
                    told.handed_over += usize::from(over == From::TheOther);
                    told.walks += 1;
                    walk = Walk::new(number + told.walks);
                }
                Err(why) => {
                    told.wrong
                        .push(format!("a page for reader {number}: {why}: {body}"));
                    walk = Walk::new(number);
                }
            }
        }
        tokio::time::sleep(BREATH).await;
    }
    told.heard = client.heard;
    told
}

/// Whose cursor a page was had by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum From {
    Nobody,
    TheSame,
    TheOther,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Page(From),
    Last(From),
}

/// A search on its way through its pages.
struct Walk {
    account: String,
    arguments: Value,
    /// How many have been seen.
    seen: u64,
    /// The log of whoever handed out the cursor.
    handed_out_by: Option<String>,
}

impl Walk {
    /// By turns all of the folder, and what is looked for, which is all of it too.
    fn new(number: usize) -> Self {
        let account = account(number);
        let mut arguments = json!({ "account_id": account, "folder": QUIET, "limit": PAGE });
        if let (1, Some(map)) = (number % 2, arguments.as_object_mut()) {
            map.insert(
                "criteria".to_owned(),
                json!({ "subject_contains": "letter" }),
            );
        }
        Self {
            account,
            arguments,
            seen: 0,
            handed_out_by: None,
        }
    }

    /// INVARIANT: a page is exactly what follows the one before, newest first.
    fn take(&mut self, body: &Value) -> Result<Step, String> {
        let data = body
            .pointer("/result/structuredContent/data")
            .ok_or("an error")?;
        let uids = data
            .get("uids")
            .and_then(Value::as_array)
            .ok_or("no numbers")?;
        let uids: Vec<u64> = uids.iter().filter_map(Value::as_u64).collect();
        let left = QUIET_LETTERS - self.seen;
        let expected: Vec<u64> = (1..=left).rev().take(PAGE).collect();
        if uids != expected {
            return Err(format!("{expected:?} should come, and {uids:?} came"));
        }
        if data.get("matched_visible").and_then(Value::as_u64) != Some(QUIET_LETTERS) {
            return Err("another number of messages than there are".to_owned());
        }
        self.seen += uids.len() as u64;
        let by = Receipt::of(body).map(|receipt| receipt.log);
        let from = match (&self.handed_out_by, &by) {
            (None, _) => From::Nobody,
            (before, now) if before == now => From::TheSame,
            _ => From::TheOther,
        };
        self.handed_out_by = by;
        match (data.get("next_cursor").and_then(Value::as_str), self.seen) {
            (Some(cursor), seen) if seen < QUIET_LETTERS => {
                self.arguments = json!({ "account_id": self.account, "folder": QUIET, "limit": PAGE, "cursor": cursor });
                Ok(Step::Page(from))
            }
            (None, QUIET_LETTERS) => Ok(Step::Last(from)),
            (Some(_), _) => Err("a cursor behind the last page".to_owned()),
            (None, seen) => Err(format!("no cursor after {seen} messages")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(log: &str, uids: &[u64], cursor: Option<&str>) -> Value {
        let receipt = json!({ "log_id": log, "seq": 1, "leaf_hash": "h" });
        json!({ "result": { "structuredContent": {
            "data": { "uids": uids, "matched_visible": QUIET_LETTERS, "next_cursor": cursor },
            "meta": { "receipt": receipt, "request_id": "r" } } } })
    }

    #[test]
    fn a_page_that_skips_repeats_or_ends_early_is_found() {
        let first: Vec<u64> = (54..=60).rev().collect();
        let next: Vec<u64> = (47..=53).rev().collect();
        let mut walk = Walk::new(0);
        assert_eq!(
            walk.take(&page("x", &first, Some("c"))),
            Ok(Step::Page(From::Nobody))
        );
        assert_eq!(walk.arguments["cursor"], "c");
        assert!(walk.take(&page("y", &first, Some("c"))).is_err());
        assert!(walk.take(&page("y", &next[1..], Some("c"))).is_err());
        assert!(walk.take(&page("y", &next, None)).is_err());
        let mut walk = Walk::new(0);
        walk.take(&page("x", &first, Some("c"))).unwrap();
        assert_eq!(
            walk.take(&page("y", &next, Some("d"))),
            Ok(Step::Page(From::TheOther))
        );
    }
}
