//! What every tool that changes mail answers when all is well, and what is left of it: in the mailboxes, in the ledger and
//! in the audit log.

mod cases;

use serde_json::{Value, json};
use testkit::world::{Found, Item};
use testkit::{McpClient, World};

use super::{Answer, ask, message, shown, with};
use crate::protocol::{meets, no_nulls};
use crate::support::start;
use crate::write_crash::{AWAY, Ground, HOME, Plot, SUBJECT, leave};

/// A call that is done, and what must come of it.
struct Case {
    tool: &'static str,
    arguments: Value,
    /// All of the answer's data but the names that only the answer knows.
    data: Value,
    /// The field that says where the message lies now.
    names: Names,
    /// What the ledger says of it.
    row: Value,
    /// Names of the steps.
    steps: &'static [&'static str],
    world: fn(&Ends) -> World,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Names {
    Nothing,
    /// `new_message_id`.
    Whole,
    /// `new_uid` and `new_uidvalidity`, in this account and folder.
    Parts(&'static str, &'static str),
}

/// The world before, and the message that it is about.
struct Ends {
    before: World,
    item: Item,
}

impl Ends {
    fn marked(&self, add: &[&str], remove: &[&str]) -> World {
        let gone = self.before.without(&self.item);
        gone.with(self.item.unflagged(remove).flagged(add))
    }

    fn copied(&self, account: &str) -> World {
        self.before.with(self.item.lying_in(account, "Target"))
    }

    fn moved(&self, account: &str, folder: &str) -> World {
        let gone = self.before.without(&self.item);
        gone.with(self.item.lying_in(account, folder))
    }
}

const BEFORE: [&str; 3] = ["\\Flagged", "\\Seen", "project"];

#[test]
fn what_is_done_is_told_in_full_and_is_so() {
    let ground = Ground::new();
    for case in cases::all() {
        let plot = ground.plot("", &[]);
        let mut client = start(plot.program());
        let what = format!("{} {}", case.tool, case.arguments);
        let ends = Ends {
            before: plot.world(),
            item: plot.subject(HOME),
        };
        let arguments = with(
            case.arguments.clone(),
            json!({ "idempotency_key": "my-key" }),
        );
        let answer = ask(&mut client, case.tool, arguments);
        assert_eq!(answer.words, "ok done", "{what}: {}", answer.text);
        well_formed(&mut client, case.tool, &answer);
        let landed = landing(&plot, &case, &answer);
        if let Some(found) = &landed {
            let copy = found.item.lying_in(HOME, "INBOX");
            assert_eq!(copy, ends.item, "{what}: the name leads to it");
        }
        let mut data = answer.data.clone();
        sort(&mut data);
        for name in [
            "status",
            "issues",
            "transaction_id",
            "transaction_state",
            "decision",
        ] {
            data.as_object_mut().unwrap().remove(name);
        }
        for name in ["new_message_id", "new_uid", "new_uidvalidity"] {
            data.as_object_mut().unwrap().remove(name);
        }
        assert_eq!(data, case.data, "{what}");
        assert_eq!(plot.world(), (case.world)(&ends), "{what}");
        written_down(&plot, &case, &answer, landed.as_ref());
        recorded(&plot, case.tool, &answer);
        steps_recorded(&plot, &case, &answer);
        leave(client);
    }
}

/// Flags stand in any order.
fn sort(data: &mut Value) {
    if let Some(flags) = data.get_mut("flags").and_then(Value::as_array_mut) {
        flags.sort_by_key(|flag| flag.as_str().unwrap().to_owned());
    }
}

/// The schema, the envelope, and the text that says the same.
fn well_formed(client: &mut McpClient, tool: &str, answer: &Answer) {
    let tools = client.request("tools/list", json!({})).unwrap();
    let mut tools = tools["tools"].as_array().unwrap().iter();
    let definition = tools.find(|one| one["name"] == tool).unwrap();
    meets(&definition["outputSchema"], &answer.all, tool);
    no_nulls(&answer.all["data"], tool);
    assert_eq!(answer.all["success"], true);
    let summary = answer.all["summary"].as_str().unwrap();
    assert!(summary.ends_with("done"), "{summary}");
    assert!(answer.text.starts_with(summary), "{}", answer.text);
    for (name, value) in answer.data.as_object().unwrap() {
        // Whoever has the message's whole name does not need its parts again.
        if ["untrusted", "issues", "flags"].contains(&name.as_str()) {
            continue;
        }
        let told = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        let line = match value {
            Value::Array(_) => format!("{name}: ["),
            _ => format!("{name}: {told}"),
        };
        assert!(answer.has(&line), "{tool}: no {line} in {}", answer.text);
    }
}

