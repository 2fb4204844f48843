//! The Date field (RFC 5322 section 3.3), with the older and foreign forms that are found in mail.
//!
//! RFC 850, asctime, ISO 8601 and month-first dates are read, two-digit years, month and day names
//! in full, times with AM and PM, obsolete zones. A date that may be day-first or month-first in
//! figures is not guessed at.

use jiff::Timestamp;
use jiff::civil::Date as Day;
use mail::Raw;

/// A field is read up to this many bytes.
const MAX_BYTES: usize = 200;

/// The date that is shown of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Date {
    /// RFC 3339, UTC.
    pub text: String,
    pub basis: DateBasis,
}

/// What a date was taken from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateBasis {
    /// The Date field, with its zone.
    Field,
    /// The Date field, whose zone is missing or has no agreed meaning.
    ZoneAssumed,
    /// When the message arrived: the Date field is missing or cannot be read.
    Arrival,
}

impl DateBasis {
    /// The name on the wire; none where the date is what the field says.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Field => None,
            Self::ZoneAssumed => Some("zone_assumed"),
            Self::Arrival => Some("arrival"),
        }
    }
}

/// What the Date field says, else when the message arrived.
pub fn date(raw: Option<&Raw>, arrived: Option<Timestamp>) -> Option<Date> {
    let field = raw.and_then(read);
    let (time, basis) = match field {
        Some((time, Zone::Stated)) => (time, DateBasis::Field),
        Some((time, Zone::Assumed)) => (time, DateBasis::ZoneAssumed),
        None => {
            let arrived = Timestamp::from_second(arrived?.as_second()).ok()?;
            (arrived, DateBasis::Arrival)
        }
    };
    Some(Date {
        text: time.to_string(),
        basis,
    })
}

/// When the Date field says that the message was sent.
pub(crate) fn sent(raw: &Raw) -> Option<Timestamp> {
    read(raw).map(|(time, _)| time)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Zone {
    Stated,
    Assumed,
}

fn read(raw: &Raw) -> Option<(Timestamp, Zone)> {
    let value = raw.bytes().get(..MAX_BYTES).unwrap_or(raw.bytes());
    let text = uncommented(&String::from_utf8_lossy(value));
    let mut parts = DateParts::default();
    let mut words = words(&text).peekable();
    while let Some(word) = words.next() {
        parts.take(word, words.peek().copied())?;
    }
    parts.moment()
}

/// Without comments, which nest (RFC 5322 section 3.2.2), in lower case.
fn uncommented(text: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\\' if depth > 0 => drop(chars.next()),
            '(' => {
                depth += 1;
                out.push(' ');
            }
            ')' => depth = depth.saturating_sub(1),
            _ if depth == 0 => out.push(char.to_ascii_lowercase()),
            _ => {}
        }
    }
    out
}

/// Words are set off by blanks, commas and quotes.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let gap = |c: char| c.is_whitespace() || matches!(c, ',' | '"' | '\'' | ';');
    text.split(gap).filter(|word| !word.is_empty())
}

#[derive(Default)]
struct DateParts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    /// Seconds since midnight.
    time: Option<i64>,
    /// Seconds east of UTC, and whether the field means just that.
    zone: Option<(i64, Zone)>,
    /// PM, or AM.
    afternoon: Option<bool>,
}

