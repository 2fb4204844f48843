//! Servers that say back what they were told. Words of theirs that hold the password, or the token that they were shown, are
//! not passed on.
//!
//! Who: any that put the rejected line into their `BAD`, as some proxies and logging servers do. Known by: the secret itself,
//! which is looked for as it is, as a quoted string spells it, and in base64, as SASL sends it. Done and told: the fault goes
//! on without the server's words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use mail::Fault;
use secrecy::{ExposeSecret as _, SecretString};

use crate::imap::settings::{Login, Settings};

/// The fault without what the server said, if that would tell.
pub(in crate::imap) fn silence(fault: Fault, settings: &Settings) -> Fault {
    match &settings.login {
        Login::Password(password) => without(fault, password),
        // Looked at when it was shown: it is another one by the hour.
        Login::Tokens(..) => fault,
    }
}

/// The same, of this secret.
pub(in crate::imap) fn without(fault: Fault, secret: &SecretString) -> Fault {
    let tells = |said: &mail::Raw| tells(said.bytes(), secret.expose_secret().as_bytes());
    match fault.said.as_ref().is_some_and(tells) {
        true => Fault {
            said: None,
            ..fault
        },
        false => fault,
    }
}

fn tells(said: &[u8], password: &[u8]) -> bool {
    let plain = without_escapes(said);
    let holds = |text: &[u8], word: &[u8]| {
        !word.is_empty() && text.windows(word.len()).any(|part| part == word)
    };
    holds(&plain, &without_escapes(password))
        || (0..3).any(|before| holds(said, encoded(password, before).as_bytes()))
}

/// RFC 9051, section 4.3: in a quoted string `"` and `\` have a `\` before them.
fn without_escapes(text: &[u8]) -> Vec<u8> {
    text.iter().copied().filter(|byte| *byte != b'\\').collect()
}

/// What base64 always shows of these bytes when so many others stand before them, whatever those are.
fn encoded(bytes: &[u8], before: usize) -> String {
    let whole = [[0; 2].get(..before).unwrap_or_default(), bytes].concat();
    let text = STANDARD_NO_PAD.encode(&whole);
    let partly = usize::from(whole.len() % 3 != 0);
    let end = text.len() - partly;
    let begin = [0, 2, 3].get(before).copied().unwrap_or_default();
    text.get(begin..end).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn a_password_is_seen_in_what_a_server_says() {
        let password = r#"p+\"ass/word="#;
        let sasl =
            |before: &str, after: &str| STANDARD.encode(format!("{before}{password}{after}"));
        for said in [
            format!("no such password: {password}"),
            format!(
                r#"LOGIN alice "{}""#,
                password.replace('\\', r"\\").replace('"', r#"\""#)
            ),
            sasl("\0alice\0", ""),
            sasl("\0bob\0", ""),
            sasl("\0carol\0", ""),
            sasl("a", "bc"),
            sasl("", ""),
            format!("AUTHENTICATE PLAIN {} is wrong", sasl("\0alice\0", "")),
        ] {
            assert!(tells(said.as_bytes(), password.as_bytes()), "{said}");
        }
        for said in [
            "",
            "wrong password",
            "an app password is required",
            "pass word",
        ] {
            assert!(!tells(said.as_bytes(), password.as_bytes()), "{said}");
        }
    }
}
