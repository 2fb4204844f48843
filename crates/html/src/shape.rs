//! Shapes and transformations: do they leave anything to be seen, and where do they put it?

use crate::own::Moved;
use crate::values::{self, Bare, Units};

/// Boxes and shapes of at most this many pixels show nothing that could be read.
pub(crate) const NOTHING: f32 = 3.5;

/// `clip: rect(top, right, bottom, left)`.
pub(crate) fn clips_all(value: &str, units: Units) -> Option<bool> {
    let functions = values::only_functions(value, &["auto"])?;
    let Some((name, inside)) = functions.first() else {
        return Some(false);
    };
    if name != "rect" {
        return None;
    }
    if inside.contains("auto") {
        return Some(false);
    }
    match *values::arguments(inside, units, &[])?.as_slice() {
        [top, right, bottom, left] => Some(bottom - top <= NOTHING || right - left <= NOTHING),
        _ => None,
    }
}

/// `clip-path`: a shape without room for a word.
pub(crate) fn hides_all(value: &str, units: Units) -> Option<bool> {
    const BOXES: [&str; 9] = [
        "none",
        "border-box",
        "padding-box",
        "content-box",
        "margin-box",
        "fill-box",
        "stroke-box",
        "view-box",
        "auto",
    ];
    if value.trim_start().to_ascii_lowercase().starts_with("url") {
        return Some(true);
    }
    let percent = Units {
        whole: 100.0,
        ..units
    };
    let mut hides = false;
    for (name, inside) in values::only_functions(value, &BOXES)? {
        let inside = inside.split(" round").next().unwrap_or(&inside);
        let known = [
            "at",
            "center",
            "left",
            "right",
            "top",
            "bottom",
            "nonzero",
            "evenodd",
            "closest-side",
            "farthest-side",
            "auto",
        ];
        let lengths = values::arguments(inside, percent, &known);
        // Paths, references and what cannot be read are drawings; nobody needs them for mail.
        let (Some(lengths), false) = (lengths, matches!(name.as_str(), "path" | "shape" | "url"))
        else {
            return Some(true);
        };
        hides |= match name.as_str() {
            "inset" => match *lengths.as_slice() {
                [all] => all >= 49.0,
                [block, inline] => block >= 49.0 || inline >= 49.0,
                [top, inline, bottom] => top + bottom >= 98.0 || inline >= 49.0,
                [top, right, bottom, left, ..] => top + bottom >= 98.0 || right + left >= 98.0,
                [] => return None,
            },
            "circle" => lengths.first().is_some_and(|radius| *radius <= NOTHING),
            "ellipse" => lengths.iter().take(2).any(|radius| *radius <= NOTHING),
            "rect" => match *lengths.as_slice() {
                [top, right, bottom, left, ..] => {
                    bottom - top <= NOTHING || right - left <= NOTHING
                }
                _ => return None,
            },
            "xywh" => lengths.iter().skip(2).take(2).any(|side| *side <= NOTHING),
            "polygon" => area(&lengths) <= NOTHING * NOTHING,
            _ => return None,
        };
    }
    Some(hides)
}

/// Of a polygon given by its corners.
fn area(corners: &[f32]) -> f32 {
    let points: Vec<(f32, f32)> = corners
        .chunks_exact(2)
        .filter_map(|pair| Some((*pair.first()?, *pair.get(1)?)))
        .collect();
    let next = points.iter().cycle().skip(1);
    let twice: f32 = points
        .iter()
        .zip(next)
        .map(|((x1, y1), (x2, y2))| x1 * y2 - x2 * y1)
        .sum();
    twice.abs() / 2.0
}

/// What is moved by its own size is taken for a paragraph of a few words.
const OWN_WIDTH: f32 = 260.0;
const OWN_HEIGHT: f32 = 40.0;

pub(crate) fn transform(value: &str, units: Units) -> Option<Moved> {
    let mut moved = Moved::default();
    let across = Units {
        whole: OWN_WIDTH,
        bare: Bare::Number,
        ..units
    };
    let down = Units {
        whole: OWN_HEIGHT,
        ..across
    };
    for (name, inside) in values::only_functions(value, &["none"])? {
        let along = if name == "translatey" { down } else { across };
        let lengths = values::arguments(&inside, along, &[])?;
        let first = lengths.first().copied()?;
        let second = values::arguments(&inside, down, &[])?.get(1).copied();
        match name.as_str() {
            "translate" | "translate3d" => {
                moved.x += first;
                moved.y += second.unwrap_or(0.0);
            }
            "translatex" => moved.x += first,
            "translatey" => moved.y += first,
            "scale" | "scale3d" => moved.scale *= first.abs().min(second.unwrap_or(first).abs()),
            "scalex" | "scaley" => moved.scale *= first.abs(),
            "rotatex" | "rotatey" => {
                moved.scale *= edge_on(first);
                moved.turned ^= is_back(first);
            }
            "rotate3d" => {
                let around_z = first.abs() + second.unwrap_or(0.0).abs() <= f32::EPSILON;
                if !around_z {
                    moved.scale *= edge_on(lengths.get(3).copied().unwrap_or(0.0));
                }
            }
            "matrix" => {
                if let [a, b, c, d, x, y] = *lengths.as_slice() {
                    moved.scale *= a.hypot(b).min(c.hypot(d)).min((a * d - b * c).abs());
                    moved.x += x;
                    moved.y += y;
                }
            }
            "matrix3d" => {
                if let [a, b, _, _, c, d, ..] = *lengths.as_slice() {
                    moved.scale *= a.hypot(b).min(c.hypot(d)).min((a * d - b * c).abs());
                }
                moved.x += lengths.get(12).copied().unwrap_or(0.0);
                moved.y += lengths.get(13).copied().unwrap_or(0.0);
            }
            "skew" | "skewx" | "skewy" => moved.scale *= edge_on(first),
            "rotate" | "rotatez" | "scalez" => {}
            "translatez" if first.abs() < 100.0 => {}
            _ => return None,
        }
    }
    Some(moved)
}

