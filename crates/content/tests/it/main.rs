//! The public API over whole messages.

mod corpus;
mod hostile;
mod outline;
mod parts;
mod source;
mod view;
