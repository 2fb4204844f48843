//! From a fresh TCP connection to a session that may ask: greeting, encryption, credentials, capabilities.

use std::time::Duration;

use imap::{
    BadArgument, Bearer, Capabilities, Command, Data, InitialResponse, Literals, Status, StatusKind,
};
use mail::{Cx, Fault, FaultKind, Stage};
use secrecy::{ExposeSecret as _, SecretString};
use secrets::{AccessToken, Tokens};
use tokio::time::{Instant, timeout};

use super::link::{Link, Patience};
use super::net::{self, Stream};
use super::quirks::{Finding, Findings, echo, id_first};
use super::settings::{Login, Security, Settings};
use super::{bearer, faults};

/// A logged-in link and what the server can do for it. However slowly the server speaks, this ends.
pub(super) async fn dial(
    settings: &Settings,
    findings: &Findings,
    cx: &Cx,
) -> Result<(Link, Capabilities), Fault> {
    let times = &settings.timeouts;
    let most = times.connect + times.greeting + times.prompt * 2;
    let begun = Instant::now();
    // Before the server is kept waiting. Who gives tokens has a time limit of its own.
    let shown = bearer::token(&settings.login, cx).await?;
    let outcome = match attempt(settings, findings, cx, most, shown.map(Shown::First)).await {
        Err(NotIn::HungUp(shown)) => {
            attempt(settings, findings, cx, most, Some(Shown::Instead(shown))).await
        }
        outcome => outcome,
    };
    let outcome = outcome.map_err(|unadmitted| match unadmitted {
        NotIn::Fault(fault) => fault,
        NotIn::HungUp(_) => Fault::new(FaultKind::Lost, Stage::Login),
    });
    let (host, port, ms) = (&settings.host, settings.port, begun.elapsed().as_millis());
    match &outcome {
        Ok((_, offered)) => {
            tracing::debug!(
                host,
                port,
                ms,
                capabilities = offered.names().len(),
                "logged in"
            );
        }
        Err(fault) => {
            tracing::debug!(host, port, ms, stage = fault.stage.name(), kind = ?fault.kind, "no login");
        }
    }
    outcome
}

/// Why a connection is not logged in.
enum NotIn {
    Fault(Fault),
    /// QUIRK: some servers refuse a token and hang up, so that another one has to be shown on another connection.
    HungUp(Instead),
}

impl From<Fault> for NotIn {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// What a connection shows.
enum Shown {
    First(AccessToken),
    Instead(Instead),
}

/// A token, and the one that was refused before it.
struct Instead {
    refused: AccessToken,
    token: AccessToken,
}

async fn attempt(
    settings: &Settings,
    findings: &Findings,
    cx: &Cx,
    most: Duration,
    shown: Option<Shown>,
) -> Result<(Link, Capabilities), NotIn> {
    let logging_in = log_in(settings, findings, cx, shown);
    match timeout(most + bearer::PATIENCE, logging_in).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Fault::new(FaultKind::TimedOut, cx.stage()).into()),
    }
}

async fn log_in(
    settings: &Settings,
    findings: &Findings,
    cx: &Cx,
    shown: Option<Shown>,
) -> Result<(Link, Capabilities), NotIn> {
    let connecting = async {
        let tcp = net::connect(settings, cx).await?;
        match settings.security {
            Security::Implicit => net::encrypt(settings, cx, tcp).await,
            Security::StartTls | Security::Plain => Ok(Stream::Plain(tcp)),
        }
    };
    let stream = within(settings, cx, connecting).await?;
    let mut link = Link::new(stream);
    cx.enter(Stage::Greeting);
    let greeting = link.greeting(cx, settings.timeouts.greeting).await?;
    if greeting.kind == StatusKind::Bye {
        let busy = faults::login_refused(&greeting).kind == FaultKind::Busy;
        let kind = if busy {
            FaultKind::Busy
        } else {
            FaultKind::Bye
        };
        return Err(Fault::saying(kind, Stage::Greeting, &greeting.text).into());
    }
    if id_first::goes_alone(&settings.host, &greeting) {
        findings.note(Finding::IdGoesAlone, &settings.host);
    }
    let mut offered = offered_by(&greeting);
    let mut preauth = greeting.kind == StatusKind::Preauth;
    if settings.security == Security::StartTls {
        // A session that is already logged in cannot be encrypted any more; somebody in between may have said so.
        if preauth {
            return Err(Fault::new(FaultKind::NoSafeLogin, Stage::Tls).into());
        }
        link = start_tls(settings, cx, link, offered).await?;
        // RFC 3501 section 6.2.1: what was offered in the clear counts for nothing.
        offered = None;
        preauth = false;
    }
    let offered = match offered {
        Some(offered) => offered,
        None => ask_capabilities(settings, cx, &mut link).await?,
    };
    if preauth {
        link.use_literals(literals(&offered));
        return Ok((link, offered));
    }
    let granted = authenticate(settings, cx, &mut link, &offered, shown).await?;
    let capabilities = match granted {
        Some(capabilities) => capabilities,
        None => ask_capabilities(settings, cx, &mut link).await?,
    };
    link.use_literals(literals(&capabilities));
    Ok((link, capabilities))
}

