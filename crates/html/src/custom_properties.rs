//! Custom properties, and `var()` in values replaced by what it may stand for.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use cssparser::{BasicParseErrorKind, Parser, ToCss as _, Token};

use crate::budget::Budget;

/// Values that one value may come to, when its variables have several.
const MAX_VARIANTS: usize = 8;
const MAX_STEPS: usize = 64;
const MAX_VALUE_BYTES: usize = 16 * 1024;

/// What a custom property may be. An empty list: it is not set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum CustomValue {
    Values(Vec<Rc<str>>),
    Any,
}

/// The custom properties of an element, by their names.
pub(crate) type CustomProperties = HashMap<Rc<str>, CustomValue>;

/// Whether a custom property may have a value, which may be almost anything.
pub(crate) fn is_custom_value(value: &str) -> bool {
    let mut parser = Parser::new(value);
    while let Ok(token) = parser.next() {
        if matches!(token, Token::Semicolon | Token::Delim('!')) {
            return false;
        }
    }
    // What is nested too deeply to be looked at is left to the property that refers to it.
    let error = Parser::new(value).expect_no_error_token().err();
    error.is_none_or(|error| error.kind == BasicParseErrorKind::TooManyNestedBlocks)
}

/// What a value came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Substituted<'v> {
    /// It refers to nothing.
    Plain(Cow<'v, str>),
    /// Each as good as the others; `None` where a reference leads nowhere, so that the declaration
    /// is as if unset.
    Variants(Vec<Option<String>>),
    Any,
}

pub(crate) fn substitute<'v>(
    value: &'v str,
    customs: &CustomProperties,
    budget: &Budget,
) -> Substituted<'v> {
    // Escapes can spell any name, and comments can stand in it; written plainly there are none
    // left.
    let text = if value.contains('\\') || value.contains("/*") {
        Cow::Owned(plain(value))
    } else {
        Cow::Borrowed(value)
    };
    if calls_function(&text) {
        return Substituted::Any;
    }
    if !text.contains('(') || reference(&text).is_none() {
        return Substituted::Plain(text);
    }
    let mut done: Vec<Option<String>> = Vec::new();
    let mut waiting: Vec<String> = vec![text.into_owned()];
    for _ in 0..MAX_STEPS {
        let Some(text) = waiting.pop() else {
            return Substituted::Variants(done);
        };
        budget.spend(text.len());
        if text.len() > MAX_VALUE_BYTES || waiting.len() + done.len() > MAX_VARIANTS {
            return Substituted::Any;
        }
        let Some(found) = reference(&text) else {
            done.push(Some(text));
            continue;
        };
        // What looks like a reference may be a part of a string, an address or another name.
        if found.kind == SubstitutionFunction::Other
            || text.contains(['"', '\''])
            || text.to_ascii_lowercase().contains("url(")
            || found.before.ends_with(is_name)
            || !found.name.starts_with("--")
            || found.name.len() == 2
            || !found.name.chars().all(is_name)
            || !is_custom_value(&text)
            || !found.fallback.is_none_or(is_custom_value)
        {
            return Substituted::Any;
        }
        let mut put = |value: &str| {
            waiting.push(format!("{} {value} {}", found.before, found.after));
        };
        match customs.get(found.name) {
            Some(CustomValue::Any) => return Substituted::Any,
            Some(CustomValue::Values(values)) if !values.is_empty() => {
                values.iter().for_each(|value| put(value));
            }
            _ => match found.fallback {
                Some(fallback) => put(fallback),
                None => done.push(None),
            },
        }
    }
    Substituted::Any
}

fn is_name(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '-' | '_') || !char.is_ascii()
}

/// Functions that stand for any value: `if()`, `inherit()`, `--name()`.
fn calls_function(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut from = 0;
    while let Some(at) = lower.get(from..).and_then(|rest| rest.find('(')) {
        let before = lower.get(..from + at).unwrap_or_default();
        let start = before.trim_end_matches(is_name).len();
        let name = before.get(start..).unwrap_or_default();
        if name.starts_with("--")
            || ["if", "inherit", "first-valid", "random-item", "toggle"].contains(&name)
        {
            return true;
        }
        from += at + 1;
    }
    false
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SubstitutionFunction {
    Variable,
    /// `attr()` and `env()`.
    Other,
}

struct Reference<'t> {
    kind: SubstitutionFunction,
    before: &'t str,
    name: &'t str,
    fallback: Option<&'t str>,
    after: &'t str,
}

/// The last reference of a value: it holds no other.
fn reference(text: &str) -> Option<Reference<'_>> {
    let lower = text.to_ascii_lowercase();
    let variable = lower
        .rfind("var(")
        .map(|at| (at, SubstitutionFunction::Variable, 4));
    let attribute = lower
        .rfind("attr(")
        .map(|at| (at, SubstitutionFunction::Other, 5));
    let environment = lower
        .rfind("env(")
        .map(|at| (at, SubstitutionFunction::Other, 4));
    let (at, kind, len) = [variable, attribute, environment]
        .into_iter()
        .flatten()
        .max_by_key(|(at, ..)| *at)?;
    let before = text.get(..at)?;
    let rest = text.get(at + len..)?;
    let mut depth = 0_usize;
    let end = rest
        .char_indices()
        .find(|(_, char)| match char {
            '(' => {
                depth += 1;
                false
            }
            ')' if depth == 0 => true,
            ')' => {
                depth -= 1;
                false
            }
            _ => false,
        })
        .map_or(rest.len(), |(end, _)| end);
    let (inside, after) = rest.split_at(end);
    let (name, fallback) = match inside.split_once(',') {
        Some((name, fallback)) => (name, Some(fallback)),
        None => (inside, None),
    };
    Some(Reference {
        kind,
        before,
        name: name.trim(),
        fallback,
        after: after.strip_prefix(')').unwrap_or(after),
    })
}

/// A name without escapes and comments.
pub(crate) fn plain(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    flatten(&mut Parser::new(value), &mut out);
    out
}

fn flatten(parser: &mut Parser<'_>, out: &mut String) {
    while let Ok(token) = parser.next_including_whitespace_and_comments() {
        let token = token.clone();
        let close = match &token {
            Token::Function(name) => {
                let _ = cssparser::serialize_identifier(name, out);
                out.push('(');
                ')'
            }
            Token::ParenthesisBlock => {
                out.push('(');
                ')'
            }
            Token::SquareBracketBlock => {
                out.push('[');
                ']'
            }
            Token::CurlyBracketBlock => {
                out.push('{');
                '}'
            }
            Token::Ident(word) => {
                let _ = cssparser::serialize_identifier(word, out);
                continue;
            }
            Token::Comment(_) => {
                out.push(' ');
                continue;
            }
            other => {
                out.push_str(&other.to_css_string());
                continue;
            }
        };
        // A block that is nested too deeply is left out.
        let _ = parser.parse_nested_block(|inner| {
            flatten(inner, out);
            Ok::<_, cssparser::ParseError<()>>(())
        });
        out.push(close);
    }
}
