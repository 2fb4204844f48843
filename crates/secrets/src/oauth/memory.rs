//! What one process knows of an account's tokens. It decides what may be used, and fetches nothing.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use zeroize::{Zeroize as _, Zeroizing};

use super::kept::{Granted, Kept, Refused};
use super::looks::Looks;
use super::proof;
use super::records::Stamp;
use super::seal::Fingerprint;
use super::standing::Holding;
use super::tokens::{NoToken, TOO_SOON};
use crate::NoSecret;

const LARGEST_MARGIN: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(300);

/// What a mail server is shown. Its Debug says nothing of it.
#[derive(Clone, Debug)]
pub struct AccessToken(Arc<SecretString>);

impl AccessToken {
    pub(crate) fn new(secret: SecretString) -> Self {
        Self(Arc::new(secret))
    }

    pub fn secret(&self) -> &SecretString {
        &self.0
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || proof::same(&self.0, other.0.expose_secret())
    }
}

/// An access token, and how long it is shown around.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub token: AccessToken,
    /// A clock that stands still while the machine sleeps, and one that somebody may set: both have to agree.
    until: Instant,
    until_wall: SystemTime,
    pub got: Instant,
    pub because: Because,
    /// When a mail server refused it, where getting another one would have been too soon.
    pub spurned: Option<Instant>,
}

/// Why it was got.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Because {
    Needed,
    /// A mail server refused the one before.
    Spurned,
}

impl Access {
    /// Refreshed a little before its end: it has to outlive the login that it is used for.
    pub(crate) fn new(token: AccessToken, lifetime: Duration, because: Because) -> Self {
        let lifetime = lifetime.saturating_sub(LARGEST_MARGIN.min(lifetime / 10));
        let (now, wall) = (Instant::now(), SystemTime::now());
        Self {
            token,
            until: now.checked_add(lifetime).unwrap_or(now),
            until_wall: wall.checked_add(lifetime).unwrap_or(wall),
            got: now,
            because,
            spurned: None,
        }
    }

    pub(crate) fn is_fresh(&self) -> bool {
        Instant::now() < self.until && SystemTime::now() < self.until_wall
    }

    pub(crate) fn is_spurned_lately(&self) -> bool {
        self.spurned.is_some_and(|when| when.elapsed() < TOO_SOON)
    }

    /// For a file, sealed.
    pub(crate) fn spell(&self) -> Option<Zeroizing<Vec<u8>>> {
        let until = self.until_wall.duration_since(UNIX_EPOCH).ok()?.as_secs();
        let wire = Wire {
            token: self.token.secret().expose_secret().to_owned(),
            until,
        };
        let mut octets = Zeroizing::new(Vec::with_capacity(wire.token.len() * 2 + 64));
        serde_json::to_writer(&mut *octets, &wire).ok()?;
        Some(octets)
    }

    /// None where it is over, or ends later than any token does.
    pub(crate) fn read(octets: &[u8]) -> Option<Self> {
        let mut wire: Wire = serde_json::from_slice(octets).ok()?;
        let token = AccessToken::new(std::mem::take(&mut wire.token).into());
        let until_wall = UNIX_EPOCH.checked_add(Duration::from_secs(wire.until))?;
        let left = until_wall.duration_since(SystemTime::now()).ok()?;
        let now = Instant::now();
        Some(Self {
            token,
            until: now.checked_add(left)?,
            until_wall,
            got: now,
            because: Because::Needed,
            spurned: None,
        })
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    token: String,
    until: u64,
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.token.zeroize();
    }
}

pub(crate) type Outcome = Result<AccessToken, NoToken>;

/// Somebody is fetching one: wait for what comes of it.
pub(crate) type Flight = watch::Receiver<Option<Outcome>>;

/// Remembered for a while, so that who asks in a loop does not ask the provider in a loop.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub said: NoToken,
    pub until: Instant,
    pub streak: u32,
}

impl Failure {
    pub(crate) fn new(said: NoToken, wait: Option<Duration>, before: Option<&Self>) -> Self {
        let streak = before.map_or(0, |it| it.streak.saturating_add(1));
        let usual = match said {
            NoToken::NeedsLogin(_) => Duration::from_secs(1),
            NoToken::Misconfigured { .. } | NoToken::Spurned { .. } => Duration::from_secs(10),
            NoToken::Unavailable { .. } => Duration::from_secs(1 << streak.min(6)),
        };
        let now = Instant::now();
        let until = now + wait.unwrap_or(usual).max(usual).min(LONGEST_WAIT);
        Self {
            said,
            until,
            streak,
        }
    }
}

/// A refresh token that is not certain to be kept anywhere, and what came with it.
#[derive(Clone, Debug)]
pub(crate) struct Unsaved {
    /// What the store held when it came.
    pub before: SecretString,
    pub print: Fingerprint,
    pub refresh: SecretString,
    /// None where the rest of the provider's answer was of no use.
    pub access: Option<Access>,
    pub left: Left,
}

/// What an attempt to put it into the store has left there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Left {
    /// What was there before.
    AsItWas,
    /// Something else, as far as it could be read.
    Torn(Option<Fingerprint>),
}

impl Unsaved {
    /// Whether it counts more than what the store holds. What somebody else put there counts more than it.
    pub(crate) fn counts(&self, holding: &Holding) -> bool {
        match (holding, &self.left) {
            (Holding::Token(held), _) if *held == self.print => true,
            (Holding::Token(held), Left::Torn(found)) => found.as_ref() == Some(held),
            (Holding::Token(_), Left::AsItWas) => false,
            (_, left) => *left != Left::AsItWas,
        }
    }
}

