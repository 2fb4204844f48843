//! The addresses of a header field (RFC 5322 sections 3.4 and 4.4), and how malformed ones are
//! recovered.
//!
//! Recovery is deterministic. An unclosed quote, comment or bracket is an ordinary character. `<`
//! without `>` ends at the next separator. Text behind `>` that holds an `@` is a mailbox of its
//! own, and so is each word with an `@` where brackets are missing. What is no address keeps the
//! text that was written, and has no domain.

use std::borrow::Cow;
use std::collections::BTreeSet;

use mail::Raw;

use super::{Entry, Form, Mailbox, is_domain, is_ordinary};

/// What the field holds, in its order. The second value is whether the field was read to its end.
pub(super) fn entries(value: &[u8], max_entries: usize) -> (Vec<Entry>, bool) {
    let value = unfolded(value);
    let tokens = Lexer::new(&value).tokens();
    let mut parser = Parser {
        source: &value,
        entries: Vec::new(),
        group: GroupState::Outside,
        piece: Piece::default(),
    };
    for token in tokens {
        if parser.entries.len() >= max_entries {
            parser.entries.truncate(max_entries);
            return (parser.entries, false);
        }
        parser.take(token);
    }
    parser.end_piece();
    parser.end_group();
    let whole = parser.entries.len() <= max_entries;
    parser.entries.truncate(max_entries);
    (parser.entries, whole)
}

/// Line ends removed (RFC 5322 section 2.2.3). Blanks stay: they count within quotes.
pub(super) fn unfolded(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut bytes = value.trim_ascii().iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\r' if bytes.peek() == Some(&b'\n') => {}
            b'\n' => {}
            _ => out.push(byte),
        }
    }
    out
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    Space,
    Comment,
    Quoted,
    /// A domain literal with its brackets.
    Literal,
    /// A run of bytes without a meaning of their own.
    Atom,
    /// A quoted pair outside of quotes, or a byte that opens something which is never closed.
    Stray,
    At,
    Dot,
    Comma,
    Semicolon,
    Colon,
    Open,
    Close,
}

#[derive(Clone, Debug)]
pub(super) struct Token<'a> {
    pub kind: TokenKind,
    pub start: usize,
    pub end: usize,
    /// Without quotes, parentheses and backslashes.
    pub text: Cow<'a, [u8]>,
}

const SPECIALS: &[u8] = b" \t\"()[]\\@.,;:<>";

