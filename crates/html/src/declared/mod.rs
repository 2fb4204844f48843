//! What a declared value means for one property: its values, nothing at all, or anything.

mod background;
mod font;

use cssparser::{Parser, Token};

use crate::properties::{COLOR_SCHEME, Longhand as L, MAX_HARMLESS_PX, PARTLY_HARMLESS};
use crate::style::{Display, Position, Value};
use crate::values::{self, UnitlessNumber, Units};

/// The result of parsing a declared value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Parsed {
    Values(Vec<Value>),
    /// They ignore the declaration.
    Invalid,
    /// It is not understood here.
    Any,
}

use Parsed::{Any, Invalid, Values};
use background::{background, background_area, background_image, box_shadow, color};
use font::{font, font_size, line_height};

/// What relative values relate to.
#[derive(Clone, Debug)]
pub(crate) struct UnitContext {
    /// The font sizes that the element may have; of the parent, for the font size itself.
    pub fonts: Option<Vec<f32>>,
    pub parent_absolute: bool,
    pub root_font: f32,
    pub quirks: bool,
}

/// Shadows of letters that are more, or that reach farther, may cover other text.
const MAX_TEXT_SHADOWS: usize = 2;
const MAX_TEXT_SHADOW_REACH_PX: f32 = 6.0;

/// Smallest and largest window.
const WINDOWS: [(f32, f32); 2] = [(800.0, 600.0), (1400.0, 1200.0)];

impl UnitContext {
    fn units(&self) -> Option<Vec<Units>> {
        let fonts = self.fonts.as_ref()?;
        let each = fonts.iter().flat_map(|font| {
            WINDOWS.map(|window| Units {
                font: *font,
                root: self.root_font,
                whole: 0.0,
                window,
                bare: if self.quirks {
                    UnitlessNumber::Pixels
                } else {
                    UnitlessNumber::Invalid
                },
            })
        });
        Some(each.collect())
    }
}

/// How far a word such as `sub` moves text, about.
pub(crate) const KEYWORD_SHIFT_PX: f32 = 4.0;

