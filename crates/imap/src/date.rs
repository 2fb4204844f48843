//! `INTERNALDATE` (RFC 3501 section 9, date-time) as seconds since 1970, read and written.

const MONTHS: [&[u8]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// `17-Jul-1996 02:44:25 -0700`, the day padded with a space or a zero. `None` for anything else.
pub(crate) fn parse(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let mut words = text.split(' ').filter(|word| !word.is_empty());
    let (date, time) = (words.next()?, words.next()?);
    let zone = words.next().unwrap_or("+0000");
    let mut date = date.split('-');
    let day: i64 = small(date.next()?, 1, 31)?;
    let month = date.next()?;
    let month = MONTHS
        .iter()
        .position(|m| month.as_bytes().eq_ignore_ascii_case(m))?;
    let year = small(date.next()?, 1, 9999)?;
    let mut time = time.split(':');
    let hour = small(time.next()?, 0, 23)?;
    let minute = small(time.next()?, 0, 59)?;
    let second = small(time.next()?, 0, 60)?;
    let days = days_from_civil(year, i64::try_from(month).ok()? + 1, day);
    Some(days * 86_400 + hour * 3_600 + minute * 60 + second - offset(zone)?)
}

/// The same in UTC; `None` for a year that has not four digits.
pub(crate) fn format(seconds: i64) -> Option<String> {
    let days = seconds.div_euclid(86_400);
    let second = seconds.rem_euclid(86_400);
    let (year, month, day) = civil_from_days(days)?;
    let month = MONTH_NAMES.get(usize::try_from(month).ok()?.checked_sub(1)?)?;
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    (1..=9_999)
        .contains(&year)
        .then(|| format!("{day:02}-{month}-{year:04} {hour:02}:{minute:02}:{second:02} +0000"))
}

const MONTH_NAMES: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

fn small(text: &str, low: i64, high: i64) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (low..=high).contains(&number).then_some(number)
}

fn offset(zone: &str) -> Option<i64> {
    let (sign, digits) = match zone.split_at_checked(1)? {
        ("+", digits) => (1, digits),
        ("-", digits) => (-1, digits),
        _ => return None,
    };
    let number = small(digits, 0, 2359)?;
    Some(sign * ((number / 100) * 3_600 + (number % 100) * 60))
}

/// Days since 1970-01-01 in the proleptic Gregorian calendar; years begin in March, so leap days come last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The inverse: year, month and day.
fn civil_from_days(days: i64) -> Option<(i64, i64, i64)> {
    let since_march = days.checked_add(719_468)?;
    let era = since_march.div_euclid(146_097);
    let day_of_era = since_march.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = (from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    Some((year, month, day))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_dates() {
        for (text, want) in [
            ("01-Jan-1970 00:00:00 +0000", Some(0)),
            ("17-Jul-1996 02:44:25 -0700", Some(837_596_665)),
            (" 1-Mar-2000 00:00:00 +0100", Some(951_865_200)),
            ("29-feb-2024 23:59:60 +0000", Some(1_709_251_200)),
            ("01-Jan-0000 00:00:00 +0000", None),
            ("00-Jan-2000 00:00:00 +0000", None),
            ("nonsense", None),
            ("", None),
        ] {
            assert_eq!(parse(text.as_bytes()), want, "{text}");
        }
    }

    #[test]
    fn dates_on_the_wire() {
        for (seconds, want) in [
            (0, Some("01-Jan-1970 00:00:00 +0000")),
            (837_596_665, Some("17-Jul-1996 09:44:25 +0000")),
            (951_782_400, Some("29-Feb-2000 00:00:00 +0000")),
            (-62_135_596_800, Some("01-Jan-0001 00:00:00 +0000")),
            (-62_135_596_801, None),
            (253_402_300_799, Some("31-Dec-9999 23:59:59 +0000")),
            (253_402_300_800, None),
            (i64::MAX, None),
            (i64::MIN, None),
        ] {
            assert_eq!(format(seconds).as_deref(), want, "{seconds}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(seconds in -62_135_596_800i64..=253_402_300_799) {
            prop_assert_eq!(parse(format(seconds).unwrap().as_bytes()), Some(seconds));
        }
    }
}
