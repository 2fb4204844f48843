//! The tokens of a caller: out of the secret store, or as digests that nobody can log in with.

use std::collections::BTreeMap;

use ::secrets::SecretRef;
use jiff::Timestamp;
use secrecy::ExposeSecret as _;

use super::Variables;
use super::callers::{CallerAuth, Token, TokenDigest};
use super::reader::Reader;
use super::secrets::{PLACEHOLDER, SecretStore, report_missing};
use super::yaml::{Node, Value};

/// Shorter ones can be guessed.
const LEAST_TOKEN: usize = 16;
/// All are compared at each request.
const MOST_TOKENS: usize = 16;

/// What reading tokens takes, and those of all callers so far.
pub(super) struct Tokens<'a> {
    pub store: &'a SecretStore,
    pub variables: &'a Variables,
    pub now: Timestamp,
    /// In which line each was met first.
    pub lines: BTreeMap<TokenDigest, usize>,
}

type Entry<'n> = Option<&'n (Node, Node)>;

impl Tokens<'_> {
    /// Of a shared_token caller.
    pub(super) fn read(
        &mut self,
        auth: &Node,
        [one, several]: [Entry<'_>; 2],
        reader: &mut Reader<'_>,
    ) -> Option<CallerAuth> {
        let tokens = match (one, several) {
            (None, None) => {
                let what = "a shared_token caller needs 'token_secret_ref' or 'tokens'";
                let hint = "add it: such as token_secret_ref: secret://callers/invoice-agent/token";
                reader.problem(auth, what, hint);
                return None;
            }
            (Some(_), Some((key, _))) => {
                let what = "'tokens' and 'token_secret_ref' stand beside each other";
                reader.problem(key, what, "move the reference into the list");
                return None;
            }
            (Some((_, given)), None) => {
                let unavailable = reader.unavailable_count();
                match self.secret(given, reader) {
                    Some(digest) => vec![self.token(given, digest, None, reader)],
                    // Without its token the caller can prove nothing, so the server refuses every
                    // request in its name.
                    None if reader.unavailable_count() > unavailable => Vec::new(),
                    None => return None,
                }
            }
            (None, Some((_, list))) => self.list(list, reader)?,
        };
        let tokens: Option<Vec<Token>> = tokens.into_iter().collect();
        tokens.map(CallerAuth::SharedToken)
    }

    fn list(&mut self, list: &Node, reader: &mut Reader<'_>) -> Option<Vec<Option<Token>>> {
        let Value::List(items) = &list.value else {
            return None;
        };
        if items.is_empty() {
            reader.warn(list, "there is no token, so this caller can prove nothing");
        }
        if items.len() > MOST_TOKENS {
            let what = format!("a caller has at most {MOST_TOKENS} tokens");
            reader.problem(list, what, "remove those that nobody uses any more");
        }
        let mut tokens: Vec<Option<Token>> = Vec::new();
        for item in items {
            let unavailable = reader.unavailable_count();
            let read = self.item(item, reader);
            if read.is_some() || reader.unavailable_count() == unavailable {
                tokens.push(read);
            }
        }
        let fresh = |token: &Token| token.is_fresh(self.now);
        if !tokens.is_empty()
            && !tokens.iter().flatten().any(fresh)
            && tokens.iter().all(Option::is_some)
        {
            reader.warn(
                list,
                "every token of this caller has expired, so it can prove nothing",
            );
        }
        Some(tokens)
    }

    fn item(&mut self, item: &Node, reader: &mut Reader<'_>) -> Option<Token> {
        let expires = match item.get("expires") {
            None => None,
            Some(given) => Some(self.expires(given, reader)?),
        };
        match (item.get("token_secret_ref"), item.get("sha256")) {
            (Some(given), None) => {
                let digest = self.secret(given, reader)?;
                self.token(given, digest, expires, reader)
            }
            (None, Some(given)) => {
                let Some(digest) = TokenDigest::parse(given.text()?) else {
                    // It may be the token itself, so it is not repeated.
                    let what =
                        "'sha256' is 64 hexadecimal digits in lower case, the digest of a token";
                    reader.problem(
                        given,
                        what,
                        "`mailwarden config token` prints one beside a new token",
                    );
                    return None;
                };
                self.token(given, digest, expires, reader)
            }
            (Some(_), Some(given)) => {
                let what = "a token is a reference or a digest, and this is both";
                reader.problem(given, what, "remove one of them");
                None
            }
            (None, None) => {
                let what = "a token needs 'token_secret_ref' or 'sha256'";
                reader.problem(
                    item,
                    what,
                    "`mailwarden config token` makes a token and its digest",
                );
                None
            }
        }
    }

    fn expires(&self, given: &Node, reader: &mut Reader<'_>) -> Option<Timestamp> {
        let Ok(expires) = given.text()?.parse::<Timestamp>() else {
            let what = "'expires' is no date and time";
            reader.problem(given, what, "write it as 2027-01-01T00:00:00Z");
            return None;
        };
        if expires <= self.now {
            reader.warn(given, "this token has expired, and proves nothing");
        }
        Some(expires)
    }

    /// The digest of a token that lies in the secret store.
    fn secret(&self, given: &Node, reader: &mut Reader<'_>) -> Option<TokenDigest> {
        let wanted = SecretRef::parse(given.text()?, "secret://callers/invoice-agent/token");
        let wanted = match wanted {
            Ok(wanted) => wanted,
            Err(none) => {
                reader.problem(given, none.what, none.hint);
                return None;
            }
        };
        match self.store.secret(&wanted, self.variables)? {
            Ok(token) if token.expose_secret().chars().count() < LEAST_TOKEN => {
                let what = "this token has fewer than 16 characters, and could be guessed";
                reader.problem(
                    given,
                    what,
                    "make a longer one: `mailwarden config token` does",
                );
                None
            }
            Ok(token) => Some(TokenDigest::of(token.expose_secret())),
            Err(none) => {
                report_missing(given, "this caller's token", none, self.variables, reader);
                None
            }
        }
    }

    fn token(
        &mut self,
        given: &Node,
        digest: TokenDigest,
        expires: Option<Timestamp>,
        reader: &mut Reader<'_>,
    ) -> Option<Token> {
        if is_well_known(digest) {
            let what = "this is the token or the digest of an example, which is public";
            let hint = "make a new one: `mailwarden config token` prints a token and its digest";
            reader.problem(given, what, hint);
            return None;
        }
        if let Some(line) = self.lines.insert(digest, given.at.line) {
            reader.problem(
                given,
                format!("this token is also that of the caller in line {line}"),
                "give each caller a token of its own, so that they can be told apart",
            );
        }
        Some(Token { digest, expires })
    }
}

