//! From a source's fault to what a caller is told: a refusal, or an issue inside the answer.

mod providers;
mod without_address;

use content::Changes;
use mail::{Described, Fault, FaultKind};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::schema::plain_object;
use crate::tools::Tool;
use crate::{Code, Refusal};

// Five tools return these: their insides would cost every client a kilobyte of definitions.
plain_object!(Issue, NextAction);

/// One entry of `data.issues`.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Issue {
    pub code: String,
    pub stage: String,
    pub message: String,
    pub retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// `data.next_action`: what a caller would usually do next.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct NextAction {
    pub instruction: String,
    pub tool: String,
    pub arguments: Map<String, Value>,
}

impl Issue {
    /// What is wrong with the login of one account among several; none of any other refusal.
    pub(crate) fn of_login(refusal: &Refusal) -> Option<Self> {
        let denied = refusal.denial?.refused;
        (denied == policy::Refused::NeedsRebootstrap).then(|| Self {
            code: denied.name().to_owned(),
            stage: mail::Stage::Login.name().to_owned(),
            message: refusal.words().to_owned(),
            retryable: false,
            uid: None,
            message_id: None,
        })
    }
}

impl NextAction {
    pub(crate) fn new(instruction: &str, tool: &str, arguments: Value) -> Self {
        let arguments = match arguments {
            Value::Object(map) => map,
            _ => Map::new(),
        };
        Self {
            instruction: instruction.to_owned(),
            tool: tool.to_owned(),
            arguments,
        }
    }

    /// After a failure of a gateway's tool: the very same call once more, or nothing that would help. It names no tool
    /// that a caller of this one may lack.
    pub(crate) fn again<T: Tool>(issue: &Issue, args: &T::Args) -> Self
    where
        T::Args: Serialize,
    {
        if !issue.retryable {
            return Self::new(
                "Tell the user what is wrong; other accounts may be in order",
                "list_accounts",
                json!({}),
            );
        }
        let mut arguments = json!(args);
        if let Value::Object(map) = &mut arguments {
            map.retain(|_, value| !value.is_null());
        }
        Self::new(
            "Wait a little, then make the same call again; if it fails again, tell the user",
            T::NAME,
            arguments,
        )
    }

    /// After a failure: find out what is wrong with the account, or have it mended.
    pub(crate) fn after(issue: &Issue, account: &mail::AccountId) -> Self {
        Self::new(
            match issue.retryable {
                true => "Check the account's connection, then try again",
                false => "Tell the user what is wrong; verify once it is mended",
            },
            "imap_verify_account",
            json!({ "account_id": account.as_str() }),
        )
    }
}

/// Who is told.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Told<'a> {
    /// Whoever has set the account up, at this place, and can mend it.
    Owner(&'a Described),
    /// Somebody with a policy, to whom the account is all that there is to know.
    Caller,
}

/// What does not exist, or no longer fits, is a refusal; what a server could not do is an issue.
pub(crate) fn sort(fault: &Fault, told: Told<'_>) -> Result<Issue, Refusal> {
    let refusal = match fault.kind {
        FaultKind::NoSuchFolder => Refusal::new(
            Code::NotFound,
            "no such mailbox; call imap_list_mailboxes for the names there are",
        ),
        FaultKind::NoSuchTarget => Refusal::new(
            Code::NotFound,
            "no such destination mailbox, and none is created here; list the mailboxes for those there are",
        ),
        FaultKind::NoSuchMessage | FaultKind::AnotherMessage => Refusal::new(
            Code::NotFound,
            "no such message; it may have been moved or deleted, search again",
        ),
        FaultKind::Conflict => Refusal::new(
            Code::Conflict,
            "the mailbox was rebuilt and old ids mean nothing now; rerun the search",
        ),
        FaultKind::TooMany { matches } => Refusal::invalid(format!(
            "the search matches {matches} messages, more than {MOST_MATCHES}; narrow it with dates, from, to or subject"
        ))
        .with_details(json!({ "matches": matches, "limit": MOST_MATCHES })),
        kind => return Ok(issue(fault, kind, told)),
    };
    Err(refusal)
}

/// A search with conditions may match this many messages.
pub(crate) const MOST_MATCHES: u64 = 20_000;

/// What stands around the words of a server in a message. INVARIANT: nothing but [`issue`] writes
/// these, and the words in between hold no closing quote.
const SAID: &str = " (said: \u{201c}";
const SAID_SAFELY: &str = " (said, and made safe to show: \u{201c}";
const SAID_END: &str = "\u{201d})";

/// A message without the words of servers; `None` where it holds none.
pub(crate) fn without_server_words(message: &str) -> Option<String> {
    let mut ours = String::new();
    let mut rest = message;
    loop {
        let starts = [SAID, SAID_SAFELY].map(|mark| rest.find(mark));
        let Some(start) = starts.into_iter().flatten().min() else {
            ours.push_str(rest);
            return (ours.len() < message.len()).then_some(ours);
        };
        let (before, words) = rest.split_at(start);
        ours.push_str(before);
        // Without an end the message was cut within the words.
        rest = words.split_once(SAID_END).map_or("", |(_, after)| after);
    }
}

