//! Why a call was refused before or instead of an answer: the hard errors of the contract.

use std::time::Duration;

use mail::{AccountId, Level, Remedy, Scopes, Unadmitted};
use policy::{Denial, Refused};
use serde_json::{Map, Value, json};

use crate::limits::told::whole_seconds;
use crate::limits::{Limit, Scope};
use crate::pipeline::Asked;

/// The closed list of error codes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Code {
    InvalidInput,
    NotFound,
    AuthFailed,
    Timeout,
    Conflict,
    Internal,
    /// What is done could not be recorded, so it is not done, or not told.
    AuditUnavailable,
    /// The policy does not give it, or the person who was asked does not.
    Denied,
    /// The caller has used up what it may, for now.
    RateLimited,
    /// There is more to do than can be done in time.
    Overloaded,
}

impl Code {
    /// The name in `error.data.code`.
    pub fn name(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid_input",
            Self::NotFound => "not_found",
            Self::AuthFailed => "auth_failed",
            Self::Timeout => "timeout",
            Self::Conflict => "conflict",
            Self::Internal => "internal",
            Self::AuditUnavailable => "audit_unavailable",
            Self::Denied => "denied",
            Self::RateLimited => "rate_limited",
            Self::Overloaded => "overloaded",
        }
    }

    /// What a message of this code begins with.
    fn words(self) -> &'static str {
        match self {
            Self::InvalidInput => "invalid input",
            Self::NotFound => "not found",
            Self::AuthFailed => "authentication failed",
            Self::Timeout => "operation timed out",
            Self::Conflict => "conflict",
            Self::Internal => "internal error",
            Self::AuditUnavailable => "audit unavailable",
            Self::Denied => "denied",
            Self::RateLimited => "too much at once",
            Self::Overloaded => "overloaded",
        }
    }
}

/// A hard error. The message is lower case and says what to do next.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{}: {message}", code.words())]
pub struct Refusal {
    pub code: Code,
    message: String,
    pub details: Option<Box<Value>>,
    /// What the policy said.
    pub(crate) denial: Option<Denial>,
    /// Fields that stand beside the reason.
    pub(crate) beside: Option<Box<Map<String, Value>>>,
    /// What a person has to be asked first.
    asks: Option<Box<Asked>>,
}

