//! Widths of borders and outlines, and lines on text.

use cssparser::{Parser, Token};

use super::Parsed::{self, Any, Invalid, Values};
use super::{UnitContext, unread, unread_list};
use crate::style::Value;
use crate::values::{self, Units};

/// The width of a line by its width, style and color, in any order, each at most once.
pub(super) fn line(value: &str, context: &UnitContext) -> Parsed {
    let Some(units) = context.units().and_then(|all| all.last().copied()) else {
        return Any;
    };
    let mut parser = Parser::new(value);
    let (mut width, mut style, mut color) = (None, None, None);
    while !parser.is_exhausted() {
        let is_new = if let Some(found) = line_width(&mut parser, units) {
            width.replace(found).is_none()
        } else if let Some(found) = values::next_color(&mut parser) {
            color.replace(found).is_none()
        } else {
            match parser.next() {
                Ok(Token::Ident(word)) => {
                    let word = word.to_ascii_lowercase();
                    LINE_STYLES.contains(&word.as_str()) && style.replace(word).is_none()
                }
                // It lacks a unit.
                Ok(Token::Number { .. }) => return Invalid,
                _ => false,
            }
        };
        if !is_new {
            return unread_list(value);
        }
    }
    if (&width, &style, &color) == (&None, &None, &None) {
        return Invalid;
    }
    // Another declaration may give it a style, but few lines are thin then.
    let width = width.unwrap_or(MEDIUM_LINE_PX);
    let is_none = style.is_some_and(|style| style == "none") && width <= MEDIUM_LINE_PX;
    Values(vec![Value::Px(if is_none { 0.0 } else { width })])
}

/// The widest of the lines that a value names.
pub(super) fn line_widths(value: &str, count: usize, context: &UnitContext) -> Parsed {
    let Some(units) = context.units().and_then(|all| all.last().copied()) else {
        return Any;
    };
    let mut parser = Parser::new(value);
    let (mut widest, mut found) = (0.0_f32, 0);
    while let Some(width) = line_width(&mut parser, units) {
        (widest, found) = (widest.max(width), found + 1);
    }
    if parser.is_exhausted() && (1..=count).contains(&found) {
        Values(vec![Value::Px(widest)])
    } else {
        unread(value, context.quirks)
    }
}

const MEDIUM_LINE_PX: f32 = 3.0;

const LINE_STYLES: &[&str] = &[
    "none", "dotted", "dashed", "solid", "double", "groove", "ridge", "inset", "outset",
];

fn line_width(parser: &mut Parser<'_>, units: Units) -> Option<f32> {
    let width = parser.try_parse(|parser| {
        let word = parser.try_parse(|parser| parser.expect_ident_cloned());
        match word.map(|word| word.to_ascii_lowercase()).as_deref() {
            Ok("thin") => Some(1.0),
            Ok("medium") => Some(MEDIUM_LINE_PX),
            Ok("thick") => Some(5.0),
            Ok(_) => None,
            Err(_) => values::factor(parser, units).filter(|px| *px >= 0.0),
        }
        .ok_or(())
    });
    width.ok()
}

/// Lines, a style and a color, each at most once. A line that is thicker than usual covers the
/// letters.
pub(super) fn text_decoration(value: &str) -> Parsed {
    const STYLES: &[&str] = &["solid", "double", "dotted", "dashed", "wavy"];
    const LINES: &[&str] = &["underline", "overline", "line-through", "blink"];
    let mut parser = Parser::new(value);
    let mut color = None;
    let mut style = None;
    let mut lines: Vec<String> = Vec::new();
    // Lines stand side by side.
    let (mut parts, mut last_line) = (0, 0);
    while !parser.is_exhausted() {
        parts += 1;
        let is_new = if let Some(found) = values::next_color(&mut parser) {
            color.replace(found).is_none()
        } else if let Ok(word) = parser.expect_ident() {
            let word = word.to_ascii_lowercase();
            if STYLES.contains(&word.as_str()) {
                style.replace(word).is_none()
            } else {
                let is_line = LINES.contains(&word.as_str()) && !lines.contains(&word)
                    || word == "none" && lines.is_empty();
                let is_beside = lines.is_empty() || last_line + 1 == parts;
                let is_alone = !lines.iter().any(|line| line == "none");
                lines.push(word);
                last_line = parts;
                is_line && is_beside && is_alone
            }
        } else {
            false
        };
        if !is_new {
            return unread_list(value);
        }
    }
    if parts == 0 {
        return Invalid;
    }
    Values(vec![Value::Auto])
}
