//! Colors, backgrounds and shadows.

use cssparser::{ParseError, Parser, Token};

use super::Parsed::{self, Any, Invalid, Values};
use super::{UnitContext, is_foreign_syntax, unread, unread_list};
use crate::elements;
use crate::style::{Image, Value};
use crate::values::{self, Color, Rgba};

/// Shadows that reach no farther than this cover no text beside their box.
const MAX_SHADOW_REACH_PX: f32 = 2.5;
/// Across, down, blur, spread.
const MAX_BOX_SHADOW_LENGTHS: usize = 4;
/// A shadow of this opacity does not bring a visible color close to that of its text.
const MAX_FAINT_SHADOW_ALPHA: f32 = 0.12;

pub(super) fn color(value: &str, quirks: bool) -> Parsed {
    let bare = || bare_color(value).filter(|_| quirks);
    match values::color(value).or_else(bare) {
        Some(color) => Values(vec![of_color(color)]),
        None => match values::keyword(value) {
            Some(word) if !values::is_system_color(&word) => Invalid,
            _ => unread_color(value),
        },
    }
}

/// A color without its `#` (Quirks Mode Standard 3.2).
fn bare_color(value: &str) -> Option<Color> {
    let mut parser = Parser::new(value);
    let digits = match parser.next().ok()? {
        Token::Ident(word) if word.len() == 3 || word.len() == 6 => word.to_string(),
        Token::Number {
            int_value: Some(number @ 0..),
            ..
        } => format!("{number:06}"),
        Token::Dimension {
            int_value: Some(number @ 0..),
            unit,
            ..
        } => format!("{:0>6}", format!("{number}{unit}")),
        _ => return None,
    };
    let is_one = parser.is_exhausted() && digits.len() <= 6;
    is_one.then(|| values::color(&format!("#{digits}")))?
}

/// A color that is only misspelt is none; other functions may be one.
fn unread_color(value: &str) -> Parsed {
    let mut parser = Parser::new(value);
    let parsed = match parser.next() {
        Ok(Token::Function(_)) => unread(value, true),
        Ok(Token::Ident(_)) if values::keyword(value).is_some() => Any,
        _ => Invalid,
    };
    parsed.not_values()
}

