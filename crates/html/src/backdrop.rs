//! The backdrop: the colors that may be behind text, and their contrast with it.

use std::rc::Rc;

use crate::style::{Image, PossibleValues, Value};
use crate::values::Rgba;
use crate::verdict::Reason;

/// Colors tracked; beyond that any color is possible.
const MAX_COLORS: usize = 8;
/// A difference of the most different channel up to this one shows nothing.
const MAX_INVISIBLE_LEVELS: f32 = 10.0;
/// A difference from this one on is seen.
const MIN_VISIBLE_LEVELS: f32 = 45.0;
/// A contrast ratio from this one on is seen.
const MIN_VISIBLE_RATIO: f32 = 1.35;
/// Ink with less opacity shows nothing.
const MAX_INVISIBLE_ALPHA: f32 = 0.03;

/// Whether the text color is distinguishable from the backdrop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Contrast {
    None(Reason),
    Doubtful,
    Clear,
}

/// The colors that may be behind text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Backdrop {
    /// Boxes of colors, for gradients; most are one color. Empty: any color.
    colors: Rc<[ColorRange]>,
    /// A picture that is not loaded may be behind the text.
    picture: bool,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct ColorRange {
    low: [f32; 3],
    high: [f32; 3],
}

impl ColorRange {
    fn under(self, color: Rgba) -> Self {
        let mix = |level: f32, below: f32| level * color.alpha + below * (1.0 - color.alpha);
        let zip = |below: [f32; 3]| {
            let mut out = below;
            for (out, level) in out.iter_mut().zip(color.rgb) {
                *out = mix(level, *out);
            }
            out
        };
        Self {
            low: zip(self.low),
            high: zip(self.high),
        }
    }
}

impl Backdrop {
    pub(crate) fn white() -> Self {
        Self {
            colors: Rc::from([ColorRange {
                low: [255.0; 3],
                high: [255.0; 3],
            }]),
            picture: false,
        }
    }

    fn any() -> Self {
        Self {
            colors: Rc::from([]),
            picture: false,
        }
    }

    /// Any color, with the same picture.
    pub(crate) fn recolored(&self) -> Self {
        Self {
            picture: self.picture,
            ..Self::any()
        }
    }

    pub(crate) fn union(&self, other: &Self) -> Self {
        if self == other {
            return self.clone();
        }
        let picture = self.picture || other.picture;
        if self.colors.is_empty() || other.colors.is_empty() {
            return Self {
                picture,
                ..Self::any()
            };
        }
        let mut colors = self.colors.to_vec();
        for color in other.colors.iter() {
            if !colors.contains(color) {
                colors.push(*color);
            }
        }
        Self::from_colors(colors, picture)
    }

    fn from_colors(colors: Vec<ColorRange>, picture: bool) -> Self {
        Self {
            colors: Rc::from(colors),
            picture,
        }
        .bounded()
    }

    fn bounded(self) -> Self {
        if self.colors.len() > MAX_COLORS {
            self.recolored()
        } else {
            self
        }
    }

    /// With a background painted over them.
    pub(crate) fn painted(
        &self,
        color: &PossibleValues,
        ink: &PossibleValues,
        image: &PossibleValues,
        area: &PossibleValues,
    ) -> Self {
        let mut found = self.under_color(color, ink);
        // A clip of the background makes its color uncertain too.
        let picture = self.picture || area.is_any();
        let (Some(images), false) = (image.values(), area.is_any()) else {
            return Self {
                picture,
                ..Self::any()
            };
        };
        let plain = images.contains(&Value::Auto);
        let mut painted: Option<Self> = plain.then(|| found.clone());
        for image in images {
            let next = match image {
                Value::Image(Image::Remote) => {
                    found.picture = true;
                    found.clone()
                }
                Value::Image(Image::Gradient { low, high }) => {
                    let gradient = Self {
                        colors: Rc::from([ColorRange {
                            low: low.rgb,
                            high: high.rgb,
                        }]),
                        picture: found.picture,
                    };
                    if area.may(|value| !matches!(value, Value::Auto)) {
                        gradient.union(&found)
                    } else {
                        gradient
                    }
                }
                _ => continue,
            };
            painted = Some(match painted {
                Some(known) => known.union(&next),
                None => next,
            });
        }
        painted.unwrap_or(found)
    }

