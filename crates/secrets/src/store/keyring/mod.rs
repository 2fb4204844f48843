//! The keyring of the operating system: service `mailwarden`, and the reference without `secret://` as the user.
//!
//! macOS and Windows bind an entry to the program that made it, so there we ask ourselves. The Secret Service of other systems makes no
//! difference between programs, so there its own `secret-tool` is asked, and this program is spared a hundred crates.

#[cfg(any(target_os = "macos", windows))]
mod native;
#[cfg(not(any(target_os = "macos", windows)))]
mod secret_tool;

#[cfg(any(target_os = "macos", windows))]
pub use native::Keyring;
#[cfg(not(any(target_os = "macos", windows)))]
pub use secret_tool::Keyring;

#[cfg(any(target_os = "macos", windows))]
use super::NoSecret;
#[cfg(any(target_os = "macos", windows))]
use crate::SecretRef;

const SERVICE: &str = "mailwarden";

#[cfg(any(target_os = "macos", windows))]
fn no_entry(wanted: &SecretRef) -> NoSecret {
    let user = wanted.path();
    NoSecret::absent(
        format!("the keyring has no entry with service {SERVICE} and username {user}"),
        hint(&user),
    )
}

#[cfg(target_os = "macos")]
fn hint(user: &str) -> String {
    format!("add it: security add-generic-password -s {SERVICE} -a {user} -w")
}

#[cfg(windows)]
fn hint(user: &str) -> String {
    format!("add it to the Credential Manager: cmdkey /generic:{user}.{SERVICE} /user:{user} /pass")
}

#[cfg(not(any(target_os = "macos", windows)))]
fn hint(user: &str) -> String {
    format!(
        "add it: secret-tool store --label='{SERVICE}: {user}' service {SERVICE} username {user}"
    )
}
