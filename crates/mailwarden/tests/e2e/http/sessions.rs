//! Sessions of older clients: none unless allowed, then few, and each of the caller that began it.

use serde_json::{Value, json};
use testkit::mcp::Says;
use testkit::{HttpServer, McpHttp};

use super::house::{ANNA, BERT, CALLERS, House, is, status};
use crate::directory::mailbox;
use crate::installation::Installation;
use crate::support::{Account, Look, configure, message_id};

fn begun(server: &HttpServer, token: &str) -> McpHttp {
    let mut client = server.client(token).with_person();
    client.initialize();
    assert!(client.session().is_some());
    client
}

#[test]
fn a_session_is_its_callers_alone_and_ends_in_many_ways() {
    let house = House::new();
    let server = house.serve(&["--sessions", "8"]);
    let mut anna = begun(&server, ANNA);
    is(&mut anna, "anna");
    let id = anna.session().unwrap().to_owned();
    // Somebody else's is as one that is not there, whatever is asked of it.
    let mut bert = server.client(BERT);
    for session in [
        id.as_str(),
        "00000000-0000-4000-8000-000000000000",
        "",
        "x\u{e9}",
    ] {
        bert.set_session(Some(session));
        assert_eq!(status(&mut bert), 404, "{session}");
        for method in ["GET", "DELETE"] {
            assert_eq!(bert.bare(method).unwrap().status, 404, "{method} {session}");
            bert.hang_up();
        }
    }
    is(&mut anna, "anna");
    // Ended by its owner.
    assert_eq!(anna.bare("DELETE").unwrap().status, 202);
    anna.hang_up();
    assert_eq!(status(&mut anna), 404);
    // Ended with its caller.
    let mut bert = begun(&server, BERT);
    is(&mut bert, "bert");
    let without = CALLERS.split("  - id: bert").collect::<Vec<_>>();
    house.directory.write("callers.yaml", without[0]);
    house.reload(&server);
    assert_eq!(status(&mut bert), 401);
    house.directory.write("callers.yaml", CALLERS);
    house.reload(&server);
    assert_eq!(
        status(&mut bert),
        404,
        "the caller is back, and the session is not"
    );
}

#[test]
fn older_client_without_session_is_served_beside_sessions() {
    let house = House::new();
    let server = house.serve(&["--sessions", "8"]);
    // It neither initializes nor names a session.
    let mut client = server.client(BERT);
    is(&mut client, "bert");
    assert_eq!(client.session(), None);
    is(&mut begun(&server, ANNA), "anna");
}

#[test]
fn there_are_no_more_than_allowed_and_the_oldest_goes() {
    let house = House::new();
    let server = house.serve(&["--sessions", "8"]);
    let mut berts = begun(&server, BERT);
    let mut all: Vec<McpHttp> = (0..5).map(|_| begun(&server, ANNA)).collect();
    // A quarter of them is one caller's share.
    let alive: Vec<bool> = all.iter_mut().map(|client| status(client) == 200).collect();
    assert_eq!(alive, [false, false, false, true, true]);
    is(&mut berts, "bert");
    // Clients of the newer era need none.
    is(&mut server.client(ANNA).modern(), "anna");
}

#[test]
fn a_person_can_be_asked_while_a_call_waits() {
    let mail = mailbox();
    let home = Installation::new();
    let mut command = home.program();
    let account = Account {
        port: mail.port(),
        ..Account::default()
    };
    configure(&mut command, "DEFAULT", &account);
    command
        .args(["http", "--port", "0", "--sessions", "4"])
        .env("MAIL_IMAP_WRITE_ENABLED", "true")
        .env("MAILWARDEN_HTTP_TOKEN", ANNA);
    let server = HttpServer::spawn(command);
    let mut client = begun(&server, ANNA);
    let delete = |uid: u32| {
        let arguments = json!({ "message_id": message_id(&mail, "INBOX", uid), "confirm": true });
        json!({ "name": "imap_delete_message", "arguments": arguments })
    };
    for (uid, says, left) in [(1, Says::Decline, 5), (2, Says::Yes, 4)] {
        let mut asked = Vec::new();
        let reply = client.post_answering("tools/call", delete(uid), |said: &Value| {
            asked.push(said["method"].clone());
            Some(says.to(&said["params"]))
        });
        assert_eq!(asked, ["elicitation/create"], "{reply:?}");
        let search = json!({ "account_id": "default", "mailbox": "INBOX" });
        let found = client.call("imap_search_messages", search);
        assert_eq!(
            found.data("/messages").as_array().unwrap().len(),
            left,
            "{says:?}"
        );
    }
}