async fn within<T>(
    settings: &Settings,
    cx: &Cx,
    work: impl Future<Output = Result<T, Fault>>,
) -> Result<T, Fault> {
    match timeout(settings.timeouts.connect, work).await {
        Ok(outcome) => outcome,
        Err(_) => Err(Fault::new(FaultKind::TimedOut, cx.stage())),
    }
}

async fn start_tls(
    settings: &Settings,
    cx: &Cx,
    mut link: Link,
    offered: Option<Capabilities>,
) -> Result<Link, Fault> {
    cx.enter(Stage::Tls);
    if offered.is_some_and(|offered| !offered.has("STARTTLS")) {
        return Err(Fault::saying(
            FaultKind::NoSafeLogin,
            Stage::Tls,
            "the server does not offer STARTTLS",
        ));
    }
    let (status, _) = one(&mut link, cx, Command::starttls(), prompt(settings)).await?;
    if !status.is_ok() {
        return Err(Fault::saying(
            FaultKind::NoSafeLogin,
            Stage::Tls,
            &status.text,
        ));
    }
    let stream = link.into_stream().map_err(|leftover| {
        Fault::saying(FaultKind::TlsFailed, Stage::Tls, leftover.to_string())
    })?;
    let Stream::Plain(tcp) = stream else {
        return Err(Fault::new(FaultKind::TlsFailed, Stage::Tls));
    };
    let stream = within(settings, cx, net::encrypt(settings, cx, tcp)).await?;
    // The encrypted session has no greeting of its own.
    Ok(Link::greeted(stream))
}

/// Logs in by the best way offered. The capabilities, when the server volunteered them.
async fn authenticate(
    settings: &Settings,
    cx: &Cx,
    link: &mut Link,
    offered: &Capabilities,
    shown: Option<Shown>,
) -> Result<Option<Capabilities>, NotIn> {
    cx.enter(Stage::Login);
    link.use_literals(if offered.has("LITERAL+") {
        Literals::Plus
    } else {
        Literals::Wait
    });
    let place = match offered.has("SASL-IR") {
        true => InitialResponse::InCommand,
        false => InitialResponse::AfterContinuation,
    };
    match (&settings.login, shown) {
        (Login::Password(password), _) => {
            let command = by_password(settings, offered, place, password)?;
            Ok(present(settings, cx, link, command).await?)
        }
        (Login::Tokens(bearer, tokens), Some(shown)) => {
            let way = Way {
                bearer: *bearer,
                place,
            };
            way.check(offered)?;
            let instead = match shown {
                Shown::Instead(instead) => {
                    return Ok(way
                        .show_instead(settings, cx, link, tokens, &instead)
                        .await?);
                }
                Shown::First(token) => match way.show(settings, cx, link, &token).await {
                    // The server may know that it is stale before its time has come. Once, and with another one.
                    Err(fault) if fault.kind == FaultKind::AuthFailed => {
                        let another = tokens.instead_of(&token).await.map_err(bearer::fault)?;
                        Instead {
                            refused: token,
                            token: another,
                        }
                    }
                    outcome => return Ok(outcome?),
                },
            };
            match way.show_instead(settings, cx, link, tokens, &instead).await {
                Err(fault) if matches!(fault.kind, FaultKind::Lost | FaultKind::Bye) => {
                    Err(NotIn::HungUp(instead))
                }
                outcome => Ok(outcome?),
            }
        }
        (Login::Tokens(..), None) => {
            Err(Fault::new(FaultKind::TokenUnavailable, Stage::Login).into())
        }
    }
}