impl DateParts {
    /// `None` for a word that makes the field unreadable.
    fn take(&mut self, word: &str, next: Option<&str>) -> Option<()> {
        if is_weekday(word) {
            return Some(());
        }
        if let Some(month) = month(word) {
            return set(&mut self.month, month);
        }
        if matches!(word, "am" | "pm" | "a.m." | "p.m.") {
            return set(&mut self.afternoon, word.starts_with('p'));
        }
        if matches!(word, "at" | "of" | "de" | "den" | "um" | "the") {
            return Some(());
        }
        // `06-Nov-94`, `1997-11-21`, `21.11.1997`, `11/21/1997`.
        if self.is_open() && word.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            for separator in ['-', '/', '.'] {
                let pieces: Vec<&str> = word.splitn(3, separator).collect();
                if let [first, second, third] = pieces.as_slice() {
                    return self.take_day(first, second, third, separator);
                }
            }
        }
        if self.time.is_none()
            && word.contains(':')
            && word.starts_with(|c: char| c.is_ascii_digit())
        {
            return self.take_time(word);
        }
        let figures = word.strip_suffix(ordinal(word)).unwrap_or(word);
        if let Some(number) = digits(figures) {
            return self.take_number(number, figures.len(), next);
        }
        if self.time.is_none()
            && let Some(time) = dotted_time(word)
        {
            return self.take_time(&time);
        }
        // What stands before the time is no zone.
        if self.time.is_some() && self.zone.is_none_or(|(_, zone)| zone == Zone::Assumed) {
            return self.take_zone(word);
        }
        self.time.is_some().then_some(())
    }

    fn is_open(&self) -> bool {
        self.day.is_none() && self.month.is_none() && self.year.is_none()
    }

    fn take_number(&mut self, number: u32, length: usize, next: Option<&str>) -> Option<()> {
        let is_day = self.day.is_none() && length <= 2 && (1..=31).contains(&number);
        // In `Nov 94` the year has two digits; `06 Nov 94` and `Nov 6 1994` have a day.
        let is_only_day = is_day && (self.month.is_none() || next.is_some());
        if is_only_day || is_day && self.year.is_some() {
            return set(&mut self.day, i8::try_from(number).ok()?);
        }
        if self.year.is_none() {
            return set(&mut self.year, year(number, length)?);
        }
        // A zone without its sign.
        (self.time.is_some() && length == 4).then(|| {
            self.zone.get_or_insert((0, Zone::Assumed));
        })
    }

    fn take_day(&mut self, first: &str, second: &str, third: &str, separator: char) -> Option<()> {
        // ISO 8601 sets the time off by a `t`.
        let (third, time) = match third.split_once('t') {
            Some((third, time)) if time.contains(':') => (third, Some(time)),
            _ => (third, None),
        };
        let number = |text: &str| digits(text).filter(|_| text.len() <= 2);
        let small = |text: &str| number(text).and_then(|number| i8::try_from(number).ok());
        let (long_year, day, month) = match month(second) {
            Some(month) if first.len() == 4 => (first, small(third)?, month),
            Some(month) => (third, small(first)?, month),
            None if first.len() == 4 => (first, small(third)?, small(second)?),
            None => {
                let (first, second) = (small(first)?, small(second)?);
                let (day, month) = match separator {
                    '.' | '-' => (first, second),
                    _ if first > 12 => (first, second),
                    _ if second > 12 || first == second => (second, first),
                    _ => return None,
                };
                (third, day, month)
            }
        };
        set(&mut self.year, year(digits(long_year)?, long_year.len())?)?;
        set(&mut self.month, month)?;
        set(&mut self.day, day)?;
        match time {
            Some(time) => self.take_time(time),
            None => Some(()),
        }
    }

    /// `9:55`, `09:55:06.25`, with AM or PM or a zone that touches it.
    fn take_time(&mut self, word: &str) -> Option<()> {
        let end = word
            .find(|c: char| !c.is_ascii_digit() && c != ':' && c != '.')
            .unwrap_or(word.len());
        let (clock, rest) = word.split_at(end);
        let mut fields = clock.split(':');
        let mut field = |most: u32| -> Option<Option<i64>> {
            let Some(text) = fields.next() else {
                return Some(None);
            };
            let whole = text.split('.').next().unwrap_or_default();
            let number = digits(whole).filter(|number| whole.len() <= 2 && *number <= most)?;
            Some(Some(i64::from(number)))
        };
        // A leap second is the next one; midnight may be 24:00.
        let (hours, minutes) = (field(24)??, field(59)??);
        let seconds = field(60)?.unwrap_or(0);
        if fields.next().is_some() || hours == 24 && minutes + seconds > 0 {
            return None;
        }
        self.time = Some(hours * 3_600 + minutes * 60 + seconds);
        match rest {
            "" => Some(()),
            "am" | "pm" => set(&mut self.afternoon, rest == "pm"),
            _ => self.take_zone(rest),
        }
    }

    fn take_zone(&mut self, word: &str) -> Option<()> {
        let (offset, zone) = named_zone(word)
            .or_else(|| numeric_zone(word))
            .unwrap_or((0, Zone::Assumed));
        match self.zone {
            // The first one that is understood counts: `+0100 CET`, `MET DST +0100`.
            Some((_, Zone::Stated)) => {}
            _ => self.zone = Some((offset, zone)),
        }
        Some(())
    }

    fn moment(self) -> Option<(Timestamp, Zone)> {
        let day = Day::new(self.year?, self.month?, self.day?).ok()?;
        let mut time = self.time?;
        let hour = time / 3_600;
        match self.afternoon {
            Some(_) if !(1..=12).contains(&hour) => return None,
            Some(true) if hour < 12 => time += 12 * 3_600,
            Some(false) if hour == 12 => time -= 12 * 3_600,
            _ => {}
        }
        let (offset, zone) = self.zone.unwrap_or((0, Zone::Assumed));
        let midnight = day.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        let seconds = midnight.timestamp().as_second() + time - offset;
        Some((Timestamp::from_second(seconds).ok()?, zone))
    }
}

/// INVARIANT: what is named twice is not known.
fn set<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    slot.replace(value).is_none().then_some(())
}

