//! TLS with certificates of one's own, which change while connections are open.

use testkit::{Ca, Leaf};

use super::house::{ANNA, House, is, status};

#[test]
fn certificates_are_shown_replaced_and_kept_when_the_next_is_broken() {
    let house = House::new();
    let (one, two) = (Ca::new(), Ca::new());
    let place = house.directory.path().join("tls");
    std::fs::create_dir(&place).unwrap();
    let write = |ca: &Ca| {
        let identity = ca.issue(Leaf::Good);
        std::fs::write(place.join("cert.pem"), identity.certificate).unwrap();
        std::fs::write(place.join("key.pem"), identity.key).unwrap();
    };
    write(&one);
    let (cert, key) = (place.join("cert.pem"), place.join("key.pem"));
    let words = [
        "--host",
        "0.0.0.0",
        "--tls-cert",
        cert.to_str().unwrap(),
        "--tls-key",
        key.to_str().unwrap(),
    ];
    let server = house.serve(&words);
    let trusting = |ca: &Ca| server.client(ANNA).trusting(ca.pem());
    let mut early = trusting(&one);
    is(&mut early, "anna");
    assert_eq!(
        status(&mut server.client("wrong-token-wrong-token").trusting(one.pem())),
        401
    );
    // Nothing is told in the clear, and to nobody who does not trust it.
    assert!(
        trusting(&two)
            .try_call("get_caller_identity", serde_json::json!({}))
            .is_err()
    );
    assert!(
        server
            .client(ANNA)
            .try_call("get_caller_identity", serde_json::json!({}))
            .is_err()
    );
    write(&two);
    server.await_stderr("the certificate was read again and is in force");
    is(&mut trusting(&two), "anna");
    is(&mut early, "anna");
    std::fs::write(&key, "no key\n").unwrap();
    server.await_stderr("the one before stays in force");
    is(&mut trusting(&two), "anna");
    // At the start there is none before.
    let mut command = house.directory.program();
    command.arg("http").args(words);
    let (status, stderr) = testkit::HttpServer::try_spawn(command).unwrap_err();
    assert!(!status.success());
    assert!(stderr.contains("key.pem"), "{stderr}");
}
