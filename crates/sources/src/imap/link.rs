//! One connection to a server, carrying flights: commands written together, replies read together.
//!
//! It knows bytes, time and the protocol's state machine; it does not know folders or messages.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use imap::{
    Command, Connection, Data, Event, ExpectedResponses, Fetch, Limits, Literals, Response, Status,
    StatusKind, Tag, Verdict,
};
use mail::{Cx, Fault, FaultKind, Stage, UidValidity};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};
use tokio::time::{Instant, timeout, timeout_at};

use super::cargo::Cargo;
use super::folder_words;
use super::net::{Pending, Stream};

/// Unsolicited responses in one flight, as many as tell of new flags in 300,000 messages. None is
/// kept.
const MAX_UNSOLICITED_RESPONSES: usize = 400_000;
const MAX_UNSOLICITED_BYTES: usize = 16 << 20;

/// Values that all responses of a flight may store ([`Data::stored_values`]), which is about 19 MB.
/// Octets are bounded by what was asked ([`ExpectedResponses::octets`]), and a line of a few
/// octets takes
/// far more room once it is read.
const MAX_STORED_VALUES: usize = 300_000;

/// A longer response is parsed on a thread of its own, where it delays no other call.
const MAX_INLINE_BYTES: usize = 64 << 10;

/// Octets before the end of a greeting.
const MAX_GREETING_BYTES: usize = 1 << 20;

/// So many pieces of what was said between two flights are taken in at once.
const MOST_UNHEARD: usize = 16;

/// What has arrived at this machine is here by then.
const NOTICE: Duration = Duration::from_millis(200);

/// How long silence is borne.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Until the first whole response.
    pub first: Duration,
    /// After that.
    pub between: Duration,
    /// For the whole flight, however much trickles in.
    pub total: Duration,
}

impl Patience {
    pub(super) fn same(time: Duration) -> Self {
        Self {
            first: time,
            between: time,
            total: time,
        }
    }
}

/// What a flight brought back.
///
/// QUIRK: data is not sorted by command. Dovecot answers a pipelined `FETCH` before the `NOOP` in front of it, so
/// whoever asked must know its data by what it says.
#[derive(Debug)]
pub(super) struct Landed {
    /// One for each command, in order.
    pub statuses: Vec<Status>,
    /// Beside the statuses.
    pub places: Vec<Place>,
    /// All data, in the order of its arrival.
    pub data: Vec<Data>,
}

/// Where the reply to a command stood.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub tag: Tag,
    /// So much of the data had arrived when the command was over.
    pub after: usize,
}

impl Landed {
    /// What commands from this one on came to, and all descriptions of messages.
    pub(super) fn split_off(&mut self, command: usize) -> Self {
        let (told, rest) = std::mem::take(&mut self.data)
            .into_iter()
            .partition(|one| matches!(one, Data::Fetch(_)));
        self.data = rest;
        Self {
            statuses: self.statuses.split_off(command.min(self.statuses.len())),
            places: self.places.split_off(command.min(self.places.len())),
            data: told,
        }
    }

    /// Forgets the first commands; answers the status of the last of them.
    pub(super) fn skip(&mut self, commands: usize) -> Option<Status> {
        let commands = commands.min(self.statuses.len()).min(self.places.len());
        self.places.drain(..commands);
        self.statuses.drain(..commands).next_back()
    }
}

/// What a flight brought back, whether it came to its end or not.
#[derive(Debug)]
pub(super) struct Flown {
    /// One for each command, in order; absent for one that was not answered.
    pub outcomes: Vec<Option<(Status, Place)>>,
    /// All data, in the order of its arrival.
    pub data: Vec<Data>,
    /// What ended it before its time.
    pub fault: Option<Fault>,
    /// Bytes of it were written, and may have arrived.
    pub spoken: bool,
}

impl Flown {
    /// Nothing of it was sent.
    pub(super) fn before_the_start(fault: Fault) -> Self {
        Self {
            outcomes: Vec::new(),
            data: Vec::new(),
            fault: Some(fault),
            spoken: false,
        }
    }

    /// Forgets the first commands.
    pub(super) fn skip(&mut self, commands: usize) {
        self.outcomes.drain(..commands.min(self.outcomes.len()));
    }

    pub(super) fn status(&self, command: usize) -> Option<&Status> {
        let outcome = self.outcomes.get(command)?.as_ref();
        outcome.map(|(status, _)| status)
    }