/// Tokens that stand in examples or come to mind first. With a line feed they are what `echo` hashes.
const WELL_KNOWN_TOKENS: [&str; 34] = [
    "",
    "0",
    "123456",
    "12345678",
    "abc",
    "abc123",
    "admin",
    "bearer",
    "changeme",
    "change-me",
    "change_me",
    "default",
    "demo",
    "example",
    "foo",
    "hello",
    "hello world",
    "letmein",
    "mailwarden",
    "null",
    "passwd",
    "password",
    "placeholder",
    "qwerty",
    "replace-me",
    "root",
    "secret",
    "string",
    "test",
    "test-token",
    "token",
    "xxx",
    "your-token",
    PLACEHOLDER,
];

/// Whether a token with this digest proves nothing: it is a well-known word, or the digest is a placeholder.
fn is_well_known(digest: TokenDigest) -> bool {
    let repeats = digest.0.windows(2).all(|pair| pair.first() == pair.last());
    let is_word = |word: &&str| {
        let spellings = [(*word).to_owned(), word.to_uppercase(), format!("{word}\n")];
        spellings.iter().any(|text| TokenDigest::of(text) == digest)
    };
    repeats || WELL_KNOWN_TOKENS.iter().any(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_of_well_known_words_are_recognized() {
        let known = |digest: &str| is_well_known(TokenDigest::parse(digest).unwrap());
        // SHA-256 of "test", of "test" with a line feed, of nothing, of "password".
        for digest in [
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
            "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8",
            &"0".repeat(64),
            &"f".repeat(64),
        ] {
            assert!(known(digest), "{digest}");
        }
        assert!(!is_well_known(TokenDigest::of("mw_5d1f9c0a77e2b4c8")));
    }
}
