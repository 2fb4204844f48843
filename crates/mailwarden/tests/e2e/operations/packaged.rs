//! What is handed to operators says what the program does: dashboard, alerts, documents and units agree with it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use testkit::Dovecot;

use super::{Scrape, busy};
use crate::installation::Installation;

const PREFIX: &str = "mailwarden_";

fn read(path: &str) -> String {
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every name of a metric in a text.
fn named(text: &str) -> BTreeSet<String> {
    let parts = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    let names = parts.filter(|part| part.starts_with(PREFIX));
    names
        .map(|name| {
            // As queries write the parts of a histogram.
            let whole = ["_bucket", "_count", "_sum"]
                .iter()
                .find_map(|end| name.strip_suffix(end));
            whole.unwrap_or(name).to_owned()
        })
        .collect()
}

/// The table of docs/operations.md.
fn documented() -> BTreeSet<String> {
    let text = read("docs/operations.md");
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| `mailwarden_"));
    let names: BTreeSet<String> = rows.flat_map(named).collect();
    assert!(names.len() > 20, "{names:?}");
    names
}

#[test]
fn every_metric_is_documented_and_every_documented_one_is_there() {
    let server = Dovecot::start();
    let home = Installation::new();
    let client = busy(&home, server.port(), &[("MAIL_IMAP_WRITE_ENABLED", "true")]);
    let (documented, told) = (documented(), Scrape::of(&client).names());
    let missing: Vec<_> = told.difference(&documented).collect();
    assert!(missing.is_empty(), "not in docs/operations.md: {missing:?}");
    // What has not happened yet is not told; but the program has a word for it.
    let source =
        ["mod.rs", "pulled.rs"].map(|name| read(&format!("crates/mailwarden/src/metrics/{name}")));
    let source = source.concat();
    for name in documented.difference(&told) {
        let short = name.strip_prefix(PREFIX).unwrap();
        let short = short.strip_suffix("_total").unwrap_or(short);
        assert!(
            source.contains(&format!("\"{short}\"")),
            "nobody exports {name}"
        );
    }
}

#[test]
fn the_dashboard_and_the_alerts_name_metrics_that_there_are() {
    let documented = documented();
    for file in [
        "packaging/grafana/mailwarden.json",
        "packaging/prometheus/alerts.yaml",
    ] {
        let names = named(&read(file));
        assert!(names.len() > 10, "{file}: {names:?}");
        let unknown: Vec<_> = names.difference(&documented).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
    let dashboard: Value =
        serde_json::from_str(&read("packaging/grafana/mailwarden.json")).unwrap();
    let shown = named(&dashboard.to_string());
    let hidden: Vec<_> = documented.difference(&shown).collect();
    assert!(hidden.is_empty(), "in no panel: {hidden:?}");
}

#[test]
fn every_alert_has_its_page_in_the_runbook() {
    let (alerts, runbook) = (
        read("packaging/prometheus/alerts.yaml"),
        read("docs/runbook.md"),
    );
    let names = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "));
    let names: BTreeSet<&str> = names.collect();
    let pages = runbook.lines().filter_map(|line| line.strip_prefix("## "));
    let pages: BTreeSet<&str> = pages
        .filter(|page| page.starts_with("Mailwarden"))
        .collect();
    assert_eq!(names, pages);
    for name in names {
        let link = format!("runbook: docs/runbook.md#{}", name.to_lowercase());
        assert!(alerts.contains(&link), "{link}");
    }
}

/// A day without a denial is a day too: it must not keep the alert from comparing.
#[test]
fn what_is_compared_with_yesterday_knows_a_day_without() {
    let alerts = read("packaging/prometheus/alerts.yaml");
    let compared = alerts
        .split("- alert: ")
        .filter(|one| one.contains("offset 1d"));
    let compared: Vec<&str> = compared.collect();
    assert!(!compared.is_empty());
    for one in compared {
        assert!(
            one.contains("or 0 * count(mailwarden_build_info offset 1d)"),
            "{one}"
        );
    }
}

/// The lines of a service in the compose file.
fn service(compose: &str, name: &str) -> String {
    let head = format!("  {name}:");
    let lines = compose.lines().skip_while(|line| **line != *head).skip(1);
    let own = |line: &&str| line.is_empty() || line.starts_with("    ");
    let found: Vec<&str> = lines.take_while(own).collect();
    assert!(!found.is_empty(), "{name}");
    found.join("\n")
}

/// Neither has TLS, so that the way between them is no network; and it is the same for both.
#[test]
fn replicas_of_the_compose_file_reach_their_ledger_by_a_socket() {
    let compose = read("packaging/compose/compose.yaml");
    let address = compose
        .split_whitespace()
        .find(|word| word.starts_with("postgres://"));
    let address = address.expect("the head says where the ledger is");
    ledger::Server::parse(address).unwrap();
    let host = address
        .split_once('@')
        .unwrap()
        .1
        .split('/')
        .next()
        .unwrap();
    let place = host.replace("%2F", "/");
    assert!(
        place.starts_with('/'),
        "{address} wants TLS, and the image has none"
    );
    let volume = format!("- socket:{place}");
    for name in ["one", "two", "ledger"] {
        assert!(
            service(&compose, name).contains(&volume),
            "{name}: {volume}"
        );
    }
    let ledger = service(&compose, "ledger");
    assert!(ledger.contains("network_mode: none") && ledger.contains("--auth-local=scram-sha-256"));
}

/// The balancer passes on the name that clients used, and every path that there is for them.
#[test]
fn the_balancer_of_the_compose_file_passes_on_what_is_served() {
    let (compose, nginx) = (
        read("packaging/compose/compose.yaml"),
        read("packaging/compose/nginx.conf"),
    );
    for name in ["one", "two"] {
        let hosts = "MAILWARDEN_HTTP_ALLOWED_HOSTS: ${PUBLIC_NAME:?";
        assert!(service(&compose, name).contains(hosts), "{name}");
    }
    let passed: Vec<(&str, &str)> = nginx
        .split("location ")
        .skip(1)
        .filter_map(|block| block.split_once('{'))
        .filter(|(_, body)| body.split('}').next().unwrap().contains("proxy_pass"))
        .map(|(which, body)| (which.trim(), body.split('}').next().unwrap()))
        .collect();
    for (which, body) in &passed {
        assert!(body.contains("proxy_set_header Host $host;"), "{which}");
        assert!(body.contains("proxy_http_version 1.1;"), "{which}");
    }
    let source = read("crates/mailwarden/src/server/http/metadata.rs");
    let wellknown = source
        .split('"')
        .filter(|text| text.starts_with("/.well-known/"));
    let paths: BTreeSet<&str> = wellknown.chain(["/mcp"]).collect();
    assert!(paths.len() >= 3, "{paths:?}");
    for path in paths {
        let leads = |(which, _): &(&str, &str)| match which.strip_prefix("= ") {
            Some(exact) => exact == path,
            None => path.starts_with(which),
        };
        assert!(passed.iter().any(leads), "nginx does not pass on {path}");
    }
}

/// The unit's user can read what root has given to its group, and no number of tries ends it.
#[test]
fn the_unit_can_read_its_configuration_and_goes_on_trying() {
    let unit = read("packaging/systemd/mailwarden.service");
    let lines: BTreeSet<&str> = unit.lines().collect();
    for wanted in [
        "User=mailwarden",
        "Group=mailwarden",
        "StartLimitIntervalSec=0",
        "Restart=on-failure",
    ] {
        assert!(lines.contains(wanted), "{wanted}");
    }
    // systemd would make and own that directory itself, as root's alone.
    assert!(!unit.contains("DynamicUser=") && !unit.contains("ConfigurationDirectory="));
    let documented = read("docs/operations.md");
    assert!(documented.contains("`root:mailwarden` with mode 0750"));
}

/// What units and images set, the program reads; where they ask, it answers.
#[test]
fn units_and_images_set_what_the_program_reads() {
    let config = read("docs/config.md");
    for file in [
        "packaging/systemd/mailwarden.service",
        "packaging/Dockerfile",
        "packaging/compose/compose.yaml",
    ] {
        let text = read(file);
        let parts = text.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
        let ours = parts.filter(|part| {
            ["MAILWARDEN_", "IMAP_MCP_"]
                .iter()
                .any(|p| part.starts_with(p))
        });
        let ours: BTreeSet<&str> = ours.collect();
        assert!(!ours.is_empty(), "{file}");
        // The ledger of replicas is documented with it.
        let known = |name: &&&str| config.contains(**name) || name.starts_with("MAILWARDEN_LEDGER");
        let unknown: Vec<_> = ours.iter().filter(|name| !known(name)).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
    let image = read("packaging/Dockerfile");
    for wanted in [
        "\"probe\", \"http://127.0.0.1:9464/readyz\"",
        "USER 65532:65532",
        "--locked",
    ] {
        assert!(image.contains(wanted), "{wanted}");
    }
}
