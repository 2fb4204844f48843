//! Getting in, and what mailboxes there are.

use super::{converse, enter};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use testkit::gmail::{Language, PASSWORD, Password, Place, Token, USER};
use testkit::{Gmail, RawImap};

const BEFORE: &str = "* CAPABILITY IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 XYZZY SASL-IR \
    AUTH=XOAUTH2 AUTH=PLAIN AUTH=PLAIN-CLIENTTOKEN AUTH=OAUTHBEARER";
const AFTER: &str = "* CAPABILITY IMAP4rev1 UNSELECT IDLE NAMESPACE QUOTA ID XLIST CHILDREN X-GM-EXT-1 UIDPLUS \
    COMPRESS=DEFLATE ENABLE MOVE CONDSTORE ESEARCH UTF8=ACCEPT LIST-EXTENDED LIST-STATUS LITERAL- SPECIAL-USE \
    APPENDLIMIT=35651584";
const REFUSED: &str = "NO [AUTHENTICATIONFAILED] Invalid credentials (Failure)";

#[test]
fn strangers_are_told_little_and_users_more() {
    let gmail = Gmail::start();
    let mut imap = RawImap::connect(gmail.port());
    assert_eq!(
        imap.greeting(),
        "* OK Gimap ready for requests from 127.0.0.1 sim0mb"
    );
    let welcome = format!("{AFTER}\nOK alice@gmail.com authenticated (Success)");
    converse(
        &mut imap,
        &[
            ("before", BEFORE.to_owned()),
            ("after", AFTER.to_owned()),
            ("welcome", welcome),
        ],
        &[
            ("CAPABILITY", "{before}\nOK Thats all she wrote! sim0mb"),
            ("LIST \"\" \"*\"", "BAD Unknown command sim0mb"),
            ("LOGIN alice@gmail.com wrong", REFUSED),
            ("LOGIN bob@gmail.com \"abcd efgh ijkl mnop\"", REFUSED),
            ("LOGIN Alice@gmail.com \"abcd efgh ijkl mnop\"", "{welcome}"),
            ("CAPABILITY", "{after}\nOK Success"),
            (
                "NAMESPACE",
                "* NAMESPACE ((\"\" \"/\")) NIL NIL\nOK Success",
            ),
            ("NONSENSE", "BAD Unknown command"),
            ("FETCH 1 FLAGS", "BAD FETCH not allowed now."),
            ("LIST \"", "BAD Could not parse command"),
            ("NOOP", "OK Success"),
            ("LOGOUT", "* BYE LOGOUT Requested\nOK 73 good day (Success)"),
        ],
    );
    assert!(imap.attempt("NOOP").is_err(), "the connection has ended");
    let commands = gmail.commands();
    assert!(
        commands.contains(&"LOGIN".to_owned()),
        "no secret is kept: {commands:?}"
    );
}

#[test]
fn an_accounts_own_password_does_not_do() {
    let gmail = Gmail::start();
    gmail.password("own", Password::Own);
    let mut imap = RawImap::connect(gmail.port());
    let reply = imap.try_command("LOGIN alice@gmail.com own");
    assert!(
        reply
            .status
            .starts_with("NO [ALERT] Application-specific password required")
    );
    gmail.revoke_password(PASSWORD);
    let again = imap.try_command(&format!("LOGIN {USER} \"{PASSWORD}\""));
    assert_eq!(again.status, REFUSED);
}