impl Refusal {
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            details: None,
            denial: None,
            beside: None,
            asks: None,
        }
    }

    /// The policy's refusal. INVARIANT: it says the same of what is hidden and of what does not exist.
    pub(crate) fn denied(denial: Denial) -> Self {
        let message = match denial.refused {
            Refused::AccountHidden => {
                "no such account is open to you; list the accounts for those that are".to_owned()
            }
            Refused::FolderHidden => {
                "no such folder is open to you; list the folders for those that are".to_owned()
            }
            Refused::MessageNotVisible => {
                "no such message is open to you; search for those that are".to_owned()
            }
            Refused::VisibilityBelow(level) => below(level),
            Refused::NotForProvider => {
                "this account is at a provider that has no labels; list its folders instead"
                    .to_owned()
            }
            Refused::ScopeInsufficient => {
                "the login of this account was given for reading only, so nothing in it is changed, whatever a policy \
                 says; whoever runs this sets another oauth_scope and logs in anew"
                    .to_owned()
            }
            Refused::NeedsRebootstrap => {
                "somebody has to log in to this account first; whoever runs this finds out how by `mailwarden check`"
                    .to_owned()
            }
            Refused::ForbiddenSystemFlag => {
                "that flag is reserved; \\Seen, \\Flagged and keywords can be set".to_owned()
            }
            Refused::VisibilityWouldRise => {
                "you would see more of the message there than here, which your policy does not give; leave it where it \
                 is, or ask whoever wrote the policy"
                    .to_owned()
            }
            Refused::TransactionsNotConfigured => {
                "nothing is changed here, because there is no ledger to write it down in; whoever runs this sets \
                 wal.path in accounts.yaml, or sees with `mailwarden check` why it cannot be opened"
                    .to_owned()
            }
            Refused::CapabilityMissing => match denial.missing {
                Some(missing) => format!(
                    "this needs {}, which your policy does not give there; ask whoever wrote it",
                    missing.name()
                ),
                None => "your policy cannot give this; only the owner of the account can do it".to_owned(),
            },
        };
        Self {
            denial: Some(denial),
            ..Self::new(Code::Denied, message)
        }
    }

    /// The account's server has no such thing.
    pub(crate) fn not_for_provider() -> Self {
        Self::denied(Denial::of(Refused::NotForProvider))
    }

    /// The store's own search looks at everything, the labels of folders that are hidden among it.
    pub(crate) fn not_all_open() -> Self {
        let message = "gm_raw looks at everything in the account, so it needs visibility FULL in every folder of it, and your \
                       policy gives less; search by other criteria, or ask whoever wrote it";
        Self {
            message: message.to_owned(),
            ..Self::denied(Denial::of(Refused::VisibilityBelow(Level::Full)))
        }
    }

    /// Nothing of the account can be reached before somebody has logged in.
    pub(crate) fn needs_login(account: &AccountId, why: Unadmitted, remedy: &Remedy) -> Self {
        let why = match why {
            Unadmitted::Never => "nobody has logged in to this account yet",
            Unadmitted::Revoked => "the login of this account was revoked or has run out",
            Unadmitted::ScopeChanged => {
                "another oauth_scope is configured than this account was logged in for"
            }
        };
        let (message, details) = match remedy {
            Remedy::LogIn => {
                let command = login_command(account);
                (
                    format!("{why}; whoever runs this does it by: {command}"),
                    json!({ "account_id": account.as_str(), "command": command }),
                )
            }
            Remedy::Replace(name) => {
                let remedy = replace(name);
                (
                    format!("{why}; whoever runs this has to {remedy}"),
                    json!({ "account_id": account.as_str(), "remedy": remedy }),
                )
            }
        };
        Self {
            message,
            ..Self::denied(Denial::of(Refused::NeedsRebootstrap))
        }
        .with_details(details)
    }

    /// Nothing of the account can be changed.
    pub(crate) fn reading_only(scopes: Option<Scopes>) -> Self {
        let mut beside = Map::new();
        if let Some(Scopes { required, granted }) = scopes {
            if let Some(required) = required {
                beside.insert("required_scope".to_owned(), json!(required));
            }
            beside.insert("granted_scope".to_owned(), json!(granted));
        }
        Self {
            beside: (!beside.is_empty()).then(|| Box::new(beside)),
            ..Self::denied(Denial::of(Refused::ScopeInsufficient))
        }
    }

    /// The same as for any reserved flag, in words for a tool that sets fewer of them.
    pub(crate) fn not_a_tag() -> Self {
        let message = "tags are keywords and \\Flagged; \\Seen is set by mark_seen, and other system flags are reserved";
        Self {
            message: message.to_owned(),
            ..Self::denied(Denial::of(Refused::ForbiddenSystemFlag))
        }
    }

    /// The owner has not said yes to changes.
    pub(crate) fn gated() -> Self {
        Self::invalid(
            "changing mail is switched off; whoever runs this sets MAIL_IMAP_WRITE_ENABLED=true to allow it",
        )
        .with_details(json!({ "gate": "MAIL_IMAP_WRITE_ENABLED" }))
    }

    /// What is to be done cannot be written down first, or its outcome could not be.
    pub(crate) fn unwritten(why: &ledger::LedgerFault) -> Self {
        if let ledger::LedgerFault::Away { again, .. } = why {
            return Self::ledger_away(*again);
        }
        Self::new(
            Code::Internal,
            format!(
                "{why}; nothing is done that cannot be written down, and what was begun before is brought to its end later: \
                 ask whoever runs this to look at `mailwarden check` and `mailwarden tx list`"
            ),
        )
    }

    /// It does not answer, and is worth asking again later. Where it is and what it says, the log tells whoever runs this.
    fn ledger_away(again: Duration) -> Self {
        let seconds = whole_seconds(again);
        Self::new(
            Code::Timeout,
            format!(
                "the ledger in which changes are written down does not answer, and nothing is done that cannot be written \
                 down; this call has changed nothing, and reading goes on. Make the same call again after {seconds} s, with the \
                 same idempotency_key if it has one; if it lasts, ask whoever runs this to look at the ledger"
            ),
        )
        .with_details(json!({ "retry_after_seconds": seconds, "unavailable": "ledger" }))
    }

    /// INVARIANT: another's transaction answers as one that does not exist.
    pub(crate) fn no_such_transaction() -> Self {
        Self::new(
            Code::NotFound,
            "no such transaction of yours is known; transactions are remembered for 30 days",
        )
    }

    /// Not before a person was asked: a transport that cannot ask has a refusal at hand.
    pub(crate) fn asks(asked: Asked) -> Self {
        let message = "the user has to be asked first; nothing is changed";
        Self {
            asks: Some(Box::new(asked)),
            ..Self::new(Code::Denied, message)
        }
    }

    /// What a person has to be asked before the call is made again with the answer.
    pub fn question(&self) -> Option<&Asked> {
        self.asks.as_deref()
    }

    /// Somebody was asked, and this is what came of it.
    pub(crate) fn is_the_users(&self) -> bool {
        self.code == Code::Denied && self.denial.is_none() && self.asks.is_none()
    }

    /// The message without its code.
    pub(crate) fn words(&self) -> &str {
        &self.message
    }

    /// How a call ended, for the audit log.
    pub(crate) fn recorded(&self) -> &'static str {
        match self.asks {
            Some(_) => "asked",
            None => self.code.name(),
        }
    }

    /// Whoever was asked said no, or nothing.
    pub(crate) fn not_agreed(how: &str) -> Self {
        Self::new(
            Code::Denied,
            format!(
                "the user was asked and did not agree ({how}); nothing is changed. Do not try it in another way: tell \
                 the user what you wanted to do"
            ),
        )
    }

    /// What would be done is no longer what a person agreed to.
    pub(crate) fn overtaken() -> Self {
        Self::new(
            Code::Conflict,
            "while the user was asked it became something else, so nothing is changed; make the call again, and the user \
             is asked anew",
        )
    }

    /// The caller has used up one of its limits.
    ///
    /// INVARIANT: an account is named only where the caller's policy shows it.
    pub(crate) fn rate_limited(limit: Limit, scope: &Scope, wait: Duration) -> Self {
        let seconds = whole_seconds(wait);
        let of = match scope {
            Scope::Caller => String::new(),
            Scope::Tool => " of this tool".to_owned(),
            Scope::Account(id) => format!(" of account '{id}'"),
        };
        let used_up = match limit {
            Limit::Calls => format!("you have made all the calls{of} that you may make for now"),
            Limit::Concurrent => {
                format!("you have as many calls{of} under way as you may have at a time")
            }
            Limit::Bytes => format!("you have been sent as much{of} as you may be sent for now"),
            Limit::Messages => {
                format!("you have been shown as many messages{of} as you may be shown for now")
            }
        };
        Self::new(
            Code::RateLimited,
            format!(
                "{used_up}; nothing was done. Go on after {seconds} s, ask for less at a time, or ask whoever runs this \
                 for a higher limit"
            ),
        )
        .with_details(json!({
            "retry_after_seconds": seconds,
            "limit": limit.name(),
            "scope": scope.name(),
        }))
    }

    /// The process has more to do than it can do in time.
    pub(crate) fn overloaded(wait: Duration) -> Self {
        let seconds = whole_seconds(wait);
        Self::new(
            Code::Overloaded,
            format!(
                "more is asked here than can be answered in time, so nothing was done; make the call again after {seconds} s"
            ),
        )
        .with_details(json!({ "retry_after_seconds": seconds }))
    }

    /// When it is worth trying again, where that is known.
    pub fn retry_after_seconds(&self) -> Option<u64> {
        self.details.as_ref()?.get("retry_after_seconds")?.as_u64()
    }

    /// Nobody that is known, or no longer.
    pub(crate) fn nobody() -> Self {
        Self::new(
            Code::AuthFailed,
            "this caller is not known here, or no longer; ask whoever runs this to look at callers.yaml",
        )
    }

    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidInput, message)
    }

    /// One argument is wrong.
    pub fn argument(name: &str, message: impl Into<String>) -> Self {
        Self::invalid(message).with_details(json!({ "argument": name }))
    }

    /// The audit log cannot be written.
    pub(crate) fn unrecorded(why: &audit::Unavailable) -> Self {
        Self::new(
            Code::AuditUnavailable,
            format!(
                "this call cannot be recorded ({why}), and nothing is done or told without a record; try again later, \
                 and ask whoever runs this to look at `mailwarden check`"
            ),
        )
    }

    /// What came of a change could not be recorded.
    pub(crate) fn unrecorded_change(why: &audit::Unavailable, id: &str) -> Self {
        Self::new(
            Code::AuditUnavailable,
            format!(
                "what came of this change cannot be recorded ({why}), so it is not told: it may be done. Do not try it again; \
                 ask for transaction {id} later, and ask whoever runs this to look at `mailwarden check`"
            ),
        )
        .with_details(json!({ "transaction_id": id, "transaction_state": "unknown" }))
    }

    /// The argument that is wrong, as far as one is named.
    pub(crate) fn named_argument(&self) -> Option<&str> {
        self.details.as_ref()?.get("argument")?.as_str()
    }

    pub(crate) fn with_details(self, details: Value) -> Self {
        Self {
            details: Some(Box::new(details)),
            ..self
        }
    }
}

/// What whoever runs this types to log in.
pub(crate) fn login_command(account: &AccountId) -> String {
    format!("mailwarden login --account {account}")
}

/// What whoever runs this does where a login could not be kept.
pub(crate) fn replace(name: &str) -> String {
    format!(
        "put a new refresh token into {name}: its secret store is one that this program cannot write"
    )
}

fn below(level: Level) -> String {
    format!(
        "this needs visibility {}, and your policy gives less here; ask for less, or ask whoever wrote it",
        level.name()
    )
}