fn issue(fault: &Fault, kind: FaultKind, told: Told<'_>) -> Issue {
    let mut changes = Changes::default();
    let said = fault
        .said
        .as_ref()
        .map(|raw| content::said(raw.bytes(), &mut changes).replace('\u{201d}', "\""))
        .filter(|s| !s.is_empty());
    let what = match told {
        Told::Owner(at) => explain(kind, at, fault),
        Told::Caller => without_address::explain(kind, fault),
    };
    let message = match said {
        Some(said) if changes.is_empty() => format!("{what}{SAID}{said}{SAID_END}"),
        Some(said) => format!("{what}{SAID_SAFELY}{said}{SAID_END}"),
        None => what,
    };
    Issue {
        code: code(kind).to_owned(),
        stage: fault.stage.name().to_owned(),
        message,
        retryable: kind.retryable(),
        uid: None,
        message_id: None,
    }
}

/// The name of a fault in an answer, in the ledger and in the audit log.
pub(crate) fn code(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::AuthFailed => "auth_failed",
        FaultKind::TokenRefused => "token_refused",
        FaultKind::TokenUnavailable => "token_unavailable",
        FaultKind::TokenMisconfigured => "token_misconfigured",
        FaultKind::NeedsLogin => "needs_rebootstrap",
        FaultKind::ReadingOnly => "oauth_scope_insufficient",
        FaultKind::NoSafeLogin => "no_safe_login",
        FaultKind::NoSuchMechanism => "mechanism_not_offered",
        FaultKind::HostNotFound => "host_not_found",
        FaultKind::Refused => "connection_refused",
        FaultKind::Unreachable => "unreachable",
        FaultKind::CertificateExpired => "certificate_expired",
        FaultKind::CertificateWrongHost => "certificate_wrong_host",
        FaultKind::CertificateUntrusted => "certificate_untrusted",
        FaultKind::TlsFailed => "tls_failed",
        FaultKind::TimedOut => "timeout",
        FaultKind::Lost => "connection_lost",
        FaultKind::Bye => "server_closed",
        FaultKind::Busy => "server_busy",
        FaultKind::NoMailbox => "mailbox_unavailable",
        FaultKind::Denied => "server_refused",
        FaultKind::Rejected => "server_rejected",
        FaultKind::Protocol => "protocol_error",
        FaultKind::Unreadable => "unreadable",
        FaultKind::ReadOnly => "read_only",
        FaultKind::OverQuota => "over_quota",
        FaultKind::FlagNotKept => "flag_not_permitted",
        FaultKind::NotOffered => "not_offered",
        FaultKind::StaysInAll => "stays_in_all_mail",
        FaultKind::NoCopyThere => "no_copy_there",
        FaultKind::TooLarge => "too_large",
        FaultKind::NotDownloaded => "not_downloaded",
        FaultKind::NoPermission => "no_permission",
        FaultKind::NoStore => "store_missing",
        FaultKind::UnknownStore => "unsupported_schema",
        FaultKind::Conflict => "conflict",
        FaultKind::NoSuchTarget => "no_such_target",
        FaultKind::TooMany { .. } => "too_many",
        FaultKind::NoSuchFolder | FaultKind::NoSuchMessage | FaultKind::AnotherMessage => {
            "not_found"
        }
    }
}

/// Those that a change can end with.
const KINDS: [FaultKind; 32] = [
    FaultKind::AuthFailed,
    FaultKind::TokenRefused,
    FaultKind::TokenUnavailable,
    FaultKind::TokenMisconfigured,
    FaultKind::NeedsLogin,
    FaultKind::ReadingOnly,
    FaultKind::NoSafeLogin,
    FaultKind::NoSuchMechanism,
    FaultKind::HostNotFound,
    FaultKind::Refused,
    FaultKind::Unreachable,
    FaultKind::CertificateExpired,
    FaultKind::CertificateWrongHost,
    FaultKind::CertificateUntrusted,
    FaultKind::TlsFailed,
    FaultKind::TimedOut,
    FaultKind::Lost,
    FaultKind::Bye,
    FaultKind::Busy,
    FaultKind::NoMailbox,
    FaultKind::Denied,
    FaultKind::Rejected,
    FaultKind::Protocol,
    FaultKind::ReadOnly,
    FaultKind::OverQuota,
    FaultKind::FlagNotKept,
    FaultKind::StaysInAll,
    FaultKind::NoCopyThere,
    FaultKind::TooLarge,
    FaultKind::Conflict,
    FaultKind::NoSuchTarget,
    FaultKind::NoSuchMessage,
];

/// The fault that a change is written to have ended with; none for what no source says.
pub(crate) fn kind_of(written: &str) -> Option<FaultKind> {
    KINDS.into_iter().find(|kind| code(*kind) == written)
}

