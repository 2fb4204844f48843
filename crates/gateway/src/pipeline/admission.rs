//! Whether there is room for a call: in its caller's limits and in this process. And what it has cost, once it is over.
//!
//! What the call asks is not looked at here: that comes later, and only if there is room.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use audit::{Ended, Event, Log};
use ledger::{Drawn, Level as Fill};
use mail::{Cx, Level};
use policy::Ask;
use serde_json::{Value, json};

use super::offered::Lookup;
use super::turnstile::{NoRoom, SOON};
use super::{Begun, Call, Caller, Gateway, Outcome};
use crate::envelope::{self, Again, Answered, Refused, Reply};
use crate::fairness::{Crowd, Door, Load, Place, Places};
use crate::knowledge::lock;
use crate::limits::excess::{Excess, Kind, Recorded};
use crate::limits::told::RateLimit;
use crate::limits::under_way::Held;
use crate::limits::{Bucket, Limit, Limits, Measure};
use crate::setup::{Setup, Standing};
use crate::tools::AnyTool;
use crate::watch::{Cache, OTHER};
use crate::{Code, Refusal, recording};

/// So much later whoever asks too much, again and again, is refused: no longer than the least that anybody is told to wait.
pub const HELD_BACK: Duration = Duration::from_secs(1);

/// What all calls that name no tool of ours are counted as.
const NO_TOOL: &str = "(unknown)";

/// How a caller stands, as far as this process knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pace {
    Open,
    /// It has used up its own limits, or has as many calls waiting as it may; it will be refused for so long.
    Wait(Duration),
}

/// What is known of a call before it is looked at.
#[derive(Clone, Copy)]
pub(super) struct Came {
    /// None where it names none of its caller's.
    pub tool: Option<&'static str>,
    pub since: Instant,
}

/// A call that there is room for. The room is free again when this is dropped, however the call ends.
pub struct Admitted {
    since: Instant,
    place: Mutex<Option<Place>>,
    used: Mutex<Used>,
}

/// What one call draws from.
#[derive(Default)]
struct Used {
    held: Vec<Held>,
    drawn: Vec<(Bucket, Fill)>,
    messages: u64,
}

impl Gateway {
    /// Lets so many calls be under way at a time, of all callers together.
    pub fn with_places(mut self, crowd: Crowd, places: Places) -> Self {
        self.turnstile.door = Door::of(crowd, places);
        self
    }

    /// Whether a call of this caller is known to find no room. Nothing is drawn and nobody is asked.
    pub fn pace_of(&self, caller: &Caller) -> Pace {
        let setup = self.setup();
        let Some(standing) = setup.standing(caller) else {
            return Pace::Open;
        };
        if let Some(wait) = self.turnstile.door.is_closed_to(&standing.id) {
            return Pace::Wait(wait);
        }
        if standing.limits.own == Measure::default() {
            return Pace::Open;
        }
        let own = standing.limits.of_call(&standing.id, NO_TOOL).buckets;
        match self.turnstile.buckets.known(&own) {
            Drawn::Short { retry_after, .. } => Pace::Wait(retry_after),
            Drawn::Granted(_) => Pace::Open,
        }
    }

    /// Refuses a call that is known to find no room, as it would be refused further in; none where that is not known. So
    /// there is a record of it, and it is counted.
    pub async fn refuse_known_excess(
        &self,
        caller: &Caller,
        cx: &Cx,
        tool: &str,
    ) -> Option<Refused> {
        let since = Instant::now();
        let setup = self.setup();
        let standing = setup.standing(caller)?;
        let tool = standing.tools(&setup).find(|one| one.name() == tool);
        let tool = tool.map(AnyTool::name);
        let own = standing.limits.of_call(&standing.id, NO_TOOL);
        let excess = match self.turnstile.door.is_closed_to(&standing.id) {
            Some(wait) => NoRoom::crowded(wait),
            None => self.turnstile.check_known(&own).err()?,
        };
        let came = Came { tool, since };
        Some(self.refuse_excess(standing, caller, came, cx, excess).await)
    }

