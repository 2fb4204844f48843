//! Why a line is bad: what was found where, what stands behind it, and what that makes of it.

use super::check::Begins;
use super::days::{Spot, name};
use super::fault::{Cause, Fault, Wrong};
use super::next::{Chain, Whole, after};
use crate::DayFile;

/// The first thing that is wrong, before it is known why.
pub(super) struct Break {
    pub(super) spot: Option<Spot>,
    pub(super) found: Option<u64>,
    pub(super) wrong: Wrong,
    pub(super) doubt: Doubt,
}

pub(super) enum Doubt {
    Known(Cause),
    /// It is no whole record. The first line of all tells how many records it seems to be.
    Broken(u64),
    /// It is another record.
    Other(Whole),
    /// It is the first that is read, and neither record 0 nor one that opens a day.
    First(Whole),
    /// It does not follow the one before.
    Prev(Whole),
}

impl Break {
    /// Counts the records in a broken line: where a line feed is gone, there are two.
    pub(super) fn holding(mut self: Box<Self>, line: &[u8]) -> Box<Self> {
        let records = memchr::memmem::find_iter(line, br#"{"seq":"#).count();
        self.doubt = Doubt::Broken(records.max(1) as u64);
        self
    }

    /// Looks at what stands behind the bad line, which tells what happened.
    pub(super) fn explain(self, known: &Known<'_>) -> Fault {
        let chain = known.chain;
        let behind = self.spot.map(|spot| after(known.files, spot));
        let behind = behind.unwrap_or_default();
        let mut fault = Fault {
            expected: Some(chain.next),
            found: self.found,
            at: self.spot.map(|spot| name(known.files, spot)),
            wrong: self.wrong,
            cause: Cause::Changed,
        };
        match self.doubt {
            Doubt::Known(cause) => fault.cause = cause,
            Doubt::Broken(records) if !known.started => {
                // Which record it should be is only told by the next one.
                (fault.cause, fault.expected) = match &behind[0] {
                    Some(next) if next.opens_same_file() => (Cause::Inserted, Some(next.seq)),
                    Some(next) if next.files_on == 0 => {
                        (Cause::Changed, next.seq.checked_sub(records))
                    }
                    _ => (Cause::Changed, Some(fault.found.unwrap_or(0))),
                };
            }
            Doubt::Broken(_) => fault.cause = chain.cause_of_broken(&behind),
            Doubt::Other(whole) => fault.cause = chain.cause_of_other(&whole, &behind),
            Doubt::First(whole) => known.beheaded(&mut fault, &whole, &behind),
            Doubt::Prev(whole) => known.unlinked(&mut fault, &whole, &behind),
        }
        if matches!(fault.wrong, Wrong::Root { .. }) {
            fault.expected = Some(known.agreed);
        }
        fault
    }
}

/// What was read before the break.
pub(super) struct Known<'a> {
    pub(super) files: &'a [DayFile],
    pub(super) chain: Chain,
    pub(super) begins: Begins,
    /// Whether there was a record at all.
    pub(super) started: bool,
    /// Where the record before stands.
    pub(super) last: Option<Spot>,
    /// Up to which record a checkpoint has agreed.
    pub(super) agreed: u64,
}

impl Known<'_> {
    /// The log, or the day that it is read from, does not begin as it should.
    fn beheaded(&self, fault: &mut Fault, found: &Whole, behind: &[Option<Whole>; 2]) {
        match (&behind[0], self.begins) {
            (Some(next), _) if next.opens_same_file() => {
                let chain = Chain {
                    next: next.seq,
                    head: next.prev,
                };
                fault.expected = Some(next.seq);
                fault.cause = chain.cause_of_other(found, behind);
            }
            (_, Begins::Oldest) => fault.cause = Cause::Missing(found.seq),
            (_, Begins::Later) => {
                fault.expected = found.seq.checked_sub(1);
                fault.cause = Cause::Missing(found.seq);
            }
        }
    }

    /// Two records that do not follow each other: which of them is the odd one is told by the next.
    fn unlinked(&self, fault: &mut Fault, found: &Whole, behind: &[Option<Whole>; 2]) {
        fault.cause = match self.chain.cause_of_broken(behind) {
            Cause::Inserted => Cause::Inserted,
            _ => Cause::Rewritten,
        };
        let followed = matches!(&behind[0], Some(next) if next.prev == found.hash);
        if let (true, Cause::Rewritten, Some(last)) = (followed, fault.cause, self.last) {
            fault.expected = self.chain.next.checked_sub(1);
            fault.found = fault.expected;
            fault.at = Some(name(self.files, last));
            fault.wrong = Wrong::Next;
        }
    }
}

pub(super) fn broken(spot: Spot, found: Option<u64>, wrong: Wrong) -> Box<Break> {
    Box::new(Break {
        spot: Some(spot),
        found,
        wrong,
        doubt: Doubt::Broken(1),
    })
}
