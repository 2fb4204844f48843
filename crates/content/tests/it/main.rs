//! The public API over whole messages.

mod corpus;
mod hostile;
mod matrix;
mod outline;
mod parts;
mod shield;
mod source;
mod view;