/// The part of a declaration that concerns one of the `count` properties that it sets.
pub(crate) fn parse(longhand: L, count: usize, value: &str, context: &UnitContext) -> Parsed {
    match longhand {
        L::Color | L::TextFill => color(value, context.quirks && longhand == L::Color),
        L::FontSize if count > 1 => font(value, context).0,
        L::LineHeight if count > 1 => font(value, context).1,
        L::FontSize => font_size(value, context),
        L::LineHeight => line_height(value, context),
        L::Visibility => words(value, |word| match word {
            "visible" => Some(Value::Auto),
            "hidden" | "collapse" => Some(Value::On),
            _ => None,
        }),
        L::WhiteSpace => white_space(value),
        L::LetterSpacing | L::WordSpacing => length(value, context, &["normal"]),
        L::TextIndent | L::OutlineOffset => length(value, context, &[]),
        L::TextAlign => words(value, |word| match word {
            "left" | "start" | "justify" | "-webkit-left" | "-webkit-auto" => Some(Value::Auto),
            "right" | "center" | "end" | "match-parent" | "-webkit-right" | "-webkit-center"
            | "-moz-center" | "middle" => Some(Value::On),
            _ => None,
        }),
        L::TextShadow => text_shadow(value, context),
        // Any other word may be the name of keyframes.
        L::Animation if values::keyword(value).is_some_and(|word| word != "none") => {
            Values(vec![Value::On])
        }
        L::Animation | L::Clip | L::Content => none_or_on(value),
        L::TextStroke => match lengths(value, context) {
            Some(all) if !all.is_empty() && all.iter().all(|px| *px == 0.0) => {
                Values(vec![Value::Auto])
            }
            _ => Values(vec![Value::On]),
        },
        L::Display => display(value),
        L::Float => words(value, |word| match word {
            "none" => Some(Value::Auto),
            "left" | "right" | "inline-start" | "inline-end" => Some(Value::On),
            _ => None,
        }),
        L::Position => words(value, |word| match word {
            "static" => Some(Value::Position(Position::Static)),
            "relative" => Some(Value::Position(Position::Relative)),
            "absolute" | "fixed" => Some(Value::Position(Position::Absolute)),
            // What sticks may be anywhere: it is not followed.
            _ => None,
        }),
        L::Top | L::Right | L::Bottom | L::Left => side(longhand, count, value, context),
        L::MarginTop | L::MarginRight | L::MarginBottom | L::MarginLeft => {
            side(longhand, count, value, context)
        }
        L::PaddingTop | L::PaddingRight | L::PaddingBottom | L::PaddingLeft => {
            not_negative(side(longhand, count, value, context))
        }
        L::BorderTop | L::BorderRight | L::BorderBottom | L::BorderLeft | L::OutlineWidth => {
            line_width(value, context)
        }
        L::Width | L::Height | L::MinWidth | L::MinHeight => {
            not_negative(length(value, context, SIZES))
        }
        L::MaxWidth | L::MaxHeight => not_negative(length(value, context, MAX_SIZES)),
        L::FlexBasis => flex_basis(value, context),
        L::OverflowX | L::OverflowY => overflow(value, longhand == L::OverflowX, count),
        L::Opacity => match number(value) {
            Values(all) => Values(all.into_iter().map(clamped).collect()),
            other => other,
        },
        L::BackgroundColor if count > 1 => background(value).0,
        L::BackgroundImage if count > 1 => background(value).1,
        L::BackgroundArea if count > 1 => background(value).2,
        L::BackgroundColor => color(value, context.quirks),
        L::BackgroundImage => background_image(value),
        L::BackgroundArea => background_area(value),
        L::BoxShadow => box_shadow(value, context),
        L::ZIndex => match number(value) {
            Values(all) => Values(all),
            _ => words(value, |word| (word == "auto").then_some(Value::Auto)),
        },
        L::Zoom => match number(value) {
            Values(all) if all.contains(&Value::Number(0.0)) => Any,
            Values(all) => not_negative(Values(all)),
            _ => words(value, |word| {
                matches!(word, "normal" | "reset").then_some(Value::Number(1.0))
            }),
        },
        L::VerticalAlign => match words(value, |word| match word {
            "baseline" => Some(Value::Px(0.0)),
            "top" | "bottom" => Some(Value::On),
            "sub" | "super" | "text-top" | "text-bottom" | "middle" => {
                Some(Value::Px(KEYWORD_SHIFT_PX))
            }
            _ => None,
        }) {
            Any | Invalid => length(value, context, &[]),
            known => known,
        },
        L::TextDecoration => text_decoration(value),
        L::ContentVisibility => words(value, |word| match word {
            "visible" => Some(Value::Auto),
            // `auto` cuts off what its box cannot hold: it is not followed.
            "hidden" => Some(Value::On),
            _ => None,
        }),
        L::TableLayout => words(value, |word| match word {
            "auto" => Some(Value::Auto),
            "fixed" => Some(Value::On),
            _ => None,
        }),
    }
}

/// The one word that leaves things as they are, or something else.
fn none_or_on(value: &str) -> Parsed {
    if is_foreign_syntax(value) || value.trim().is_empty() {
        return Invalid;
    }
    match values::keyword(value).as_deref() {
        Some("none" | "auto" | "normal") => Values(vec![Value::Auto]),
        _ => Values(vec![Value::On]),
    }
}

/// A shadow near the letters; others may cover other text.
fn text_shadow(value: &str, context: &UnitContext) -> Parsed {
    let parsed = none_or_on(value);
    if parsed != Values(vec![Value::On]) {
        return parsed;
    }
    let Some(units) = context.units().and_then(|all| all.last().copied()) else {
        return Any;
    };
    let mut parser = Parser::new(value);
    let (mut shadows, mut reach) = (1, 0.0);
    while !parser.is_exhausted() {
        if values::next_color(&mut parser).is_some() {
            continue;
        }
        match parser.try_parse(|parser| values::factor(parser, units).ok_or(())) {
            Ok(px) => reach += px.abs(),
            Err(()) if parser.expect_comma().is_err() => return Any,
            Err(()) => (shadows, reach) = (shadows + 1, 0.0),
        }
        if reach > MAX_TEXT_SHADOW_REACH_PX || shadows > MAX_TEXT_SHADOWS {
            return Any;
        }
    }
    parsed
}

