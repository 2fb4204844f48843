//! A point in time as people write it: a day, a timestamp, or so long ago. Always UTC.

use std::str::FromStr;

use audit::Day;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    Day(Day),
    At(Timestamp),
    /// Before now.
    Ago(SignedDuration),
}

impl When {
    pub(super) fn begin(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Day(day) => day.start(),
            Self::At(ts) => ts,
            Self::Ago(long) => now.saturating_sub(long).unwrap_or(Timestamp::MIN),
        }
    }

    /// The first moment behind it: a day is meant to its end.
    pub(super) fn end(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Day(day) => day.next().start(),
            // A second is meant to its end as well.
            other => {
                let whole = other.begin(now).subsec_nanosecond() == 0;
                let tick = match whole {
                    true => SignedDuration::from_secs(1),
                    false => SignedDuration::from_micros(1),
                };
                other
                    .begin(now)
                    .saturating_add(tick)
                    .unwrap_or(Timestamp::MAX)
            }
        }
    }
}

impl FromStr for When {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WRONG: &str = "write a day (2026-11-15), a time in UTC (2026-11-15T08:00:00Z or '2026-11-15 08:00'), or how long ago (90m, 2h, 30d)";
        if let Some(day) = Day::parse(text) {
            return Ok(Self::Day(day));
        }
        if let Ok(ts) = text.parse() {
            return Ok(Self::At(ts));
        }
        // As the verbs print it: without a zone, in UTC.
        if let Ok(time) = text.parse::<DateTime>()
            && let Ok(zoned) = time.to_zoned(TimeZone::UTC)
        {
            return Ok(Self::At(zoned.timestamp()));
        }
        let unit = text.chars().next_back().ok_or(WRONG)?;
        let seconds = match unit {
            's' => 1,
            'm' => 60,
            'h' => 3_600,
            'd' => 86_400,
            'w' => 604_800,
            _ => return Err(WRONG),
        };
        let count: u32 = text
            .strip_suffix(unit)
            .and_then(|count| count.parse().ok())
            .ok_or(WRONG)?;
        Ok(Self::Ago(SignedDuration::from_secs(
            i64::from(count) * seconds,
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_written_in_three_ways() {
        let now: Timestamp = "2026-11-15T12:00:00Z".parse().unwrap();
        for (text, begin, end) in [
            ("2026-11-14", "2026-11-14T00:00:00Z", "2026-11-15T00:00:00Z"),
            (
                "2026-11-14T08:00:00Z",
                "2026-11-14T08:00:00Z",
                "2026-11-14T08:00:01Z",
            ),
            (
                "2026-11-14T08:00:00.5Z",
                "2026-11-14T08:00:00.5Z",
                "2026-11-14T08:00:00.500001Z",
            ),
            (
                "2026-11-14 08:00:07",
                "2026-11-14T08:00:07Z",
                "2026-11-14T08:00:08Z",
            ),
            (
                "2026-11-14T08:30",
                "2026-11-14T08:30:00Z",
                "2026-11-14T08:30:01Z",
            ),
            (
                "2026-11-14T08:00:00+02:00",
                "2026-11-14T06:00:00Z",
                "2026-11-14T06:00:01Z",
            ),
            ("2h", "2026-11-15T10:00:00Z", "2026-11-15T10:00:01Z"),
            ("30d", "2026-10-16T12:00:00Z", "2026-10-16T12:00:01Z"),
            ("90m", "2026-11-15T10:30:00Z", "2026-11-15T10:30:01Z"),
        ] {
            let when: When = text.parse().unwrap();
            assert_eq!(when.begin(now).to_string(), begin, "{text}");
            assert_eq!(when.end(now).to_string(), end, "{text}");
        }
        for wrong in ["", "d", "-1d", "2026-13-01", "1y", "99999999999d", "ü"] {
            assert!(wrong.parse::<When>().is_err(), "{wrong}");
        }
    }
}
