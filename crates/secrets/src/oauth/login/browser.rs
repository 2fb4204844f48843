//! A browser on this machine: the answer comes to a listener (RFC 8252, section 7.3).

use std::time::Duration;

use super::super::answer::{Code, Given};
use super::super::proof;
use super::door::Door;
use super::listener::Listener;
use super::returned::{Expected, Returned};
use super::{Asking, Company, Face, LoginFault, Visit, no_randomness};

const LIMIT: Duration = Duration::from_secs(5 * 60);

/// What was given, and who else came.
pub(super) async fn run(
    asking: &Asking<'_>,
    face: &mut dyn Face,
) -> Result<(Given, Company), LoginFault> {
    let listener = Listener::bind(asking.grant.provider.redirect()).await;
    let listener = listener.map_err(|error| LoginFault::Unavailable {
        said: format!(
            "no port of this machine can be listened on ({error}); log in with --device or --paste"
        ),
    })?;
    let redirect = listener.redirect();
    let verifier = proof::random().map_err(|_| no_randomness())?;
    let state = proof::random().map_err(|_| no_randomness())?;
    let word = proof::random().map_err(|_| no_randomness())?;
    let address = asking.address(&redirect, &state, &verifier);
    let door = Door::new(&word, address.clone());
    face.visit(&Visit {
        address: &address,
        door: Some(&listener.address_of(&door)),
    });
    let expected = Expected {
        state,
        issuer: asking.endpoints.issuer.clone(),
    };
    let heard = tokio::time::timeout(LIMIT, listener.hear(expected, door)).await;
    let heard = heard.map_err(|_| LoginFault::TimedOut)??;
    let given = redeem(asking, heard.returned, &redirect, &verifier).await?;
    Ok((given, heard.company))
}

/// Exchanges what the browser brought.
pub(super) async fn redeem(
    asking: &Asking<'_>,
    returned: Returned,
    redirect: &str,
    verifier: &secrecy::SecretString,
) -> Result<Given, LoginFault> {
    match returned {
        Returned::Code(code) => asking.exchange(&code, redirect, verifier).await,
        Returned::Refused(Code::AccessDenied) => Err(LoginFault::Denied),
        Returned::Refused(code) => Err(LoginFault::Misconfigured {
            said: format!(
                "{} refuses to ask anybody: {}; check oauth_client_id, oauth_scope and the redirect URI that is registered",
                asking.grant.provider.name(),
                code.word()
            ),
        }),
    }
}
