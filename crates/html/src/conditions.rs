//! Whether the conditions of style sheets hold: on a screen, in light colours, in a window of a given size.

use cssparser::{ParseError, Parser, Token};

use crate::values::{self, Units};
use crate::world::World;

/// Width and height in pixels.
pub(crate) type Window = (f32, f32);

/// Whether something holds, as far as can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Truth {
    Yes,
    No,
    Unknown,
}

impl Truth {
    fn of(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }

    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Unknown => Self::Unknown,
        }
    }

    fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::No, _) | (_, Self::No) => Self::No,
            (Self::Yes, Self::Yes) => Self::Yes,
            _ => Self::Unknown,
        }
    }

    fn or(self, other: Self) -> Self {
        self.not().and(other.not()).not()
    }
}

/// `@supports`.
pub(crate) fn supports(condition: &str) -> Truth {
    supported(&mut Parser::new(condition))
}

fn supported(parser: &mut Parser<'_>) -> Truth {
    match items(parser, declared) {
        Some(items) => condition(&items).unwrap_or(Truth::Unknown),
        None => Truth::Unknown,
    }
}

/// `display: grid`, or a condition again.
fn declared(parser: &mut Parser<'_>) -> Truth {
    let start = parser.state();
    let name = parser.expect_ident().map(|name| name.to_ascii_lowercase());
    let (Ok(name), Ok(())) = (name, parser.expect_colon()) else {
        parser.reset(&start);
        return supported(parser);
    };
    let from = parser.position();
    while parser.next().is_ok() {}
    let value = parser.slice_from(from).trim().to_ascii_lowercase();
    let foreign = ["-ms-", "-moz-", "-o-", "-apple-", "-khtml-"];
    if name == "-webkit-overflow-scrolling" || foreign.iter().any(|own| name.starts_with(own)) {
        return Truth::No;
    }
    match (name.as_str(), value.as_str()) {
        (
            "display",
            "flex" | "grid" | "block" | "inline-block" | "inline" | "contents" | "none",
        )
        | ("position", "sticky" | "absolute" | "relative" | "fixed")
        | ("object-fit", "cover" | "contain")
        | ("opacity", "0" | "1") => Truth::Yes,
        ("color" | "background-color", value) if values::colour(value).is_some() => Truth::Yes,
        (name, _) if name.starts_with("--") => Truth::Yes,
        _ => Truth::Unknown,
    }
}

/// A list of media queries, such as `screen and (max-width: 600px), print`.
pub(crate) fn applies(query: &str, window: Window) -> bool {
    let query = query.trim();
    let one = |parser: &mut Parser<'_>| Ok::<_, ParseError<()>>(holds(parser, window));
    query.is_empty()
        || Parser::new(query)
            .parse_comma_separated(one)
            .is_ok_and(|found| found.contains(&true))
}

/// Whether a query says one thing in one world and another in the other.
pub(crate) fn depends_on_window(query: &str) -> bool {
    applies(query, World::FIRST.window) != applies(query, World::SECOND.window)
}

/// A word, or what stands in parentheses.
enum Item {
    Word(String),
    Inside(Truth),
}

