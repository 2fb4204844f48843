//! What is struck: refreshes and logins, by where tokens lie and what was there before. Strikes nothing.

/// One way to need new tokens.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    pub(crate) store: Store,
    pub(crate) cache: &'static str,
    pub(crate) before: Before,
    pub(crate) act: Act,
}

/// Where the refresh token lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Store {
    Files,
    /// It can be read only: a successor is kept beside it.
    Variables,
}

/// What an earlier process has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// Nobody has ever logged in.
    Nothing,
    /// A refresh token that was put there by hand.
    ByHand,
    /// One refresh, whose access token is over.
    Expired,
    /// Refreshes whose access token the mail server does not take, though its time has not come.
    Stale,
}

/// What is done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Act {
    /// A call that needs mail.
    Call,
    /// `mailwarden login`.
    Login,
}

pub(crate) const ALL: &[Kind] = &[
    call("refresh", Store::Files, "memory_only", Before::ByHand),
    call(
        "kept token over",
        Store::Files,
        "persist_all",
        Before::Expired,
    ),
    call(
        "kept token refused",
        Store::Files,
        "persist_all",
        Before::Stale,
    ),
    call(
        "read-only store",
        Store::Variables,
        "memory_only",
        Before::ByHand,
    ),
    call(
        "read-only store again",
        Store::Variables,
        "persist_all",
        Before::Expired,
    ),
    login("first login", "memory_only", Before::Nothing),
    login("new login", "persist_all", Before::Expired),
];

const fn call(name: &'static str, store: Store, cache: &'static str, before: Before) -> Kind {
    Kind {
        name,
        store,
        cache,
        before,
        act: Act::Call,
    }
}

const fn login(name: &'static str, cache: &'static str, before: Before) -> Kind {
    Kind {
        act: Act::Login,
        ..call(name, Store::Files, cache, before)
    }
}
