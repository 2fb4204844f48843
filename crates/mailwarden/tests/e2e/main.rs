//! End to end: the built binary, driven by an MCP client, against real and scripted mail servers.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests stop at the first surprise"
)]

mod attachments;
mod audit_crash;
mod audit_faults;
mod audit_processes;
mod audit_records;
mod audit_replicas;
mod bad_input;
mod beside_service;
mod canary;
mod changes;
mod changes_allowed;
mod clients;
mod command_line;
mod config;
mod config_directory;
mod confirmation;
mod cyrus;
mod directory;
mod documents;
mod faults;
mod folder_patterns;
mod folders;
mod gmail;
mod hostile;
mod http;
#[cfg(unix)]
mod imap_mcp;
mod installation;
mod limits;
mod local;
mod malicious_server;
mod messages;
mod noninterference;
mod oauth;
mod oauth_canary;
mod oauth_crash;
mod operations;
mod outage;
mod pace;
mod policies_page;
mod policy_reading;
mod policy_verbs;
mod pool;
mod protocol;
mod quirks;
mod reading;
mod refused_attachments;
mod reload;
mod replicas;
mod resources;
mod round_trips;
mod search;
#[cfg(target_os = "linux")]
mod secret_stores;
mod stolen_handles;
mod support;
mod threads;
mod tx_verbs;
mod workers;
mod write_crash;
mod write_walk;
