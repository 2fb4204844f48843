//! What can be recorded. The constructors are the whole list: nothing else gets into the log.

use mail::{AccountId, Level, MessageRef};

use crate::fields::{Fields, Value};
use crate::{Day, Hash, Peaks, Summary};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    pub(crate) name: &'static str,
    pub(crate) fields: Fields,
    pub(crate) states: States,
}

/// What a record says of the tree before it. It is filled in when the record is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum States {
    Nothing,
    Root,
    /// Enough to go on from here without what is before.
    Peaks,
}

impl States {
    pub(crate) fn fields(self, tree: &Peaks) -> Fields {
        let size = || Fields::default().number("tree_size", tree.size());
        match self {
            Self::Nothing => Fields::default(),
            Self::Root => size().text("root", tree.root().to_string()),
            Self::Peaks => {
                let peaks = tree.as_slice().iter().map(ToString::to_string);
                size().with("peaks", Value::List(peaks.collect()))
            }
        }
    }
}

/// Who asked for what, and what was decided: known before anything is done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    pub caller_id: String,
    /// Where the caller is: `stdio`, or an address.
    pub caller_addr: String,
    pub request_id: String,
    pub tool: String,
    pub arguments: Summary,
    pub decision: Decision,
    /// One of the reasons that the contract lists, or the code of a refusal.
    pub reason: &'static str,
    pub level: Option<Level>,
    /// The policy's rule that decided.
    pub rule: Option<u64>,
    pub missing_capability: Option<&'static str>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    Allow,
    Deny,
}

impl Decision {
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Deny => "DENY",
        }
    }
}

/// How it came out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Ended {
    /// `ok`, `partial`, `failed`, `cancelled`, `asked` (a person first), or the code of a refusal.
    pub result: &'static str,
    /// What kept it from being ok, as a code.
    pub issue: Option<String>,
    /// The argument that was refused.
    pub argument: Option<String>,
    /// How many things the caller was shown, and how many were kept from it.
    pub shown: u64,
    pub hidden: u64,
    /// Which messages of a folder it was shown, when it did not ask for them by name.
    pub seen: Option<Seen>,
    /// Messages that it was shown wherever they lie; beyond [`MOST_NAMED`] they are not told.
    pub messages: Vec<MessageRef>,
    /// Unknown of a call that was given up.
    pub round_trips: Option<u64>,
    pub latency_ms: u64,
    pub transaction: Option<String>,
}

/// Messages that one record names.
const MOST_NAMED: usize = 100;

/// Messages of the folder that was asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Seen {
    pub uidvalidity: u32,
    pub uids: Vec<u32>,
}

impl Event {
    /// A process begins to serve.
    pub fn start(version: &str, verb: &'static str) -> Self {
        Self::new("start")
            .text("version", version)
            .number("pid", u64::from(std::process::id()))
            .text("verb", verb)
    }

    /// Which of several replicas wrote this.
    pub fn of_replica(self, name: &str) -> Self {
        self.text("replica", name)
    }

    /// It ends, and why.
    pub fn stop(why: &'static str) -> Self {
        Self::new("stop")
            .number("pid", u64::from(std::process::id()))
            .text("why", why)
    }

