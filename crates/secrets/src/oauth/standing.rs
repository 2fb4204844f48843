//! How far a login goes, told from what is remembered. Pure: it asks nobody and reads nothing.

use super::grant::Grant;
use super::kept::{Kept, Login};
use super::scope;
use super::seal::Fingerprint;

/// How far the login of an account goes, as far as is known without asking anybody.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Standing {
    Good,
    /// What was granted, or asked for, lets nothing be changed.
    ReadOnly,
    NeedsLogin(NeedsLogin),
}

/// Why a person has to log in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NeedsLogin {
    /// Nobody has yet, or at another provider or for another client.
    Never,
    /// The provider does not take the refresh token any more.
    Refused,
    /// Another scope is configured than was logged in for.
    ScopeChanged,
}

/// What the secret store held when it was last looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Holding {
    /// It could not be read, or something has changed since.
    Unknown,
    Nothing,
    Token(Fingerprint),
}

/// `granted` is what the provider's last answer said, where no login remembers it.
pub(crate) fn judge(
    grant: &Grant,
    kept: &Kept,
    holding: &Holding,
    granted: Option<&str>,
) -> Standing {
    let login = match holding {
        Holding::Nothing => return Standing::NeedsLogin(NeedsLogin::Never),
        Holding::Token(token) => {
            if is_refused(kept, token) {
                return Standing::NeedsLogin(NeedsLogin::Refused);
            }
            kept.login_of(token)
        }
        Holding::Unknown => kept.login.as_ref(),
    };
    if let Some(login) = login {
        if holding == &Holding::Unknown && login.tokens.iter().all(|it| kept.refused.contains(it)) {
            return Standing::NeedsLogin(NeedsLogin::Refused);
        }
        if let Some(why) = outdated(grant, login) {
            return Standing::NeedsLogin(why);
        }
    }
    let granted = login.and_then(|it| it.granted.as_deref()).or(granted);
    if scope::is_read_only(&grant.scope()) || granted.is_some_and(scope::is_read_only) {
        Standing::ReadOnly
    } else {
        Standing::Good
    }
}

/// INVARIANT: a refresh token is shown to nobody but the provider that gave it.
fn outdated(grant: &Grant, login: &Login) -> Option<NeedsLogin> {
    if grant.given().is_some_and(|given| given != login.given) {
        Some(NeedsLogin::Never)
    } else if !scope::same(&grant.scope(), &login.requested) {
        Some(NeedsLogin::ScopeChanged)
    } else {
        None
    }
}

/// One that has a successor is not needed any more.
fn is_refused(kept: &Kept, token: &Fingerprint) -> bool {
    let succeeded = kept.successor.as_ref().is_some_and(|it| it.under == *token);
    kept.refused.contains(token) && !succeeded
}

#[cfg(test)]
mod tests {
    use super::super::tests::grant;
    use super::*;

    fn print(token: &str) -> Fingerprint {
        Fingerprint::of("work", &token.into())
    }

    fn kept(requested: &str, granted: Option<&str>, refused: &[&str]) -> Kept {
        Kept {
            login: Some(Login {
                id: "1".to_owned(),
                given: grant("http://127.0.0.1:1").given().unwrap(),
                requested: requested.to_owned(),
                granted: granted.map(str::to_owned),
                tokens: vec![print("mine")],
            }),
            refused: refused.iter().map(|token| print(token)).collect(),
            ..Kept::default()
        }
    }

    #[test]
    fn what_is_remembered_says_how_far_a_login_goes() {
        use NeedsLogin::{Never, Refused, ScopeChanged};
        let none = Kept::default;
        let token = |name: &str| Holding::Token(print(name));
        let needs = Standing::NeedsLogin;
        let cases = [
            (none(), Holding::Nothing, needs(Never)),
            (none(), Holding::Unknown, Standing::Good),
            // Put there by hand: nobody knows what was asked for then.
            (none(), token("mine"), Standing::Good),
            (kept("mail", None, &[]), token("mine"), Standing::Good),
            (
                kept("mail other", None, &[]),
                token("mine"),
                needs(ScopeChanged),
            ),
            (kept("other", None, &[]), token("by hand"), Standing::Good),
            (
                kept("mail", Some("mail:read"), &[]),
                token("mine"),
                Standing::ReadOnly,
            ),
            (kept("mail", None, &["mine"]), token("mine"), needs(Refused)),
            (kept("mail", None, &["mine"]), token("new"), Standing::Good),
            (kept("mail", None, &["old"]), token("mine"), Standing::Good),
            (
                kept("mail", None, &["mine"]),
                Holding::Unknown,
                needs(Refused),
            ),
            (
                kept("mail", None, &["old"]),
                Holding::Unknown,
                Standing::Good,
            ),
            (
                kept("other", None, &[]),
                Holding::Unknown,
                needs(ScopeChanged),
            ),
        ];
        let grant = grant("http://127.0.0.1:1");
        for (kept, holding, expected) in cases {
            assert_eq!(
                judge(&grant, &kept, &holding, None),
                expected,
                "{kept:?} {holding:?}"
            );
        }
    }

    #[test]
    fn a_token_is_not_taken_to_another_provider_or_client() {
        let kept = kept("mail", None, &[]);
        let holding = Holding::Token(print("mine"));
        let elsewhere = grant("http://127.0.0.1:2");
        let mut other_client = grant("http://127.0.0.1:1");
        other_client.client_id = Some("another".to_owned());
        for grant in [elsewhere, other_client] {
            let standing = judge(&grant, &kept, &holding, None);
            assert_eq!(standing, Standing::NeedsLogin(NeedsLogin::Never));
        }
    }

    #[test]
    fn a_scope_for_reading_is_enough_to_change_nothing() {
        let mut grant = grant("http://127.0.0.1:1");
        let holding = Holding::Token(print("mine"));
        let now = |grant: &Grant, granted| judge(grant, &Kept::default(), &holding, granted);
        assert_eq!(now(&grant, Some("mail-r")), Standing::ReadOnly);
        grant.scope = Some("mail-r".to_owned());
        assert_eq!(now(&grant, None), Standing::ReadOnly);
        // More was granted than is wanted: what is wanted counts.
        assert_eq!(now(&grant, Some("mail-w")), Standing::ReadOnly);
    }
}