    fn landed(self, cx: &Cx) -> Result<Landed, Fault> {
        if let Some(fault) = self.fault {
            return Err(fault);
        }
        let mut landed = Landed {
            statuses: Vec::with_capacity(self.outcomes.len()),
            places: Vec::with_capacity(self.outcomes.len()),
            data: self.data,
        };
        for outcome in self.outcomes {
            let unanswered = || protocol(cx, "a command was left without an answer");
            let (status, place) = outcome.ok_or_else(unanswered)?;
            landed.statuses.push(status);
            landed.places.push(place);
        }
        Ok(landed)
    }
}

pub(super) struct Link {
    stream: Stream,
    connection: Connection,
    /// A flight began and did not end: the next bytes would answer the wrong question.
    torn: bool,
    /// The server has answered something since the flight began.
    heard: bool,
    /// The fastest flight, or the greeting, since [`take_fastest`](Self::take_fastest).
    fastest: Option<Duration>,
    /// Of the folder that is open.
    uidvalidity: Option<UidValidity>,
}

impl Link {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            connection: Connection::new(Limits::default()),
            torn: false,
            heard: false,
            fastest: None,
            uidvalidity: None,
        }
    }

    /// For a stream whose greeting has been heard (behind `STARTTLS`).
    pub(super) fn greeted(stream: Stream) -> Self {
        Self {
            stream,
            connection: Connection::greeted(Limits::default()),
            torn: false,
            heard: false,
            fastest: None,
            uidvalidity: None,
        }
    }

    pub(super) fn use_literals(&mut self, literals: Literals) {
        self.connection.use_literals(literals);
    }

    /// The flights that follow are about a folder of this generation. INVARIANT: if the server
    /// names another one, a flight fails as a conflict, and nothing more is sent on this
    /// connection.
    pub(super) fn expect_uidvalidity(&mut self, uidvalidity: Option<UidValidity>) {
        self.uidvalidity = uidvalidity;
    }

    /// It carries no other flight.
    pub(super) fn tear(&mut self) {
        self.torn = true;
    }

    /// Whether another flight may be sent.
    pub(super) fn is_sound(&self) -> bool {
        !self.torn
    }

    /// Whether the last flight has had any answer.
    pub(super) fn has_heard(&self) -> bool {
        self.heard
    }

    /// How long the fastest flight took since this was last asked: a measure of the way to the server and back.
    pub(super) fn take_fastest(&mut self) -> Option<Duration> {
        self.fastest.take()
    }

    /// Gives the stream back for encryption, if nothing was sent ahead of it.
    pub(super) fn into_stream(self) -> Result<Stream, imap::Leftover> {
        self.connection.assert_nothing_left()?;
        Ok(self.stream)
    }

    pub(super) async fn greeting(&mut self, cx: &Cx, patience: Duration) -> Result<Status, Fault> {
        self.torn = true;
        cx.count_round_trip();
        let begun = Instant::now();
        let until = begun + patience;
        let mut octets = 0;
        loop {
            match self.hear(cx).await? {
                Some(Heard {
                    event: Some(Event::Greeting(status)),
                    ..
                }) => {
                    self.torn = false;
                    self.fastest = Some(begun.elapsed());
                    return Ok(status);
                }
                Some(heard) => {
                    octets += heard.octets;
                    if heard.event.is_some() || octets > MAX_GREETING_BYTES {
                        return Err(protocol(cx, "the server's first line is no greeting"));
                    }
                }
                None => self.read(cx, patience, until).await?,
            }
        }
    }

    /// Writes all commands at once and reads until the last is over, whatever each comes to.
    ///
    /// Dropping the future tears the link: it will carry no other flight.
    pub(super) async fn flight(
        &mut self,
        cx: &Cx,
        commands: &[Command],
        patience: Patience,
    ) -> Result<Landed, Fault> {
        self.fly(cx, commands, None, patience).await.landed(cx)
    }

    /// The same, with what came back of a flight that did not come to its end, and with a message on board.
    pub(super) async fn fly(
        &mut self,
        cx: &Cx,
        commands: &[Command],
        cargo: Option<&mut Cargo<'_>>,
        patience: Patience,
    ) -> Flown {
        self.torn = true;
        self.heard = false;
        let begun = Instant::now();
        let mut flight = Flight::of(commands, self.uidvalidity);
        for command in commands {
            flight.open.push((self.connection.push(command), None));
        }
        let carried = self.carry(cx, &mut flight, cargo, patience).await;
        let fault = carried.and_then(|()| flight.check_generation()).err();
        if fault.is_none() {
            // A message that was refused half-way leaves the server waiting for the rest of it.
            self.torn = flight.broke_off;
            let took = begun.elapsed();
            self.fastest = Some(self.fastest.map_or(took, |fastest| fastest.min(took)));
        }
        flight.flown(fault)
    }

    async fn carry(
        &mut self,
        cx: &Cx,
        flight: &mut Flight,
        mut cargo: Option<&mut Cargo<'_>>,
        patience: Patience,
    ) -> Result<(), Fault> {
        let until = Instant::now() + patience.total;
        let mut silence = patience.first;
        let mut turn = Turn::Ours;
        while !self.connection.is_idle() {
            let owed = self.connection.owes();
            if let Some(heard) = self.hear(cx).await? {
                flight.take(cx, heard)?;
                flight.broke_off |= owed.is_some() && self.connection.owes().is_none();
                self.heard = true;
                silence = patience.between;
                continue;
            }
            if !flight.spoken {
                // What was said since the last flight may be that the folder is another one by now.
                flight.check_generation()?;
            }
            // The whole flight at first; after that, literals whose go-ahead has come.
            let out = self.connection.outgoing();
            if !out.is_empty() {
                turn.speak(cx);
                flight.spoken = true;
                self.write(cx, &out, silence, until).await?;
                continue;
            }
            match (self.connection.owes(), cargo.as_deref_mut()) {
                (Some(owed), Some(cargo)) => {
                    let piece = cargo.piece(cx, owed, patience.between).await?;
                    turn.speak(cx);
                    let written = self.exchange(cx, &piece, patience.between, until).await?;
                    cargo.unload(written);
                    let counted = self.connection.streamed(written);
                    counted.map_err(|overrun| protocol(cx, &overrun.to_string()))?;
                }
                _ => {
                    self.read(cx, silence, until).await?;
                    turn = Turn::Ours;
                }
            }
            flight.check_pending(cx, self.connection.pending())?;
        }
        Ok(())
    }

    /// Whether the server has left, as far as that is known without asking it. What it said meanwhile is kept.
    pub(super) async fn is_deserted(&mut self) -> bool {
        let deserted = self.has_left().await;
        self.torn |= deserted;
        deserted
    }

    async fn has_left(&mut self) -> bool {
        for _ in 0..MOST_UNHEARD {
            match self.stream.pending() {
                Pending::Nothing => return false,
                Pending::End => return true,
                Pending::Octets => {}
            }
            // The system has them, so the wait is for the runtime to notice.
            let taken = poll_fn(|task| self.poll_take_in(task));
            match timeout(NOTICE, taken).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return true,
                Err(_) => return false,
            }
        }
        false
    }

    /// Writes some of a message, or hears what the server says of it: whoever refuses it need not be sent all of it.
    async fn exchange(
        &mut self,
        cx: &Cx,
        bytes: &[u8],
        silence: Duration,
        until: Instant,
    ) -> Result<u64, Fault> {
        let either = poll_fn(|task| {
            if let Poll::Ready(heard) = self.poll_take_in(task) {
                return Poll::Ready(heard.map(|()| 0));
            }
            Pin::new(&mut self.stream).poll_write(task, bytes)
        });
        match timeout_at(until.min(Instant::now() + silence), either).await {
            Ok(Ok(written)) => Ok(u64::try_from(written).unwrap_or(u64::MAX)),
            Ok(Err(error)) => Err(lost(cx, &error)),
            Err(_) => Err(Fault::new(FaultKind::TimedOut, cx.stage())),
        }
    }

    fn poll_take_in(&mut self, task: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut octets = [0; 4_096];
        let mut heard = ReadBuf::new(&mut octets);
        match Pin::new(&mut self.stream).poll_read(task, &mut heard) {
            Poll::Ready(Ok(())) if heard.filled().is_empty() => {
                Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
            }
            Poll::Ready(Ok(())) => {
                self.connection.feed(heard.filled());
                Poll::Ready(Ok(()))
            }
            other => other,
        }
    }

    /// Says goodbye without waiting for the answer.
    pub(super) async fn goodbye(mut self) {
        if self.torn {
            return;
        }
        self.connection.push(&Command::logout());
        let out = self.connection.outgoing();
        let farewell = async {
            self.stream.write_all(&out).await?;
            self.stream.shutdown().await
        };
        let _ = timeout(Duration::from_secs(1), farewell).await;
    }

    /// The next response, if one has arrived. Other tasks get their turn between two of them.
    async fn hear(&mut self, cx: &Cx) -> Result<Option<Heard>, Fault> {
        let frame = self.connection.next_frame();
        let frame = frame.map_err(|error| protocol(cx, &error.to_string()))?;
        let Some(frame) = frame else {
            return Ok(None);
        };
        tokio::task::coop::consume_budget().await;
        let (octets, limits) = (frame.len(), self.connection.limits());
        let response = if octets > MAX_INLINE_BYTES {
            let parsing = tokio::task::spawn_blocking(move || Response::parse(&frame, &limits));
            let unreadable = |_| protocol(cx, "the server's reply cannot be read");
            parsing.await.map_err(unreadable)?
        } else {
            Response::parse(&frame, &limits)
        };
        let event = self.connection.receive(response);
        Ok(Some(Heard { event, octets }))
    }

    async fn write(
        &mut self,
        cx: &Cx,
        bytes: &[u8],
        silence: Duration,
        until: Instant,
    ) -> Result<(), Fault> {
        let writing = async {
            self.stream.write_all(bytes).await?;
            self.stream.flush().await
        };
        match timeout_at(until.min(Instant::now() + silence), writing).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(lost(cx, &error)),
            Err(_) => Err(Fault::new(FaultKind::TimedOut, cx.stage())),
        }
    }

    async fn read(&mut self, cx: &Cx, silence: Duration, until: Instant) -> Result<(), Fault> {
        let space = self.connection.space();
        space.reserve(16 << 10);
        let reading = self.stream.read_buf(space);
        match timeout_at(until.min(Instant::now() + silence), reading).await {
            Ok(Ok(0)) => Err(Fault::new(FaultKind::Lost, cx.stage())),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(lost(cx, &error)),
            Err(_) => Err(Fault::new(FaultKind::TimedOut, cx.stage())),
        }
    }
}

