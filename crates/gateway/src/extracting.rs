//! The jobs that take text out of attachments, a few of them at a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use content::Extractions;
use mail::{ExtractFault, ExtractJob, Extractor, Section};
use tokio::task::JoinSet;

/// Attachments of one message that are read at the same time.
const MOST: usize = 2;
/// For all attachments of one message: fifty that each take as long as one may would outlast the patience of whoever
/// asked, and the message itself would never be seen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Each job has an answer; those that had none when the time was up took too long. Dropping the future ends those
/// that run.
pub(crate) async fn run(
    extractor: Option<&Arc<dyn Extractor>>,
    jobs: Vec<(Section, ExtractJob)>,
    time_up: impl Future<Output = ()>,
) -> Extractions {
    let Some(extractor) = extractor else {
        let none = |(section, _)| (section, Err(ExtractFault::Unavailable));
        return jobs.into_iter().map(none).collect();
    };
    tokio::pin!(time_up);
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
        let next = tokio::select! {
            biased;
            next = running.join_next_with_id() => next,
            () = &mut time_up => {
                let begun = sections.into_values();
                let late = begun.chain(waiting.map(|(section, _)| section));
                done.extend(late.map(|section| (section, Err(ExtractFault::TimedOut))));
                return done;
            }
        };
        let (id, result) = match next {
            Some(Ok(answered)) => answered,
            Some(Err(fell)) => (fell.id(), Err(ExtractFault::Crashed)),
            None => return done,
        };
        done.extend(sections.remove(&id).map(|section| (section, result)));
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;
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
        let mut done = run(Some(&extractor), jobs(&["a", "b", "", "d", "e"]), pending()).await;
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

    /// Answers the first job and no other.
    #[derive(Default)]
    struct Tired(AtomicUsize);

    impl Extractor for Tired {
        fn text<'a>(&'a self, _: ExtractJob) -> Extracting<'a> {
            Box::pin(async move {
                if self.0.fetch_add(1, Ordering::SeqCst) > 0 {
                    pending::<()>().await;
                }
                Ok(ExtractedText::default())
            })
        }
    }

    #[tokio::test]
    async fn a_message_of_slow_attachments_is_answered_with_what_there_is() {
        let tired = Arc::new(Tired::default());
        let extractor: Arc<dyn Extractor> = tired.clone();
        // Two begin at once: the third does when one is answered.
        let third_begun = async {
            while tired.0.load(Ordering::SeqCst) < 3 {
                tokio::task::yield_now().await;
            }
        };
        let all = jobs(&["a", "b", "c", "d", "e"]);
        let done = run(Some(&extractor), all, third_begun).await;
        let answered = |wanted: Result<(), ExtractFault>| {
            let results = done.iter().map(|(_, result)| result.as_ref());
            results
                .filter(|result| result.map(|_| ()).map_err(|fault| *fault) == wanted)
                .count()
        };
        assert_eq!(answered(Ok(())), 1);
        assert_eq!(answered(Err(ExtractFault::TimedOut)), 4);
        // Nobody waits for those that run any more.
        drop(extractor);
        while Arc::strong_count(&tired) > 1 {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn without_a_reader_there_is_no_text() {
        let done = run(None, jobs(&["a"]), pending()).await;
        assert_eq!(done[0].1, Err(ExtractFault::Unavailable));
        assert!(run(None, Vec::new(), pending()).await.is_empty());
    }
}
