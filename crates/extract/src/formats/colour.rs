//! Colours of documents: sets of those that text or its background may have, and whether an eye
//! tells two apart.

/// A set larger than this is "any colour".
const MAX_KNOWN: usize = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rgb(pub(super) u8, pub(super) u8, pub(super) u8);

pub(super) const WHITE: Rgb = Rgb(255, 255, 255);
pub(super) const BLACK: Rgb = Rgb(0, 0, 0);

impl Rgb {
    /// Six hexadecimal digits, with or without a `#`; of eight the first two are alpha.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_start_matches('#');
        let digits = match text.len() {
            6 => text,
            8 => text.get(2..)?,
            _ => return None,
        };
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let number = u32::from_str_radix(digits, 16).ok()?;
        let [_, red, green, blue] = number.to_be_bytes();
        Some(Self(red, green, blue))
    }

    /// The names that office formats share with HTML.
    pub(super) fn named(name: &str) -> Option<Self> {
        const NAMES: [(&str, Rgb); 36] = [
            ("black", BLACK),
            ("white", WHITE),
            ("red", Rgb(255, 0, 0)),
            ("green", Rgb(0, 255, 0)),
            ("blue", Rgb(0, 0, 255)),
            ("yellow", Rgb(255, 255, 0)),
            ("cyan", Rgb(0, 255, 255)),
            ("magenta", Rgb(255, 0, 255)),
            ("darkblue", Rgb(0, 0, 139)),
            ("darkcyan", Rgb(0, 139, 139)),
            ("darkgreen", Rgb(0, 100, 0)),
            ("darkmagenta", Rgb(139, 0, 139)),
            ("darkred", Rgb(139, 0, 0)),
            ("darkyellow", Rgb(128, 128, 0)),
            ("darkgray", Rgb(169, 169, 169)),
            ("lightgray", Rgb(211, 211, 211)),
            ("gray", Rgb(128, 128, 128)),
            ("grey", Rgb(128, 128, 128)),
            ("silver", Rgb(192, 192, 192)),
            ("navy", Rgb(0, 0, 128)),
            ("teal", Rgb(0, 128, 128)),
            ("maroon", Rgb(128, 0, 0)),
            ("purple", Rgb(128, 0, 128)),
            ("olive", Rgb(128, 128, 0)),
            ("lime", Rgb(0, 255, 0)),
            ("aqua", Rgb(0, 255, 255)),
            ("fuchsia", Rgb(255, 0, 255)),
            ("orange", Rgb(255, 165, 0)),
            ("snow", Rgb(255, 250, 250)),
            ("ivory", Rgb(255, 255, 240)),
            ("whitesmoke", Rgb(245, 245, 245)),
            ("ghostwhite", Rgb(248, 248, 255)),
            ("floralwhite", Rgb(255, 250, 240)),
            ("gainsboro", Rgb(220, 220, 220)),
            ("linen", Rgb(250, 240, 230)),
            ("azure", Rgb(240, 255, 255)),
        ];
        let found = NAMES
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, colour)| *colour)
    }

    /// Hardly any contrast (WCAG 2), and no other hue.
    pub(super) fn is_lost_on(self, other: Self) -> bool {
        const CONTRAST: f32 = 1.25;
        const APART: i32 = 40;
        let (one, two) = (self.luminance(), other.luminance());
        let contrast = (one.max(two) + 0.05) / (one.min(two) + 0.05);
        let apart = |one: u8, two: u8| (i32::from(one) - i32::from(two)).abs();
        let farthest = apart(self.0, other.0)
            .max(apart(self.1, other.1))
            .max(apart(self.2, other.2));
        contrast < CONTRAST && farthest <= APART
    }

    fn luminance(self) -> f32 {
        let linear = |value: u8| {
            let value = f32::from(value) / 255.0;
            match value <= 0.040_45 {
                true => value / 12.92,
                false => ((value + 0.055) / 1.055).powf(2.4),
            }
        };
        0.2126 * linear(self.0) + 0.7152 * linear(self.1) + 0.0722 * linear(self.2)
    }

    /// Its lightness through this, hue and saturation kept.
    pub(super) fn relit(self, change: impl Fn(f32) -> f32) -> Self {
        let [red, green, blue] = [self.0, self.1, self.2].map(|value| f32::from(value) / 255.0);
        let (most, least) = (red.max(green).max(blue), red.min(green).min(blue));
        let light = (most + least) / 2.0;
        let spread = most - least;
        let saturation = match spread == 0.0 {
            true => 0.0,
            false => spread / (1.0 - (2.0 * light - 1.0).abs()).max(f32::EPSILON),
        };
        let light_after = change(light).clamp(0.0, 1.0);
        let spread_after = saturation.min(1.0) * (1.0 - (2.0 * light_after - 1.0).abs());
        let level = |value: f32| {
            let share = match spread == 0.0 {
                true => 0.5,
                false => (value - least) / spread,
            };
            let value = light_after - spread_after / 2.0 + share * spread_after;
            (value.clamp(0.0, 1.0) * 255.0).round() as u8
        };
        Self(level(red), level(green), level(blue))
    }

    /// So much of it, the rest of the other.
    pub(super) fn over(self, other: Self, share: f32) -> Self {
        let share = share.clamp(0.0, 1.0);
        let mix = |one: u8, two: u8| {
            (f32::from(one) * share + f32::from(two) * (1.0 - share)).round() as u8
        };
        Self(
            mix(self.0, other.0),
            mix(self.1, other.1),
            mix(self.2, other.2),
        )
    }
}

