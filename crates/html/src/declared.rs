//! What the values of single properties mean: sizes, fonts, gradients, and values that nobody can judge here.

use crate::computed::painted;
use crate::own::Display;
use crate::properties::Property;
use std::ops::RangeInclusive;

use cssparser::{Parser, Token};

use crate::values::{self, Rgba, Units};

pub(crate) fn display(value: &str) -> Option<Display> {
    let words = values::idents(value)?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    Some(match words.as_slice() {
        ["none"] => Display::None,
        ["contents"] => Display::Contents,
        ["inline" | "ruby" | "ruby-base" | "ruby-text" | "math" | "inline-ruby"]
        | ["inline", "flow"] => Display::Inline,
        [
            "block" | "inline-block" | "flow-root" | "list-item" | "-webkit-box"
            | "-webkit-inline-box" | "table-caption" | "flow",
        ]
        | ["block", "flow" | "flow-root" | "math" | "ruby"]
        | ["inline", "flow-root"]
        | ["block" | "inline", "list-item"] => Display::Block,
        [
            "flex"
            | "inline-flex"
            | "grid"
            | "inline-grid"
            | "-webkit-flex"
            | "-webkit-inline-flex"
            | "grid-lanes",
        ]
        | ["block" | "inline", "flex" | "grid"] => Display::Flex,
        [
            "table" | "inline-table" | "table-row" | "table-row-group" | "table-header-group"
            | "table-footer-group",
        ]
        | ["block" | "inline", "table"] => Display::Table,
        ["table-cell"] => Display::Cell,
        ["table-column" | "table-column-group"] => Display::Column,
        _ => return None,
    })
}

/// `Some(None)` for sizes that are left to the browser.
pub(crate) fn size(value: &str, units: Units) -> Option<Option<f32>> {
    if let Some(word) = values::keyword(value) {
        let known = matches!(
            word.as_str(),
            "auto"
                | "none"
                | "max-content"
                | "min-content"
                | "fit-content"
                | "stretch"
                | "-webkit-fill-available"
        );
        return known.then_some(None);
    }
    let functions = values::functions(value);
    if functions.iter().any(|(name, _)| name == "fit-content") {
        return Some(None);
    }
    values::length(value, units).map(Some)
}

/// As [`size`]; a part of a height that is not given is no height.
pub(crate) fn tall(value: &str, units: Units) -> Option<Option<f32>> {
    if value.contains('%') {
        return Some(None);
    }
    size(value, units)
}

pub(crate) fn clips(word: &str) -> Option<bool> {
    match word {
        "visible" => Some(false),
        "hidden" | "clip" | "scroll" | "auto" | "overlay" => Some(true),
        _ => None,
    }
}

/// Top, right, bottom, left of one to four lengths.
pub(crate) fn sides(lengths: &[f32]) -> Option<[f32; 4]> {
    Some(match *lengths {
        [all] => [all; 4],
        [block, inline] => [block, inline, block, inline],
        [top, inline, bottom] => [top, inline, bottom, inline],
        [top, right, bottom, left, ..] => [top, right, bottom, left],
        [] => return None,
    })
}

/// `units` are those of the parent.
pub(crate) fn font_size(value: &str, units: Units) -> Option<f32> {
    let parent = units.font;
    if let Some(word) = values::keyword(value) {
        return Some(match word.as_str() {
            "xx-small" => 9.0,
            "x-small" => 10.0,
            "small" => 13.0,
            "medium" => 16.0,
            "large" => 18.0,
            "x-large" => 24.0,
            "xx-large" | "xxx-large" => 32.0,
            "smaller" => parent / 1.2,
            "larger" => parent * 1.2,
            _ => return None,
        });
    }
    values::length(value, units).filter(|size| *size >= 0.0)
}

/// The size in `font: italic bold 12px/30px Georgia, serif`. Without a family it is no font.
pub(crate) fn font_shorthand(value: &str, units: Units) -> Option<f32> {
    let mut parser = Parser::new(value);
    loop {
        let start = parser.position();
        let token = parser.next().ok()?.clone();
        let is_size = match &token {
            Token::Number { value, .. } => *value == 0.0,
            Token::Ident(word) => {
                let is_size = font_size(word, units).is_some();
                if !is_size && !is_font_word(word) {
                    return None;
                }
                is_size
            }
            Token::Dimension { .. } | Token::Percentage { .. } | Token::Function(_) => true,
            _ => return None,
        };
        if !is_size {
            continue;
        }
        if matches!(token, Token::Function(_)) {
            let _ = parser.parse_nested_block(|inner| {
                while inner.next().is_ok() {}
                Ok::<_, cssparser::ParseError<()>>(())
            });
        }
        let size = font_size(parser.slice_from(start).trim(), units)?;
        if parser.try_parse(|parser| parser.expect_delim('/')).is_ok() {
            parser.next().ok()?;
        }
        // A family must follow, and nothing else.
        let mut family = false;
        while let Ok(token) = parser.next() {
            match token {
                Token::Ident(_) | Token::QuotedString(_) => family = true,
                Token::Comma => {}
                _ => return None,
            }
        }
        return family.then_some(size);
    }
}