    /// So many accounts are named that the record stays one, and the rest is counted.
    pub fn config_loaded<'a>(
        version: Option<&str>,
        accounts: impl Iterator<Item = &'a AccountId>,
    ) -> Self {
        let mut accounts = accounts.map(ToString::to_string);
        let named = accounts.by_ref().take(MOST_ACCOUNTS).collect();
        let event = Self::new("config_loaded").with("accounts", Value::List(named));
        let event = match accounts.count() {
            0 => event,
            more => event.number("more", u64::try_from(more).unwrap_or(u64::MAX)),
        };
        match version {
            Some(version) => event.text("version", version),
            None => event,
        }
    }

    /// Another configuration is in force from here on.
    pub fn config_reloaded<'a>(
        version: Option<&str>,
        accounts: impl Iterator<Item = &'a AccountId>,
    ) -> Self {
        Self {
            name: "config_reloaded",
            ..Self::config_loaded(version, accounts)
        }
    }

    /// Somebody who did not prove to be a caller, and the variable that does not fit; never its value.
    pub fn caller_refused(variable: &'static str) -> Self {
        Self::new(CALLER_REFUSED).text("variable", variable)
    }

    /// Those who came from an address over HTTP and did not prove to be a caller, how often, and why; never what they
    /// brought.
    pub fn callers_refused(address: &str, why: &'static str, times: u64) -> Self {
        Self::new(CALLER_REFUSED)
            .text("caller_addr", address)
            .text("reason", why)
            .number("times", times)
    }

    /// Another access token for an account was asked for, what came of it, and what became of the refresh token; never
    /// a token.
    pub fn token_refreshed(account: &str, outcome: &'static str, rotation: &'static str) -> Self {
        Self::new("token_refreshed")
            .text("account_id", account)
            .text("result", outcome)
            .text("rotation", rotation)
    }

    /// Somebody at the command line logged in to an account, or tried to.
    pub fn logged_in(account: &str, outcome: &'static str) -> Self {
        Self::new("logged_in")
            .text("account_id", account)
            .text("caller_id", OPERATOR)
            .text("result", outcome)
    }

    /// A configuration that was not used, the settings that are wrong, and what is wrong with
    /// them; never their values.
    pub fn config_refused(settings: Vec<String>, error: &str) -> Self {
        Self::new(CONFIG_REFUSED)
            .with("settings", Value::List(settings))
            .text("error", error)
    }

    /// A call that could change nothing, in one record.
    pub fn call(asked: &Asked, ended: &Ended) -> Self {
        Self::new("call").and(asked.fields().and(ended.fields()))
    }

    /// Calls beyond the first that were refused within a minute for being too many: one record for all of them.
    pub fn throttled(caller: &str, tool: &str, reason: &'static str, count: u64) -> Self {
        Self::new(THROTTLED)
            .text("caller_id", caller)
            .text("tool", tool)
            .text("reason", reason)
            .number("count", count)
    }

    /// A call that may change something, before it does.
    pub fn intent(asked: &Asked) -> Self {
        Self::new(INTENT).and(asked.fields())
    }

    /// How the call of an intent came out. The request is the same in both; the number of the intent's record is there
    /// unless the call was given up before it was known.
    pub fn outcome(intent: Option<u64>, asked: &Asked, ended: &Ended) -> Self {
        let intent = Fields::default().number_if("intent", intent);
        Self::new("outcome")
            .and(intent)
            .text("caller_id", &asked.caller_id)
            .text("request_id", &asked.request_id)
            .text("tool", &asked.tool)
            // What was decided of the message itself is known only now.
            .text("decision", asked.decision.name())
            .text("reason", asked.reason)
            .and(Fields::default().number_if("rule", asked.rule))
            .and(ended.fields())
    }

    /// A change that was left open is about to be taken up again, or one is about to be undone.
    pub fn transaction_resumed(id: &str, caller: &str, kind: &'static str) -> Self {
        Self::new("transaction_resumed")
            .text("transaction", id)
            .text("caller_id", caller)
            .text("kind", kind)
    }

    /// One step of a change that goes from one account to another, as the ledger has it.
    pub fn transaction_step(step: &TransactionStep<'_>) -> Self {
        Self::new("transaction_step")
            .text("transaction", step.transaction)
            .text("caller_id", step.caller)
            .text("tool", step.tool)
            .text("request_id", step.request_id)
            .text("step", step.step)
            .text("result", step.state)
            .and(Fields::default().text_if("issue", step.issue))
    }

    /// A change came to its end outside of the call that began it.
    pub fn transaction_ended(id: &str, state: &'static str, code: Option<String>) -> Self {
        let event = Self::new("transaction_ended")
            .text("transaction", id)
            .text("state", state)
            .text("result", state);
        match code {
            Some(code) => event.text("issue", code),
            None => event,
        }
    }

    /// A person said how a change came out that nobody else could tell.
    pub fn transaction_resolved(id: &str, state: &'static str) -> Self {
        Self::new("transaction_resolved")
            .text("transaction", id)
            .text("caller_id", OPERATOR)
            .text("state", state)
    }

    pub(crate) fn day_opened() -> Self {
        Self::stating(DAY_OPENED, States::Peaks)
    }

    pub(crate) fn day_closed() -> Self {
        Self::stating(DAY_CLOSED, States::Root)
    }

    pub(crate) fn tree_stated() -> Self {
        Self::stating(TREE_STATED, States::Peaks)
    }

    /// Bytes behind the last whole record, which are no record.
    pub(crate) fn torn_tail(kept_as: &str, bytes: &[u8]) -> Self {
        Self::new(TORN_TAIL)
            .text("kept_as", kept_as)
            .number("bytes", u64::try_from(bytes.len()).unwrap_or(u64::MAX))
            .text("sha256", Hash::of_bytes(bytes).to_string())
    }

    /// The files hold fewer records than this process has written, or than a checkpoint beside them covers.
    pub(crate) fn log_cut(found: u64, expected: u64) -> Self {
        Self::stating(LOG_CUT, States::Peaks)
            .number("found", found)
            .number("expected", expected)
    }

    /// The files are those of another log than the one that this process wrote to.
    pub(crate) fn log_replaced(log: &str, known: &Peaks) -> Self {
        Self::new(LOG_REPLACED)
            .text("log_id", log)
            .number("size", known.size())
            .text("root_hash", known.root().to_string())
    }

    /// A closed day that cannot be read; the log goes on behind it.
    pub(crate) fn day_damaged(file: &str, why: &str) -> Self {
        Self::new(DAY_DAMAGED).text("file", file).text("why", why)
    }

    /// The clock is behind the record before this one.
    pub(crate) fn clock_back(before: &str) -> Self {
        Self::new("clock_back").text("before", before)
    }

    /// The log could not be written since then; so many answers were withheld and calls turned away.
    pub(crate) fn interrupted(since: &str, why: &str, withheld: u64, turned_away: u64) -> Self {
        Self::new(INTERRUPTED)
            .text("since", since)
            .text("why", why)
            .number("withheld", withheld)
            .number("turned_away", turned_away)
    }

    pub(crate) fn compressed(day: Day, bytes: u64, sha256: &Hash) -> Self {
        Self::new(RETENTION)
            .text("step", "compressed")
            .text("day", day.to_string())
            .number("bytes", bytes)
            .text("sha256", sha256.to_string())
    }

    /// A day that is about to be deleted, and the last record of it.
    pub(crate) fn deleted(day: Day, through: u64, hash: &Hash) -> Self {
        Self::new(RETENTION)
            .text("step", "deleted")
            .text("day", day.to_string())
            .number("through_seq", through)
            .text("through_hash", hash.to_string())
    }

    /// A step that could not be taken; it is tried again.
    pub(crate) fn retention_failed(day: Day, why: &str) -> Self {
        Self::new(RETENTION)
            .text("step", "failed")
            .text("result", "failed")
            .text("day", day.to_string())
            .text("why", why)
    }

    /// The root over so many records was handed to the operator's program.
    pub(crate) fn root_sent(size: u64, root: &Hash) -> Self {
        Self::new("root_sent")
            .number("size", size)
            .text("root_hash", root.to_string())
    }

    pub(crate) fn root_failed(size: u64, why: &str) -> Self {
        Self::new(ROOT_FAILED).number("size", size).text("why", why)
    }

    /// Nobody was answered for it: the log was out of order when it happened, which was then.
    pub(crate) fn withheld(self, at: &str) -> Self {
        self.with("withheld", Value::Switch(true))
            .text("happened_at", at)
    }

    /// The fields that every record has, as far as this event does not set them itself.
    pub(crate) fn common_fields(&self) -> Fields {
        let (decision, reason, result) = match self.name {
            CALLER_REFUSED => (Decision::Deny, "auth_failed", "refused"),
            CONFIG_REFUSED => (Decision::Deny, "invalid_configuration", "refused"),
            THROTTLED => (Decision::Deny, "rate_limited", "refused"),
            INTERRUPTED => (Decision::Deny, "audit_unavailable", "failed"),
            ROOT_FAILED | LOG_CUT | LOG_REPLACED | TORN_TAIL | DAY_DAMAGED => {
                (Decision::Allow, SERVICE_REASON, "failed")
            }
            INTENT => (Decision::Allow, SERVICE_REASON, "pending"),
            _ => (Decision::Allow, SERVICE_REASON, "ok"),
        };
        let caller = if self.name == CALLER_REFUSED {
            UNKNOWN_CALLER
        } else {
            SERVICE
        };
        let all = [
            ("tool", NO_TOOL),
            ("caller_id", caller),
            ("decision", decision.name()),
            ("reason", reason),
            ("result", result),
        ];
        let missing = all.into_iter().filter(|(name, _)| !self.fields.has(name));
        missing.fold(Fields::default(), |fields, (name, value)| {
            fields.text(name, value)
        })
    }

    fn new(name: &'static str) -> Self {
        Self::stating(name, States::Nothing)
    }

    fn stating(name: &'static str, states: States) -> Self {
        Self {
            name,
            fields: Fields::default(),
            states,
        }
    }

    fn and(mut self, more: Fields) -> Self {
        self.fields = self.fields.and(more);
        self
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.fields = self.fields.with(name, value);
        self
    }

    fn text(self, name: &'static str, text: impl Into<String>) -> Self {
        self.with(name, Value::Text(text.into()))
    }

    fn number(self, name: &'static str, number: u64) -> Self {
        self.with(name, Value::Number(number))
    }
}