/// The colours that something may have.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Colours {
    known: Vec<Rgb>,
    /// Or another one.
    any: bool,
}

impl Colours {
    pub(super) fn one(colour: Rgb) -> Self {
        Self {
            known: vec![colour],
            any: false,
        }
    }

    pub(super) fn any() -> Self {
        Self {
            known: Vec::new(),
            any: true,
        }
    }

    pub(super) fn none() -> Self {
        Self {
            known: Vec::new(),
            any: false,
        }
    }

    pub(super) fn add(&mut self, colour: Rgb) {
        if self.known.contains(&colour) {
            return;
        }
        if self.known.len() >= MAX_KNOWN {
            self.any = true;
        } else {
            self.known.push(colour);
        }
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        other.known.iter().for_each(|colour| self.add(*colour));
        self.any |= other.any;
    }

    pub(super) fn known(&self) -> impl Iterator<Item = Rgb> + Clone + '_ {
        self.known.iter().copied()
    }

    pub(super) fn is_complete(&self) -> bool {
        !self.any
    }

    pub(super) fn map(&self, change: impl Fn(Rgb) -> Rgb) -> Self {
        let mut changed = Self {
            known: Vec::new(),
            any: self.any,
        };
        self.known().for_each(|colour| changed.add(change(colour)));
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_colours_have_too_little_contrast() {
        for (one, other, lost) in [
            ("ffffff", "ffffff", true),
            ("#FEFEFE", "ffffff", true),
            ("f0f0f0", "ffffff", true),
            ("dddddd", "ffffff", false),
            ("c0c0c0", "ffffff", false),
            ("000000", "0a0a0a", true),
            ("000000", "ffffff", false),
            ("ffff00", "ffffff", false),
            ("FF112233", "112233", true),
        ] {
            let (text, back) = (Rgb::parse(one), Rgb::parse(other));
            let found = text.expect("a colour").is_lost_on(back.expect("a colour"));
            assert_eq!(found, lost, "{one} {other}");
        }
        assert_eq!(Rgb::parse("auto"), None);
        assert_eq!(Rgb::parse("+1+2+3"), None);
    }

    #[test]
    fn tint_and_shade_keep_hue() {
        assert_eq!(BLACK.relit(|light| light * 0.05 + 0.95), Rgb(242, 242, 242));
        assert_eq!(WHITE.relit(|light| light * 0.5), Rgb(128, 128, 128));
        assert_eq!(Rgb(255, 0, 0).relit(|light| light), Rgb(255, 0, 0));
        assert_eq!(Rgb(255, 0, 0).relit(|_| 0.75), Rgb(255, 128, 128));
    }
}
