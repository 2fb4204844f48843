//! Why a source could not answer.

use crate::{Raw, Stage};

/// One failure, with the step in which it happened.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{kind:?} in {}", stage.name())]
pub struct Fault {
    pub kind: FaultKind,
    pub stage: Stage,
    /// What the server or the system said; not safe to show before `content` has seen it.
    pub said: Option<Raw>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    /// The folder does not exist, or cannot be opened by this account.
    NoSuchFolder,
    /// The message does not exist.
    NoSuchMessage,
    /// UIDVALIDITY changed: ids and cursors of the old generation mean nothing now.
    Conflict,
    /// More matches than a search may have.
    TooMany {
        matches: u64,
    },
    /// The server refused the credentials.
    AuthFailed,
    /// The server does not take an access token that was got just now.
    TokenRefused,
    /// There is no access token at the moment: who gives them could not be asked.
    TokenUnavailable,
    /// There will be no access token before something is set right at this end.
    TokenMisconfigured,
    /// A person has to log in to the account.
    NeedsLogin,
    /// What was granted at the login lets nothing be changed.
    ReadingOnly,
    /// The server offers no way to log in that is safe here.
    NoSafeLogin,
    /// The server does not know the way in which tokens are to be shown to it.
    NoSuchMechanism,
    HostNotFound,
    Refused,
    Unreachable,
    CertificateExpired,
    CertificateWrongHost,
    CertificateUntrusted,
    TlsFailed,
    TimedOut,
    /// The connection ended in the middle.
    Lost,
    /// The server ended the session (`BYE`).
    Bye,
    /// The server allows no more connections for now, or no more commands.
    Busy,
    /// The server took the login and gives no access to any mail behind it.
    NoMailbox,
    /// The server answered `NO`.
    Denied,
    /// The server answered `BAD`.
    Rejected,
    /// The server broke the protocol or a limit.
    Protocol,
    /// A local store cannot be read.
    Unreadable,
    /// The folder, or all of the source, cannot be written to.
    ReadOnly,
    /// The folder that something was to go to does not exist.
    NoSuchTarget,
    /// There is no room left.
    OverQuota,
    /// The folder does not keep a flag of this name.
    FlagNotKept,
    /// The message is not the one that was meant.
    AnotherMessage,
    /// The source has no such thing.
    NotOffered,
    /// Every message is in that folder and none leaves it but for the trash (Gmail's All Mail).
    StaysInAll,
    /// What is in the trash or among junk is nowhere else there, so it cannot be copied (Gmail).
    NoCopyThere,
    /// The message is larger than the source takes.
    TooLarge,
    /// The message is known here, and its content is at the server only.
    NotDownloaded,
    /// The store is there, and the system lets nobody read it who was not allowed to.
    NoPermission,
    /// There is no mail store where one was expected.
    NoStore,
    /// The store is of a make that is not known here.
    UnknownStore,
}

impl Fault {
    pub fn new(kind: FaultKind, stage: Stage) -> Self {
        Self {
            kind,
            stage,
            said: None,
        }
    }

    pub fn saying(kind: FaultKind, stage: Stage, said: impl AsRef<[u8]>) -> Self {
        Self {
            kind,
            stage,
            said: Some(Raw::copied(said.as_ref())),
        }
    }
}

impl FaultKind {
    /// Whether the same call may succeed later without anyone changing anything.
    pub fn retryable(self) -> bool {
        match self {
            Self::Unreachable
            | Self::Refused
            | Self::TimedOut
            | Self::Lost
            | Self::Bye
            | Self::Busy
            | Self::NoMailbox
            | Self::TokenUnavailable
            | Self::Denied => true,
            Self::NoSuchFolder
            | Self::NoSuchMessage
            | Self::Conflict
            | Self::TooMany { .. }
            | Self::AuthFailed
            | Self::TokenRefused
            | Self::TokenMisconfigured
            | Self::NeedsLogin
            | Self::ReadingOnly
            | Self::NoSafeLogin
            | Self::NoSuchMechanism
            | Self::HostNotFound
            | Self::CertificateExpired
            | Self::CertificateWrongHost
            | Self::CertificateUntrusted
            | Self::TlsFailed
            | Self::Rejected
            | Self::Protocol
            | Self::Unreadable
            | Self::ReadOnly
            | Self::NoSuchTarget
            | Self::OverQuota
            | Self::FlagNotKept
            | Self::AnotherMessage
            | Self::NotOffered
            | Self::StaysInAll
            | Self::NoCopyThere
            | Self::TooLarge
            | Self::NotDownloaded
            | Self::NoPermission
            | Self::NoStore
            | Self::UnknownStore => false,
        }
    }
}
