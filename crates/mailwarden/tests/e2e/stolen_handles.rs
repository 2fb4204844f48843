//! Handles in the wrong hands: fifty callers try each other's cursors, message ids, UIDs and resource URIs, and nothing is
//! served that is not theirs. Whoever is no caller is not served at all.
//!
//! Transaction ids belong here too, once there are transactions.

mod canaries;
mod handles;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use mail::Level;
use serde_json::{Value, json};
use testkit::{Delivery, Dovecot, McpClient, Seed, Seeds};

use crate::config_directory;
use canaries::Place;
use handles::{Handle, Theft};

const CALLERS: usize = 50;
const ACCOUNTS: usize = 20;
const UIDVALIDITY: u32 = 77;
/// A folder that no policy names.
const VAULT: &str = "Vault";

#[test]
fn nothing_is_served_for_what_was_stolen() {
    let server = serve();
    let dir = config_directory::place();
    configure(dir.path(), &server);
    let clients: Vec<Mutex<McpClient>> = in_two(&all_callers(), |caller| {
        Mutex::new(client(dir.path(), *caller))
    });
    let loot: Vec<Vec<Handle>> = in_two(&all_callers(), |caller| {
        handles::collect(&mut clients[*caller].lock().unwrap(), *caller)
    });
    let faults: Vec<Vec<String>> = in_two(&all_callers(), |thief| {
        let mut client = clients[*thief].lock().unwrap();
        let thefts = handles::thefts(*thief, &loot);
        let owners: BTreeSet<usize> = thefts.iter().filter_map(|theft| theft.owner).collect();
        assert_eq!(owners.len(), CALLERS - 1, "every other caller is robbed");
        let mut faults = rob(&mut client, *thief, &thefts);
        let stderr = canaries::in_text(&client.stderr());
        faults.extend(
            stderr
                .iter()
                .map(|word| format!("{word} on stderr of {thief}")),
        );
        faults
    });
    let faults: Vec<String> = faults.into_iter().flatten().collect();
    let some: Vec<&str> = faults.iter().take(10).map(String::as_str).collect();
    assert!(
        faults.is_empty(),
        "{} faults:\n{}",
        faults.len(),
        some.join("\n")
    );
    drop(clients);
    let log = audit_log(dir.path());
    assert!(
        log.lines().count() > CALLERS * CALLERS,
        "calls are recorded"
    );
    let heard = canaries::in_text(&log);
    assert!(heard.is_empty(), "the audit log holds {heard:?}");
}

#[test]
fn whoever_is_nobody_is_not_served_and_recorded() {
    let server = serve();
    let dir = config_directory::place();
    configure(dir.path(), &server);
    let (one, three) = (token(1), token(3));
    let nearly = one.strip_suffix('f').unwrap().to_owned();
    let attempts: [(&str, &str); 12] = [
        ("", ""),
        ("nobody", ""),
        ("c1", ""),
        ("C1", &one),
        ("c1 ", &one),
        ("c1", &three),
        ("c1", &nearly),
        ("c1", "wrong-wrong-wrong-wrong"),
        ("c2", &one),
        ("c3", &one),
        ("", &nearly),
        ("owner", ""),
    ];
    for (count, (id, token)) in (1..).zip(attempts) {
        let mut command = program(dir.path());
        command.env("IMAP_MCP_CALLER_ID", id);
        command.env("IMAP_MCP_CALLER_TOKEN", token);
        let (code, out, err) = ask_all(command);
        assert_eq!(code, Some(2), "{id}: {err}");
        assert_eq!(out, "", "{id}");
        for secret in [&one, &three, &nearly] {
            assert!(!err.contains(secret.as_str()), "{err}");
        }
        assert!(canaries::in_text(&err).is_empty(), "{err}");
        let log = audit_log(dir.path());
        assert_eq!(
            log.matches("\"caller_refused\"").count(),
            count,
            "{id}: {log}"
        );
        assert!(!log.contains("\"call\""), "{id}: {log}");
    }
    // The right one is served, so it was not for another reason.
    let mut command = program(dir.path());
    command.env("IMAP_MCP_CALLER_TOKEN", &one);
    let mut client = McpClient::spawn(command);
    client.initialize();
    let who = client.call("get_caller_identity", json!({}));
    assert_eq!(who.structured["data"]["caller_id"], json!("c1"));
}

fn all_callers() -> Vec<usize> {
    (0..CALLERS).collect()
}

/// The accounts of a caller, and how much of their INBOX it may see. Every account has several callers.
fn own(caller: usize) -> Vec<(usize, Level)> {
    let levels = [
        Level::Full,
        Level::Body,
        Level::Headers,
        Level::Envelope,
        Level::Metadata,
    ];
    let ids: BTreeSet<usize> = [caller, caller * 7 + 3, caller * caller + 5]
        .into_iter()
        .map(|id| id % ACCOUNTS)
        .collect();
    let each = ids.into_iter().enumerate();
    each.map(|(at, id)| (id, levels[(caller + at) % levels.len()]))
        .collect()
}

fn account(number: usize) -> String {
    format!("a{number}")
}

fn token(caller: usize) -> String {
    format!("token-of-{caller}-0123456789abcdef")
}

