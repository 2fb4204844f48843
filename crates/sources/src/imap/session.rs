//! A logged-in session: what the server can do, which folder is open, and flights that open one on the way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use imap::{Capabilities, Code, Command, Data, PermanentFlags, Status};
use mail::{Cx, Fault, FaultKind, FolderName, Keeping, Stage, UidValidity};

use super::cargo::Cargo;
use super::census::Stamp;
use super::folder_words::{check_exists, codes, gone, uidnext, uidvalidity, uidvalidity_of};
use super::gmail::names::Names;
use super::link::{Flown, Landed, Link, Patience};
use super::quirks::{Finding, Findings, id_first, moving_uids, no_mailbox};
use super::response_limits::{self, Bounds};
use super::settings::Settings;
use super::{faults, gmail, login};

/// How long a server may think about a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// Every server answers this promptly.
    Prompt,
    /// The server may have to read a lot of mail first.
    Slow,
}

/// How a folder is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// Open in any way, or opened by `EXAMINE`. INVARIANT: never by `SELECT`.
    Reading,
    /// Open by `SELECT`.
    Writing,
    /// Opened now, by `EXAMINE`: nothing that was seen earlier counts.
    Anew,
}

/// What a folder that is open for writing lets be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Grant {
    pub access: Access,
    /// Absent where the server does not say; everything is kept then (RFC 3501 section 6.3.1).
    pub keeps: Option<PermanentFlags>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Access {
    ReadOnly,
    ReadWrite,
}

/// Messages are taken at this many octets in a second, or there is no end to them.
const SLOWEST: u64 = 8 << 10;

/// Whoever answered within this time is not asked first whether it is still there, where its answer comes as soon.
const ALIVE: Duration = Duration::from_secs(5);

/// A folder that has been open for longer is opened anew: its name may mean another one by now.
const TRUSTED: Duration = Duration::from_secs(30);

pub(super) struct Session {
    link: Link,
    capabilities: Capabilities,
    settings: Arc<Settings>,
    /// What the server calls folders that have another name here.
    pub(super) names: Arc<Names>,
    findings: Arc<Findings>,
    open: Option<OpenFolder>,
    /// The server has been told who we are.
    introduced: bool,
    /// It lay idle since its last flight, and may have died meanwhile.
    pub(super) unproven: bool,
    /// When it last answered.
    heard: Instant,
    /// QUIRK: the server offers ESEARCH and does not answer with it.
    pub(super) esearch_fails: bool,
    /// QUIRK: plain answers to pipelined searches stand so that it cannot be told which is whose. Dovecot says that the
    /// commands are over when all of them are.
    pub(super) searches_mingle: bool,
    /// QUIRK: the server offers SEARCHRES and does not keep its word.
    pub(super) searchres_fails: bool,
    /// QUIRK: it cannot be told which answer is about which of the folders that one flight opens.
    pub(super) folders_mingle: bool,
}

/// The folder that is open on the server's side.
#[derive(Clone, Debug)]
struct OpenFolder {
    name: FolderName,
    since: Instant,
    uidvalidity: UidValidity,
    exists: u32,
    /// So many it held at any time of the last flight.
    most: u64,
    /// As it was when the folder was opened; absent once anything has come or gone since.
    uidnext: Option<u32>,
    /// Nothing was heard of it yet but that it is open.
    fresh: bool,
    /// Of a folder that is open for writing.
    grant: Option<Grant>,
}

impl OpenFolder {
    fn is_trusted(&self) -> bool {
        self.since.elapsed() < TRUSTED
    }
}

/// What came of a flight that holds a change.
pub(super) struct Struck {
    /// The outcomes are those of the commands asked.
    pub flown: Flown,
    /// Messages came while the flight was under way, and it may not have seen them.
    pub grew: bool,
}

/// What a flight into a folder found.
pub(super) struct Opened {
    pub uidvalidity: UidValidity,
    /// Messages in the folder.
    pub exists: u32,
    /// Messages came while the flight was under way, and it may not have seen them.
    pub grew: bool,
    /// Messages went while the flight was under way, and it may have seen them still.
    pub shrank: bool,
    /// The statuses are those of the commands asked.
    pub landed: Landed,
}

