//! Connects, knows its own schema from others', and brings it up to date: once, however many begin at the same time.

use tokio_postgres::NoTls;

use super::conn::Conn;
use super::schema::MIGRATIONS;
use super::server::{Encryption, Server};
use super::tls::Tls;
use super::trouble::{Trouble, unwritable};
use crate::LedgerFault;

/// What every session is told. Nothing hangs for ever, nothing is found but what is ours, and what is committed is on disk.
///
/// INVARIANT: who waited for another sees what that has written. A stricter isolation than this one would not show it.
const SESSION: &str = "
SET search_path = mailwarden;
SET default_transaction_isolation = 'read committed';
SET default_transaction_read_only = off;
SET statement_timeout = '10s';
SET lock_timeout = '8s';
SET idle_in_transaction_session_timeout = '10s';
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
";

/// "mwlg", as the application's number in SQLite.
const MIGRATING: i64 = 0x6d77_6c67;

/// None where the address wants no TLS.
pub(super) fn tls(server: &Server) -> Result<Option<Tls>, LedgerFault> {
    match server.encryption {
        Encryption::None => Ok(None),
        Encryption::Verified => Tls::new(server.roots.as_deref()).map(Some),
    }
}

pub(super) async fn connect(server: &Server, tls: Option<&Tls>) -> Result<Conn, Trouble> {
    let config = server.config();
    let conn = match tls {
        None => {
            let (client, wire) = config.connect(NoTls).await?;
            Conn::new(client, tokio::task::spawn_local(wire).abort_handle())
        }
        Some(tls) => {
            let (client, wire) = config.connect(tls.clone()).await?;
            Conn::new(client, tokio::task::spawn_local(wire).abort_handle())
        }
    };
    conn.client().batch_execute(SESSION).await?;
    Ok(conn)
}

/// A schema that is not ours, or newer than this program, is left as it is.
pub(super) async fn migrate(conn: &Conn) -> Result<(), Trouble> {
    let client = conn.client();
    let row = client
        .query_one(
            "SELECT current_setting('server_version_num')::INT, current_setting('server_encoding')",
            &[],
        )
        .await?;
    let (version, encoding): (i32, String) = (row.get(0), row.get(1));
    if version < OLDEST {
        return Err(foreign(
            "its server is older than PostgreSQL 13; use a newer one",
        ));
    }
    if encoding != "UTF8" {
        return Err(foreign(
            "its database is not in UTF-8; create one with ENCODING 'UTF8'",
        ));
    }
    client.batch_execute("BEGIN").await?;
    let done = migrate_within(conn).await;
    let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = client.batch_execute(end).await;
    done.and(ended.map_err(Trouble::from))
}

const OLDEST: i32 = 130_000;

async fn migrate_within(conn: &Conn) -> Result<(), Trouble> {
    let client = conn.client();
    client
        .execute("SELECT pg_advisory_xact_lock($1)", &[&MIGRATING])
        .await?;
    let row = client
        .query_one(
            "SELECT to_regnamespace('mailwarden') IS NOT NULL, to_regclass('mailwarden.version') IS NOT NULL,
                 (SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace('mailwarden'))",
            &[],
        )
        .await?;
    let (there, ours, things): (bool, bool, i64) = (row.get(0), row.get(1), row.get(2));
    if !there {
        client.batch_execute("CREATE SCHEMA mailwarden").await?;
    }
    if !ours && things > 0 {
        return Err(foreign(
            "its database has a schema mailwarden that is none of this program; move it away, or give another database",
        ));
    }
    if !ours {
        client
            .batch_execute("CREATE TABLE mailwarden.version (number INT NOT NULL); INSERT INTO mailwarden.version VALUES (0)")
            .await?;
    }
    let found: i32 = client
        .query_one("SELECT number FROM mailwarden.version", &[])
        .await?
        .get(0);
    if found > latest() {
        return Err(foreign(
            "it was written by a newer version of this program; use that one",
        ));
    }
    for migration in MIGRATIONS
        .iter()
        .skip(usize::try_from(found).unwrap_or_default())
    {
        client.batch_execute(migration).await?;
    }
    if found < latest() {
        client
            .execute("UPDATE mailwarden.version SET number = $1", &[&latest()])
            .await?;
    }
    // A server that may only be read shows it now.
    let row = client.query_one("SELECT pg_is_in_recovery()", &[]).await?;
    if row.get(0) {
        return Err(
            unwritable("its server may only be read; give the address of the primary").into(),
        );
    }
    Ok(())
}

fn latest() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

fn foreign(why: &str) -> Trouble {
    Trouble::Said(LedgerFault::Foreign(why.to_owned()))
}