fn of_color(color: Color) -> Value {
    match color {
        Color::Own => Value::CurrentColor,
        Color::Is(rgba) => Value::Color(rgba),
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
            let is_url = name.eq_ignore_ascii_case("url");
            let inside = parser
                .parse_nested_block(|inner| {
                    if is_url {
                        return Ok(inner.expect_string()?.to_string());
                    }
                    let from = inner.position();
                    while inner.next().is_ok() {}
                    Ok::<_, ParseError<()>>(inner.slice_from(from).to_owned())
                })
                .ok()?;
            match name.to_ascii_lowercase().as_str() {
                "url" => remote(&inside)?,
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

/// The box of colors that a gradient runs through.
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
            Ok::<_, ParseError<()>>(part.slice_from(from).to_owned())
        })
        .ok()?;
    for (index, part) in parts.iter().enumerate() {
        if index == 0 && is_direction(part) {
            continue;
        }
        let color = match stop_color(part)? {
            Color::Is(rgba) if rgba.alpha >= 1.0 => rgba,
            _ => return None,
        };
        stops += 1;
        for (at, level) in color.rgb.iter().enumerate() {
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

/// A color with at most one place.
fn stop_color(part: &str) -> Option<Color> {
    let mut parser = Parser::new(part);
    let color = values::next_color(&mut parser)?;
    let _ = parser.try_parse(Parser::expect_percentage);
    parser.is_exhausted().then_some(color)
}

/// Color, image and area of the shorthand. Only the plain form of one layer is followed.
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
    // The parts of a place stand side by side.
    let (mut parts, mut last_place) = (0, 0);
    while !parser.is_exhausted() {
        parts += 1;
        if let Some(found) = values::next_color(&mut parser) {
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
        let count = places.len();
        match token {
            Token::Function(_) | Token::UnquotedUrl(_) => {
                if matches!(token, Token::Function(_)) {
                    let _ = parser.parse_nested_block(|inner| {
                        while inner.next().is_ok() {}
                        Ok::<_, ParseError<()>>(())
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
                    "center" | "top" | "left" | "right" | "bottom" => places.push(word),
                    word if is_background_word(word) => return all(Any),
                    _ => return all(Invalid),
                }
            }
            Token::Dimension { unit, .. } if !values::is_length_unit(&unit) => return all(Any),
            Token::Dimension { .. }
            | Token::Percentage { .. }
            | Token::Number { value: 0.0, .. } => places.push(String::new()),
            Token::Number { .. } | Token::Hash(_) | Token::IDHash(_) | Token::QuotedString(_) => {
                return all(Invalid);
            }
            _ => return all(Any),
        }
        if places.len() > count {
            if count > 0 && last_place + 1 != parts {
                return all(Any);
            }
            (placed, last_place) = (true, parts);
        }
    }
    if none + usize::from(!pictures.is_empty()) > 1
        || repeats > 1
        || attachments > 1
        || !is_position(&places)
    {
        return all(Any);
    }
    if parts == 0 {
        return all(Invalid);
    }
    let color = Values(vec![
        color.map_or(Value::Color(Rgba::TRANSPARENT), of_color),
    ]);
    let image = if pictures.is_empty() {
        Value::Auto
    } else {
        match images(&pictures) {
            Some(image) => image,
            // It may not be valid: the color is not either then.
            None => return all(Any),
        }
    };
    let area = if placed { Value::On } else { Value::Auto };
    (color, Values(vec![image]), Values(vec![area]))
}

/// Whether these are a place: across and down, or two words for both in any order. Lengths are
/// empty.
fn is_position(places: &[String]) -> bool {
    let is_across = |place: &str| matches!(place, "" | "center" | "left" | "right");
    let is_down = |place: &str| matches!(place, "" | "center" | "top" | "bottom");
    match places {
        [] | [_] => true,
        [one, two] => {
            is_across(one) && is_down(two)
                || is_down(one) && is_across(two) && !one.is_empty() && !two.is_empty()
        }
        _ => false,
    }
}

/// Words of the shorthand that are not followed.
fn is_background_word(word: &str) -> bool {
    let is_known = matches!(
        word,
        "fixed" | "local" | "round" | "space" | "cover" | "contain" | "auto" | "text"
    ) || word.ends_with("-box")
        || word == "border-area";
    is_known || values::is_system_color(word)
}

/// Whether a background covers all of its box.
pub(super) fn background_area(value: &str) -> Parsed {
    let mut parser = Parser::new(value);
    let mut area = Value::Auto;
    while let Ok(token) = parser.next() {
        let Token::Ident(word) = token else {
            area = Value::On;
            continue;
        };
        match word.to_ascii_lowercase().as_str() {
            "repeat" | "scroll" | "border-box" | "padding-box" | "normal" | "auto" => {}
            // Size, position and repetition concern pictures alone.
            "repeat-x" | "repeat-y" | "no-repeat" | "round" | "space" | "cover" | "contain"
            | "center" | "top" | "left" | "right" | "bottom" => area = Value::On,
            // Clipping and blending concern the color too.
            _ => return Any,
        }
    }
    Values(vec![area])
}

/// None, a shadow that is faint or near the box, or anything.
pub(super) fn box_shadow(value: &str, context: &UnitContext) -> Parsed {
    if values::keyword(value).as_deref() == Some("none") {
        return Values(vec![Value::Auto]);
    }
    let Some(shadows) = shadows(value, context, MAX_BOX_SHADOW_LENGTHS) else {
        return unread_list(value);
    };
    let (mut reach, mut strength) = (0.0, 0.0);
    for (lengths, alpha) in shadows {
        let length = |nth: usize| lengths.get(nth).map_or(0.0, |px| px.abs());
        let (solid, blur) = (length(0).max(length(1)) + length(3), length(2));
        // A blur fades from its inner to its outer edge.
        reach += solid + blur * 0.5;
        let faded = (solid - MAX_SHADOW_REACH_PX) / (2.0 * blur).max(0.01);
        strength += alpha * (0.5 + faded).clamp(0.0, 1.0);
    }
    if reach <= MAX_SHADOW_REACH_PX || strength <= MAX_FAINT_SHADOW_ALPHA {
        Values(vec![Value::Auto])
    } else {
        Values(vec![Value::On])
    }
}

/// The lengths and the opacity of each shadow. Those inside a box are not followed.
pub(super) fn shadows(
    value: &str,
    context: &UnitContext,
    max_lengths: usize,
) -> Option<Vec<(Vec<f32>, f32)>> {
    let units = context.units()?.last().copied()?;
    let shadow = |part: &mut Parser<'_>| {
        let mut color = values::next_color(part);
        let mut lengths = Vec::new();
        while let Ok(px) = part.try_parse(|part| values::factor(part, units).ok_or(())) {
            lengths.push(px);
        }
        color = color.or_else(|| values::next_color(part));
        let is_shadow = part.is_exhausted()
            && (2..=max_lengths).contains(&lengths.len())
            && lengths.get(2).is_none_or(|blur| *blur >= 0.0);
        let alpha = match color {
            Some(Color::Is(rgba)) => rgba.alpha,
            _ => 1.0,
        };
        if is_shadow {
            Ok((lengths, alpha))
        } else {
            Err(ParseError::<()>::custom(()))
        }
    };
    Parser::new(value).parse_comma_separated(shadow).ok()
}
