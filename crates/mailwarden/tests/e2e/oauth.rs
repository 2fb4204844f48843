//! Accounts by OAuth2, end to end: a person logs in at a real provider, a real mail server takes the tokens, and whoever
//! gets in between gets nothing. What a crash leaves, and who hears secrets, is asked elsewhere.

mod answers;
mod house;
mod listener;
mod person;
mod processes;
mod refusals;
mod remembering;
mod replicas;
mod scope;
mod staleness;
mod unreadable;
mod ways;
mod whole_way;

use house::{House, reason};
pub(crate) use person::Login;
