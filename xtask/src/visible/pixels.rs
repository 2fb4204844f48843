//! Whether a person sees a run of text: the page is drawn again with other letters in its place,
//! and the pixels are compared.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::{Value, json};

use super::browser::{Browser, Shot, Tab, WINDOW};
use super::sample::Sample;
use crate::tree::Outcome;

const WINDOW_PIXELS: usize = (WINDOW.0 * WINDOW.1) as usize;

/// Tabs that draw at the same time.
const TABS: usize = 3;

/// Applies `draw` to every item in several tabs; the results are in the order of the items. `None`
/// stands for a page that breaks the browser.
pub(super) fn in_tabs<T: Sync, R: Send>(
    browser: &Browser,
    items: &[T],
    draw: impl Fn(&Tab, &T) -> Outcome<R> + Sync,
) -> Outcome<Vec<Option<R>>> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    thread::scope(|scope| {
        let work = || -> Outcome<()> {
            let mut tab = browser.tab()?;
            while let Some((nth, item)) = {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                items.get(nth).map(|item| (nth, item))
            } {
                if nth > 0 && nth.is_multiple_of(500) {
                    eprintln!("visible: {nth} of {} pages", items.len());
                }
                // A tab that a page broke is replaced.
                let mut result = draw(&tab, item);
                for _ in 0..2 {
                    let Err(error) = &result else { break };
                    eprintln!("visible: page {nth}: {error}");
                    tab = browser.tab()?;
                    result = draw(&tab, item);
                }
                let result = result.ok();
                if let Ok(mut results) = results.lock() {
                    results.push((nth, result));
                }
            }
            Ok(())
        };
        let workers: Vec<_> = (0..TABS).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err("a tab's thread panicked".to_owned()))
        })
    })?;
    let mut results = results.into_inner().map_err(|error| error.to_string())?;
    results.sort_by_key(|(nth, _)| *nth);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Replaces a text in every text node, in open shadow trees too, and returns how often.
const SWAP: &str = r#"((from, to) => {
  let count = 0;
  const walk = (root) => {
    for (const node of [...root.childNodes]) {
      if (node.nodeType === 3 && node.data.includes(from)) {
        node.data = node.data.replaceAll(from, to);
        count++;
      }
      if (node.shadowRoot) walk(node.shadowRoot);
      if (node.localName !== "style" && node.localName !== "script") walk(node);
    }
  };
  walk(document);
  return count;
})"#;

/// How much of a page counts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// What the window shows first.
    Window,
    /// All that scrolling the window shows.
    Page,
}

/// Measures every run: its letters are replaced alone, and the pictures compared.
pub(super) fn measure(tab: &Tab, sample: &Sample, extent: Extent) -> Outcome<Sample> {
    let mut page = sample.clone();
    tab.load(&page.html)?;
    let screens = match extent {
        Extent::Window => vec![(0, 0)],
        Extent::Page => tab.screens()?,
    };
    let base = tab.shots(&screens)?;
    let moving = differing(&base, &tab.shots(&screens)?)?;
    let is_alone = page.runs.len() == 1;
    let mut is_base = true;
    for run in &mut page.runs {
        let other: String = run.secret.chars().map(other_letter).collect();
        if !is_base {
            tab.load(&page.html)?;
            is_base = true;
        }
        // Replacing the letters in the page is faster than to load it again. What is no text node
        // there, such as an attribute or a closed shadow tree, is replaced in the source.
        let is_swapped = !is_alone && tab.evaluate(&call(&run.secret, &other))? == json!(1);
        if !is_swapped {
            is_base = false;
            tab.load(&page.html.replace(&run.secret, &other))?;
        }
        let differing = differing(&base, &tab.shots(&screens)?)?
            .into_iter()
            .enumerate();
        let of_run = |(at, differs): &(usize, bool)| *differs && moving.get(*at) != Some(&true);
        run.pixels = differing.filter(of_run).count();
        if is_swapped {
            tab.evaluate(&call(&other, &run.secret))?;
        }
    }
    Ok(page)
}

/// Which pixels differ, screen by screen.
fn differing(base: &[Shot], other: &[Shot]) -> Outcome<Vec<bool>> {
    let mut pixels = Vec::new();
    for (nth, (base, other)) in base.iter().zip(other).enumerate() {
        pixels.resize(nth * WINDOW_PIXELS, false);
        pixels.extend(base.differing(other)?);
    }
    Ok(pixels)
}

fn call(from: &str, to: &str) -> String {
    format!("{SWAP}({}, {})", Value::from(from), Value::from(to))
}

/// Another letter or digit, so that a run keeps its length.
fn other_letter(letter: char) -> char {
    let turned =
        |first: u8, count: u8| char::from(first + (letter as u8 - first + count / 2) % count);
    match letter {
        'a'..='z' => turned(b'a', 26),
        'A'..='Z' => turned(b'A', 26),
        '0'..='9' => turned(b'0', 10),
        other => other,
    }
}
