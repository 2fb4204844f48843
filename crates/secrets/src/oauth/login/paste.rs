//! A browser anywhere: a person pastes the address that it ended at. The last resort.
//!
//! A bare code is not taken: nothing would tie it to this login.

use std::net::Ipv4Addr;
use std::time::Duration;

use secrecy::{ExposeSecret as _, SecretString};
use tokio::net::TcpSocket;

use super::super::answer::Given;
use super::super::proof;
use super::super::provider::{CALLBACK_PATH, Redirect};
use super::browser::redeem;
use super::returned::{Expected, NotOurs, Returned};
use super::{Asking, Face, LoginFault, Visit, no_randomness};

const LIMIT: Duration = Duration::from_secs(10 * 60);
const LONGEST: usize = 16 * 1024;
const ATTEMPTS: usize = 3;

pub(super) async fn run(asking: &Asking<'_>, face: &mut dyn Face) -> Result<Given, LoginFault> {
    let place = Place::new(asking.grant.provider.redirect())?;
    let verifier = proof::random().map_err(|_| no_randomness())?;
    let state = proof::random().map_err(|_| no_randomness())?;
    face.visit(&Visit {
        address: &asking.address(&place.redirect, &state, &verifier),
        door: None,
    });
    let expected = Expected {
        state,
        issuer: asking.endpoints.issuer.clone(),
    };
    let returned = tokio::time::timeout(LIMIT, ask(face, &place.redirect, &expected)).await;
    let returned = returned.map_err(|_| LoginFault::TimedOut)??;
    redeem(asking, returned, &place.redirect, &verifier).await
}

/// Nobody answers there; on this machine, nobody else can.
struct Place {
    redirect: String,
    _socket: Option<TcpSocket>,
}

impl Place {
    fn new(redirect: Redirect) -> Result<Self, LoginFault> {
        let (name, path) = match redirect {
            Redirect::Registered(address) => {
                return Ok(Self {
                    redirect: address.to_owned(),
                    _socket: None,
                });
            }
            Redirect::Localhost => ("localhost", ""),
            Redirect::Loopback => ("127.0.0.1", CALLBACK_PATH),
        };
        // Bound and deaf: a browser on this machine is told so at once, and keeps the address in sight.
        let bound = TcpSocket::new_v4().and_then(|socket| {
            socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
            let port = socket.local_addr()?.port();
            Ok((socket, port))
        });
        let (socket, port) = bound.map_err(|error| LoginFault::Unavailable {
            said: format!("no port of this machine can be had ({error})"),
        })?;
        Ok(Self {
            redirect: format!("http://{name}:{port}{path}"),
            _socket: Some(socket),
        })
    }
}

async fn ask(
    face: &mut dyn Face,
    redirect: &str,
    expected: &Expected,
) -> Result<Returned, LoginFault> {
    let mut left = ATTEMPTS;
    loop {
        let line = face.pasted().await.map_err(|error| LoginFault::Pasted {
            said: format!("nothing could be pasted ({error}); start again"),
        })?;
        left -= 1;
        match read(&line, redirect, expected) {
            Err(LoginFault::Pasted { said }) if left > 0 => face.wrong(&said),
            other => return other,
        }
    }
}

fn read(line: &SecretString, redirect: &str, expected: &Expected) -> Result<Returned, LoginFault> {
    let wrong = |said: &str| {
        Err(LoginFault::Pasted {
            said: format!(
                "{said}; paste the whole address that the browser ended at, which begins with {redirect}"
            ),
        })
    };
    let line = line.expose_secret().trim();
    if line.len() > LONGEST {
        return wrong("what was pasted is too long");
    }
    let Some(rest) = line.strip_prefix(redirect) else {
        return wrong("what was pasted is not the address that belongs to this login");
    };
    // Some servers say localhost:1 and come back to localhost:1/.
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let Some(query) = rest.strip_prefix('?') else {
        return wrong("the pasted address has no answer in it");
    };
    let query = query.split_once('#').map_or(query, |(query, _)| query);
    match expected.read(query) {
        Ok(returned) => Ok(returned),
        Err(NotOurs::Issuer) => Err(LoginFault::OtherIssuer),
        Err(NotOurs::State) => wrong("the pasted address belongs to another login"),
        Err(NotOurs::Empty) => wrong("the pasted address has no answer in it"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::provider::Issuer;
    use super::*;

    #[test]
    fn only_the_whole_address_of_this_login_is_taken() {
        let expected = Expected {
            state: "s3cret".into(),
            issuer: Issuer::Named("https://id.example".to_owned()),
        };
        let redirect = "http://127.0.0.1:4000/callback";
        let paste = |line: &str| read(&line.into(), redirect, &expected);
        for line in [
            "http://127.0.0.1:4000/callback?code=abc&state=s3cret",
            "  http://127.0.0.1:4000/callback/?state=s3cret&code=abc#\n",
        ] {
            assert!(matches!(paste(line), Ok(Returned::Code(_))), "{line}");
        }
        for line in [
            "",
            "abc",
            "4/0AX4XfWh",
            "code=abc&state=s3cret",
            "http://127.0.0.1:4000/callback",
            "http://127.0.0.1:4000/callback?code=abc",
            "http://127.0.0.1:4000/callback?code=abc&state=other",
            "http://127.0.0.1:4001/callback?code=abc&state=s3cret",
            "http://127.0.0.1:4000/callbackx?code=abc&state=s3cret",
            "http://evil.example/callback?code=abc&state=s3cret",
        ] {
            let fault = paste(line).unwrap_err();
            assert!(matches!(fault, LoginFault::Pasted { .. }), "{line}");
            let words = fault.to_string();
            assert!(
                !words.contains("abc") && !words.contains("s3cret"),
                "{words}"
            );
        }
    }
}