/// A step of a transaction, for its record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionStep<'a> {
    pub transaction: &'a str,
    pub caller: &'a str,
    pub tool: &'a str,
    pub request_id: &'a str,
    pub step: &'static str,
    pub state: &'static str,
    /// A code of what went wrong.
    pub issue: Option<&'a str>,
}

/// Whoever runs this program, at the command line.
const OPERATOR: &str = "operator";
/// The tool of a record that is about no call. No tool and no caller can have such a name.
pub const NO_TOOL: &str = "(none)";
/// The caller of what the program does on its own.
pub const SERVICE: &str = "(service)";
/// A caller that did not prove its identity.
pub const UNKNOWN_CALLER: &str = "(unknown)";
/// The reason of what the program does on its own.
pub const SERVICE_REASON: &str = "service";

/// How many accounts a record names. Readers take no line for a record that is longer than `read::MOST`.
const MOST_ACCOUNTS: usize = 1_000;

pub(crate) const DAY_OPENED: &str = "day_opened";
pub(crate) const DAY_CLOSED: &str = "day_closed";
pub(crate) const TREE_STATED: &str = "tree_stated";
pub(crate) const TORN_TAIL: &str = "torn_tail";
pub(crate) const RETENTION: &str = "retention";
pub(crate) const LOG_CUT: &str = "log_cut";
pub(crate) const DAY_DAMAGED: &str = "day_damaged";
const CALLER_REFUSED: &str = "caller_refused";
const CONFIG_REFUSED: &str = "config_refused";
const THROTTLED: &str = "throttled";
const INTENT: &str = "intent";
const INTERRUPTED: &str = "interrupted";
const ROOT_FAILED: &str = "root_failed";
const LOG_REPLACED: &str = "log_replaced";