/// For whoever set it up, and what they can do about it.
fn explain(kind: FaultKind, at: &Described, fault: &Fault) -> String {
    let host = content::name(&at.host, &mut Changes::default());
    let server = format!("{host}:{}", at.port);
    match kind {
        FaultKind::AuthFailed => providers::refused_password(&at.host).to_owned(),
        FaultKind::TokenRefused => format!(
            "{server} does not take an access token that was got just now; check that the user is the one who logged in, \
             that IMAP is switched on for it and that oauth_scope covers IMAP, then log in anew"
        ),
        FaultKind::TokenUnavailable => {
            "the provider gives no access token at the moment; try again later".to_owned()
        }
        FaultKind::TokenMisconfigured => {
            "there is no password or access token for this account; `mailwarden check` says what has to be set right".to_owned()
        }
        FaultKind::NeedsLogin => "somebody has to log in to this account first".to_owned(),
        FaultKind::ReadingOnly => {
            "the login of this account was given for reading only".to_owned()
        }
        FaultKind::NoSafeLogin => format!(
            "{server} offers no encrypted way to log in; use port 993 with MAIL_IMAP_<ACCOUNT>_SECURE=true, or starttls where the server has it"
        ),
        FaultKind::NoSuchMechanism => format!(
            "{server} does not take access tokens in the way that is configured; try type: oauthbearer instead of xoauth2, \
             or the other way round, else type: password with an app password"
        ),
        FaultKind::HostNotFound => format!(
            "the name {host} cannot be found; check the host name and this machine's network"
        ),
        FaultKind::Refused => format!("nothing listens at {server}; check host and port"),
        FaultKind::Unreachable => {
            format!("{server} cannot be reached; check this machine's network")
        }
        FaultKind::CertificateExpired => format!(
            "the certificate of {server} is expired or not yet valid; the server's operator must renew it, and this machine's clock must be right"
        ),
        FaultKind::CertificateWrongHost => format!(
            "the certificate of {server} is for another host; use the host name that the certificate names"
        ),
        FaultKind::CertificateUntrusted => format!(
            "the certificate of {server} comes from no trusted authority; {}",
            providers::untrusted_certificate(&at.host)
        ),
        FaultKind::TlsFailed => format!(
            "no encrypted connection with {server}; check that the port speaks TLS (993), or set MAIL_IMAP_<ACCOUNT>_SECURE=starttls"
        ),
        FaultKind::TimedOut if fault.stage == mail::Stage::Greeting => format!(
            "{server} accepted the connection and said nothing; if the port wants TLS from the first byte, set MAIL_IMAP_<ACCOUNT>_SECURE=true, else try again later"
        ),
        FaultKind::TimedOut => format!(
            "{server} did not answer in time at '{}'; try again later",
            fault.stage.name()
        ),
        FaultKind::Lost => format!("{server} closed the connection; try again"),
        FaultKind::Bye => format!("{server} ended the session; try again later"),
        FaultKind::Busy => format!(
            "{server} accepts no more connections for this user, or no more commands for now; wait some minutes, close other \
             mail programs or set MAIL_IMAP_MAX_CONNECTIONS lower"
        ),
        FaultKind::NoMailbox => format!(
            "{server} took the login and opens no mailbox behind it, on a second session neither; {}",
            providers::no_mailbox(&at.host)
        ),
        FaultKind::Denied => "the server refused the command".to_owned(),
        FaultKind::Rejected => "the server did not understand the command".to_owned(),
        FaultKind::Protocol => format!("{server} does not answer as a mail server should"),
        FaultKind::Unreadable => {
            "the mail store cannot be read; check its path and permissions".to_owned()
        }
        FaultKind::ReadOnly => {
            "this mailbox cannot be written to; the account's owner may lack the right".to_owned()
        }
        FaultKind::OverQuota => {
            "there is no room left in the target account; delete something there first".to_owned()
        }
        FaultKind::FlagNotKept => {
            "the mailbox keeps no flag of that name; use one that it has, or \\Flagged".to_owned()
        }
        FaultKind::NotOffered => format!("{server} cannot do this"),
        FaultKind::StaysInAll => {
            "every message of this account is in All Mail and stays there; copy it to put it under a label, or move it to \
             the trash"
                .to_owned()
        }
        FaultKind::NoCopyThere => {
            "in this account a message in Trash or Spam is nowhere else, so it cannot be copied there or from there; move \
             it instead"
                .to_owned()
        }
        FaultKind::TooLarge => "the message is larger than the target takes".to_owned(),
        FaultKind::NotDownloaded => {
            "Mail knows this message and has not downloaded it; open it in Mail once, then ask again".to_owned()
        }
        FaultKind::NoPermission => {
            "the mail store is there and may not be read; in System Settings, Privacy & Security, give Full Disk \
             Access to the program that starts mailwarden, then start that again"
                .to_owned()
        }
        FaultKind::NoStore => {
            "there is no mail store at the configured place; check its path, or set Mail up first".to_owned()
        }
        FaultKind::UnknownStore => {
            "this version of Mail keeps its index in a way that is not known here; please report it".to_owned()
        }
        FaultKind::NoSuchFolder
        | FaultKind::NoSuchMessage
        | FaultKind::NoSuchTarget
        | FaultKind::AnotherMessage
        | FaultKind::Conflict
        | FaultKind::TooMany { .. } => "not found".to_owned(),
    }
}
