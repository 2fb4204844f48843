//! Disks that fail, fill up and vanish under the audit log: no call goes unrecorded, and it heals without a restart.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use testkit::McpClient;
use testkit::trap::{Deed, Errno, Kind, Plan, Span, Switch, Trapped, Watch};

use crate::installation::{Installation, Record, has_record};
use crate::support::{note, start};

/// A Maildir with one message: the disk under the log is what matters here.
fn mail() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for sub in ["cur", "new", "tmp"] {
        fs::create_dir_all(dir.path().join(sub)).unwrap();
    }
    fs::write(
        dir.path().join("cur/1760000001.M1P1.host:2,S"),
        note("one", "inside"),
    )
    .unwrap();
    dir
}

fn program(state: &Installation, mail: &Path) -> Command {
    let mut command = state.program();
    command.env("MAIL_MAILDIR_DEFAULT_PATH", mail);
    command
}

/// How a call came out: its `meta`, and the code of its error.
struct Told {
    meta: Value,
    code: Option<String>,
}

fn ask(client: &mut McpClient) -> Told {
    let params = json!({ "name": "imap_search_messages", "arguments": { "mailbox": "INBOX" } });
    match client.request("tools/call", params) {
        Ok(result) => Told {
            meta: result["structuredContent"]["meta"].clone(),
            code: None,
        },
        Err(error) => {
            assert_eq!(error.code, -32603, "{error:?}");
            Told {
                meta: error.data["meta"].clone(),
                code: error.data["code"].as_str().map(str::to_owned),
            }
        }
    }
}

const REFUSED: Option<&str> = Some("audit_unavailable");

fn end(mut client: McpClient) {
    client.close_stdin();
    client.wait_exit(Duration::from_secs(10)).expect("an end");
}

/// Every call that was refused is in the log as withheld, or counted as turned away.
fn all_are_told(records: &[Record], refused: usize) {
    let withheld = records
        .iter()
        .filter(|record| record.json["withheld"] == true)
        .count();
    let turned_away: u64 = records
        .iter()
        .filter(|record| record.event == "interrupted")
        .filter_map(|record| record.json["turned_away"].as_u64())
        .sum();
    assert_eq!(withheld + usize::try_from(turned_away).unwrap(), refused);
}

#[test]
fn a_disk_that_fails_refuses_calls_and_heals() {
    let mail = mail();
    let errors = [Errno::EIO, Errno::ENOSPC, Errno::EROFS, Errno::EDQUOT];
    // Which calls fail together: writing alone, syncing alone, and everything that changes a disk.
    let kinds: [&[Kind]; 4] = [
        &[Kind::Write],
        &[Kind::Sync],
        // Written, not synced, and not to be cut off again.
        &[Kind::Sync, Kind::Truncate],
        &[
            Kind::Write,
            Kind::Sync,
            Kind::Create,
            Kind::Truncate,
            Kind::Rename,
            Kind::Link,
            Kind::Mode,
            Kind::Unlink,
        ],
    ];
    for error in errors {
        for kinds in kinds {
            let state = Installation::new();
            let broken = Switch::turned_off();
            let watch = Watch::of(kinds.iter().copied()).under(state.audit());
            let plan = Plan::at(1, watch, Deed::Fail(error, Span::While(broken.clone())));
            let mut command = program(&state, mail.path());
            command.arg("stdio");
            let mut client = McpClient::over(Trapped::spawn(command, plan));
            client.initialize();
            let before = ask(&mut client);
            assert_eq!(before.code, None);
            broken.on();
            let during: Vec<Told> = (0..3).map(|_| ask(&mut client)).collect();
            assert!(
                during.iter().all(|told| told.code.as_deref() == REFUSED),
                "{error:?} {kinds:?}"
            );
            broken.off();
            let after = ask(&mut client);
            assert_eq!(after.code, None, "{error:?} {kinds:?}: it did not heal");
            end(client);
            let records = state.records();
            has_record(&records, &before.meta).unwrap();
            has_record(&records, &after.meta).unwrap();
            all_are_told(&records, during.len());
            state.verify();
        }
    }
}