/// A list that could not be read: ignored by browsers for certain, or not understood.
fn unread_list(value: &str) -> Parsed {
    if is_foreign_syntax(value) || value.trim().is_empty() {
        Invalid
    } else {
        Any
    }
}

/// Whether a guarded property has one of its harmless values.
pub(crate) fn is_harmless(guarded: usize, value: &str) -> bool {
    let Some(row) = PARTLY_HARMLESS.get(guarded) else {
        return false;
    };
    let has = |wanted: &str| row.harmless.contains(&wanted);
    let lower = value.trim().to_ascii_lowercase();
    if row.name == COLOR_SCHEME {
        // A page that supports light colors gets them.
        let words: Vec<&str> = lower.split_ascii_whitespace().collect();
        return words
            .iter()
            .all(|word| word.bytes().all(|b| b.is_ascii_alphabetic()))
            && (words.contains(&"light") || !words.contains(&"dark"));
    }
    if has(&lower) {
        return true;
    }
    if has("<words>") {
        return is_list_mark(row.harmless, value);
    }
    if !has("<small>") || lower.contains('(') {
        return false;
    }
    let mut parser = Parser::new(&lower);
    while let Ok(token) = parser.next() {
        let small = match token {
            Token::Delim('/') => true,
            Token::Number { value, .. } => *value == 0.0,
            Token::Percentage { unit_value, .. } => unit_value.abs() <= 0.2,
            Token::Dimension { value, unit, .. } => {
                let per = if unit.eq_ignore_ascii_case("px") || unit.eq_ignore_ascii_case("pt") {
                    1.5
                } else {
                    16.0
                };
                value.abs() * per <= MAX_HARMLESS_PX && *value >= 0.0
            }
            _ => false,
        };
        if !small {
            return false;
        }
    }
    !lower.is_empty()
}

/// Words of a list, and pictures that are not loaded.
fn is_list_mark(words: &[&str], value: &str) -> bool {
    let mut parser = Parser::new(value);
    while let Ok(token) = parser.next() {
        let is_harmless = match token.clone() {
            Token::Ident(word) => words.iter().any(|known| word.eq_ignore_ascii_case(known)),
            Token::UnquotedUrl(url) => !crate::elements::is_embedded(&url),
            Token::Function(name) if name.eq_ignore_ascii_case("url") => {
                let url = parser.parse_nested_block(|inner| {
                    let url = inner.expect_string_cloned()?;
                    Ok::<_, cssparser::ParseError<()>>(!crate::elements::is_embedded(&url))
                });
                url.unwrap_or(false)
            }
            _ => false,
        };
        if !is_harmless {
            return false;
        }
    }
    true
}

/// Whether browsers ignore a guarded value for certain.
pub(crate) fn is_ignored(guarded: usize, value: &str) -> bool {
    let Some(row) = PARTLY_HARMLESS.get(guarded) else {
        return false;
    };
    // Strings may be marks, quotes and areas, and lines of a grid may have any name.
    let is_free = value.contains(['(', '"', '\'']) || row.name.starts_with("grid");
    let is_radius = row.reach == crate::properties::Reach::Clip;
    is_foreign_syntax(value)
        || !row.name.starts_with("grid") && has_foreign_word(value)
        || !is_free && unread(value, !is_radius) == Invalid
}

fn has_foreign_word(value: &str) -> bool {
    let mut parser = Parser::new(value);
    while let Ok(token) = parser.next() {
        if let Token::Function(name) | Token::Ident(name) = token
            && (is_foreign_word(name) || name.eq_ignore_ascii_case("expression"))
        {
            return true;
        }
    }
    false
}

/// The syntax of other programs, such as `alpha(opacity=90)`.
fn is_foreign_syntax(value: &str) -> bool {
    let mut parser = Parser::new(value);
    has_stray_token(&mut parser, 0)
}

