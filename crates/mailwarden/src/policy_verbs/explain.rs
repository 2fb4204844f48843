//! `policy explain`: what a caller gets in one folder, or of one message, and why.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use gateway::{Code, Gateway, Inspected, Which};
use mail::{AccountId, Cx, FolderName, Level, Uid};
use policy::{Explanation, FolderPolicy, Refused, Scope, Written};
use serde_json::{Value, json};

use super::{Form, caller, form, print, words};
use crate::cli::PolicyExplain;
use crate::config::{self, dir::CallerConfig};
use crate::screen::Screen;

/// What is asked about.
struct Place<'a> {
    caller: &'a CallerConfig,
    account: AccountId,
    folder: FolderName,
}

impl<'a> Place<'a> {
    fn new(wanted: &PolicyExplain, callers: &'a [CallerConfig]) -> anyhow::Result<Self> {
        let account = AccountId::new(&wanted.account);
        let folder = FolderName::new(&wanted.folder);
        Ok(Self {
            caller: caller(callers, &wanted.caller)?,
            account: account.context("--account is no name that an account can have")?,
            folder: folder.context("--folder is no name that a folder can have")?,
        })
    }

    /// What the policy says of the folder, or what its caller is told instead, and why that is so.
    fn policy(&self) -> Result<&'a FolderPolicy, (Refused, String)> {
        let policy = &self.caller.policy;
        if let Some(folder) = policy.folder(&self.account, &self.folder) {
            return Ok(folder);
        }
        let name = policy.name();
        Err(match policy.shows_account(&self.account) {
            true => (
                Refused::FolderHidden,
                format!("the policy {name} gives nothing in this folder"),
            ),
            false => (
                Refused::AccountHidden,
                format!("the policy {name} gives nothing in this account"),
            ),
        })
    }

    fn title(&self) -> String {
        format!(
            "{} (policy {}) in {} / {}",
            self.caller.id,
            self.caller.policy.name(),
            self.account,
            self.folder
        )
    }

    fn json(&self) -> Value {
        json!({
            "caller": self.caller.id,
            "policy": self.caller.policy.name(),
            "account": self.account.as_str(),
            "folder": self.folder.as_str(),
        })
    }
}

