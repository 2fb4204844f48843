//! No token, password, code or passphrase is in anything that the program prints, answers, logs at the most verbose level,
//! leaves on disk or starts other programs with; whatever store it is kept in, however one logs in, whoever says it back.

mod heard;
mod house;
mod stores;

use serde_json::json;
use testkit::Fake;
use testkit::fake::Session;
use testkit::oidc::{Endpoint, Fault, Point, Times};

use house::{House, TOKEN, Way};
use stores::Backend;

/// Everything that a provider may answer a refresh with, and what the caller is told then.
fn answers(house: &House) -> Vec<(Fault, &'static str)> {
    let elsewhere = format!("{}/token", house.oidc.issuer());
    let garbage = json!({ "access_token": "canary-of-garbage\r\n", "token_type": "bearer" });
    vec![
        (Fault::Echo(400), "token_misconfigured"),
        (Fault::Echo(401), "token_misconfigured"),
        (Fault::Echo(500), "token_unavailable"),
        (Fault::Echo(200), "token_misconfigured"),
        (
            Fault::Error("invalid_client".to_owned()),
            "token_misconfigured",
        ),
        (Fault::Text(garbage.to_string()), "token_unavailable"),
        (Fault::Redirect(elsewhere), "token_unavailable"),
        (Fault::Cut(Point::Arrival), "token_unavailable"),
    ]
}

/// From a login to its end, with all that can go wrong in between.
fn live(house: &mut House) {
    for _ in 0..2 {
        assert_eq!(house.call()["uids"], json!([1]));
    }
    for (fault, code) in answers(house) {
        house.oidc.fail(Endpoint::Refresh, &fault, Times::Always);
        let told = house.call().to_string();
        assert!(told.contains(code), "{fault:?}: {told}");
        house.oidc.mend();
    }
    let (status, shown) = house.run(&["check"]);
    assert_eq!(status, 0, "{shown}");
    house.oidc.revoke("alice");
    assert_eq!(house.call()["reason"], "needs_rebootstrap");
    let (status, shown) = house.run(&["check"]);
    let remedy = match house.stores.is_writable() {
        true => "mailwarden login --account work",
        false => "put a new refresh token into secret://",
    };
    assert!(status == 1 && shown.contains(remedy), "{shown}");
    for words in [&["config", "check"][..], &["audit", "tail", "--json"]] {
        let (status, shown) = house.run(words);
        assert_eq!(status, 0, "{shown}");
    }
}

/// Logs in anew by each of these ways, after it was made to fail in each.
fn log_in(house: &mut House, ways: &[Way]) {
    for way in ways {
        let at = match way {
            Way::Device => Endpoint::Poll,
            Way::Browser | Way::Opened | Way::Paste => Endpoint::Exchange,
        };
        for fault in [Fault::Echo(400), Fault::Echo(200)] {
            house.oidc.fail(at, &fault, Times::Always);
            assert_eq!(house.log_in(*way), 1, "{way:?}");
            house.oidc.mend();
        }
        assert_eq!(house.log_in(*way), 0, "{way:?}");
    }
}

#[test]
fn files_and_every_way_of_logging_in() {
    let mut house = House::new(Backend::FileDir);
    assert_eq!(house.call()["reason"], "needs_rebootstrap");
    log_in(&mut house, &[Way::Browser, Way::Device, Way::Paste]);
    assert_eq!(house.log_in(Way::Opened), 0);
    let port = house.server_port();
    house.configure(port, "oauthbearer", "persist_all");
    for _ in 0..2 {
        assert_eq!(house.call()["uids"], json!([1]));
    }
    // What is kept of an access token is looked at while it is kept.
    house.look_around();
    house.configure(port, "oauthbearer", "memory_only");
    live(&mut house);
    assert!(house.heard.places("stdout of login", "redirect_uri") > 0);
    house.assert_silent();
    // What ties a login together is not among them: a browser is given an address of ours that leads there once.
    assert_eq!(house.heard.places("the children", "code_challenge"), 0);
    assert!(house.heard.places("the children", "http://127.0.0.1:") > 0);
}

#[test]
fn variables_that_can_only_be_read() {
    let mut house = House::new(Backend::EnvVar);
    let token = house.oidc.grant("alice").refresh_token;
    house.put(TOKEN, &token);
    assert_eq!(house.log_in(Way::Browser), 1);
    live(&mut house);
    house.assert_silent();
}

