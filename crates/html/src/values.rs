//! Values of CSS properties: lengths with their arithmetic, numbers, colours.
//!
//! What a value means is asked only when it is applied, because relative units need the element's font.

use cssparser::{Parser, Token};
use cssparser_color::{Color, hsl_to_rgb, hwb_to_rgb};

/// What relative units relate to, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub font: f32,
    pub root: f32,
    /// What a percentage is of.
    pub whole: f32,
    pub bare: Bare,
}

/// What a number without a unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bare {
    /// Nothing, unless it is zero.
    Invalid,
    /// Pixels, in documents of old.
    Pixels,
    /// A number: in functions. Angles are numbers of degrees there.
    Number,
}

impl Units {
    /// For plain numbers.
    pub(crate) const ONE: Self = Self {
        font: 1.0,
        root: 1.0,
        whole: 1.0,
        bare: Bare::Number,
    };
}

/// The window that a reader is taken to have.
pub(crate) const WINDOW: (f32, f32) = (900.0, 1200.0);

/// A length in pixels, `calc()` and its kin included.
pub(crate) fn length(value: &str, units: Units) -> Option<f32> {
    let mut parser = Parser::new(value);
    match parser.next() {
        Ok(Token::Number { value, .. }) if *value != 0.0 && units.bare == Bare::Invalid => {
            return None;
        }
        Ok(Token::Ident(_)) => return None,
        _ => {}
    }
    parser = Parser::new(value);
    let found = sum(&mut parser, units)?;
    parser.is_exhausted().then_some(found)
}

/// All lengths and numbers in a value or in the arguments of a function, in order; words are left out.
pub(crate) fn lengths(value: &str, units: Units) -> Vec<f32> {
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while !parser.is_exhausted() && found.len() < 64 {
        let parsed = parser.try_parse(|parser| factor(parser, units).ok_or(()));
        match parsed {
            Ok(length) => found.push(length),
            Err(()) if parser.next().is_err() => break,
            Err(()) => {}
        }
    }
    found
}

/// A number or a percentage of one.
pub(crate) fn number(value: &str) -> Option<f32> {
    let mut parser = Parser::new(value);
    match parser.next().ok()? {
        Token::Number { .. } | Token::Percentage { .. } | Token::Function(_) => {}
        _ => return None,
    }
    length(value, Units::ONE)
}

