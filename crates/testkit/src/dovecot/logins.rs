//! How logins came out, by the server's own log. Watches no connection.

use super::Dovecot;

/// A login that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    pub user: String,
    /// As the server calls it: `PLAIN`, `XOAUTH2`, `OAUTHBEARER`.
    pub method: String,
    pub verdict: Verdict,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Accepted,
    /// Written when the client has left, not before.
    Refused,
}

impl Dovecot {
    /// Logins so far, in the order in which they were written down.
    pub fn logins(&self) -> Vec<Login> {
        self.log().lines().filter_map(read).collect()
    }
}

fn read(line: &str) -> Option<Login> {
    let (_, said) = line.split_once("imap-login: ")?;
    let verdict = if said.starts_with("Login: ") {
        Verdict::Accepted
    } else if said.contains("auth failed") {
        Verdict::Refused
    } else {
        return None;
    };
    let field = |name: &str, end: &str| {
        let (_, rest) = said.split_once(name)?;
        Some(rest.split_once(end)?.0.to_owned())
    };
    Some(Login {
        user: field("user=<", ">")?,
        method: field("method=", ",")?,
        verdict,
    })
}