#[test]
fn files_of_gpg_and_a_key_that_is_locked() {
    let mut house = House::new(Backend::GpgFile);
    log_in(&mut house, &[Way::Device]);
    live(&mut house);
    house.stores.lock();
    house.put(TOKEN, "canary-that-nobody-can-decrypt");
    let (status, shown) = house.run(&["check"]);
    assert!(status != 0 && shown.contains("gpg"), "{shown}");
    assert!(house.stores.children().len() > 100);
    house.assert_silent();
    assert!(house.heard.places("the children", "--status-fd") > 0);
}

#[test]
fn programs_that_tell_secrets_and_programs_that_fail() {
    let mut house = House::new(Backend::Command);
    log_in(&mut house, &[Way::Paste]);
    live(&mut house);
    let living = house.oidc.secrets().join(" ");
    for end in ["exit 3", "kill -9 $$", "echo; exit 0"] {
        let text = format!("echo '{living}' >&2\nprintf '%s\\033' '{living}'\n{end}");
        house.stores.script("read-secret", &text);
        let (status, shown) = house.run(&["check"]);
        assert_ne!(status, 0, "{shown}");
    }
    house.assert_silent();
    assert!(house.heard.places("the children", "refresh_token") > 0);
}

#[test]
fn the_keyring_of_the_system() {
    let mut house = House::new(Backend::Keyring);
    log_in(&mut house, &[Way::Browser]);
    live(&mut house);
    let living = house.oidc.secrets().join(" ");
    let text = format!("echo '{living}' >&2\nprintf '%s' '{living}'\nexit 1");
    house.stores.script("secret-tool", &text);
    let (status, shown) = house.run(&["check"]);
    assert_ne!(status, 0, "{shown}");
    house.assert_silent();
    assert!(house.heard.places("the children", "username") > 0);
}

/// Says tokens back: when it refuses them, and when it has taken them and is asked for something else.
fn loud(way: &'static str) -> Fake {
    let capabilities = format!("IMAP4rev1 SASL-IR AUTH={way}");
    Fake::script(move |s| {
        s.greet(&format!("* OK [CAPABILITY {capabilities}] hello\r\n"));
        let shown = s.command().text();
        let sent = shown.split(' ').next_back().unwrap_or_default().to_owned();
        match s.number() % 5 {
            0 => refuse(s, &format!("[AUTHENTICATIONFAILED] you said {shown}")),
            1 => refuse(s, &format!("[AUTHENTICATIONFAILED] not {}", decoded(&sent))),
            2 => {
                s.untagged(&format!("BYE {sent} is too much"));
                s.close();
            }
            3 => later(s, &format!("[SERVERBUG] trouble with {sent}")),
            _ => later(s, &format!("[SERVERBUG] trouble with {}", decoded(&sent))),
        }
    })
}

fn refuse(s: &mut Session, words: &str) {
    for _ in 0..3 {
        s.no(words);
        s.command();
    }
}

fn later(s: &mut Session, words: &str) {
    s.ok();
    loop {
        s.command();
        s.no(words);
    }
}

/// The token itself.
fn decoded(sent: &str) -> String {
    use base64::Engine as _;
    let plain = base64::engine::general_purpose::STANDARD.decode(sent);
    let plain = String::from_utf8(plain.unwrap_or_default()).unwrap();
    let token = plain.split("Bearer ").nth(1).unwrap_or_default();
    token.trim_end_matches('\u{1}').to_owned()
}

#[test]
fn a_mail_server_that_says_tokens_back() {
    for (method, way) in [("xoauth2", "XOAUTH2"), ("oauthbearer", "OAUTHBEARER")] {
        let mut house = House::new(Backend::FileDir);
        assert_eq!(house.call()["reason"], "needs_rebootstrap");
        assert_eq!(house.log_in(Way::Browser), 0);
        let fake = loud(way);
        house.configure(fake.port(), method, "memory_only");
        for _ in 0..10 {
            house.run(&["check"]);
        }
        house.call();
        let said = fake.commands().join("\n");
        let mut sent = heard::Heard::default();
        sent.add("the wire", said.as_bytes());
        assert!(!sent.find(&house.oidc.secrets()).is_empty(), "{said}");
        house.assert_silent();
    }
}

/// What an operator puts into the words of a program is there for everybody to see; so would be what we put there.
#[test]
fn the_search_hears_what_children_are_started_with() {
    let mut house = House::new(Backend::Command);
    assert_eq!(house.log_in(Way::Browser), 0);
    let token = house.oidc.living_refresh_tokens("alice").remove(0);
    house
        .stores
        .script("read-secret", &format!("exec \"$0.again\" '{token}'"));
    house.stores.script("read-secret.again", "echo \"$1\"");
    house.call();
    house.look_around();
    let found = house.heard.find(&[token]);
    assert!(
        found.iter().all(|one| one.ends_with("in the children")),
        "{found:?}"
    );
    assert!(!found.is_empty());
}