#[test]
fn tokens_are_taken_or_refused_as_gmail_does() {
    let gmail = Gmail::start();
    gmail.token("good", Token::Good);
    gmail.token("old", Token::Expired);
    gmail.token("narrow", Token::Narrow);
    let xoauth2 = |user: &str, token: &str| {
        STANDARD.encode(format!("user={user}\x01auth=Bearer {token}\x01\x01"))
    };
    let bearer = |user: &str, token: &str| {
        STANDARD.encode(format!(
            "n,a={user},\x01host=localhost\x01port=993\x01auth=Bearer {token}\x01\x01"
        ))
    };
    // What node-imap's tracker shows on the wire, letter by letter.
    let why = "+ eyJzdGF0dXMiOiI0MDAiLCJzY2hlbWVzIjoiQmVhcmVyIiwic2NvcGUiOiJodHRwczovL21haWwuZ29vZ2xlLmNvbS8ifQ==";
    let granted = "OK alice@gmail.com authenticated (Success)";
    for (mechanism, response, granted) in [
        ("XOAUTH2", xoauth2(USER, "good"), Some(granted)),
        ("XOAUTH2", xoauth2(USER, "old"), None),
        ("XOAUTH2", xoauth2(USER, "narrow"), None),
        ("XOAUTH2", xoauth2(USER, "unheard of"), None),
        ("XOAUTH2", xoauth2("bob@gmail.com", "good"), None),
        ("OAUTHBEARER", bearer(USER, "good"), Some(granted)),
        ("OAUTHBEARER", bearer(USER, "old"), None),
    ] {
        let mut imap = RawImap::connect(gmail.port());
        if let Some(granted) = granted {
            let reply = imap.try_command(&format!("AUTHENTICATE {mechanism} {response}"));
            assert_eq!(reply.text(), format!("{AFTER}\n{granted}"));
            continue;
        }
        let tag = imap.send(&[&format!("AUTHENTICATE {mechanism} {response}")]);
        let challenge = String::from_utf8(imap.read_response()).unwrap();
        match mechanism {
            "XOAUTH2" => assert_eq!(challenge, why),
            _ => {
                let told = STANDARD
                    .decode(challenge.strip_prefix("+ ").unwrap())
                    .unwrap();
                assert!(
                    String::from_utf8(told)
                        .unwrap()
                        .contains("\"invalid_token\"")
                );
            }
        }
        imap.send_bytes(b"\r\n");
        assert_eq!(imap.read_until(&tag).status, REFUSED);
    }
    // Without an initial response.
    let mut imap = RawImap::connect(gmail.port());
    let tag = imap.send(&["AUTHENTICATE XOAUTH2"]);
    assert_eq!(imap.read_response(), b"+ ");
    imap.send_bytes(format!("{}\r\n", xoauth2(USER, "good")).as_bytes());
    assert_eq!(imap.read_until(&tag).status, granted);
    // A token's worth can change.
    gmail.token("good", Token::Expired);
    let mut imap = RawImap::connect(gmail.port());
    imap.send(&[&format!("AUTHENTICATE XOAUTH2 {}", xoauth2(USER, "good"))]);
    assert_eq!(imap.read_response(), why.as_bytes());
}

#[test]
fn what_is_no_sasl_is_refused() {
    let gmail = Gmail::start();
    let mut imap = RawImap::connect(gmail.port());
    let bad = STANDARD.encode("user=alice@gmail.com");
    converse(
        &mut imap,
        &[("bad", bad)],
        &[
            (
                "AUTHENTICATE XOAUTH2 {bad}",
                "BAD Invalid SASL argument. sim0mb",
            ),
            (
                "AUTHENTICATE OAUTHBEARER {bad}",
                "BAD Invalid SASL argument. sim0mb",
            ),
            (
                "AUTHENTICATE XOAUTH2 !!",
                "BAD Invalid SASL argument. sim0mb",
            ),
            ("AUTHENTICATE CRAM-MD5", "NO Unsupported mechanism sim0mb"),
        ],
    );
    let plain = STANDARD.encode(format!("\0{USER}\0{PASSWORD}"));
    imap.command(&format!("AUTHENTICATE PLAIN {plain}"));
}