    /// The same in as little time as can be, for one of many: a call of a caller whose queue is full, of a kind of which the
    /// first of this minute has its record. It is counted, and all there is to tell is when to come back.
    pub fn turn_away_at_once(&self, caller: &Caller, tool: &str) -> Option<Duration> {
        let since = Instant::now();
        let setup = self.setup();
        let standing = setup.standing(caller)?;
        let wait = self.turnstile.door.is_closed_to(&standing.id)?;
        let reason = Code::Overloaded.name();
        let own = standing.tools(&setup).find(|one| one.name() == tool);
        let kind = Kind {
            caller: caller.as_str().to_owned(),
            tool: own.map_or(NO_TOOL, AnyTool::name),
            reason,
        };
        if !self.turnstile.excess.is_one_of_many(&kind) {
            return None;
        }
        if let Some(watch) = &self.watch {
            watch.ended(&crate::watch::Ended {
                tool: own.map_or(OTHER, AnyTool::name),
                decision: audit::Decision::Deny,
                reason,
                result: reason,
                took: since.elapsed(),
                round_trips: 0,
                cache: Cache::Miss,
                request_id: "",
                parent: None,
            });
        }
        Some(wait)
    }

    /// A request that was meant as a call and is none: without a name, or with arguments that are no object.
    pub async fn refuse_malformed(&self, caller: &Caller, cx: &Cx, tool: &str) -> Refused {
        let since = Instant::now();
        let setup = self.setup();
        let standing = setup.standing(caller);
        // Nonsense counts too: each of it makes a record.
        let _admitted = match standing {
            Some(standing) => match self.admit(standing, None, since).await {
                Ok(admitted) => Some(admitted),
                Err(excess) => {
                    let came = Came { tool: None, since };
                    let refused = self.refuse_excess(standing, caller, came, cx, excess);
                    return hold_back(refused.await, since).await;
                }
            },
            None => None,
        };
        let begun = standing.map_or_else(Begun::now, Begun::by);
        let begun = begun.since(since).watched(self, tool, cx);
        let refusal = Refusal::invalid("a call has the name of a tool, and arguments in an object");
        let asked = recording::malformed(caller, tool, &begun.request_id);
        self.turn_away(&begun, cx, asked, refusal, None).await
    }

    /// How much there is to do right now.
    pub fn load(&self) -> Load {
        self.turnstile.door.load()
    }

    /// Before the process ends: records those calls that were only counted so far.
    pub fn record_excess(&self) {
        self.turnstile.excess.record_all();
    }

    /// Lets a call in, has it made and counts what it cost.
    pub(super) async fn serve(
        &self,
        setup: &Setup,
        standing: &Standing,
        found: Lookup,
        call: Call<'_>,
        left: impl Future<Output = ()>,
    ) -> Outcome {
        let name = found.name();
        let since = Instant::now();
        let mut waiting = Waiting {
            excess: Some(&self.turnstile.excess),
            log: &self.log,
            caller: call.caller,
            tool: name.unwrap_or(NO_TOOL),
        };
        let admitted = tokio::select! {
            biased;
            admitted = self.admit(standing, name, since) => admitted,
            () = left => {
                drop(waiting);
                let facts = Begun::by(standing).facts(call.cx);
                return Outcome::Refused(envelope::refused(Refusal::overloaded(SOON), &facts));
            }
        };
        waiting.excess = None;
        let admitted = match admitted {
            Ok(admitted) => admitted,
            Err(excess) => {
                let came = Came { tool: name, since };
                let refused = self.refuse_excess(standing, call.caller, came, call.cx, excess);
                return Outcome::Refused(hold_back(refused.await, since).await);
            }
        };
        let outcome = match found {
            Lookup::Offered(tool) => tool.call(self, setup, standing, call, &admitted).await,
            Lookup::Withheld(tool, denial) => {
                Outcome::Refused(self.withhold(standing, tool, denial, call).await)
            }
            Lookup::NoResource(tool) => {
                Outcome::Refused(self.no_such_resource(standing, tool, call).await)
            }
            Lookup::Gated => Outcome::Refused(self.refuse_gated(standing, call).await),
            Lookup::Unknown => Outcome::Refused(self.no_such_tool(standing, call).await),
        };
        self.settle(admitted, outcome).await
    }