fn has_stray_token(parser: &mut Parser<'_>, depth: usize) -> bool {
    while let Ok(token) = parser.next() {
        match token.clone() {
            // Functions may have them, at the top no value does.
            Token::Colon | Token::Semicolon if depth == 0 => return true,
            Token::BadUrl(_)
            | Token::BadString(_)
            | Token::CDO
            | Token::CDC
            | Token::Delim('=' | '!' | '?' | '@' | '$' | '^' | '|' | '&' | '~') => return true,
            Token::Function(name) => {
                let known = ["if", "attr", "var", "env"];
                if known.iter().any(|known| name.eq_ignore_ascii_case(known))
                    || name.starts_with("--")
                {
                    return false;
                }
                let stray = parser.parse_nested_block(|inner| {
                    Ok::<_, cssparser::ParseError<()>>(has_stray_token(inner, depth + 1))
                });
                if stray.unwrap_or(false) {
                    return true;
                }
            }
            _ => {}
        }
    }
    false
}

/// A value that could not be read: ignored by browsers for certain, or not understood.
fn unread(value: &str, numbers: bool) -> Parsed {
    if is_foreign_syntax(value) {
        return Invalid;
    }
    let mut parser = Parser::new(value);
    let mut tokens = 0;
    while let Ok(token) = parser.next() {
        tokens += 1;
        match token {
            Token::Hash(_) | Token::IDHash(_) | Token::QuotedString(_) => return Invalid,
            Token::Number { value, .. } if *value != 0.0 && !numbers => return Invalid,
            Token::Ident(word) if is_foreign_word(word) => return Invalid,
            Token::Function(name)
                if is_foreign_word(name) || name.eq_ignore_ascii_case("expression") =>
            {
                return Invalid;
            }
            _ => {}
        }
    }
    if tokens == 0 { Invalid } else { Any }
}

/// Words of other programs.
fn is_foreign_word(word: &str) -> bool {
    let lower = word.to_ascii_lowercase();
    ["-ms-", "-moz-", "-o-", "mso-", "-khtml-"]
        .iter()
        .any(|prefix| lower.starts_with(prefix))
}

/// Parses a single keyword. Unknown keywords are any value, or invalid if only other programs have
/// them.
fn words(value: &str, known: impl Fn(&str) -> Option<Value>) -> Parsed {
    let Some(word) = values::keyword(value) else {
        return unread(value, false);
    };
    match known(&word) {
        Some(value) => Values(vec![value]),
        None => unread(value, false),
    }
}

/// Words that leave a largest size to the browser.
const MAX_SIZES: &[&str] = &["none", "max-content", "fit-content"];

/// Words that leave a size to the browser.
const SIZES: &[&str] = &[
    "auto",
    "max-content",
    "fit-content",
    "-webkit-max-content",
    "-webkit-fit-content",
    "intrinsic",
];

/// A length or a percentage, or a word that leaves it to the browser.
fn length(value: &str, context: &UnitContext, auto: &[&str]) -> Parsed {
    if let Some(word) = values::keyword(value) {
        if auto.contains(&word.as_str()) {
            return Values(vec![Value::Auto]);
        }
        if !auto.is_empty() && matches!(word.as_str(), "stretch" | "-webkit-fill-available") {
            return Values(vec![Value::Percent(100.0)]);
        }
        return unread(value, false);
    }
    if let Some(percent) = percentage(value) {
        return Values(vec![Value::Percent(percent)]);
    }
    if value.contains('%') {
        return unread(value, false);
    }
    match pixels(value, context) {
        Some(all) => Values(all.into_iter().map(Value::Px).collect()),
        None => unread(value, context.quirks),
    }
}

fn percentage(value: &str) -> Option<f32> {
    let mut parser = Parser::new(value);
    let found = match parser.next() {
        Ok(Token::Percentage { unit_value, .. }) => *unit_value * 100.0,
        _ => return None,
    };
    parser.is_exhausted().then_some(found)
}

/// Lengths and numbers below zero are ignored.
fn not_negative(parsed: Parsed) -> Parsed {
    match &parsed {
        Values(all)
            if all.iter().any(|value| {
                matches!(
                    value,
                    Value::Px(size) | Value::Percent(size) | Value::Number(size) if *size < 0.0
                )
            }) =>
        {
            Invalid
        }
        _ => parsed,
    }
}

