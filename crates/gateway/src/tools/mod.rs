//! The tools, one file each, and the one list of them.
//!
//! Adding a tool touches its file and two lines here. Read-only mode, toolsets and per-caller visibility are
//! filters over [`ALL`]; no tool knows about them.

use std::future::Future;
use std::pin::Pin;

use mail::Level;
use policy::{Ask, Capability, Policy};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::envelope::{Done, Reply};
use crate::pipeline::{self, Admitted, Call, Ctx, Gateway, Outcome};
use crate::setup::{Provider, Setup, Standing};
use crate::{Refusal, schema};

mod changing;
mod gateway;
mod imap;
mod reading;
mod shown;
mod standing;
mod store_ids;
mod threads;

pub(crate) use changing::Landing;

/// The one list. Its order is what clients see.
pub const ALL: &[&dyn AnyTool] = &[
    &imap::ListAccounts,
    &imap::VerifyAccount,
    &imap::ListMailboxes,
    &imap::SearchMessages,
    &imap::GetMessage,
    &imap::GetMessageRaw,
    &imap::UpdateMessageFlags,
    &imap::CopyMessage,
    &imap::MoveMessage,
    &imap::DeleteMessage,
    &imap::UndoTransaction,
    &threads::GetEmailPath,
    &threads::GetThreadPaths,
    &threads::ReadEmail,
    &threads::ReadThread,
    &gateway::ListAccounts,
    &gateway::ListFolders,
    &gateway::ListLabels,
    &gateway::FolderStats,
    &gateway::Search,
    &gateway::FetchEnvelope,
    &gateway::FetchHeaders,
    &gateway::FetchBody,
    &gateway::FetchAttachment,
    &gateway::MarkSeen,
    &gateway::MarkTagged,
    &gateway::Move,
    &gateway::Copy,
    &gateway::CreateDraft,
    &gateway::DescribePolicy,
    &gateway::GetCallerIdentity,
    &gateway::GetTransactionStatus,
];

/// What reads resources that no tool gives: attachments in full.
pub(crate) const PART_RESOURCE: &dyn AnyTool = &gateway::PartResource;

/// What reads the other resources, for callers of any toolset.
pub(crate) const MESSAGE: &dyn AnyTool = &imap::GetMessage;
pub(crate) const SOURCE: &dyn AnyTool = &imap::GetMessageRaw;

/// What completes the names in a resource's address.
pub(crate) const NAMES_OF_ACCOUNTS: &dyn AnyTool = &imap::ListAccounts;
pub(crate) const NAMES_OF_FOLDERS: &dyn AnyTool = &imap::ListMailboxes;

/// Tools that belong together for the clients of one contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Toolset {
    Imap,
    Threads,
    Gateway,
}

impl Toolset {
    pub const ALL: [Self; 3] = [Self::Imap, Self::Threads, Self::Gateway];

    pub fn name(self) -> &'static str {
        match self {
            Self::Imap => "imap",
            Self::Threads => "threads",
            Self::Gateway => "gateway",
        }
    }
}

/// What a host may assume about a tool.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Annotations {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    /// It talks to a world outside this process.
    pub open_world: bool,
}

impl Annotations {
    /// Reads from a mail store.
    const READS: Self = Self {
        read_only: true,
        destructive: false,
        idempotent: true,
        open_world: true,
    };
    /// Changes flags, and changes them only once.
    const MARKS: Self = Self {
        read_only: false,
        ..Self::READS
    };
    /// Adds or moves a message; doing it twice is not doing it once.
    const MOVES: Self = Self {
        idempotent: false,
        ..Self::MARKS
    };
    const DELETES: Self = Self {
        destructive: true,
        ..Self::MOVES
    };
    /// Answers from configuration alone.
    const LOCAL: Self = Self {
        open_world: false,
        ..Self::READS
    };
}

