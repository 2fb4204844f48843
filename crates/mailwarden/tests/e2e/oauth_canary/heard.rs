//! Everything that was said, by the place where it was heard, and the search for secrets in it. Runs nothing.

use std::collections::BTreeSet;

use crate::canary::trail::Trail;

/// A token that leaks is seldom whole: so many characters in a row are enough to tell.
const STRETCH: usize = 24;

#[derive(Default)]
pub(super) struct Heard(Vec<(String, Trail)>);

impl Heard {
    pub(super) fn add(&mut self, place: &str, bytes: &[u8]) {
        self.0.push((place.to_owned(), Trail::of(bytes)));
    }

    /// Places whose name begins so, and in which the word was heard.
    pub(super) fn places(&self, beginning: &str, word: &str) -> usize {
        let places = self.0.iter();
        let places = places.filter(|(place, _)| place.starts_with(beginning));
        places.filter(|(_, trail)| trail.holds(word)).count()
    }

    /// Secrets, or stretches of them, and where they were heard.
    pub(super) fn find(&self, secrets: &[String]) -> Vec<String> {
        let pieces: BTreeSet<String> = secrets.iter().flat_map(|one| pieces(one)).collect();
        let mut found = Vec::new();
        for (place, trail) in &self.0 {
            let held = pieces.iter().filter(|piece| trail.holds(piece));
            found.extend(held.map(|piece| format!("{piece} in {place}")));
        }
        found
    }
}

/// The whole, and of a long one its beginning, its middle and its end.
fn pieces(secret: &str) -> Vec<String> {
    let letters: Vec<char> = secret.chars().filter(char::is_ascii_alphanumeric).collect();
    let Some(last) = letters.len().checked_sub(STRETCH).filter(|last| *last > 0) else {
        return vec![secret.to_owned()];
    };
    let stretches = [0, last / 2, last].map(|from| letters[from..from + STRETCH].iter().collect());
    stretches.to_vec()
}

#[test]
fn a_planted_secret_is_found_wherever_it_is_and_however_it_is_spelled() {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    let token = "eyJhbGciOiJFUzI1NiJ9.eyJlbWFpbCI6ImFsaWNlIn0.8-q_Zk3xV7mPw2NtRb5yHc9sLd4fGj6a";
    let password = "hunter-canary-11";
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect();
    let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for secret in [token, password] {
        let half = secret.get(secret.len() / 2..).unwrap();
        let mut spelled: Vec<String> = vec![
            secret.to_owned(),
            STANDARD.encode(secret),
            STANDARD.encode(format!("user=alice\x01auth=Bearer {secret}\x01\x01")),
            URL_SAFE_NO_PAD.encode(secret),
            hex(secret),
            percent(secret),
            format!("{secret:?}"),
        ];
        if secret == token {
            spelled.push(half.to_owned());
            spelled.push(STANDARD.encode(half));
        }
        for text in spelled {
            let mut heard = Heard::default();
            heard.add("stdout", b"nothing at all");
            heard.add("stderr", format!("TRACE said {text} and more").as_bytes());
            let found = heard.find(&[secret.to_owned()]);
            assert!(!found.is_empty(), "{text}");
            assert!(
                found.iter().all(|one| one.ends_with("in stderr")),
                "{found:?}"
            );
        }
    }
    let mut heard = Heard::default();
    heard.add("stdout", b"eyJhbGciOiJub25lIn0 and hunter-11-canary");
    let found = heard.find(&[token.to_owned(), password.to_owned()]);
    assert!(found.is_empty(), "{found:?}");
}