pub(super) struct Lexer<'a> {
    source: &'a [u8],
    at: usize,
    /// No quote that opens from here on is closed.
    quotes_end: bool,
    /// Parentheses that are never closed; known once one was found.
    unclosed: Option<BTreeSet<usize>>,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(source: &'a [u8]) -> Self {
        Self {
            source,
            at: 0,
            quotes_end: false,
            unclosed: None,
        }
    }

    pub(super) fn tokens(mut self) -> Vec<Token<'a>> {
        let mut found: Vec<Token<'a>> = Vec::new();
        while let Some(byte) = self.source.get(self.at).copied() {
            let follows_at = found
                .iter()
                .rev()
                .find(|token| token.kind != TokenKind::Space)
                .is_some_and(|token| token.kind == TokenKind::At);
            found.push(self.token(byte, follows_at));
        }
        found
    }

    fn token(&mut self, byte: u8, follows_at: bool) -> Token<'a> {
        let next = self.at + 1;
        let here = self.source.get(self.at..next).unwrap_or_default();
        let single = |kind| (kind, next, Cow::Borrowed(here));
        let (kind, end, text) = match byte {
            b' ' | b'\t' => self.run(TokenKind::Space, |byte| matches!(byte, b' ' | b'\t')),
            b'"' => self.quoted().unwrap_or(single(TokenKind::Stray)),
            b'(' => self.comment().unwrap_or(single(TokenKind::Stray)),
            b'[' if follows_at => self.literal().unwrap_or(single(TokenKind::Stray)),
            b'\\' => match self.source.get(next) {
                Some(escaped) => (TokenKind::Stray, next + 1, Cow::Owned(vec![*escaped])),
                None => single(TokenKind::Stray),
            },
            b'[' | b']' | b')' => single(TokenKind::Stray),
            b'@' => single(TokenKind::At),
            b'.' => single(TokenKind::Dot),
            b',' => single(TokenKind::Comma),
            b';' => single(TokenKind::Semicolon),
            b':' => single(TokenKind::Colon),
            b'<' => single(TokenKind::Open),
            b'>' => single(TokenKind::Close),
            _ => self
                .encoded_word()
                .unwrap_or_else(|| self.run(TokenKind::Atom, |byte| !SPECIALS.contains(&byte))),
        };
        let start = std::mem::replace(&mut self.at, end);
        Token {
            kind,
            start,
            end,
            text,
        }
    }

    fn run(&self, kind: TokenKind, belongs: fn(u8) -> bool) -> (TokenKind, usize, Cow<'a, [u8]>) {
        let rest = self.source.get(self.at..).unwrap_or_default();
        let length = rest.iter().take_while(|byte| belongs(**byte)).count();
        let text = rest.get(..length).unwrap_or_default();
        (kind, self.at + length, Cow::Borrowed(text))
    }

    /// An encoded word is one atom, although some senders leave `@` and dots in it (RFC 2047
    /// section 5).
    fn encoded_word(&self) -> Option<(TokenKind, usize, Cow<'a, [u8]>)> {
        let source = self.source.get(self.at..)?;
        let rest = source.strip_prefix(b"=?")?;
        let mut marks = rest.iter().enumerate().filter(|(_, byte)| **byte == b'?');
        let (_, (second, _)) = (marks.next()?, marks.next()?);
        let (third, _) = marks.next()?;
        let word = rest.get(..third + 2)?;
        let fits = word.ends_with(b"?=")
            && !word
                .iter()
                .any(|byte| SPECIALS.contains(byte) && !b"@.".contains(byte))
            && !word.get(..second)?.contains(&b'@');
        let length = 2 + word.len();
        let text = source.get(..length)?;
        fits.then(|| (TokenKind::Atom, self.at + length, Cow::Borrowed(text)))
    }

    fn quoted(&mut self) -> Option<(TokenKind, usize, Cow<'a, [u8]>)> {
        if self.quotes_end {
            return None;
        }
        let mut text = Vec::new();
        let mut at = self.at + 1;
        while let Some(byte) = self.source.get(at).copied() {
            at += 1;
            match byte {
                b'"' => return Some((TokenKind::Quoted, at, Cow::Owned(text))),
                b'\\' => {
                    text.extend(self.source.get(at));
                    at += 1;
                }
                _ => text.push(byte),
            }
        }
        self.quotes_end = true;
        None
    }

    fn comment(&mut self) -> Option<(TokenKind, usize, Cow<'a, [u8]>)> {
        if self
            .unclosed
            .as_ref()
            .is_some_and(|all| all.contains(&self.at))
        {
            return None;
        }
        let mut text = Vec::new();
        let mut open = Vec::new();
        let mut at = self.at;
        while let Some(byte) = self.source.get(at).copied() {
            match byte {
                b'(' => open.push(at),
                b')' => {
                    open.pop();
                    if open.is_empty() {
                        return Some((TokenKind::Comment, at + 1, Cow::Owned(text)));
                    }
                }
                b'\\' => {
                    at += 1;
                    text.extend(self.source.get(at));
                }
                _ => text.push(byte),
            }
            at += 1;
        }
        self.unclosed.get_or_insert_default().extend(open);
        None
    }

    fn literal(&self) -> Option<(TokenKind, usize, Cow<'a, [u8]>)> {
        let rest = self.source.get(self.at + 1..)?;
        let stops = |byte: &u8| b"[]\\<>@\" \t".contains(byte);
        let length = rest.iter().take(256).position(stops)?;
        let end = self.at + length + 2;
        let text = self.source.get(self.at..end)?;
        text.ends_with(b"]")
            .then_some((TokenKind::Literal, end, Cow::Borrowed(text)))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GroupState {
    Outside,
    Inside,
}

/// How far the brackets have been read (RFC 5322 section 4.4: `<@relay,@relay:a@b>`).
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Route {
    /// Nothing but blanks and comments came.
    #[default]
    Unknown,
    Open,
    /// There is none, or a colon has ended it.
    Ended,
}

/// One element of the list while it is read.
#[derive(Default)]
struct Piece<'a> {
    /// Before the brackets, or all of it.
    words: Vec<Token<'a>>,
    angle: Option<Vec<Token<'a>>>,
    /// Between `<` and `>`.
    in_angle: bool,
    route: Route,
    after: Vec<Token<'a>>,
    repaired: bool,
}

