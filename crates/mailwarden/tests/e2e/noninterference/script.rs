//! What is asked in both worlds: everything a caller can think of to learn what it may not.

use std::collections::BTreeSet;

use mail::Level;
use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::letter::{KEYWORDS, Letter};
use super::rules;
use super::world::{World, level};

/// One request.
#[derive(Clone, Debug)]
pub(super) struct Step {
    pub(super) method: &'static str,
    pub(super) params: Value,
    /// The cursor of the answer before goes into the arguments; without one there is nothing to ask.
    pub(super) continues: bool,
    /// Nothing is looked for, so hidden messages are counted too.
    pub(super) counts_hidden: bool,
    /// What `folder_stats` must say in each world, from COUNT to FULL.
    pub(super) tallies: Option<[[u64; 6]; 2]>,
}

impl Step {
    fn new(method: &'static str, params: Value) -> Self {
        Self {
            method,
            params,
            continues: false,
            counts_hidden: false,
            tallies: None,
        }
    }

    pub(super) fn call(tool: &str, arguments: Value) -> Self {
        Self::new(
            "tools/call",
            json!({ "name": tool, "arguments": arguments }),
        )
    }

    fn read(uri: String) -> Self {
        Self::new("resources/read", json!({ "uri": uri }))
    }

    fn listing(mut self) -> Self {
        self.counts_hidden = true;
        self
    }

    fn next(mut self) -> Self {
        self.continues = true;
        self
    }
}

/// What does not concern one account, and accounts that are not the caller's.
pub(super) fn of_process(foreign: &[String]) -> Vec<Step> {
    let mut steps = vec![
        Step::new("tools/list", json!({})),
        Step::new("resources/list", json!({})),
        Step::new("resources/templates/list", json!({})),
        Step::call("list_accounts", json!({})),
        Step::call("describe_policy", json!({})),
        Step::call("get_caller_identity", json!({})),
        Step::call("imap_list_accounts", json!({})),
        Step::call("no_such_tool", json!({})),
        complete("account", "", None),
    ];
    for account in foreign {
        let inbox = json!({ "account_id": account, "folder": "INBOX" });
        let uid = json!({ "account_id": account, "folder": "INBOX", "uid": 1 });
        let uri = format!("imap://{account}/mailbox/INBOX/message/7/1");
        steps.extend([
            complete("account", account, None),
            complete("mailbox", "", Some(account)),
            Step::call("list_folders", json!({ "account_id": account })),
            Step::call("list_labels", json!({ "account_id": account })),
            Step::call("folder_stats", inbox.clone()),
            Step::call("search", inbox),
            Step::call("fetch_envelope", uid.clone()),
            Step::call("fetch_headers", uid.clone()),
            Step::call("fetch_body", uid),
            Step::call("imap_verify_account", json!({ "account_id": account })),
            Step::call("imap_list_mailboxes", json!({ "account_id": account })),
            Step::call(
                "imap_search_messages",
                json!({ "account_id": account, "mailbox": "INBOX", "query": "a" }),
            ),
            Step::call(
                "imap_get_message",
                json!({ "message_id": format!("imap:{account}:INBOX:7:1") }),
            ),
            Step::read(uri.clone()),
            Step::read(format!("{uri}/raw")),
            Step::read(format!("{uri}/part/2")),
        ]);
    }
    steps
}

fn complete(name: &str, value: &str, account: Option<&str>) -> Step {
    let template = "imap://{account}/mailbox/{mailbox}/message/{uidvalidity}/{uid}";
    let mut params = json!({
        "ref": { "type": "ref/resource", "uri": template },
        "argument": { "name": name, "value": value },
    });
    if let Some(account) = account {
        params["context"] = json!({ "arguments": { "account": account } });
    }
    Step::new("completion/complete", params)
}

/// What is asked about one world's account.
pub(super) fn of_world(world: &World, now: u64, dice: &mut Dice) -> Vec<Step> {
    let account = &world.account;
    let mut steps = vec![
        Step::call("list_folders", json!({ "account_id": account })),
        Step::call("list_labels", json!({ "account_id": account })),
        Step::call("imap_list_mailboxes", json!({ "account_id": account })),
    ];
    if dice.once_in(8) {
        let arguments = json!({ "account_id": account });
        steps.push(Step::call("imap_verify_account", arguments));
        steps.push(complete("mailbox", "", Some(account)));
    }
    // Those that are closed stand at the end.
    let known = world.folders.iter().map(|one| one.name.as_str());
    let mut places: Vec<&str> = known.take(4).collect();
    places.push(if dice.once_in(2) {
        "Nowhere"
    } else {
        "Unheard of"
    });
    for folder in &places {
        let place = json!({ "account_id": account, "folder": folder });
        let mut stats = Step::call("folder_stats", place.clone());
        stats.tallies = tallies(world, folder);
        steps.push(stats);
        steps.push(Step::call("search", place).listing());
    }
    let open: Vec<&str> = places
        .iter()
        .copied()
        .filter(|folder| {
            world
                .rules(folder)
                .is_some_and(|one| one.most() >= Level::Metadata)
        })
        .collect();
    for _ in 0..7 {
        let folder = choose(&open, &places, dice);
        let criteria = criteria(world, folder, now, dice);
        let limit = 1 + dice.roll(60);
        steps.push(Step::call(
            "search",
            json!({ "account_id": account, "folder": folder, "criteria": criteria, "limit": limit }),
        ));
    }
    for _ in 0..3 {
        let folder = choose(&open, &places, dice);
        steps.push(imap_search(world, folder, now, dice));
    }
    steps.extend(pages(world, choose(&open, &places, dice), dice));
    steps.extend(readings(world, dice));
    steps
}

