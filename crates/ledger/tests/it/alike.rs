//! Any sequence of requests gets the same answers from a file and from a server.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ledger::{
    Asked, Begun, Claimed, Ending, Filter, Key, Kind, Known, Lease, Ledger, LedgerFault, Note,
    Place, State, StepName, StepState, Transaction, TransactionId,
};
use mail::{AccountId, FolderName, Landing, MessageRef, Uid, UidValidity};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{Ground, Time, asked, connect, server};

#[derive(Clone, Debug)]
enum Request {
    Pass(i64),
    Begin { new: New, content: bool },
    Write(usize, Vec<What>),
    Claim(usize),
    Reopen(usize),
    Decide(usize),
    ClaimDue(i64, usize),
    Release(usize),
    NextDue,
    Serve(Vec<String>),
    Get(usize),
    ByKey(&'static str),
    List(Option<&'static str>, Vec<State>, usize),
    Unsettled,
    Content(usize),
    Landed(usize),
    Forget(i64),
    Leave,
}

#[derive(Clone, Debug)]
struct New {
    kind: Kind,
    caller: &'static str,
    key: Option<(&'static str, u8)>,
    source: Option<u32>,
    home: Option<&'static str>,
    undoes: Option<usize>,
}

#[derive(Clone, Debug)]
enum What {
    Landed(u32, Option<u64>),
    Step(StepName, StepState),
    Ends(State),
    Later(i64),
    FreesKey,
}

const CALLERS: [&str; 2] = ["agent", "a\0b\u{1a}'\"\\"];
const KEYS: [&str; 2] = ["k", ""];
const HOMES: [&str; 2] = ["mine", "theirs"];

fn new() -> impl Strategy<Value = New> {
    (
        select(Kind::ALL),
        select(&CALLERS[..]),
        proptest::option::of((select(&KEYS[..]), 0u8..2)),
        proptest::option::of(1u32..3),
        proptest::option::of(select(&HOMES[..])),
        proptest::option::weighted(0.2, 0usize..8),
    )
        .prop_map(|(kind, caller, key, source, home, undoes)| New {
            kind,
            caller,
            key,
            source,
            home,
            undoes,
        })
}

fn what() -> impl Strategy<Value = What> {
    prop_oneof![
        (1u32..3, proptest::option::weighted(0.3, Just(u64::MAX)))
            .prop_map(|(uid, id)| What::Landed(uid, id)),
        (select(&StepName::ALL[..3]), select(StepState::ALL))
            .prop_map(|(name, state)| What::Step(name, state)),
        select(State::ALL).prop_map(What::Ends),
        (-5i64..20).prop_map(What::Later),
        Just(What::FreesKey),
    ]
}

fn request() -> impl Strategy<Value = (usize, Request)> {
    let which = 0usize..8;
    let request = prop_oneof![
        1 => (1i64..5).prop_map(Request::Pass),
        6 => (new(), any::<bool>()).prop_map(|(new, content)| Request::Begin { new, content }),
        6 => (which.clone(), proptest::collection::vec(what(), 0..4)).prop_map(|(at, all)| Request::Write(at, all)),
        2 => which.clone().prop_map(Request::Claim),
        1 => which.clone().prop_map(Request::Reopen),
        1 => which.clone().prop_map(Request::Decide),
        2 => (-5i64..20, 0usize..4).prop_map(|(then, most)| Request::ClaimDue(then, most)),
        2 => which.clone().prop_map(Request::Release),
        1 => Just(Request::NextDue),
        1 => proptest::collection::vec(select(&HOMES[..]).prop_map(str::to_owned), 0..3).prop_map(Request::Serve),
        1 => which.clone().prop_map(Request::Get),
        1 => select(&KEYS[..]).prop_map(Request::ByKey),
        1 => (proptest::option::of(select(&CALLERS[..])), proptest::collection::vec(select(State::ALL), 0..2), 0usize..4)
            .prop_map(|(caller, states, limit)| Request::List(caller, states, limit)),
        1 => Just(Request::Unsettled),
        1 => which.clone().prop_map(Request::Content),
        1 => which.prop_map(Request::Landed),
        1 => (-20i64..5).prop_map(Request::Forget),
        1 => Just(Request::Leave),
    ];
    (0usize..2, request)
}

/// One ledger as two processes have it, with the names of what was begun in it: they are made by chance.
struct Side {
    ground: Ground,
    time: Time,
    hands: [Option<Ledger>; 2],
    ids: Vec<TransactionId>,
    /// Every one that was ever given, whether it is still good or not.
    leases: Vec<Lease>,
}

impl Side {
    fn id(&self, at: usize) -> TransactionId {
        let nobody = || TransactionId::parse("tx_00000000000000000000000000").unwrap();
        self.ids.get(at).cloned().unwrap_or_else(nobody)
    }

    fn number(&self, id: &TransactionId) -> String {
        let at = self.ids.iter().position(|one| one == id);
        at.map_or("nobody".to_owned(), |at| at.to_string())
    }

    /// Without the names.
    fn told(&self, one: &Transaction) -> String {
        let mut text = format!("{one:?}");
        for id in &self.ids {
            text = text.replace(id.as_str(), &self.number(id));
        }
        text
    }

    fn all(&self, all: Result<Vec<Transaction>, LedgerFault>) -> String {
        format!(
            "{:?}",
            all.map(|all| all.iter().map(|one| self.told(one)).collect::<Vec<_>>())
        )
    }

    fn claimed(&mut self, one: Result<Claimed, LedgerFault>) -> String {
        self.all_claimed(one.map(|one| vec![one]))
    }

    fn all_claimed(&mut self, all: Result<Vec<Claimed>, LedgerFault>) -> String {
        let leases = all.iter().flatten().map(|one| one.lease.clone());
        self.leases.extend(leases);
        self.all(all.map(|all| all.into_iter().map(|one| one.transaction).collect()))
    }

    /// The newest is 0.
    fn lease(&self, back: usize) -> Option<Lease> {
        self.leases.iter().rev().nth(back).cloned()
    }

    fn maybe(&self, one: Result<Option<Transaction>, LedgerFault>) -> String {
        format!("{:?}", one.map(|one| one.map(|one| self.told(&one))))
    }

    fn then(&self, seconds: i64) -> Timestamp {
        self.time
            .now()
            .saturating_add(SignedDuration::from_secs(seconds))
            .unwrap()
    }

    async fn hand(&mut self, which: usize) -> Ledger {
        if self.hands[which].is_none() {
            self.hands[which] = Some(self.ground.open_at(&self.time).await);
        }
        self.hands[which].clone().unwrap()
    }

    async fn answer(&mut self, which: usize, request: &Request) -> String {
        let ledger = self.hand(which).await;
        match request {
            // All sides share one clock.
            Request::Pass(_) => String::new(),
            Request::Begin { new, content } => {
                let new = self.asked(new);
                let content = content.then(|| Bytes::from_static(b"a draft\0"));
                let begun = ledger
                    .begin(new, Known::default(), StepName::Move, content)
                    .await;
                match begun {
                    Ok(Begun::New(lease)) => {
                        self.ids.push(lease.id().clone());
                        self.leases.push(lease);
                        "new".to_owned()
                    }
                    Ok(Begun::Known(one)) => format!("known {}", self.told(&one)),
                    other => format!("{other:?}"),
                }
            }
            Request::Write(back, all) => {
                let Some(lease) = self.lease(*back) else {
                    return String::new();
                };
                let notes = all.iter().map(|what| self.note(what)).collect();
                format!("{:?}", ledger.write(&lease, notes).await)
            }
            Request::Claim(at) => self.claimed(ledger.claim(&self.id(*at)).await),
            Request::Reopen(at) => self.claimed(ledger.reopen(&self.id(*at)).await),
            Request::Decide(at) => self.claimed(ledger.take_to_decide(&self.id(*at)).await),
            Request::ClaimDue(then, most) => {
                self.all_claimed(ledger.claim_due(self.then(*then), *most).await)
            }
            Request::Release(back) => {
                let Some(lease) = self.lease(*back) else {
                    return String::new();
                };
                ledger.release(&lease);
                // Nobody waits for a release. Whoever is answered after these comes after it, in a file and on a server.
                ledger.forget_before(Timestamp::MIN).await.unwrap();
                format!("{:?}", ledger.next_due().await)
            }
            Request::NextDue => format!("{:?}", ledger.next_due().await),
            Request::Serve(homes) => {
                ledger.serve(homes);
                String::new()
            }
            Request::Get(at) => self.maybe(ledger.get(&self.id(*at)).await),
            Request::ByKey(key) => self.maybe(ledger.by_key(CALLERS[0], key).await),
            Request::List(caller, states, limit) => {
                let filter = Filter {
                    caller: caller.map(str::to_owned),
                    states: states.clone(),
                    limit: *limit,
                };
                self.all(ledger.list(filter).await)
            }
            Request::Unsettled => format!("{:?}", ledger.unsettled().await),
            Request::Content(at) => format!("{:?}", ledger.content(&self.id(*at)).await),
            Request::Landed(but) => {
                let but = self.id(*but);
                format!(
                    "{:?}",
                    ledger.landed(&archive(), UidValidity(7), &but).await
                )
            }
            Request::Forget(then) => format!("{:?}", ledger.forget_before(self.then(*then)).await),
            Request::Leave => {
                drop(ledger);
                self.hands[which] = None;
                String::new()
            }
        }
    }

    fn asked(&self, new: &New) -> Asked {
        let source = new
            .source
            .map(|uid| MessageRef::parse(&format!("imap:default:INBOX:7:{uid}")).unwrap());
        Asked {
            kind: new.kind,
            caller: new.caller.to_owned(),
            key: new.key.map(|(name, arguments)| Key {
                name: name.to_owned(),
                arguments: [arguments; 32],
            }),
            source_home: source.as_ref().and(new.home).map(str::to_owned),
            source,
            target: Some(archive()),
            target_home: new.home.map(str::to_owned),
            undoes: new.undoes.map(|at| self.id(at)),
            ..asked()
        }
    }

    fn note(&self, what: &What) -> Note {
        match what {
            What::Landed(uid, store_id) => Note::Knows(Known {
                landed: Some(Landing {
                    uidvalidity: UidValidity(7),
                    uid: Uid(*uid),
                }),
                store_id: *store_id,
                ..Known::default()
            }),
            What::Step(name, state) => Note::Step(*name, *state, Some("why\0".to_owned())),
            What::Ends(state) => Note::Ends(
                *state,
                Ending {
                    code: Some("c".to_owned()),
                    words: None,
                },
            ),
            What::Later(then) => Note::Later(self.then(*then)),
            What::FreesKey => Note::FreesKey,
        }
    }
}

fn archive() -> Place {
    Place {
        account: AccountId::new("default").unwrap(),
        folder: FolderName::new("Archive").unwrap(),
    }
}

#[test]
fn a_file_and_a_server_answer_alike() {
    let server = server();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 20,
        failure_persistence: None,
        max_shrink_iters: 60,
        ..ProptestConfig::default()
    });
    let url = server.url();
    drop(runtime.block_on(connect(&url)));
    let sequences = proptest::collection::vec(request(), 1..60);
    let done = runner.run(&sequences, |requests| {
        let time = Time::default();
        server.query(&url, "TRUNCATE mailwarden.transactions CASCADE");
        let mut sides = [Ground::file(), Ground::Server(url.clone())].map(|ground| Side {
            ground,
            time: time.clone(),
            hands: [None, None],
            ids: Vec::new(),
            leases: Vec::new(),
        });
        for (which, request) in &requests {
            // Names sort by time.
            time.pass(match request {
                Request::Pass(seconds) => *seconds,
                _ => 1,
            });
            let [file, server] = &mut sides;
            let in_file = runtime.block_on(file.answer(*which, request));
            let on_server = runtime.block_on(server.answer(*which, request));
            prop_assert_eq!(in_file, on_server, "{:?}", request);
        }
        Ok(())
    });
    if let Err(fault) = done {
        panic!("{fault}");
    }
}
