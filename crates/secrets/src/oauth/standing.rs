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

pub(crate) fn judge(grant: &Grant, kept: &Kept, holding: &Holding) -> Standing {
    let given = grant.given().unwrap_or_default();
    let login = match holding {
        Holding::Nothing => return Standing::NeedsLogin(NeedsLogin::Never),
        Holding::Token(token) => {
            if is_refused(kept, token, &given) {
                return Standing::NeedsLogin(NeedsLogin::Refused);
            }
            kept.login_of(token)
        }
        Holding::Unknown => kept.login.as_ref(),
    };
    if let Some(login) = login {
        let mut tokens = login.tokens.iter();
        if holding == &Holding::Unknown && tokens.all(|it| kept.refuses(it, &given)) {
            return Standing::NeedsLogin(NeedsLogin::Refused);
        }
        if let Some(why) = outdated(grant, login) {
            return Standing::NeedsLogin(why);
        }
    }
    match read_only_scope(grant, kept, holding) {
        Some(_) => Standing::ReadOnly,
        None => Standing::Good,
    }
}

/// The scope that lets nothing be changed: the one asked for, or the one granted.
pub(crate) fn read_only_scope(grant: &Grant, kept: &Kept, holding: &Holding) -> Option<String> {
    let login = match holding {
        Holding::Nothing => None,
        Holding::Token(token) => kept.login_of(token),
        Holding::Unknown => kept.login.as_ref(),
    };
    let asked = grant.scope();
    let scopes = [
        granted(kept, holding),
        login.and_then(|it| it.granted.as_deref()),
        Some(asked.as_str()),
    ];
    let mut scopes = scopes.into_iter().flatten();
    let found = scopes.find(|one| scope::is_read_only(one))?;
    Some(found.to_owned())
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
fn is_refused(kept: &Kept, token: &Fingerprint, given: &str) -> bool {
    let succeeded = kept.successor.as_ref().is_some_and(|it| it.under == *token);
    kept.refuses(token, given) && !succeeded
}

/// What was said of the token that is held; of one that is not known, whatever was said last.
fn granted<'a>(kept: &'a Kept, holding: &Holding) -> Option<&'a str> {
    let granted = kept.granted.as_ref()?;
    let is_meant = match holding {
        Holding::Token(token) => granted.tokens.contains(token),
        _ => true,
    };
    is_meant.then_some(granted.scope.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::kept::{Granted, Refused};
    use super::super::tests::grant;
    use super::*;

    fn print(token: &str) -> Fingerprint {
        Fingerprint::of("work", &token.into())
    }

    fn refusal(token: &str) -> Refused {
        Refused {
            token: print(token),
            given: grant("http://127.0.0.1:1").given().unwrap(),
        }
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
            refused: refused.iter().map(|token| refusal(token)).collect(),
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
                judge(&grant, &kept, &holding),
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
            let standing = judge(&grant, &kept, &holding);
            assert_eq!(standing, Standing::NeedsLogin(NeedsLogin::Never));
        }
    }

    #[test]
    fn a_refusal_is_the_providers_and_the_clients_that_it_was_given_to() {
        let kept = Kept {
            refused: vec![refusal("mine")],
            ..Kept::default()
        };
        let holding = Holding::Token(print("mine"));
        let same = grant("http://127.0.0.1:1");
        let refused = Standing::NeedsLogin(NeedsLogin::Refused);
        assert_eq!(judge(&same, &kept, &holding), refused);
        let mut other_client = grant("http://127.0.0.1:1");
        other_client.client_id = Some("another".to_owned());
        for corrected in [grant("http://127.0.0.1:2"), other_client] {
            assert_eq!(judge(&corrected, &kept, &holding), Standing::Good);
        }
    }

    #[test]
    fn a_scope_for_reading_is_enough_to_change_nothing() {
        let mut grant = grant("http://127.0.0.1:1");
        let said = |scope: &str| Kept {
            granted: Some(Granted {
                scope: scope.to_owned(),
                tokens: vec![print("mine")],
            }),
            ..Kept::default()
        };
        let mine = Holding::Token(print("mine"));
        let now = |grant: &Grant, kept: &Kept| judge(grant, kept, &mine);
        assert_eq!(now(&grant, &said("mail-r")), Standing::ReadOnly);
        assert_eq!(now(&grant, &said("mail-w")), Standing::Good);
        // It says nothing of another token; of one that cannot be seen it may be all that is known.
        let other = Holding::Token(print("other"));
        assert_eq!(judge(&grant, &said("mail-r"), &other), Standing::Good);
        let unknown = judge(&grant, &said("mail-r"), &Holding::Unknown);
        assert_eq!(unknown, Standing::ReadOnly);
        grant.scope = Some("mail-r".to_owned());
        assert_eq!(now(&grant, &Kept::default()), Standing::ReadOnly);
        // More was granted than is wanted: what is wanted counts.
        assert_eq!(now(&grant, &said("mail-w")), Standing::ReadOnly);
    }
}
