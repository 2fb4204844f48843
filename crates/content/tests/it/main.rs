//! The public API over whole messages.

mod chromium;
mod corpus;
mod hostile;
mod matrix;
mod outline;
mod pages;
mod source;
mod view;
