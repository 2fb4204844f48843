//! One connection to a server, carrying flights: commands written together, replies read together.
//!
//! It knows bytes, time and the protocol's state machine; it does not know folders or messages.

use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use imap::{Command, Connection, Data, Event, Limits, Literals, Status, StatusKind, Tag};
use mail::{Cx, Fault, FaultKind};
use tokio::io::{AsyncRead as _, AsyncReadExt as _, AsyncWrite as _, AsyncWriteExt as _, ReadBuf};
use tokio::time::{Instant, timeout, timeout_at};

use super::cargo::Cargo;
use super::net::{Pending, Stream};

/// All replies of a flight together may be this large.
const MOST_OF_A_FLIGHT: usize = 64 << 20;

/// And so many: a line of a few octets takes far more room once it is read.
const MOST_REPLIES: usize = 300_000;

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
}

impl Link {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            connection: Connection::new(Limits::default()),
            torn: false,
            heard: false,
            fastest: None,
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
        }
    }

    pub(super) fn use_literals(&mut self, literals: Literals) {
        self.connection.use_literals(literals);
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
        loop {
            match self.event(cx)? {
                Some(Event::Greeting(status)) => {
                    self.torn = false;
                    self.fastest = Some(begun.elapsed());
                    return Ok(status);
                }
                Some(_) => return Err(protocol(cx, "the server's first line is no greeting")),
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
        let mut flight = Flight::default();
        for command in commands {
            flight.open.push((self.connection.push(command), None));
        }
        let fault = self.carry(cx, &mut flight, cargo, patience).await.err();
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
            if let Some(event) = self.event(cx)? {
                flight.take(cx, event)?;
                flight.broke_off |= owed.is_some() && self.connection.owes().is_none();
                self.heard = true;
                silence = patience.between;
                continue;
            }
            // The whole flight at first; after that, literals whose go-ahead has come.
            let out = self.connection.outgoing();
            if !out.is_empty() {
                turn.speak(cx);
                flight.spoken = true;
                self.write(cx, &out, silence, until).await?;
                continue;
            }
            let before = self.connection.space().len();
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
            flight.size += self.connection.space().len().saturating_sub(before);
            if flight.size > MOST_OF_A_FLIGHT {
                return Err(protocol(cx, "the server's replies are too large"));
            }
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

    fn event(&mut self, cx: &Cx) -> Result<Option<Event>, Fault> {
        self.connection
            .poll()
            .map_err(|error| protocol(cx, &error.to_string()))
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

/// The commands of a flight, and what has come back so far.
#[derive(Default)]
struct Flight {
    open: Vec<(Tag, Option<(Status, usize)>)>,
    data: Vec<Data>,
    size: usize,
    spoken: bool,
    /// A message was refused while it was being sent.
    broke_off: bool,
}

impl Flight {
    fn take(&mut self, cx: &Cx, event: Event) -> Result<(), Fault> {
        match event {
            // INVARIANT: a BYE or a stray reply is an error, never an empty result.
            Event::Untagged(_, Data::Status(status)) if status.kind == StatusKind::Bye => {
                return Err(Fault::saying(FaultKind::Bye, cx.stage(), &status.text));
            }
            Event::Greeting(_) | Event::Stray => {
                let what = "the server answered a command that was not sent";
                return Err(protocol(cx, what));
            }
            Event::Untagged(..) if self.data.len() >= MOST_REPLIES => {
                return Err(protocol(cx, "the server's replies are too many"));
            }
            Event::Untagged(_, data) => self.data.push(data),
            Event::Done(tag, status) => {
                let current = self.open.iter_mut().find(|(known, _)| *known == tag);
                if let Some((_, outcome)) = current {
                    *outcome = Some((status, self.data.len()));
                }
            }
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
