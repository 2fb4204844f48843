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

/// The image of one layer: none, a picture that is not loaded, or a gradient over all of the box.
/// More layers are not followed.
fn images(value: &str) -> Option<Value> {
    let mut parser = Parser::new(value);
    let found = match parser.next().ok()?.clone() {
        Token::Ident(word) if word.eq_ignore_ascii_case("none") => Value::Auto,
        Token::UnquotedUrl(url) => remote(&url)?,
        Token::Function(name) => {
            let inside = parser
                .parse_nested_block(|inner| {
                    let from = inner.position();
                    while inner.next().is_ok() {}
                    Ok::<_, cssparser::ParseError<()>>(inner.slice_from(from).to_owned())
                })
                .ok()?;
            match name.to_ascii_lowercase().as_str() {
                "url" => remote(inside.trim().trim_matches(['"', '\'']))?,
                "linear-gradient" => gradient(&inside)?,
                _ => return None,
            }
        }
        _ => return None,
    };
    parser.is_exhausted().then_some(found)
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
        if index == 0 && is_direction(part) {
            continue;
        }
        let colour = match stop_color(part)? {
            Colour::Is(rgba) if rgba.alpha >= 1.0 => rgba,
            _ => return None,
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

/// `to right`, `to top left`, `90deg`.
fn is_direction(part: &str) -> bool {
    let sides = ["top", "bottom", "left", "right"];
    match values::idents(part).as_deref() {
        Some([to, side]) => to == "to" && sides.contains(&side.as_str()),
        Some([to, one, two]) => {
            let [vertical, horizontal] =
                [one, two].map(|side| ["top", "bottom"].contains(&side.as_str()));
            to == "to"
                && sides.contains(&one.as_str())
                && sides.contains(&two.as_str())
                && vertical != horizontal
        }
        Some(_) => false,
        None => {
            let mut parser = Parser::new(part);
            let is_angle = matches!(
                parser.next(),
                Ok(Token::Dimension { unit, .. }) if unit.eq_ignore_ascii_case("deg")
            );
            is_angle && parser.is_exhausted()
        }
    }
}

/// A colour with at most one place.
fn stop_color(part: &str) -> Option<Colour> {
    let mut parser = Parser::new(part);
    let colour = values::next_colour(&mut parser)?;
    let _ = parser.try_parse(Parser::expect_percentage);
    parser.is_exhausted().then_some(colour)
}

/// Colour, image and area of the shorthand. Only the plain form of one layer is followed.
pub(super) fn background(value: &str) -> (Parsed, Parsed, Parsed) {
    let all = |parsed: Parsed| (parsed.clone(), parsed.clone(), parsed);
    if is_foreign_syntax(value) {
        return all(Invalid);
    }
    let mut parser = Parser::new(value);
    let mut color = None;
    let mut pictures = String::new();
    let mut placed = false;
    let (mut none, mut repeats, mut attachments) = (0, 0, 0);
    let mut places: Vec<String> = Vec::new();
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
                    return all(Any);
                }
                pictures.push_str(parser.slice_from(from));
            }
            Token::Ident(word) => {
                let word = word.to_ascii_lowercase();
                match word.as_str() {
                    "none" => none += 1,
                    "repeat" | "repeat-x" | "repeat-y" | "no-repeat" => {
                        repeats += 1;
                        placed |= word != "repeat";
                    }
                    "scroll" => attachments += 1,
                    "center" | "top" | "left" | "right" | "bottom" => {
                        places.push(word);
                        placed = true;
                    }
                    word if is_background_word(word) => return all(Any),
                    _ => return all(Invalid),
                }
            }
            Token::Dimension { .. }
            | Token::Percentage { .. }
            | Token::Number { value: 0.0, .. } => {
                places.push(String::new());
                placed = true;
            }
            Token::Number { .. } | Token::Hash(_) | Token::IDHash(_) | Token::QuotedString(_) => {
                return all(Invalid);
            }
            _ => return all(Any),
        }
    }
    let repeated = places.iter().enumerate().any(|(nth, place)| {
        place != "center"
            && !place.is_empty()
            && places.iter().skip(nth + 1).any(|other| other == place)
    });
    if none + usize::from(!pictures.is_empty()) > 1
        || repeats > 1
        || attachments > 1
        || places.len() > 2
        || repeated
    {
        return all(Any);
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
    let area = if placed { Value::On } else { Value::Auto };
    (color, image, Values(vec![area]))
}

/// Words of the shorthand that are not followed.
fn is_background_word(word: &str) -> bool {
    const KNOWN: [&str; 12] = [
        "fixed",
        "local",
        "round",
        "space",
        "cover",
        "contain",
        "auto",
        "border-box",
        "padding-box",
        "content-box",
        "text",
        "border-area",
    ];
    KNOWN.contains(&word) || values::is_system_colour(word)
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
    let mut alpha = 0.0_f32;
    let mut colors = 0;
    let mut shadows = 1;
    let mut all: Vec<f32> = Vec::new();
    while !parser.is_exhausted() {
        if let Ok(px) = parser.try_parse(|parser| values::factor(parser, units).ok_or(())) {
            all.push(px.abs());
            continue;
        }
        match values::next_colour(&mut parser) {
            Some(Colour::Is(rgba)) => {
                alpha = alpha.max(rgba.alpha);
                colors += 1;
            }
            _ => match parser.next() {
                Ok(Token::Comma) => shadows += 1,
                _ => return unread_list(value),
            },
        }
    }
    let reach = all.iter().copied().fold(0.0, f32::max);
    // A shadow without a colour has that of the letters.
    let is_soft = colors == shadows && shadows == 1 && alpha <= 0.4 && reach <= 60.0;
    if reach <= 6.0 && shadows <= 2 || is_soft {
        Values(vec![Value::Auto])
    } else {
        Values(vec![Value::On])
    }
}
