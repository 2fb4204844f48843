//! The test kit against itself, over real sockets and processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "tests"
)]

mod chromium;
mod crash;
mod cyrus;
mod dovecot;
mod fake;
mod gmail;
mod mail;
mod mcp;
mod oidc;
mod proxy;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod trap;
