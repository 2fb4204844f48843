//! Buckets that all replicas share: one round trip, and no write to disk.

use super::conn::Conn;
use super::trouble::Trouble;
use crate::pace::{self, Draw, Drawn, Levels, Price, precise};

const DRAW: &str = "SELECT granted, levels FROM draw($1, $2, $3, $4, $5, $6)";

/// INVARIANT: one that was drawn from and whose answer was lost may be drawn from again: nobody gets more than there is.
pub(super) async fn draw(conn: &Conn, draws: &[Draw], price: Price) -> Result<Drawn, Trouble> {
    if draws.is_empty() {
        return Ok(Drawn::Granted(Vec::new()));
    }
    let names: Vec<String> = draws
        .iter()
        .map(|draw| super::text::spelled(&draw.bucket))
        .collect();
    let first = |name: &String| names.iter().position(|one| one == name).unwrap_or_default();
    let firsts: Vec<i32> = names
        .iter()
        .map(|name| i32::try_from(first(name) + 1).unwrap_or(1))
        .collect();
    let mosts: Vec<f64> = draws.iter().map(Draw::most).collect();
    let rates: Vec<f64> = draws.iter().map(Draw::rate).collect();
    let costs: Vec<f64> = draws.iter().map(|draw| precise(draw.cost)).collect();
    let owed = price == Price::Owed;
    let found = conn
        .query(DRAW, &[&names, &firsts, &mosts, &rates, &costs, &owed])
        .await?;
    let row = found.first().ok_or(Trouble::Outrun)?;
    let (granted, held): (bool, Vec<f64>) = (row.try_get(0)?, row.try_get(1)?);
    let mut levels: Levels = draws
        .iter()
        .map(|draw| draw.bucket.clone())
        .zip(held)
        .collect();
    // The same arithmetic once more, for what is to be told of it.
    let price = if granted { Price::Owed } else { Price::Known };
    Ok(pace::draw(&mut levels, draws, price))
}

/// What nobody has used for an hour, if it is full by now.
pub(super) async fn clear(conn: &Conn) -> Result<(), Trouble> {
    conn.execute(
        "DELETE FROM buckets WHERE at < now() - INTERVAL '1 hour' AND full_at < now()",
        &[],
    )
    .await?;
    Ok(())
}
