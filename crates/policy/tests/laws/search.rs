//! A mail server that searches as RFC 3501 says, and no better: text in addresses is ASCII without regard to case.

use jiff::civil::{Date, date};
use mail::Condition;

use crate::dice::Dice;
use crate::naive::Letter;

/// What a server has of a letter.
pub(crate) struct Stored {
    from: String,
    to: String,
    cc: String,
    size: Option<u64>,
    /// Days since 1970, in the zone that the server keeps.
    day: Option<i64>,
}

impl Stored {
    /// Local parts may have been sent in quotes; the day is that of any zone.
    pub(crate) fn new(letter: &Letter, dice: &mut Dice) -> Self {
        let mut header = |list: &[String]| {
            let each = list.iter().map(|text| match text.rsplit_once('@') {
                Some((local, domain)) if dice.once_in(4) => format!("\"{local}\"@{domain}"),
                _ => text.clone(),
            });
            each.collect::<Vec<_>>().join(", ").to_ascii_lowercase()
        };
        let (from, to, cc) = (header(&letter.from), header(&letter.to), header(&letter.cc));
        let hours = i64::try_from(dice.roll(27)).unwrap() - 12;
        let day = |second: i64| (second + hours * 3_600).div_euclid(86_400);
        Self {
            from,
            to,
            cc,
            size: letter.size,
            day: letter.arrived.map(day),
        }
    }

    pub(crate) fn meets(&self, condition: &Condition) -> bool {
        let holds = |field: &str, text: &str| {
            assert!(text.is_ascii(), "{text} needs a charset");
            field.contains(&text.to_ascii_lowercase())
        };
        match condition {
            Condition::All(each) => each.iter().all(|one| self.meets(one)),
            Condition::Any(each) => each.iter().any(|one| self.meets(one)),
            Condition::From(text) => holds(&self.from, text),
            Condition::To(text) => holds(&self.to, text),
            Condition::Cc(text) => holds(&self.cc, text),
            Condition::Header { name, holds: text } => match name.as_str() {
                "FROM" => holds(&self.from, text),
                "TO" => holds(&self.to, text),
                "CC" => holds(&self.cc, text),
                other => panic!("{other} is searched at no server"),
            },
            Condition::Larger(octets) => self.size.is_some_and(|size| size > *octets),
            Condition::Smaller(octets) => self.size.is_some_and(|size| size < *octets),
            Condition::Since(day) => self.day.is_some_and(|own| own >= days(*day)),
            Condition::Before(day) => self.day.is_some_and(|own| own < days(*day)),
            other => panic!("{other:?} is asked of no server"),
        }
    }
}

fn days(day: Date) -> i64 {
    (day - date(1970, 1, 1)).get_days().into()
}
