//! What of a call goes into the audit log: who asked what, what was decided, how it came out. No word of mail.

use audit::{Asked, Decision, Ended, Entry, Summary};
use policy::Permit;

use crate::Refusal;
use crate::envelope::{Done, Facts, Reply, Status};
use crate::guarded_mail::Verdict;
use crate::pipeline::argument_aliases::is_unlisted;
use crate::pipeline::{Caller, POLICY_INSPECT};
use crate::schema;
use crate::tools::Tool;

pub(crate) fn permitted<T: Tool>(
    caller: &Caller,
    request_id: &str,
    args: &T::Args,
    permit: &Permit,
) -> Asked {
    Asked {
        arguments: T::kept(args),
        decision: Decision::Allow,
        reason: permit.reason().name(),
        level: Some(T::shows(args).map_or(permit.level(), |shows| shows.min(permit.ceiling()))),
        ..denied(caller, request_id, T::NAME, "")
    }
}

/// A look that the operator takes.
pub(crate) fn operators(
    caller: &Caller,
    request_id: &str,
    kept: Summary,
    permit: &Permit,
) -> Asked {
    Asked {
        arguments: kept,
        decision: Decision::Allow,
        reason: permit.reason().name(),
        level: Some(permit.level()),
        ..denied(caller, request_id, POLICY_INSPECT, "")
    }
}

/// Refused before anything was looked at.
pub(crate) fn denied_at_once<T: Tool>(
    caller: &Caller,
    request_id: &str,
    args: &T::Args,
    refusal: &Refusal,
) -> Asked {
    withheld(caller, T::NAME, request_id, T::kept(args), refusal)
}

/// The same of a tool that the policy could never allow.
pub(crate) fn withheld(
    caller: &Caller,
    tool: &str,
    request_id: &str,
    arguments: Summary,
    refusal: &Refusal,
) -> Asked {
    let reason = refusal.denial.map_or("denied", |denial| denial.recorded());
    Asked {
        arguments,
        missing_capability: missing(refusal),
        ..denied(caller, request_id, tool, reason)
    }
}

fn missing(refusal: &Refusal) -> Option<&'static str> {
    Some(refusal.denial?.missing?.name())
}

/// What was decided about a message once its facts were known.
pub(crate) fn decided(entry: &mut Entry, verdict: Option<Verdict>, refusal: Option<&Refusal>) {
    let number = |rule: Option<usize>| rule.and_then(|rule| u64::try_from(rule + 1).ok());
    match (refusal.and_then(|refusal| refusal.denial), verdict) {
        (Some(denial), _) => {
            entry.decide(Decision::Deny, denial.recorded(), number(denial.rule));
        }
        (None, Some(verdict)) => {
            entry.decide(Decision::Allow, verdict.reason.name(), number(verdict.rule));
        }
        (None, None) => {}
    }
}

pub(crate) fn nobody(caller: &Caller, tool: &str, request_id: &str) -> Asked {
    denied(caller, request_id, shaped(tool), "auth_failed")
}

/// Arguments that could not be read are not kept: what stands in them is anybody's guess.
pub(crate) fn bad_arguments<T: Tool>(caller: &Caller, request_id: &str) -> Asked {
    denied(caller, request_id, T::NAME, "invalid_input")
}

pub(crate) fn unknown_tool(caller: &Caller, name: &str, request_id: &str) -> Asked {
    denied(caller, request_id, shaped(name), "unknown_tool")
}

pub(crate) fn gated(caller: &Caller, name: &str, request_id: &str) -> Asked {
    denied(caller, request_id, shaped(name), "invalid_input")
}

pub(crate) fn malformed(caller: &Caller, name: &str, request_id: &str) -> Asked {
    denied(caller, request_id, shaped(name), "invalid_input")
}

/// There was no room for it, or nobody waited until there was.
pub(crate) fn not_admitted(
    caller: &Caller,
    tool: &str,
    request_id: &str,
    reason: &'static str,
) -> Asked {
    denied(caller, request_id, tool, reason)
}

fn denied(caller: &Caller, request_id: &str, tool: &str, reason: &'static str) -> Asked {
    Asked {
        caller_id: caller.as_str().to_owned(),
        caller_addr: caller.address().to_owned(),
        request_id: request_id.to_owned(),
        tool: tool.to_owned(),
        arguments: Summary::new(),
        decision: Decision::Deny,
        reason,
        level: None,
        rule: None,
        missing_capability: None,
    }
}

/// The caller's own words are kept only where they look like the name of a tool.
fn shaped(name: &str) -> &str {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    match (1..=64).contains(&name.len()) && name.bytes().all(good) {
        true => name,
        false => "(not a name)",
    }
}

/// The argument that was refused, if the tool has one of that name.
pub(crate) fn argument<T: Tool>(refusal: &Refusal) -> Option<String> {
    let named = refusal.named_argument()?;
    let schema = schema::input::<T::Args>();
    let known = schema.get("properties")?.get(named).is_some() || is_unlisted(named);
    let kept = if known { named } else { "(unknown)" };
    Some(kept.to_owned())
}

pub(crate) fn done<R: Reply>(done: &Done<R>, facts: &Facts) -> Ended {
    let result = match done.data.status() {
        Status::Ok => "ok",
        Status::Partial => "partial",
        Status::Failed => "failed",
    };
    let issues = done.data.issues();
    Ended {
        issue: issues.first().map(|issue| issue.code.clone()),
        shown: u64::try_from(done.data.shown()).unwrap_or(u64::MAX),
        hidden: done.data.hidden(),
        seen: done.data.seen(),
        messages: done.data.messages(),
        transaction: done.data.transaction(),
        ..ended(result, facts)
    }
}

pub(crate) fn refused(refusal: &Refusal, facts: &Facts, argument: Option<String>) -> Ended {
    // The policy let it happen; the person did not.
    let not_agreed = refusal.is_the_users().then(|| "not_agreed".to_owned());
    Ended {
        issue: not_agreed,
        argument,
        ..ended(refusal.recorded(), facts)
    }
}

pub(crate) fn ended(result: &'static str, facts: &Facts) -> Ended {
    Ended {
        round_trips: Some(u64::from(facts.round_trips)),
        latency_ms: facts.duration_ms,
        ..Ended::of(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_looks_like_a_name_is_kept() {
        assert_eq!(shaped("imap_delete_message"), "imap_delete_message");
        for text in ["", "two words", "naïve", "a\nb", &"x".repeat(65)] {
            assert_eq!(shaped(text), "(not a name)", "{text}");
        }
    }
}
