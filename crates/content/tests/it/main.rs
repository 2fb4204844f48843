//! The public API over whole messages.

mod corpus;
mod hostile;
mod outline;
mod shield;
mod source;
mod view;