impl Session {
    pub(super) async fn open(
        settings: &Arc<Settings>,
        names: &Arc<Names>,
        findings: &Arc<Findings>,
        cx: &Cx,
    ) -> Result<Self, Fault> {
        let (link, capabilities) = login::dial(settings, findings, cx).await?;
        let mut session = Self {
            link,
            capabilities,
            settings: Arc::clone(settings),
            names: Arc::clone(names),
            findings: Arc::clone(findings),
            open: None,
            introduced: false,
            unproven: false,
            heard: Instant::now(),
            esearch_fails: false,
            searches_mingle: false,
            searchres_fails: false,
            folders_mingle: false,
        };
        names.meet(session.keeping());
        if session.has_found_out(Finding::IdGoesAlone) {
            session.introduce(cx).await?;
        }
        Ok(session)
    }

    /// For all sessions of the account.
    pub(super) fn find_out(&self, finding: Finding) {
        self.findings.note(finding, &self.settings.host);
    }

    pub(super) fn has_found_out(&self, finding: Finding) -> bool {
        self.findings.has(finding)
    }

    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    /// Whether folders are labels here.
    pub(super) fn is_gmail(&self) -> bool {
        gmail::is_offered(&self.capabilities)
    }

    pub(super) fn keeping(&self) -> Keeping {
        match self.is_gmail() {
            true => Keeping::Labels,
            false => Keeping::Apart,
        }
    }

    pub(super) fn has_open(&self, folder: &FolderName) -> bool {
        self.open.as_ref().is_some_and(|open| open.name == *folder)
    }

    /// Whether it is open for writing.
    pub(super) fn has_selected(&self, folder: &FolderName) -> bool {
        self.grant(folder).is_some()
    }

