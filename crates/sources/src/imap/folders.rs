//! The job that lists folders: one `LIST`, with special use, and counts if they are wanted, where the server adds them.

use std::collections::{HashMap, HashSet};

use imap::command::ListReturn;
use imap::{Command, Data, List, MailboxStatus, Status, utf7};
use mail::{Counts, Cx, Fault, FaultKind, Folder, FolderName, Folders, SpecialUse, Stage};

use super::faults;
use super::job::Job;
use super::link::Landed;
use super::quirks::{Finding, false_list};
use super::session::{Pace, Session};

/// What is to be told of each folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ListFolders {
    Names,
    /// A server has to open every folder for them.
    Counts,
}

impl Job for ListFolders {
    type Out = Folders;

    fn folder(&self) -> Option<&FolderName> {
        None
    }

    async fn run(&self, session: &mut Session, cx: &Cx) -> Result<Folders, Fault> {
        cx.enter(Stage::ListFolders);
        let offered = session.capabilities();
        let extended = offered.has("LIST-EXTENDED") || offered.has("IMAP4REV2");
        let returns = ListReturn {
            special_use: extended && (offered.has("SPECIAL-USE") || offered.has("IMAP4REV2")),
            status: *self == Self::Counts
                && extended
                && (offered.has("LIST-STATUS") || offered.has("IMAP4REV2")),
        };
        let (mut status, mut landed) = list(session, cx, returns).await?;
        if returns != ListReturn::default() && false_list::shows(&status, &landed.data) {
            session.find_out(Finding::ListLies);
            (status, landed) = list(session, cx, ListReturn::default()).await?;
        }
        faults::check(&status, Stage::ListFolders)?;
        let mut found = read(&landed.data);
        if session.is_gmail() {
            session.names.take(&mut found.folders);
        }
        Ok(found)
    }
}

async fn list(
    session: &mut Session,
    cx: &Cx,
    returns: ListReturn,
) -> Result<(Status, Landed), Fault> {
    let command = Command::list_all(returns);
    let mut landed = session.ask(cx, vec![command], Pace::Prompt).await?;
    let status = landed.statuses.pop();
    let status = status.ok_or_else(|| Fault::new(FaultKind::Protocol, Stage::ListFolders))?;
    Ok((status, landed))
}

/// More folders than this are counted and not kept.
const MOST: usize = 10_000;

fn read(data: &[Data]) -> Folders {
    let mut found = Folders::default();
    let statuses = data.iter().filter_map(|one| match one {
        Data::MailboxStatus(status) => Some((key(&status.name), status)),
        _ => None,
    });
    let counts: HashMap<Vec<u8>, &MailboxStatus> = statuses.collect();
    let mut seen: HashSet<FolderName> = HashSet::new();
    for one in data {
        // INVARIANT: a line that cannot be read is a folder that is not shown, not one that is not
        // there.
        found.unusable += usize::from(matches!(one, Data::Other(line) if is_list(line)));
        let Data::List(list) = one else { continue };
        // A name that only has children is not a folder that can be opened.
        if list.has("\\Noselect") || list.has("\\NonExistent") {
            continue;
        }
        let name = utf7::decode(&list.name).and_then(|name| FolderName::new(name).ok());
        let Some(name) = name.filter(|_| seen.len() < MOST) else {
            found.unusable += 1;
            continue;
        };
        if !seen.insert(name.clone()) {
            continue;
        }
        let status = counts.get(&key(&list.name));
        found.folders.push(Folder {
            name,
            delimiter: list.delimiter,
            special_use: special_use(list),
            counts: status.and_then(|status| {
                Some(Counts {
                    messages: status.messages?,
                    unread: status.unseen?,
                })
            }),
        });
    }
    found
}

fn is_list(line: &[u8]) -> bool {
    line.split(|octet| *octet == b' ')
        .next()
        .is_some_and(|word| word.eq_ignore_ascii_case(b"LIST"))
}

/// INBOX is spelled in any case, in `LIST` and in `STATUS`.
fn key(name: &[u8]) -> Vec<u8> {
    match name.eq_ignore_ascii_case(b"INBOX") {
        true => b"INBOX".to_vec(),
        false => name.to_vec(),
    }
}

fn special_use(list: &List) -> Option<SpecialUse> {
    list.attributes
        .iter()
        .find_map(|attribute| SpecialUse::from_attribute(attribute))
}
