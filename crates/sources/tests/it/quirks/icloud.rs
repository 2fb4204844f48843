//! A server that answers `RFC822` with nothing.

use mail::{Cx, MailSource as _, MessageRef, Uid, UidValidity};
use testkit::Fake;

use super::{run, source};
use crate::{account, inbox};

#[test]
fn a_message_is_asked_for_by_its_body() {
    let fake = Fake::script(|session| {
        session.log_in("IMAP4 IMAP4rev1 SASL-IR AUTH=PLAIN XAPPLEPUSHSERVICE");
        loop {
            let command = session.command();
            if command.mentions("EXAMINE") {
                session.examined(1);
            } else if command.mentions("BODY.PEEK[]") {
                session.reply("* 1 FETCH (UID 1 RFC822.SIZE 15 BODY[]<0> {15}\r\nSubject: x\r\n\r\ny)\r\n{tag} OK !!\r\n");
            } else if command.mentions("FETCH") {
                assert!(!command.mentions("RFC822 ") && !command.mentions("RFC822)"));
                session.reply("* 1 FETCH (UID 1 RFC822.SIZE 15)\r\n{tag} OK !!\r\n");
            } else {
                session.ok();
            }
        }
    });
    let at = MessageRef {
        source: mail::SourceKind::Imap,
        account: account(),
        folder: inbox(),
        uidvalidity: UidValidity(7),
        uid: Uid(1),
    };
    let raw = run(source(&fake).raw(&Cx::new(), &at, 1 << 20));
    assert_eq!(raw.ok().unwrap().bytes, "Subject: x\r\n\r\ny");
}