/// Mostly one that may be looked into.
fn choose<'a>(open: &[&'a str], all: &[&'a str], dice: &mut Dice) -> &'a str {
    match open.is_empty() || dice.once_in(8) {
        true => all[dice.roll(all.len())],
        false => open[dice.roll(open.len())],
    }
}

fn tallies(world: &World, name: &str) -> Option<[[u64; 6]; 2]> {
    let rules = world.rules(name).filter(|one| one.most() >= Level::Count)?;
    let folder = world.folders.iter().find(|one| one.name == name)?;
    let tally = |side: usize| {
        let mut counts = [0; 6];
        for letter in folder.sides[side]
            .iter()
            .flatten()
            .map(|(_, letter)| letter)
        {
            if let Some(at) = (level(rules, letter) as usize).checked_sub(1) {
                counts[at] += 1;
            }
        }
        counts
    };
    Some([tally(0), tally(1)])
}

/// A letter of the folder, in either world.
fn letter<'w>(world: &'w World, folder: &str, dice: &mut Dice) -> Option<&'w Letter> {
    let mut named = world.folders.iter();
    let folder = named.find(|one| one.name == folder)?;
    let all: Vec<&Letter> = folder
        .sides
        .iter()
        .flatten()
        .flat_map(|letters| letters.values())
        .collect();
    (!all.is_empty()).then(|| *dice.pick(&all))
}

/// Criteria that would find a message of one of the worlds, if it could be found.
fn criteria(world: &World, folder: &str, now: u64, dice: &mut Dice) -> Value {
    let mut criteria = Map::new();
    for _ in 0..1 + dice.roll(2) {
        let (name, value) = match letter(world, folder, dice) {
            Some(letter) if !dice.once_in(3) => about(letter, now, dice),
            _ => rules::criterion(dice),
        };
        criteria.insert(name.to_owned(), value);
    }
    Value::Object(criteria)
}

fn about(letter: &Letter, now: u64, dice: &mut Dice) -> (&'static str, Value) {
    let size = letter.raw().len() as u64;
    let words = letter.words();
    match dice.roll(15) {
        0 => match letter.envelope.sender() {
            Some(sender) => ("from", json!(sender)),
            None => ("to_contains", json!("o")),
        },
        1 => ("subject_contains", json!(letter.envelope.word)),
        2 => ("size_gt", json!(size - 1)),
        3 => ("size_lt", json!(size + 1)),
        4..=6 => ("text", json!(dice.pick(&words))),
        7 => (
            "header",
            json!({ "name": "X-Note", "contains": letter.headers.word }),
        ),
        8 => (
            "header",
            json!({ "name": "Subject", "contains": letter.envelope.word }),
        ),
        9 => ("seen", json!(dice.once_in(2))),
        10 => ("flagged", json!(dice.once_in(2))),
        11 => ("keyword", json!(dice.pick(&KEYWORDS))),
        12 => ("since", json!(arrival(letter, now))),
        13 => ("before", json!(arrival(letter, now))),
        _ => {
            let days = *dice.pick(&[7_u64, 30, 70, 300]);
            match dice.once_in(2) {
                true => ("newer_than", json!(format!("{days}d"))),
                false => ("older_than", json!(format!("{days}d"))),
            }
        }
    }
}

/// The day on which it came.
fn arrival(letter: &Letter, now: u64) -> String {
    let then = i64::try_from(now - letter.age).unwrap();
    let then = jiff::Timestamp::from_second(then).unwrap();
    then.to_zoned(jiff::tz::TimeZone::UTC).date().to_string()
}