    /// Whether anything is open for writing.
    pub(super) fn may_write(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.grant.is_some())
    }

    pub(super) fn grant(&self, folder: &FolderName) -> Option<&Grant> {
        let open = self.open.as_ref().filter(|open| open.name == *folder)?;
        open.grant.as_ref()
    }

    /// Whether the folder can be entered without being opened, and which generation of it that is.
    pub(super) fn is_in(&self, folder: &FolderName, entry: Entry) -> Option<UidValidity> {
        let open = self.open.as_ref().filter(|open| open.name == *folder)?;
        let suits = match entry {
            Entry::Reading => true,
            Entry::Writing => open.grant.is_some(),
            Entry::Anew => false,
        };
        (suits && open.is_trusted()).then_some(open.uidvalidity)
    }

    /// The next flight opens its folder, whatever is open.
    pub(super) fn leave(&mut self) {
        self.open = None;
    }

    /// How many messages the folder held when last heard of, if it is open.
    pub(super) fn known_size(&self, folder: &FolderName) -> Option<u32> {
        let open = self.open.as_ref().filter(|open| open.name == *folder)?;
        open.is_trusted().then_some(open.exists)
    }

    /// How many messages the open folder holds.
    pub(super) fn exists(&self) -> u32 {
        self.open.as_ref().map_or(0, |open| open.exists)
    }

    /// What a search of the open folder may find.
    pub(super) fn bounds(&self) -> Bounds {
        let open = self.open.as_ref();
        Bounds {
            messages: open.map_or(0, |open| open.most),
            next: open.and_then(|open| open.uidnext),
        }
    }

    /// What the folder holds, as far as that can be told without a list.
    pub(super) fn stamp(&self, folder: &FolderName) -> Option<Stamp> {
        let open = self.open.as_ref().filter(|open| open.name == *folder)?;
        Some(Stamp {
            uidvalidity: open.uidvalidity,
            uidnext: open.uidnext?,
            exists: open.exists,
        })
    }

    pub(super) fn is_sound(&self) -> bool {
        self.link.is_sound()
    }

    /// Whether it has to be asked if it lives before it is asked anything that it may think about for so long.
    fn is_doubtful(&self, pace: Pace) -> bool {
        self.unproven && (pace == Pace::Slow || self.heard.elapsed() >= ALIVE)
    }

    /// It is there, and knows who we are.
    fn has_answered(&mut self) {
        self.unproven = false;
        self.introduced = true;
        self.heard = Instant::now();
    }

    /// It lay idle and has not answered anything since.
    pub(super) fn is_silent(&self) -> bool {
        self.unproven && !self.link.has_heard()
    }

    /// See [`Link::take_fastest`].
    pub(super) fn take_fastest(&mut self) -> Option<Duration> {
        self.link.take_fastest()
    }

    pub(super) async fn goodbye(self) {
        self.link.goodbye().await;
    }

    /// One flight without a folder.
    pub(super) async fn ask(
        &mut self,
        cx: &Cx,
        commands: Vec<Command>,
        pace: Pace,
    ) -> Result<Landed, Fault> {
        let mut flight = self.opening(pace);
        let skip = flight.len();
        flight.extend(commands);
        let mut landed = self.fly(cx, &flight, pace).await?;
        landed.skip(skip);
        self.note(&landed.data)?;
        Ok(landed)
    }

    /// One flight that opens the folder, if it isn't open, and asks in the same breath.
    ///
    /// The fault names the folder's opening if that was what failed; statuses of `commands` are not judged.
    pub(super) async fn ask_in(
        &mut self,
        cx: &Cx,
        folder: &FolderName,
        commands: Vec<Command>,
        pace: Pace,
    ) -> Result<Opened, Fault> {
        self.enter(cx, folder, Entry::Reading, commands, pace).await
    }

    /// The same, the folder entered in a way of one's choosing.
    pub(super) async fn enter(
        &mut self,
        cx: &Cx,
        folder: &FolderName,
        entry: Entry,
        commands: Vec<Command>,
        pace: Pace,
    ) -> Result<Opened, Fault> {
        let mut flight = self.opening(pace);
        let before = self
            .is_in(folder, entry)
            .and_then(|_| self.known_size(folder));
        let open = match (before, entry) {
            // Brings what happened in the folder meanwhile.
            (Some(_), _) => Ok(Command::noop()),
            (None, Entry::Reading | Entry::Anew) => Command::examine(&self.names.wire(folder)),
            (None, Entry::Writing) => Command::select(&self.names.wire(folder)),
        };
        flight.push(open.map_err(|_| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))?);
        let skip = flight.len();
        flight.extend(commands);
        if before.is_none() {
            // Whatever comes of it, what was open is so no longer.
            self.open = None;
        }
        let mut landed = self.fly(cx, &flight, pace).await?;
        let opening = landed.skip(skip);
        match (before, opening) {
            (None, Some(status)) => self.take_opened(folder, entry, &status, &landed.data)?,
            // INVARIANT: who does not tell what came and went has not said that nothing did.
            (Some(_), Some(status)) if !status.is_ok() => self.forget_next(),
            _ => {}
        }
        self.note(&landed.data)?;
        let gone = gone(&landed.data);
        let open = self.open.as_ref();
        let open = open.ok_or(Fault::new(FaultKind::Protocol, Stage::OpenFolder))?;
        Ok(Opened {
            uidvalidity: open.uidvalidity,
            exists: open.exists,
            // QUIRK: Dovecot takes up changes after the pipelined commands behind the NOOP, not before them.
            grew: before.is_some_and(|before| open.exists > before.saturating_sub(gone)),
            shrank: before.is_some() && gone > 0,
            landed,
        })
    }

    /// One flight with a change in it, into the folder that is open. It is not sent to a server that has left.
    pub(super) async fn strike(&mut self, cx: &Cx, commands: Vec<Command>) -> Struck {
        let mut flight = self.opening(Pace::Slow);
        flight.push(Command::noop());
        let skip = flight.len();
        flight.extend(commands);
        let before = self.exists();
        let patience = self.patience(Pace::Slow);
        let generation = self.open.as_ref().map(|open| open.uidvalidity);
        self.link.expect_uidvalidity(generation);
        let mut flown = self.fly_if_answered(cx, &flight, None, patience).await;
        flown.skip(skip);
        let noted = self.note(&flown.data);
        flown.fault = flown.fault.or(noted.err());
        let grew = self.exists() > before.saturating_sub(gone(&flown.data));
        Struck { flown, grew }
    }

    /// One flight with a message on board.
    pub(super) async fn append(
        &mut self,
        cx: &Cx,
        command: Command,
        cargo: &mut Cargo<'_>,
    ) -> Flown {
        let mut flight = self.opening(Pace::Slow);
        let skip = flight.len();
        flight.push(command);
        let times = &self.settings.timeouts;
        let patience = Patience {
            first: match self.unproven {
                true => times.probe.min(times.append),
                false => times.append,
            },
            between: times.append,
            total: times
                .append
                .saturating_add(Duration::from_secs(cargo.size() / SLOWEST)),
        };
        // The folder that it goes to need not be open.
        self.link.expect_uidvalidity(None);
        let mut flown = self
            .fly_if_answered(cx, &flight, Some(cargo), patience)
            .await;
        flown.skip(skip);
        let _ = self.note(&flown.data);
        flown
    }

    async fn fly_if_answered(
        &mut self,
        cx: &Cx,
        flight: &[Command],
        cargo: Option<&mut Cargo<'_>>,
        patience: Patience,
    ) -> Flown {
        if self.link.is_deserted().await {
            return Flown::before_the_start(Fault::new(FaultKind::Lost, cx.stage()));
        }
        let flown = self.link.fly(cx, flight, cargo, patience).await;
        let told = flown.outcomes.iter().flatten();
        let _ = self.hear_refusal(cx, told.map(|(status, _)| status));
        if flown.fault.is_none() {
            self.has_answered();
        }
        flown
    }

    /// Another flight into the folder that is open.
    pub(super) async fn ask_again(
        &mut self,
        cx: &Cx,
        commands: Vec<Command>,
        pace: Pace,
    ) -> Result<Landed, Fault> {
        let landed = self.fly(cx, &commands, pace).await?;
        self.note(&landed.data)?;
        Ok(landed)
    }

    async fn fly(&mut self, cx: &Cx, commands: &[Command], pace: Pace) -> Result<Landed, Fault> {
        let patience = self.patience(pace);
        let generation = self.open.as_ref().map(|open| open.uidvalidity);
        self.link.expect_uidvalidity(generation);
        let landed = self.link.flight(cx, commands, patience).await?;
        self.hear_refusal(cx, landed.statuses.iter())?;
        if !self.introduced && moving_uids::is_disclaimed(&landed.data) {
            self.find_out(Finding::UidsStay);
        }
        self.has_answered();
        Ok(landed)
    }

    fn patience(&self, pace: Pace) -> Patience {
        let times = &self.settings.timeouts;
        let prompt = times.prompt.min(times.socket);
        let between = match pace {
            Pace::Prompt => prompt,
            Pace::Slow => times.socket,
        };
        let first = if self.unproven {
            times.probe.min(between)
        } else {
            between
        };
        Patience {
            first,
            between,
            total: times.socket,
        }
    }

    /// Tells the server who we are, and nothing else before that is answered. What it says to it does not matter.
    async fn introduce(&mut self, cx: &Cx) -> Result<(), Fault> {
        if let Ok(id) = id_first::command() {
            let patience = self.patience(Pace::Prompt);
            self.link.flight(cx, &[id], patience).await?;
        }
        self.introduced = true;
        Ok(())
    }

    /// A session that opens nothing is of no use to anybody.
    fn hear_refusal<'s>(
        &mut self,
        cx: &Cx,
        mut statuses: impl Iterator<Item = &'s Status>,
    ) -> Result<(), Fault> {
        let Some(status) = statuses.find(|status| no_mailbox::is_told(status)) else {
            return Ok(());
        };
        if no_mailbox::is_for_want_of_id(status) {
            self.find_out(Finding::IdGoesAlone);
        }
        self.link.tear();
        Err(Fault::saying(
            FaultKind::NoMailbox,
            cx.stage(),
            &status.text,
        ))
    }

    /// What goes before everything else in a flight.
    fn opening(&self, pace: Pace) -> Vec<Command> {
        let alone = self.has_found_out(Finding::IdGoesAlone);
        let due = self.capabilities.has("ID") && (self.is_doubtful(pace) || !self.introduced);
        match id_first::command() {
            Ok(id) if due && !alone => vec![id],
            // Shows that an idle connection lives. Not a NOOP: Dovecot answers that after the commands behind it.
            _ if self.is_doubtful(pace) => vec![Command::capability()],
            _ => Vec::new(),
        }
    }

    fn take_opened(
        &mut self,
        folder: &FolderName,
        entry: Entry,
        status: &Status,
        data: &[Data],
    ) -> Result<(), Fault> {
        self.open = None;
        if !status.is_ok() {
            return Err(faults::folder_refused(status));
        }
        let uidnext = uidnext(data);
        let uidvalidity = uidvalidity(data)?;
        check_exists(data)?;
        self.open = Some(OpenFolder {
            name: folder.clone(),
            since: Instant::now(),
            uidvalidity,
            exists: 0,
            most: 0,
            uidnext,
            fresh: true,
            grant: (entry == Entry::Writing).then(|| Grant {
                access: match status.has_code("READ-ONLY") {
                    true => Access::ReadOnly,
                    false => Access::ReadWrite,
                },
                keeps: None,
            }),
        });
        Ok(())
    }

    fn forget_next(&mut self) {
        if let Some(open) = &mut self.open {
            open.uidnext = None;
        }
    }

    /// Keeps the folder's size, and what it lets be done, in step with what the server says.
    ///
    /// INVARIANT: nothing more is believed of a folder that is another one by now, or of a server
    /// that takes away more than there was.
    fn note(&mut self, data: &[Data]) -> Result<(), Fault> {
        let Some(open) = &mut self.open else {
            return Ok(());
        };
        let generations = data.iter().filter_map(uidvalidity_of);
        if generations
            .clone()
            .any(|told| told != Some(open.uidvalidity))
        {
            self.open = None;
            return Ok(());
        }
        let most = response_limits::most(open.exists, data);
        // What is said before a folder is open may be of the one that was open before it.
        if !open.fresh && u64::from(gone(data)) > most {
            self.open = None;
            let said = "the server takes away more messages than there were";
            return Err(Fault::saying(FaultKind::Protocol, Stage::OpenFolder, said));
        }
        open.most = most;
        if let Some(grant) = &mut open.grant {
            let keeps = codes(data).filter_map(Code::permanent_flags).last();
            grant.keeps = keeps.or(grant.keeps.take());
            if codes(data).any(|code| code.is("READ-ONLY")) {
                grant.access = Access::ReadOnly;
            }
        }
        let counted = data.iter().filter(|one| matches!(one, Data::Exists(_)));
        let expected = usize::from(std::mem::take(&mut open.fresh));
        if counted.count() != expected || gone(data) > 0 {
            open.uidnext = None;
        }
        for one in data {
            match one {
                Data::Exists(exists) => open.exists = *exists,
                Data::Expunge(_) => open.exists = open.exists.saturating_sub(1),
                Data::Vanished(uids) => {
                    let gone = u32::try_from(uids.len()).unwrap_or(u32::MAX);
                    open.exists = open.exists.saturating_sub(gone);
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl Opened {
    /// The flight saw the folder as it no longer is: ask again.
    pub(super) fn is_stale(&self) -> bool {
        self.grew || self.shrank
    }

    /// Flags changed while a flight was under way that fetched nothing, and it may have seen those of before.
    pub(super) fn is_reflagged(&self) -> bool {
        let mut data = self.landed.data.iter();
        data.any(|one| matches!(one, Data::Fetch(_)))
    }
}
