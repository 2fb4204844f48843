//! What a caller hears of a change: how it came out, and never more than is known.

use ledger::{State, StepName, StepState, Transaction};
use mail::MessageRef;
use serde_json::json;

use super::work::Work;
use crate::Refusal;
use crate::envelope::Status;
use crate::trouble::{Issue, kind_of};

/// How a person ends what nobody else could tell the end of.
const RESOLVED: &str = "resolved_by_operator";

/// How a change came out.
pub(crate) struct Told {
    pub status: Status,
    pub issues: Vec<Issue>,
    /// None where nothing was begun.
    pub transaction: Option<Transaction>,
    /// It was made by an earlier call of the same name, and not again.
    pub repeated: bool,
    /// What became of it later, in words.
    pub since: Option<String>,
}

impl Told {
    /// Nothing was begun, because of this.
    pub(crate) fn not_begun(issue: Issue) -> Self {
        let message = format!("{}; nothing is changed", issue.message);
        Self {
            status: Status::Failed,
            issues: vec![Issue { message, ..issue }],
            transaction: None,
            repeated: false,
            since: None,
        }
    }

    pub(crate) fn id(&self) -> Option<String> {
        let transaction = self.transaction.as_ref()?;
        Some(transaction.id.to_string())
    }

    pub(crate) fn state(&self) -> Option<&'static str> {
        self.transaction.as_ref().map(state)
    }

    pub(crate) fn attempted(&self) -> usize {
        let steps = self.transaction.iter().flat_map(|one| &one.steps);
        steps.filter(|step| !is_detour(step)).count()
    }

    pub(crate) fn succeeded(&self) -> usize {
        let steps = self.transaction.iter().flat_map(|one| &one.steps);
        steps.filter(|step| step.state == StepState::Done).count()
    }

    /// The message that was to be changed.
    pub(crate) fn source(&self) -> Option<&MessageRef> {
        self.transaction.as_ref()?.asked.source.as_ref()
    }

    /// Where the message lies now.
    pub(crate) fn landed(&self) -> Option<MessageRef> {
        self.transaction.as_ref().and_then(landed)
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(&self.transaction, Some(one) if one.state == State::Done)
    }

    /// The transaction that put it back, or is about to.
    pub(crate) fn undone_by(&self) -> Option<String> {
        let by = self.transaction.as_ref()?.undone_by.as_ref();
        by.map(ToString::to_string)
    }

    /// For a summary, after the words for what was to be done.
    pub(crate) fn words(&self) -> String {
        let came = self.came();
        let since = self.since.as_deref().unwrap_or_default();
        match self.repeated {
            true => {
                format!("{came}{since} (asked for before under this key; nothing is changed again)")
            }
            false => format!("{came}{since}"),
        }
    }

    fn came(&self) -> String {
        let first = self.issues.first().map(|issue| issue.message.as_str());
        let resolved = self.issues.iter().any(|issue| issue.code == RESOLVED);
        match (self.status, self.state()) {
            (Status::Ok, _) => "done".to_owned(),
            (Status::Partial, _) if resolved => format!("done: {}", first.unwrap_or_default()),
            (Status::Partial, _) => format!("done in part: {}", first.unwrap_or_default()),
            (Status::Failed, Some("unknown")) => first.unwrap_or_default().to_owned(),
            (Status::Failed, Some("needs_operator")) => {
                format!("not known: {}", first.unwrap_or_default())
            }
            (Status::Failed, _) => format!("not done: {}", first.unwrap_or_default()),
        }
    }
}

/// Where the message lies that was moved, copied or written.
pub(crate) fn landed(transaction: &Transaction) -> Option<MessageRef> {
    Work::resumed(transaction.clone())
        .landed()
        .filter(|_| transaction.state == State::Done)
}

/// What a server has not is not tried.
fn is_detour(step: &ledger::StepRecord) -> bool {
    step.name == StepName::Move && step.why.as_deref() == Some(super::plan::NOT_OFFERED)
}

/// The name on the wire. What is not at its end is not known.
pub(crate) fn state(transaction: &Transaction) -> &'static str {
    match transaction.state {
        State::Open => "unknown",
        State::Done => "done",
        State::Undone => "undone",
        State::NeedsOperator => "needs_operator",
    }
}

