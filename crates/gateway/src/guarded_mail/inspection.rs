//! Every message of a folder by its facts, for the operator: what a policy would judge, and a line to know it by.

use content::{Changes, UnknownFact};
use mail::{
    Condition, FactsBuf, Fault, FaultKind, FolderName, Level, Stage, Summary, Uid, UidSet,
    UidValidity,
};

use super::learning::Lesson;
use super::{GuardedMail, Halt};

/// So many messages are asked for at once: few enough that progress can be seen.
const BATCH: u32 = 1_000;
/// Characters of a line.
const MOST_SHOWN: usize = 120;

/// Which messages of a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    All,
    One(Uid),
}

/// A folder as the operator sees it.
#[derive(Clone)]
pub struct Inspection {
    pub uidvalidity: UidValidity,
    /// By ascending UID. What went away meanwhile is not there.
    pub messages: Vec<Inspected>,
}

#[derive(Clone)]
pub struct Inspected {
    pub uid: Uid,
    pub facts: FactsBuf,
    /// Facts that the message does not give.
    pub unknown: Vec<UnknownFact>,
    /// One line that is safe to show: date, sender, subject.
    pub shown: String,
}

/// Told how many of how many messages were looked at.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Send + Sync);

impl GuardedMail<'_> {
    pub(crate) async fn inspect(
        &self,
        folder: &FolderName,
        which: Which,
        progress: Progress<'_>,
    ) -> Result<Inspection, Halt> {
        self.needs(folder, Level::Envelope).await?;
        self.cx.enter(Stage::Search);
        let source = self.account.source();
        let everything = [Condition::EVERYTHING];
        let sifted = source.sift(self.cx, folder, &everything).await?;
        let uidvalidity = sifted.uidvalidity;
        let all = sifted.sets.into_iter().next().unwrap_or_default();
        let wanted = match which {
            Which::All => all,
            Which::One(uid) => all.intersection(&UidSet::range(uid, uid)),
        };
        self.cx.enter(Stage::Fetch);
        let total = wanted.len();
        progress(0, total);
        let shelf = self.account.knowledge.shelf(folder);
        let mut messages = Vec::new();
        let (mut done, mut rest) = (0, wanted);
        while !rest.is_empty() {
            let batch = rest.split_lowest(BATCH);
            done += batch.len();
            let lesson = Lesson {
                folder,
                uidvalidity,
                shelf: &shelf,
            };
            let found = self.described(&lesson, batch).await?;
            let read = move || -> Vec<Inspected> { found.iter().map(Inspected::new).collect() };
            let read = tokio::task::spawn_blocking(read).await;
            let read = read.map_err(|_| Fault::new(FaultKind::Protocol, Stage::Fetch))?;
            messages.extend(read);
            progress(done, total);
        }
        messages.sort_by_key(|one| one.uid);
        messages.dedup_by_key(|one| one.uid);
        Ok(Inspection {
            uidvalidity,
            messages,
        })
    }
}

impl Inspected {
    fn new(summary: &Summary) -> Self {
        Self {
            uid: summary.uid,
            facts: content::facts(summary),
            unknown: content::unknown_facts(summary),
            shown: line(summary),
        }
    }
}

fn line(summary: &Summary) -> String {
    let mut changes = Changes::default();
    let envelope = content::summary_envelope(summary);
    let envelope = envelope.as_ref();
    let date = content::date(
        envelope.and_then(|said| said.date.as_ref()),
        summary.arrived,
    );
    let from = envelope.and_then(|said| content::addresses(&said.from, &mut changes));
    let subject = envelope.and_then(|said| said.subject.as_ref());
    let subject = subject.map(|raw| content::header_text(raw, &mut changes));
    let parts = [date.map(|date| date.text), from, subject]
        .map(|part| part.unwrap_or_else(|| "-".to_owned()));
    let line = parts.join("  ");
    // The shield leaves line breaks in no header; a line stays one whatever comes.
    let one_line = |sign: char| if sign.is_control() { ' ' } else { sign };
    let mut short: String = line.chars().map(one_line).take(MOST_SHOWN).collect();
    if line.chars().nth(MOST_SHOWN).is_some() {
        short.push('…');
    }
    short
}