/// Whose turn it is to speak: who speaks again before an answer makes no other round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Turn {
    Ours,
    Theirs,
}

impl Turn {
    fn speak(&mut self, cx: &Cx) {
        if *self == Self::Ours {
            cx.count_round_trip();
        }
        *self = Self::Theirs;
    }
}

/// One response, and how long it was.
struct Heard {
    /// Absent for a continuation.
    event: Option<Event>,
    octets: usize,
}

/// The commands of a flight, and what has come back so far.
struct Flight {
    open: Vec<(Tag, Option<(Status, usize)>)>,
    data: Vec<Data>,
    expected: ExpectedResponses,
    /// Octets of what answers the commands, and of what nothing asked for.
    octets: usize,
    unsolicited: usize,
    unsolicited_responses: usize,
    /// What the data stores, see [`MAX_STORED_VALUES`].
    values: usize,
    /// A message was described that was not asked about.
    tells_of_others: bool,
    uidvalidity: Option<UidValidity>,
    /// The server named another UIDVALIDITY.
    is_another_generation: bool,
    spoken: bool,
    /// A message was refused while it was being sent.
    broke_off: bool,
}

impl Flight {
    fn of(commands: &[Command], uidvalidity: Option<UidValidity>) -> Self {
        Self {
            open: Vec::with_capacity(commands.len()),
            data: Vec::new(),
            expected: ExpectedResponses::of(commands),
            octets: 0,
            unsolicited: 0,
            unsolicited_responses: 0,
            values: 0,
            tells_of_others: false,
            uidvalidity,
            is_another_generation: false,
            spoken: false,
            broke_off: false,
        }
    }