    fn under_color(&self, color: &PossibleValues, ink: &PossibleValues) -> Self {
        let Some(values) = color.values() else {
            return self.recolored();
        };
        if values == [Value::Color(Rgba::TRANSPARENT)] {
            return self.clone();
        }
        let mut colors: Vec<ColorRange> = Vec::new();
        let mut picture = false;
        let mut add = |rgba: Rgba| {
            if rgba.alpha >= 1.0 {
                let solid = ColorRange {
                    low: rgba.rgb,
                    high: rgba.rgb,
                };
                if !colors.contains(&solid) {
                    colors.push(solid);
                }
                return true;
            }
            picture |= self.picture;
            for below in self.colors.iter() {
                let mixed = below.under(rgba);
                if !colors.contains(&mixed) {
                    colors.push(mixed);
                }
            }
            !self.colors.is_empty()
        };
        for value in values {
            let known = match value {
                Value::Color(rgba) => add(*rgba),
                Value::CurrentColor => match ink.values() {
                    Some(inks) => inks.iter().all(|ink| match ink {
                        Value::Color(rgba) => add(*rgba),
                        _ => false,
                    }),
                    None => false,
                },
                _ => false,
            };
            if !known {
                return self.recolored();
            }
        }
        Self::from_colors(colors, picture)
    }

    /// The contrast of the inks on these backdrop, whichever they are.
    pub(crate) fn contrast(&self, inks: &[Rgba], opacity: (f32, f32)) -> Contrast {
        let most = inks
            .iter()
            .map(|ink| ink.alpha * opacity.1)
            .fold(0.0, f32::max);
        if inks.is_empty() {
            return Contrast::Doubtful;
        }
        if most <= MAX_INVISIBLE_ALPHA {
            // The background may be painted in the shape of the letters.
            return if self.picture {
                Contrast::Doubtful
            } else {
                Contrast::None(Reason::Transparent)
            };
        }
        if self.colors.is_empty() {
            return Contrast::Doubtful;
        }
        let (mut least, mut greatest, mut ratio) = (f32::INFINITY, 0.0_f32, f32::INFINITY);
        for ink in inks {
            for paper in self.colors.iter() {
                let (nearest, farthest) = differences(*ink, *paper);
                least = least.min(nearest * ink.alpha * opacity.0);
                greatest = greatest.max(farthest * ink.alpha * opacity.1);
                ratio = ratio.min(least_ratio(*ink, *paper, opacity.0));
            }
        }
        if least >= MIN_VISIBLE_LEVELS && ratio >= MIN_VISIBLE_RATIO {
            Contrast::Clear
        } else if greatest <= MAX_INVISIBLE_LEVELS && !self.picture {
            Contrast::None(Reason::SameColor)
        } else {
            Contrast::Doubtful
        }
    }
}

/// The least contrast ratio (WCAG 2) of an ink on any of the colors.
fn least_ratio(ink: Rgba, paper: ColorRange, opacity: f32) -> f32 {
    // Much darker in every channel: no need to compute how much.
    let darker = ink
        .rgb
        .iter()
        .zip(paper.low)
        .all(|(ink, paper)| ink + 100.0 <= paper);
    if darker && ink.alpha * opacity >= 1.0 {
        return f32::INFINITY;
    }
    let drawn = paper.under(Rgba {
        alpha: ink.alpha * opacity,
        ..ink
    });
    let inks = (luminance(drawn.low), luminance(drawn.high));
    let backdrop = (luminance(paper.low), luminance(paper.high));
    if paper.low != paper.high && inks.0 <= backdrop.1 && backdrop.0 <= inks.1 {
        return 1.0;
    }
    let ratio = |one: f32, two: f32| (one.max(two) + 0.05) / (one.min(two) + 0.05);
    [
        (inks.0, backdrop.0),
        (inks.0, backdrop.1),
        (inks.1, backdrop.0),
        (inks.1, backdrop.1),
    ]
    .into_iter()
    .map(|(one, two)| ratio(one, two))
    .fold(f32::INFINITY, f32::min)
}

fn luminance(rgb: [f32; 3]) -> f32 {
    let [red, green, blue] = rgb.map(|level| {
        let level = (level / 255.0).clamp(0.0, 1.0);
        if level <= 0.040_45 {
            level / 12.92
        } else {
            ((level + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/// The least and the greatest difference of the most different channel.
fn differences(ink: Rgba, paper: ColorRange) -> (f32, f32) {
    let (mut least, mut greatest) = (0.0_f32, 0.0_f32);
    for (level, (low, high)) in ink.rgb.iter().zip(paper.low.iter().zip(paper.high)) {
        let near = (low - level).max(level - high).max(0.0);
        let far = (low - level).abs().max((high - level).abs());
        least = least.max(near);
        greatest = greatest.max(far);
    }
    (least, greatest)
}
