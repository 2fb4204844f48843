//! The heartbeat of a replica: that others hear of it, what was left undone, and whether its server is there.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::conn::Conn;
use super::desk::{Desk, Erased, Turns};
use super::trouble::Trouble;
use super::{lease, pace, shared, write};

/// How often others hear of this one: five times before they take it for dead.
const BEAT: Duration = Duration::from_secs(3);
/// How often what nobody needs is cleared away.
const TIDY: Duration = Duration::from_secs(60);

/// On a connection of its own, so that no request keeps it waiting.
pub(super) async fn beat(desk: Rc<Desk>) {
    let mut conn = None;
    let mut hearing = Hearing::Well;
    let mut ticks = interval(BEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut tidied = Instant::now();
    loop {
        ticks.tick().await;
        let beaten = timeout(BEAT, async {
            let conn = match conn.take().filter(Conn::is_open) {
                Some(conn) => conn,
                None => desk.connect().await?,
            };
            lease::beat(&desk, &conn).await?;
            // Whatever becomes of the rest.
            desk.patience.answered();
            desk.answered(&conn).await?;
            desk.settle(&conn).await?;
            unlock(&desk, &conn, Turns::All).await?;
            Ok::<_, Trouble>(conn)
        });
        let beaten = beaten
            .await
            .unwrap_or_else(|_| Err(Trouble::Lost("its server does not answer".to_owned())));
        conn = hearing.of(&desk, beaten);
        if let Some(conn) = &conn
            && tidied.elapsed() >= TIDY
        {
            tidied = Instant::now();
            // It may take longer than others wait to hear of this one.
            tokio::task::spawn_local({
                let desk = Rc::clone(&desk);
                async move { erase(&desk).await }
            });
            tidy(conn).await;
        }
    }
}

/// On a connection of its own, which ends with it. What is removed meanwhile is for the next time.
pub(super) async fn erase(desk: &Desk) {
    let before = desk.erased.replace(Erased::Wholly);
    if before == Erased::Wholly {
        return;
    }
    let done = timeout(TIDY / 2, async {
        let conn = desk.connect().await?;
        write::rewrite_contents(&conn).await
    });
    if !matches!(done.await, Ok(Ok(()))) && desk.erased.get() == Erased::Wholly {
        desk.erased.set(before);
    }
}

/// Nothing hangs on it: what stays now goes later.
async fn tidy(conn: &Conn) {
    let _ = timeout(BEAT, async {
        pace::clear(conn).await?;
        lease::bury(conn).await
    })
    .await;
}

/// Locks that nobody holds any more, before another is taken.
pub(super) async fn unlock(desk: &Desk, conn: &Conn, which: Turns) -> Result<(), Trouble> {
    let turns = desk.unlocked(which);
    if !turns.is_empty() {
        shared::unlock(conn, &turns).await?;
        desk.are_unlocked(&turns);
    }
    Ok(())
}

/// What the operator knows of the beats: told when it changes, not with each of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Hearing {
    Well,
    /// The server is there, and does not let us say it.
    Refused,
}

impl Hearing {
    /// By beats a server is found to be away, and to be back. They come as often as ever meanwhile: whoever came back late would be
    /// taken for dead by those who were heard before.
    fn of(&mut self, desk: &Desk, beaten: Result<Conn, Trouble>) -> Option<Conn> {
        match beaten {
            Ok(conn) => {
                if std::mem::replace(self, Self::Well) == Self::Refused {
                    tracing::warn!("other replicas hear of this one again");
                }
                Some(conn)
            }
            Err(Trouble::Lost(why)) => {
                desk.patience.missed(&why);
                None
            }
            // Another try is due, and then it is as it was.
            Err(Trouble::Outrun) => None,
            Err(Trouble::Said(fault)) => {
                desk.patience.answered();
                if std::mem::replace(self, Self::Refused) == Self::Well {
                    tracing::warn!("other replicas do not hear of this one: {fault}");
                }
                None
            }
        }
    }
}