/// What a policy has to give somewhere for a tool to be of use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Use {
    /// Nothing but to see.
    Reading,
    /// One of these at least.
    Any(&'static [Capability]),
    All(&'static [Capability]),
    /// No policy gives it.
    Owner,
}

impl Use {
    pub(crate) fn is_open_to(self, policy: &Policy) -> bool {
        let given = policy.capabilities();
        match self {
            Self::Reading => true,
            _ if policy.is_owner() => true,
            Self::Any(some) => some.iter().any(|one| given.has(*one)),
            Self::All(all) => all.iter().all(|one| given.has(*one)),
            Self::Owner => false,
        }
    }
}

/// One tool.
pub(crate) trait Tool: Send + Sync + 'static {
    const NAME: &'static str;
    const TITLE: &'static str;
    /// What it does, for a model that must choose; under 600 characters.
    const SUMMARY: &'static str;
    const TOOLSET: Toolset;
    const ANNOTATIONS: Annotations;
    /// Of use only where a policy gives this much of some message.
    const LEAST: Level;
    /// Of use only for accounts at this provider.
    const PROVIDER: Option<Provider> = None;
    /// Of use only to who may do this.
    const USE: Use = Use::Reading;
    /// A second set that it is part of.
    const ALSO: Option<Toolset> = None;
    /// The fields of its data that hold text written by strangers. No default: a tool has to say so.
    const UNTRUSTED: &'static [&'static str];
    /// `deny_unknown_fields`, and types that hold their bounds.
    type Args: DeserializeOwned + JsonSchema + Send + Sync;
    type Reply: Reply;

    /// Checks what the arguments mean together, and says what is wanted. No default: a tool that asks nothing
    /// does not compile.
    fn ask(args: &Self::Args) -> Result<Ask, Refusal>;

    /// What it shows of messages that have more than it needs; none where it shows what it needs.
    fn shows(_: &Self::Args) -> Option<Level> {
        None
    }

    /// What of the arguments is kept in the audit log: where, and how much; words only as digests. No default either.
    fn kept(args: &Self::Args) -> audit::Summary;

    /// What a person is asked before it is done, where one can be: nothing, where the same was done before.
    ///
    /// INVARIANT: the pipeline asks for every tool that is destructive, and for no other. One that is so by some of its
    /// arguments has no question for the others.
    fn question(
        _: &Ctx<'_>,
        _: &Self::Args,
    ) -> impl Future<Output = Result<Option<String>, Refusal>> + Send {
        std::future::ready(Ok(Some(format!("{}?", Self::TITLE))))
    }

    fn run(
        ctx: Ctx<'_>,
        args: Self::Args,
    ) -> impl Future<Output = Result<Done<Self::Reply>, Refusal>> + Send;
}

/// A tool whose types are forgotten, so that tools fit into one list.
pub trait AnyTool: Send + Sync {
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    fn summary(&self) -> &'static str;
    fn toolset(&self) -> Toolset;
    fn annotations(&self) -> Annotations;
    fn least(&self) -> Level;
    fn provider(&self) -> Option<Provider>;
    fn usefulness(&self) -> Use;
    fn also(&self) -> Option<Toolset>;
    fn input_schema(&self) -> Map<String, Value>;
    fn output_schema(&self) -> Map<String, Value>;

    /// What the audit log may hold of these arguments; nothing, where they cannot be read.
    fn kept(&self, arguments: Map<String, Value>) -> audit::Summary;

    /// As `tools/list` sends it.
    fn definition(&self) -> Value {
        let hints = self.annotations();
        json!({
            "name": self.name(),
            "title": self.title(),
            "description": self.summary(),
            "inputSchema": self.input_schema(),
            "outputSchema": self.output_schema(),
            "annotations": {
                "readOnlyHint": hints.read_only,
                "destructiveHint": hints.destructive,
                "idempotentHint": hints.idempotent,
                "openWorldHint": hints.open_world,
            },
        })
    }

    fn call<'a>(
        &'a self,
        gateway: &'a Gateway,
        setup: &'a Setup,
        standing: &'a Standing,
        call: Call<'a>,
        admitted: &'a Admitted,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>>;
}

impl<T: Tool> AnyTool for T {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn title(&self) -> &'static str {
        T::TITLE
    }

    fn summary(&self) -> &'static str {
        T::SUMMARY
    }

    fn toolset(&self) -> Toolset {
        T::TOOLSET
    }

    fn annotations(&self) -> Annotations {
        T::ANNOTATIONS
    }

    fn least(&self) -> Level {
        T::LEAST
    }

    fn provider(&self) -> Option<Provider> {
        T::PROVIDER
    }

    fn usefulness(&self) -> Use {
        T::USE
    }

    fn also(&self) -> Option<Toolset> {
        T::ALSO
    }

    fn input_schema(&self) -> Map<String, Value> {
        schema::input::<T::Args>()
    }

    fn output_schema(&self) -> Map<String, Value> {
        schema::output::<T::Reply>(T::TOOLSET, T::UNTRUSTED)
    }

    fn kept(&self, arguments: Map<String, Value>) -> audit::Summary {
        pipeline::kept::<T>(arguments)
    }

    fn call<'a>(
        &'a self,
        gateway: &'a Gateway,
        setup: &'a Setup,
        standing: &'a Standing,
        call: Call<'a>,
        admitted: &'a Admitted,
    ) -> Pin<Box<dyn Future<Output = Outcome> + Send + 'a>> {
        Box::pin(pipeline::pass::<T>(
            gateway, setup, standing, call, admitted,
        ))
    }
}
