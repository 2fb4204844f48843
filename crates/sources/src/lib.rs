//! Where mail lives: IMAP servers and local stores, each behind `mail::MailSource`.
//!
//! The only crate that speaks to mail stores. It decides nothing and records nothing: who may ask is settled above.

pub mod apple;
mod beginning;
mod home;
pub mod imap;
mod local;
pub mod maildir;
mod offload;
mod unavailable_source;

pub use unavailable_source::UnavailableSource;
