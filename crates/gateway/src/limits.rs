//! What a caller may use up: calls, bytes of answers and messages, by itself, by tool and by account.
//!
//! These are the measures, and the buckets that one call draws from. Nothing is counted here.

pub(crate) mod buckets;
pub(crate) mod excess;
pub(crate) mod told;
pub(crate) mod under_way;

use std::collections::BTreeMap;

use mail::AccountId;

/// All limits of one caller. What is not said is not limited.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    pub own: Measure,
    /// By the names of tools.
    pub tools: BTreeMap<String, Measure>,
    pub accounts: BTreeMap<AccountId, Measure>,
}

/// The limits of one thing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Measure {
    pub calls: Option<Rate>,
    /// Calls under way at a time, in one process.
    pub concurrent: Option<u32>,
    pub bytes_per_hour: Option<u64>,
    pub messages_per_hour: Option<u64>,
}

/// How often, and how many of them at once after a pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    pub per_minute: u32,
    pub burst: u32,
}

impl Rate {
    /// With the burst that is usual: a quarter of a minute's calls.
    pub fn per_minute(per_minute: u32) -> Self {
        let burst = (per_minute / 4).max(1);
        Self { per_minute, burst }
    }
}

/// Which number of the configuration a call ran into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Limit {
    Calls,
    Concurrent,
    Bytes,
    Messages,
}

impl Limit {
    /// As the configuration calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls_per_minute",
            Self::Concurrent => "concurrent",
            Self::Bytes => "bytes_per_hour",
            Self::Messages => "messages_per_hour",
        }
    }
}

/// What a limit is of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Scope {
    Caller,
    Tool,
    /// INVARIANT: one that the caller's policy shows to it.
    Account(AccountId),
}

impl Scope {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Tool => "tool",
            Self::Account(_) => "account",
        }
    }
}

/// One thing that a call draws from: it fills by itself, up to its capacity.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bucket {
    /// The same for all processes that share it.
    pub name: String,
    pub limit: Limit,
    pub scope: Scope,
    pub capacity: u64,
    pub per_second: f64,
}

/// A number of calls that may be under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Room {
    pub name: String,
    pub scope: Scope,
    pub most: u32,
}

/// What one call has to do with, of one caller.
#[derive(Default)]
pub(crate) struct Wanted {
    pub buckets: Vec<Bucket>,
    pub rooms: Vec<Room>,
}

impl Limits {
    /// What every call of this tool draws from.
    pub(crate) fn of_call(&self, caller: &str, tool: &str) -> Wanted {
        let mut wanted = Wanted::default();
        wanted.add(&format!("caller/{caller}"), &Scope::Caller, self.own);
        if let Some(measure) = self.tools.get(tool) {
            wanted.add(
                &format!("caller/{caller}/tool/{tool}"),
                &Scope::Tool,
                *measure,
            );
        }
        wanted
    }

    /// What a call that asks these accounts draws from besides.
    pub(crate) fn of_accounts<'a>(
        &self,
        caller: &str,
        accounts: impl Iterator<Item = &'a AccountId>,
    ) -> Wanted {
        let mut wanted = Wanted::default();
        for account in accounts {
            let prefix = format!("caller/{caller}/account/{account}");
            let twice = wanted.is_of(&prefix);
            if let Some(measure) = self.accounts.get(account).filter(|_| !twice) {
                wanted.add(&prefix, &Scope::Account(account.clone()), *measure);
            }
        }
        wanted
    }
}

impl Wanted {
    fn add(&mut self, prefix: &str, scope: &Scope, measure: Measure) {
        let mut bucket = |limit: Limit, capacity: u64, per_second: f64| {
            self.buckets.push(Bucket {
                name: format!("{prefix}/{}", limit.name()),
                limit,
                scope: scope.clone(),
                capacity,
                per_second,
            });
        };
        if let Some(rate) = measure.calls {
            let per_second = f64::from(rate.per_minute) / 60.0;
            bucket(Limit::Calls, u64::from(rate.burst), per_second);
        }
        if let Some(bytes) = measure.bytes_per_hour {
            bucket(Limit::Bytes, bytes, by_the_hour(bytes));
        }
        if let Some(messages) = measure.messages_per_hour {
            bucket(Limit::Messages, messages, by_the_hour(messages));
        }
        if let Some(most) = measure.concurrent {
            self.rooms.push(Room {
                name: prefix.to_owned(),
                scope: scope.clone(),
                most,
            });
        }
    }

    /// A message that is moved within an account asks it once.
    fn is_of(&self, prefix: &str) -> bool {
        let buckets = self.buckets.iter().map(|bucket| bucket.name.as_str());
        let rooms = self.rooms.iter().map(|room| room.name.as_str());
        let own = |name: &str| {
            name == prefix || name.rsplit_once('/').is_some_and(|(of, _)| of == prefix)
        };
        buckets.chain(rooms).any(own)
    }
}

fn by_the_hour(number: u64) -> f64 {
    number as f64 / 3_600.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        let calls = |per_minute| Measure {
            calls: Some(Rate::per_minute(per_minute)),
            ..Measure::default()
        };
        let account = |name: &str| AccountId::new(name).unwrap();
        Limits {
            own: Measure {
                concurrent: Some(8),
                bytes_per_hour: Some(3_600),
                messages_per_hour: Some(36),
                ..calls(120)
            },
            tools: BTreeMap::from([("search".to_owned(), calls(6))]),
            accounts: BTreeMap::from([(account("work"), calls(60)), (account("home"), calls(30))]),
        }
    }

    fn told(wanted: &Wanted) -> Vec<String> {
        let buckets = wanted.buckets.iter();
        let told = buckets.map(|one| format!("{} {} {}", one.name, one.capacity, one.per_second));
        told.collect()
    }

    #[test]
    fn a_call_draws_from_what_is_its_callers_its_tools_and_its_accounts() {
        let limits = limits();
        let search = limits.of_call("bot", "search");
        assert_eq!(
            told(&search),
            [
                "caller/bot/calls_per_minute 30 2",
                "caller/bot/bytes_per_hour 3600 1",
                "caller/bot/messages_per_hour 36 0.01",
                "caller/bot/tool/search/calls_per_minute 1 0.1",
            ]
        );
        assert_eq!(search.rooms.len(), 1);
        assert_eq!(limits.of_call("bot", "fetch_body").buckets.len(), 3);
        let (work, home) = (
            AccountId::new("work").unwrap(),
            AccountId::new("home").unwrap(),
        );
        let other = AccountId::new("other").unwrap();
        let both = limits.of_accounts("bot", [&work, &work, &other, &home].into_iter());
        assert_eq!(
            told(&both),
            [
                "caller/bot/account/work/calls_per_minute 15 1",
                "caller/bot/account/home/calls_per_minute 7 0.5",
            ]
        );
    }

    #[test]
    fn nothing_said_is_nothing_to_draw_from() {
        let wanted = Limits::default().of_call("bot", "search");
        assert!(wanted.buckets.is_empty() && wanted.rooms.is_empty());
    }

    #[test]
    fn a_burst_is_a_quarter_of_a_minute_and_never_nothing() {
        for (per_minute, burst) in [(1, 1), (3, 1), (8, 2), (120, 30)] {
            assert_eq!(Rate::per_minute(per_minute).burst, burst);
        }
    }
}
