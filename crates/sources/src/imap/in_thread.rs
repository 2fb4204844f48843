//! Whether a server can search for whole threads (`INTHREAD REFS`): it says so nowhere, and is asked once.

use std::sync::{Mutex, PoisonError};

use super::needles::Reach;
use super::session::Session;

/// What is known of it; the server's, not a connection's.
#[derive(Default)]
pub(super) struct InThread(Mutex<Knowledge>);

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Knowledge {
    #[default]
    Untried,
    Known,
    Unknown,
}

impl InThread {
    pub(super) fn learn(&self, knowledge: Knowledge) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = knowledge;
    }

    /// In the first folder it is tried; one that is not understood there is not sent to the others.
    pub(super) fn reach(&self, session: &Session, place: usize) -> Reach {
        // Who can thread by references at all says so.
        let can = session.capabilities().has("THREAD=REFS");
        let knowledge = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match knowledge {
            Knowledge::Known if can => Reach::Thread,
            Knowledge::Untried if can && place == 0 => Reach::Thread,
            _ => Reach::Direct,
        }
    }
}
