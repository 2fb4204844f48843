//! Days and moments as IMAP and mail headers spell them. Knows no zone but offsets; reads no clock.

use crate::delivery::Date;

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// `date-time` of RFC 3501.
pub(super) fn internal(unix_time: u64) -> String {
    let date = Date::from_unix(unix_time);
    format!(
        "{:02}-{}-{} {:02}:{:02}:{:02} +0000",
        date.day, date.month_name, date.year, date.hour, date.minute, date.second
    )
}

/// Reads [`internal`], whatever the offset.
pub(super) fn parse_internal(text: &str) -> Option<u64> {
    let mut words = text.split_ascii_whitespace();
    let (day, time, zone) = (words.next()?, words.next()?, words.next()?);
    moment(parse_day(day)?, time, zone)
}

/// `1-Jan-2026` as days since 1970.
pub(super) fn parse_day(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (day, month, year) = (parts.next()?, parts.next()?, parts.next()?);
    let month = 1 + MONTHS
        .iter()
        .position(|name| name.eq_ignore_ascii_case(month))?;
    let (year, day) = (year.parse().ok()?, day.parse().ok()?);
    (1..=31)
        .contains(&day)
        .then(|| days(year, i64::try_from(month).unwrap_or(1), day))
}

/// `2026/01/31` as days since 1970.
pub(super) fn parse_slashed(text: &str) -> Option<i64> {
    let mut parts = text.split(['/', '-']).map(str::parse::<i64>);
    let (year, month, day) = (
        parts.next()?.ok()?,
        parts.next()?.ok()?,
        parts.next()?.ok()?,
    );
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| days(year, month, day))
}

/// The day that a `Date` header names, in its own zone (RFC 3501 section 6.4.4: time and zone are disregarded).
pub(super) fn header_day(text: &str) -> Option<i64> {
    let text = text.split_once(',').map_or(text, |(_, rest)| rest);
    let words: Vec<&str> = text.split_ascii_whitespace().take(3).collect();
    parse_day(&words.join("-"))
}

fn moment(day: i64, time: &str, zone: &str) -> Option<u64> {
    let clock: Vec<i64> = time
        .split(':')
        .filter_map(|part| part.parse().ok())
        .collect();
    let [hour, minute, second] = clock[..] else {
        return None;
    };
    let offset: i64 = zone.parse().ok()?;
    let offset = offset / 100 * 3_600 + offset % 100 * 60;
    u64::try_from(day * 86_400 + hour * 3_600 + minute * 60 + second - offset).ok()
}

/// Days since 1970, in the calendar of today.
fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years that begin in March: a leap day is then a year's last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let year_day = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let era_day = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + year_day;
    era * 146_097 + era_day - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_moments_are_read_as_they_are_written() {
        for (text, want) in [
            ("1-Jan-1970", Some(0)),
            ("29-feb-2000", Some(11_016)),
            ("01-Jan-2026", Some(20_454)),
            ("1-Foo-2026", None),
            ("0-Jan-2026", None),
            ("Jan", None),
        ] {
            assert_eq!(parse_day(text), want, "{text}");
        }
        assert_eq!(parse_slashed("2026/01/01"), Some(20_454));
        assert_eq!(parse_slashed("2026/13/01"), None);
        for unix_time in [0, 951_782_400, 1_767_225_599] {
            assert_eq!(parse_internal(&internal(unix_time)), Some(unix_time));
        }
        assert_eq!(
            parse_internal(" 1-Jan-1970 02:30:00 +0230"),
            Some(0),
            "an offset counts"
        );
        assert_eq!(header_day("Thu, 1 Jan 2026 23:59:59 -0800"), Some(20_454));
        assert_eq!(header_day("1 Jan 2026 00:00 GMT"), Some(20_454));
        assert_eq!(header_day("yesterday"), None);
    }
}