    /// After its caller is known, and before anything else is.
    pub(super) async fn admit(
        &self,
        standing: &Standing,
        tool: Option<&'static str>,
        since: Instant,
    ) -> Result<Admitted, NoRoom> {
        let limits: &Limits = &standing.limits;
        let wanted = limits.of_call(&standing.id, tool.unwrap_or(NO_TOOL));
        let held = self.turnstile.hold(&wanted)?;
        self.turnstile.check_known(&wanted)?;
        let place = self.turnstile.door.enter(&standing.id).await;
        let place = place.map_err(|crowded| NoRoom::crowded(crowded.0))?;
        let drawn = self.turnstile.draw(wanted).await?;
        Ok(Admitted {
            since,
            place: Mutex::new(Some(place)),
            used: Mutex::new(Used {
                held: vec![held],
                drawn,
                messages: 0,
            }),
        })
    }

    /// The same for the accounts that it asks, once it is known that its caller may ask them.
    pub(super) async fn admit_to_accounts(
        &self,
        admitted: &Admitted,
        setup: &Setup,
        standing: &Standing,
        ask: &Ask,
    ) -> Result<(), NoRoom> {
        if standing.limits.accounts.is_empty() {
            return Ok(());
        }
        let asked: Vec<_> = ask.accounts().collect();
        let anywhere = matches!(ask, Ask::Wherever { account: None, .. });
        let known = setup.accounts().iter().map(|account| account.id());
        let known = known.filter(|id| standing.policy.shows_account(id));
        let known = known.filter(|id| anywhere || asked.contains(id));
        let wanted = standing.limits.of_accounts(&standing.id, known);
        let held = self.turnstile.hold(&wanted)?;
        self.turnstile.check_known(&wanted)?;
        let mut drawn = self.turnstile.draw(wanted).await?;
        let mut used = lock(&admitted.used);
        used.held.push(held);
        used.drawn.append(&mut drawn);
        Ok(())
    }

    /// INVARIANT: a flood of refused calls makes few records: one for the first of a kind in a minute, one for the rest.
    pub(super) async fn refuse_excess(
        &self,
        standing: &Standing,
        caller: &Caller,
        came: Came,
        cx: &Cx,
        excess: NoRoom,
    ) -> Refused {
        let NoRoom { refusal, stands } = excess;
        let tool = came.tool.unwrap_or(NO_TOOL);
        let begun = Begun::by(standing).since(came.since);
        let begun = begun.watched(self, tool, cx);
        let reason = refusal.code.name();
        let kind = Kind {
            caller: caller.as_str().to_owned(),
            tool,
            reason,
        };
        let mut refused = match self.turnstile.excess.one_more(kind) {
            Recorded::Singly => {
                let asked = recording::not_admitted(caller, tool, &begun.request_id, reason);
                self.turn_away(&begun, cx, asked, *refusal, None).await
            }
            Recorded::Counted => {
                begun.decided(audit::Decision::Deny, reason);
                begun.came_to(refusal.recorded());
                Refused {
                    again: Again::OneOfMany,
                    ..envelope::refused(*refusal, &begun.facts(cx))
                }
            }
        };
        tell(&mut refused.data, stands);
        refused
    }

