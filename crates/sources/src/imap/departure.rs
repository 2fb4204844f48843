//! Whether a message left its folder, from what the server said while it was watched.
//!
//! Others work in the same folder: that something went says nothing of this one. Why it went is not told.

use imap::{Data, SequenceSet};

/// INVARIANT: only what the server said of this very message counts. Its place is known from where it was described
/// with its UID, and changes with each that goes before it (RFC 3501 section 7.4.1).
pub(super) fn has_left(data: &[Data], uid: u32) -> bool {
    let (mut place, mut left) = (None, false);
    for one in data {
        match one {
            // One that is described is there, whatever was said before.
            Data::Fetch(fetch) if fetch.uid == Some(uid) => {
                (place, left) = (Some(fetch.sequence), false);
            }
            Data::Expunge(gone) => match place {
                Some(here) if here == *gone => (place, left) = (None, true),
                Some(here) if here > *gone => place = Some(here - 1),
                _ => {}
            },
            Data::Vanished(uids) if holds(uids, uid) => (place, left) = (None, true),
            // How many of these stood before it is not told.
            Data::Vanished(_) => place = None,
            _ => {}
        }
    }
    left
}

fn holds(uids: &SequenceSet, uid: u32) -> bool {
    let mut ranges = uids.ranges().iter();
    ranges.any(|(first, last)| (*first..=*last).contains(&uid))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use imap::{Limits, Response};

    use super::*;

    #[test]
    fn a_message_is_followed_through_what_goes_around_it() {
        for (lines, want) in [
            ("", false),
            ("2 EXPUNGE", false),
            ("2 FETCH (UID 7)|2 EXPUNGE", true),
            ("2 FETCH (UID 7)|3 EXPUNGE", false),
            ("2 FETCH (UID 7)|1 EXPUNGE", false),
            ("2 FETCH (UID 7)|1 EXPUNGE|2 EXPUNGE", false),
            ("2 FETCH (UID 7)|1 EXPUNGE|1 EXPUNGE", true),
            ("2 FETCH (UID 7)|3 EXPUNGE|2 EXPUNGE", true),
            ("2 EXPUNGE|2 FETCH (UID 7)", false),
            ("2 EXPUNGE|2 FETCH (UID 7)|2 EXPUNGE", true),
            ("2 FETCH (UID 7)|2 EXPUNGE|1 FETCH (UID 7)", false),
            ("2 FETCH (UID 7)|2 EXPUNGE|1 FETCH (UID 6)|1 EXPUNGE", true),
            ("2 FETCH (FLAGS ())|2 EXPUNGE", false),
            ("2 FETCH (UID 8)|2 EXPUNGE", false),
            ("VANISHED 7", true),
            ("VANISHED 5:9", true),
            ("2 FETCH (UID 7)|VANISHED 1:6|1 EXPUNGE", false),
            ("2 FETCH (UID 7)|0 EXPUNGE", false),
            ("0 FETCH (UID 7)|1 EXPUNGE", false),
        ] {
            let lines = lines.split('|').filter(|line| !line.is_empty());
            let data: Vec<Data> = lines
                .map(|line| {
                    let frame = Bytes::from(format!("* {line}\r\n"));
                    match Response::parse(&frame, &Limits::default()) {
                        Response::Untagged(data) => data,
                        other => panic!("{other:?}"),
                    }
                })
                .collect();
            assert_eq!(has_left(&data, 7), want, "{data:?}");
        }
    }
}
