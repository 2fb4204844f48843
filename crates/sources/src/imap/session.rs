//! A logged-in session: what the server can do, which folder is open, and flights that open one on the way.

use std::sync::Arc;

use imap::{Capabilities, Command, Data, Literals};
use mail::{Cx, Fault, FaultKind, FolderName, Stage, UidValidity};

use super::link::{Link, Patience, Reply};
use super::settings::Settings;
use super::{faults, login};

/// How long a server may think about a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pace {
    /// Every server answers this promptly.
    Prompt,
    /// The server may have to read a lot of mail first.
    Slow,
}

pub(super) struct Session {
    link: Link,
    capabilities: Capabilities,
    settings: Arc<Settings>,
    open: Option<OpenFolder>,
    /// The server has been told who we are.
    introduced: bool,
    /// It lay idle since its last flight, and may have died meanwhile.
    pub(super) unproven: bool,
    /// QUIRK: the server offers ESEARCH and does not answer with it.
    pub(super) esearch_fails: bool,
}

/// The folder that is open on the server's side.
#[derive(Clone, Debug)]
struct OpenFolder {
    name: FolderName,
    uidvalidity: UidValidity,
    exists: u32,
}

/// What a flight into a folder found.
pub(super) struct Opened {
    pub uidvalidity: UidValidity,
    /// Messages in the folder.
    pub exists: u32,
    /// Message numbers moved while the flight was under way.
    pub shifted: bool,
    /// One for each command asked, in order.
    pub replies: Vec<Reply>,
}

impl Session {
    pub(super) async fn open(settings: &Arc<Settings>, cx: &Cx) -> Result<Self, Fault> {
        let (link, capabilities) = login::dial(settings, cx).await?;
        Ok(Self {
            link,
            capabilities,
            settings: Arc::clone(settings),
            open: None,
            introduced: false,
            unproven: false,
            esearch_fails: false,
        })
    }

    pub(super) fn capabilities(&self) -> &Capabilities {
        &self.capabilities
    }

    pub(super) fn has_open(&self, folder: &FolderName) -> bool {
        self.open.as_ref().is_some_and(|open| open.name == *folder)
    }

    /// How many messages the folder held when last heard of, if it is open.
    pub(super) fn known_size(&self, folder: &FolderName) -> Option<u32> {
        let open = self.open.as_ref().filter(|open| open.name == *folder)?;
        Some(open.exists)
    }

    pub(super) fn is_sound(&self) -> bool {
        self.link.is_sound()
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
    ) -> Result<Vec<Reply>, Fault> {
        let mut prefix = self.introduction();
        if self.unproven && prefix.is_empty() {
            prefix.push(Command::noop());
        }
        let skip = prefix.len();
        prefix.extend(commands);
        let mut replies = self.fly(cx, &prefix, pace).await?;
        Ok(replies.split_off(skip.min(replies.len())))
    }

    /// One flight that opens the folder, if it isn't open, and asks in the same breath.
    ///
    /// The fault names the folder's opening if that was what failed; replies to `commands` are not judged.
    pub(super) async fn ask_in(
        &mut self,
        cx: &Cx,
        folder: &FolderName,
        commands: Vec<Command>,
        pace: Pace,
    ) -> Result<Opened, Fault> {
        let mut flight = self.introduction();
        let before = self.known_size(folder);
        // A NOOP shows that an idle connection lives, and brings what happened in the folder meanwhile.
        if before.is_some() || (self.unproven && flight.is_empty()) {
            flight.push(Command::noop());
        }
        let examines = before.is_none();
        if examines {
            let examine = Command::examine(folder.as_str())
                .map_err(|_| Fault::new(FaultKind::NoSuchFolder, Stage::OpenFolder))?;
            flight.push(examine);
        }
        let skip = flight.len();
        flight.extend(commands);
        let mut replies = self.fly(cx, &flight, pace).await?;
        let asked = replies.split_off(skip.min(replies.len()));
        if examines && let Some(reply) = replies.last() {
            self.take_examined(folder, reply)?;
        }
        for reply in &asked {
            self.note(&reply.data);
        }
        let open = self.open.as_ref().ok_or(Fault::new(FaultKind::Protocol, Stage::OpenFolder))?;
        Ok(Opened {
            uidvalidity: open.uidvalidity,
            exists: open.exists,
            shifted: before.is_some_and(|before| before != open.exists)
                || replies.iter().any(|reply| moves_numbers(&reply.data)),
            replies: asked,
        })
    }

    /// Another flight into the folder that is open.
    pub(super) async fn ask_again(
        &mut self,
        cx: &Cx,
        commands: Vec<Command>,
        pace: Pace,
    ) -> Result<Vec<Reply>, Fault> {
        let replies = self.fly(cx, &commands, pace).await?;
        for reply in &replies {
            self.note(&reply.data);
        }
        Ok(replies)
    }

    async fn fly(
        &mut self,
        cx: &Cx,
        commands: &[Command],
        pace: Pace,
    ) -> Result<Vec<Reply>, Fault> {
        let times = &self.settings.timeouts;
        let prompt = times.prompt.min(times.socket);
        let between = match pace {
            Pace::Prompt => prompt,
            Pace::Slow => times.socket,
        };
        let first = if self.unproven { times.probe.min(between) } else { between };
        let replies = self.link.flight(cx, commands, Patience { first, between }).await?;
        self.unproven = false;
        self.introduced = true;
        // The first replies may belong to a NOOP that reports on the open folder.
        if let Some(noop) = replies.first()
            && commands.first().is_some_and(|c| c.name() == "NOOP")
        {
            self.note(&noop.data);
        }
        Ok(replies)
    }

    /// QUIRK: 163.com and 126.com refuse to open folders before they know the client (RFC 2971).
    fn introduction(&self) -> Vec<Command> {
        if self.introduced || !self.capabilities.has("ID") {
            return Vec::new();
        }
        let version = env!("CARGO_PKG_VERSION");
        let fields = [("name", "mailwarden"), ("version", version)];
        Command::id(&fields).map(|id| vec![id]).unwrap_or_default()
    }

    fn take_examined(&mut self, folder: &FolderName, reply: &Reply) -> Result<(), Fault> {
        self.open = None;
        if !reply.status.is_ok() {
            return Err(faults::folder_refused(&reply.status));
        }
        let statuses = reply.data.iter().filter_map(|data| match data {
            Data::Status(status) => status.code.as_ref(),
            _ => None,
        });
        let uidvalidity = statuses
            .filter(|code| code.is("UIDVALIDITY"))
            .find_map(|code| code.number()?.try_into().ok());
        let Some(uidvalidity) = uidvalidity else {
            let said = "the server gave no UIDVALIDITY";
            return Err(Fault::saying(FaultKind::Protocol, Stage::OpenFolder, said));
        };
        self.open = Some(OpenFolder {
            name: folder.clone(),
            uidvalidity: UidValidity(uidvalidity),
            exists: 0,
        });
        self.note(&reply.data);
        Ok(())
    }

    /// Keeps the folder's size in step with what the server says.
    fn note(&mut self, data: &[Data]) {
        let Some(open) = &mut self.open else { return };
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
    }
}

fn moves_numbers(data: &[Data]) -> bool {
    data.iter().any(|one| matches!(one, Data::Expunge(_) | Data::Vanished(_)))
}

pub(super) fn literals(capabilities: &Capabilities) -> Literals {
    if capabilities.has("LITERAL+") {
        Literals::Plus
    } else if capabilities.has("LITERAL-") || capabilities.has("IMAP4REV2") {
        Literals::Minus
    } else {
        Literals::Wait
    }
}
