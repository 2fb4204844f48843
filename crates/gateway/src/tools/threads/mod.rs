//! The tools of the `threads` set: messages and conversations by the Message-ID that they are known by everywhere.

mod email;
mod finding;
mod get_email_path;
mod get_thread_paths;
mod going_on;
mod paths;
mod read_email;
mod read_thread;
mod summed;
mod texts;
pub(super) mod together;
mod turns;

pub(crate) use get_email_path::GetEmailPath;
pub(crate) use get_thread_paths::GetThreadPaths;
pub(crate) use read_email::ReadEmail;
pub(crate) use read_thread::ReadThread;
