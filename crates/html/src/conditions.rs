//! Whether the conditions of style sheets hold for a reader: on a screen, in light colors, in a
//! window of 800 to 1400 by 600 to 1200 pixels.

use cssparser::{ParseError, Parser, Token};

use crate::custom_properties::is_custom_value;
use crate::truth::Truth;
use crate::values::{self, Units};

const WIDTH: Range = Range(800.0, 1_400.0);
const HEIGHT: Range = Range(600.0, 1_200.0);
/// A screen is as wide as its window at least.
const SCREEN: Range = Range(800.0, 8_000.0);
const RESOLUTION: Range = Range(1.0, 4.0);

/// From, to.
#[derive(Clone, Copy, Debug)]
struct Range(f32, f32);

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
        ("color" | "background-color", value) if values::color(value).is_some() => Truth::Yes,
        (name, value) if name.starts_with("--") && name.len() > 2 && is_custom_value(value) => {
            Truth::Yes
        }
        _ => Truth::Unknown,
    }
}

/// A list of media queries, such as `screen and (max-width: 600px), print`.
pub(crate) fn media(query: &str) -> Truth {
    let query = query.trim();
    if query.is_empty() {
        return Truth::Yes;
    }
    let one = |parser: &mut Parser<'_>| Ok::<_, ParseError<()>>(holds(parser));
    match Parser::new(query).parse_comma_separated(one) {
        Ok(found) => found.into_iter().fold(Truth::No, Truth::or),
        Err(_) => Truth::Unknown,
    }
}

/// A word, or what stands in parentheses.
enum ConditionTerm {
    Word(String),
    Inside(Truth),
}

