//! How a step that takes a copy away (`thin`) names it: by its number in the target, as the reason of the step.
//!
//! It stays written when the copy is gone. Whoever looks for a copy of its own may have seen it there a moment before.

use mail::{Landing, Uid, UidValidity};

/// The copy that goes.
pub fn going(landing: Landing) -> String {
    format!("{}:{}", landing.uidvalidity.0, landing.uid.0)
}

/// None where a step says anything else.
pub fn read_going(why: &str) -> Option<Landing> {
    let (uidvalidity, uid) = why.split_once(':')?;
    Some(Landing {
        uidvalidity: UidValidity(uidvalidity.parse().ok()?),
        uid: Uid(uid.parse().ok()?),
    })
}

/// What was put into a folder, or goes from it: of each transaction its number, and what its step says.
pub(crate) fn taken(rows: Vec<(Uid, Option<String>)>, uidvalidity: UidValidity) -> Vec<Uid> {
    let mut uids = Vec::with_capacity(rows.len());
    for (uid, why) in rows {
        uids.push(uid);
        let going = why.as_deref().and_then(read_going);
        let here = going.filter(|one| one.uidvalidity == uidvalidity);
        uids.extend(here.map(|one| one.uid));
    }
    uids.sort_unstable();
    uids.dedup();
    uids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn landing(uidvalidity: u32, uid: u32) -> Landing {
        Landing {
            uidvalidity: UidValidity(uidvalidity),
            uid: Uid(uid),
        }
    }

    #[test]
    fn a_number_is_read_as_it_was_spelled() {
        let landing = landing(7, 42);
        assert_eq!(read_going(&going(landing)), Some(landing));
        for other in ["", "7", "7:", ":7", "maybe_twice", "7:x"] {
            assert_eq!(read_going(other), None, "{other}");
        }
    }

    #[test]
    fn what_goes_is_taken_as_well_as_what_lies_there() {
        let says = |uid, why: Option<String>| (Uid(uid), why);
        let rows = vec![
            says(9, None),
            says(5, Some(going(landing(7, 3)))),
            says(5, Some(going(landing(8, 4)))),
            says(6, Some("maybe_twice".to_owned())),
        ];
        let uids = taken(rows, UidValidity(7));
        assert_eq!(uids, [3, 5, 6, 9].map(Uid));
    }
}
