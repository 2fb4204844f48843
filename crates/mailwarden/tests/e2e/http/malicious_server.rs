//! A request that its client drops ends the work that a lying mail server keeps going.

use serde_json::json;

use super::house::{ANNA, House};
use crate::directory::mailbox;
use crate::malicious_server::busy;

#[test]
fn dropped_request_closes_its_busy_connection() {
    for modern in [true, false] {
        let liar = busy();
        let house = House::with(mailbox(), liar.port());
        let server = house.serve(&[]);
        let mut client = server.client(ANNA);
        if modern {
            client = client.modern();
        } else {
            client.initialize();
        }
        let arguments = json!({ "account_id": "work", "mailbox": "INBOX", "query": "x" });
        client
            .begin_call("imap_search_messages", arguments)
            .unwrap();
        liar.await_command("SEARCH");
        client.hang_up();
        liar.await_left(1);
    }
}
