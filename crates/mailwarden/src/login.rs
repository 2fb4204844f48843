//! `mailwarden login`: a person gives an account to this program, in a browser or by a code.
//!
//! What is asked of the provider, and what is kept, is the business of `secrets`; here is how it looks.

use std::io::IsTerminal as _;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;

use ::audit::{Event, Log};
use secrecy::SecretString;
use secrets::login::{self, Face, LoggedIn, Pasting, TypeIn, Visit, Way};
use secrets::{Standing, Tokens};
use sources::imap::Login;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Stdin};

use crate::cli;
use crate::config::{Config, Store};
use crate::screen::Screen;

/// The name under which the program does nothing else.
pub(crate) const ALONE: &str = "imap-mcp-oauth-bootstrap";

/// An address is not longer.
const MOST_PASTED: u64 = 16 * 1024;

pub(crate) async fn run(
    wanted: &cli::Login,
    config: &Config,
    log: &Log,
    screen: Screen,
) -> anyhow::Result<(ExitCode, &'static str)> {
    let tokens = tokens(wanted, config)?;
    let way = match (wanted.device, wanted.paste) {
        (true, _) => Way::Device,
        (_, true) => Way::Paste,
        _ => Way::Browser,
    };
    let mut teller = Teller {
        screen,
        opening: match wanted.no_browser || way != Way::Browser {
            true => Opening::ByHand,
            false => Opening::ByProgram,
        },
        waits: match way {
            Way::Paste => Waits::ForPaste,
            Way::Browser | Way::Device => Waits::ForBrowser,
        },
        typed: BufReader::new(tokio::io::stdin()),
    };
    let came = login::run(&tokens, way, &mut teller).await;
    let result = match &came {
        Ok(_) => "ok",
        Err(_) => "failed",
    };
    let recorded = log.append(Event::logged_in(&wanted.account, result)).await;
    let logged_in = came?;
    tell(&logged_in, screen);
    if let Err(why) = recorded {
        anyhow::bail!("the login works, and could not be recorded in the audit log: {why}");
    }
    Ok((ExitCode::SUCCESS, "done"))
}

fn tokens(wanted: &cli::Login, config: &Config) -> anyhow::Result<Arc<Tokens>> {
    let mut accounts = config.accounts.iter();
    let Some(account) = accounts.find(|one| one.id.as_str() == wanted.account) else {
        let ids: Vec<&str> = config.accounts.iter().map(|one| one.id.as_str()).collect();
        anyhow::bail!(
            "there is no account '{}'; there are: {}",
            wanted.account,
            ids.join(", ")
        );
    };
    match &account.store {
        Store::Imap(settings) => match &settings.login {
            Login::Tokens(_, tokens) => Ok(Arc::clone(tokens)),
            Login::Password(_) => anyhow::bail!(
                "account '{}' is logged in to by its password, so there is nothing to do; for OAuth2 set type: xoauth2 in its auth",
                account.id
            ),
        },
        Store::Unavailable(_) => anyhow::bail!(
            "a secret of account '{}' cannot be read; `mailwarden config check` says which",
            account.id
        ),
        Store::Maildir(_) | Store::Apple(_) => anyhow::bail!(
            "account '{}' is on this machine; nobody logs in to it",
            account.id
        ),
    }
}

fn tell(logged_in: &LoggedIn, screen: Screen) {
    let LoggedIn {
        account, company, ..
    } = logged_in;
    screen.line(screen.good(format!("account {account} is logged in")));
    let scope = logged_in.granted.as_ref().unwrap_or(&logged_in.requested);
    screen.line(format!("scope: {scope}"));
    let given: Vec<&str> = scope.split_whitespace().collect();
    let asked = logged_in.requested.split_whitespace();
    let missing: Vec<&str> = asked.filter(|word| !given.contains(word)).collect();
    if !missing.is_empty() {
        screen.line(screen.warn(format!("not granted: {}", missing.join(" "))));
    }
    if logged_in.standing == Standing::ReadOnly {
        screen.line("nothing in it can be changed with that: every change is refused");
    }
    if company.strangers > 0 {
        screen.line(screen.warn(format!(
            "{} answer(s) came from somebody else meanwhile, and were turned away",
            company.strangers
        )));
    }
    if company.late > 0 {
        screen.line(screen.warn(format!(
            "the address that the browser was opened with was asked for {} more time(s); if that was not you, somebody \
             on this machine may have got in between: log in again",
            company.late
        )));
    }
    screen.line("programs that serve this account already take it up by themselves");
}

/// Who opens the address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opening {
    ByProgram,
    ByHand,
}

/// What comes after an address was shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Waits {
    ForBrowser,
    ForPaste,
}

struct Teller {
    screen: Screen,
    opening: Opening,
    waits: Waits,
    /// One for all attempts: it may hold the next line already.
    typed: BufReader<Stdin>,
}

impl Face for Teller {
    fn visit(&mut self, visit: &Visit<'_>) {
        let Visit { address, door } = *visit;
        // INVARIANT: what stands in the words of a program, everybody on this machine can read.
        let opened = self.opening == Opening::ByProgram && door.is_some_and(open);
        self.screen.line(match opened {
            true => "a browser opens; if none does, open this address yourself:",
            false => "open this address in a browser:",
        });
        self.screen.line("");
        self.screen.line(address);
        self.screen.line("");
        if self.waits == Waits::ForBrowser {
            self.screen.line(
                "waiting for the browser's answer, five minutes at most. It is on another machine? Ctrl-C, then --paste. \
                 It shows an error? Check oauth_client_id and what is registered for it.",
            );
        }
    }

    fn type_in(&mut self, asked: &TypeIn) {
        let TypeIn {
            address,
            code,
            complete,
        } = asked;
        self.screen.line(format!(
            "on any device, open {address} and type in: {}",
            self.screen.bold(code)
        ));
        if let Some(complete) = complete {
            self.screen
                .line(format!("or open {complete}, which has it already"));
        }
    }

    fn pasted(&mut self) -> Pasting<'_> {
        if std::io::stdin().is_terminal() {
            self.screen.line(
                "the browser ends at an address that it cannot open; paste it here, all of it:",
            );
        }
        Box::pin(async {
            let mut line = String::new();
            let mut typed = (&mut self.typed).take(MOST_PASTED);
            typed.read_line(&mut line).await?;
            Ok(SecretString::from(line))
        })
    }

    fn wrong(&mut self, said: &str) {
        self.screen.line(self.screen.warn(said));
    }
}

/// Whether a program was started that shows it. No shell reads the address, and no variable of ours goes along.
fn open(address: &str) -> bool {
    let (program, words): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        if !set("DISPLAY") && !set("WAYLAND_DISPLAY") {
            return false;
        }
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    for name in secrets::own_variables() {
        command.env_remove(name);
    }
    let started = command
        .args(words)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.is_ok()
}
