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
