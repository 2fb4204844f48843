//! `var()` in values, replaced by what it stands for.

use std::borrow::Cow;

use cssparser::{Parser, ToCss as _, Token};

use crate::budget::Work;
use crate::computed::Variables;

/// The value of a custom property that `@property` has given rules of its own.
pub(crate) const REGISTERED: &str = "registered()";

const MOST_STEPS: usize = 64;
const MOST_BYTES: usize = 16 * 1024;

/// What a value came to.
pub(crate) enum Substituted<'v> {
    Value(Cow<'v, str>),
    /// Something that is referred to is not there: the declaration is as if unset.
    Missing,
    /// Too long a way, or through an attribute: nobody can say.
    Unknown,
}

pub(crate) fn substitute<'v>(
    value: &'v str,
    variables: &Variables,
    work: &Work,
) -> Substituted<'v> {
    // Escapes can spell any name, and comments can stand in it; written plainly there are none left.
    let mut text = if value.contains('\\') || value.contains("/*") {
        Cow::Owned(plain(value))
    } else {
        Cow::Borrowed(value)
    };
    for _ in 0..MOST_STEPS {
        work.spend(text.len());
        let Some(found) = reference(&text) else {
            return Substituted::Value(text);
        };
        let stands_for = match found.kind {
            Kind::Variable
                if variables
                    .get(found.name)
                    .is_some_and(|value| value == REGISTERED) =>
            {
                return Substituted::Unknown;
            }
            Kind::Variable => variables.get(found.name).cloned(),
            Kind::Other => return Substituted::Unknown,
        };
        let Some(put) = stands_for.or_else(|| found.fallback.map(str::to_owned)) else {
            return Substituted::Missing;
        };
        let next = format!("{} {put} {}", found.before, found.after);
        if next.len() > MOST_BYTES {
            return Substituted::Unknown;
        }
        text = Cow::Owned(next);
    }
    Substituted::Unknown
}

enum Kind {
    Variable,
    /// `attr()` and `env()`.
    Other,
}

struct Reference<'t> {
    kind: Kind,
    before: &'t str,
    name: &'t str,
    fallback: Option<&'t str>,
    after: &'t str,
}

/// The last reference of a value: it holds no other.
fn reference(text: &str) -> Option<Reference<'_>> {
    if !text.contains('(') {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let variable = lower.rfind("var(").map(|at| (at, Kind::Variable, 4));
    let attribute = lower.rfind("attr(").map(|at| (at, Kind::Other, 5));
    let environment = lower.rfind("env(").map(|at| (at, Kind::Other, 4));
    let attribute = attribute.or(environment);
    let (at, kind, len) = match (variable, attribute) {
        (Some(one), Some(two)) => {
            if one.0 > two.0 {
                one
            } else {
                two
            }
        }
        (one, two) => one.or(two)?,
    };
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
        // `attr(data-x type(*))`
        name: name.split_ascii_whitespace().next().unwrap_or_default(),
        fallback,
        after: after.strip_prefix(')').unwrap_or(after),
    })
}

fn plain(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    flatten(&mut Parser::new(value), &mut out);
    out
}

fn flatten(parser: &mut Parser<'_>, out: &mut String) {
    while let Ok(token) = parser.next_including_whitespace_and_comments() {
        let token = token.clone();
        let close = match &token {
            Token::Function(name) => {
                out.push_str(name);
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
                out.push_str(word);
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