/// The pixels that a length may be. `None` when it cannot be read.
fn pixels(value: &str, context: &UnitContext) -> Option<Vec<f32>> {
    let mut parser = Parser::new(value);
    if let Ok(Token::Dimension { value, unit, .. }) = parser.next()
        && unit.eq_ignore_ascii_case("px")
    {
        let px = *value;
        if parser.is_exhausted() {
            return Some(vec![px]);
        }
    }
    let mut found: Vec<f32> = Vec::new();
    for units in context.units()? {
        let px = values::length(value, units).filter(|px| px.is_finite())?;
        if !found.contains(&px) {
            found.push(px);
        }
    }
    Some(found)
}

/// A list of lengths and percentages, `auto` among them; percentages are turned into pixels of the
/// widest window.
fn lengths(value: &str, context: &UnitContext) -> Option<Vec<f32>> {
    let units = context.units()?;
    let units = units.last()?;
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while !parser.is_exhausted() {
        found.push(values::factor(&mut parser, *units)?);
        if found.len() > 8 {
            return None;
        }
    }
    Some(found)
}

/// Top, right, bottom or left of one to four lengths.
fn side(longhand: L, count: usize, value: &str, context: &UnitContext) -> Parsed {
    let auto: &[&str] = match longhand {
        L::PaddingTop | L::PaddingRight | L::PaddingBottom | L::PaddingLeft => &[],
        _ => &["auto"],
    };
    if count == 1 {
        return length(value, context, auto);
    }
    let mut parser = Parser::new(value);
    let mut parts: Vec<&str> = Vec::new();
    loop {
        parser.skip_whitespace();
        let from = parser.position();
        match parser.next() {
            Ok(Token::Function(_) | Token::ParenthesisBlock) => {
                let _ = parser.parse_nested_block(|inner| {
                    while inner.next().is_ok() {}
                    Ok::<_, cssparser::ParseError<()>>(())
                });
            }
            Ok(_) => {}
            Err(_) => break,
        }
        parts.push(parser.slice_from(from).trim());
    }
    if parts.is_empty() || parts.len() > 4 {
        return unread(value, false).not_values();
    }
    // All of them have to be valid.
    let all: Vec<Parsed> = parts
        .iter()
        .map(|part| length(part, context, auto))
        .collect();
    if all.contains(&Invalid) {
        return Invalid;
    }
    let index = match longhand {
        L::Top | L::MarginTop | L::PaddingTop => 0,
        L::Right | L::MarginRight | L::PaddingRight => 1,
        L::Bottom | L::MarginBottom | L::PaddingBottom => 2,
        _ => 3,
    };
    // Of two, `margin-block` and `margin-inline` have start and end, all others block and inline.
    let index = match (all.len(), index, count) {
        (1, _, _) => 0,
        (2, _, 2) => usize::from(is_end(longhand)),
        (2, index, _) => index % 2,
        (3, 3, _) => 1,
        (_, index, _) => index,
    };
    all.into_iter().nth(index).unwrap_or(Any)
}

fn is_end(longhand: L) -> bool {
    matches!(
        longhand,
        L::Right
            | L::MarginRight
            | L::PaddingRight
            | L::Bottom
            | L::MarginBottom
            | L::PaddingBottom
    )
}

impl Parsed {
    fn not_values(self) -> Self {
        match self {
            Values(_) => Any,
            other => other,
        }
    }
}

/// The widest of the lines that a value names; none when it names no length.
fn line_width(value: &str, context: &UnitContext) -> Parsed {
    let mut parser = Parser::new(value);
    let Some(units) = context.units().and_then(|all| all.last().copied()) else {
        return Any;
    };
    let mut widest = 0.0_f32;
    let mut none = false;
    while !parser.is_exhausted() {
        let length = parser.try_parse(|parser| values::factor(parser, units).ok_or(()));
        if let Ok(px) = length {
            widest = widest.max(px.abs());
            continue;
        }
        if values::next_color(&mut parser).is_some() {
            continue;
        }
        match parser.next() {
            Ok(Token::Ident(word)) if word.eq_ignore_ascii_case("none") => none = true,
            Ok(Token::Ident(_)) => widest = widest.max(5.0 * f32::from(u8::from(widest == 0.0))),
            Ok(Token::Function(_)) => return Any,
            _ => return unread_list(value),
        }
    }
    Values(vec![Value::Px(if none { 0.0 } else { widest })])
}

