//! Colours, backgrounds and shadows.

use cssparser::{Parser, Token};

use super::Parsed::{self, Any, Invalid, Values};
use super::{UnitContext, is_foreign_syntax, unread, unread_list};
use crate::elements;
use crate::style::{Image, Value};
use crate::values::{self, Colour, Rgba};

pub(super) fn color(value: &str, quirks: bool) -> Parsed {
    match values::colour(value) {
        Some(colour) => Values(vec![of_color(colour)]),
        None if quirks && values::colour(&format!("#{}", value.trim())).is_some() => Values(
            values::colour(&format!("#{}", value.trim()))
                .map(of_color)
                .into_iter()
                .collect(),
        ),
        None => match values::keyword(value) {
            Some(word) if !values::is_system_colour(&word) => Invalid,
            _ => unread_color(value),
        },
    }
}

/// A colour that is only misspelt is none; other functions may be one.
fn unread_color(value: &str) -> Parsed {
    let mut parser = Parser::new(value);
    let parsed = match parser.next() {
        Ok(Token::Function(_)) => unread(value, true),
        Ok(Token::Ident(_)) if values::keyword(value).is_some() => Any,
        _ => Invalid,
    };
    parsed.not_values()
}

fn of_color(colour: Colour) -> Value {
    match colour {
        Colour::Own => Value::CurrentColor,
        Colour::Is(rgba) => Value::Color(rgba),
    }
}

pub(super) fn background_image(value: &str) -> Parsed {
    match images(value) {
        Some(image) => Values(vec![image]),
        None => unread(value, false),
    }
}

/// The image of a list of layers: none, pictures that are not loaded, or one gradient over all of the box.
fn images(value: &str) -> Option<Value> {
    let mut parser = Parser::new(value);
    let mut found: Vec<Value> = Vec::new();
    while !parser.is_exhausted() {
        let start = parser.position();
        let token = parser.next().ok()?.clone();
        match token {
            Token::Ident(word) if word.eq_ignore_ascii_case("none") => {}
            Token::Comma => {}
            Token::UnquotedUrl(url) => found.push(remote(&url)?),
            Token::Function(name) => {
                let inside = parser
                    .parse_nested_block(|inner| {
                        let from = inner.position();
                        while inner.next().is_ok() {}
                        Ok::<_, cssparser::ParseError<()>>(inner.slice_from(from).to_owned())
                    })
                    .ok()?;
                let name = name.to_ascii_lowercase();
                found.push(match name.as_str() {
                    "url" => remote(inside.trim().trim_matches(['"', '\'']))?,
                    "linear-gradient"
                    | "radial-gradient"
                    | "conic-gradient"
                    | "-webkit-linear-gradient"
                    | "-webkit-radial-gradient"
                    | "repeating-linear-gradient"
                    | "repeating-radial-gradient" => gradient(&inside)?,
                    _ => return None,
                });
            }
            _ => return None,
        }
        let _ = start;
    }
    match found.as_slice() {
        [] => Some(Value::Auto),
        [one] => Some(*one),
        all if all.iter().all(|one| *one == Value::Image(Image::Remote)) => {
            Some(Value::Image(Image::Remote))
        }
        _ => None,
    }
}

/// Pictures are not loaded, unless they stand in the mail itself.
fn remote(url: &str) -> Option<Value> {
    (!elements::is_embedded(url)).then_some(Value::Image(Image::Remote))
}

/// The box of colours that a gradient runs through.
fn gradient(inside: &str) -> Option<Value> {
    let mut low = Rgba {
        rgb: [255.0; 3],
        alpha: 1.0,
    };
    let mut high = Rgba::BLACK;
    let mut stops = 0;
    let mut parser = Parser::new(inside);
    let parts = parser
        .parse_comma_separated(|part| {
            let from = part.position();
            while part.next().is_ok() {}
            Ok::<_, cssparser::ParseError<()>>(part.slice_from(from).to_owned())
        })
        .ok()?;
    for (index, part) in parts.iter().enumerate() {
        let colour = match values::colour_in(part) {
            Some(Colour::Is(rgba)) if rgba.alpha >= 1.0 => rgba,
            Some(_) => return None,
            None if index == 0 => continue,
            None => return None,
        };
        stops += 1;
        for (at, level) in colour.rgb.iter().enumerate() {
            if let (Some(low), Some(high)) = (low.rgb.get_mut(at), high.rgb.get_mut(at)) {
                *low = low.min(*level);
                *high = high.max(*level);
            }
        }
    }
    (stops >= 2).then_some(Value::Image(Image::Gradient { low, high }))
}

