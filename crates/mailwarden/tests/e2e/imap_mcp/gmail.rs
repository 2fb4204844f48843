//! Accounts with `provider: google`, on a simulated Gmail.
//!
//! The simulation has no OAuth of Google's: the account logs in by a password, which `auth` says.

use serde_json::{Value, json};
use testkit::Gmail;
use testkit::gmail::{PASSWORD, Place, USER};

use super::{Ground, Row, allowed, check_all, data, letter};

struct House {
    ground: Ground,
    gmail: Gmail,
    message: u64,
}

const POLICY: &str = "    - { path: Target, mode: blacklist, default: FULL, accept_incoming: true }\n  \
    gmail-invoices:\n    \
    - { path: Rechnungen, mode: blacklist, default: FULL, move_out: true, accept_incoming: true }\n    \
    - { path: Erledigt, mode: blacklist, default: FULL, move_out: true, accept_incoming: true }\n    \
    - { path: '[Gmail]/All Mail', mode: blacklist, default: FULL }\n    \
    - { path: '[Gmail]/Trash', mode: blacklist, default: FULL, accept_incoming: true }\n";

impl House {
    fn new() -> Self {
        let ground = Ground::new();
        ground.server.create_folder("company-mail", "Target");
        let gmail = Gmail::builder().labels(&["Rechnungen", "Erledigt"]).start();
        let place = Place::label("Rechnungen");
        let message = gmail.deliver(&[place], letter("rechnung@hornbach.de", "one"));
        let text = ground.accounts();
        let (before, _) = text.split_once("  - id: gmail-invoices").unwrap();
        let (_, after) = text.split_once("\nsecret_store:").unwrap();
        let account = format!(
            "  - id: gmail-invoices\n    provider: google\n    host: 127.0.0.1\n    port: {}\n    tls: none\n    \
             auth:\n      type: password\n      user: {USER}\n      \
             secret_ref: secret://accounts/gmail-invoices/password\n",
            gmail.port()
        );
        ground.dir.write(
            "accounts.yaml",
            &format!("{before}{account}\nsecret_store:{after}"),
        );
        ground.secret("accounts/gmail-invoices/password", PASSWORD);
        ground.caller("everything", POLICY);
        Self {
            ground,
            gmail,
            message,
        }
    }

    fn at(&self, place: &Place, folder: &str) -> Value {
        let uid = self.gmail.uid(place, self.message);
        json!({ "account": "gmail-invoices", "folder": folder, "uid": uid })
    }

    fn said(&self, word: &str) -> bool {
        self.gmail.commands().iter().any(|one| one.contains(word))
    }
}

const ROWS: &[Row<House>] = &[
    Row(
        "list_labels | COUNT | Gmail only: list labels with flags",
        |house| {
            let mut client = house.ground.stdio("everything", &[]);
            let shown = client.call("list_labels", json!({ "account": "gmail-invoices" }));
            allowed(&shown);
            let labels = data(&shown, "/labels").as_array().unwrap();
            let trash = labels
                .iter()
                .find(|one| one["name"] == "[Gmail]/Trash")
                .unwrap();
            assert_eq!(trash["flags"], json!(["\\trash"]));
            let other = client.call("list_labels", json!({ "account": "company-mail" }));
            assert_eq!(super::denied(&other), "tool_not_applicable_for_provider");
        },
    ),
    Row(
        "search results include canonical_all_mail_uid for cross-label deduplication",
        |house| {
            let mut client = house.ground.stdio("everything", &[]);
            let found = client.call(
                "search",
                json!({ "account": "gmail-invoices", "folder": "Rechnungen" }),
            );
            allowed(&found);
            let canonical = house.gmail.uid(&Place::All, house.message).unwrap();
            assert_eq!(
                data(&found, "/messages/0/canonical_all_mail_uid"),
                canonical
            );
        },
    ),
    Row(
        "Intra-account move implemented as label swap (not physical MOVE)",
        |house| {
            let mut client = house.ground.stdio("everything", &[]);
            let source = house.at(&Place::label("Rechnungen"), "Rechnungen");
            let target = json!({ "account": "gmail-invoices", "folder": "Erledigt" });
            house.gmail.reset_record();
            allowed(&client.call("move", json!({ "source": source, "target": target })));
            assert!(
                house.said("UID STORE") && !house.said("UID MOVE"),
                "{:?}",
                house.gmail.commands()
            );
            let places: Vec<Place> = house.gmail.found_in(house.message).into_keys().collect();
            assert!(places.contains(&Place::label("Erledigt")), "{places:?}");
            assert!(!places.contains(&Place::label("Rechnungen")), "{places:?}");
        },
    ),
    Row(
        "Cross-account sagas fetch deterministically from [Gmail]/All Mail",
        |house| {
            let mut client = house.ground.stdio("everything", &[]);
            let source = house.at(&Place::label("Erledigt"), "Erledigt");
            let target = json!({ "account": "company-mail", "folder": "Target" });
            house.gmail.reset_record();
            let moved = client.call("move", json!({ "source": source, "target": target }));
            allowed(&moved);
            assert!(
                house.said("[Gmail]/All Mail"),
                "{:?}",
                house.gmail.commands()
            );
            let id = data(&moved, "/transaction_id");
            let status = client.call("get_transaction_status", json!({ "tx_id": id }));
            assert_eq!(
                data(&status, "/transaction_state"),
                "done",
                "{}",
                status.text
            );
            let mut imap = house.ground.server.login("company-mail", "secret");
            let target = imap.command("STATUS Target (MESSAGES)").text();
            assert!(target.contains("MESSAGES 1"), "{target}");
        },
    ),
    Row(
        "[Gmail]/Trash, [Gmail]/Drafts etc. are policy-addressable folders",
        |house| {
            let mut client = house.ground.stdio("everything", &[]);
            let folder = json!({ "account": "gmail-invoices", "folder": "[Gmail]/Trash" });
            allowed(&client.call("search", folder));
            let folder = json!({ "account": "gmail-invoices", "folder": "[Gmail]/Drafts" });
            assert_eq!(
                super::denied(&client.call("search", folder)),
                "folder_hidden"
            );
        },
    ),
];

#[test]
fn gmail_accounts_have_the_semantics_described() {
    check_all(ROWS, &mut House::new());
}
