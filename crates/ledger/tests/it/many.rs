//! A server with more in it than anybody lists: what is counted there, and what is found by an index.

use ledger::Asked;
use testkit::Postgres;

use crate::support::{asked, begin, connect, server};

/// So many more of the only one there is, which differ in what is said.
fn multiply(server: &Postgres, many: u32, says: &str) {
    let sql = format!(
        "INSERT INTO mailwarden.transactions SELECT (jsonb_populate_record(t, jsonb_build_object('id', 'tx_' || n, {says}))).*
            FROM mailwarden.transactions t, generate_series(1, {many}) n"
    );
    server.query(&server.url(), &sql);
}

#[tokio::test]
async fn all_that_is_not_at_its_end_is_counted_however_much_it_is() {
    let server = server();
    let ledger = connect(&server.url()).await;
    begin(&ledger, asked()).await;
    multiply(&server, 10_500, "'state', 'open'");
    assert_eq!(ledger.unsettled().await.unwrap().open, 10_501);
}

#[tokio::test]
async fn what_landed_in_a_folder_is_found_by_an_index() {
    let server = server();
    let url = server.url();
    let ledger = connect(&url).await;
    let place = |folder: &str| ledger::Place {
        account: mail::AccountId::new("work").unwrap(),
        folder: mail::FolderName::new(folder).unwrap(),
    };
    let asked = Asked {
        target: Some(place("Archive")),
        ..asked()
    };
    let but = begin(&ledger, asked).await;
    let says =
        "'landed_uid', n, 'landed_uidvalidity', 7, 'target_folder', n % 500 || repeat('long', 50)";
    multiply(&server, 20_000, says);
    server.query(&url, "ANALYZE mailwarden.transactions");
    let used = "SELECT idx_scan > 0 FROM pg_stat_all_indexes WHERE indexrelname = 'transactions_landed_in'";
    let folder = place(&format!("3{}", "long".repeat(50)));
    let validity = mail::UidValidity(7);
    // The server tells what it used when it gets to it, which is after another question or two.
    for _ in 0..200 {
        let landed = ledger.landed(&folder, validity, but.id()).await.unwrap();
        assert_eq!(landed.len(), 40);
        if server.query(&url, used) == "t" {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("the whole table is read");
}
