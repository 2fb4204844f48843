//! Sets of message numbers (RFC 3501 section 9, `sequence-set`). Does not know which messages there are.

use super::syntax::Bad;

/// What the numbers of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Number,
    Uid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Numbers(Vec<(u32, u32)>);

impl By {
    pub(super) fn of(verb: &str) -> Self {
        match verb.starts_with("UID ") {
            true => Self::Uid,
            false => Self::Number,
        }
    }
}

impl Numbers {
    /// `*` is `last`.
    pub(super) fn read(text: &str, last: u32) -> Result<Self, Bad> {
        let number = |text: &str| match text {
            "*" => Ok(last),
            digits => digits.parse::<u32>().ok().filter(|n| *n > 0).ok_or(Bad),
        };
        let range = |text: &str| match text.split_once(':') {
            Some((one, other)) => {
                let (one, other) = (number(one)?, number(other)?);
                Ok((one.min(other), one.max(other)))
            }
            None => number(text).map(|one| (one, one)),
        };
        text.split(',')
            .map(range)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    pub(super) fn holds(&self, number: u32) -> bool {
        self.0
            .iter()
            .any(|(first, last)| (*first..=*last).contains(&number))
    }
}

/// The shortest spelling of ascending numbers; empty for none.
pub(super) fn spelled(numbers: &[u32]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => ranges.push((*number, *number)),
        }
    }
    let spelled = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}:{last}"),
    });
    spelled.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_read_and_written() {
        let set = Numbers::read("2,5:4,9:*", 11).unwrap();
        let held: Vec<u32> = (1..=12).filter(|n| set.holds(*n)).collect();
        assert_eq!(held, [2, 4, 5, 9, 10, 11]);
        for bad in ["", "0", "a", "1:", ",1", "$"] {
            assert_eq!(Numbers::read(bad, 3), Err(Bad), "{bad}");
        }
        assert_eq!(spelled(&[1, 2, 3, 7, 9, 10]), "1:3,7,9:10");
        assert_eq!(spelled(&[]), "");
    }
}
