//! How many refreshes of this process are under way, so that an exit can wait for them. It begins none and ends none.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use tokio::sync::watch;

/// Begins no refresh any more, and waits for those that may have replaced a refresh token: torn off, they would leave
/// nobody with the new one. What has not ended by then is given up as a crash would.
pub async fn finish_refreshes(patience: Duration) {
    if Flights::of_this_process().land(patience).await == Landed::NotAll {
        tracing::warn!("a token is still being refreshed; the program ends all the same");
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Flights(Arc<watch::Sender<Air>>);

#[derive(Clone, Copy, Debug)]
struct Air {
    aloft: usize,
    field: Field,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Field {
    Open,
    /// The program is ending.
    Closed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Landed {
    All,
    NotAll,
}

/// INVARIANT: held from before a refresh token is shown to the provider until what came of it is kept.
#[derive(Debug)]
pub(crate) struct Aloft(Flights);

impl Flights {
    pub(crate) fn new() -> Self {
        let air = Air {
            aloft: 0,
            field: Field::Open,
        };
        Self(Arc::new(watch::Sender::new(air)))
    }

    pub(crate) fn of_this_process() -> Self {
        static ALL: LazyLock<Flights> = LazyLock::new(Flights::new);
        ALL.clone()
    }

    pub(crate) fn are_over(&self) -> bool {
        self.0.borrow().field == Field::Closed
    }

    /// None where the program is ending.
    pub(crate) fn take_off(&self) -> Option<Aloft> {
        let begun = self.0.send_if_modified(|air| {
            let open = air.field == Field::Open;
            air.aloft += usize::from(open);
            open
        });
        begun.then(|| Aloft(self.clone()))
    }

    pub(crate) async fn land(&self, patience: Duration) -> Landed {
        self.0.send_modify(|air| air.field = Field::Closed);
        let mut air = self.0.subscribe();
        let landed = air.wait_for(|air| air.aloft == 0);
        match tokio::time::timeout(patience, landed).await {
            Ok(_) => Landed::All,
            Err(_) => Landed::NotAll,
        }
    }
}

impl Drop for Aloft {
    fn drop(&mut self) {
        let Flights(air) = &self.0;
        air.send_modify(|air| air.aloft = air.aloft.saturating_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_end_waits_for_those_aloft_and_lets_no_other_begin() {
        let flights = Flights::new();
        let first = flights.take_off().unwrap();
        assert!(!flights.are_over());
        let late = flights.land(Duration::ZERO).await;
        assert_eq!(late, Landed::NotAll);
        assert!(flights.are_over() && flights.take_off().is_none());
        drop(first);
        assert_eq!(flights.land(Duration::ZERO).await, Landed::All);
    }
}
