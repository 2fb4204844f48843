//! How a client gets in: capabilities, ID, LOGIN and AUTHENTICATE, and how Gmail refuses. Knows what is good, and nothing of
//! where it came from.

use super::Account;
use super::session::{Answer, Failed, Login, Session};
use super::syntax::Args;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// As seen in logs of emailjs ("XOAUTH2 invalid credentials") and MailKit ("folder related commands").
const BEFORE: &str = "IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 XYZZY SASL-IR \
    AUTH=XOAUTH2 AUTH=PLAIN AUTH=PLAIN-CLIENTTOKEN AUTH=OAUTHBEARER";
const AFTER: &str = "IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 UIDPLUS COMPRESS=DEFLATE \
    ENABLE MOVE CONDSTORE ESEARCH UTF8=ACCEPT LIST-EXTENDED LIST-STATUS LITERAL- SPECIAL-USE APPENDLIMIT=35651584";

const INVALID: &str = "NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)";
const TOO_MANY: &str = "NO [ALERT] Too many simultaneous connections. (Failure)";
/// What a password gets where two factors are wanted and it is not one made for an application (mutt-wizard, "IMAP alert").
const APP_PASSWORD: &str = "NO [ALERT] Application-specific password required: https://support.google.com/accounts/answer/185833 (Failure)";

/// What an access token is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token {
    Good,
    Expired,
    /// Not for `https://mail.google.com/`. Refused in the same words as an expired one (go-imap, "XOAUTH2 authentication
    /// error"; gmail-oauth2-tools, "imap authentication not working").
    Narrow,
}

/// What a password is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Password {
    /// Made for an application.
    App,
    /// The account's own, which does not do.
    Own,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    In,
    No(&'static str),
}

impl Session {
    pub(super) fn capability(&mut self, args: Args) -> Answer {
        args.end()?;
        self.tell_capabilities();
        Ok(match self.login {
            Login::Stranger => format!("OK Thats all she wrote! {}", self.token()),
            Login::User => "OK Success".to_owned(),
        })
    }

    /// RFC 2971.
    pub(super) fn id(&mut self, mut args: Args) -> Answer {
        args.next()?;
        args.end()?;
        self.untagged(
            "ID (\"name\" \"GImap\" \"vendor\" \"Google, Inc.\" \"support-url\" \"https://support.google.com/mail\" \
             \"version\" \"gmail_imap_simulated\" \"remote-host\" \"127.0.0.1\")",
        );
        Ok("OK Success".to_owned())
    }

    pub(super) fn log_in(&mut self, mut args: Args) -> Answer {
        let (user, password) = (args.text()?, args.text()?);
        args.end()?;
        let verdict = self.account().by_password(&user, &password);
        Ok(self.admit(verdict))
    }

    pub(super) fn authenticate(&mut self, mut args: Args) -> Answer {
        let mechanism = args.word()?;
        let initial = match args.is_empty() {
            true => None,
            false => Some(args.text()?),
        };
        args.end()?;
        if !["PLAIN", "XOAUTH2", "OAUTHBEARER"].contains(&mechanism.as_str()) {
            return Ok(format!("NO Unsupported mechanism {}", self.token()));
        }
        let response = match initial {
            Some(response) => response,
            None => self.challenge("")?,
        };
        if response == "*" {
            return Ok("BAD Authentication cancelled".to_owned());
        }
        let decoded = STANDARD
            .decode(&response)
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        let Some(said) = decoded else {
            return Ok(format!("BAD Invalid SASL argument. {}", self.token()));
        };
        let read = match mechanism.as_str() {
            "PLAIN" => {
                plain(&said).map(|(user, password)| self.account().by_password(user, password))
            }
            "XOAUTH2" => xoauth2(&said).map(|(user, token)| self.account().by_token(user, token)),
            _ => oauthbearer(&said).map(|(user, token)| self.account().by_token(user, token)),
        };
        let Some(verdict) = read else {
            return Ok(format!("BAD Invalid SASL argument. {}", self.token()));
        };
        if verdict == Verdict::No(INVALID) && mechanism != "PLAIN" {
            // The words for XOAUTH2 are in node-imap's tracker, "using xoauth2 authentication failed"; those for OAUTHBEARER
            // are RFC 7628's, for want of a trace.
            let status = if mechanism == "XOAUTH2" {
                "400"
            } else {
                "invalid_token"
            };
            let why = format!(
                "{{\"status\":\"{status}\",\"schemes\":\"Bearer\",\"scope\":\"https://mail.google.com/\"}}"
            );
            // Whatever comes back, the refusal follows: an empty line, or RFC 7628's `AQ==`.
            self.challenge(&STANDARD.encode(why))?;
        }
        Ok(self.admit(verdict))
    }

