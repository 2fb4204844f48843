//! The strict reading of an address field, which policies judge by.
//!
//! It accepts what RFC 5322 section 3.4 lets a sender generate, display names with dots in them
//! (section 4.1), and a dot at the end of a domain. It repairs nothing: a field that other programs
//! may read differently has no reading here.

use std::str;

use mail::MailAddress;

use super::parse::{Lexer, Token, TokenKind, is_gap, unfolded};

/// The addresses of a field in their order, those of groups included, and how many groups it has.
#[derive(Default)]
pub(crate) struct List {
    pub addresses: Vec<MailAddress>,
    pub groups: usize,
}

/// `None` for a field that is not well formed.
pub(crate) fn read(value: &[u8]) -> Option<List> {
    let value = unfolded(value);
    let text = str::from_utf8(&value).ok()?;
    if text.chars().any(|c| c.is_control() && c != '\t') {
        return None;
    }
    let tokens = Lexer::new(&value).tokens();
    let tokens: Vec<Token<'_>> = tokens.into_iter().filter(|one| !is_gap(one)).collect();
    let mut list = List::default();
    let mut rest = tokens.as_slice();
    loop {
        rest = list.take_element(rest)?;
        match rest.split_first() {
            None => return Some(list),
            Some((comma, after)) if comma.kind == TokenKind::Comma => rest = after,
            Some(_) => return None,
        }
    }
}

impl List {
    /// Reads a mailbox or a group. Returns the tokens behind it.
    fn take_element<'t, 'a>(&mut self, tokens: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
        let is_separator = |one: &Token<'_>| {
            matches!(
                one.kind,
                TokenKind::Comma | TokenKind::Colon | TokenKind::Semicolon
            )
        };
        let end = tokens.iter().position(is_separator);
        let (element, after) = tokens.split_at(end.unwrap_or(tokens.len()));
        match after.first().map(|one| one.kind) {
            Some(TokenKind::Colon) => self.take_group(element, after),
            _ => {
                self.take_mailbox(element)?;
                Some(after)
            }
        }
    }

    fn take_mailbox(&mut self, element: &[Token<'_>]) -> Option<()> {
        self.addresses.push(mailbox(element)?);
        Some(())
    }

    /// `tokens` begin with the colon.
    fn take_group<'t, 'a>(
        &mut self,
        name: &[Token<'_>],
        tokens: &'t [Token<'a>],
    ) -> Option<&'t [Token<'a>]> {
        self.groups += 1;
        let (colon, tokens) = tokens.split_first()?;
        let end = tokens
            .iter()
            .position(|one| one.kind == TokenKind::Semicolon)?;
        let (inside, after) = (tokens.get(..end)?, tokens.get(end + 1..)?);
        if name.is_empty() || !is_phrase(name, colon.start) {
            return None;
        }
        if !inside.is_empty() {
            for element in inside.split(|one| one.kind == TokenKind::Comma) {
                self.take_mailbox(element)?;
            }
        }
        Some(after)
    }
}

/// `addr-spec` or `[display-name] "<" addr-spec ">"`.
fn mailbox(tokens: &[Token<'_>]) -> Option<MailAddress> {
    let Some(open) = tokens.iter().position(|one| one.kind == TokenKind::Open) else {
        return addr_spec(tokens);
    };
    let (name, rest) = tokens.split_at(open);
    let [open, spec @ .., close] = rest else {
        return None;
    };
    if close.kind != TokenKind::Close || !is_phrase(name, open.start) {
        return None;
    }
    addr_spec(spec)
}

/// Words, and single dots that stand right behind a word. `end` is where the next token begins.
fn is_phrase(tokens: &[Token<'_>], end: usize) -> bool {
    let starts = tokens.iter().skip(1).map(|next| next.start);
    let mut previous: Option<&Token<'_>> = None;
    tokens.iter().zip(starts.chain([end])).all(|(token, next)| {
        let attached_to = previous
            .replace(token)
            .filter(|previous| previous.end == token.start);
        match token.kind {
            TokenKind::Atom if memchr::memmem::find(&token.text, b"=?").is_some() => {
                is_encoded_word(&token.text) && attached_to.is_none() && token.end < next
            }
            TokenKind::Atom | TokenKind::Quoted => true,
            TokenKind::Dot => {
                let is_last = next == end;
                attached_to.is_some_and(|word| word.kind != TokenKind::Dot)
                    && !(is_last && token.end == end)
            }
            _ => false,
        }
    })
}

/// RFC 2047 section 2, with any text in it: some senders leave dots there.
fn is_encoded_word(atom: &[u8]) -> bool {
    let mut parts = atom.split(|byte| *byte == b'?');
    let opens = parts.next() == Some(b"=");
    let has_charset = parts
        .next()
        .is_some_and(|charset| !charset.is_empty() && !charset.contains(&b'.'));
    let has_encoding = parts
        .next()
        .is_some_and(|encoding| matches!(encoding, b"B" | b"b" | b"Q" | b"q"));
    let has_text = parts.next().is_some();
    let closes = parts.next() == Some(b"=") && parts.next().is_none();
    opens && has_charset && has_encoding && has_text && closes
}

/// Blanks and comments within an address are obsolete syntax, and no search for the address would
/// find it.
fn addr_spec(tokens: &[Token<'_>]) -> Option<MailAddress> {
    let is_contiguous = tokens
        .windows(2)
        .all(|pair| matches!(pair, [one, next] if one.end == next.start));
    if !is_contiguous {
        return None;
    }
    let at = tokens.iter().position(|one| one.kind == TokenKind::At)?;
    let (local, domain) = (tokens.get(..at)?, tokens.get(at + 1..)?);
    let local = match local {
        // A backslash is left out of the text: no search for the address would find it.
        [quoted]
            if quoted.kind == TokenKind::Quoted
                && quoted.text.len() + 2 == quoted.end - quoted.start =>
        {
            quoted.text.to_vec()
        }
        dotted => dot_atom(dotted)?,
    };
    let domain = match domain {
        [literal] if literal.kind == TokenKind::Literal => literal.text.to_vec(),
        [dotted @ .., dot] if dot.kind == TokenKind::Dot => dot_atom(dotted)?,
        dotted => dot_atom(dotted)?,
    };
    MailAddress::new(str::from_utf8(&local).ok()?, str::from_utf8(&domain).ok()?)
}

fn dot_atom(tokens: &[Token<'_>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let fits = match token.kind {
            // RFC 2047 section 5: no encoded word stands in an address.
            TokenKind::Atom => place % 2 == 0 && memchr::memmem::find(&token.text, b"=?").is_none(),
            TokenKind::Dot => place % 2 == 1,
            _ => false,
        };
        if !fits {
            return None;
        }
        out.extend_from_slice(&token.text);
    }
    (tokens.len() % 2 == 1).then_some(out)
}
