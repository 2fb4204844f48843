//! One connection to a server, carrying flights: commands written together, replies read together.
//!
//! It knows bytes, time and the protocol's state machine; it does not know folders or messages.

use std::io;
use std::time::Duration;

use imap::{Command, Connection, Data, Event, Limits, Literals, Status, StatusKind, Tag};
use mail::{Cx, Fault, FaultKind};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Instant, timeout, timeout_at};

use super::net::Stream;

/// All replies of a flight together may be this large.
const MOST_OF_A_FLIGHT: usize = 64 << 20;

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
    /// Forgets the first commands; answers the status of the last of them.
    pub(super) fn skip(&mut self, commands: usize) -> Option<Status> {
        let commands = commands.min(self.statuses.len()).min(self.places.len());
        self.places.drain(..commands);
        self.statuses.drain(..commands).next_back()
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
        self.torn = true;
        self.heard = false;
        let begun = Instant::now();
        let until = begun + patience.total;
        let mut flight = Flight::default();
        for command in commands {
            flight.open.push((self.connection.push(command), None));
        }
        let mut silence = patience.first;
        while !self.connection.is_idle() {
            if let Some(event) = self.event(cx)? {
                flight.take(cx, event)?;
                self.heard = true;
                silence = patience.between;
                continue;
            }
            // The whole flight at first; after that, literals whose go-ahead has come.
            let out = self.connection.outgoing();
            if !out.is_empty() {
                cx.count_round_trip();
                self.write(cx, &out, silence, until).await?;
                continue;
            }
            let before = self.connection.space().len();
            self.read(cx, silence, until).await?;
            flight.size += self.connection.space().len().saturating_sub(before);
            if flight.size > MOST_OF_A_FLIGHT {
                return Err(protocol(cx, "the server's replies are too large"));
            }
        }
        self.torn = false;
        let took = begun.elapsed();
        self.fastest = Some(self.fastest.map_or(took, |fastest| fastest.min(took)));
        flight.land(cx)
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

/// The commands of a flight, and what has come back so far.
#[derive(Default)]
struct Flight {
    open: Vec<(Tag, Option<(Status, usize)>)>,
    data: Vec<Data>,
    size: usize,
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

    fn land(self, cx: &Cx) -> Result<Landed, Fault> {
        let mut landed = Landed {
            statuses: Vec::with_capacity(self.open.len()),
            places: Vec::with_capacity(self.open.len()),
            data: self.data,
        };
        for (tag, outcome) in self.open {
            let unanswered = || protocol(cx, "a command was left without an answer");
            let (status, after) = outcome.ok_or_else(unanswered)?;
            landed.statuses.push(status);
            landed.places.push(Place { tag, after });
        }
        Ok(landed)
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
