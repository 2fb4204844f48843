//! Values of CSS properties: lengths with their arithmetic, numbers, colors.
//!
//! What a value means is asked only when it is applied, because relative units need the element's
//! font.

use cssparser::{Parser, Token};
use cssparser_color::{Color as ParsedColor, hsl_to_rgb, hwb_to_rgb};

/// What relative units relate to, in pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Units {
    pub font: f32,
    pub root: f32,
    /// What a percentage is of.
    pub whole: f32,
    /// Width and height of the window.
    pub window: (f32, f32),
    pub bare: UnitlessNumber,
}

/// What a number without a unit is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UnitlessNumber {
    /// Nothing, unless it is zero.
    Invalid,
    /// Pixels, in documents of old.
    Pixels,
    /// A number. Percentages are read too.
    Number,
}

impl Units {
    /// For plain numbers.
    pub(crate) const ONE: Self = Self {
        font: 1.0,
        root: 1.0,
        whole: 1.0,
        window: (900.0, 1200.0),
        bare: UnitlessNumber::Number,
    };
}

/// A length in pixels: one number with its unit. Arithmetic is not followed.
pub(crate) fn length(value: &str, units: Units) -> Option<f32> {
    let mut parser = Parser::new(value);
    let found = factor(&mut parser, units)?;
    parser.is_exhausted().then_some(found)
}

/// A number or a percentage of one.
pub(crate) fn number(value: &str) -> Option<f32> {
    let mut parser = Parser::new(value);
    let found = match parser.next().ok()? {
        Token::Number { value, .. } => *value,
        Token::Percentage { unit_value, .. } => *unit_value,
        _ => return None,
    };
    parser.is_exhausted().then_some(found)
}

/// A number without a fraction or an exponent.
pub(crate) fn integer(value: &str) -> Option<i32> {
    let mut parser = Parser::new(value);
    let found = parser.expect_integer().ok()?;
    parser.is_exhausted().then_some(found)
}

/// The number that an attribute begins with: `1px` is one.
pub(crate) fn leading(value: &str) -> Option<f32> {
    leading_number(value).map(|(number, _)| number)
}

/// The number that an attribute begins with, and what follows it. It begins with a digit.
pub(crate) fn leading_number(value: &str) -> Option<(f32, &str)> {
    let value = value.trim_ascii_start();
    let digits = |text: &str| {
        let rest = text.trim_start_matches(|char: char| char.is_ascii_digit());
        text.len() - rest.len()
    };
    let whole = digits(value);
    let fraction = value.get(whole..)?.strip_prefix('.').map(digits);
    let end = whole + fraction.map_or(0, |digits| digits + 1);
    let (number, rest) = value.split_at_checked(end)?;
    let number = number.parse().ok().filter(|_| whole > 0)?;
    Some((number, rest))
}

/// A value that is one word and nothing else, in lower case.
pub(crate) fn keyword(value: &str) -> Option<String> {
    match idents(value)?.as_slice() {
        [one] => Some(one.clone()),
        _ => None,
    }
}

