//! `INTERNALDATE` (RFC 3501 section 9, date-time) as seconds since 1970.

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

#[cfg(test)]
mod tests {
    use super::*;

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
}