fn items(
    parser: &mut Parser<'_>,
    inside: impl Fn(&mut Parser<'_>) -> Truth + Copy,
) -> Option<Vec<Item>> {
    let mut found = Vec::new();
    while let Ok(token) = parser.next() {
        found.push(match token.clone() {
            Token::Ident(word) => Item::Word(word.to_ascii_lowercase()),
            Token::ParenthesisBlock => Item::Inside(
                parser
                    .parse_nested_block(|inner| Ok::<_, ParseError<()>>(inside(inner)))
                    .unwrap_or(Truth::Unknown),
            ),
            Token::Function(_) => {
                let _ = parser.parse_nested_block(|inner| {
                    while inner.next().is_ok() {}
                    Ok::<_, ParseError<()>>(())
                });
                Item::Inside(Truth::Unknown)
            }
            _ => return None,
        });
    }
    Some(found)
}

/// `not (a)`, `(a) and (b)`, `(a) or (b)`; `None` for what is no condition.
fn condition(items: &[Item]) -> Option<Truth> {
    match items {
        [Item::Word(not), Item::Inside(one)] if not == "not" => Some(one.not()),
        [Item::Inside(first), rest @ ..] => {
            let mut sum = *first;
            let mut join: Option<&str> = None;
            for pair in rest.chunks(2) {
                let [Item::Word(word), Item::Inside(next)] = pair else {
                    return None;
                };
                if !matches!(word.as_str(), "and" | "or") || join.is_some_and(|join| join != word) {
                    return None;
                }
                join = Some(word);
                sum = if word == "and" {
                    sum.and(*next)
                } else {
                    sum.or(*next)
                };
            }
            Some(sum)
        }
        _ => None,
    }
}

/// One query. What is not understood does not hold, as in browsers.
fn holds(parser: &mut Parser<'_>, window: Window) -> bool {
    let Some(items) = items(parser, |inner| feature(inner, window)) else {
        return false;
    };
    let reserved = |word: &str| matches!(word, "and" | "or" | "not" | "only" | "layer");
    let (prefix, rest) = match items.as_slice() {
        [Item::Word(prefix), rest @ ..]
            if matches!(prefix.as_str(), "not" | "only")
                && matches!(rest.first(), Some(Item::Word(_))) =>
        {
            (prefix.as_str(), rest)
        }
        all => ("", all),
    };
    let found = match rest {
        [Item::Word(kind), rest @ ..] if !reserved(kind) => {
            let kind = Truth::of(matches!(kind.as_str(), "all" | "screen"));
            match rest {
                [] => Some(kind),
                [Item::Word(and), rest @ ..] if and == "and" => {
                    condition(rest).map(|rest| kind.and(rest))
                }
                _ => None,
            }
        }
        rest => condition(rest),
    };
    let Some(found) = found else {
        return false;
    };
    (if prefix == "not" { found.not() } else { found }) == Truth::Yes
}

/// What stands in parentheses: `max-width: 600px`, `width < 600px`, `hover`, or a condition again.
fn feature(parser: &mut Parser<'_>, window: Window) -> Truth {
    let start = parser.state();
    let name = parser.expect_ident().map(|name| name.to_ascii_lowercase());
    let Ok(name) = name else {
        parser.reset(&start);
        if matches!(parser.next(), Ok(Token::ParenthesisBlock)) {
            parser.reset(&start);
            let items = items(parser, |inner| feature(inner, window));
            return items
                .and_then(|items| condition(&items))
                .unwrap_or(Truth::Unknown);
        }
        parser.reset(&start);
        return range(parser, window);
    };
    if name == "not" {
        parser.reset(&start);
        let items = items(parser, |inner| feature(inner, window));
        return items
            .and_then(|items| condition(&items))
            .unwrap_or(Truth::Unknown);
    }
    if parser.is_exhausted() {
        return match name.as_str() {
            "width" | "height" | "color" | "hover" | "pointer" | "aspect-ratio" | "orientation" => {
                Truth::Yes
            }
            "monochrome" | "grid" => Truth::No,
            _ => Truth::Unknown,
        };
    }
    if parser.try_parse(Parser::expect_colon).is_err() {
        parser.reset(&start);
        return range(parser, window);
    }
    let from = parser.position();
    while parser.next().is_ok() {}
    compare(&name, parser.slice_from(from).trim(), window)
}

fn compare(name: &str, value: &str, window: Window) -> Truth {
    let (name, bound) = match name
        .strip_prefix("-webkit-")
        .unwrap_or(name)
        .split_once('-')
    {
        Some(("min", rest)) => (rest, "min"),
        Some(("max", rest)) => (rest, "max"),
        _ => (name, "is"),
    };
    let name = name.strip_prefix("device-").unwrap_or(name);
    let wanted = value.to_ascii_lowercase();
    let own = match name {
        "width" => window.0,
        "height" => window.1,
        "resolution" | "-webkit-device-pixel-ratio" | "pixel-ratio" => 1.0,
        "color" => 8.0,
        "orientation" => {
            let own = if window.1 >= window.0 {
                "portrait"
            } else {
                "landscape"
            };
            return Truth::of(wanted == own);
        }
        "prefers-color-scheme" => return Truth::of(wanted == "light"),
        "prefers-reduced-motion" | "prefers-contrast" => {
            return Truth::of(wanted == "no-preference");
        }
        "hover" | "any-hover" => return Truth::of(wanted == "hover"),
        "pointer" | "any-pointer" => return Truth::of(wanted == "fine"),
        "scripting" => return Truth::of(wanted == "none"),
        "display-mode" => return Truth::of(wanted == "browser"),
        _ => return Truth::Unknown,
    };
    let Some(value) = pixels(value) else {
        return Truth::Unknown;
    };
    Truth::of(match bound {
        "min" => own >= value,
        "max" => own <= value,
        _ => (own - value).abs() < 0.5,
    })
}

/// `width < 600px`, `400px <= width <= 700px`.
fn range(parser: &mut Parser<'_>, window: Window) -> Truth {
    let start = parser.position();
    while parser.next().is_ok() {}
    let text = parser.slice_from(start).to_ascii_lowercase();
    let mut parts: Vec<&str> = Vec::new();
    let mut signs: Vec<&str> = Vec::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['<', '>', '=']) {
        let (before, from) = rest.split_at(at);
        let sign = from.len() - from.trim_start_matches(['<', '>', '=']).len();
        let (sign, after) = from.split_at(sign);
        parts.push(before.trim());
        signs.push(sign);
        rest = after;
    }
    parts.push(rest.trim());
    let own = |part: &str| match part {
        "width" | "device-width" => Some(window.0),
        "height" | "device-height" => Some(window.1),
        other => pixels(other),
    };
    if signs.is_empty() {
        return Truth::Unknown;
    }
    Truth::of(parts.windows(2).zip(&signs).all(|(pair, sign)| {
        let [Some(left), Some(right)] = [pair.first(), pair.get(1)].map(|part| own(part.copied()?))
        else {
            return false;
        };
        match *sign {
            "<" => left < right,
            "<=" => left <= right,
            ">" => left > right,
            ">=" => left >= right,
            _ => (left - right).abs() < 0.5,
        }
    }))
}

