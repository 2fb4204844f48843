//! What a browser brings back (RFC 6749, section 4.1.2; RFC 9207), and whether it is the answer to our question.

use secrecy::SecretString;
use zeroize::Zeroizing;

use super::super::answer::Code;
use super::super::proof;
use super::super::provider::Issuer;
use super::query;

const LONGEST_CODE: usize = 4096;

/// What an answer has to fit.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub state: SecretString,
    pub issuer: Issuer,
}

#[derive(Debug)]
pub(super) enum Returned {
    Code(SecretString),
    Refused(Code),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NotOurs {
    /// Nobody who does not know the state was asked.
    State,
    /// It knows the state and is somebody else: one provider's answer passed off as another's.
    Issuer,
    /// It knows the state and says nothing.
    Empty,
}

impl Expected {
    pub(super) fn read(&self, query: &str) -> Result<Returned, NotOurs> {
        let fields = query::decode(query).ok_or(NotOurs::State)?;
        let state = single(&fields, "state").map_err(|_| NotOurs::State)?;
        if !state.is_some_and(|state| proof::same(&self.state, state)) {
            return Err(NotOurs::State);
        }
        let said = single(&fields, "iss").map_err(|_| NotOurs::Issuer)?;
        if !self.issuer.accepts(said) {
            return Err(NotOurs::Issuer);
        }
        let error = single(&fields, "error").map_err(|_| NotOurs::Empty)?;
        if let Some(error) = error {
            return Ok(Returned::Refused(Code::parse(error)));
        }
        match single(&fields, "code").map_err(|_| NotOurs::Empty)? {
            Some(code) if is_code(code) => Ok(Returned::Code(code.into())),
            _ => Err(NotOurs::Empty),
        }
    }
}

struct Twice;

/// RFC 6749, section 3.1: no parameter stands there twice.
fn single<'a>(
    fields: &'a [(Zeroizing<String>, Zeroizing<String>)],
    wanted: &str,
) -> Result<Option<&'a str>, Twice> {
    let mut found = fields.iter().filter(|(name, _)| name.as_str() == wanted);
    let first = found.next().map(|(_, value)| value.as_str());
    match found.next() {
        None => Ok(first),
        Some(_) => Err(Twice),
    }
}

fn is_code(text: &str) -> bool {
    let visible = text.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    !text.is_empty() && text.len() <= LONGEST_CODE && visible
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;

    fn expected(issuer: Issuer) -> Expected {
        Expected {
            state: "s3cret".into(),
            issuer,
        }
    }

    #[test]
    fn only_who_knows_the_state_is_heard() {
        let expected = expected(Issuer::Named("https://id.example".to_owned()));
        let Ok(Returned::Code(code)) = expected.read("code=abc&state=s3cret") else {
            panic!("it is the answer");
        };
        assert_eq!(code.expose_secret(), "abc");
        let cases = [
            ("", NotOurs::State),
            ("code=abc", NotOurs::State),
            ("code=abc&state=", NotOurs::State),
            ("code=abc&state=S3cret", NotOurs::State),
            ("code=abc&state=s3cre", NotOurs::State),
            ("code=abc&state=s3crett", NotOurs::State),
            ("code=abc&state=x&state=s3cret", NotOurs::State),
            ("code=abc&state=s3cret&state=s3cret", NotOurs::State),
            ("code=abc&state=%ff", NotOurs::State),
            ("error=access_denied&state=wrong", NotOurs::State),
            ("state=s3cret", NotOurs::Empty),
            ("state=s3cret&code=", NotOurs::Empty),
            ("state=s3cret&code=a&code=b", NotOurs::Empty),
            ("state=s3cret&code=a%0d%0ab", NotOurs::Empty),
            (
                "state=s3cret&code=a&iss=https%3A%2F%2Fevil.example",
                NotOurs::Issuer,
            ),
            ("state=s3cret&code=a&iss=", NotOurs::Issuer),
        ];
        for (query, why) in cases {
            assert_eq!(expected.read(query).unwrap_err(), why, "{query}");
        }
        let said = expected.read("error=access_denied&state=s3cret&error_description=x");
        assert!(matches!(said, Ok(Returned::Refused(Code::AccessDenied))));
    }

    #[test]
    fn an_issuer_that_promised_its_name_has_to_say_it() {
        let expected = expected(Issuer::Demanded("https://id.example".to_owned()));
        let silent = expected.read("code=abc&state=s3cret");
        assert_eq!(silent.unwrap_err(), NotOurs::Issuer);
        let named = expected.read("code=abc&state=s3cret&iss=https%3A%2F%2Fid.example");
        assert!(matches!(named, Ok(Returned::Code(_))));
    }
}
