//! Whether the conditions of style sheets hold: on a screen, in light colours, in a window of ordinary size.

use cssparser::{ParseError, Parser, Token};

use super::value::{self, Units, WINDOW};

/// A list of media queries, such as `screen and (max-width: 600px), print`.
pub(super) fn applies(query: &str) -> bool {
    let query = query.trim();
    query.is_empty()
        || Parser::new(query)
            .parse_comma_separated(|one| Ok::<_, ParseError<()>>(holds(one)))
            .is_ok_and(|found| found.contains(&true))
}

/// Whether something holds, as far as can be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Truth {
    Yes,
    No,
    Unknown,
}

/// `@supports`. Rules whose condition cannot be judged apply: hiding too much is said, hiding too little is not.
pub(super) fn supports(condition: &str) -> bool {
    supported(&mut Parser::new(condition)) != Truth::No
}

fn supported(parser: &mut Parser<'_>) -> Truth {
    let mut found: Option<Truth> = None;
    let mut either = false;
    let mut negated = false;
    while let Ok(token) = parser.next() {
        let one = match token.clone() {
            Token::Ident(word) => {
                either |= word.eq_ignore_ascii_case("or");
                negated |= word.eq_ignore_ascii_case("not");
                continue;
            }
            Token::ParenthesisBlock => {
                let inside =
                    parser.parse_nested_block(|inner| Ok::<_, ParseError<()>>(declared(inner)));
                inside.unwrap_or(Truth::Unknown)
            }
            Token::Function(_) => {
                let _ = parser.parse_nested_block(|inner| {
                    while inner.next().is_ok() {}
                    Ok::<_, ParseError<()>>(())
                });
                Truth::Unknown
            }
            _ => Truth::Unknown,
        };
        let one = match (std::mem::take(&mut negated), one) {
            (true, Truth::Yes) => Truth::No,
            (true, Truth::No) => Truth::Yes,
            (_, one) => one,
        };
        found = Some(match (found, one, either) {
            (None, one, _) => one,
            (Some(Truth::Yes), _, true) | (_, Truth::Yes, true) => Truth::Yes,
            (Some(Truth::No), _, false) | (_, Truth::No, false) => Truth::No,
            (Some(known), one, _) if known == one => one,
            _ => Truth::Unknown,
        });
    }
    found.unwrap_or(Truth::Unknown)
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
        ("color" | "background-color", value) if value::colour(value).is_some() => Truth::Yes,
        (name, _) if name.starts_with("--") => Truth::Yes,
        _ => Truth::Unknown,
    }
}

/// One query. What is not understood does not hold, as in browsers.
fn holds(parser: &mut Parser<'_>) -> bool {
    let mut all = true;
    let mut any = false;
    let mut negated = false;
    let mut either = false;
    while let Ok(token) = parser.next() {
        let found = match token.clone() {
            Token::Ident(word) => match word.to_ascii_lowercase().as_str() {
                "not" => {
                    negated = true;
                    continue;
                }
                "only" | "and" => continue,
                "or" => {
                    either = true;
                    continue;
                }
                kind => matches!(kind, "all" | "screen"),
            },
            Token::ParenthesisBlock => parser
                .parse_nested_block(|inner| Ok::<_, ParseError<()>>(feature(inner)))
                .unwrap_or(false),
            _ => false,
        };
        all &= found;
        any |= found;
    }
    (if either { any } else { all }) != negated
}

/// What stands in parentheses: `max-width: 600px`, `width < 600px`, `hover`, or a condition again.
fn feature(parser: &mut Parser<'_>) -> bool {
    let start = parser.state();
    let Ok(name) = parser.expect_ident().map(|name| name.to_ascii_lowercase()) else {
        parser.reset(&start);
        if matches!(parser.next(), Ok(Token::ParenthesisBlock)) {
            parser.reset(&start);
            return holds(parser);
        }
        parser.reset(&start);
        return range(parser);
    };
    if name == "not" {
        return !holds(parser);
    }
    if parser.is_exhausted() {
        return matches!(
            name.as_str(),
            "width" | "height" | "color" | "hover" | "pointer" | "aspect-ratio"
        );
    }
    if parser.try_parse(Parser::expect_colon).is_err() {
        parser.reset(&start);
        return range(parser);
    }
    let from = parser.position();
    while parser.next().is_ok() {}
    compare(&name, parser.slice_from(from).trim())
}

fn compare(name: &str, value: &str) -> bool {
    let (name, bound) = match name.split_once('-') {
        Some(("min", rest)) => (rest, "min"),
        Some(("max", rest)) => (rest, "max"),
        _ => (name, "is"),
    };
    let name = name.strip_prefix("device-").unwrap_or(name);
    let wanted = value.to_ascii_lowercase();
    let own = match name {
        "width" => WINDOW.0,
        "height" => WINDOW.1,
        "resolution" | "-webkit-device-pixel-ratio" | "device-pixel-ratio" => 1.0,
        "color" => 8.0,
        "orientation" => return wanted == "portrait",
        "prefers-color-scheme" => return wanted == "light",
        "prefers-reduced-motion" | "prefers-contrast" => return wanted == "no-preference",
        "hover" | "any-hover" => return wanted == "hover",
        "pointer" | "any-pointer" => return wanted == "fine",
        "scripting" => return wanted == "none",
        "display-mode" => return wanted == "browser",
        _ => return false,
    };
    let Some(value) = pixels(value) else {
        return false;
    };
    match bound {
        "min" => own >= value,
        "max" => own <= value,
        _ => (own - value).abs() < 0.5,
    }
}

/// `width < 600px`, `400px <= width <= 700px`.
fn range(parser: &mut Parser<'_>) -> bool {
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
        "width" | "device-width" => Some(WINDOW.0),
        "height" | "device-height" => Some(WINDOW.1),
        other => pixels(other),
    };
    !signs.is_empty()
        && parts.windows(2).zip(&signs).all(|(pair, sign)| {
            let [Some(left), Some(right)] =
                [pair.first(), pair.get(1)].map(|part| own(part.copied()?))
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
        })
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
    value::length(plain.unwrap_or(&value), units)
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
            assert!(supports(condition), "{condition}");
        }
        for condition in [
            "not (display: grid)",
            "(-webkit-overflow-scrolling: touch)",
            "(-ms-ime-align: auto)",
            "(display: grid) and (-moz-appearance: none)",
            "not (not (-ms-high-contrast: none))",
        ] {
            assert!(!supports(condition), "{condition}");
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
            "(print) or (min-width: 1px)",
            "((min-width: 1px))",
            "(not (max-width: 10px))",
            "(min-resolution: 1dppx)",
        ] {
            assert!(applies(query), "{query}");
        }
        for query in [
            "print",
            "screen and (max-width: 600px)",
            "(prefers-color-scheme: dark)",
            "not screen",
            "(width < 600px)",
            "speech",
            "bogus",
            "(bogus: 1)",
            "screen and (min-width: 3000px)",
            "(-webkit-min-device-pixel-ratio: 2)",
            "(min-resolution: 2dppx)",
        ] {
            assert!(!applies(query), "{query}");
        }
    }
}
