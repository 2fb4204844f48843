//! What a writer may ask for: the call it makes, and what has to lie where once it is done. It asks nobody.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use testkit::mailgen::Rng;

use super::model::{Lying, Spot};
use super::world::{COPIES, FOLDERS, WRITTEN, account, home};

/// All that a writer alone changes.
pub(super) struct Own {
    writer: usize,
    /// What nobody changes and everybody of the account copies.
    shared: Vec<Lying>,
    pub letters: Vec<Lying>,
    /// Copies and drafts, the newest last.
    pub made: Vec<Lying>,
    /// The change before, if it can be undone.
    last: Option<Last>,
}

/// How it was before a change.
struct Last {
    transaction: String,
    letter: usize,
    before: Lying,
    made: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Change {
    /// Puts the flag on, or takes it off where it is.
    Flag(&'static str),
    Move(Spot),
    Copy(Spot),
    /// Copies a message that others copy to the same place at the same time, octet for octet the same.
    Spread(Box<Lying>, Spot),
    Draft(Spot),
    Undo,
}

impl Own {
    pub(super) fn new(writer: usize, letters: Vec<Lying>, shared: Vec<Lying>) -> Self {
        Self {
            writer,
            shared,
            letters,
            made: Vec::new(),
            last: None,
        }
    }

    /// A change and the letter that it is about; none where nothing is left of which is known where it lies.
    pub(super) fn pick(&self, rng: &mut Rng) -> Option<(usize, Change)> {
        let known: Vec<usize> = (0..)
            .zip(&self.letters)
            .filter(|(_, letter)| letter.uid.is_some())
            .map(|(index, _)| index)
            .collect();
        let chosen = usize::try_from(rng.below(known.len().max(1) as u64)).ok()?;
        let chosen = *known.get(chosen)?;
        let letter = self.letters.get(chosen)?;
        let (here, there) = (account(home(self.writer)), account(home(self.writer) + 1));
        let change = match rng.below(100) {
            0..=14 => Change::Flag("\\Seen"),
            15..=24 => Change::Flag("\\Flagged"),
            25..=34 => Change::Flag("$Work"),
            35..=64 => {
                let account = if rng.percent(50) { &here } else { &there };
                let folder: &&str = rng.pick(&FOLDERS);
                let spot = Spot::new(account, folder);
                match spot == letter.spot {
                    true => Change::Flag("\\Seen"),
                    false => Change::Move(spot),
                }
            }
            65..=79 => {
                let account = if rng.percent(50) { &here } else { &there };
                let to = Spot::new(account, COPIES);
                match rng.percent(40) && !self.shared.is_empty() {
                    true => Change::Spread(Box::new(rng.pick(&self.shared).clone()), to),
                    false => Change::Copy(to),
                }
            }
            80..=87 => Change::Draft(Spot::new(&here, WRITTEN)),
            _ if self.last.is_some() => Change::Undo,
            _ => Change::Flag("\\Flagged"),
        };
        Some((chosen, change))
    }

    /// The tool, and its arguments under this key.
    pub(super) fn call(
        &self,
        letter: usize,
        change: &Change,
        key: &str,
    ) -> Option<(&'static str, Value)> {
        let letter = match change {
            Change::Spread(shared, _) => shared,
            _ => self.letters.get(letter)?,
        };
        let at = |more: Value| {
            let mut all = json!({
                "account_id": letter.spot.account,
                "folder": letter.spot.folder,
                "uid": letter.uid,
                "idempotency_key": key,
            });
            if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
                all.extend(more);
            }
            all
        };
        let to = |spot: &Spot| {
            at(json!({ "target_account_id": spot.account, "target_folder": spot.folder }))
        };
        Some(match change {
            Change::Flag("\\Seen") => {
                let seen = !letter.flags.contains("\\Seen");
                ("mark_seen", at(json!({ "seen": seen })))
            }
            Change::Flag(flag) => {
                let action = if letter.flags.contains(*flag) {
                    "remove"
                } else {
                    "add"
                };
                (
                    "mark_tagged",
                    at(json!({ "tags": [flag], "action": action })),
                )
            }
            Change::Move(spot) => ("move", to(spot)),
            Change::Copy(spot) | Change::Spread(_, spot) => ("copy", to(spot)),
            Change::Draft(spot) => {
                let draft = json!({
                    "account_id": spot.account,
                    "folder": spot.folder,
                    "to": ["team@example.com"],
                    "subject": key,
                    "body": format!("Text of {key}."),
                    "idempotency_key": key,
                });
                ("create_draft", draft)
            }
            Change::Undo => {
                let id = &self.last.as_ref()?.transaction;
                (
                    "undo_transaction",
                    json!({ "transaction_id": id, "idempotency_key": key }),
                )
            }
        })
    }

    /// It is done, and this was answered.
    pub(super) fn done(
        &mut self,
        at: usize,
        change: Change,
        key: &str,
        data: &Value,
    ) -> Result<(), String> {
        if change == Change::Undo {
            return self.undone(data);
        }
        let transaction = data.get("transaction_id").and_then(Value::as_str);
        let transaction = transaction.ok_or("a change without a name")?.to_owned();
        let letter = self.letters.get_mut(at).ok_or("no such letter")?;
        let before = letter.clone();
        let number = |name: &str| data.get(name).and_then(Value::as_u64);
        let mut made = 0;
        match change {
            Change::Flag(flag) => {
                if !letter.flags.remove(flag) {
                    letter.flags.insert(flag.to_owned());
                }
            }
            Change::Move(spot) => {
                letter.spot = spot;
                letter.uid = number("new_uid");
            }
            Change::Copy(spot) => {
                made = 1;
                self.made.push(Lying {
                    spot,
                    uid: number("new_uid"),
                    ..before.clone()
                });
            }
            Change::Spread(shared, spot) => {
                made = 1;
                self.made.push(Lying {
                    spot,
                    uid: number("new_uid"),
                    ..*shared
                });
            }
            Change::Draft(spot) => {
                made = 1;
                self.made.push(Lying {
                    name: key.to_owned(),
                    spot,
                    uid: number("uid"),
                    flags: BTreeSet::from(["\\Draft".to_owned(), "\\Seen".to_owned()]),
                    size: None,
                });
            }
            Change::Undo => {}
        }
        self.last = Some(Last {
            transaction,
            letter: at,
            before,
            made,
        });
        Ok(())
    }

    /// It was not done, or put back: nothing is changed but perhaps the number.
    pub(super) fn not_done(&mut self, at: usize, data: &Value) {
        let back = data.pointer("/issues/0/code").and_then(Value::as_str) == Some("put_back");
        if back {
            self.lose_sight(at);
        }
        self.last = None;
    }

    /// Nothing more is asked of this letter.
    pub(super) fn lose_sight(&mut self, at: usize) {
        if let Some(letter) = self.letters.get_mut(at) {
            letter.uid = None;
        }
        self.last = None;
    }

    fn undone(&mut self, data: &Value) -> Result<(), String> {
        let last = self.last.take().ok_or("nothing was to be undone")?;
        for _ in 0..last.made {
            self.made.pop();
        }
        let letter = self.letters.get_mut(last.letter).ok_or("no such letter")?;
        let moved = letter.spot != last.before.spot;
        *letter = last.before;
        if moved {
            let place = data.get("new_message_id").and_then(Value::as_str);
            letter.uid = place.and_then(|place| place.rsplit(':').next()?.parse().ok());
        }
        Ok(())
    }
}

impl Change {
    /// For a table.
    pub(super) fn told(&self, tool: &'static str, from: &Spot) -> &'static str {
        match self {
            Self::Move(to) if to.account != from.account => "move to another account",
            Self::Spread(..) => "copy of what others copy there",
            Self::Copy(to) if to.account != from.account => "copy to another account",
            _ => tool,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Own {
        let letter = Lying {
            name: "<one>".to_owned(),
            spot: Spot::new("a0", "INBOX"),
            uid: Some(3),
            flags: BTreeSet::new(),
            size: Some(9),
        };
        Own::new(0, vec![letter], Vec::new())
    }

    #[test]
    fn what_is_undone_is_as_it_was() {
        let mut own = own();
        let before = own.letters.clone();
        let copy = Change::Copy(Spot::new("a1", COPIES));
        own.done(
            0,
            copy,
            "k",
            &json!({ "transaction_id": "t1", "new_uid": 8 }),
        )
        .unwrap();
        assert_eq!((own.made.len(), own.made[0].uid), (1, Some(8)));
        own.done(0, Change::Undo, "k", &json!({})).unwrap();
        assert!(own.made.is_empty());
        assert_eq!(own.letters, before);
        let moved = Change::Move(Spot::new("a0", "Left"));
        own.done(
            0,
            moved,
            "k",
            &json!({ "transaction_id": "t2", "new_uid": 5 }),
        )
        .unwrap();
        assert_eq!(own.letters[0].uid, Some(5));
        own.done(
            0,
            Change::Undo,
            "k",
            &json!({ "new_message_id": "imap:a0:INBOX:77:12" }),
        )
        .unwrap();
        assert_eq!(own.letters[0].uid, Some(12));
        assert_eq!(own.letters[0].spot, before[0].spot);
    }

    #[test]
    fn a_flag_goes_on_and_off() {
        let mut own = own();
        for (action, on) in [("add", true), ("remove", false)] {
            let change = Change::Flag("$Work");
            let (tool, arguments) = own.call(0, &change, "k").unwrap();
            assert_eq!(
                (tool, &arguments["action"]),
                ("mark_tagged", &json!(action))
            );
            own.done(0, change, "k", &json!({ "transaction_id": "t" }))
                .unwrap();
            assert_eq!(own.letters[0].flags.contains("$Work"), on);
        }
    }
}
