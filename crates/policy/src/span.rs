//! Durations as a policy writes them: `30d`, `12h`.

use std::fmt;

/// A length of time in whole seconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    seconds: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadSpan {
    #[error("a duration is a whole number and one of s, m, h, d, w, y, such as 30d")]
    Shape,
    #[error("a duration must be at least 1s")]
    Zero,
    #[error("a duration must be at most 100y")]
    Long,
}

const LONGEST: u64 = 100 * YEAR;
const YEAR: u64 = 365 * 86_400;

impl Span {
    pub fn parse(text: &str) -> Result<Self, BadSpan> {
        let unit = text.chars().next_back().ok_or(BadSpan::Shape)?;
        let seconds_each: u64 = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 7 * 86_400,
            'y' => YEAR,
            _ => return Err(BadSpan::Shape),
        };
        let digits = text.strip_suffix(unit).unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(BadSpan::Shape);
        }
        // So many digits are too many, whatever they say.
        let number: u64 = digits.parse().map_err(|_| BadSpan::Long)?;
        let seconds = number.saturating_mul(seconds_each);
        match u32::try_from(seconds) {
            Ok(0) => Err(BadSpan::Zero),
            Ok(seconds) if u64::from(seconds) <= LONGEST => Ok(Self { seconds }),
            _ => Err(BadSpan::Long),
        }
    }

    pub fn seconds(self) -> i64 {
        i64::from(self.seconds)
    }
}

/// In the largest unit that divides it.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [
            (YEAR, 'y'),
            (7 * 86_400, 'w'),
            (86_400, 'd'),
            (3_600, 'h'),
            (60, 'm'),
        ];
        let seconds = u64::from(self.seconds);
        let fits = units
            .into_iter()
            .find(|(each, _)| seconds.is_multiple_of(*each));
        let (each, unit) = fits.unwrap_or((1, 's'));
        write!(f, "{}{unit}", seconds / each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written() {
        for (text, want) in [
            ("1s", Ok(1)),
            ("90m", Ok(5_400)),
            ("12h", Ok(43_200)),
            ("30d", Ok(2_592_000)),
            ("2w", Ok(1_209_600)),
            ("1y", Ok(31_536_000)),
            ("100y", Ok(3_153_600_000)),
            ("101y", Err(BadSpan::Long)),
            ("36501d", Err(BadSpan::Long)),
            ("99999999999999999999999s", Err(BadSpan::Long)),
            ("0d", Err(BadSpan::Zero)),
            ("", Err(BadSpan::Shape)),
            ("d", Err(BadSpan::Shape)),
            ("30", Err(BadSpan::Shape)),
            ("30 d", Err(BadSpan::Shape)),
            ("-3d", Err(BadSpan::Shape)),
            ("+3d", Err(BadSpan::Shape)),
            ("1.5h", Err(BadSpan::Shape)),
            ("30D", Err(BadSpan::Shape)),
            ("30ü", Err(BadSpan::Shape)),
        ] {
            assert_eq!(Span::parse(text).map(Span::seconds), want, "{text}");
        }
        for text in ["1s", "90m", "12h", "30d", "2w", "1y"] {
            assert_eq!(Span::parse(text).unwrap().to_string(), text);
        }
    }
}
