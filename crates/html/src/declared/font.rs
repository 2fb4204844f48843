//! Font sizes and line heights.

use cssparser::{Parser, Token};

use super::Parsed::{self, Any, Invalid, Values};
use super::{UnitContext, length, not_negative, percentage, pixels, unread, unread_list};
use crate::style::Value;
use crate::values;

pub(super) fn line_height(value: &str, context: &UnitContext) -> Parsed {
    if values::keyword(value).as_deref() == Some("normal") {
        return Values(vec![Value::Auto]);
    }
    if let Some(times) = values::number(value).filter(|_| !value.contains('%')) {
        return not_negative(Values(vec![Value::Number(times)]));
    }
    if let Some(percent) = percentage(value) {
        let fonts = context.fonts.iter().flatten();
        let all: Vec<Value> = fonts
            .map(|font| Value::Px(font * percent / 100.0))
            .collect();
        return if all.is_empty() {
            Any
        } else {
            not_negative(Values(all))
        };
    }
    not_negative(length(value, context, &[]))
}

pub(super) fn font_size(value: &str, context: &UnitContext) -> Parsed {
    let absolute = |px: f32| {
        Values(vec![Value::Font {
            px,
            absolute: false,
        }])
    };
    let relative = |times: f32| match &context.fonts {
        Some(fonts) => Values(
            fonts
                .iter()
                .map(|font| Value::Font {
                    px: font * times,
                    absolute: context.parent_absolute,
                })
                .collect(),
        ),
        None => Any,
    };
    if let Some(word) = values::keyword(value) {
        return match word.as_str() {
            "xx-small" => absolute(9.0),
            "x-small" => absolute(10.0),
            "small" => absolute(13.0),
            "medium" => absolute(16.0),
            "large" => absolute(18.0),
            "x-large" => absolute(24.0),
            "xx-large" | "xxx-large" | "-webkit-xxx-large" => absolute(32.0),
            "smaller" => relative(1.0 / 1.2),
            "larger" => relative(1.2),
            _ => unread(value, false),
        };
    }
    if let Some(percent) = percentage(value) {
        return if percent < 0.0 {
            Invalid
        } else {
            relative(percent / 100.0)
        };
    }
    if value.contains('%') {
        return Any;
    }
    let of_font = ["em", "ex", "ch", "lh", "ic", "cap"];
    let lower = value.to_ascii_lowercase();
    let depends = of_font.iter().any(|unit| lower.contains(unit)) && !lower.ends_with("rem");
    match pixels(value, context) {
        Some(all) if all.iter().any(|px| *px < 0.0) => Invalid,
        Some(all) => Values(
            all.into_iter()
                .map(|px| Value::Font {
                    px,
                    absolute: !depends || context.parent_absolute,
                })
                .collect(),
        ),
        None => unread(value, context.quirks),
    }
}

/// Font size and line height of `italic bold 12px/30px Georgia, serif`. Only the plain form is
/// followed.
pub(super) fn font(value: &str, context: &UnitContext) -> (Parsed, Parsed) {
    let mut parser = Parser::new(value);
    let mut words: Vec<String> = Vec::new();
    loop {
        let start = parser.position();
        let token = match parser.next() {
            Ok(token) => token.clone(),
            Err(_) => return both(unread(value, true)),
        };
        match &token {
            Token::Ident(word) => {
                let word = word.to_ascii_lowercase();
                if !matches!(font_size(&word, context), Values(_)) {
                    if !is_font_word(&word) {
                        // A font of the system stands alone, `math` is a size that is not known,
                        // and any other word ends the declaration.
                        let is_known = parser.is_exhausted() || word == "math";
                        return both(if is_known { Any } else { Invalid });
                    }
                    words.push(word);
                    continue;
                }
            }
            Token::Number { value, .. }
                if *value >= 100.0 && *value <= 900.0 && *value % 100.0 == 0.0 =>
            {
                words.push("bold".to_owned());
                continue;
            }
            Token::Dimension { .. } | Token::Percentage { .. } => {}
            Token::Number { value: 0.0, .. } => {}
            _ => return both(unread_list(value)),
        }
        let size = font_size(parser.slice_from(start).trim_ascii(), context);
        let mut line = Values(vec![Value::Auto]);
        if parser.try_parse(|parser| parser.expect_delim('/')).is_ok() {
            parser.skip_whitespace();
            let from = parser.position();
            let _ = parser.next();
            line = line_height(parser.slice_from(from).trim_ascii(), context);
        }
        let plain = is_plain_style(&words) && is_family(&mut parser);
        return match (&size, &line) {
            (Invalid, _) | (_, Invalid) => both(Invalid),
            (Values(_), Values(_)) if plain => (size, line),
            _ => both(Any),
        };
    }
}

/// At most one weight and one style beside `normal`.
fn is_plain_style(words: &[String]) -> bool {
    let count = |wanted: &[&str]| {
        words
            .iter()
            .filter(|word| wanted.contains(&word.as_str()))
            .count()
    };
    let weights = count(&["bold", "bolder", "lighter"]);
    let styles = count(&["italic", "oblique"]);
    words.len() <= 3
        && weights <= 1
        && styles <= 1
        && weights + styles + count(&["normal", "small-caps"]) == words.len()
        && count(&["small-caps"]) <= 1
}

/// Words that are no part of the name of a font.
const GENERIC_FAMILIES: &[&str] = &[
    "serif",
    "sans-serif",
    "cursive",
    "fantasy",
    "monospace",
    "system-ui",
    "math",
    "-webkit-body",
];

/// `Georgia, "Times New Roman", serif` and nothing else.
fn is_family(parser: &mut Parser<'_>) -> bool {
    let names = parser.parse_comma_separated(|name| {
        if name.try_parse(Parser::expect_string_cloned).is_ok() {
            return Ok::<_, cssparser::ParseError<()>>(());
        }
        let mut count = 0;
        loop {
            let word = name.expect_ident()?.to_ascii_lowercase();
            count += 1;
            let is_generic = GENERIC_FAMILIES.contains(&word.as_str());
            if values::is_wide(&word)
                || word == "default"
                || is_generic && !(count == 1 && name.is_exhausted())
            {
                return Err(cssparser::ParseError::custom(()));
            }
            if name.is_exhausted() {
                return Ok(());
            }
        }
    });
    names.is_ok() && parser.is_exhausted()
}

fn is_font_word(word: &str) -> bool {
    let is_width = word.ends_with("-condensed") || word.ends_with("-expanded");
    is_width
        || matches!(
            word,
            "normal"
                | "italic"
                | "oblique"
                | "small-caps"
                | "bold"
                | "bolder"
                | "lighter"
                | "condensed"
                | "expanded"
        )
}

fn both(parsed: Parsed) -> (Parsed, Parsed) {
    (parsed.clone(), parsed)
}