/// Events that state the whole tree before them: a reader can begin at any of them.
pub(crate) const BASES: [&str; 3] = [DAY_OPENED, TREE_STATED, LOG_CUT];

impl Asked {
    fn fields(&self) -> Fields {
        Fields::default()
            .text("caller_id", &self.caller_id)
            .text("caller_addr", &self.caller_addr)
            .text("request_id", &self.request_id)
            .text("tool", &self.tool)
            .with("arguments", Value::Group(self.arguments.fields().clone()))
            .text("decision", self.decision.name())
            .text("reason", self.reason)
            .text_if("level", self.level.map(Level::name))
            .number_if("rule", self.rule)
            .text_if("missing_capability", self.missing_capability)
    }
}

impl Seen {
    fn fields(&self) -> Fields {
        Fields::default()
            .number("uidvalidity", u64::from(self.uidvalidity))
            .with("uids", Value::Numbers(self.uids.clone()))
    }
}

impl Ended {
    pub fn of(result: &'static str) -> Self {
        Self {
            result,
            ..Self::default()
        }
    }

    fn named(&self) -> Fields {
        let told = self.messages.iter().take(MOST_NAMED);
        let told: Vec<String> = told.map(ToString::to_string).collect();
        match told.is_empty() {
            true => Fields::default(),
            false => Fields::default().with("messages", Value::List(told)),
        }
    }

