//! Generated and hand-made mail, as a real server understands it.

use testkit::{Delivery, Dovecot, Mailgen, fixtures};

#[test]
fn every_generated_message_is_found_by_its_word() {
    let server = Dovecot::start();
    server.deliver_many("alice", "INBOX", Mailgen::new(7).messages(60));
    let mut imap = server.login("alice", "secret");
    imap.command("SELECT INBOX");
    for i in 0..60 {
        let found = imap.command(&format!("UID SEARCH BODY uniq{i}x")).lines();
        assert_eq!(found, [format!("* SEARCH {}", i + 1)], "uniq{i}x");
    }
}

#[test]
fn fixtures_have_the_shape_they_promise() {
    let server = Dovecot::start();
    let cases = [
        (fixtures::plain(), vec![r#""text" "plain""#]),
        (fixtures::html_only(), vec![r#""text" "html""#]),
        (
            fixtures::alternative(),
            vec![r#""text" "plain""#, r#""text" "html""#, r#""alternative""#],
        ),
        (
            fixtures::with_attachment(),
            vec![r#""attachment" ("filename" "report.pdf")"#],
        ),
        (
            fixtures::nested_rfc822(),
            vec![r#""message" "rfc822""#, r#""alternative""#, r#""mixed""#],
        ),
        (
            fixtures::calendar(),
            vec![r#""text" "calendar" ("method" "REQUEST""#],
        ),
        (
            fixtures::two_text_parts(),
            vec![r#""text" "plain""#, r#")("text" "plain""#],
        ),
        (
            fixtures::unnamed_inline(),
            vec![r#""image" "png" NIL"#, r#"("inline" NIL)"#],
        ),
        (fixtures::big(1_000), vec![r#""big.bin""#]),
        (fixtures::deep_multipart(3), vec![r#"(((("text" "plain""#]),
    ];
    let mails = cases.iter().map(|(raw, _)| Delivery::new(raw.clone()));
    server.deliver_many("alice", "INBOX", mails);
    let mut imap = server.login("alice", "secret");
    imap.command("SELECT INBOX");
    let structures = imap.command("FETCH 1:* BODYSTRUCTURE").lines();
    for ((_, signs), structure) in cases.iter().zip(&structures) {
        for sign in signs {
            assert!(structure.contains(sign), "{sign} not in {structure}");
        }
    }
}
