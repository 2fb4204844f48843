//! Whose tokens a Dovecot takes: checked against keys on disk, without asking anybody.

use super::Dovecot;
use crate::oidc::Oidc;
use std::fmt::Display;
use std::path::PathBuf;

pub(super) const FILE: &str = "oauth2.conf";
pub(super) const MECHANISMS: &str = " xoauth2 oauthbearer";
/// For the databases of passwords, which would otherwise be asked whether a refused token is one.
pub(super) const NO_TOKENS: &str = "  mechanisms = plain login\n";

/// An issuer, where its keys are, and for whom its tokens must be.
#[derive(Clone, Debug)]
pub(super) struct Trust {
    issuer: String,
    keys: PathBuf,
    audience: String,
}

impl Trust {
    pub(super) fn of(oidc: &Oidc) -> Self {
        Self {
            issuer: oidc.issuer(),
            keys: oidc.keys_dir(),
            audience: oidc.audience().to_owned(),
        }
    }

    /// The file that the token database is configured with.
    pub(super) fn file(&self) -> String {
        let Self {
            issuer,
            keys,
            audience,
        } = self;
        // QUIRK: Dovecot 2.3 has no setting for the audience; what it calls the active attribute may be any claim.
        format!(
            "introspection_mode = local\n\
             local_validation_key_dict = fs:posix:prefix={}/\n\
             issuers = {issuer}\n\
             username_attribute = email\n\
             active_attribute = aud\n\
             active_value = {audience}\n",
            keys.display()
        )
    }
}

pub(super) fn passdb(dir: impl Display) -> String {
    format!(
        "passdb {{\n  driver = oauth2\n  mechanisms = xoauth2 oauthbearer\n  args = {dir}/{FILE}\n}}\n"
    )
}

impl Dovecot {
    /// Starts again, so that keys seen before are looked for again: after [`Oidc::replace_key`], tokens signed earlier are
    /// refused. Connections are cut.
    pub fn forget_keys(&mut self) {
        self.restart();
    }
}
