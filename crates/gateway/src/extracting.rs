//! The jobs that take text out of attachments, a few of them at a time.

use std::collections::HashMap;
use std::sync::Arc;

use content::Extractions;
use mail::{ExtractFault, ExtractJob, Extractor, Section};
use tokio::task::JoinSet;

/// Attachments of one message that are read at the same time.
const MOST: usize = 2;

/// Each job has an answer. Dropping the future ends those that run.
pub(crate) async fn run(
    extractor: Option<&Arc<dyn Extractor>>,
    jobs: Vec<(Section, ExtractJob)>,
) -> Extractions {
    let Some(extractor) = extractor else {
        let none = |(section, _)| (section, Err(ExtractFault::Unavailable));
        return jobs.into_iter().map(none).collect();
    };
    let mut done = Extractions::new();
    let mut running = JoinSet::new();
    let mut sections = HashMap::new();
    let mut waiting = jobs.into_iter();
    loop {
        while running.len() < MOST
            && let Some((section, job)) = waiting.next()
        {
            let extractor = Arc::clone(extractor);
            let task = running.spawn(async move { extractor.text(job).await });
            sections.insert(task.id(), section);
        }
        let (id, result) = match running.join_next_with_id().await {
            Some(Ok(answered)) => answered,
            Some(Err(fell)) => (fell.id(), Err(ExtractFault::Crashed)),
            None => return done,
        };
        done.extend(sections.remove(&id).map(|section| (section, result)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use mail::{ExtractedText, Extracting, Format, Raw};

    use super::*;

    /// Gives back what it was given, and falls over an empty job.
    #[derive(Default)]
    struct Echo {
        at_once: AtomicUsize,
        most: AtomicUsize,
    }

    impl Extractor for Echo {
        fn text<'a>(&'a self, job: ExtractJob) -> Extracting<'a> {
            Box::pin(async move {
                let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(now, Ordering::SeqCst);
                tokio::task::yield_now().await;
                self.at_once.fetch_sub(1, Ordering::SeqCst);
                assert!(!job.bytes.is_empty(), "nothing to read");
                Ok(ExtractedText {
                    text: Raw::new(job.bytes),
                    ..ExtractedText::default()
                })
            })
        }
    }

    fn jobs(texts: &[&'static str]) -> Vec<(Section, ExtractJob)> {
        let job = |text: &&'static str| ExtractJob {
            format: Format::Pdf,
            bytes: text.as_bytes().into(),
            max_chars: 10,
        };
        let numbered = texts.iter().zip(1..);
        numbered
            .map(|(text, number)| (Section::new(vec![number]).unwrap(), job(text)))
            .collect()
    }

    #[tokio::test]
    async fn each_job_has_an_answer_and_few_run_at_once() {
        let echo = Arc::new(Echo::default());
        let extractor: Arc<dyn Extractor> = echo.clone();
        let mut done = run(Some(&extractor), jobs(&["a", "b", "", "d", "e"])).await;
        done.sort_by(|(one, _), (other, _)| one.cmp(other));
        let told: Vec<_> = done
            .iter()
            .map(|(at, result)| (at.to_string(), result.as_ref().map(|one| one.text.bytes())))
            .collect();
        let ok = |at: &str, text: &'static [u8]| (at.to_owned(), Ok(text));
        assert_eq!(
            told,
            [
                ok("1", b"a"),
                ok("2", b"b"),
                ("3".to_owned(), Err(&ExtractFault::Crashed)),
                ok("4", b"d"),
                ok("5", b"e"),
            ]
        );
        assert!(echo.most.load(Ordering::SeqCst) <= MOST);
    }

    #[tokio::test]
    async fn without_a_reader_there_is_no_text() {
        let done = run(None, jobs(&["a"])).await;
        assert_eq!(done[0].1, Err(ExtractFault::Unavailable));
        assert!(run(None, Vec::new()).await.is_empty());
    }
}