fn digits(text: &str) -> Option<u32> {
    let plain = !text.is_empty() && text.len() <= 4 && text.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// The ending of `1st`, `2nd`, `3rd`, `4th` and `5.`, if any.
fn ordinal(word: &str) -> &str {
    let endings = ["st", "nd", "rd", "th", "."];
    let found = endings.into_iter().find(|end| word.ends_with(end));
    found.unwrap_or_default()
}

/// RFC 5322 section 4.3: two digits are 1950 to 2049, three count from 1900.
fn year(number: u32, length: usize) -> Option<i16> {
    let full = match (length, number) {
        (2, 0..=49) => 2_000 + number,
        (2 | 3, _) => 1_900 + number,
        (4, 1_900..) => number,
        _ => return None,
    };
    i16::try_from(full).ok()
}

/// By its first three letters, or in full.
fn month(word: &str) -> Option<i8> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    named(word, &MONTHS).and_then(|index| i8::try_from(index + 1).ok())
}

fn is_weekday(word: &str) -> bool {
    const DAYS: [&str; 7] = [
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    ];
    named(word, &DAYS).is_some()
}

fn named(word: &str, names: &[&str]) -> Option<usize> {
    let word = word.trim_end_matches('.');
    let fits = |name: &&str| word.len() >= 3 && name.starts_with(word);
    names.iter().position(fits)
}

/// `09.55.06`: with colons.
fn dotted_time(word: &str) -> Option<String> {
    let fields: Vec<&str> = word.split('.').collect();
    let pair = |text: &&str| text.len() <= 2 && digits(text).is_some();
    let fits = (2..=3).contains(&fields.len()) && fields.iter().all(pair);
    fits.then(|| fields.join(":"))
}

/// Names that RFC 5322 section 4.3 defines, and others that have one meaning in mail.
fn named_zone(word: &str) -> Option<(i64, Zone)> {
    let hours = match word {
        "z" | "ut" | "utc" | "gmt" => 0,
        "est" => -5,
        "edt" => -4,
        "cst" => -6,
        "cdt" => -5,
        "mst" => -7,
        "mdt" => -6,
        "pst" => -8,
        "pdt" => -7,
        // Not in the RFC, so that others may read them as UTC.
        _ => {
            let hours = match word {
                "wet" => 0,
                "cet" | "met" | "mez" | "west" => 1,
                "cest" | "mest" | "mesz" | "eet" | "sast" => 2,
                "eest" | "msk" => 3,
                "msd" => 4,
                "hkt" | "sgt" | "awst" => 8,
                "jst" | "kst" => 9,
                "aest" => 10,
                "aedt" => 11,
                "nzst" => 12,
                "nzdt" => 13,
                "hst" => -10,
                "akst" => -9,
                "akdt" => -8,
                _ => return None,
            };
            return Some((hours * 3_600, Zone::Assumed));
        }
    };
    Some((hours * 3_600, Zone::Stated))
}