/// Whether any property may have this word.
pub(crate) fn is_wide(word: &str) -> bool {
    matches!(word, "initial" | "inherit" | "unset") || word.starts_with("revert")
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

/// One length; a number or a percentage where the units allow it. Functions are not followed.
pub(crate) fn factor(parser: &mut Parser<'_>, units: Units) -> Option<f32> {
    match parser.next().ok()? {
        Token::Number { value, .. } if *value == 0.0 || units.bare != UnitlessNumber::Invalid => {
            Some(*value)
        }
        Token::Percentage { unit_value, .. } if units.bare == UnitlessNumber::Number => {
            Some(unit_value * units.whole)
        }
        Token::Dimension { value, unit, .. } => pixels(*value, unit, units),
        _ => None,
    }
}

/// Whether this is a unit of lengths; not all that browsers know are.
pub(crate) fn is_length_unit(unit: &str) -> bool {
    let units = Units {
        bare: UnitlessNumber::Invalid,
        ..Units::ONE
    };
    pixels(1.0, unit, units).is_some()
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
        "em" => value * units.font,
        "ex" | "ch" => value * units.font * 0.5,
        "rem" => value * units.root,
        "vw" | "vi" | "svw" | "lvw" | "dvw" => value * units.window.0 / 100.0,
        "vh" | "vb" | "svh" | "lvh" | "dvh" => value * units.window.1 / 100.0,
        "vmin" => value * units.window.0.min(units.window.1) / 100.0,
        "vmax" => value * units.window.0.max(units.window.1) / 100.0,
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
    pub(crate) const TRANSPARENT: Self = Self {
        rgb: [0.0; 3],
        alpha: 0.0,
    };
    /// What browsers give a link.
    pub(crate) const VISITED_LINK: Self = Self {
        rgb: [85.0, 26.0, 139.0],
        alpha: 1.0,
    };
    pub(crate) const LINK: Self = Self {
        rgb: [0.0, 0.0, 238.0],
        alpha: 1.0,
    };

    pub(crate) const fn grey(level: f32) -> Self {
        Self {
            rgb: [level; 3],
            alpha: 1.0,
        }
    }
}

/// A color, or what stands for the element's own (`currentcolor`).
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Color {
    Own,
    Is(Rgba),
}

/// A value that is a color and nothing else.
pub(crate) fn color(value: &str) -> Option<Color> {
    let mut parser = Parser::new(value);
    let found = next_color(&mut parser)?;
    parser.is_exhausted().then_some(found)
}

/// The next color, when it is one of sRGB or one of the light system colors.
pub(crate) fn next_color(parser: &mut Parser<'_>) -> Option<Color> {
    let parsed =
        parser.try_parse(|parser| plain(ParsedColor::parse(parser).map_err(drop)?).ok_or(()));
    if let Ok(color) = parsed {
        return Some(color);
    }
    parser
        .try_parse(|parser| {
            let word = parser.expect_ident().map_err(drop)?;
            let grey = |level: f32| Ok(Color::Is(Rgba::grey(level)));
            match word.to_ascii_lowercase().as_str() {
                "canvas" | "field" | "window" | "background" => grey(255.0),
                "buttonface" | "threedface" => grey(239.0),
                "canvastext" | "fieldtext" | "buttontext" | "windowtext" | "infotext"
                | "captiontext" | "menutext" => grey(0.0),
                _ => Err(()),
            }
        })
        .ok()
}

/// Colors beyond sRGB are not converted here: they may be any color.
fn plain(color: ParsedColor) -> Option<Color> {
    let rgb = |(red, green, blue): (f32, f32, f32), alpha: Option<f32>| Rgba {
        rgb: [red, green, blue].map(|level| (level * 255.0).clamp(0.0, 255.0)),
        alpha: alpha.unwrap_or(0.0),
    };
    let or_0 = |part: Option<f32>| part.unwrap_or(0.0);
    Some(Color::Is(match color {
        ParsedColor::CurrentColor => return Some(Color::Own),
        ParsedColor::Rgba(rgba) => Rgba {
            rgb: [rgba.red, rgba.green, rgba.blue].map(f32::from),
            alpha: rgba.alpha,
        },
        ParsedColor::Hsl(hsl) => rgb(
            hsl_to_rgb(
                or_0(hsl.hue).rem_euclid(360.0) / 360.0,
                or_0(hsl.saturation).clamp(0.0, 1.0),
                or_0(hsl.lightness).clamp(0.0, 1.0),
            ),
            hsl.alpha,
        ),
        ParsedColor::Hwb(hwb) => rgb(
            hwb_to_rgb(
                or_0(hwb.hue).rem_euclid(360.0) / 360.0,
                or_0(hwb.whiteness).clamp(0.0, 1.0),
                or_0(hwb.blackness).clamp(0.0, 1.0),
            ),
            hwb.alpha,
        ),
        _ => return None,
    }))
}

/// Words that name colors of the reader's system, or that may.
pub(crate) fn is_system_color(word: &str) -> bool {
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
    const NAMED: [&str; 6] = [
        "mark",
        "selecteditem",
        "accentcolor",
        "activecaption",
        "inactivecaption",
        "menu",
    ];
    word != "currentcolor"
        && (word.starts_with("-webkit-")
            || word.starts_with("-internal-")
            || NAMED.contains(&word)
            || SUFFIXES.iter().any(|suffix| word.ends_with(suffix)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units {
        font: 20.0,
        root: 16.0,
        whole: 200.0,
        window: (900.0, 1200.0),
        bare: UnitlessNumber::Number,
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
            ("calc(1px - 1px)", None),
            ("calc(2 * (3px + 1em) / 2)", None),
            ("max(0px, 3px)", None),
            ("min(0px, 3px)", None),
            ("clamp(0px, 10px, 2px)", None),
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
            bare: UnitlessNumber::Invalid,
            ..UNITS
        };
        assert_eq!(length("12", strict), None);
        assert_eq!(length("0", strict), Some(0.0));
        assert_eq!(length("0%", strict), None);
        assert_eq!(number("0px"), None);
        assert_eq!(number("50%"), Some(0.5));
    }

    #[test]
    fn deeply_nested_calc_is_rejected() {
        let deep = format!("{}1px{}", "calc(".repeat(5_000), ")".repeat(5_000));
        assert_eq!(length(&deep, UNITS), None);
    }

    #[test]
    fn colors_are_parsed() {
        let is = |rgb: [f32; 3], alpha| Some(Color::Is(Rgba { rgb, alpha }));
        for (value, want) in [
            ("#fff", is([255.0; 3], 1.0)),
            ("#FFFFFF00", is([255.0; 3], 0.0)),
            ("white", is([255.0; 3], 1.0)),
            ("rgb(1, 2, 3)", is([1.0, 2.0, 3.0], 1.0)),
            ("rgb(1 2 3 / 50%)", is([1.0, 2.0, 3.0], 0.5)),
            ("hsl(0, 0%, 100%)", is([255.0; 3], 1.0)),
            ("hwb(0 100% 0%)", is([255.0; 3], 1.0)),
            ("transparent", is([0.0; 3], 0.0)),
            ("currentColor", Some(Color::Own)),
            ("Canvas", is([255.0; 3], 1.0)),
            ("bogus", None),
            ("red blue", None),
        ] {
            assert_eq!(color(value), want, "{value}");
        }
    }
}