fn serve() -> Dovecot {
    let builder = (0..ACCOUNTS).fold(Dovecot::builder().folder(VAULT), |builder, number| {
        builder.user(&account(number), config_directory::PASSWORD)
    });
    let server = builder.start();
    for number in 0..ACCOUNTS {
        for (folder, messages) in [("INBOX", 3), (VAULT, 1)] {
            let raw = canaries::letter(number, folder);
            let seed = |uid| Seed {
                uid,
                delivery: Delivery::new(raw.clone()),
                keywords: Vec::new(),
            };
            let messages: Vec<Seed> = (1..=messages).map(seed).collect();
            let seeds = Seeds {
                uidvalidity: UIDVALIDITY,
                keywords: &[],
                messages: &messages,
            };
            server.seed(&account(number), folder, &seeds);
        }
    }
    server
}

fn configure(dir: &Path, server: &Dovecot) {
    let ids: Vec<String> = (0..ACCOUNTS).map(account).collect();
    let accounts = ids
        .iter()
        .map(|id| config_directory::account(id, id, server.port()));
    let accounts: Vec<Value> = accounts.collect();
    let mut callers = Vec::new();
    let mut policies = Vec::new();
    for caller in 0..CALLERS {
        let (id, policy) = (format!("c{caller}"), format!("p{caller}"));
        let auth = match caller % 2 {
            0 => json!({ "type": "stdio_trusted" }),
            _ => {
                json!({ "type": "shared_token", "token_secret_ref": format!("secret://callers/{id}") })
            }
        };
        callers.push(json!({
            "id": id, "policy": policy, "auth": auth, "toolsets": ["imap", "gateway"],
        }));
        let own: serde_json::Map<String, Value> = own(caller)
            .into_iter()
            .map(|(number, level)| {
                let inbox =
                    json!({ "path": "INBOX", "mode": "blacklist", "default": level.name() });
                (account(number), json!([inbox]))
            })
            .collect();
        policies.push(json!({ "name": policy, "accounts": own }));
    }
    config_directory::write(dir, &accounts, &callers, &policies);
}

/// The program with all tokens in its store, before it is said who calls.
fn program(dir: &Path) -> Command {
    let mut command = config_directory::program(dir);
    for caller in (1..CALLERS).step_by(2) {
        command.env(
            format!("IMAP_MCP_SECRET__CALLERS__C{caller}"),
            token(caller),
        );
    }
    command
}

fn client(dir: &Path, caller: usize) -> McpClient {
    let mut command = program(dir);
    command.env("IMAP_MCP_CALLER_ID", format!("c{caller}"));
    if caller % 2 == 1 {
        command.env("IMAP_MCP_CALLER_TOKEN", token(caller));
    }
    let mut client = McpClient::spawn(command);
    client.initialize();
    client
}

/// Tries everything, and tells what should not have happened.
fn rob(client: &mut McpClient, thief: usize, thefts: &[Theft]) -> Vec<String> {
    let sent: Vec<_> = thefts
        .iter()
        .map(|theft| client.send(theft.method, theft.params.clone()))
        .collect();
    let own = own(thief);
    let mut faults = Vec::new();
    for (theft, id) in thefts.iter().zip(sent) {
        let answer = client.wait(id);
        let (served, told) = match &answer {
            Ok(result) => (result["isError"] != json!(true), result.clone()),
            Err(error) => (false, json!([error.message, error.data])),
        };
        let wrong = match (served, theft.reason) {
            (true, Some(_)) => true,
            (false, Some(reason)) => !told.to_string().contains(reason),
            (_, None) => false,
        };
        if wrong {
            faults.push(format!(
                "c{thief} {} {}: {told}",
                theft.method, theft.params
            ));
        }
        for word in canaries::heard(&told) {
            let may_hear = own.iter().any(|(number, level)| {
                Place::ALL
                    .iter()
                    .any(|place| *level >= place.level() && word == place.word(*number, "INBOX"))
            });
            if !may_hear {
                faults.push(format!("c{thief} heard {word}: {}", theft.params));
            }
        }
    }
    faults
}

/// Asks as a client would, and waits for the end: exit code, stdout, stderr.
fn ask_all(mut command: Command) -> (Option<i32>, String, String) {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let call = |id: u32, name: &str| {
        let params = json!({ "name": name, "arguments": {} });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let lines = format!(
        "{}\n{}\n",
        call(1, "list_accounts"),
        call(2, "imap_list_accounts")
    );
    // It may be gone before it is asked.
    let _ = child.stdin.take().unwrap().write_all(lines.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

fn audit_log(dir: &Path) -> String {
    let files = fs::read_dir(dir.join("audit")).unwrap();
    let paths = files.map(|file| file.unwrap().path());
    let days = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    days.map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Each half on a thread of its own.
fn in_two<T: Sync, R: Send>(list: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let (left, right) = list.split_at(list.len() / 2);
    let half = |half: &[T]| half.iter().map(&work).collect::<Vec<R>>();
    std::thread::scope(|scope| {
        let right = scope.spawn(|| half(right));
        let mut done = half(left);
        done.extend(right.join().expect("the second half"));
        done
    })
}
