//! The ledger on PostgreSQL, which replicas share: all SQL for it is here, beside the thread that speaks to the server.
//!
//! What a request means is what it means in SQLite; the files are named as their twins there.

mod absence;
mod beat;
mod begin;
mod conn;
mod desk;
mod find;
mod lease;
mod open;
mod pace;
mod patience;
mod replica;
mod schema;
mod server;
mod shared;
mod text;
mod tls;
mod trouble;
mod write;

pub(crate) use replica::Replica;
pub use server::{BadServer, Server};