fn is_font_word(word: &str) -> bool {
    const KNOWN: [&str; 18] = [
        "normal",
        "italic",
        "oblique",
        "small-caps",
        "bold",
        "bolder",
        "lighter",
        "ultra-condensed",
        "extra-condensed",
        "condensed",
        "semi-condensed",
        "semi-expanded",
        "expanded",
        "extra-expanded",
        "ultra-expanded",
        "caption",
        "icon",
        "menu",
    ];
    KNOWN.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The colours of gradients, when there are any.
pub(crate) fn gradient(value: &str, own: Rgba) -> Vec<Rgba> {
    let functions = values::functions(value);
    let gradients = functions
        .iter()
        .filter(|(name, _)| name.ends_with("gradient"));
    gradients
        .flat_map(|(_, inside)| inside.split_inclusive(','))
        .filter_map(|part| values::colour_in(part.trim_end_matches(',')))
        .map(|colour| painted(colour, own))
        .take(16)
        .collect()
}

/// Without `url(…)` and gradients, whose colours are not the background's.
pub(crate) fn without_functions(value: &str) -> String {
    let mut parser = Parser::new(value);
    let mut out = String::new();
    let mut from = parser.position();
    loop {
        let before = parser.position();
        let picture = match parser.next() {
            Ok(Token::Function(name)) => {
                let name = name.to_ascii_lowercase();
                name.ends_with("gradient") || name == "url" || name.ends_with("image-set")
            }
            Ok(_) => false,
            Err(_) => break,
        };
        if picture {
            out.push_str(parser.slice(from..before));
            out.push(' ');
            let _ = parser.parse_nested_block(|inner| {
                while inner.next().is_ok() {}
                Ok::<_, cssparser::ParseError<()>>(())
            });
            from = parser.position();
        }
    }
    out.push_str(parser.slice_from(from));
    out
}

/// Shadow or stroke: a colour with so many lengths, or nothing.
pub(crate) fn outline(
    value: &str,
    own: Rgba,
    count: RangeInclusive<usize>,
) -> Option<Option<Rgba>> {
    if values::keyword(value).as_deref() == Some("none") {
        return Some(None);
    }
    let mut parser = Parser::new(value);
    let mut found = None;
    let mut lengths = Vec::new();
    while !parser.is_exhausted() {
        match values::next_colour(&mut parser) {
            Some(_) if found.is_some() => return None,
            Some(colour) => found = Some(painted(colour, own)),
            None => lengths.push(values::factor(&mut parser, Units::ONE)?),
        }
    }
    if !count.contains(&lengths.len()) {
        return None;
    }
    // A stroke of no width is none, and a shadow far away is not these letters.
    let drawn = lengths.iter().any(|length| *length != 0.0)
        && lengths.iter().all(|length| length.abs() <= 20.0);
    Some(drawn.then_some(found.unwrap_or(own)))
}

/// A background of words and lengths that browsers know.
pub(crate) fn background_is_valid(plain: &str) -> Option<()> {
    const KNOWN: [&str; 23] = [
        "none",
        "repeat",
        "repeat-x",
        "repeat-y",
        "no-repeat",
        "round",
        "space",
        "scroll",
        "fixed",
        "local",
        "center",
        "top",
        "left",
        "right",
        "bottom",
        "cover",
        "contain",
        "auto",
        "border-box",
        "padding-box",
        "content-box",
        "text",
        "border-area",
    ];
    let mut parser = Parser::new(plain);
    let mut colours = 0;
    while !parser.is_exhausted() {
        let known = parser.try_parse(|parser| match parser.next() {
            Ok(Token::Ident(word))
                if KNOWN.iter().any(|known| word.eq_ignore_ascii_case(known)) =>
            {
                Ok(())
            }
            Ok(Token::Comma | Token::Delim('/') | Token::UnquotedUrl(_)) => Ok(()),
            Ok(Token::Dimension { .. } | Token::Percentage { .. }) => Ok(()),
            Ok(Token::Number { value, .. }) if *value == 0.0 => Ok(()),
            _ => Err(()),
        });
        if known.is_err() {
            values::next_colour(&mut parser)?;
            colours += 1;
        }
    }
    (colours <= 1).then_some(())
}

/// A percentage of next to nothing.
pub(crate) fn is_small_part(value: &str) -> bool {
    let part = value
        .trim()
        .strip_suffix('%')
        .and_then(|part| part.trim().parse::<f32>().ok());
    part.is_some_and(|part| part <= 2.0)
}

/// Whether a value that we cannot read may still mean something to a browser: then nobody can say what.
pub(crate) fn is_beyond_us(property: &Property, value: &str) -> bool {
    let colour = matches!(
        property,
        Property::Color | Property::TextFill | Property::BackgroundColor
    );
    if matches!(
        property,
        Property::Beyond | Property::ColorScheme | Property::AspectRatio
    ) {
        return true;
    }
    if colour && values::keyword(value).is_some_and(|word| is_system_colour(&word)) {
        return true;
    }
    let words = || values::words(value);
    if *property == Property::Background && words().iter().any(|word| is_system_colour(word)) {
        return true;
    }
    // Colours that are only misspelt are known not to be any.
    let misspelt = colour && {
        let lower = value.to_ascii_lowercase();
        let plain = ["rgb(", "rgba(", "hsl(", "hsla("]
            .iter()
            .any(|head| lower.starts_with(head));
        plain && lower.matches('(').count() == 1 && !lower.contains("from")
    };
    value.contains('(')
        && !misspelt
        && !matches!(property, Property::Custom(_) | Property::AnimationName)
}

/// Colours of the reader's desktop.
fn is_system_colour(word: &str) -> bool {
    const SUFFIXES: [&str; 12] = [
        "text",
        "face",
        "border",
        "background",
        "menu",
        "scrollbar",
        "highlight",
        "shadow",
        "frame",
        "caption",
        "workspace",
        "color",
    ];
    const NAMED: [&str; 8] = [
        "mark",
        "selecteditem",
        "accentcolor",
        "activecaption",
        "appworkspace",
        "inactivecaption",
        "threedface",
        "infobackground",
    ];
    word != "currentcolor"
        && (NAMED.contains(&word) || SUFFIXES.iter().any(|suffix| word.ends_with(suffix)))
}
