//! Access tokens, as a login needs them: one in hand before the server is called, and what it means when there is none.
//!
//! How tokens are got and kept is the business of `secrets`.

use std::time::Duration;

use mail::{Cx, Fault, FaultKind, Granted, Reach, Remedy, Scopes, Stage, Unadmitted};
use secrets::{AccessToken, NeedsLogin, NoToken, Standing};

use super::settings::Login;

/// So much longer a login may take in which a token turns out to be stale.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// None where a password will do.
pub(super) async fn token(login: &Login, cx: &Cx) -> Result<Option<AccessToken>, Fault> {
    match login {
        Login::Password(_) => Ok(None),
        Login::Tokens(_, tokens) => {
            cx.enter(Stage::Login);
            tokens.access().await.map(Some).map_err(fault)
        }
    }
}

/// Why there is no token. Its words are those of `secrets`, which hold nothing that is secret.
pub(super) fn fault(why: NoToken) -> Fault {
    match why {
        NoToken::NeedsLogin(_) => Fault::new(FaultKind::NeedsLogin, Stage::Login),
        NoToken::Unavailable { said } => {
            Fault::saying(FaultKind::TokenUnavailable, Stage::Login, said)
        }
        NoToken::Misconfigured { said } => {
            Fault::saying(FaultKind::TokenMisconfigured, Stage::Login, said)
        }
        NoToken::Spurned { .. } => Fault::new(FaultKind::TokenRefused, Stage::Login),
    }
}

/// A token that is new and that the server does not take all the same.
pub(super) fn refused(fault: Fault) -> Fault {
    match fault.kind {
        FaultKind::AuthFailed => Fault {
            kind: FaultKind::TokenRefused,
            ..fault
        },
        _ => fault,
    }
}

pub(super) fn reach(login: &Login) -> Reach {
    let Login::Tokens(_, tokens) = login else {
        return Reach::Everything;
    };
    let broken = tokens.unreadable().is_some();
    match tokens.standing() {
        Standing::Good if broken => Reach::Broken(Granted::Everything),
        Standing::Good => Reach::Everything,
        Standing::ReadOnly if broken => Reach::Broken(Granted::Reading),
        Standing::ReadOnly => Reach::ReadingOnly,
        Standing::NeedsLogin(why) => {
            let why = match why {
                NeedsLogin::Never => Unadmitted::Never,
                NeedsLogin::Refused => Unadmitted::Revoked,
                NeedsLogin::ScopeChanged => Unadmitted::ScopeChanged,
            };
            let remedy = match tokens.remedy() {
                secrets::Remedy::LogIn => Remedy::LogIn,
                // The name alone: where it leads is nobody's business here.
                secrets::Remedy::Replace(name) => {
                    Remedy::Replace(format!("secret://{}", name.path()))
                }
            };
            Reach::Nothing(why, remedy)
        }
    }
}

/// The scopes of a login that may only read.
pub(super) fn scopes(login: &Login) -> Option<Scopes> {
    let Login::Tokens(_, tokens) = login else {
        return None;
    };
    Some(Scopes {
        required: tokens.grant().required_scope(),
        granted: tokens.read_only_scope()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lack_of_a_token_has_a_fault_of_its_own() {
        let said = || "why".to_owned();
        let cases = [
            (
                NoToken::NeedsLogin(NeedsLogin::Never),
                FaultKind::NeedsLogin,
            ),
            (
                NoToken::Unavailable { said: said() },
                FaultKind::TokenUnavailable,
            ),
            (
                NoToken::Misconfigured { said: said() },
                FaultKind::TokenMisconfigured,
            ),
            // As the mail server's own refusal, which is held off.
            (NoToken::Spurned { said: said() }, FaultKind::TokenRefused),
        ];
        for (why, kind) in cases {
            assert_eq!(fault(why).kind, kind);
        }
    }
}
