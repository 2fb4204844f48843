//! What a policy makes of changes: what it takes to make one, what is hidden from one, and what nobody may be given.

mod capabilities;
mod hidden;
mod house;
mod others;
mod rising;