#[test]
fn mailboxes_are_listed_with_their_use() {
    let gmail = Gmail::builder().labels(&["Work/2026", "Ünter"]).start();
    let mut imap = enter(&gmail);
    converse(
        &mut imap,
        &[],
        &[
            (
                "LIST \"\" \"*\"",
                "* LIST (\\HasNoChildren) \"/\" \"INBOX\"\n\
                 * LIST (\\HasChildren \\Noselect) \"/\" \"Work\"\n\
                 * LIST (\\HasNoChildren) \"/\" \"Work/2026\"\n\
                 * LIST (\\HasNoChildren) \"/\" \"&ANw-nter\"\n\
                 * LIST (\\HasChildren \\Noselect) \"/\" \"[Gmail]\"\n\
                 * LIST (\\All \\HasNoChildren) \"/\" \"[Gmail]/All Mail\"\n\
                 * LIST (\\Drafts \\HasNoChildren) \"/\" \"[Gmail]/Drafts\"\n\
                 * LIST (\\HasNoChildren \\Important) \"/\" \"[Gmail]/Important\"\n\
                 * LIST (\\HasNoChildren \\Sent) \"/\" \"[Gmail]/Sent Mail\"\n\
                 * LIST (\\HasNoChildren \\Junk) \"/\" \"[Gmail]/Spam\"\n\
                 * LIST (\\Flagged \\HasNoChildren) \"/\" \"[Gmail]/Starred\"\n\
                 * LIST (\\HasNoChildren \\Trash) \"/\" \"[Gmail]/Trash\"\nOK Success",
            ),
            (
                "LIST \"\" \"%\" RETURN (SPECIAL-USE STATUS (MESSAGES UNSEEN))",
                "* LIST (\\HasNoChildren) \"/\" \"INBOX\"\n* STATUS \"INBOX\" (MESSAGES 0 UNSEEN 0)\n\
                 * LIST (\\HasChildren \\Noselect) \"/\" \"Work\"\n\
                 * LIST (\\HasNoChildren) \"/\" \"&ANw-nter\"\n* STATUS \"&ANw-nter\" (MESSAGES 0 UNSEEN 0)\n\
                 * LIST (\\HasChildren \\Noselect) \"/\" \"[Gmail]\"\nOK Success",
            ),
            (
                "LIST (SPECIAL-USE) \"\" \"*Tr*\" RETURN (SUBSCRIBED)",
                "* LIST (\\HasNoChildren \\Subscribed \\Trash) \"/\" \"[Gmail]/Trash\"\nOK Success",
            ),
            (
                "XLIST \"\" INBOX",
                "* XLIST (\\HasNoChildren \\Inbox) \"/\" \"INBOX\"\nOK Success",
            ),
            (
                "LIST \"\" \"\"",
                "* LIST (\\Noselect) \"/\" \"/\"\nOK Success",
            ),
            ("CREATE \"&ANw-nter/x\"", "OK Success"),
            (
                "CREATE \"&ANw-nter/x\"",
                "NO [ALREADYEXISTS] Duplicate folder name (Failure)",
            ),
            (
                "CREATE \"[Gmail]/x\"",
                "NO [CANNOT] Invalid folder name: [Gmail]/x (Failure)",
            ),
            ("RENAME \"&ANw-nter/x\" y", "OK Success"),
            (
                "LIST \"\" y",
                "* LIST (\\HasNoChildren) \"/\" \"y\"\nOK Success",
            ),
            ("DELETE y", "OK Success"),
            ("DELETE y", "NO [NONEXISTENT] Unknown Mailbox: y (Failure)"),
            (
                "STATUS y (MESSAGES)",
                "NO [NONEXISTENT] Invalid folder: y (Failure)",
            ),
            (
                "STATUS [Gmail] (MESSAGES)",
                "NO [NONEXISTENT] Invalid folder: [Gmail] (Failure)",
            ),
            (
                "SELECT [Gmail]",
                "NO [NONEXISTENT] Unknown Mailbox: [Gmail] (now in authenticated state) (Failure)",
            ),
        ],
    );
}