fn by_password(
    settings: &Settings,
    offered: &Capabilities,
    place: InitialResponse,
    password: &SecretString,
) -> Result<Command, Fault> {
    let (user, password) = (settings.user.as_str(), password.expose_secret());
    let plain = offered.has("AUTH=PLAIN");
    let command = match place {
        InitialResponse::InCommand if plain => Command::authenticate_plain(user, password, place),
        _ if !offered.has("LOGINDISABLED") => Command::login(user, password),
        _ if plain => Command::authenticate_plain(user, password, place),
        _ => return Err(Fault::new(FaultKind::NoSafeLogin, Stage::Login)),
    };
    command.map_err(|bad| unsendable(&bad))
}

/// How tokens are shown to this server.
struct Way {
    bearer: Bearer,
    place: InitialResponse,
}

impl Way {
    fn check(&self, offered: &Capabilities) -> Result<(), Fault> {
        let name = self.bearer.name();
        match offered.has(&format!("AUTH={name}")) {
            true => Ok(()),
            false => Err(Fault::saying(
                FaultKind::NoSuchMechanism,
                Stage::Login,
                format!("the server does not offer {name}"),
            )),
        }
    }

    async fn show(
        &self,
        settings: &Settings,
        cx: &Cx,
        link: &mut Link,
        token: &AccessToken,
    ) -> Result<Option<Capabilities>, Fault> {
        let server = (settings.host.as_str(), settings.port);
        let secret = token.secret().expose_secret();
        let user = settings.user.as_str();
        let command = Command::authenticate_bearer(self.bearer, server, user, secret, self.place);
        let command = command.map_err(|bad| unsendable(&bad))?;
        let outcome = present(settings, cx, link, command).await;
        outcome.map_err(|fault| echo::without_token(fault, token.secret()))
    }

    /// The last one that is shown: whatever comes of it may hold either of the two.
    async fn show_instead(
        &self,
        settings: &Settings,
        cx: &Cx,
        link: &mut Link,
        tokens: &Tokens,
        instead: &Instead,
    ) -> Result<Option<Capabilities>, Fault> {
        let outcome = self.show(settings, cx, link, &instead.token).await;
        outcome.map_err(|fault| {
            if fault.kind == FaultKind::AuthFailed {
                tokens.spurn(&instead.token);
            }
            bearer::refused(echo::without_token(fault, instead.refused.secret()))
        })
    }
}

async fn present(
    settings: &Settings,
    cx: &Cx,
    link: &mut Link,
    command: Command,
) -> Result<Option<Capabilities>, Fault> {
    let (status, data) = one(link, cx, command, prompt(settings)).await?;
    if !status.is_ok() {
        return Err(faults::login_refused(&status));
    }
    let volunteered = data.iter().find_map(|data| match data {
        Data::Capability(capabilities) => Some(capabilities.clone()),
        Data::Status(status) => offered_by(status),
        _ => None,
    });
    Ok(offered_by(&status).or(volunteered))
}

fn unsendable(bad: &BadArgument) -> Fault {
    Fault::saying(FaultKind::AuthFailed, Stage::Login, bad.to_string())
}

async fn ask_capabilities(
    settings: &Settings,
    cx: &Cx,
    link: &mut Link,
) -> Result<Capabilities, Fault> {
    let (status, data) = one(link, cx, Command::capability(), prompt(settings)).await?;
    faults::check(&status, cx.stage())?;
    let found = data.into_iter().find_map(|data| match data {
        Data::Capability(capabilities) => Some(capabilities),
        _ => None,
    });
    Ok(found.unwrap_or_default())
}

/// One command by itself.
async fn one(
    link: &mut Link,
    cx: &Cx,
    command: Command,
    patience: Patience,
) -> Result<(Status, Vec<Data>), Fault> {
    let mut landed = link.flight(cx, &[command], patience).await?;
    let status = landed.statuses.pop();
    let status = status.ok_or_else(|| Fault::new(FaultKind::Protocol, cx.stage()))?;
    Ok((status, landed.data))
}

fn prompt(settings: &Settings) -> Patience {
    Patience::same(settings.timeouts.prompt.min(settings.timeouts.socket))
}

fn offered_by(status: &Status) -> Option<Capabilities> {
    status.code.as_ref().and_then(|code| code.capabilities())
}

fn literals(capabilities: &Capabilities) -> Literals {
    if capabilities.has("LITERAL+") {
        Literals::Plus
    } else if capabilities.has("LITERAL-") || capabilities.has("IMAP4REV2") {
        Literals::Minus
    } else {
        Literals::Wait
    }
}
