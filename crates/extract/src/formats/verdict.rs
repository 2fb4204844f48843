//! Whether a reader of a document sees a run of its text: yes, no, or it is not known.

use mail::HidingReason;

use super::colour::Colours;

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    #[default]
    Visible,
    Uncertain(HidingReason),
    Hidden(HidingReason),
}

impl Verdict {
    /// One reason to be hidden suffices, and so does one doubt.
    pub(super) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Hidden(_), _) => self,
            (_, Self::Hidden(_)) => other,
            (Self::Uncertain(_), _) => self,
            _ => other,
        }
    }

    /// What is hidden becomes uncertain: the reason may not hold.
    pub(super) fn doubted(self) -> Self {
        match self {
            Self::Hidden(reason) => Self::Uncertain(reason),
            other => other,
        }
    }

    /// Text of these colours on one of these backgrounds.
    pub(super) fn of_colours(text: &Colours, background: &Colours) -> Self {
        let pairs = || {
            text.known()
                .flat_map(|one| background.known().map(move |other| one.is_lost_on(other)))
        };
        let complete = text.is_complete() && background.is_complete();
        if complete && pairs().all(|lost| lost) {
            Self::Hidden(HidingReason::Colour)
        } else if complete && !pairs().any(|lost| lost) {
            Self::Visible
        } else {
            Self::Uncertain(HidingReason::Colour)
        }
    }

    /// The height of letters in points.
    pub(super) fn of_size(points: f32) -> Self {
        const HIDDEN: f32 = 1.5;
        const READABLE: f32 = 4.0;
        if points.is_nan() || points < READABLE {
            match points <= HIDDEN {
                true => Self::Hidden(HidingReason::TinyFont),
                false => Self::Uncertain(HidingReason::TinyFont),
            }
        } else {
            Self::Visible
        }
    }
}