#[test]
fn a_disk_that_fails_from_the_start_refuses_calls_and_heals() {
    let mail = mail();
    for kinds in [
        &[Kind::Create][..],
        &[Kind::Create, Kind::MakeDir],
        &[Kind::Write],
        &[Kind::Sync],
        &[Kind::Rename, Kind::Link],
    ] {
        let state = Installation::new();
        let broken = Switch::turned_on();
        let watch = Watch::of(kinds.iter().copied()).under(state.audit());
        let plan = Plan::at(
            1,
            watch,
            Deed::Fail(Errno::EACCES, Span::While(broken.clone())),
        );
        let mut command = program(&state, mail.path());
        command.arg("stdio");
        let mut client = McpClient::over(Trapped::spawn(command, plan));
        client.initialize();
        let during: Vec<Told> = (0..2).map(|_| ask(&mut client)).collect();
        assert!(
            during.iter().all(|told| told.code.as_deref() == REFUSED),
            "{kinds:?}"
        );
        broken.off();
        let after = ask(&mut client);
        assert_eq!(after.code, None, "{kinds:?}: it did not heal");
        end(client);
        let records = state.records();
        has_record(&records, &after.meta).unwrap();
        all_are_told(&records, during.len());
        let started = records
            .iter()
            .filter(|record| record.event == "start")
            .count();
        assert_eq!(started, 1, "what was said while it failed is not lost");
    }
}

#[test]
fn a_sync_that_fails_leaves_no_record_that_was_not_durable_before_the_next_one() {
    let mail = mail();
    let state = Installation::new();
    let watch = Watch::of([Kind::Sync]).under(state.audit());
    let broken = Switch::turned_off();
    let plan = Plan::at(
        1,
        watch,
        Deed::Fail(Errno::EIO, Span::While(broken.clone())),
    );
    let mut command = program(&state, mail.path());
    command.arg("stdio");
    let mut client = McpClient::over(Trapped::spawn(command, plan));
    client.initialize();
    ask(&mut client);
    let before = state.records().len();
    broken.on();
    assert_eq!(ask(&mut client).code.as_deref(), REFUSED);
    assert_eq!(state.records().len(), before);
    broken.off();
    ask(&mut client);
    end(client);
}

#[test]
fn a_full_disk_refuses_calls_until_there_is_room() {
    let mail = mail();
    let state = Installation::new();
    // A disk of its own, seen by the program alone.
    fs::create_dir(state.state()).unwrap();
    let script = r#"mount -t tmpfs -o size=128k tmpfs "$MAILWARDEN_STATE_DIR" && exec "$0" stdio"#;
    let mut command = Command::new("unshare");
    let inner = program(&state, mail.path());
    command
        .args(["--map-root-user", "--mount", "sh", "-c", script])
        .arg(inner.get_program());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let mut client = McpClient::spawn(command);
    client.initialize();
    let before = ask(&mut client);
    assert_eq!(before.code, None);
    let inside = Path::new("/proc")
        .join(client.pid().to_string())
        .join("root");
    let disk = inside.join(state.state().strip_prefix("/").unwrap());
    // As many bytes as fit.
    let ballast = disk.join("ballast");
    let _ = fs::write(&ballast, vec![0; 1 << 20]);
    let mut refused = 0;
    let mut answered = vec![before];
    // The last page of the file may still have room for some.
    while refused < 3 {
        let told = ask(&mut client);
        match told.code.as_deref() {
            None => answered.push(told),
            code => {
                assert_eq!(code, REFUSED);
                refused += 1;
            }
        }
        assert!(answered.len() < 100, "the disk never fills up");
    }
    fs::remove_file(&ballast).unwrap();
    let after = ask(&mut client);
    assert_eq!(after.code, None, "it did not heal");
    answered.push(after);
    // The disk goes with the program: what is on it is looked at before that.
    let kept = Installation::new();
    fs::create_dir_all(kept.audit()).unwrap();
    for entry in fs::read_dir(disk.join("audit")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), kept.audit().join(entry.file_name())).unwrap();
    }
    let records = kept.records();
    for told in &answered {
        has_record(&records, &told.meta).unwrap();
    }
    all_are_told(&records, refused);
    end(client);
}

#[test]
fn a_directory_that_is_deleted_is_made_again_and_the_chain_goes_on() {
    let mail = mail();
    let state = Installation::new();
    let mut client = start(program(&state, mail.path()));
    let before = ask(&mut client);
    // Its owner may be writing a file there while it goes.
    while state.audit().exists() {
        let _ = fs::remove_dir_all(state.audit());
    }
    let after = ask(&mut client);
    end(client);
    let seq = |told: &Told| told.meta["receipt"]["seq"].as_u64().unwrap();
    assert_eq!(after.code, None);
    assert!(seq(&after) > seq(&before), "the numbers go on");
    assert_eq!(
        before.meta["receipt"]["log_id"],
        after.meta["receipt"]["log_id"]
    );
    let day = audit::days(&state.audit()).unwrap().remove(0);
    let text = fs::read_to_string(day.path).unwrap();
    let events: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(events[1]["event"], "log_cut");
    assert!(
        events
            .iter()
            .any(|record| record["hash"] == after.meta["receipt"]["leaf_hash"])
    );
}