/// Where the answer says that the message lies now.
fn landing(plot: &Plot<'_>, case: &Case, answer: &Answer) -> Option<Found> {
    let number = |name: &str| answer.data[name].as_u64().unwrap();
    let (account, folder, generation, uid) = match case.names {
        Names::Nothing => return None,
        Names::Whole => {
            let name = answer.data["new_message_id"].as_str().unwrap();
            let words: Vec<&str> = name.split(':').collect();
            let number = |at: usize| words[at].parse().unwrap();
            (
                words[1].to_owned(),
                words[2].to_owned(),
                number(3),
                number(4),
            )
        }
        Names::Parts(account, folder) => {
            let (generation, uid) = (number("new_uidvalidity"), number("new_uid"));
            (account.to_owned(), folder.to_owned(), generation, uid)
        }
    };
    let all = plot.folder(&account, &folder).into_iter();
    let mut fits =
        all.filter(|one| u64::from(one.uid) == uid && u64::from(one.uidvalidity) == generation);
    Some(fits.next().expect("the message that is named"))
}

/// The ledger: who, what, which message and what it was, where it lies now.
fn written_down(plot: &Plot<'_>, case: &Case, answer: &Answer, landed: Option<&Found>) {
    let what = case.tool;
    let mut row = shown(plot, &answer.id());
    for flags in ["flags_before", "flags_after"] {
        if let Some(flags) = row[flags].as_array_mut() {
            flags.sort_by_key(|flag| flag.as_str().unwrap().to_owned());
        }
    }
    let account = match case.arguments["account_id"].as_str() {
        Some(account) => account,
        None => HOME,
    };
    for (name, want) in [
        ("state", json!("done")),
        ("caller_id", json!("owner")),
        ("tool", json!(case.tool)),
        ("request_id", answer.all["meta"]["request_id"].clone()),
        ("idempotency_key", json!("my-key")),
        ("source", json!(message(account, SUBJECT))),
        ("flags_before", json!(BEFORE)),
        ("arrived", json!("2026-06-01T01:01:23Z")),
    ] {
        assert_eq!(row[name], want, "{what}: {name} in {row:#}");
    }
    for (name, want) in case.row.as_object().unwrap() {
        assert_eq!(&row[name], want, "{what}: {name} in {row:#}");
    }
    assert!(
        row["policy"].as_str().unwrap().starts_with("owner@"),
        "{row:#}"
    );
    assert!(row["size"].as_u64().unwrap() > 100, "{row:#}");
    // Of what only gets other flags nothing is read.
    if row["kind"] != "flags" {
        assert_eq!(row["message_id_header"], "wanted@example.com", "{row:#}");
        let hash = plot
            .folder(AWAY, "Target")
            .into_iter()
            .find(|one| one.uid == 6);
        assert_eq!(row["sha256"], hash.unwrap().item.hash, "{what}: {row:#}");
        assert_eq!(row["sha256_octets"], row["size"]);
    }
    if let Some(found) = landed {
        let place = json!({ "uid": found.uid, "uidvalidity": found.uidvalidity });
        assert_eq!(row["landed"], place, "{what}: {row:#}");
    }
    let steps: Vec<&str> = row["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["name"].as_str().unwrap())
        .collect();
    assert_eq!(steps, case.steps, "{what}: {row:#}");
    let done = row["steps"]
        .as_array()
        .unwrap()
        .iter()
        .all(|step| step["state"] == "done");
    assert!(done, "{what}: {row:#}");
}

/// A change from one account to another leaves a record of each step, between the intent and the outcome.
fn steps_recorded(plot: &Plot<'_>, case: &Case, answer: &Answer) {
    let request = &answer.all["meta"]["request_id"];
    let mut of_it = plot.state.records();
    of_it.retain(|record| record.json["request_id"] == *request);
    let (last, before) = of_it.split_last().unwrap();
    assert_eq!(last.event, "outcome");
    let steps = before.iter().skip(1);
    let said: Vec<_> = steps
        .map(|one| (one.event.as_str(), one.text("step"), one.text("result")))
        .collect();
    let crosses = case.steps.contains(&"append");
    let wanted = case.steps.iter().filter(|_| crosses);
    let wanted: Vec<_> = wanted
        .map(|step| ("transaction_step", *step, "done"))
        .collect();
    assert_eq!(said, wanted, "{of_it:#?}");
    for step in before.iter().skip(1) {
        assert_eq!(step.text("transaction"), answer.id());
        assert_eq!(
            (step.text("caller_id"), step.text("tool")),
            ("owner", case.tool)
        );
    }
}

/// The audit log: the intent before, the outcome after, and the transaction's name in the outcome.
fn recorded(plot: &Plot<'_>, tool: &str, answer: &Answer) {
    let request = &answer.all["meta"]["request_id"];
    let mut of_it = plot.state.records();
    of_it.retain(|record| record.json["request_id"] == *request);
    of_it.retain(|record| record.event != "transaction_step");
    let [intent, outcome] = of_it.as_slice() else {
        panic!("{tool}: {of_it:#?}");
    };
    assert_eq!(
        (intent.event.as_str(), outcome.event.as_str()),
        ("intent", "outcome")
    );
    assert_eq!(outcome.number("intent"), intent.seq);
    assert_eq!(answer.all["meta"]["receipt"]["seq"], outcome.seq);
    for record in [intent, outcome] {
        assert_eq!(
            (record.text("caller_id"), record.text("tool")),
            ("owner", tool)
        );
    }
    assert_eq!(intent.text("decision"), "ALLOW");
    assert_eq!(outcome.text("result"), "ok");
    assert_eq!(outcome.text("transaction"), answer.id());
}
