//! What `login` refuses before anybody is asked, and in which words.

use serde_json::json;
use testkit::closed_port;
use testkit::oidc::{Endpoint, Fault, Times};

use super::House;
use crate::directory::Printed;

/// All that a person sees, without what differs from run to run.
fn shown(house: &House, what: &str, printed: &Printed) -> String {
    let text = format!(
        "{}{}exit {}\n",
        printed.stdout, printed.stderr, printed.code
    );
    let timeless = text.lines().map(|line| match line.split_once("  WARN ") {
        Some((_, warning)) => format!("WARN {warning}\n"),
        None => format!("{line}\n"),
    });
    let text: String = timeless.collect();
    let text = text.replace(&house.oidc.issuer(), "ISSUER");
    format!("# {what}\n{text}\n")
}

#[test]
fn a_login_that_cannot_be_is_refused_in_words() {
    let house = House::new();
    let mut all = String::new();
    let mut told = |what: &str, account: &str, more: &[&str]| {
        let mut arguments = vec!["login", "--no-browser", "--account", account];
        arguments.extend(more);
        let printed = house.dir.run(&arguments);
        assert_ne!(printed.code, 0, "{what}");
        all.push_str(&shown(&house, what, &printed));
    };
    told("an account that is not there", "elsewhere", &[]);
    told("an account with a password", "other", &[]);
    told("two ways at once", "work", &["--device", "--paste"]);
    house.configure(&json!({ "oauth_client_id": null }));
    told("no client", "work", &[]);
    house.configure(&json!({
        "oauth_provider": "google", "oauth_issuer": null, "oauth_client_id": null,
    }));
    told("no client of Google's", "work", &[]);
    house.configure(&json!({ "oauth_provider": "google", "oauth_issuer": null }));
    told("a device at Google", "work", &["--device"]);
    house.configure(&json!({ "oauth_provider": "yahoo", "oauth_issuer": null }));
    told("a browser at Yahoo", "work", &[]);

    house.configure(&json!({}));
    let way = house.dir.write("secrets/accounts", "in the way");
    told("a store that cannot be written", "work", &[]);
    std::fs::remove_file(way).unwrap();
    let no_device = Fault::Patch(json!({ "device_authorization_endpoint": null }));
    house
        .oidc
        .fail(Endpoint::Discovery, &no_device, Times::Once);
    told("a device where there are none", "work", &["--device"]);
    insta::assert_snapshot!("login_refused", all);
    assert!(!house.secret_file().exists());
    assert_eq!(house.oidc.count(Endpoint::Authorization), 0);
}

#[test]
fn a_store_that_only_reads_refuses_before_anybody_is_asked() {
    let house = House::new();
    house.configure_with(&json!({ "backend": "env_var" }), &json!({}));
    let run = || {
        let mut command = house.program();
        command
            .env("IMAP_MCP_SECRET__PASSWORD", "secret")
            .args(["login", "--account", "work"]);
        super::Login::start(command, house.dir.path()).end()
    };
    insta::assert_snapshot!("login_env_var", shown(&house, "env_var", &run()));
    assert_eq!(house.oidc.served(), []);
}

#[test]
fn a_provider_that_is_not_there() {
    let mut house = House::new();
    let port = closed_port();
    let issuer = format!("http://127.0.0.1:{}", port.number());
    house.configure(&json!({ "oauth_issuer": issuer }));
    let printed = house.begin(&[]).end();
    assert_eq!(printed.code, 1);
    assert!(
        printed.stderr.contains("could not be reached"),
        "{}",
        printed.stderr
    );
    assert!(printed.stderr.contains(&issuer), "{}", printed.stderr);
    // It goes away between the question and the answer.
    house.configure(&json!({}));
    let mut login = house.begin(&[]);
    let redirect = house.oidc.authorize(&login.address()).unwrap();
    house.oidc.kill();
    let page = testkit::http::Http::plain().get(&redirect).unwrap();
    assert_eq!(page.status, 200);
    let printed = login.end();
    assert_eq!(printed.code, 1);
    assert!(
        printed.stderr.contains("could not be reached"),
        "{}",
        printed.stderr
    );
    assert!(!house.secret_file().exists());
}

#[test]
fn a_store_that_fails_at_the_last_moment_is_not_told_to_hold_anything() {
    let house = House::new();
    let mut login = house.begin(&[]);
    let address = login.address();
    house.dir.write("secrets/accounts", "in the way");
    let kept = house.kept();
    house.oidc.browse(&address);
    let printed = login.end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert!(
        printed
            .stderr
            .contains("the refresh token could not be kept"),
        "{}",
        printed.stderr
    );
    assert_eq!(house.kept(), kept);
}

#[test]
fn a_state_directory_that_cannot_be_used_is_told_before_anybody_is_asked() {
    let house = House::new();
    house.log_in();
    let stored = house.stored();
    std::fs::remove_dir_all(house.state()).unwrap();
    std::fs::write(house.state(), "in the way").unwrap();
    let printed = house.begin(&[]).end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert_eq!(printed.stdout, "");
    assert!(
        printed
            .stderr
            .contains("the state directory cannot be used"),
        "{}",
        printed.stderr
    );
    assert_eq!(house.stored(), stored);
}