/// Colour, image and area of the shorthand.
pub(super) fn background(value: &str) -> (Parsed, Parsed, Parsed) {
    let all = |parsed: Parsed| (parsed.clone(), parsed.clone(), parsed);
    if is_foreign_syntax(value) {
        return all(Invalid);
    }
    let mut parser = Parser::new(value);
    let mut color = None;
    let mut pictures = String::new();
    let mut placed = false;
    let mut layers = 1;
    while !parser.is_exhausted() {
        if let Some(found) = values::next_colour(&mut parser) {
            if color.is_some() {
                return all(Invalid);
            }
            color = Some(found);
            continue;
        }
        let from = parser.position();
        let token = match parser.next() {
            Ok(token) => token.clone(),
            Err(_) => break,
        };
        match token {
            Token::Function(_) | Token::UnquotedUrl(_) => {
                if matches!(token, Token::Function(_)) {
                    let _ = parser.parse_nested_block(|inner| {
                        while inner.next().is_ok() {}
                        Ok::<_, cssparser::ParseError<()>>(())
                    });
                }
                if !pictures.is_empty() {
                    pictures.push(',');
                }
                pictures.push_str(parser.slice_from(from));
            }
            Token::Ident(word) => match word.to_ascii_lowercase().as_str() {
                "none" | "repeat" | "scroll" | "border-box" | "padding-box" => {}
                "repeat-x" | "repeat-y" | "no-repeat" | "round" | "space" | "center" | "top"
                | "left" | "right" | "bottom" | "cover" | "contain" | "auto" => placed = true,
                "fixed" | "local" | "content-box" | "text" | "border-area" => {
                    return (Any, Any, Any);
                }
                word if values::is_system_colour(word) => return (Any, Any, Any),
                _ => return all(Invalid),
            },
            Token::Comma => layers += 1,
            Token::Delim('/') => placed = true,
            Token::Dimension { .. } | Token::Percentage { .. } => placed = true,
            Token::Number { value: 0.0, .. } => placed = true,
            Token::Number { .. } | Token::Hash(_) | Token::IDHash(_) | Token::QuotedString(_) => {
                return all(Invalid);
            }
            _ => return (Any, Any, Any),
        }
    }
    if value.trim().is_empty() {
        return all(Invalid);
    }
    let color = Values(vec![
        color.map_or(Value::Color(Rgba::TRANSPARENT), of_color),
    ]);
    let image = if pictures.is_empty() {
        Values(vec![Value::Auto])
    } else {
        images(&pictures).map_or(Any, |image| Values(vec![image]))
    };
    let area = if placed || layers > 1 {
        Value::On
    } else {
        Value::Auto
    };
    (color, image, Values(vec![area]))
}

/// Whether a background covers all of its box.
pub(super) fn background_area(value: &str) -> Parsed {
    let Some(words) = values::idents(value) else {
        return Values(vec![Value::On]);
    };
    let whole = [
        "repeat",
        "scroll",
        "border-box",
        "padding-box",
        "normal",
        "auto",
    ];
    // Size, position and repetition concern pictures; clipping concerns the colour too.
    let clips = ["text", "content-box", "border-area", "fixed", "local"];
    if words.iter().any(|word| clips.contains(&word.as_str())) {
        return Any;
    }
    if words.iter().all(|word| whole.contains(&word.as_str())) {
        return Values(vec![Value::Auto]);
    }
    Values(vec![Value::On])
}

/// None, a soft shadow near the box, or anything.
pub(super) fn box_shadow(value: &str, context: &UnitContext) -> Parsed {
    if values::keyword(value).as_deref() == Some("none") {
        return Values(vec![Value::Auto]);
    }
    let Some(units) = context.units().and_then(|all| all.last().copied()) else {
        return Any;
    };
    let mut parser = Parser::new(value);
    let mut alpha = 1.0_f32;
    let mut all: Vec<f32> = Vec::new();
    while !parser.is_exhausted() {
        if let Ok(px) = parser.try_parse(|parser| values::factor(parser, units).ok_or(())) {
            all.push(px.abs());
            continue;
        }
        match values::next_colour(&mut parser) {
            Some(Colour::Is(rgba)) => alpha = alpha.min(rgba.alpha),
            _ => match parser.next() {
                Ok(Token::Comma) => {}
                Ok(Token::Ident(word)) if word.eq_ignore_ascii_case("inset") => {
                    alpha = 1.0;
                    all.push(3.0);
                }
                _ => return unread_list(value),
            },
        }
    }
    let reach = all.iter().copied().fold(0.0, f32::max);
    if reach <= 6.0 || alpha <= 0.4 && reach <= 60.0 {
        Values(vec![Value::Auto])
    } else {
        Values(vec![Value::On])
    }
}