/// Looks at no mail.
pub(super) fn folder(
    wanted: &PolicyExplain,
    directory: &Path,
    screen: Screen,
) -> anyhow::Result<ExitCode> {
    let loaded = match config::dir::load(directory, std::env::vars_os()) {
        Ok(loaded) => loaded,
        Err(problems) => return Ok(config::verb::refuse(&problems)),
    };
    let place = Place::new(wanted, &loaded.callers)?;
    if !loaded.accounts.iter().any(|one| one.id == place.account) {
        bail!("accounts.yaml has no account '{}'", place.account);
    }
    let policy = place.policy();
    match form(wanted.json) {
        Form::Json => print(screen, &folder_json(&place, policy)),
        Form::Words => {
            for line in folder_lines(&place, policy, screen) {
                screen.line(line);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn folder_lines(
    place: &Place<'_>,
    policy: Result<&FolderPolicy, (Refused, String)>,
    screen: Screen,
) -> Vec<String> {
    let title = screen.bold(place.title());
    let folder = match policy {
        Ok(folder) => folder,
        Err((refused, why)) => {
            let name = screen.warn(refused.name());
            return vec![format!("{title}: nothing"), format!("  {name}: {why}")];
        }
    };
    let mut lines = vec![
        format!(
            "{title}: {}, default {}",
            words::mode(folder.mode),
            folder.default.name()
        ),
        format!(
            "  a message has at least {} and at most {}",
            folder.floor().name(),
            folder.ceiling().name()
        ),
    ];
    if folder.path.exact().is_none() {
        lines.push(format!("  the entry {} covers this folder", folder.path));
    }
    let can: Vec<&str> = folder.capabilities.iter().map(|one| one.name()).collect();
    lines.push(match can.is_empty() {
        true => "  it may change nothing".to_owned(),
        false => format!("  it may {}", can.join(", ")),
    });
    for (index, rule) in folder.rules.iter().enumerate() {
        let words = words::rule(folder.mode, rule);
        lines.push(format!("  rule {} {words}", index + 1));
    }
    if !folder.rules.is_empty() {
        lines.push(format!("  {}", words::doubt(folder.mode)));
    }
    lines.push("  what a message gets:".to_owned());
    for (level, rules) in words::gets(folder) {
        let by = words::by_rules(&rules);
        lines.push(format!("    {:<8}  {by}", level.name()));
    }
    lines
}

fn folder_json(place: &Place<'_>, policy: Result<&FolderPolicy, (Refused, String)>) -> Value {
    let mut told = place.json();
    let more = match policy {
        Err((refused, why)) => json!({ "visible": false, "reason": refused.name(), "why": why }),
        Ok(folder) => {
            let rules = folder.rules.iter().enumerate().map(|(index, rule)| {
                let predicates = rule.predicates.iter();
                let predicates: Vec<String> =
                    predicates.map(|one| Written(one).to_string()).collect();
                json!({ "rule": index + 1, "level": rule.level.name(), "predicates": predicates })
            });
            let can = folder.capabilities.iter().map(|one| one.name());
            let gets = words::gets(folder).into_iter();
            json!({
                "visible": true,
                "path": folder.path.as_str(),
                "mode": words::mode(folder.mode),
                "default": folder.default.name(),
                "floor": folder.floor().name(),
                "ceiling": folder.ceiling().name(),
                "capabilities": can.collect::<Vec<_>>(),
                "rules": rules.collect::<Vec<_>>(),
                "gets": gets
                    .map(|(level, rules)| json!({ "level": level.name(), "rules": rules }))
                    .collect::<Vec<_>>(),
            })
        }
    };
    merge(&mut told, more);
    told
}

/// Looks at one message, at the server.
pub(super) async fn message(
    wanted: &PolicyExplain,
    uid: u32,
    gateway: &Gateway,
    callers: &[CallerConfig],
    screen: Screen,
) -> anyhow::Result<()> {
    let place = Place::new(wanted, callers)?;
    let setup = gateway.setup();
    if !setup
        .accounts()
        .iter()
        .any(|one| *one.id() == place.account)
    {
        bail!("accounts.yaml has no account '{}'", place.account);
    }
    let cx = Cx::new();
    let which = Which::One(Uid(uid));
    let found = gateway.inspect(&cx, &place.account, &place.folder, which, &|_, _| {});
    let found = found.await.map_err(|refusal| match refusal.code {
        Code::NotFound => anyhow!("{} has no folder '{}'", place.account, place.folder),
        _ => refusal.into(),
    })?;
    let Some(message) = found.messages.first() else {
        bail!(
            "{} / {} has no message with the UID {uid}",
            place.account,
            place.folder
        );
    };
    let now = jiff::Timestamp::now().as_second();
    let recipients = message.facts.recipient_lines();
    let facts = message.facts.borrow(&recipients);
    let explained = place.policy().map(|folder| {
        let explanation = folder.explain(&facts, now);
        (folder, explanation)
    });
    match form(wanted.json) {
        Form::Json => print(screen, &message_json(&place, message, explained)),
        Form::Words => {
            for line in message_lines(&place, message, explained, screen) {
                screen.line(line);
            }
        }
    }
    Ok(())
}

type Explained<'a> = Result<(&'a FolderPolicy, Explanation<'a>), (Refused, String)>;

/// What the caller is told, and what the audit log keeps.
fn reasons(folder: &FolderPolicy, explained: &Explanation<'_>) -> (&'static str, &'static str) {
    match Scope::Each(folder).admit(explained.judged, Level::Metadata) {
        Ok(reason) => (reason.name(), reason.name()),
        Err(denial) => (denial.refused.name(), denial.recorded()),
    }
}

fn message_lines(
    place: &Place<'_>,
    message: &Inspected,
    explained: Explained<'_>,
    screen: Screen,
) -> Vec<String> {
    let mut lines = vec![
        screen.bold(format!("{}, uid {}", place.title(), message.uid.0)),
        format!("  {}", screen.dim(&message.shown)),
    ];
    let (folder, explained) = match explained {
        Ok(explained) => explained,
        Err((refused, why)) => {
            let name = screen.warn(refused.name());
            lines.push(format!("  {}, {name}: {why}", Level::None.name()));
            return lines;
        }
    };
    let (told, recorded) = reasons(folder, &explained);
    let reason = match told == recorded {
        true => told.to_owned(),
        false => format!("{told}, recorded as {recorded}"),
    };
    lines.push(format!(
        "  {} by {}: {reason}",
        screen.good(explained.judged.level.name()),
        words::by(explained.judged.by)
    ));
    for (index, heard) in explained.rules.iter().enumerate() {
        let what = match folder.mode {
            policy::Mode::Whitelist => "grants",
            policy::Mode::Blacklist => "caps at",
        };
        let level = heard.rule.level.name();
        let voice = match heard.voice {
            policy::Voice::Speaks => "speaks",
            policy::Voice::SpeaksInDoubt => "speaks, because it cannot be told",
            policy::Voice::Silent => "is silent",
        };
        lines.push(format!("  rule {} {what} {level}: {voice}", index + 1));
        for (predicate, answer) in &heard.answers {
            lines.push(format!("    {:<7}  {}", answer.name(), Written(predicate)));
        }
    }
    if !message.unknown.is_empty() {
        lines.push("  unknown facts:".to_owned());
    }
    for fact in &message.unknown {
        lines.push(format!("    {}: {}", fact.name, fact.reason.text()));
    }
    lines
}

fn message_json(place: &Place<'_>, message: &Inspected, explained: Explained<'_>) -> Value {
    let mut told = place.json();
    merge(
        &mut told,
        json!({ "uid": message.uid.0, "shown": message.shown }),
    );
    let unknown = message.unknown.iter();
    let unknown: Vec<Value> = unknown
        .map(|fact| json!({ "fact": fact.name, "why": fact.reason.text() }))
        .collect();
    let more = match explained {
        Err((refused, why)) => json!({
            "level": Level::None.name(),
            "by": "hidden",
            "reason": refused.name(),
            "why": why,
        }),
        Ok((folder, explained)) => {
            let (reason, recorded) = reasons(folder, &explained);
            let rules = explained.rules.iter().enumerate().map(|(index, heard)| {
                let answers = heard.answers.iter().map(|(predicate, answer)| {
                    json!({ "predicate": Written(predicate).to_string(), "answer": answer.name() })
                });
                json!({
                    "rule": index + 1,
                    "level": heard.rule.level.name(),
                    "voice": heard.voice.name(),
                    "predicates": answers.collect::<Vec<_>>(),
                })
            });
            json!({
                "level": explained.judged.level.name(),
                "by": words::by(explained.judged.by),
                "reason": reason,
                "recorded": recorded,
                "rules": rules.collect::<Vec<_>>(),
            })
        }
    };
    merge(&mut told, more);
    merge(&mut told, json!({ "unknown_facts": unknown }));
    told
}

fn merge(into: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) {
        into.extend(more);
    }
}