/// What has become known, and could not be written down.
#[derive(Clone, Default, Debug)]
pub(crate) struct Unwritten {
    pub refused: Vec<Refused>,
    pub granted: Option<Granted>,
}

/// So many that were given are remembered: connections outlive the token that opened them.
const GIVEN: usize = 8;

#[derive(Debug)]
pub(crate) struct Memory {
    pub access: Option<Access>,
    /// Those that were given lately, the newest last.
    pub given: VecDeque<AccessToken>,
    pub flight: Option<Flight>,
    pub failure: Option<Failure>,
    pub unsaved: Option<Unsaved>,
    pub unwritten: Unwritten,
    pub kept: Kept,
    pub stamp: Option<Stamp>,
    pub holding: Holding,
    /// Why the store gave no token when it was last looked at.
    pub lacking: Option<NoSecret>,
    pub looks: Looks,
    /// How many logins of persons have been seen.
    pub logins: u64,
}

impl Memory {
    pub(crate) fn fresh(&self) -> Option<&Access> {
        self.access.as_ref().filter(|it| it.is_fresh())
    }

    /// A refresh token that has to be kept before anything else is done.
    pub(crate) fn waiting(&self) -> Option<&Unsaved> {
        let unsaved = self.unsaved.as_ref();
        unsaved.filter(|it| it.counts(&self.holding))
    }

    pub(crate) fn give(&mut self, token: &AccessToken) {
        if !self.given.iter().any(|one| one.is(token)) {
            self.given.push_back(token.clone());
            let surplus = self.given.len().saturating_sub(GIVEN);
            self.given.drain(..surplus);
        }
    }

    /// Why the refresh token cannot be read, where that is no matter of logging in.
    pub(crate) fn unreadable(&self) -> Option<&NoSecret> {
        let unknown = self.holding == Holding::Unknown;
        self.lacking.as_ref().filter(|_| unknown)
    }

    /// What the file says now. A login of another process is a new token in the store.
    pub(crate) fn take(&mut self, kept: Kept, stamp: Option<Stamp>) {
        if kept.login != self.kept.login {
            self.lacking = None;
        }
        if let Holding::Token(token) = &self.holding
            && kept.login_of(token).is_none()
            && kept.login.is_some()
        {
            self.holding = Holding::Unknown;
        }
        if self.holding == Holding::Nothing && kept.login != self.kept.login {
            self.holding = Holding::Unknown;
        }
        self.note_login(&kept);
        self.kept = self.with_unwritten(kept);
        self.stamp = stamp;
        self.failure = None;
    }

    /// What the file says, and what it would say if it could have been written.
    pub(crate) fn with_unwritten(&self, mut kept: Kept) -> Kept {
        for refused in &self.unwritten.refused {
            kept.refuse(refused.clone());
        }
        if self.unwritten.granted.is_some() {
            kept.granted.clone_from(&self.unwritten.granted);
        }
        kept
    }

    /// What was got by the login before goes: that may have been somebody else's.
    pub(crate) fn note_login(&mut self, kept: &Kept) {
        let id = |kept: &Kept| kept.login.as_ref().map(|login| login.id.clone());
        if id(kept).is_some() && id(kept) != id(&self.kept) {
            self.logins += 1;
            self.access = None;
            self.unsaved = None;
            self.unwritten = Unwritten::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access(seconds: u64) -> Access {
        let token = AccessToken::new("access-1".into());
        Access::new(token, Duration::from_secs(seconds), Because::Needed)
    }

    #[test]
    fn a_token_is_renewed_a_little_before_its_end() {
        for (lifetime, margin) in [(3600, 60), (600, 60), (100, 10), (10, 1)] {
            let access = access(lifetime);
            let shown = access.until.duration_since(access.got);
            assert_eq!(shown, Duration::from_secs(lifetime - margin));
            assert!(access.is_fresh());
        }
        assert!(!access(0).is_fresh());
        let mut slept = access(3600);
        slept.until_wall = SystemTime::now() - Duration::from_secs(1);
        assert!(!slept.is_fresh());
    }

    #[test]
    fn a_spelled_token_is_read_again_unless_it_is_over() {
        let spelled = access(3600).spell().unwrap();
        let read = Access::read(&spelled).unwrap();
        assert!(read.is_fresh() && read.token.is(&access(1).token));
        for octets in [
            access(0).spell().unwrap().to_vec(),
            b"{}".to_vec(),
            b"".to_vec(),
            format!("{{\"token\":\"a\",\"until\":{}}}", u64::MAX).into_bytes(),
        ] {
            assert!(Access::read(&octets).is_none());
        }
    }

    #[test]
    fn who_fails_again_waits_longer_but_not_for_ever() {
        let said = || NoToken::Unavailable {
            said: "x".to_owned(),
        };
        let mut last = Failure::new(said(), None, None);
        for _ in 0..40 {
            let next = Failure::new(said(), None, Some(&last));
            assert!(next.until >= last.until);
            last = next;
        }
        assert!(last.until <= Instant::now() + Duration::from_secs(64));
        let told = Failure::new(said(), Some(Duration::from_secs(1 << 40)), None);
        assert!(told.until <= Instant::now() + LONGEST_WAIT);
    }
}
