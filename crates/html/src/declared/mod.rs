//! What a declared value means for one property: its values, nothing at all, or anything.

mod background;
mod borders;
mod font;

use cssparser::{Parser, Token};

use crate::properties::{
    COLOR_SCHEME, LIST_MARKS, LIST_STYLE, Longhand as L, MAX_HARMLESS_PX, PARTLY_HARMLESS, Reach,
    Syntax,
};
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
use background::{background, background_area, background_image, box_shadow, color, shadows};
use borders::{line, line_widths, text_decoration};
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
/// Across, down, blur.
const MAX_TEXT_SHADOW_LENGTHS: usize = 3;
const MAX_TEXT_SHADOW_REACH_PX: f32 = 6.0;

/// Functions in functions.
const MAX_FUNCTIONS: usize = 24;

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
///
/// INVARIANT: `Values` only for what browsers accept, `Invalid` only for what they ignore. A
/// declaration that they ignore would otherwise override one that hides text.
pub(crate) fn parse(
    longhand: L,
    count: usize,
    syntax: Syntax,
    value: &str,
    context: &UnitContext,
) -> Parsed {
    if refers(value) {
        return Any;
    }
    let strict;
    let context = if context.quirks && syntax != Syntax::Quirky {
        strict = UnitContext {
            quirks: false,
            ..context.clone()
        };
        &strict
    } else {
        context
    };
    match longhand {
        L::Color | L::TextFill => color(value, context.quirks),
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
        // Old versions of browsers ignore percentages, new ones do not.
        L::LetterSpacing | L::WordSpacing => no_percent(length(value, context, &["normal"])),
        L::TextIndent => length(value, context, &[]),
        L::OutlineOffset => no_percent(length(value, context, &[])),
        L::TextAlign => words(value, |word| match word {
            "left" | "start" | "justify" | "-webkit-left" | "-webkit-auto" => Some(Value::Auto),
            "right" | "center" | "end" | "-webkit-right" | "-webkit-center" => Some(Value::On),
            _ => None,
        }),
        L::TextShadow => text_shadow(value, context),
        // Of these four, the other value says all that the property may do.
        L::Animation => word_or_on(value, &["none"]),
        L::Clip => word_or_on(value, &["auto"]),
        L::Content => word_or_on(value, &["none", "normal"]),
        L::TextStroke => match length(value, context, &[]) {
            Values(all) if all.iter().all(|value| *value == Value::Px(0.0)) => {
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
            side(longhand, count, value, context)
        }
        L::BorderTop | L::BorderRight | L::BorderBottom | L::BorderLeft | L::OutlineWidth => {
            if syntax == Syntax::Parts {
                line(value, context)
            } else {
                line_widths(value, count, context)
            }
        }
        L::Width | L::Height | L::MinWidth | L::MinHeight => size(value, context, SIZES),
        L::MaxWidth | L::MaxHeight => size(value, context, MAX_SIZES),
        L::FlexBasis if syntax == Syntax::Parts => flex(value, context),
        L::FlexBasis => size(value, context, FLEX_SIZES),
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
        L::ZIndex => match (values::integer(value), values::keyword(value).as_deref()) {
            (Some(number), _) => Values(vec![Value::Number(number as f32)]),
            (None, Some("auto")) => Values(vec![Value::Auto]),
            _ => unread(value, true),
        },
        L::Zoom => match (number(value), values::keyword(value).as_deref()) {
            (_, Some("normal")) => Values(vec![Value::Number(1.0)]),
            (Values(all), _) if all.contains(&Value::Number(0.0)) => Any,
            (parsed, _) => not_negative(parsed),
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

/// One of the words that leave things as they are, or something else.
fn word_or_on(value: &str, words: &[&str]) -> Parsed {
    match values::keyword(value) {
        Some(word) if words.contains(&word.as_str()) => Values(vec![Value::Auto]),
        _ if unread_list(value) == Invalid => Invalid,
        _ => Values(vec![Value::On]),
    }
}

/// A shadow near the letters; others may cover other text.
fn text_shadow(value: &str, context: &UnitContext) -> Parsed {
    if values::keyword(value).as_deref() == Some("none") {
        return Values(vec![Value::Auto]);
    }
    let Some(shadows) = shadows(value, context, MAX_TEXT_SHADOW_LENGTHS) else {
        return unread_list(value);
    };
    let is_near = |lengths: &[f32]| {
        lengths.iter().map(|px| px.abs()).sum::<f32>() <= MAX_TEXT_SHADOW_REACH_PX
    };
    if shadows.len() <= MAX_TEXT_SHADOWS && shadows.iter().all(|(lengths, _)| is_near(lengths)) {
        Values(vec![Value::On])
    } else {
        Any
    }
}

/// Whether a function in it stands for text that is not known here: browsers accept any value
/// with one. Deep values are not read.
fn refers(value: &str) -> bool {
    value.contains(['(', '[', '{']) && has_reference(&mut Parser::new(value), 0)
}

fn has_reference(parser: &mut Parser<'_>, depth: usize) -> bool {
    while let Ok(token) = parser.next() {
        let is_reference = match token {
            Token::Function(name) => {
                let known = ["attr", "env", "var", "if", "inherit"];
                known.iter().any(|known| name.eq_ignore_ascii_case(known)) || name.starts_with("--")
            }
            Token::ParenthesisBlock | Token::SquareBracketBlock | Token::CurlyBracketBlock => false,
            _ => continue,
        };
        let inside = |inner: &mut Parser<'_>| {
            Ok::<_, cssparser::ParseError<()>>(has_reference(inner, depth + 1))
        };
        if is_reference
            || depth >= MAX_FUNCTIONS
            || parser.parse_nested_block(inside).unwrap_or(false)
        {
            return true;
        }
    }
    false
}

/// A list that could not be read: ignored by browsers for certain, or not understood.
fn unread_list(value: &str) -> Parsed {
    if is_foreign_syntax(value) || Parser::new(value).is_exhausted() {
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
    let lower = value.trim_ascii().to_ascii_lowercase();
    let has = |wanted: &str| row.harmless.contains(&wanted);
    match row.name {
        COLOR_SCHEME => is_dark_scheme(value) == Some(false),
        LIST_STYLE => is_list_style(value),
        _ if has("<small>") => is_small_radius(&lower, row.name == "border-radius"),
        _ => has(&lower) || has("<url>") && is_remote_url(value),
    }
}

/// Whether a page with this `color-scheme` gets dark colors; `None` when browsers ignore it. A page
/// that supports light colors gets them.
pub(crate) fn is_dark_scheme(value: &str) -> Option<bool> {
    let mut parser = Parser::new(value);
    let mut words = Vec::new();
    while !parser.is_exhausted() {
        words.push(parser.expect_ident().ok()?.to_ascii_lowercase());
    }
    let mut schemes: Vec<&str> = words.iter().map(String::as_str).collect();
    if schemes == ["normal"] {
        return Some(false);
    }
    if schemes.first() == Some(&"only") {
        schemes.remove(0);
    } else if schemes.last() == Some(&"only") {
        schemes.pop();
    }
    let is_name =
        |word: &&str| !values::is_wide(word) && !["normal", "only", "default"].contains(word);
    let has = |word: &str| schemes.contains(&word);
    (!schemes.is_empty() && schemes.iter().all(is_name)).then(|| has("dark") && !has("light"))
}

/// Up to four lengths, and four after a slash; a single corner has up to two.
fn is_small_radius(value: &str, is_shorthand: bool) -> bool {
    let mut parser = Parser::new(value);
    let mut count = 0;
    let mut slashes = 0;
    while let Ok(token) = parser.next() {
        let is_small = match token {
            Token::Delim('/') if is_shorthand && count > 0 && slashes == 0 => {
                (count, slashes) = (0, 1);
                continue;
            }
            Token::Number { value, .. } => *value == 0.0,
            Token::Percentage { unit_value, .. } => (0.0..=0.2).contains(unit_value),
            Token::Dimension { value, unit, .. } => {
                let per = if unit.eq_ignore_ascii_case("px") || unit.eq_ignore_ascii_case("pt") {
                    1.5
                } else {
                    16.0
                };
                values::is_length_unit(unit) && (0.0..=MAX_HARMLESS_PX).contains(&(value * per))
            }
            _ => false,
        };
        count += 1;
        if !is_small || count > if is_shorthand { 4 } else { 2 } {
            return false;
        }
    }
    count > 0
}

/// A mark, a picture and a place, each at most once. `none` is a mark or a picture.
fn is_list_style(value: &str) -> bool {
    let mut parser = Parser::new(value);
    let (mut nones, mut marks, mut pictures, mut places) = (0, 0, 0, 0);
    while !parser.is_exhausted() {
        if parser
            .try_parse(|parser| remote_url(parser).ok_or(()))
            .is_ok()
        {
            pictures += 1;
            continue;
        }
        match parser.expect_ident().map(|word| word.to_ascii_lowercase()) {
            Ok(word) if word == "none" => nones += 1,
            Ok(word) if word == "inside" || word == "outside" => places += 1,
            Ok(word) if LIST_MARKS.contains(&word.as_str()) => marks += 1,
            _ => return false,
        }
    }
    let count = nones + marks + pictures;
    marks <= 1 && pictures <= 1 && places <= 1 && count <= 2 && count + places > 0
}

fn is_remote_url(value: &str) -> bool {
    let mut parser = Parser::new(value);
    remote_url(&mut parser).is_some() && parser.is_exhausted()
}

/// The address of a picture that is not loaded.
fn remote_url(parser: &mut Parser<'_>) -> Option<()> {
    let url = parser.expect_url().ok()?;
    (!crate::elements::is_embedded(&url)).then_some(())
}

/// Whether browsers ignore a guarded value for certain.
pub(crate) fn is_ignored(guarded: usize, value: &str) -> bool {
    let Some(row) = PARTLY_HARMLESS.get(guarded) else {
        return false;
    };
    if refers(value) {
        return false;
    }
    if row.name == COLOR_SCHEME {
        return is_dark_scheme(value).is_none();
    }
    if is_foreign_syntax(value) {
        return true;
    }
    // Strings may be marks, quotes and areas, and some properties have any name.
    let is_free = value.contains(['(', '"', '\'']) || row.name.starts_with("text-emphasis");
    let has_names = row.name.starts_with("grid")
        || row.name.starts_with("list-style")
        || ["container", "view-transition-name", "will-change"].contains(&row.name);
    let is_radius = row.reach == Reach::Clip;
    !has_names && has_foreign_word(value)
        || !has_names && !is_free && unread(value, !is_radius) == Invalid
}

fn has_foreign_word(value: &str) -> bool {
    let mut parser = Parser::new(value);
    while let Ok(token) = parser.next() {
        let is_foreign = match token {
            Token::Ident(name) => is_foreign_word(name),
            Token::Function(name) => {
                is_foreign_word(name) || name.eq_ignore_ascii_case("expression")
            }
            _ => false,
        };
        if is_foreign {
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
];

/// The same for items of a flex container.
const FLEX_SIZES: &[&str] = &["auto", "content", "max-content", "fit-content"];

/// A length or a percentage that is not below zero, or a word.
fn size(value: &str, context: &UnitContext, auto: &[&str]) -> Parsed {
    match values::keyword(value).as_deref() {
        Some("-webkit-fill-available") if auto == FLEX_SIZES => Any,
        Some("stretch" | "-webkit-fill-available") => Values(vec![Value::Percent(100.0)]),
        _ => not_negative(length(value, context, auto)),
    }
}

/// A length or a percentage, or a word that leaves it to the browser.
fn length(value: &str, context: &UnitContext, auto: &[&str]) -> Parsed {
    if let Some(word) = values::keyword(value) {
        if auto.contains(&word.as_str()) {
            return Values(vec![Value::Auto]);
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

/// Percentages may be ignored, or not.
fn no_percent(parsed: Parsed) -> Parsed {
    match &parsed {
        Values(all) if all.iter().any(|value| matches!(value, Value::Percent(_))) => Any,
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

/// Top, right, bottom or left of one to four lengths.
fn side(longhand: L, count: usize, value: &str, context: &UnitContext) -> Parsed {
    let part = |part: &str| match longhand {
        L::PaddingTop | L::PaddingRight | L::PaddingBottom | L::PaddingLeft => {
            not_negative(length(part, context, &[]))
        }
        _ => length(part, context, &["auto"]),
    };
    if count == 1 {
        return part(value);
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
        parts.push(parser.slice_from(from).trim_ascii());
    }
    if parts.is_empty() || parts.len() > count {
        return unread_list(value);
    }
    // All of them have to be valid.
    let all: Vec<Parsed> = parts.into_iter().map(part).collect();
    if all.contains(&Invalid) {
        return Invalid;
    }
    if all.contains(&Any) {
        return Any;
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

/// The basis of `1 1 auto`: one or two numbers, and a size before or after them.
fn flex(value: &str, context: &UnitContext) -> Parsed {
    if values::keyword(value).as_deref() == Some("none") {
        return Values(vec![Value::Auto]);
    }
    let mut parser = Parser::new(value);
    let (mut numbers, mut basis) = (Vec::new(), None);
    while !parser.is_exhausted() {
        let from = parser.position();
        let number = parser.try_parse(|parser| parser.expect_number());
        match number {
            // After two numbers, zero is a size.
            Ok(number) if number >= 0.0 && numbers.len() < 2 => numbers.push(parser.position()),
            Ok(0.0) if basis.is_none() => basis = Some((vec![Value::Px(0.0)], from)),
            Ok(_) => return Any,
            Err(_) if basis.is_none() && parser.next().is_ok() => {
                match size(parser.slice_from(from).trim_ascii(), context, FLEX_SIZES) {
                    Values(all) => basis = Some((all, from)),
                    _ => return unread_list(value),
                }
            }
            Err(_) => return unread_list(value),
        }
    }
    // The size does not stand between the numbers.
    match (numbers.as_slice(), basis) {
        ([], None) => Invalid,
        (_, None) => Values(vec![Value::Auto]),
        ([one, two], Some((_, at))) if (*one..*two).contains(&at) => Any,
        (_, Some((all, _))) => Values(all),
    }
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

#[cfg(test)]
mod tests;