fn is_back(degrees: f32) -> bool {
    degrees.to_radians().cos() < 0.0
}

/// How much is left of a surface turned away by so many degrees.
fn edge_on(degrees: f32) -> f32 {
    degrees.to_radians().cos().abs()
}

/// The property `translate`.
pub(crate) fn translate(value: &str, units: Units) -> Option<Moved> {
    let lengths = values::arguments(value, units, &["none"])?;
    Some(Moved {
        x: lengths.first().copied().unwrap_or(0.0),
        y: lengths.get(1).copied().unwrap_or(0.0),
        ..Moved::default()
    })
}

/// The property `scale`.
pub(crate) fn scale(value: &str) -> Option<Moved> {
    let lengths = values::arguments(value, Units::ONE, &["none"])?;
    let least = lengths
        .iter()
        .take(2)
        .fold(1.0, |least: f32, one| least.min(one.abs()));
    Some(Moved {
        scale: least,
        ..Moved::default()
    })
}

/// The property `rotate`: `x 90deg`, `1 0 0 90deg`.
pub(crate) fn rotate(value: &str, units: Units) -> Option<Moved> {
    let units = Units {
        bare: Bare::Number,
        ..units
    };
    let numbers = values::arguments(value, units, &["none", "x", "y", "z"])?;
    let axis = values::words(value);
    let named = axis.iter().any(|axis| axis == "x" || axis == "y");
    let away = named || matches!(*numbers.as_slice(), [x, y, _, _] if x != 0.0 || y != 0.0);
    let degrees = numbers.last().copied().unwrap_or(0.0);
    Some(Moved {
        scale: if away { edge_on(degrees) } else { 1.0 },
        turned: away && is_back(degrees),
        ..Moved::default()
    })
}

/// How much a `filter` lets through.
pub(crate) fn filter(value: &str) -> Option<f32> {
    let mut left = 1.0;
    for (name, inside) in values::only_functions(value, &["none"])? {
        let amounts = values::arguments(&inside, Units::ONE, &[]);
        match name.as_str() {
            "drop-shadow" => continue,
            "url" => return None,
            _ => {}
        }
        let amount = amounts?.first().copied();
        match name.as_str() {
            "opacity" => left *= amount.unwrap_or(1.0).clamp(0.0, 1.0),
            // Blurred beyond reading, or one flat colour.
            "blur" if amount.is_some_and(|pixels| pixels > 20.0) => left = 0.0,
            "contrast" if amount == Some(0.0) => left = 0.0,
            "brightness" if amount.is_some_and(|amount| amount <= 0.0 || amount > 50.0) => {
                left = 0.0;
            }
            // Ink becomes paper.
            "invert" if amount.is_none_or(|amount| amount > 0.2) => return None,
            "blur" | "contrast" | "brightness" | "grayscale" | "hue-rotate" | "invert"
            | "saturate" | "sepia" => {}
            _ => return None,
        }
    }
    Some(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNITS: Units = Units {
        font: 16.0,
        root: 16.0,
        whole: 900.0,
        bare: Bare::Number,
    };

    #[test]
    fn shapes_without_room() {
        for value in [
            "inset(50%)",
            "inset(100%)",
            "inset(0 50%)",
            "inset(0 0 100% 0)",
            "circle(0)",
            "circle(0 at 10px 10px)",
            "ellipse(0 0)",
            "polygon(0 0, 0 0, 0 0)",
            "rect(0 0 0 0)",
            "xywh(0 0 0 0)",
            "url(#nothing)",
        ] {
            assert_eq!(hides_all(value, UNITS), Some(true), "{value}");
        }
        for value in [
            "none",
            "inset(0)",
            "inset(10px)",
            "circle(50%)",
            "polygon(0 0, 100% 0, 100% 100%, 0 100%)",
            "border-box",
        ] {
            assert_eq!(hides_all(value, UNITS), Some(false), "{value}");
        }
        assert_eq!(clips_all("rect(0,0,0,0)", UNITS), Some(true));
        assert_eq!(clips_all("rect(1px 1px 1px 1px)", UNITS), Some(true));
        assert_eq!(clips_all("rect(0, auto, auto, 0)", UNITS), Some(false));
        assert_eq!(clips_all("auto", UNITS), Some(false));
        assert_eq!(hides_all("bogus", UNITS), None);
    }

    #[test]
    fn transformations() {
        for (value, x, scale) in [
            ("translate(-9999px, 0)", -9999.0, 1.0),
            ("translateX(-100%)", -260.0, 1.0),
            ("scale(0)", 0.0, 0.0),
            ("scale(1, 0)", 0.0, 0.0),
            ("scaleX(0) rotate(3deg)", 0.0, 0.0),
            ("matrix(1,0,0,1,-999,0)", -999.0, 1.0),
            ("none", 0.0, 1.0),
            ("rotate(45deg)", 0.0, 1.0),
        ] {
            let found = transform(value, UNITS).unwrap();
            assert!(
                (found.x - x).abs() < 0.01 && (found.scale - scale).abs() < 0.01,
                "{value}: {found:?}"
            );
        }
        assert!(transform("rotateY(90deg)", UNITS).unwrap().scale < 0.01);
        assert!(rotate("x 90deg", UNITS).unwrap().scale < 0.01);
        assert_eq!(filter("blur(2px) opacity(0)"), Some(0.0));
    }
}
