//! What the open folder can hold, so that no answer is believed that names more than that.

use imap::{Data, SequenceSet};
use mail::{Fault, FaultKind, Stage, UidSet};

/// What a search of a folder may find at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Bounds {
    /// So many messages the folder held at any time of the flight.
    pub messages: u64,
    /// All UIDs are lower. Absent where the server does not say, or where messages came since.
    pub next: Option<u32>,
}

impl Bounds {
    /// INVARIANT: a server may claim billions of messages in a few octets. None of them is counted,
    /// asked about or expanded before its set was compared with what is known of the folder.
    pub(super) fn check(self, found: &SequenceSet) -> Result<(), Fault> {
        self.check_count(found.len())?;
        if let (Some(next), Some(last)) = (self.next, found.last())
            && last >= next
        {
            return Err(broken(
                "the server found a message beyond the folder's UIDNEXT",
            ));
        }
        Ok(())
    }

    pub(super) fn check_count(self, count: u64) -> Result<(), Fault> {
        if count > self.messages {
            return Err(broken("the server found more messages than there are"));
        }
        Ok(())
    }

    pub(super) fn checked(self, found: &SequenceSet) -> Result<UidSet, Fault> {
        self.check(found)?;
        Ok(UidSet::from_ranges(found.ranges().iter().copied()))
    }
}

/// How many messages there were at most while this was said of a folder that held so many before.
pub(super) fn most(before: u32, data: &[Data]) -> u64 {
    let counts = data.iter().filter_map(|one| match one {
        Data::Exists(exists) => Some(*exists),
        _ => None,
    });
    let peak = u64::from(counts.fold(before, u32::max));
    let expunged = data.iter().filter(|one| matches!(one, Data::Expunge(_)));
    let vanished = data.iter().map(|one| match one {
        Data::Vanished(uids) => uids.len(),
        _ => 0,
    });
    let vanished = vanished.fold(0, u64::saturating_add).min(peak);
    let expunged = u64::try_from(expunged.count()).unwrap_or(u64::MAX);
    peak.saturating_add(expunged).saturating_add(vanished)
}

fn broken(what: &str) -> Fault {
    Fault::saying(FaultKind::Protocol, Stage::Search, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> SequenceSet {
        SequenceSet::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn set_beyond_the_folder_is_a_fault() {
        let bounds = |next| Bounds { messages: 5, next };
        for (found, next, fits) in [
            ("", Some(1), true),
            ("1:5", Some(6), true),
            ("1:5", None, true),
            ("1:6", None, false),
            ("1:4294967295", None, false),
            ("4294967295", None, true),
            ("4294967295", Some(u32::MAX), false),
            ("1,6", Some(6), false),
            ("1,6", Some(7), true),
        ] {
            let checked = bounds(next).check(&set(found));
            assert_eq!(checked.is_ok(), fits, "{found} {next:?}");
        }
    }

    #[test]
    fn claim_of_vanished_messages_adds_no_more_than_there_were() {
        let all = || Data::Vanished(set("1:4294967295"));
        for (before, data, want) in [
            (5, vec![], 5),
            (5, vec![Data::Exists(9)], 9),
            (5, vec![Data::Expunge(1), Data::Expunge(1)], 7),
            (5, vec![Data::Vanished(set("2:3"))], 7),
            (5, vec![all(), all()], 10),
            (0, vec![all()], 0),
        ] {
            assert_eq!(most(before, &data), want, "{data:?}");
        }
    }
}
