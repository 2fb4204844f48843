//! The ways in: a browser, a device's code, a pasted address; the other name of the program, and clients of other kinds.

use std::os::unix::fs::symlink;

use serde_json::json;
use testkit::oidc::{CLIENT, CLIENT_SECRET, Endpoint, SECRET_CLIENT};

use super::house::assert_works;
use super::person::Login;
use super::{House, house};

#[test]
fn under_its_other_name_the_program_does_the_same() {
    let house = House::new();
    let link = house.dir.path().join("imap-mcp-oauth-bootstrap");
    symlink(env!("CARGO_BIN_EXE_mailwarden"), &link).unwrap();
    let usual = house.program();
    let mut command = std::process::Command::new(link);
    for (name, value) in usual.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.args(["--account", "work", "--no-browser"]);
    let mut login = Login::start(command, house.dir.path());
    house.oidc.browse(&login.address());
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert!(
        printed.stdout.contains("account work is logged in"),
        "{}",
        printed.stdout
    );
    assert_works(&mut house.client());
}

#[test]
fn a_device_without_a_browser() {
    let house = House::new();
    let mut login = house.begin(&["--device"]);
    let line = login.line(|line| line.contains("type in"));
    let device = house.oidc.devices(1).pop().unwrap();
    assert!(line.contains(&device.user_code), "{line}");
    assert!(
        line.contains(&format!("{}/device", house.oidc.issuer())),
        "{line}"
    );
    let other = login.line(|line| line.starts_with("or open"));
    assert!(other.contains(&device.uri), "{other}");
    house.oidc.approve(&device, "alice");
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_works(&mut house.client());
    assert_eq!(house.oidc.count(Endpoint::Exchange), 0);
}

#[test]
fn a_device_whose_person_refuses_or_never_comes() {
    let house = House::new();
    let mut login = house.begin(&["--device"]);
    login.line(|line| line.contains("type in"));
    let device = house.oidc.devices(1).pop().unwrap();
    house.oidc.approve(&device, "deny");
    let denied = login.end();
    let mut login = house.begin(&["--device"]);
    login.line(|line| line.contains("type in"));
    house.oidc.devices(2);
    house.oidc.expire_devices();
    let late = login.end();
    for (printed, said) in [
        (
            denied,
            "access was denied in the browser; nothing has changed",
        ),
        (
            late,
            "nobody logged in within the time there was; start again",
        ),
    ] {
        assert_eq!(printed.code, 1, "{}", printed.stdout);
        assert_eq!(printed.stderr, format!("mailwarden: {said}\n"));
    }
    assert!(!house.secret_file().exists());
}

#[test]
fn an_address_that_is_pasted() {
    let house = House::new();
    let mut login = house.begin(&["--paste"]);
    let address = login.address();
    let redirect = house.oidc.authorize(&address).unwrap();
    // A code alone is tied to no login; a second attempt is free.
    let code = testkit::http::parameter(&redirect, "code").unwrap();
    login.paste(&code);
    let why = login.line(|line| line.contains("what was pasted"));
    assert!(
        why.contains("is not the address that belongs to this login"),
        "{why}"
    );
    login.paste(&redirect);
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_works(&mut house.client());

    let kept = house.kept();
    let mut login = house.begin(&["--paste"]);
    login.address();
    // Of another login.
    for _ in 0..3 {
        login.paste(&redirect);
    }
    let printed = login.end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert!(
        printed.stderr.contains("paste the whole address"),
        "{}",
        printed.stderr
    );
    assert!(!printed.stderr.contains(&code), "{}", printed.stderr);
    assert_eq!(house.kept(), kept);
    // Nobody types anything.
    let mut login = house.begin(&["--paste"]);
    login.address();
    let printed = login.end();
    assert_eq!(printed.code, 1, "{}", printed.stdout);
    assert_eq!(house.kept(), kept);
}

#[test]
fn a_client_that_has_a_secret_and_one_that_the_environment_names() {
    let house = House::new();
    house.dir.secret("secrets/client", CLIENT_SECRET);
    house.configure(&json!({
        "oauth_client_id": SECRET_CLIENT, "oauth_client_secret_ref": "secret://client",
    }));
    house.log_in();
    assert_works(&mut house.client());

    // Another client is another login.
    house.configure(&json!({ "oauth_client_id": null }));
    let named = || {
        let mut command = house.program();
        command.env("IMAP_MCP_OAUTH_CLIENT_ID", CLIENT);
        command
    };
    let client = || {
        let mut command = named();
        command.env("IMAP_MCP_CALLER_ID", "agent");
        crate::support::start(command)
    };
    let asked = house.refreshes();
    house::assert_needs_login(&mut client());
    assert_eq!(house.refreshes(), asked);
    let mut command = named();
    command.args(["login", "--account", "work", "--no-browser"]);
    let mut login = Login::start(command, house.dir.path());
    house.oidc.browse(&login.address());
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}", printed.stderr);
    assert_works(&mut client());
}
