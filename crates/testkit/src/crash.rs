//! What a crash matrix is made of: where a change is struck (`cell`), how it may end and whether it did (`ends`), and
//! what came of it all (`table`). Runs nothing itself: whoever makes the changes does.

mod cell;
mod ends;
mod table;

pub use cell::{Call, Cell, Fault, Places, Reach, Spot, only, sample};
pub use ends::{End, Ends, Expected, Recorded, Said};
pub use table::{Table, Verdict};
