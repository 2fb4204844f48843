//! Changes of other callers: neither told of nor taken back, whatever their names.

use serde_json::json;

use super::house::{ALL, House, folder};
use crate::changes::{ask, same, tx, with};

#[test]
fn what_another_did_answers_as_what_nobody_did() {
    let folders =
        json!({ "work": [folder("INBOX", "FULL", &ALL), folder("Target", "FULL", &ALL)] });
    let house = House::new(&["Target"], &[("one", folders.clone()), ("two", folders)]);
    house.deliver("INBOX", "good.example");
    let mut one = house.client("one");
    let mut two = house.client("two");
    let before = house.world();
    let copy = house.at(
        "INBOX",
        1,
        json!({ "target_folder": "Target", "idempotency_key": "shared" }),
    );
    let mine = ask(&mut one, "copy", copy.clone());
    assert_eq!(mine.words, "ok done", "{}", mine.all);
    let after = house.world();
    let unknown = json!({ "transaction_id": "tx_00000000000000000000000000" });
    let id = json!({ "transaction_id": mine.id() });
    let key = json!({ "idempotency_key": "shared" });
    for (tool, arguments) in [
        ("get_transaction_status", id.clone()),
        ("get_transaction_status", key.clone()),
        ("undo_transaction", id.clone()),
        (
            "undo_transaction",
            with(id.clone(), json!({ "idempotency_key": "u" })),
        ),
    ] {
        let theirs = ask(&mut two, tool, arguments);
        assert_eq!(theirs.words, "-32002 not_found", "{tool}: {}", theirs.all);
        let nobodys = ask(&mut two, tool, unknown.clone());
        assert_eq!(
            (nobodys.words, nobodys.text),
            (theirs.words, theirs.text),
            "{tool}"
        );
        same(&house.world(), &after, tool);
    }
    assert_eq!(
        ask(&mut one, "get_transaction_status", key.clone()).data["transaction_id"],
        mine.id()
    );

    // A key is its caller's own: the same one is another request.
    let second = ask(&mut two, "copy", copy);
    assert_eq!(second.words, "ok done", "{}", second.all);
    assert_ne!(second.id(), mine.id());
    assert_eq!(house.world().len(), before.len() + 2);
    for (client, answer) in [(&mut one, &mine), (&mut two, &second)] {
        let undo = json!({ "transaction_id": answer.id() });
        let undo = ask(client, "undo_transaction", undo);
        assert_eq!(undo.words, "ok done", "{}", undo.all);
    }
    same(&house.world(), &before, "each has put back its own");
    let rows = tx(house.program(), &["list", "--all", "--caller", "two"]).unwrap();
    let rows = rows["transactions"].as_array().unwrap();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    assert!(
        rows.iter()
            .all(|row| row["policy"].as_str().unwrap().starts_with("two@")),
        "{rows:#?}"
    );
}
