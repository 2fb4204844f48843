//! One program for all callers, over HTTP: in both eras, with real mail, and against those who mean it harm.

mod bounds;
mod callers;
mod drain;
mod eras;
mod gate;
mod house;
mod limits;
mod malicious_server;
mod oauth;
mod sessions;
mod tls;
mod unserved;