    /// Counts what an answer cost, and tells where its caller stands.
    async fn settle(&self, admitted: Admitted, mut outcome: Outcome) -> Outcome {
        let (mut drawn, messages) = {
            let mut used = lock(&admitted.used);
            (std::mem::take(&mut used.drawn), used.messages)
        };
        if drawn.is_empty() {
            return outcome;
        }
        if let Outcome::Answered(answered) = &outcome {
            let weighs = drawn.iter().any(|(one, _)| one.limit == Limit::Bytes);
            let bytes = if weighs { weight(answered) } else { 0 };
            let (at, costs): (Vec<usize>, Vec<(&Bucket, u64)>) = drawn
                .iter()
                .enumerate()
                .filter_map(|(at, (bucket, _))| match bucket.limit {
                    Limit::Bytes if bytes > 0 => Some((at, (bucket, bytes))),
                    Limit::Messages if messages > 0 => Some((at, (bucket, messages))),
                    _ => None,
                })
                .unzip();
            let levels = self.turnstile.buckets.charge(&costs).await;
            for (at, level) in at.into_iter().zip(levels) {
                if let Some((_, known)) = drawn.get_mut(at) {
                    *known = level;
                }
            }
        }
        let stands = RateLimit::tightest(drawn.iter().map(|(one, level)| (one, *level)));
        match &mut outcome {
            Outcome::Answered(answered) => tell(&mut answered.structured, stands),
            Outcome::Refused(refused) => tell(&mut refused.data, stands),
        }
        outcome
    }
}

impl Admitted {
    /// When the call came.
    pub(super) fn since(&self) -> Instant {
        self.since
    }

    /// Nothing is left to do but to wait until it is recorded.
    pub(super) fn hand_on_place(&self) {
        if let Some(place) = &mut *lock(&self.place) {
            place.hand_on();
        }
    }

    /// Nothing is done at all.
    pub(super) fn leave_place(&self) {
        *lock(&self.place) = None;
    }

    /// How many messages its caller gets to see. Folders and accounts are no messages, nor is what is only counted.
    pub(super) fn shows(&self, ask: &Ask, reply: &impl Reply) {
        let (Ask::Messages { level, .. } | Ask::Wherever { level, .. }) = ask else {
            return;
        };
        if *level >= Level::Metadata {
            lock(&self.used).messages = u64::try_from(reply.shown()).unwrap_or(u64::MAX);
        }
    }
}

/// A call that waits to be let in. One whose caller does not wait so long is recorded too, within the bounds of a flood.
struct Waiting<'a> {
    excess: Option<&'a Excess>,
    log: &'a Log,
    caller: &'a Caller,
    tool: &'static str,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        const CANCELLED: &str = "cancelled";
        let Some(excess) = self.excess else { return };
        let kind = Kind {
            caller: self.caller.as_str().to_owned(),
            tool: self.tool,
            reason: CANCELLED,
        };
        if excess.one_more(kind) == Recorded::Singly {
            let request = Begun::now().request_id.clone();
            let asked = recording::not_admitted(self.caller, self.tool, &request, CANCELLED);
            self.log.note(Event::call(&asked, &Ended::of(CANCELLED)));
        }
    }
}

/// Whoever is refused for asking too much, again and again, is answered later, unless it has waited as long already. So a flood of
/// such calls is no more than one a second for each that a client can have open.
pub(super) async fn hold_back(mut refused: Refused, since: Instant) -> Refused {
    let left = HELD_BACK.saturating_sub(since.elapsed());
    if refused.again == Again::First || left.is_zero() {
        return refused;
    }
    tokio::time::sleep(left).await;
    if let Some(took) = refused.data.pointer_mut("/meta/duration_ms") {
        *took = json!(u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
    }
    refused
}

/// What an answer weighs on its way: both of its forms, and what travels beside it.
fn weight(answered: &Answered) -> u64 {
    struct Scale(u64);
    impl std::io::Write for Scale {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 = self.0.saturating_add(bytes.len() as u64);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut scale = Scale(0);
    // Weighing does not fail.
    let _ = serde_json::to_writer(&mut scale, &answered.structured);
    let beside = answered
        .bytes
        .as_ref()
        .map_or(0, |bytes| bytes.base64.len());
    scale
        .0
        .saturating_add((answered.text.len() + beside) as u64)
}

/// What stands there already was said by whoever refused the call, and is more exact.
fn tell(answer: &mut Value, stands: Option<RateLimit>) {
    if let (Some(Value::Object(meta)), Some(stands)) = (answer.get_mut("meta"), stands) {
        let now = jiff::Timestamp::now();
        meta.entry("rate_limit").or_insert_with(|| stands.json(now));
    }
}