/// `sort` says how a fault is told: an issue, or a refusal of the whole call.
pub(crate) fn tell(
    work: Work,
    sort: impl FnOnce(mail::Fault, StepName) -> Result<Issue, Refusal>,
) -> Result<Told, Refusal> {
    let Work {
        transaction,
        fault,
        repeated,
        ..
    } = work;
    let code = transaction.ending.as_ref().and_then(|end| end.code.clone());
    let last = transaction.steps.last();
    let stage = last.map_or("start", |step| step.name.name()).to_owned();
    let name = last.map_or(StepName::Confirm, |step| step.name);
    let issue = |code: &str, message: String| Issue {
        code: code.to_owned(),
        stage: stage.clone(),
        message,
        retryable: false,
        uid: None,
        message_id: None,
    };
    let id = &transaction.id;
    let (status, issues) = match transaction.state {
        State::Done => match code {
            None => (Status::Ok, Vec::new()),
            Some(code) => {
                let words = in_part(&code);
                (Status::Partial, vec![issue(&code, words.to_owned())])
            }
        },
        State::Undone => {
            // Whoever asks later hears the same reason, as far as it is written down.
            let written = || code.as_deref().and_then(kind_of);
            let kept = || written().map(|kind| mail::Fault::new(kind, mail::Stage::Start));
            let told = match fault.or_else(kept) {
                Some(fault) => sort(fault, name).map_err(|refusal| {
                    let id = id.as_str();
                    let details = match repeated {
                        true => {
                            json!({ "transaction_id": id, "transaction_state": "undone", "repeated": true })
                        }
                        false => json!({ "transaction_id": id, "transaction_state": "undone" }),
                    };
                    named(refusal, details)
                })?,
                None => {
                    let code = code.as_deref().unwrap_or("failed");
                    issue(code, failed(code))
                }
            };
            // INVARIANT: the same key answers with this outcome from now on.
            let again = match transaction.asked.key {
                Some(_) => "; for another try take another idempotency_key",
                None => "",
            };
            let unchanged = match code.as_deref() {
                Some(super::plan::FLAGGED_ONLY) => "nothing else is changed",
                _ => "nothing is changed",
            };
            let message = format!("{}; {unchanged}{again}", told.message);
            (Status::Failed, vec![Issue { message, ..told }])
        }
        State::Open => {
            let message = format!(
                "whether it was done is not known yet: an answer did not come. It is being found out; do not try it in \
                 another way, ask for transaction {id} or make the same call with the same idempotency_key"
            );
            (Status::Failed, vec![issue("unknown", message)])
        }
        State::NeedsOperator => {
            let words = transaction
                .ending
                .as_ref()
                .and_then(|end| end.words.clone());
            let message = format!(
                "{}; tell the user to look at `mailwarden tx show {id}`",
                words.unwrap_or_else(|| "a person has to decide what became of it".to_owned())
            );
            (Status::Failed, vec![issue("needs_operator", message)])
        }
    };
    Ok(Told {
        status,
        issues,
        transaction: Some(transaction),
        repeated,
        since: None,
    })
}

fn in_part(code: &str) -> &'static str {
    match code {
        super::plan::FLAGGED_ONLY => {
            "the server cannot remove one message alone (no UIDPLUS), so it is flagged \\Deleted and goes when a mail \
             program clears the mailbox"
        }
        super::plan::IN_TRASH => {
            "this account deletes nothing for good at once: the message is in its trash, and goes when that is emptied"
        }
        super::plan::MAYBE_TWICE => {
            "it is done, and it may have been done twice, because the server was slow: look whether the target has two of \
             them, and delete one"
        }
        "flags_not_kept" => "the copy is whole, but the target did not keep all of its flags",
        "date_not_kept" => "the copy is whole, but the target did not keep its date of arrival",
        "landing_unknown" => {
            "the message has left its mailbox, and which of those in the target it is cannot be told: search for it there"
        }
        RESOLVED => "whoever runs this looked into the mailboxes, and said that it is done",
        "flags_not_set" => {
            "the server said yes, but the message does not have all of these flags now"
        }
        "original_gone" => {
            "the copy is there, and somebody else had taken the original away before it could be removed: it may be in \
             two places"
        }
        _ => "it is done, but not everything could be kept",
    }
}

/// Of what is written, where the fault itself was not met by this process.
fn failed(code: &str) -> String {
    match code {
        "another_message" => "the message there is not the one that was meant, and is left alone".to_owned(),
        "copy_missing" => "the copy was gone, or about to go, before the original was to be removed".to_owned(),
        super::plan::FLAGGED_ONLY => {
            "it could not be moved, and the server cannot remove the copy alone (no UIDPLUS): a copy that is flagged \
             \\Deleted is left in the target"
                .to_owned()
        }
        "flags_not_kept" => {
            "the target does not keep all of the message's flags, so it was not moved; copy it instead, or take the \
             flags off first"
                .to_owned()
        }
        "date_not_kept" => {
            "the target does not keep the message's date of arrival, so it was not moved; copy it instead".to_owned()
        }
        super::plan::PUT_BACK => {
            "the server did one half of it and refused the other, so the message is back where it was, under a new number"
                .to_owned()
        }
        "last_copy" => {
            "this cannot be undone: the original is no longer where it was, so this may be the last copy; remove it by \
             hand if it is not"
                .to_owned()
        }
        RESOLVED => "whoever runs this looked into the mailboxes, and said that it was not done".to_owned(),
        "expired" => "it could not be begun in time".to_owned(),
        code => format!("it was refused ({code})"),
    }
}

/// A refusal of what was begun says what it was called.
fn named(refusal: Refusal, details: serde_json::Value) -> Refusal {
    match refusal.details {
        Some(_) => refusal,
        None => refusal.with_details(details),
    }
}
