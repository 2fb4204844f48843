//! The keychain of macOS, or the Credential Manager of Windows.

use std::ffi::OsStr;
use std::sync::Arc;

use keyring_core::api::CredentialStoreApi as _;
use keyring_core::{Entry, Error};
use secrecy::zeroize::Zeroizing;
use secrecy::{ExposeSecret as _, SecretString};

#[cfg(target_os = "macos")]
use apple_native_keyring_store::keychain::Store as System;
#[cfg(windows)]
use windows_native_keyring_store::Store as System;

use super::{SERVICE, no_entry};
use crate::SecretRef;
use crate::store::{NoSecret, text};

/// The keyring of whoever runs this program.
#[derive(Debug)]
pub struct Keyring {
    system: Arc<System>,
}

/// There is one for each user.
impl PartialEq for Keyring {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Keyring {}

impl Keyring {
    /// No program is looked for here.
    pub fn new(_: Option<&OsStr>) -> Result<Self, NoSecret> {
        let system = System::new().map_err(|_| unasked("it does not answer"))?;
        Ok(Self { system })
    }

    pub(in crate::store) fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        match self.entry(wanted)?.get_secret() {
            Ok(secret) => text::whole(&Zeroizing::new(secret), "the entry of the keyring"),
            Err(error) => Err(told(&error, wanted)),
        }
    }

    pub(in crate::store) fn write(
        &self,
        which: &SecretRef,
        secret: &SecretString,
    ) -> Result<(), NoSecret> {
        text::line_of(secret)?;
        let kept = self.entry(which)?.set_password(secret.expose_secret());
        kept.map_err(|error| told(&error, which))
    }

    fn entry(&self, which: &SecretRef) -> Result<Entry, NoSecret> {
        let entry = self.system.build(SERVICE, &which.path(), None);
        entry.map_err(|error| told(&error, which))
    }
}

/// INVARIANT: the error itself is not shown; some hold what was found.
fn told(error: &Error, wanted: &SecretRef) -> NoSecret {
    match error {
        Error::NoEntry => no_entry(wanted),
        Error::NoStorageAccess(_) => unasked("it is locked, or denies access to this program"),
        Error::TooLong(..) => unasked("the secret is longer than it can keep"),
        _ => unasked("it does not answer"),
    }
}

fn unasked(why: &str) -> NoSecret {
    NoSecret::new(
        format!("the keyring could not be asked: {why}"),
        "unlock it, allow this program to use it, or choose another backend",
    )
}
