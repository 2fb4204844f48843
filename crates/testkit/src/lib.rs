//! Real servers, faults and clients for tests; blocking std code only, and nothing here ships in the program.
//!
//! | module | gives a test |
//! |---|---|
//! | [`dovecot`], [`cyrus`] | a private IMAP server, gone without trace when dropped |
//! | [`oidc`], [`http`] | a private OpenID Connect server that fails on demand, the person at its browser, and a bare HTTP client |
//! | [`postgres`] | a private PostgreSQL that is killed and started again on demand |
//! | [`gmail`] | an account at Gmail, simulated: labels, All Mail, X-GM-EXT-1 |
//! | [`apple`] | a `~/Library/Mail` of Apple Mail, in several generations |
//! | [`proxy`] | latency, cuts, stalls and missing extensions between client and server, and a count of round trips |
//! | [`fake`], [`malicious_server`] | a scripted server for answers no real one would give, and
//! such scripts |
//! | [`client`] | a bare IMAP connection, for fixtures and as the yardstick in benchmarks |
//! | [`mcp`], [`served`] | the program under test, driven over stdio; and while it serves over HTTP |
//! | [`mcp_http`], [`wire`] | the same over HTTP, by clients of either era, and one raw connection for evil requests |
//! | [`clients`], [`conformance`] | MCP clients that others wrote, and the official conformance suite |
//! | [`trap`] | a program killed, torn or lied to at its n-th write, sync or send |
//! | [`world`] | all mail of some accounts as a multiset, to compare before and after |
//! | [`crash`] | cells of a crash matrix: where a change is struck, how it may end, and whether it did |
//! | [`chromium`] | what a reader sees of an HTML page |
//! | [`mailgen`], [`fixtures`], [`hostile`] | mail |
//! | [`address_headers`] | header blocks with addresses that are well formed, malformed or made to
//! deceive |
//! | [`mime_tree`] | multiparts in multiparts, and which of their texts a mail program shows |
//! | [`corpora`] | public sample messages, when they are there, and what should be read in them |
//! | [`tls`], [`ports`] | certificates, and ports that are free, closed or silent |
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "test support: a broken fixture should stop the test"
)]

pub mod address_headers;
pub mod apple;
pub mod chromium;
pub mod client;
pub mod clients;
pub mod conformance;
pub mod corpora;
pub mod crash;
pub mod cyrus;
pub mod delivery;
pub mod dovecot;
pub mod fake;
pub mod fixtures;
pub mod gmail;
pub mod hostile;
pub mod http;
mod literal;
pub mod mailgen;
pub mod malicious_server;
pub mod mcp;
pub mod mcp_http;
pub mod mime_tree;
pub mod oidc;
pub mod ports;
pub mod postgres;
mod process;
pub mod proxy;
pub mod served;
pub mod tls;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
pub mod trap;
mod utf7;
pub mod wire;
pub mod world;

pub use address_headers::AddressHeader;
pub use apple::AppleStore;
pub use chromium::Chromium;
pub use client::RawImap;
pub use cyrus::Cyrus;
pub use delivery::{Delivery, Flag, Seed, Seeds};
pub use dovecot::Dovecot;
pub use fake::Fake;
pub use gmail::Gmail;
pub use mailgen::Mailgen;
pub use mcp::McpClient;
pub use mcp_http::{HttpServer, McpHttp};
pub use mime_tree::MimeTree;
pub use oidc::Oidc;
pub use ports::{BlackHole, closed_port};
pub use postgres::Postgres;
pub use proxy::{Cut, FaultProxy};
pub use served::Served;
pub use tls::{Ca, Leaf};
pub use wire::Wire;
pub use world::World;
