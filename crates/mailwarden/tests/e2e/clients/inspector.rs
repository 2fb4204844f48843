//! The inspector's command line, which connects anew for every request.

use serde_json::{Value, json};
use testkit::clients::{Era, Way, inspector};

use super::served::House;
use crate::directory::TOKEN;

/// What it printed, read as JSON.
fn inspect(way: &Way, era: Era, words: &[&str]) -> Value {
    let mut all: Vec<String> = Vec::new();
    match way {
        Way::Http { url, .. } => {
            all.push(url.clone());
            all.extend([
                "--header".to_owned(),
                format!("Authorization: Bearer {TOKEN}"),
            ]);
        }
        Way::Stdio {
            command,
            environment,
        } => {
            all.extend(command.iter().cloned());
            let set = environment.iter();
            all.extend(set.flat_map(|(name, value)| ["-e".to_owned(), format!("{name}={value}")]));
        }
    }
    all.extend(["--protocol-era".to_owned(), era.word().to_owned()]);
    all.extend(words.iter().map(|word| (*word).to_owned()));
    let output = inspector(&all);
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(output.status.success(), "{all:?}: {stdout}{stderr}");
    serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{all:?}: {stdout}{stderr}"))
}

fn inspects(way: &Way, era: Era) {
    // Schemas that a strict host would refuse are an error.
    let listed = inspect(way, era, &["--method", "tools/list", "--strict"]);
    let tools = listed["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|tool| tool["name"] == "search"),
        "{listed}"
    );
    let found = inspect(
        way,
        era,
        &[
            "--method",
            "tools/call",
            "--tool-name",
            "search",
            "--tool-arg",
            "account_id=work",
            "folder=INBOX",
            "limit=2",
        ],
    );
    let data = &found["structuredContent"]["data"];
    assert_eq!(data["uids"], json!([5, 4]), "{found}");
    let uri = format!(
        "imap://work/mailbox/INBOX/message/{}/1",
        data["uidvalidity"]
    );
    let read = inspect(way, era, &["--method", "resources/read", "--uri", &uri]);
    assert_eq!(
        read["contents"][0]["mimeType"], "application/json",
        "{read}"
    );
}

#[test]
fn the_inspector_over_http_in_both_eras() {
    let house = House::new();
    let server = house.serve();
    for era in [Era::Legacy, Era::Modern] {
        inspects(&house.http(&server), era);
    }
}

#[test]
fn the_inspector_over_stdio() {
    inspects(&House::new().stdio(), Era::Legacy);
}

#[test]
fn without_its_token_a_client_is_turned_away() {
    let house = House::new();
    let server = house.serve();
    let output = inspector([&server.url(), "--method", "tools/list"]);
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("401") || said.to_lowercase().contains("auth"),
        "{said}"
    );
}