fn pixels(value: &str) -> Option<f32> {
    let units = Units {
        font: 16.0,
        root: 16.0,
        ..Units::ONE
    };
    let value = value.trim().to_ascii_lowercase();
    // Resolutions have units of their own.
    let plain = value
        .strip_suffix("dppx")
        .or_else(|| value.strip_suffix('x'))
        .filter(|_| !value.ends_with("px") || value.ends_with("dppx"));
    values::length(plain.unwrap_or(&value), units)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn support() {
        for condition in [
            "(display: grid)",
            "not (made-up: 1px)",
            "(made-up: 1px)",
            "not (-ms-ime-align: auto)",
            "(display: flex) and (color: red)",
            "(-moz-appearance: none) or (display: block)",
            "selector(a > b)",
            "(not (display: bogus))",
            "",
        ] {
            assert_ne!(supports(condition), Truth::No, "{condition}");
        }
        for condition in [
            "not (display: grid)",
            "(-webkit-overflow-scrolling: touch)",
            "(-ms-ime-align: auto)",
            "(display: grid) and (-moz-appearance: none)",
            "not (not (-ms-high-contrast: none))",
        ] {
            assert_eq!(supports(condition), Truth::No, "{condition}");
        }
    }

    #[test]
    fn queries() {
        for query in [
            "",
            "all",
            "screen",
            "only screen and (min-width: 480px)",
            "(max-width: 2000px)",
            "print, screen",
            "not print",
            "(width > 600px)",
            "(400px <= width <= 1000px)",
            "screen and (prefers-color-scheme: light)",
            "not all and (max-width: 100px)",
            "(min-width: 10em) and (orientation: portrait)",
            "(width: 1px) or (min-width: 1px)",
            "((min-width: 1px))",
            "(not (max-width: 10px))",
            "(min-resolution: 1dppx)",
        ] {
            assert!(applies(query, (900.0, 1200.0)), "{query}");
        }
        for query in [
            "print",
            "screen and (max-width: 600px)",
            "(prefers-color-scheme: dark)",
            "not screen",
            "(width < 600px)",
            "speech",
            "bogus",
            "not (foo: bar)",
            "not screen and (max-width: 2000px)",
            "and",
            ",",
            "screen screen",
            "screen (color)",
            "only",
            "(color) and (hover) or (width)",
            "(bogus: 1)",
            "screen and (min-width: 3000px)",
            "(-webkit-min-device-pixel-ratio: 2)",
            "(min-resolution: 2dppx)",
        ] {
            assert!(!applies(query, (900.0, 1200.0)), "{query}");
        }
    }
}
