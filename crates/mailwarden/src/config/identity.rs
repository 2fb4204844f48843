//! Who is at the other end. Fixed once per connection, from the environment on stdio.

use std::ffi::OsString;

use jiff::Timestamp;
use subtle::{ConditionallySelectable as _, ConstantTimeEq as _};

use super::dir::{CallerAuth, CallerConfig, Token, TokenDigest};
use super::problem::{Problem, Problems};

pub(crate) const CALLER_ID: &str = "IMAP_MCP_CALLER_ID";
pub(crate) const CALLER_TOKEN: &str = "IMAP_MCP_CALLER_TOKEN";

/// Why nobody is served. Names neither a caller nor a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum IdentityProblem {
    #[error("is not set; with a configuration directory it must name a caller of callers.yaml")]
    Nobody,
    #[error("names no caller of callers.yaml; correct the one or the other")]
    UnknownCaller,
    #[error("is not set; the caller that IMAP_MCP_CALLER_ID names must show its token there")]
    NoToken,
    #[error("is not the token of the caller that IMAP_MCP_CALLER_ID names")]
    WrongToken,
    #[error("is the token of no caller")]
    UnknownToken,
    #[error("is a token that has expired; `mailwarden config token` makes another")]
    ExpiredToken,
    #[error(
        "is set, but the caller that IMAP_MCP_CALLER_ID names has no token; remove the variable"
    )]
    NeedlessToken,
    #[error("names a caller that proves itself by OAuth, which is for HTTP alone")]
    NotOnStdio,
    #[error("is not valid UTF-8")]
    IdNotText,
    #[error("is not valid UTF-8")]
    TokenNotText,
}

impl IdentityProblem {
    /// Where to look.
    pub(crate) fn variable(self) -> &'static str {
        match self {
            Self::Nobody | Self::UnknownCaller | Self::NotOnStdio | Self::IdNotText => CALLER_ID,
            Self::NoToken
            | Self::WrongToken
            | Self::UnknownToken
            | Self::ExpiredToken
            | Self::NeedlessToken
            | Self::TokenNotText => CALLER_TOKEN,
        }
    }
}

impl From<IdentityProblem> for Problems {
    fn from(problem: IdentityProblem) -> Self {
        let told = Problem::variable(problem.variable(), problem.to_string());
        Self(vec![told])
    }
}

/// Who it is, and what it was proven with.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    pub caller: &'a CallerConfig,
    /// None of a caller that is believed without.
    pub token: Option<TokenDigest>,
}

/// Whether they can all be served over HTTP. Who is believed without proof cannot: anybody could say it.
pub(crate) fn over_http(callers: &[CallerConfig]) -> Result<(), Problems> {
    let trusted = |caller: &&CallerConfig| matches!(caller.auth, CallerAuth::StdioTrusted);
    let problems: Vec<Problem> = callers
        .iter()
        .filter(trusted)
        .map(|caller| {
            let what = format!(
                "the caller '{}' is stdio_trusted, which proves nothing over HTTP; write auth: {{ type: shared_token, tokens: [{{ sha256: … }}] }} \
                 with what `mailwarden config token` prints, or keep the caller in another directory",
                caller.id
            );
            Problem::file("callers.yaml", what)
        })
        .collect();
    match problems.is_empty() {
        true => Ok(()),
        false => Err(Problems(problems)),
    }
}

/// The caller that `variables` name, usually `std::env::vars_os()`.
pub(crate) fn of_stdio(
    callers: &[CallerConfig],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
    now: Timestamp,
) -> Result<Shown<'_>, IdentityProblem> {
    let (mut id, mut token) = (None, None);
    for (name, value) in variables {
        // Empty is as good as not set.
        if value.is_empty() {
            continue;
        }
        if name == CALLER_ID {
            id = Some(
                value
                    .into_string()
                    .map_err(|_| IdentityProblem::IdNotText)?,
            );
        } else if name == CALLER_TOKEN {
            let value = value.into_string();
            token = Some(value.map_err(|_| IdentityProblem::TokenNotText)?);
        }
    }
    let by_token = token.as_deref().map(|token| of_token(callers, token));
    let fresh = |caller, token: &Token| match token.is_fresh(now) {
        true => Ok(Shown {
            caller,
            token: Some(token.digest),
        }),
        false => Err(IdentityProblem::ExpiredToken),
    };
    let Some(id) = id else {
        let by_token = by_token.ok_or(IdentityProblem::Nobody)?;
        let (caller, token) = by_token.ok_or(IdentityProblem::UnknownToken)?;
        return fresh(caller, token);
    };
    let named = callers.iter().find(|caller| caller.id == id);
    let named = named.ok_or(IdentityProblem::UnknownCaller)?;
    match (&named.auth, by_token) {
        (CallerAuth::StdioTrusted, None) => Ok(Shown {
            caller: named,
            token: None,
        }),
        (CallerAuth::StdioTrusted, Some(_)) => Err(IdentityProblem::NeedlessToken),
        (CallerAuth::Oauth(_), _) => Err(IdentityProblem::NotOnStdio),
        (CallerAuth::SharedToken(_), None) => Err(IdentityProblem::NoToken),
        (CallerAuth::SharedToken(_), Some(Some((caller, token)))) if caller.id == named.id => {
            fresh(named, token)
        }
        (CallerAuth::SharedToken(_), Some(_)) => Err(IdentityProblem::WrongToken),
    }
}

/// The caller whose token this is.
// INVARIANT: takes as long for every token, right or wrong: digests of one length, each compared to its end, all of them.
fn of_token<'a>(callers: &'a [CallerConfig], token: &str) -> Option<(&'a CallerConfig, &'a Token)> {
    let shown = TokenDigest::of(token);
    let of = |caller: &'a CallerConfig| match &caller.auth {
        CallerAuth::SharedToken(tokens) => tokens.as_slice(),
        CallerAuth::StdioTrusted | CallerAuth::Oauth(_) => &[],
    };
    let mut all = callers
        .iter()
        .flat_map(|caller| of(caller).iter().map(move |token| (caller, token)));
    let mut found = u64::MAX;
    for (index, (_, token)) in (0u64..).zip(all.clone()) {
        found.conditional_assign(&index, token.digest.0.ct_eq(&shown.0));
    }
    all.nth(usize::try_from(found).ok()?)
}
