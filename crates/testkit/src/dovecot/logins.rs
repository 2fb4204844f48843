//! How logins came out, by the server's own log. Watches no connection.

use super::Dovecot;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// A login that was let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    /// As the server calls it: `PLAIN`, `XOAUTH2`, `OAUTHBEARER`.
    pub method: String,
}

/// An access token that was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Whom the client said it was.
    pub user: String,
    /// In the server's words, such as `Token has expired`.
    pub reason: String,
}

impl Dovecot {
    /// Logins that were let in, once there are `least` of them: the log is written behind the answers.
    pub fn logins(&self, least: usize) -> Vec<Login> {
        self.await_lines(least, login)
    }

    /// Access tokens that were refused, once there are `least` of them.
    pub fn rejections(&self, least: usize) -> Vec<Rejection> {
        self.await_lines(least, rejection)
    }

    fn await_lines<T>(&self, least: usize, read: fn(&str) -> Option<T>) -> Vec<T> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            let found: Vec<T> = log.lines().filter_map(read).collect();
            if found.len() >= least {
                return found;
            }
            assert!(Instant::now() < deadline, "fewer than {least} in:\n{log}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn login(line: &str) -> Option<Login> {
    let (_, said) = line.split_once(" imap-login: Info: Login: user=<")?;
    let (user, said) = said.split_once(">, method=")?;
    let (method, _) = said.split_once(',')?;
    Some(Login {
        user: user.to_owned(),
        method: method.to_owned(),
    })
}

fn rejection(line: &str) -> Option<Rejection> {
    let (_, said) = line.split_once(" auth: Info: oauth2(")?;
    let (user, said) = said.split_once(',')?;
    let (_, reason) = said.split_once("oauth2 failed: Local validation failed: ")?;
    Some(Rejection {
        user: user.to_owned(),
        reason: reason.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_log_are_told_apart() {
        let accepted = "Nov 16 08:22:26 imap-login: Info: Login: user=<alice>, method=XOAUTH2, rip=127.0.0.1, lip=127.0.0.1";
        let refused = "Nov 16 08:22:22 auth: Info: oauth2(alice,127.0.0.1,<FKEd>): oauth2 failed: Local validation failed: Token has expired";
        assert_eq!(login(accepted).unwrap().method, "XOAUTH2");
        assert_eq!(rejection(refused).unwrap().reason, "Token has expired");
        assert_eq!((login(refused), rejection(accepted)), (None, None));
    }
}