    /// Asks, and reads the line that comes back.
    fn challenge(&mut self, text: &str) -> Result<String, Failed> {
        self.say(&format!("+ {text}"));
        self.wire.flush()?;
        let line = self.wire.line()?;
        Ok(String::from_utf8_lossy(&line).trim().to_owned())
    }

    /// Lets in whom there is room for.
    fn admit(&mut self, verdict: Verdict) -> String {
        if let Verdict::No(why) = verdict {
            return why.to_owned();
        }
        let mut account = self.account();
        if account.logged_in >= account.store.settings.most_connections {
            return TOO_MANY.to_owned();
        }
        account.logged_in += 1;
        account.most_logged_in = account.most_logged_in.max(account.logged_in);
        let user = account.user.clone();
        drop(account);
        self.login = Login::User;
        self.shared.record.logged_in();
        // Not in the tagged answer (modern-email, "standalone CAPABILITY response").
        self.tell_capabilities();
        format!("OK {user} authenticated (Success)")
    }

    fn tell_capabilities(&mut self) {
        let list = match self.login {
            Login::Stranger => BEFORE,
            Login::User => AFTER,
        };
        let lacks = self.settings().lacks;
        let offered = list.split_whitespace().filter(|one| !lacks.contains(*one));
        let offered: Vec<&str> = offered.collect();
        self.untagged(&format!("CAPABILITY {}", offered.join(" ")));
    }
}

impl Account {
    fn by_password(&self, user: &str, password: &str) -> Verdict {
        let known = self
            .passwords
            .get(password)
            .filter(|_| user.eq_ignore_ascii_case(&self.user));
        match known {
            Some(Password::App) => Verdict::In,
            Some(Password::Own) => Verdict::No(APP_PASSWORD),
            None => Verdict::No(INVALID),
        }
    }

    fn by_token(&self, user: &str, token: &str) -> Verdict {
        let known = self
            .tokens
            .get(token)
            .filter(|_| user.eq_ignore_ascii_case(&self.user));
        match known {
            Some(Token::Good) => Verdict::In,
            Some(Token::Expired | Token::Narrow) | None => Verdict::No(INVALID),
        }
    }
}

/// RFC 4616.
fn plain(said: &str) -> Option<(&str, &str)> {
    let mut parts = said.split('\0');
    let (_, user, password) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some((user, password))
}

/// Google's page on the protocol: `user=…^Aauth=Bearer …^A^A`.
fn xoauth2(said: &str) -> Option<(&str, &str)> {
    let rest = said.strip_prefix("user=")?;
    let (user, rest) = rest.split_once('\x01')?;
    let token = rest
        .strip_prefix("auth=Bearer ")?
        .strip_suffix("\x01\x01")?;
    Some((user, token))
}

/// RFC 7628 section 3.1: `n,a=…,^Ahost=…^Aport=…^Aauth=Bearer …^A^A`.
fn oauthbearer(said: &str) -> Option<(&str, &str)> {
    let (gs2, rest) = said.split_once('\x01')?;
    let user = gs2.strip_prefix("n,a=")?.strip_suffix(',')?;
    let pairs = rest.strip_suffix("\x01\x01")?;
    let token = pairs
        .split('\x01')
        .find_map(|pair| pair.strip_prefix("auth=Bearer "))?;
    Some((user, token))
}
