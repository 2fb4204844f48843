//! What is believed of a server's answers, and which label is meant by which name.

use serde_json::json;
use testkit::Gmail;
use testkit::gmail::{Fault, Place};

use super::{Owner, folder};
use crate::changes::ask;
use crate::support::{Look, note};

#[test]
fn a_throttled_moment_is_no_lie() {
    let busy =
        Fault::Answer("NO [OVERQUOTA] Account exceeded command or bandwidth limits. (Failure)");
    let gmail = Gmail::builder().labels(&["Work"]).start();
    gmail.deliver(&[Place::Inbox], note("one", "x"));
    let mut owner = Owner::of(&gmail);
    // The first search finds nothing, so that all are counted; that is refused.
    gmail.fail("UID SEARCH", 2, busy.clone());
    let criteria = json!({ "criteria": { "gm_raw": "nothing" } });
    let refused = ask(&mut owner.client, "search", folder("INBOX", criteria));
    assert_eq!(gmail.armed(), 0);
    assert!(!refused.words.starts_with("ok"), "{}", refused.text);
    gmail.fail("UID SEARCH", 1, busy);
    owner.client.call("imap_verify_account", json!({}));
    assert_eq!(gmail.armed(), 0);
    gmail.reset_record();
    let page = owner.client.call("search", folder("INBOX", json!({})));
    assert_eq!(page.number("/messages/0/canonical_all_mail_uid"), 1);
    assert_eq!(page.warnings(), "", "{}", page.text);
    let asked = gmail.commands();
    let plain = |one: &&String| one.starts_with("UID SEARCH") && !one.contains("RETURN");
    assert_eq!(asked.iter().find(plain), None);
    let verified = owner.client.call("imap_verify_account", json!({}));
    assert!(
        !verified.warnings().contains("ESEARCH"),
        "{}",
        verified.text
    );
}