fn imap_search(world: &World, folder: &str, now: u64, dice: &mut Dice) -> Step {
    let mut arguments = json!({ "account_id": world.account, "mailbox": folder });
    if let Some(letter) = letter(world, folder, dice) {
        let words = letter.words();
        let sender = letter.envelope.sender().unwrap_or("example");
        let (name, value) = match dice.roll(10) {
            8 => ("start_date", json!(arrival(letter, now))),
            9 => ("end_date", json!(arrival(letter, now))),
            0 | 1 => ("query", json!(dice.pick(&words))),
            2 => ("from", json!(sender)),
            3 => ("to", json!("other")),
            4 => ("subject", json!(letter.envelope.word)),
            5 => ("unread_only", json!(true)),
            6 => ("last_days", json!(dice.pick(&[7, 30, 300]))),
            _ => ("limit", json!(3)),
        };
        arguments[name] = value;
    }
    if dice.once_in(2) {
        arguments["include_snippet"] = json!(true);
    }
    Step::call("imap_search_messages", arguments)
}

fn pages(world: &World, folder: &str, dice: &mut Dice) -> Vec<Step> {
    let account = &world.account;
    let first = match dice.once_in(2) {
        true => {
            let arguments = json!({ "account_id": account, "folder": folder, "limit": 2 });
            Step::call("search", arguments).listing()
        }
        false => {
            let arguments = json!({ "account_id": account, "mailbox": folder, "limit": 2 });
            Step::call("imap_search_messages", arguments)
        }
    };
    vec![first.clone(), first.clone().next(), first.next()]
}

/// Messages that are there in both worlds, in one, in none.
fn readings(world: &World, dice: &mut Dice) -> Vec<Step> {
    let mut chosen: BTreeSet<(String, u32, u32)> = BTreeSet::new();
    for folder in &world.folders {
        let mut uids: Vec<u32> = folder
            .sides
            .iter()
            .flatten()
            .flat_map(|letters| letters.keys().copied())
            .collect();
        uids.push(99);
        dice.shuffle(&mut uids);
        let most = if world.rules(&folder.name).is_some() {
            4
        } else {
            1
        };
        let some = uids.into_iter().take(most);
        chosen.extend(some.map(|uid| (folder.name.clone(), folder.uidvalidity, uid)));
        if let Some((name, uid)) = world
            .mutant
            .as_ref()
            .filter(|(name, _)| *name == folder.name)
        {
            chosen.insert((name.clone(), folder.uidvalidity, *uid));
        }
    }
    let mut chosen: Vec<_> = chosen.into_iter().collect();
    dice.shuffle(&mut chosen);
    // What differs by design is looked at first.
    chosen.sort_by_key(|(folder, _, uid)| world.mutant.as_ref() != Some(&(folder.clone(), *uid)));
    let mut steps = Vec::new();
    for (folder, uidvalidity, uid) in chosen.into_iter().take(5) {
        let mut all = reading(&world.account, &folder, uidvalidity, uid, dice);
        let is_mutant = world.mutant.as_ref() == Some(&(folder, uid));
        if !is_mutant {
            dice.shuffle(&mut all);
            all.truncate(4);
        }
        steps.extend(all);
    }
    steps
}

/// Every way to read one message.
fn reading(account: &str, folder: &str, uidvalidity: u32, uid: u32, dice: &mut Dice) -> Vec<Step> {
    let at = json!({ "account_id": account, "folder": folder, "uid": uid });
    let with = |more: Value| {
        let mut arguments = at.clone();
        let more = more.as_object().unwrap().clone();
        arguments.as_object_mut().unwrap().extend(more);
        arguments
    };
    let id = format!("imap:{account}:{folder}:{uidvalidity}:{uid}");
    let path: String = folder.bytes().fold(String::new(), |text, byte| {
        match byte.is_ascii_alphanumeric() {
            true => text + char::from(byte).encode_utf8(&mut [0; 4]),
            false => text + &format!("%{byte:02X}"),
        }
    });
    let uri = format!("imap://{account}/mailbox/{path}/message/{uidvalidity}/{uid}");
    let generation = uidvalidity + u32::from(dice.once_in(8));
    vec![
        Step::call("fetch_envelope", at.clone()),
        Step::call("fetch_envelope", with(json!({ "uidvalidity": generation }))),
        Step::call("fetch_headers", at.clone()),
        Step::call("fetch_body", at.clone()),
        Step::call(
            "fetch_body",
            with(json!({ "include_html": true, "max_chars": 100 })),
        ),
        Step::call("fetch_attachment", with(json!({ "part_id": "2" }))),
        Step::call(
            "fetch_attachment",
            with(json!({ "part_id": "2", "as_text": true })),
        ),
        Step::call("imap_get_message", json!({ "message_id": id })),
        Step::call(
            "imap_get_message",
            json!({ "message_id": id, "include_all_headers": true, "include_html": true }),
        ),
        Step::call("imap_get_message_raw", json!({ "message_id": id })),
        Step::read(uri.clone()),
        Step::read(format!("{uri}/raw")),
        Step::read(format!("{uri}/part/2")),
    ]
}