    fn take(&mut self, cx: &Cx, heard: Heard) -> Result<(), Fault> {
        let octets = heard.octets;
        let Some(event) = heard.event else {
            return self.pass_over(cx, octets);
        };
        match event {
            // INVARIANT: a BYE or a stray reply is an error, never an empty result.
            Event::Untagged(_, Data::Status(status)) if status.kind == StatusKind::Bye => {
                return Err(Fault::saying(FaultKind::Bye, cx.stage(), &status.text));
            }
            Event::Greeting(_) | Event::Stray => {
                let what = "the server answered a command that was not sent";
                return Err(protocol(cx, what));
            }
            // INVARIANT: an answer that cannot be read is an error, never an empty result. One to
            // an extended search is kept, so that the search can be made in the plain way.
            Event::Untagged(_, Data::Malformed(name)) if name != "ESEARCH" => {
                let what = format!("the server sent a malformed {name} response");
                return Err(protocol(cx, &what));
            }
            Event::Untagged(_, data) => self.sort(cx, data, octets)?,
            Event::Done(tag, status) => {
                self.count(cx, octets, 2)?;
                let current = self.open.iter_mut().find(|(known, _)| *known == tag);
                if let Some((_, outcome)) = current {
                    *outcome = Some((status, self.data.len()));
                }
            }
        }
        Ok(())
    }