/// `+0530`, and the same as `+05:30`, `+05-30`, `+530`, `+5`, `GMT+0530` or `UTC+5`.
fn numeric_zone(word: &str) -> Option<(i64, Zone)> {
    let bare = ["gmt", "utc", "ut"]
        .into_iter()
        .find_map(|prefix| word.strip_prefix(prefix))
        .unwrap_or(word);
    let (sign, figures) = match bare.split_at_checked(1)? {
        ("+", figures) => (1, figures),
        ("-", figures) => (-1, figures),
        _ => return None,
    };
    let is_exact = figures.len() == 4 && digits(figures).is_some();
    let starts_with_digit = figures.starts_with(|c: char| c.is_ascii_digit());
    let figures: String = figures.replace([':', '-', '.', '+'], "");
    let number = i64::from(digits(&figures)?);
    let (hours, minutes) = match figures.len() {
        1 | 2 => (number, 0),
        _ => (number / 100, number % 100),
    };
    if !starts_with_digit || hours > 23 || minutes > 59 {
        return Some((0, Zone::Assumed));
    }
    // The farthest zones are -1200 and +1400.
    let zone = if hours <= 14 && (is_exact || word.contains(':')) {
        Zone::Stated
    } else {
        Zone::Assumed
    };
    Some((sign * (hours * 3_600 + minutes * 60), zone))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(text: &str) -> (String, DateBasis) {
        let arrived = Timestamp::from_second(0).unwrap();
        let found = date(Some(&Raw::copied(text.as_bytes())), Some(arrived)).unwrap();
        (found.text, found.basis)
    }

    #[test]
    fn dates_with_a_zone_become_utc() {
        for text in [
            "Fri, 21 Nov 1997 09:55:06 -0600",
            "21 Nov 1997 15:55:06 +0000 (UTC)",
            "Fri, 21 Nov 97 15:55:06 GMT",
            "Friday, 21-Nov-97 15:55:06 GMT",
            "Fri Nov 21 09:55:06 CST 1997",
            "Fri Nov 21 16:55:06 +0100 1997",
            "Fri, 21 November 1997 16:55:06 +0100",
            "Fri (day) , 21\tNov(ember (11)) 1997 16:55:06 +0100",
            "1997-11-21T15:55:06Z",
            "1997-11-21T10:55:06.5-05:00",
            "1997-11-21 16:55:06 +01:00",
            "November 21, 1997 10:55:06 AM -0500",
            "Nov 21st, 1997 3:55:06PM GMT",
            "21/11/1997 15:55:06 GMT",
            "11/21/1997 15:55:06 GMT",
            "21.11.1997 15:55:06 UT",
            "Fri, 21 Nov 1997 15.55.06 GMT",
            "Fri, 21 Nov 1997 15:55:06 -0000",
            "Fri, 21 Nov 97 08:55:06 PDT",
            "Fri,21 Nov 1997 15:55:06 +0000",
            "21-Nov-1997 15:55:06 +0000",
            "Fri, 21 Nov 097 15:55:06 +0000",
            "Fri, 21 Nov 1997 15:55:06.123 +0000",
            "Fri, 21 Nov 1997 16:55:06 +0100 CET",
            "Fri, 21 Nov 1997 16:55:06 MET +0100",
        ] {
            let want = ("1997-11-21T15:55:06Z".to_owned(), DateBasis::Field);
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn dates_without_a_certain_zone_say_so() {
        for (text, want) in [
            ("Fri, 21 Nov 1997 09:55:06", "1997-11-21T09:55:06Z"),
            ("Fri Nov 21 09:55:06 1997", "1997-11-21T09:55:06Z"),
            ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
            ("21 Nov 1997 09:55", "1997-11-21T09:55:00Z"),
            ("Fri, 21 Nov 1997 16:55:06 CET", "1997-11-21T15:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 XYZ", "1997-11-21T09:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 A", "1997-11-21T09:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 +9999", "1997-11-21T09:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 -1600", "1997-11-22T01:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 +-0500", "1997-11-21T09:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 0200", "1997-11-21T09:55:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 +05-30", "1997-11-21T04:25:06Z"),
            ("Fri, 21 Nov 1997 09:55:06 GMT+5", "1997-11-21T04:55:06Z"),
            ("1997-11-21 24:00", "1997-11-22T00:00:00Z"),
            ("31 Dec 1998 23:59:60", "1999-01-01T00:00:00Z"),
        ] {
            let want = (want.to_owned(), DateBasis::ZoneAssumed);
            assert_eq!(shown(text), want, "{text}");
        }
    }

    #[test]
    fn unreadable_dates_fall_back_to_arrival() {
        for text in [
            "",
            "nonsense",
            "Fri, 99 Nov 1997 99:55:06 -0600",
            "Fri, 31 Feb 1997 09:55:06 -0600",
            "Fri, 21 Nov 1997",
            "Fri, 21 Nov 09:55:06 -0600",
            "03/04/1997 09:55:06 -0600",
            "21 Nov Dec 1997 09:55:06 -0600",
            "21 22 Nov 1997 09:55:06 -0600",
            "21 Nov 1997 13:55:06 PM",
            "21 Nov 1897 09:55:06 -0600",
        ] {
            let want = ("1970-01-01T00:00:00Z".to_owned(), DateBasis::Arrival);
            assert_eq!(shown(text), want, "{text}");
        }
        assert_eq!(date(None, None), None);
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(bytes: Vec<u8>) {
            date(Some(&Raw::new(bytes)), None);
        }

        #[test]
        fn near_valid_dates_never_panic(text in "([A-Z][a-z]{2}|[0-9]{1,5}|[0-9:.]{1,12}|[+-][0-9]{1,9}|[(),./ -]){0,12}") {
            date(Some(&Raw::new(text.into_bytes())), None);
        }

        /// As mail-parser reads RFC 5322's own form.
        #[test]
        fn ordinary_dates_agree_with_other_parsers(
            day in 1..=28_u8, month in 0..12_usize, year in 1950..2049_u16, hour in 0..24_u8, minute in 0..60_u8,
            second in 0..60_u8, zone_hours in -11..14_i16, zone_minutes in 0..60_i16,
        ) {
            let zone = zone_hours * 100 + zone_hours.signum() * zone_minutes;
            const MONTHS: [&str; 12] =
                ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
            let sign = if zone < 0 { '-' } else { '+' };
            let text = format!(
                "{day} {} {year} {hour:02}:{minute:02}:{second:02} {sign}{:04}", MONTHS[month], zone.abs(),
            );
            let theirs = mail_parser::DateTime::parse_rfc822(&text).unwrap().to_timestamp();
            let ours = sent(&Raw::copied(text.as_bytes())).unwrap();
            prop_assert_eq!(ours.as_second(), theirs, "{}", text);
        }
    }
}
