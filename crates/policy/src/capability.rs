//! What may be done in a folder, beyond seeing.

use mail::Flag;

/// One thing that changes mail.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Capability {
    /// Set and take `\Seen`.
    MarkSeen,
    /// Set and take keywords and `\Flagged`.
    MarkTagged,
    /// Remove messages from this folder.
    MoveOut,
    /// Receive messages that are moved or copied in.
    AcceptIncoming,
    /// Append new drafts.
    DraftAppend,
}

impl Capability {
    pub const ALL: [Self; 5] = [
        Self::MarkSeen,
        Self::MarkTagged,
        Self::MoveOut,
        Self::AcceptIncoming,
        Self::DraftAppend,
    ];

    /// What it takes to set or take a flag; nothing gives it for what is reserved, however it is spelled.
    pub fn for_flag(flag: &Flag) -> Option<Self> {
        match flag.as_str().starts_with('\\') {
            _ if flag.is("\\Seen") => Some(Self::MarkSeen),
            _ if flag.is("\\Flagged") => Some(Self::MarkTagged),
            true => None,
            false => Some(Self::MarkTagged),
        }
    }

    /// The key in a policy file, and the name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Self::MarkSeen => "mark_seen",
            Self::MarkTagged => "mark_tagged",
            Self::MoveOut => "move_out",
            Self::AcceptIncoming => "accept_incoming",
            Self::DraftAppend => "draft_append",
        }
    }
}

/// Which of them; none unless given.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Capabilities(u8);

impl Capabilities {
    pub const NONE: Self = Self(0);

    pub fn with(self, one: Capability) -> Self {
        Self(self.0 | bit(one))
    }

    pub fn has(self, one: Capability) -> bool {
        self.0 & bit(one) != 0
    }

    pub fn is_empty(self) -> bool {
        self == Self::NONE
    }

    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub fn iter(self) -> impl Iterator<Item = Capability> {
        let all = Capability::ALL.into_iter();
        all.filter(move |one| self.has(*one))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(each: I) -> Self {
        each.into_iter().fold(Self::NONE, Self::with)
    }
}

fn bit(one: Capability) -> u8 {
    match one {
        Capability::MarkSeen => 1,
        Capability::MarkTagged => 2,
        Capability::MoveOut => 4,
        Capability::AcceptIncoming => 8,
        Capability::DraftAppend => 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_flags_are_nobodys_however_they_are_spelled() {
        use Capability::{MarkSeen, MarkTagged};
        for (flag, want) in [
            ("\\Seen", Some(MarkSeen)),
            ("\\sEEN", Some(MarkSeen)),
            ("\\flagged", Some(MarkTagged)),
            ("$Forwarded", Some(MarkTagged)),
            ("Seen", Some(MarkTagged)),
            ("\\Deleted", None),
            ("\\deleted", None),
            ("\\DELETED", None),
            ("\\Recent", None),
            ("\\Draft", None),
            ("\\Answered", None),
            ("\\Important", None),
            ("\\", None),
        ] {
            assert_eq!(Capability::for_flag(&Flag::new(flag)), want, "{flag}");
        }
    }

    #[test]
    fn none_unless_given() {
        let names = Capability::ALL.map(Capability::name);
        let want = [
            "mark_seen",
            "mark_tagged",
            "move_out",
            "accept_incoming",
            "draft_append",
        ];
        assert_eq!(names, want);
        assert!(Capabilities::NONE.is_empty());
        for one in Capability::ALL {
            let only = Capabilities::NONE.with(one);
            assert!(!only.is_empty());
            assert_eq!(only.iter().collect::<Vec<_>>(), [one]);
            assert_eq!(only.with(one), only);
            assert_eq!(only.union(only), only);
            assert_eq!(only.union(Capabilities::NONE), only);
        }
        let all: Capabilities = Capability::ALL.into_iter().collect();
        assert_eq!(all.iter().collect::<Vec<_>>(), Capability::ALL);
        assert_eq!(Capabilities::default(), Capabilities::NONE);
    }
}