fn items(
    parser: &mut Parser<'_>,
    inside: impl Fn(&mut Parser<'_>) -> Truth + Copy,
) -> Option<Vec<ConditionTerm>> {
    let mut found = Vec::new();
    while let Ok(token) = parser.next() {
        found.push(match token.clone() {
            Token::Ident(word) => ConditionTerm::Word(word.to_ascii_lowercase()),
            Token::ParenthesisBlock => ConditionTerm::Inside(
                parser
                    .parse_nested_block(|inner| Ok::<_, ParseError<()>>(inside(inner)))
                    .unwrap_or(Truth::Unknown),
            ),
            Token::Function(_) => {
                let _ = parser.parse_nested_block(|inner| {
                    while inner.next().is_ok() {}
                    Ok::<_, ParseError<()>>(())
                });
                ConditionTerm::Inside(Truth::Unknown)
            }
            _ => return None,
        });
    }
    Some(found)
}

/// `not (a)`, `(a) and (b)`, `(a) or (b)`; `None` for what is no condition.
fn condition(items: &[ConditionTerm]) -> Option<Truth> {
    match items {
        [ConditionTerm::Word(not), ConditionTerm::Inside(one)] if not == "not" => Some(one.not()),
        [ConditionTerm::Inside(first), rest @ ..] => {
            let mut sum = *first;
            let mut join: Option<&str> = None;
            for pair in rest.chunks(2) {
                let [ConditionTerm::Word(word), ConditionTerm::Inside(next)] = pair else {
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

/// One query.
fn holds(parser: &mut Parser<'_>) -> Truth {
    let Some(items) = items(parser, feature) else {
        return Truth::Unknown;
    };
    let reserved = |word: &str| matches!(word, "and" | "or" | "not" | "only" | "layer");
    let (prefix, rest) = match items.as_slice() {
        [ConditionTerm::Word(prefix), rest @ ..]
            if matches!(prefix.as_str(), "not" | "only")
                && matches!(rest.first(), Some(ConditionTerm::Word(_))) =>
        {
            (prefix.as_str(), rest)
        }
        all => ("", all),
    };
    let found = match rest {
        [ConditionTerm::Word(kind), rest @ ..] if !reserved(kind) => {
            let kind = Truth::of(matches!(kind.as_str(), "all" | "screen"));
            match rest {
                [] => Some(kind),
                [ConditionTerm::Word(and), rest @ ..] if and == "and" => {
                    let has_or = rest
                        .iter()
                        .any(|item| matches!(item, ConditionTerm::Word(or) if or == "or"));
                    condition(rest)
                        .filter(|_| !has_or)
                        .map(|rest| kind.and(rest))
                }
                _ => None,
            }
        }
        rest => condition(rest),
    };
    match (found, prefix) {
        (Some(found), "not") => found.not(),
        (Some(found), _) => found,
        (None, _) => Truth::Unknown,
    }
}

/// What stands in parentheses: `max-width: 600px`, `width < 600px`, `hover`, or a condition again.
fn feature(parser: &mut Parser<'_>) -> Truth {
    let start = parser.state();
    let name = parser.expect_ident().map(|name| name.to_ascii_lowercase());
    let nested = |parser: &mut Parser<'_>| {
        let items = items(parser, feature);
        items
            .and_then(|items| condition(&items))
            .unwrap_or(Truth::Unknown)
    };
    let Ok(name) = name else {
        parser.reset(&start);
        let is_nested = matches!(parser.next(), Ok(Token::ParenthesisBlock));
        parser.reset(&start);
        return if is_nested {
            nested(parser)
        } else {
            range(parser)
        };
    };
    if name == "not" {
        parser.reset(&start);
        return nested(parser);
    }
    if parser.is_exhausted() {
        return match name.as_str() {
            "width" | "height" | "device-width" | "device-height" | "color" | "aspect-ratio"
            | "orientation" | "resolution" => Truth::Yes,
            "monochrome" | "grid" => Truth::No,
            _ => Truth::Unknown,
        };
    }
    if parser.try_parse(Parser::expect_colon).is_err() {
        parser.reset(&start);
        return range(parser);
    }
    let from = parser.position();
    while parser.next().is_ok() {}
    compare(&name, parser.slice_from(from).trim())
}

fn compare(name: &str, value: &str) -> Truth {
    if name == "prefers-color-scheme" {
        return match value.to_ascii_lowercase().as_str() {
            "light" => Truth::Yes,
            "dark" => Truth::No,
            _ => Truth::Unknown,
        };
    }
    let vendor = name.strip_prefix("-webkit-");
    let plain = vendor.unwrap_or(name);
    let (name, bound) = match plain.split_once('-') {
        Some(("min", rest)) => (rest, "min"),
        Some(("max", rest)) => (rest, "max"),
        _ => (plain, "is"),
    };
    let own = match name {
        "device-pixel-ratio" => vendor.map(|_| RESOLUTION),
        name => range_of(name).filter(|_| vendor.is_none()),
    };
    let (Some(own), Some(value)) = (own, measure(name, value)) else {
        return Truth::Unknown;
    };
    match bound {
        "min" => at_least(own, value),
        "max" => at_least(own, value + f32::EPSILON * value.abs().max(1.0)).not(),
        _ if value < own.0 || value > own.1 => Truth::No,
        _ => Truth::Unknown,
    }
}

/// Whether every window is at least so large.
fn at_least(own: Range, value: f32) -> Truth {
    if own.0 >= value {
        Truth::Yes
    } else if own.1 < value {
        Truth::No
    } else {
        Truth::Unknown
    }
}

fn range_of(name: &str) -> Option<Range> {
    Some(match name {
        "width" => WIDTH,
        "height" => HEIGHT,
        "device-width" | "device-height" => SCREEN,
        "resolution" => RESOLUTION,
        _ => return None,
    })
}

/// `width < 600px`, `400px <= width <= 700px`.
fn range(parser: &mut Parser<'_>) -> Truth {
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
    let same_way = signs.iter().all(|sign| sign.starts_with('<'))
        || signs.iter().all(|sign| sign.starts_with('>'));
    if signs.is_empty() || signs.len() > 2 || signs.len() == 2 && !same_way {
        return Truth::Unknown;
    }
    let pairs = parts.windows(2).zip(&signs).map(|(pair, sign)| {
        let [left, right] = pair else {
            return Truth::Unknown;
        };
        let (own, value, sign) = match (range_of(left), range_of(right)) {
            (Some(own), None) => (own, measure(left, right), (*sign).to_owned()),
            (None, Some(own)) => (own, measure(right, left), mirrored(sign)),
            _ => return Truth::Unknown,
        };
        let Some(value) = value else {
            return Truth::Unknown;
        };
        // Windows of exactly the bound are left open.
        match sign.as_str() {
            ">" | ">=" if value == own.0 => Truth::Unknown,
            ">" | ">=" => at_least(own, value),
            "<" | "<=" if value == own.1 => Truth::Unknown,
            "<" | "<=" => at_least(own, value).not(),
            _ => Truth::Unknown,
        }
    });
    pairs.fold(Truth::Yes, Truth::and)
}

fn mirrored(sign: &str) -> String {
    sign.replace('<', "\0").replace('>', "<").replace('\0', ">")
}

/// The value of a feature: a length, a resolution or a number, as the feature asks.
fn measure(feature: &str, value: &str) -> Option<f32> {
    let units = Units {
        font: 16.0,
        root: 16.0,
        bare: values::UnitlessNumber::Invalid,
        ..Units::ONE
    };
    let value = value.trim().to_ascii_lowercase();
    if value.contains(['%', 'v']) {
        return None;
    }
    let mut parser = Parser::new(&value);
    let number = match (feature, parser.next().ok()?) {
        ("device-pixel-ratio", Token::Number { value, .. }) => *value,
        ("resolution", Token::Dimension { value, unit, .. }) => match &**unit {
            "dppx" => *value,
            "dpi" => *value / 96.0,
            _ => return None,
        },
        ("device-pixel-ratio" | "resolution", _) => return None,
        _ => return values::length(&value, units),
    };
    (parser.is_exhausted() && number.is_finite() && number >= 0.0).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn supports_known_declarations_is_true() {
        for (condition, want) in [
            ("(display: grid)", Truth::Yes),
            ("(display: flex) and (color: red)", Truth::Yes),
            ("not (display: grid)", Truth::No),
            ("(-ms-ime-align: auto)", Truth::No),
            ("(display: grid) and (-moz-appearance: none)", Truth::No),
            ("not (-ms-ime-align: auto)", Truth::Yes),
            ("(made-up: 1px)", Truth::Unknown),
            ("selector(a > b)", Truth::Unknown),
            ("", Truth::Unknown),
        ] {
            assert_eq!(supports(condition), want, "{condition}");
        }
    }

    #[test]
    fn media_queries_hold_for_all_windows() {
        for (query, want) in [
            ("", Truth::Yes),
            ("all", Truth::Yes),
            ("print, screen", Truth::Yes),
            ("not print", Truth::Yes),
            ("only screen and (min-width: 480px)", Truth::Yes),
            ("(max-width: 2000px)", Truth::Yes),
            ("(width > 600px)", Truth::Yes),
            ("(400px <= width <= 2000px)", Truth::Yes),
            ("(0 < width)", Truth::Yes),
            ("screen and (prefers-color-scheme: light)", Truth::Yes),
            ("not all and (max-width: 100px)", Truth::Yes),
            ("(not (max-width: 10px))", Truth::Yes),
            ("((min-width: 1px))", Truth::Yes),
            ("(width: 1px) or (min-width: 1px)", Truth::Yes),
            ("(min-resolution: 1dppx)", Truth::Yes),
            ("(min-width: calc(1px + 1px))", Truth::Unknown),
            ("print", Truth::No),
            ("speech", Truth::No),
            ("not screen", Truth::No),
            ("bogus", Truth::No),
            ("screen and (max-width: 600px)", Truth::No),
            ("(max-device-width: 480px)", Truth::No),
            ("(prefers-color-scheme: dark)", Truth::No),
            ("(width < 600px)", Truth::No),
            ("screen and (min-width: 3000px)", Truth::No),
            ("(min-width: 1000px)", Truth::Unknown),
            ("(max-width: 1000px)", Truth::Unknown),
            ("(orientation: portrait)", Truth::Unknown),
            ("(color-gamut: srgb)", Truth::Unknown),
            ("not (color-gamut: srgb)", Truth::Unknown),
            ("(-webkit-min-device-pixel-ratio: 2)", Truth::Unknown),
            ("(width <= max(1px, 2px))", Truth::Unknown),
            ("(400px <= width >= 500px)", Truth::Unknown),
            (
                "screen and (min-width: 1px) or (min-width: 2px)",
                Truth::Unknown,
            ),
            ("(-webkit-min-width: 1px)", Truth::Unknown),
            ("(min-resolution: 0)", Truth::Unknown),
            ("screen screen", Truth::Unknown),
            ("only", Truth::Unknown),
        ] {
            assert_eq!(media(query), want, "{query}");
        }
    }
}
