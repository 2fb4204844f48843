//! The program that is killed: callers at once, each of which records what it is about to do, changes something at a
//! server, records how it came out, and only then says so.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use audit::{Asked, Clock, Decision, Ended, Keeping, Log, Retention, Settings, Summary};
use jiff::{SignedDuration, Timestamp};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

/// How time passes for the worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// As it does.
    Real,
    /// A day for each call, with days that are compressed, deleted and handed on.
    Days,
}

impl Pace {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Real => "real",
            Self::Days => "days",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        [Self::Real, Self::Days]
            .into_iter()
            .find(|pace| pace.name() == name)
    }

    fn settings(self, dir: &str, day: &Arc<AtomicI64>) -> Settings {
        let settings = Settings::new(Some(PathBuf::from(dir)));
        if self == Self::Real {
            return settings;
        }
        let begun = Timestamp::now();
        let day = Arc::clone(day);
        let now = move || {
            let days = SignedDuration::from_hours(24 * day.load(Ordering::Relaxed));
            begun.saturating_add(days).unwrap_or(begun)
        };
        Settings {
            clock: Clock::new(now),
            keeping: Some(Keeping {
                retention: Retention {
                    hot_days: 1,
                    warm_days: 1,
                    delete_after_days: 2,
                },
                root_hook: Some(PathBuf::from("/bin/true")),
                checkpoint_every: Duration::from_millis(1),
            }),
            ..settings
        }
    }
}

/// Each caller has a connection of its own, so that what it sends is a system call of its own.
pub(crate) fn run(
    name: &str,
    dir: &str,
    server: &str,
    (callers, calls): (usize, usize),
    pace: Pace,
) -> Result<String, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let day = Arc::new(AtomicI64::new(0));
        let log = Log::open(pace.settings(dir, &day));
        let callers = (0..callers).map(|caller| {
            let name = format!("{name}-{caller}");
            tokio::spawn(call(
                log.clone(),
                server.to_owned(),
                name,
                calls,
                Arc::clone(&day),
            ))
        });
        for caller in callers.collect::<Vec<_>>() {
            caller
                .await
                .map_err(|error| error.to_string())?
                .map_err(|error| error.to_string())?;
        }
        log.close("done").await;
        Ok(String::new())
    })
}

async fn call(
    log: Log,
    server: String,
    caller: String,
    calls: usize,
    day: Arc<AtomicI64>,
) -> io::Result<()> {
    let mut server = BufReader::new(TcpStream::connect(server).await?);
    for number in 0..calls {
        let name = format!("{caller}-{number}");
        let entry = log.changing(asked(&name)).await.map_err(io::Error::other)?;
        server.write_all(format!("{name}\n").as_bytes()).await?;
        let mut done = String::new();
        server.read_line(&mut done).await?;
        let receipt = entry
            .close(Ended::of("ok"))
            .await
            .map_err(io::Error::other)?;
        let told = format!("{name} {} {}\n", receipt.seq, receipt.leaf_hash);
        io::stdout().write_all(told.as_bytes())?;
        day.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

fn asked(name: &str) -> Asked {
    Asked {
        caller_id: "worker".to_owned(),
        caller_addr: "crash".to_owned(),
        request_id: name.to_owned(),
        tool: "change".to_owned(),
        arguments: Summary::new(),
        decision: Decision::Allow,
        reason: "folder_default_applied",
        level: None,
        rule: None,
        missing_capability: None,
    }
}
