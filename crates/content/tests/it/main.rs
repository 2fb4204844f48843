//! The public API over whole messages.

mod corpus;
mod hostile;
mod outline;
mod source;
mod view;