struct Parser<'a> {
    source: &'a [u8],
    entries: Vec<Entry>,
    group: GroupState,
    piece: Piece<'a>,
}

impl<'a> Parser<'a> {
    fn take(&mut self, token: Token<'a>) {
        if self.piece.in_angle {
            self.take_in_angle(token);
            return;
        }
        match token.kind {
            TokenKind::Comma => self.end_piece(),
            TokenKind::Semicolon => {
                self.end_piece();
                self.end_group();
            }
            TokenKind::Colon if self.group == GroupState::Outside && self.piece.angle.is_none() => {
                let name = phrase(&self.piece.words);
                if name.is_empty() {
                    // The comments before it are no part of what follows.
                    self.piece.words.clear();
                    self.piece.repaired = true;
                    return;
                }
                self.piece = Piece::default();
                self.entries.push(Entry::GroupStart(Raw::new(name)));
                self.group = GroupState::Inside;
            }
            TokenKind::Open => {
                if let Some(angle) = self.piece.angle.take() {
                    self.second_angle(angle);
                }
                self.piece.angle = Some(Vec::new());
                self.piece.in_angle = true;
                self.piece.route = Route::Unknown;
            }
            TokenKind::Close => self.piece.repaired = true,
            _ if self.piece.angle.is_some() => self.piece.after.push(token),
            _ => self.piece.words.push(token),
        }
    }

    fn take_in_angle(&mut self, token: Token<'a>) {
        let angle = self.piece.angle.get_or_insert_default();
        let route = self.piece.route;
        self.piece.route = match token.kind {
            TokenKind::At if route == Route::Unknown => Route::Open,
            TokenKind::Colon => Route::Ended,
            _ if route == Route::Unknown && !is_gap(&token) => Route::Ended,
            _ => route,
        };
        match token.kind {
            TokenKind::Close => self.piece.in_angle = false,
            TokenKind::Open if route == Route::Unknown => {
                self.piece.route = route;
                self.piece.repaired = true;
            }
            TokenKind::Comma if route == Route::Open => angle.push(token),
            TokenKind::Open | TokenKind::Comma | TokenKind::Semicolon => {
                self.piece.repaired = true;
                self.piece.in_angle = false;
                self.take(token);
            }
            _ => angle.push(token),
        }
    }