#[test]
fn names_are_those_of_the_accounts_language() {
    for (language, all, trash) in [
        (
            Language::British,
            "[Google Mail]/All Mail",
            "[Google Mail]/Bin",
        ),
        (
            Language::German,
            "[Gmail]/Alle Nachrichten",
            "[Gmail]/Papierkorb",
        ),
        (
            Language::Japanese,
            "[Gmail]/&MFkweTBmMG4w4TD8MOs-",
            "[Gmail]/&MLQw33ux-",
        ),
    ] {
        let gmail = Gmail::builder().language(language).start();
        let mut imap = enter(&gmail);
        let listed = imap.command("LIST \"\" \"*\"").text();
        assert!(
            listed.contains(&format!("(\\All \\HasNoChildren) \"/\" \"{all}\"")),
            "{listed}"
        );
        assert!(
            listed.contains(&format!("(\\HasNoChildren \\Trash) \"/\" \"{trash}\"")),
            "{listed}"
        );
        imap.command(&format!("SELECT \"{all}\""));
    }
}

#[test]
fn what_is_hidden_from_imap_is_not_there() {
    let gmail = Gmail::builder().hide(Place::All).start();
    let mut imap = enter(&gmail);
    let listed = imap.command("LIST \"\" \"*\"").text();
    assert!(!listed.contains("\\All"), "{listed}");
    assert_eq!(
        imap.try_command("EXAMINE \"[Gmail]/All Mail\"").status,
        "NO [NONEXISTENT] Unknown Mailbox: [Gmail]/All Mail (now in authenticated state) (Failure)"
    );
}

#[test]
fn opening_tells_what_is_inside() {
    let gmail = Gmail::start();
    gmail.deliver(&[Place::Inbox], super::letter("1", "one"));
    let mut imap = enter(&gmail);
    let head = "* FLAGS (\\Answered \\Flagged \\Draft \\Deleted \\Seen $NotPhishing $Phishing)";
    let tail = "* OK [UIDVALIDITY 1] UIDs valid.\n* 1 EXISTS\n* 0 RECENT\n* OK [UIDNEXT 2] Predicted next UID.\n\
        * OK [HIGHESTMODSEQ 1001]";
    converse(
        &mut imap,
        &[("head", head.to_owned()), ("tail", tail.to_owned())],
        &[
            (
                "SELECT INBOX",
                "{head}\n* OK [PERMANENTFLAGS (\\Answered \\Flagged \\Draft \\Deleted \\Seen $NotPhishing $Phishing \\*)] \
                 Flags permitted.\n{tail}\nOK [READ-WRITE] INBOX selected. (Success)",
            ),
            (
                "EXAMINE \"inbox\"",
                "{head}\n* OK [PERMANENTFLAGS ()] Flags permitted.\n{tail}\nOK [READ-ONLY] inbox selected. (Success)",
            ),
            (
                "STATUS INBOX (MESSAGES UIDNEXT UIDVALIDITY UNSEEN)",
                "* STATUS \"INBOX\" (MESSAGES 1 UIDNEXT 2 UIDVALIDITY 1 UNSEEN 1)\nOK Success",
            ),
            (
                "STORE 1 +FLAGS (\\Seen)",
                "NO [READ-ONLY] Mailbox is read-only. (Failure)",
            ),
            ("UNSELECT", "OK Returned to authenticated state. (Success)"),
            ("FETCH 1 FLAGS", "BAD FETCH not allowed now."),
            (
                "ENABLE CONDSTORE UTF8=ACCEPT QRESYNC",
                "* ENABLED CONDSTORE UTF8=ACCEPT\nOK Success",
            ),
            ("CREATE \"für\"", "OK Success"),
            (
                "LIST \"\" \"f*\"",
                "* LIST (\\HasNoChildren) \"/\" \"für\"\nOK Success",
            ),
        ],
    );
}

#[test]
fn encrypted_from_the_first_octet() {
    let gmail = Gmail::builder().tls().start();
    let mut imap =
        RawImap::connect_tls(gmail.port(), gmail.ca_pem().unwrap(), "localhost").unwrap();
    imap.login(USER, PASSWORD);
    imap.command("SELECT INBOX");
}