    /// Keeps what was asked for. Of messages that were not asked about, only that something was
    /// said.
    fn sort(&mut self, cx: &Cx, mut data: Data, octets: usize) -> Result<(), Fault> {
        let told = folder_words::uidvalidity_of(&data);
        if let (Some(told), Some(expected)) = (told, self.uidvalidity) {
            self.is_another_generation |= told != Some(expected);
        }
        match (self.expected.judge(&mut data), &data) {
            (Verdict::Expected, _) => {
                self.count(cx, octets, data.stored_values())?;
                self.data.push(data);
                Ok(())
            }
            (Verdict::OtherMessage, Data::Fetch(fetch)) if !self.tells_of_others => {
                self.tells_of_others = true;
                let mark = Fetch {
                    sequence: fetch.sequence,
                    ..Fetch::default()
                };
                self.data.push(Data::Fetch(Box::new(mark)));
                self.pass_over(cx, octets)
            }
            _ => self.pass_over(cx, octets),
        }
    }

    /// Counts what is kept.
    fn count(&mut self, cx: &Cx, octets: usize, values: usize) -> Result<(), Fault> {
        self.octets = self.octets.saturating_add(octets);
        self.values = self.values.saturating_add(values);
        if self.octets > self.expected.octets() {
            return Err(protocol(cx, "the server's replies are too large"));
        }
        if self.values > MAX_STORED_VALUES {
            return Err(protocol(cx, "the server's replies are too many"));
        }
        Ok(())
    }

    /// Counts what is not kept.
    fn pass_over(&mut self, cx: &Cx, octets: usize) -> Result<(), Fault> {
        self.unsolicited = self.unsolicited.saturating_add(octets);
        self.unsolicited_responses += 1;
        if self.unsolicited > MAX_UNSOLICITED_BYTES
            || self.unsolicited_responses > MAX_UNSOLICITED_RESPONSES
        {
            return Err(protocol(cx, "the server sends more than it is asked for"));
        }
        Ok(())
    }

    /// INVARIANT: a response that is still arriving is bounded as if it were whole.
    fn check_pending(&self, cx: &Cx, pending: usize) -> Result<(), Fault> {
        let most = self.expected.octets() + MAX_UNSOLICITED_BYTES;
        let all = self.octets + self.unsolicited;
        if all.saturating_add(pending) > most {
            return Err(protocol(cx, "the server's replies are too large"));
        }
        Ok(())
    }

    fn check_generation(&self) -> Result<(), Fault> {
        if self.is_another_generation {
            return Err(Fault::new(FaultKind::Conflict, Stage::OpenFolder));
        }
        Ok(())
    }

    fn flown(self, fault: Option<Fault>) -> Flown {
        let outcomes = self.open.into_iter().map(|(tag, outcome)| {
            let (status, after) = outcome?;
            Some((status, Place { tag, after }))
        });
        Flown {
            outcomes: outcomes.collect(),
            data: self.data,
            fault,
            spoken: self.spoken,
        }
    }
}

fn protocol(cx: &Cx, what: &str) -> Fault {
    Fault::saying(FaultKind::Protocol, cx.stage(), what)
}

fn lost(cx: &Cx, error: &io::Error) -> Fault {
    let kind = match error.kind() {
        io::ErrorKind::TimedOut => FaultKind::TimedOut,
        _ => FaultKind::Lost,
    };
    Fault::saying(kind, cx.stage(), error.to_string())
}