    fn fields(&self) -> Fields {
        Fields::default()
            .text("result", self.result)
            .text_if("issue", self.issue.as_deref())
            .text_if("argument", self.argument.as_deref())
            .number("shown", self.shown)
            .number("hidden", self.hidden)
            .and(
                self.seen
                    .as_ref()
                    .map_or_else(Fields::default, Seen::fields),
            )
            .and(self.named())
            .number_if("round_trips", self.round_trips)
            .number("latency_ms", self.latency_ms)
            .text_if("transaction", self.transaction.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Asked {
        Asked {
            caller_id: "anna".to_owned(),
            caller_addr: "stdio:1".to_owned(),
            request_id: "req_1".to_owned(),
            tool: "search".to_owned(),
            arguments: Summary::default(),
            decision: Decision::Deny,
            reason: "folder_hidden",
            level: None,
            rule: None,
            missing_capability: None,
        }
    }

    fn every_kind() -> Vec<Event> {
        let (asked, ended) = (asked(), Ended::of("denied"));
        let (day, tree) = (Day::parse("2026-11-15").unwrap(), Peaks::default());
        let step = TransactionStep {
            transaction: "tx_1",
            caller: "anna",
            tool: "move",
            request_id: "req_1",
            step: "append",
            state: "done",
            issue: None,
        };
        vec![
            Event::start("1", "stdio").of_replica("a"),
            Event::stop("told to end"),
            Event::config_loaded(None, [].into_iter()),
            Event::config_reloaded(None, [].into_iter()),
            Event::caller_refused("IMAP_MCP_CALLER_ID"),
            Event::callers_refused("http:127.0.0.1", "no_token", 1),
            Event::token_refreshed("work", "refreshed", "none"),
            Event::logged_in("work", "ok"),
            Event::config_refused(vec!["callers.yaml:1".to_owned()], "it is wrong"),
            Event::call(&asked, &ended),
            Event::throttled("anna", "search", "rate_limited", 3),
            Event::intent(&asked),
            Event::outcome(Some(1), &asked, &ended),
            Event::transaction_resumed("tx_1", "anna", "move"),
            Event::transaction_step(&step),
            Event::transaction_ended("tx_1", "undone", None),
            Event::transaction_resolved("tx_1", "done"),
            Event::day_opened(),
            Event::day_closed(),
            Event::tree_stated(),
            Event::torn_tail("2026-11-15.torn-1", b"x"),
            Event::log_cut(1, 2),
            Event::log_replaced("log", &tree),
            Event::clock_back("2026-11-15T00:00:00.000000Z"),
            Event::day_damaged("2026-11-14.jsonl.gz", "corrupt"),
            Event::interrupted("2026-11-15T00:00:00.000000Z", "no space", 1, 2),
            Event::compressed(day, 1, &Hash::ZERO),
            Event::deleted(day, 1, &Hash::ZERO),
            Event::retention_failed(day, "no space"),
            Event::root_sent(1, &Hash::ZERO),
            Event::root_failed(1, "exit status: 1"),
        ]
    }

    #[test]
    fn every_record_has_the_common_fields_once() {
        let dir = tempfile::tempdir().unwrap();
        let keys = crate::keys::Keys::of(dir.path(), None).unwrap();
        let mut chain = crate::chain::Chain::new();
        for event in every_kind() {
            let mut out = Vec::new();
            let now = jiff::Timestamp::UNIX_EPOCH;
            chain.write(&mut out, now, &event, keys.digester());
            let text = String::from_utf8(out).unwrap();
            let record: serde_json::Value = serde_json::from_str(&text).unwrap();
            for name in ["ts", "prev_hash", "tool", "caller_id", "reason", "result"] {
                assert!(
                    record[name].as_str().is_some_and(|text| !text.is_empty()),
                    "{name}: {text}"
                );
                let key = format!("\"{name}\":");
                assert_eq!(text.matches(&key).count(), 1, "{name}: {text}");
            }
            assert!(record["seq"].is_u64(), "{text}");
            let decision = record["decision"].as_str().unwrap_or_default();
            assert!(["ALLOW", "DENY"].contains(&decision), "{text}");
        }
    }

    #[test]
    fn refusals_without_a_call_are_recorded_as_denied() {
        for (event, reason) in [
            (Event::caller_refused("IMAP_MCP_CALLER_ID"), "auth_failed"),
            (
                Event::callers_refused("http:127.0.0.1", "no_token", 1),
                "no_token",
            ),
            (
                Event::config_refused(Vec::new(), ""),
                "invalid_configuration",
            ),
        ] {
            let all = Fields::default()
                .and(event.fields.clone())
                .and(event.common_fields());
            for (name, value) in [
                ("decision", "DENY"),
                ("reason", reason),
                ("result", "refused"),
            ] {
                assert_eq!(all.clone().text_of(name), Some(value), "{name}");
            }
        }
    }

    #[test]
    fn any_number_of_accounts_makes_one_record() {
        let account = AccountId::new("a".repeat(64)).unwrap();
        for (count, more) in [(2, None), (1_000, None), (100_000, Some(99_000))] {
            let event = Event::config_loaded(None, std::iter::repeat_n(&account, count));
            let named = vec![account.to_string(); count.min(MOST_ACCOUNTS)];
            let counted = Fields::default()
                .with("accounts", Value::List(named))
                .number_if("more", more);
            assert_eq!(event.fields, counted);
        }
    }
}