/// The number that an attribute begins with: `1px` is one.
pub(crate) fn leading(value: &str) -> Option<f32> {
    let value = value.trim_start();
    let end = value
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

/// A value that is one word and nothing else, in lower case.
pub(crate) fn keyword(value: &str) -> Option<String> {
    match idents(value)?.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// A value that consists of words, in lower case.
pub(crate) fn idents(value: &str) -> Option<Vec<String>> {
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while !parser.is_exhausted() {
        found.push(parser.expect_ident().ok()?.to_ascii_lowercase());
        if found.len() > 32 {
            return None;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A value that consists of lengths, with `auto` as zero.
pub(crate) fn all_lengths(value: &str, units: Units) -> Option<Vec<f32>> {
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while !parser.is_exhausted() {
        let auto = parser.try_parse(|parser| parser.expect_ident_matching("auto"));
        found.push(match auto {
            Ok(()) => 0.0,
            Err(_) => factor(&mut parser, units)?,
        });
        if found.len() > 4 {
            return None;
        }
    }
    (!found.is_empty()).then_some(found)
}

/// A value that consists of functions and of the words in `known`; `None` when there is anything else.
pub(crate) fn only_functions(value: &str, known: &[&str]) -> Option<Vec<(String, String)>> {
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while !parser.is_exhausted() {
        let name = match parser.next().ok()? {
            Token::Ident(word) if known.iter().any(|known| word.eq_ignore_ascii_case(known)) => {
                continue;
            }
            Token::Function(name) => name.to_ascii_lowercase(),
            _ => return None,
        };
        let inside = parser.parse_nested_block(|inner| {
            let start = inner.position();
            while inner.next().is_ok() {}
            Ok::<_, cssparser::ParseError<()>>(inner.slice_from(start).to_owned())
        });
        found.push((name, inside.ok()?));
        if found.len() > 32 {
            return None;
        }
    }
    Some(found)
}

/// The arguments of a function: lengths, numbers and the words in `known`; `None` when there is anything else.
pub(crate) fn arguments(inside: &str, units: Units, known: &[&str]) -> Option<Vec<f32>> {
    let mut parser = Parser::new(inside);
    let mut found = Vec::new();
    while !parser.is_exhausted() {
        if parser.try_parse(Parser::expect_comma).is_ok() {
            continue;
        }
        let word = parser.try_parse(|parser| match parser.expect_ident() {
            Ok(word) if known.iter().any(|known| word.eq_ignore_ascii_case(known)) => Ok(()),
            _ => Err(()),
        });
        if word.is_err() {
            found.push(factor(&mut parser, units)?);
        }
        if found.len() > 256 {
            return None;
        }
    }
    Some(found)
}

/// Every word of a value, in lower case; functions are left out.
pub(crate) fn words(value: &str) -> Vec<String> {
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while let Ok(token) = parser.next() {
        if let Token::Ident(word) = token {
            found.push(word.to_ascii_lowercase());
        }
        if found.len() >= 32 {
            break;
        }
    }
    found
}

/// The functions of a value with their arguments, names in lower case: `translate(1px) scale(0)`.
pub(crate) fn functions(value: &str) -> Vec<(String, String)> {
    let mut parser = Parser::new(value);
    let mut found = Vec::new();
    while found.len() < 32 {
        let name = match parser.next() {
            Ok(Token::Function(name)) => name.to_ascii_lowercase(),
            Ok(_) => continue,
            Err(_) => break,
        };
        let inside = parser.parse_nested_block(|inner| {
            let start = inner.position();
            while inner.next().is_ok() {}
            Ok::<_, cssparser::ParseError<()>>(inner.slice_from(start).to_owned())
        });
        found.push((name, inside.unwrap_or_default()));
    }
    found
}

fn sum(parser: &mut Parser<'_>, units: Units) -> Option<f32> {
    let mut total = product(parser, units)?;
    loop {
        let sign = parser.try_parse(|parser| match parser.next() {
            Ok(Token::Delim('+')) => Ok(1.0),
            Ok(Token::Delim('-')) => Ok(-1.0),
            _ => Err(()),
        });
        match sign {
            Ok(sign) => total += sign * product(parser, units)?,
            Err(()) => return Some(total),
        }
    }
}

fn product(parser: &mut Parser<'_>, units: Units) -> Option<f32> {
    let mut total = factor(parser, units)?;
    loop {
        let operator = parser.try_parse(|parser| match parser.next() {
            Ok(Token::Delim(operator @ ('*' | '/'))) => Ok(*operator),
            _ => Err(()),
        });
        match operator {
            Ok('*') => total *= factor(parser, units)?,
            Ok(_) => total /= factor(parser, units)?,
            Err(()) => return Some(total),
        }
    }
}

pub(crate) fn factor(parser: &mut Parser<'_>, units: Units) -> Option<f32> {
    let name = match parser.next().ok()? {
        Token::Number { value, .. } => return Some(*value),
        Token::Percentage { unit_value, .. } => return Some(unit_value * units.whole),
        Token::Dimension { value, unit, .. } => return pixels(*value, unit, units),
        // Constants of calc().
        Token::Ident(word) => {
            return match word.to_ascii_lowercase().as_str() {
                "pi" => Some(std::f32::consts::PI),
                "e" => Some(std::f32::consts::E),
                "infinity" => Some(1e9),
                "-infinity" => Some(-1e9),
                _ => None,
            };
        }
        Token::ParenthesisBlock => "calc".to_owned(),
        Token::Function(name) => name.to_ascii_lowercase(),
        _ => return None,
    };
    let inside = parser.parse_nested_block(|inner| {
        let mut values = Vec::new();
        loop {
            values
                .push(sum(inner, units).ok_or_else(cssparser::ParseError::<()>::unexpected_token)?);
            if inner.try_parse(Parser::expect_comma).is_err() {
                return Ok(values);
            }
        }
    });
    let values = inside.ok()?;
    let first = *values.first()?;
    match (name.as_str(), values.as_slice()) {
        ("calc" | "-webkit-calc" | "-moz-calc", [one]) => Some(*one),
        ("min", all) => Some(all.iter().copied().fold(first, f32::min)),
        ("max", all) => Some(all.iter().copied().fold(first, f32::max)),
        ("clamp", [low, middle, high]) => Some(low.max(middle.min(*high))),
        ("abs", [one]) => Some(one.abs()),
        _ => None,
    }
}

fn pixels(value: f32, unit: &str, units: Units) -> Option<f32> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "px" => value,
        "pt" => value * 4.0 / 3.0,
        "pc" => value * 16.0,
        "in" => value * 96.0,
        "cm" => value * 96.0 / 2.54,
        "mm" => value * 96.0 / 25.4,
        "q" => value * 96.0 / 101.6,
        "em" | "ic" | "lh" => value * units.font,
        "ex" | "ch" | "cap" => value * units.font * 0.5,
        "rem" | "rlh" | "ric" => value * units.root,
        "rex" | "rch" | "rcap" => value * units.root * 0.5,
        "vw" | "vi" | "svw" | "lvw" | "dvw" | "vmin" | "cqw" | "cqi" | "cqmin" => {
            value * WINDOW.0 / 100.0
        }
        "vh" | "vb" | "svh" | "lvh" | "dvh" | "vmax" | "cqh" | "cqb" | "cqmax" => {
            value * WINDOW.1 / 100.0
        }
        // Angles: only functions take them.
        "deg" | "turn" | "rad" | "grad" if units.bare != Bare::Number => return None,
        "deg" => value,
        "turn" => value * 360.0,
        "rad" => value.to_degrees(),
        "grad" => value * 0.9,
        _ => return None,
    })
}

/// Red, green, blue from 0 to 255, and opacity from 0 to 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Rgba {
    pub rgb: [f32; 3],
    pub alpha: f32,
}

impl Rgba {
    pub(crate) const WHITE: Self = Self::grey(255.0);
    pub(crate) const BLACK: Self = Self::grey(0.0);
    pub(crate) const CLEAR: Self = Self {
        rgb: [0.0; 3],
        alpha: 0.0,
    };
    /// What browsers give a link.
    pub(crate) const LINK: Self = Self {
        rgb: [0.0, 0.0, 238.0],
        alpha: 1.0,
    };

    const fn grey(level: f32) -> Self {
        Self {
            rgb: [level; 3],
            alpha: 1.0,
        }
    }

    /// This colour painted over another.
    pub(crate) fn over(self, below: Self) -> Self {
        let mut rgb = below.rgb;
        for (low, high) in rgb.iter_mut().zip(self.rgb) {
            *low = high * self.alpha + *low * (1.0 - self.alpha);
        }
        Self {
            rgb,
            alpha: self.alpha + below.alpha * (1.0 - self.alpha),
        }
    }

    /// Whether an eye cannot tell the two apart: hardly any contrast (WCAG 2), and no other hue.
    pub(crate) fn is_like(self, other: Self) -> bool {
        let (one, two) = (self.luminance(), other.luminance());
        let contrast = (one.max(two) + 0.05) / (one.min(two) + 0.05);
        let apart = self
            .rgb
            .iter()
            .zip(other.rgb)
            .map(|(one, two)| (one - two).abs())
            .fold(0.0, f32::max);
        contrast < 1.25 && apart <= 40.0
    }

    fn luminance(self) -> f32 {
        let [red, green, blue] = self.rgb.map(|level| {
            let level = (level / 255.0).clamp(0.0, 1.0);
            if level <= 0.040_45 {
                level / 12.92
            } else {
                ((level + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// A grey of this luminance.
    fn of_luminance(luminance: f32, alpha: f32) -> Self {
        let light = luminance.clamp(0.0, 1.0);
        let level = if light <= 0.003_130_8 {
            light * 12.92
        } else {
            1.055 * light.powf(1.0 / 2.4) - 0.055
        };
        Self {
            rgb: [level * 255.0; 3],
            alpha,
        }
    }
}

/// A colour, or what stands for the element's own (`currentcolor`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Colour {
    Own,
    Is(Rgba),
}

/// A value that is a colour and nothing else.
pub(crate) fn colour(value: &str) -> Option<Colour> {
    let mut parser = Parser::new(value);
    let found = next_colour(&mut parser)?;
    parser.is_exhausted().then_some(found)
}

/// The first colour in a value, as in `background: url(x) red no-repeat`.
pub(crate) fn colour_in(value: &str) -> Option<Colour> {
    let mut parser = Parser::new(value);
    for _ in 0..64 {
        if let Some(found) = next_colour(&mut parser) {
            return Some(found);
        }
        parser.next().ok()?;
    }
    None
}

pub(crate) fn next_colour(parser: &mut Parser<'_>) -> Option<Colour> {
    let parsed = parser.try_parse(|parser| Color::parse(parser));
    if let Ok(colour) = parsed {
        return Some(plain(colour));
    }
    parser
        .try_parse(|parser| {
            let word = parser.expect_ident().map_err(drop)?;
            match word.to_ascii_lowercase().as_str() {
                "canvas" | "field" | "buttonface" | "window" | "background" => {
                    Ok(Colour::Is(Rgba::WHITE))
                }
                "canvastext" | "fieldtext" | "buttontext" | "windowtext" => {
                    Ok(Colour::Is(Rgba::BLACK))
                }
                _ => Err(()),
            }
        })
        .ok()
}

/// Colour spaces beyond sRGB become greys as light as the colour: only its contrast is asked for.
fn plain(colour: Color) -> Colour {
    let rgb = |(red, green, blue): (f32, f32, f32), alpha: Option<f32>| Rgba {
        rgb: [red, green, blue].map(|level| level * 255.0),
        alpha: alpha.unwrap_or(0.0),
    };
    let or_0 = |part: Option<f32>| part.unwrap_or(0.0);
    let from_lab = |lightness: Option<f32>, alpha: Option<f32>| {
        let luminance = ((or_0(lightness) + 16.0) / 116.0).powi(3);
        Rgba::of_luminance(luminance, or_0(alpha))
    };
    let from_ok = |lightness: Option<f32>, alpha: Option<f32>| {
        Rgba::of_luminance(or_0(lightness).powi(3), or_0(alpha))
    };
    Colour::Is(match colour {
        Color::CurrentColor => return Colour::Own,
        Color::Rgba(rgba) => Rgba {
            rgb: [rgba.red, rgba.green, rgba.blue].map(f32::from),
            alpha: rgba.alpha,
        },
        Color::Hsl(hsl) => rgb(
            hsl_to_rgb(
                or_0(hsl.hue) / 360.0,
                or_0(hsl.saturation),
                or_0(hsl.lightness),
            ),
            hsl.alpha,
        ),
        Color::Hwb(hwb) => rgb(
            hwb_to_rgb(
                or_0(hwb.hue) / 360.0,
                or_0(hwb.whiteness),
                or_0(hwb.blackness),
            ),
            hwb.alpha,
        ),
        Color::Lab(lab) => from_lab(lab.lightness, lab.alpha),
        Color::Lch(lch) => from_lab(lch.lightness, lch.alpha),
        Color::Oklab(lab) => from_ok(lab.lightness, lab.alpha),
        Color::Oklch(lch) => from_ok(lch.lightness, lch.alpha),
        Color::ColorFunction(function) => rgb(
            (or_0(function.c1), or_0(function.c2), or_0(function.c3)),
            function.alpha,
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units {
        font: 20.0,
        root: 16.0,
        whole: 200.0,
        bare: Bare::Number,
    };

    #[test]
    fn lengths_become_pixels() {
        for (value, want) in [
            ("0", Some(0.0)),
            ("12", Some(12.0)),
            ("-9999px", Some(-9999.0)),
            ("12pt", Some(16.0)),
            (".5em", Some(10.0)),
            ("2rem", Some(32.0)),
            ("50%", Some(100.0)),
            ("1e2px", Some(100.0)),
            ("calc(1px - 1px)", Some(0.0)),
            ("calc(2 * (3px + 1em) / 2)", Some(23.0)),
            ("max(0px, 3px)", Some(3.0)),
            ("min(0px, 3px)", Some(0.0)),
            ("clamp(0px, 10px, 2px)", Some(2.0)),
            ("/* x */ 1px", Some(1.0)),
            ("auto", None),
            ("1px 2px", None),
            ("1zz", None),
            ("if(x)", None),
            ("", None),
        ] {
            assert_eq!(length(value, UNITS), want, "{value}");
        }
        let strict = Units {
            bare: Bare::Invalid,
            ..UNITS
        };
        assert_eq!(length("12", strict), None);
        assert_eq!(length("0", strict), Some(0.0));
        assert_eq!(number("0px"), None);
        assert_eq!(number("50%"), Some(0.5));
    }

    #[test]
    fn deep_arithmetic_is_no_number() {
        let deep = format!("{}1px{}", "calc(".repeat(5_000), ")".repeat(5_000));
        assert_eq!(length(&deep, UNITS), None);
    }

    #[test]
    fn colours_are_read() {
        let is = |rgb: [f32; 3], alpha| Some(Colour::Is(Rgba { rgb, alpha }));
        for (value, want) in [
            ("#fff", is([255.0; 3], 1.0)),
            ("#FFFFFF00", is([255.0; 3], 0.0)),
            ("white", is([255.0; 3], 1.0)),
            ("rgb(1, 2, 3)", is([1.0, 2.0, 3.0], 1.0)),
            ("rgb(1 2 3 / 50%)", is([1.0, 2.0, 3.0], 0.5)),
            ("hsl(0, 0%, 100%)", is([255.0; 3], 1.0)),
            ("hwb(0 100% 0%)", is([255.0; 3], 1.0)),
            ("transparent", is([0.0; 3], 0.0)),
            ("currentColor", Some(Colour::Own)),
            ("Canvas", is([255.0; 3], 1.0)),
            ("bogus", None),
            ("red blue", None),
        ] {
            assert_eq!(colour(value), want, "{value}");
        }
        assert_eq!(colour_in("url(a.png) #000 no-repeat"), is([0.0; 3], 1.0));
    }

    #[test]
    fn what_an_eye_cannot_tell_apart() {
        let shown = |value: &str| match colour(value) {
            Some(Colour::Is(rgba)) => rgba,
            other => panic!("{other:?}"),
        };
        for (one, two) in [
            ("white", "#fff"),
            ("#fefefe", "white"),
            ("#f0f0f0", "white"),
            ("black", "#111"),
            ("lab(100 0 0)", "white"),
            ("oklch(1 0 0)", "white"),
        ] {
            assert!(shown(one).is_like(shown(two)), "{one} {two}");
        }
        for (one, two) in [
            ("#ccc", "white"),
            ("white", "#003366"),
            ("red", "#7f7f7f"),
            ("#333", "black"),
        ] {
            assert!(!shown(one).is_like(shown(two)), "{one} {two}");
        }
    }
}
