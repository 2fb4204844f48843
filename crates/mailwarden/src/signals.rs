//! What a signal that ends this process does before anybody serves: programs that were asked for secrets end with it.
//!
//! They run in groups of their own, so neither a terminal nor a supervisor reaches them. Who serves has a way of its own to end.

use std::sync::atomic::{AtomicBool, Ordering};

static TAKEN_OVER: AtomicBool = AtomicBool::new(false);
static ENDING: AtomicBool = AtomicBool::new(false);

/// From here on somebody else listens, and ends in order.
pub(crate) fn take_over() {
    TAKEN_OVER.store(true, Ordering::SeqCst);
}

/// Waits where a signal has begun to end the process. The signal decides the status, although a
/// program that was asked for a secret ended first.
pub(crate) fn give_way() {
    while ENDING.load(Ordering::SeqCst) {
        std::thread::park();
    }
}

/// Listens from when this returns.
#[cfg(unix)]
pub(crate) fn listen() -> anyhow::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let (mut term, mut int) = {
        let _inside = runtime.enter();
        (
            signal(SignalKind::terminate())?,
            signal(SignalKind::interrupt())?,
        )
    };
    let listening = async move {
        loop {
            // As a shell tells it of a process that a signal has ended.
            let code = tokio::select! {
                Some(()) = term.recv() => 128 + 15,
                Some(()) = int.recv() => 128 + 2,
                else => return,
            };
            if !TAKEN_OVER.load(Ordering::SeqCst) {
                ENDING.store(true, Ordering::SeqCst);
                secrets::end_programs();
                audit::end_hooks();
                std::process::exit(code);
            }
        }
    };
    std::thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || runtime.block_on(listening))?;
    Ok(())
}

/// There are no such signals here.
#[cfg(not(unix))]
pub(crate) fn listen() -> anyhow::Result<()> {
    Ok(())
}
