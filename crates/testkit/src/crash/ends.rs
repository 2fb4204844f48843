//! How a change may end, and the verdict over one that was struck: the world, the ledger and the answer must tell the
//! same story.

use crate::world::World;

/// The two ways in which a change may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    Undone,
}

/// The declared end states of one change.
#[derive(Clone, Debug)]
pub struct Ends {
    pub undone: World,
    /// Another world that is as undone as a server can make it.
    pub undone_too: Option<World>,
    pub done: Expected,
}

/// What a world must be.
#[derive(Clone, Debug)]
pub enum Expected {
    Exactly(World),
    /// One more than before, with content that the program chose: only where it lies and its flags are known.
    OneMore {
        than: World,
        account: String,
        folder: String,
        flags: Vec<String>,
    },
}

/// What a caller was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Done,
    /// It failed, and nothing is changed.
    Undone,
    /// Nothing at all, or that it is not known.
    Unknown,
}

/// What the ledger says when all is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// It never heard of the change.
    Nothing,
    Ended(End),
    /// Still under way, or given to a person.
    Unsettled(String),
}

impl Ends {
    /// Which end it came to; the error says why it is none.
    pub fn judge(&self, after: &World, recorded: &Recorded, said: &Said) -> Result<End, String> {
        let end = self.reached(after)?;
        let told = match recorded {
            Recorded::Nothing => End::Undone,
            Recorded::Ended(end) => *end,
            Recorded::Unsettled(how) => {
                return Err(format!("the world is {end:?}, the ledger says {how}"));
            }
        };
        if told != end {
            return Err(format!(
                "the world is {end:?}, the ledger says {recorded:?}; {}",
                self.differs(after)
            ));
        }
        match (said, end) {
            (Said::Done, End::Undone) | (Said::Undone, End::Done) => Err(format!(
                "the world is {end:?}, the caller was told {said:?}"
            )),
            _ => Ok(end),
        }
    }

    fn reached(&self, after: &World) -> Result<End, String> {
        if *after == self.undone || self.undone_too.as_ref() == Some(after) {
            return Ok(End::Undone);
        }
        match self.done.is(after) {
            true => Ok(End::Done),
            false => Err(format!("no declared end: {}", self.differs(after))),
        }
    }

    /// What happened to the world, for people.
    fn differs(&self, after: &World) -> String {
        let (more, less) = (after.beyond(&self.undone), self.undone.beyond(after));
        format!("since before it gained [{more}] and lost [{less}]")
    }
}

impl Expected {
    fn is(&self, after: &World) -> bool {
        match self {
            Self::Exactly(world) => world == after,
            Self::OneMore {
                than,
                account,
                folder,
                flags,
            } => {
                let more = after.beyond(than);
                let fits = more.items().all(|item| {
                    item.account == *account && item.folder == *folder && item.flags == *flags
                });
                than.beyond(after).is_empty() && more.len() == 1 && fits
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::Item;

    fn item(folder: &str) -> Item {
        Item {
            account: "home".to_owned(),
            folder: folder.to_owned(),
            hash: "00".repeat(32),
            flags: vec!["\\Draft".to_owned()],
            arrived: 1,
        }
    }

    #[test]
    fn world_ledger_and_answer_must_agree() {
        let before = World::from_iter([item("INBOX")]);
        let moved = World::from_iter([item("Target")]);
        let ends = Ends {
            undone_too: None,
            undone: before.clone(),
            done: Expected::Exactly(moved.clone()),
        };
        let both = before.with(item("Target"));
        let (done, undone) = (Recorded::Ended(End::Done), Recorded::Ended(End::Undone));
        let stuck = Recorded::Unsettled("needs_operator".to_owned());
        for (after, recorded, said, verdict) in [
            (&moved, &done, Said::Done, Some(End::Done)),
            (&moved, &done, Said::Unknown, Some(End::Done)),
            (&moved, &done, Said::Undone, None),
            (&moved, &undone, Said::Unknown, None),
            (&moved, &Recorded::Nothing, Said::Unknown, None),
            (&moved, &stuck, Said::Unknown, None),
            (&before, &Recorded::Nothing, Said::Undone, Some(End::Undone)),
            (&before, &undone, Said::Done, None),
            (&both, &done, Said::Done, None),
            (&World::default(), &done, Said::Done, None),
        ] {
            let judged = ends.judge(after, recorded, &said);
            assert_eq!(judged.clone().ok(), verdict, "{judged:?}");
        }
    }

    #[test]
    fn one_more_is_exactly_one_more_and_where_it_belongs() {
        let before = World::from_iter([item("INBOX")]);
        let ends = Ends {
            undone_too: None,
            undone: before.clone(),
            done: Expected::OneMore {
                than: before.clone(),
                account: "home".to_owned(),
                folder: "Drafts".to_owned(),
                flags: vec!["\\Draft".to_owned()],
            },
        };
        let once = before.with(item("Drafts"));
        let twice = once.with(item("Drafts"));
        let elsewhere = before.with(item("Sent"));
        for (after, end) in [
            (&once, Some(End::Done)),
            (&before, Some(End::Undone)),
            (&twice, None),
            (&elsewhere, None),
        ] {
            assert_eq!(ends.reached(after).ok(), end);
        }
    }
}
