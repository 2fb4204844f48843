//! What is there when all is over: the mail, by plain IMAP, and the logs, as they lie on the disk. It judges nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::judge::{Chain, Record};
use super::model::{Lying, Spot};
use super::world::{ACCOUNTS, World, account};

/// Every message of every folder of every account.
pub(super) fn mail(world: &World) -> Vec<Lying> {
    let mut all = Vec::new();
    for account in (0..ACCOUNTS).map(account) {
        let mut imap = world.login(&account);
        let listed = imap.command("LIST \"\" \"*\"").lines();
        let folders = listed.iter().filter_map(|line| line.rsplit(' ').next());
        for folder in folders.map(|name| name.trim_matches('"')) {
            imap.command(&format!("EXAMINE \"{folder}\""));
            let told = imap.command(
                "UID FETCH 1:* (UID FLAGS RFC822.SIZE BODY.PEEK[HEADER.FIELDS (MESSAGE-ID SUBJECT)])",
            );
            let spot = Spot::new(&account, folder);
            let lines = told.lines().into_iter();
            all.extend(
                lines
                    .filter(|line| line.contains(" FETCH ("))
                    .map(|line| message(&line, &spot)),
            );
        }
    }
    all
}

fn message(line: &str, spot: &Spot) -> Lying {
    let number = |name: &str| {
        let (_, rest) = line.split_once(name)?;
        rest.split([' ', ')']).next()?.parse().ok()
    };
    let flags = line
        .split_once("FLAGS (")
        .and_then(|(_, rest)| rest.split_once(')'));
    let flags = flags.map_or("", |(flags, _)| flags).split(' ');
    let ours = flags.filter(|flag| !flag.is_empty() && *flag != "\\Recent");
    let field = |name: &str| line.lines().find_map(|line| line.strip_prefix(name));
    let own = field("Message-ID: ").filter(|id| id.ends_with("@replicas.example>"));
    let name = own.or_else(|| field("Subject: ")).unwrap_or(line);
    Lying {
        name: name.to_owned(),
        spot: spot.clone(),
        uid: number("UID "),
        flags: ours.map(str::to_owned).collect::<BTreeSet<_>>(),
        size: number("RFC822.SIZE "),
    }
}

/// Whether the program finds all these logs good, and what else it says.
pub(super) fn verify(program: &Path, logs: &[PathBuf]) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(["audit", "verify"]);
    for log in logs {
        command.arg("--dir").arg(log);
    }
    let told = command.output().map_err(|error| error.to_string())?;
    let said = [told.stdout, told.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    match told.status.success() {
        true => Ok(said),
        false => Err(format!("the logs do not verify: {said}")),
    }
}

/// A log, record by record.
pub(super) fn chain(log: &Path) -> Result<Chain, String> {
    let bad = |error: &dyn std::fmt::Display| format!("{}: {error}", log.display());
    let verifier = audit::verifier(log).map_err(|error| bad(&error))?;
    let files = fs::read_dir(log).map_err(|error| bad(&error))?;
    let mut days: Vec<PathBuf> = files.flatten().map(|entry| entry.path()).collect();
    days.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    days.sort();
    let mut records = Vec::new();
    for day in days {
        let text = fs::read_to_string(&day).map_err(|error| bad(&error))?;
        for line in text.lines() {
            let record: Value = serde_json::from_str(line).map_err(|error| bad(&error))?;
            let text = |name: &str| record.get(name).and_then(Value::as_str).map(str::to_owned);
            let seq = record.get("seq").and_then(Value::as_u64);
            let (Some(seq), Some(hash)) = (seq, text("hash")) else {
                return Err(bad(&format!("a record without number or hash: {line}")));
            };
            records.push(Record {
                seq,
                hash,
                request: text("request_id"),
            });
        }
    }
    Ok(Chain {
        log: verifier.log_id().as_str().to_owned(),
        records,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_read_as_the_server_tells_it() {
        let line = "* 3 FETCH (UID 12 FLAGS (\\Seen $Work \\Recent) RFC822.SIZE 210 BODY[HEADER.FIELDS (MESSAGE-ID SUBJECT)] {60}\r\n\
                    Subject: letter 4\r\nMessage-ID: <w1.2@replicas.example>\r\n\r\n)";
        let spot = Spot::new("a0", "Left");
        let read = message(line, &spot);
        assert_eq!(read.name, "<w1.2@replicas.example>");
        assert_eq!((read.uid, read.size), (Some(12), Some(210)));
        assert_eq!(
            read.flags,
            BTreeSet::from(["$Work".to_owned(), "\\Seen".to_owned()])
        );
        let draft = line.replace("replicas.example", "mailwarden.invalid");
        assert_eq!(message(&draft, &spot).name, "letter 4");
    }
}
