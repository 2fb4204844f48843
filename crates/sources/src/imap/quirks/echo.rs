//! Servers that say back what they were told, at once or later. Words of theirs that hold the password, or a part of a token
//! that they were shown, are not passed on.
//!
//! Who: any that put the rejected line into their `BAD`, as some proxies and logging servers do. Known by: the secret itself,
//! which is looked for as it is, as a quoted string spells it, and in base64, as SASL sends it. Done and told: the fault goes
//! on without the server's words.

use std::collections::HashSet;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::general_purpose::{NO_PAD, STANDARD_NO_PAD};
use base64::engine::{DecodePaddingMode, GeneralPurpose};
use mail::Fault;
use secrecy::{ExposeSecret as _, SecretString};

use crate::imap::settings::{Login, Settings};

/// The fault without what the server said, if that would tell.
pub(in crate::imap) fn silence(fault: Fault, settings: &Settings) -> Fault {
    match &settings.login {
        Login::Password(password) => without(fault, |said| {
            tells(said, password.expose_secret().as_bytes())
        }),
        Login::Tokens(_, tokens) => {
            let given = tokens.given();
            given
                .iter()
                .fold(fault, |fault, token| without_token(fault, token.secret()))
        }
    }
}

/// The same, of this token.
pub(in crate::imap) fn without_token(fault: Fault, token: &SecretString) -> Fault {
    without(fault, |said| {
        tells_part(said, token.expose_secret().as_bytes())
    })
}

fn without(fault: Fault, tells: impl Fn(&[u8]) -> bool) -> Fault {
    let tells = |said: &mail::Raw| tells(said.bytes());
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

/// A token is long and random: so much of it in a row is there for no other reason.
const PART: usize = 16;

/// As [`tells`], of any part: servers cut what they say back, and a token is as good as told by most of it.
fn tells_part(said: &[u8], token: &[u8]) -> bool {
    let parts: HashSet<&[u8]> = token.windows(PART.min(token.len()).max(1)).collect();
    let holds = |text: &[u8]| {
        let mut windows = text.windows(PART.min(token.len()).max(1));
        windows.any(|window| parts.contains(window))
    };
    holds(&without_escapes(said)) || decoded(said).any(|text| holds(&text))
}

/// What stretches of base64 stand for, from each of four beginnings: what stands before them may be no part of it.
fn decoded(said: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let lenient = NO_PAD
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let engine = GeneralPurpose::new(&STANDARD, lenient);
    let belongs = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/".contains(byte);
    let runs = said.split(move |byte| !belongs(byte));
    let long = runs.filter(|run| run.len() >= PART);
    long.flat_map(|run| (0..4).filter_map(|from| run.get(from..)))
        .filter_map(move |run| {
            // One character alone is no byte.
            let whole = run.len() - usize::from(run.len() % 4 == 1);
            engine.decode(run.get(..whole)?).ok()
        })
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
    fn a_part_of_a_token_is_seen_wherever_it_was_cut() {
        let token = "ya29.a0AfB_byC-3xV7mPw2NtRb5yHc9sLd4fGj6aQe1uXo8iKz0TqWr";
        let sasl = STANDARD.encode(format!("user=alice\x01auth=Bearer {token}\x01\x01"));
        for said in [
            token.to_owned(),
            format!("token {} has expired", token.get(..20).unwrap()),
            format!("...{}", token.get(30..).unwrap()),
            format!("AUTHENTICATE XOAUTH2 {sasl}"),
            format!("AUTHENTICATE XOAUTH2 {}", sasl.get(..70).unwrap()),
            format!("you said {}, really", sasl.get(41..).unwrap()),
            STANDARD.encode(token.get(7..30).unwrap()),
        ] {
            assert!(tells_part(said.as_bytes(), token.as_bytes()), "{said}");
        }
        for said in [
            "",
            "your token has expired",
            "see https://support.example.com/mail/accounts/answer/78754",
            token.get(..9).unwrap(),
        ] {
            assert!(!tells_part(said.as_bytes(), token.as_bytes()), "{said}");
        }
        assert!(tells_part(b"it was short!", b"short"));
        assert!(!tells_part(b"it was", b""));
    }

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