    /// `<a@b> name <c@d>` lacks a comma. Brackets without an `@`, as in `<news> name <c@d>`, belong
    /// to the name.
    fn second_angle(&mut self, angle: Vec<Token<'a>>) {
        let mut after = std::mem::take(&mut self.piece.after);
        if holds_at(&angle) {
            self.piece.repaired = true;
            self.piece.angle = Some(angle);
            self.end_piece();
        } else if let (Some(first), Some(last)) = (angle.first(), angle.last()) {
            let bracket = |at, text: &'static [u8]| Token {
                kind: TokenKind::Stray,
                start: at,
                end: at,
                text: Cow::Borrowed(text),
            };
            let (open, close) = (bracket(first.start, b"<"), bracket(last.end, b">"));
            self.piece.words.push(open);
            self.piece.words.extend(angle);
            self.piece.words.push(close);
        }
        self.piece.words.append(&mut after);
        self.piece.repaired = true;
    }

    fn end_group(&mut self) {
        if self.group == GroupState::Inside {
            self.entries.push(Entry::GroupEnd);
        }
        self.group = GroupState::Outside;
    }

    fn end_piece(&mut self) {
        let mut piece = std::mem::take(&mut self.piece);
        let mut form = if piece.repaired || piece.in_angle {
            Form::Repaired
        } else {
            Form::WellFormed
        };
        let Some(angle) = piece.angle else {
            self.unbracketed(&piece.words, form);
            return;
        };
        let follows = holds_at(&piece.after);
        if follows || holds_at(&piece.words) || piece.after.iter().any(|token| !is_gap(token)) {
            form = Form::Repaired;
        }
        if !follows && let Some(first) = piece.after.first() {
            let space = space_after(first);
            piece.words.push(space);
            piece.words.append(&mut piece.after);
        }
        let spec = self.spec(&angle, form);
        let mut name = phrase(&piece.words);
        if name.is_empty() {
            name = comments(piece.words.iter().chain(&angle));
        }
        self.push(name, spec);
        if follows {
            self.unbracketed(&piece.after, Form::Repaired);
        }
    }

    /// Text without brackets: an address, a name alone, or words of which some hold an `@`.
    fn unbracketed(&mut self, tokens: &[Token<'a>], form: Form) {
        if !holds_at(tokens) {
            let spec = self.spec(tokens, form);
            self.push(comments(tokens.iter()), spec);
            return;
        }
        let runs = runs(tokens);
        let is_single = runs.len() == 1;
        let form = if is_single { form } else { Form::Repaired };
        let mut words: Vec<Token<'a>> = Vec::new();
        for run in &runs {
            if holds_at(run) {
                let mut name = phrase(&std::mem::take(&mut words));
                if name.is_empty() && is_single {
                    name = comments(tokens.iter());
                }
                let spec = self.spec(run, form);
                self.push(name, spec);
            } else {
                words.extend(run.iter().cloned());
                words.extend(run.last().map(space_after));
            }
        }
        let rest = phrase(&words);
        if let Some(Entry::Mailbox(mailbox)) = self.entries.last_mut()
            && !rest.is_empty()
        {
            let name = mailbox.display_name.take().unwrap_or_default();
            let joined = [name.bytes(), b" ", &rest].concat();
            mailbox.display_name = Some(Raw::copied(joined.trim_ascii()));
        }
    }

    fn push(&mut self, name: Vec<u8>, spec: AddrSpec) {
        if name.is_empty() && spec.local_part.is_empty() {
            return;
        }
        self.entries.push(Entry::Mailbox(Mailbox {
            display_name: (!name.is_empty()).then(|| Raw::new(name)),
            local_part: Raw::new(spec.local_part),
            domain: spec.domain.map(Raw::new),
            form: spec.form,
        }));
    }

    /// An addr-spec (RFC 5322 section 3.4.1), perhaps behind an obsolete route.
    fn spec(&self, tokens: &[Token<'_>], mut form: Form) -> AddrSpec {
        let tokens = trimmed(tokens);
        let route = tokens
            .iter()
            .position(|token| token.kind == TokenKind::Colon);
        let starts_with_at = tokens
            .first()
            .is_some_and(|token| token.kind == TokenKind::At);
        let tokens = match route {
            Some(colon) if starts_with_at => {
                form = Form::Repaired;
                trimmed(tokens.get(colon + 1..).unwrap_or_default())
            }
            _ => tokens,
        };
        let Some(at) = tokens.iter().rposition(|token| token.kind == TokenKind::At) else {
            let local = dotted(tokens);
            return AddrSpec {
                form: if local.is_some() {
                    form
                } else {
                    Form::Repaired
                },
                local_part: local.unwrap_or_else(|| self.written(tokens)),
                domain: None,
            };
        };
        let (before, after) = tokens.split_at(at);
        let after = after.get(1..).unwrap_or_default();
        let written = self.written(before);
        let Some((domain, domain_form)) = domain(after).filter(|_| !written.is_empty()) else {
            return AddrSpec {
                local_part: self.written(tokens),
                domain: None,
                form: Form::Repaired,
            };
        };
        let local = dotted(before);
        if local.is_none() || domain_form == Form::Repaired {
            form = Form::Repaired;
        }
        AddrSpec {
            local_part: local.unwrap_or(written),
            domain: Some(domain),
            form,
        }
    }

    /// As it stands in the field.
    fn written(&self, tokens: &[Token<'_>]) -> Vec<u8> {
        let tokens = trimmed(tokens);
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else {
            return Vec::new();
        };
        let text = self.source.get(first.start..last.end);
        text.unwrap_or_default().to_vec()
    }
}

struct AddrSpec {
    local_part: Vec<u8>,
    domain: Option<Vec<u8>>,
    form: Form,
}

fn holds_at(tokens: &[Token<'_>]) -> bool {
    tokens.iter().any(|token| token.kind == TokenKind::At)
}

pub(super) fn is_gap(token: &Token<'_>) -> bool {
    matches!(token.kind, TokenKind::Space | TokenKind::Comment)
}

fn trimmed<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let start = tokens.iter().position(|token| !is_gap(token));
    let end = tokens.iter().rposition(|token| !is_gap(token));
    match (start, end) {
        (Some(start), Some(end)) => tokens.get(start..=end).unwrap_or_default(),
        _ => &[],
    }
}

fn space_after(token: &Token<'_>) -> Token<'static> {
    Token {
        kind: TokenKind::Space,
        start: token.end,
        end: token.end,
        text: Cow::Borrowed(b" "),
    }
}

/// The words of a text. Blanks and comments around `@` and `.` separate nothing (RFC 5322 section
/// 4.4).
fn runs<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut found = Vec::new();
    let mut start = None;
    let mut previous: Option<&Token<'_>> = None;
    let mut gap = false;
    let joins = |token: &Token<'_>| matches!(token.kind, TokenKind::At | TokenKind::Dot);
    for (index, token) in tokens.iter().enumerate() {
        if is_gap(token) {
            gap = true;
            continue;
        }
        if gap && !joins(token) && previous.is_some_and(|previous| !joins(previous)) {
            found.extend(start.and_then(|start| tokens.get(start..index)));
            start = None;
        }
        start = start.or(Some(index));
        previous = Some(token);
        gap = false;
    }
    found.extend(start.and_then(|start| tokens.get(start..)));
    found.into_iter().map(trimmed).collect()
}

/// Words with dots between them, unquoted; `None` for anything else.
fn dotted(tokens: &[Token<'_>]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut word_is_next = true;
    for token in tokens.iter().filter(|token| !is_gap(token)) {
        let fits = match token.kind {
            TokenKind::Atom => {
                word_is_next && is_ordinary(&token.text) && !holds_encoded_word(&token.text)
            }
            TokenKind::Quoted => word_is_next && is_ordinary(&token.text),
            TokenKind::Dot => !word_is_next,
            _ => false,
        };
        if !fits {
            return None;
        }
        out.extend_from_slice(&token.text);
        word_is_next = !word_is_next;
    }
    (!word_is_next).then_some(out)
}

fn holds_encoded_word(text: &[u8]) -> bool {
    memchr::memmem::find(text, b"=?").is_some()
}

/// A domain without comments, and whether it needed a repair: a dot at its end says nothing (RFC
/// 1034 section 3.1).
fn domain(tokens: &[Token<'_>]) -> Option<(Vec<u8>, Form)> {
    let tokens = trimmed(tokens);
    if let [literal] = tokens
        && literal.kind == TokenKind::Literal
    {
        return is_domain(&literal.text).then(|| (literal.text.to_vec(), Form::WellFormed));
    }
    let (tokens, form) = match tokens.split_last() {
        Some((last, rest)) if last.kind == TokenKind::Dot => (trimmed(rest), Form::Repaired),
        _ => (tokens, Form::WellFormed),
    };
    if tokens.iter().any(|token| token.kind == TokenKind::Quoted) {
        return None;
    }
    let text = dotted(tokens)?;
    is_domain(&text).then_some((text, form))
}

/// The words of a display name or group name, a blank where there were several.
fn phrase(tokens: &[Token<'_>]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    for token in tokens {
        match token.kind {
            TokenKind::Comment => {}
            TokenKind::Space if out.ends_with(b" ") => {}
            TokenKind::Space => out.push(b' '),
            _ => out.extend_from_slice(&token.text),
        }
    }
    out.trim_ascii().to_vec()
}

fn comments<'t>(tokens: impl Iterator<Item = &'t Token<'t>>) -> Vec<u8> {
    let found = tokens.filter(|token| token.kind == TokenKind::Comment);
    let texts: Vec<&[u8]> = found.map(|token| token.text.trim_ascii()).collect();
    texts.join(&b' ').trim_ascii().to_vec()
}