fn flex_basis(value: &str, context: &UnitContext) -> Parsed {
    let mut parser = Parser::new(value);
    let Some(units) = context.units().and_then(|all| all.first().copied()) else {
        return Any;
    };
    let mut basis = Value::Auto;
    while !parser.is_exhausted() {
        let number = parser.try_parse(|parser| match parser.next() {
            Ok(Token::Number { .. } | Token::Ident(_)) => Ok(()),
            _ => Err(()),
        });
        if number.is_ok() {
            continue;
        }
        if let Ok(percent) = parser.try_parse(|parser| parser.expect_percentage()) {
            basis = Value::Percent(percent * 100.0);
            continue;
        }
        match values::factor(&mut parser, units) {
            Some(px) => basis = Value::Px(px),
            None => return Any,
        }
    }
    Values(vec![basis])
}

fn number(value: &str) -> Parsed {
    match values::number(value) {
        Some(number) if number.is_finite() => Values(vec![Value::Number(number)]),
        _ => unread(value, true),
    }
}

fn clamped(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(number.clamp(0.0, 1.0)),
        other => other,
    }
}

fn display(value: &str) -> Parsed {
    let Some(words) = values::idents(value) else {
        return unread(value, false);
    };
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let found = match words.as_slice() {
        ["none"] => Display::None,
        ["contents"] => Display::Contents,
        ["inline"] | ["inline", "flow"] => Display::Inline,
        ["block" | "list-item" | "flow-root" | "flow"]
        | ["block", "flow" | "flow-root"]
        | ["block", "list-item"] => Display::Block,
        ["inline-block"] | ["inline", "flow-root"] => Display::InlineBlock,
        ["flex" | "grid" | "-webkit-flex" | "-webkit-box"] | ["block", "flex" | "grid"] => {
            Display::Flex
        }
        ["inline-flex" | "inline-grid" | "-webkit-inline-flex" | "-webkit-inline-box"]
        | ["inline", "flex" | "grid"] => Display::InlineFlex,
        ["table"] | ["block", "table"] => Display::Table,
        ["inline-table"] | ["inline", "table"] => Display::InlineTable,
        ["table-row" | "table-row-group" | "table-header-group" | "table-footer-group"] => {
            Display::Row
        }
        ["table-cell"] => Display::Cell,
        ["table-caption"] => Display::Caption,
        ["table-column" | "table-column-group"] => Display::Column,
        _ => return unread(value, false),
    };
    Values(vec![Value::Display(found)])
}

fn overflow(value: &str, across: bool, count: usize) -> Parsed {
    let clips = |word: &str| match word {
        "visible" => Some(Value::Auto),
        "hidden" | "scroll" | "auto" | "overlay" => Some(Value::On),
        // `clip` has axes and a margin of its own: it is not computed.
        _ => None,
    };
    let found = match values::idents(value).as_deref() {
        Some([both]) => clips(both),
        Some([x, y]) if count > 1 => clips(x)
            .zip(clips(y))
            .map(|(x, y)| if across { x } else { y }),
        _ => None,
    };
    match found {
        Some(value) => Values(vec![value]),
        None => unread(value, false),
    }
}

fn white_space(value: &str) -> Parsed {
    words(value, |word| match word {
        "normal" | "pre-wrap" | "pre-line" | "break-spaces" | "wrap" => Some(Value::Auto),
        "nowrap" | "pre" => Some(Value::On),
        _ => None,
    })
}

/// Whether white space is kept as it is written.
pub(crate) fn keeps_white_space(value: &str) -> bool {
    matches!(
        values::keyword(value).as_deref(),
        Some("pre" | "pre-wrap" | "pre-line" | "break-spaces")
    )
}

/// A line that is thicker than usual covers the letters.
fn text_decoration(value: &str) -> Parsed {
    let mut parser = Parser::new(value);
    while !parser.is_exhausted() {
        if values::next_color(&mut parser).is_some() {
            continue;
        }
        match parser.next() {
            Ok(Token::Ident(_)) => {}
            Ok(_) => return unread_list(value),
            Err(_) => break,
        }
    }
    Values(vec![Value::Auto])
}
