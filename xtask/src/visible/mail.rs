//! Real HTML mail: which of its texts a person sees, by pixels. Each text node is redrawn with the
//! letters of its words in reverse, which keeps its width.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::browser::{Shot, Tab};
use super::sample::{Judgement, Truth};
use crate::tree::Outcome;

/// Pages are drawn down to here. Text below is not judged.
const MAX_HEIGHT: u64 = 8000;

/// Pages are drawn up to here. Text to the right of it is not judged.
const MAX_WIDTH: u64 = 2000;

/// Fewer differing pixels than this are faint.
const FAINT_PIXELS: usize = 8;

/// Pictures taken of one page at most. Text that is not judged by then stays so.
const MAX_SHOTS: usize = 60;

/// An HTML part of a message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MailPage {
    /// The group and the name of the message.
    pub(super) name: String,
    pub(super) html: String,
}

/// What of a page is seen, in the order of the document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MailTruth {
    pub(super) name: String,
    pub(super) texts: Vec<Text>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Text {
    pub(super) text: String,
    pub(super) truth: Truth,
}

/// Collects the text nodes that look different in reverse: their text and where they are, in whole
/// pixels.
const COLLECT: &str = r#"(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*{font-kerning:none!important;font-variant-ligatures:none!important}");
  document.adoptedStyleSheets = [sheet];
  const turn = text => text.replace(/[\p{L}\p{N}]{2,}/gu, word => [...word].reverse().join(""));
  globalThis.nodes = [];
  const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    if (!["style", "script"].includes(node.parentNode.localName) && turn(node.data) !== node.data) nodes.push(node);
  }
  globalThis.turnNodes = (from, to) => { for (const node of nodes.slice(from, to)) node.data = turn(node.data); };
  const root = document.documentElement;
  return {
    width: root.scrollWidth,
    height: Math.max(root.scrollHeight, document.body?.scrollHeight ?? 0),
    nodes: nodes.map(node => {
      const range = document.createRange();
      range.selectNodeContents(node);
      const rects = [...range.getClientRects()].filter(rect => rect.width > 0 && rect.height > 0);
      return {
        text: node.data,
        rects: rects.map(r => [r.left + scrollX, r.top + scrollY, r.right + scrollX, r.bottom + scrollY].map(Math.round)),
      };
    }),
  };
})()"#;

#[derive(Deserialize)]
struct Collected {
    width: u64,
    height: u64,
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    text: String,
    /// Left, top, right, bottom.
    rects: Vec<[i64; 4]>,
}

pub(super) fn measure(tab: &Tab, page: &MailPage) -> Outcome<MailTruth> {
    tab.load(&page.html)?;
    let collected = tab.evaluate(COLLECT)?;
    let page_of: Collected =
        serde_json::from_value(collected).map_err(|error| format!("{}: {error}", page.name))?;
    let size = (
        page_of.width.clamp(900, MAX_WIDTH),
        page_of.height.clamp(600, MAX_HEIGHT),
    );
    let nodes = &page_of.nodes;
    let mut truths = vec![Truth::Unknown; nodes.len()];
    let base = tab.shot_of(size)?;
    turn(tab, 0..nodes.len())?;
    let turned = tab.shot_of(size)?;
    turn(tab, 0..nodes.len())?;
    let alone = pixels_of_each(nodes, size, &base, &turned)?;
    for (truth, pixels) in truths.iter_mut().zip(alone) {
        if pixels > FAINT_PIXELS {
            *truth = Truth::Visible;
        }
    }
    let mut measure = Measure {
        tab,
        size,
        base,
        shots: 2,
    };
    measure.judge(0..nodes.len(), &mut truths)?;
    let texts = nodes.iter().zip(truths).map(|(node, truth)| Text {
        text: node.text.clone(),
        truth: if node.is_outside(size) {
            Truth::Unknown
        } else {
            truth
        },
    });
    Ok(MailTruth {
        name: page.name.clone(),
        texts: texts.collect(),
    })
}

struct Measure<'a> {
    tab: &'a Tab,
    size: (u64, u64),
    base: Shot,
    shots: usize,
}

impl Measure<'_> {
    /// Judges the unknown ones of these nodes, by halves: a half that changes nothing is hidden.
    fn judge(&mut self, nodes: Range<usize>, truths: &mut [Truth]) -> Outcome<()> {
        let unknown = |at: &usize| truths.get(*at) == Some(&Truth::Unknown);
        let (Some(first), Some(last)) = (nodes.clone().find(unknown), nodes.clone().rfind(unknown))
        else {
            return Ok(());
        };
        if self.shots >= MAX_SHOTS {
            return Ok(());
        }
        self.shots += 1;
        let runs = unknown_runs(truths, first..last + 1);
        for run in &runs {
            turn(self.tab, run.clone())?;
        }
        let shot = self.tab.shot_of(self.size)?;
        for run in &runs {
            turn(self.tab, run.clone())?;
        }
        let pixels = self.base.difference(&shot)?;
        if pixels == 0 || first == last {
            let truth = match pixels {
                0 => Truth::Hidden,
                faint if faint <= FAINT_PIXELS => Truth::Faint,
                _ => Truth::Visible,
            };
            for at in runs.into_iter().flatten() {
                if let Some(place) = truths.get_mut(at) {
                    *place = truth;
                }
            }
            return Ok(());
        }
        let middle = first.midpoint(last) + 1;
        self.judge(first..middle, truths)?;
        self.judge(middle..last + 1, truths)
    }
}

fn unknown_runs(truths: &[Truth], within: Range<usize>) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in within {
        if truths.get(at) == Some(&Truth::Unknown) {
            match runs.last_mut() {
                Some(run) if run.end == at => run.end += 1,
                _ => runs.push(at..at + 1),
            }
        }
    }
    runs
}

fn turn(tab: &Tab, nodes: Range<usize>) -> Outcome<Value> {
    tab.evaluate(&format!("turnNodes({}, {})", nodes.start, nodes.end))
}

impl Node {
    fn is_outside(&self, (width, height): (u64, u64)) -> bool {
        let inside =
            |[left, top, ..]: &[i64; 4]| *left < width.cast_signed() && *top < height.cast_signed();
        !self.rects.is_empty() && !self.rects.iter().any(inside)
    }
}

/// How many pixels differ where a node is and no other one.
fn pixels_of_each(
    nodes: &[Node],
    (width, height): (u64, u64),
    base: &Shot,
    turned: &Shot,
) -> Outcome<Vec<usize>> {
    let width = usize::try_from(width).unwrap_or_default();
    let height = usize::try_from(height).unwrap_or_default();
    const FREE: u32 = 0;
    const SHARED: u32 = u32::MAX;
    let mut owners = vec![FREE; width * height];
    for (node, owner) in nodes.iter().zip(1_u32..) {
        for [left, top, right, bottom] in &node.rects {
            let side =
                |at: i64, limit: usize| usize::try_from(at.max(0)).unwrap_or_default().min(limit);
            let (left, right) = (side(*left, width), side(*right, width));
            for y in side(*top, height)..side(*bottom, height) {
                let row = y * width;
                for place in owners.get_mut(row + left..row + right).unwrap_or_default() {
                    *place = if *place == FREE || *place == owner {
                        owner
                    } else {
                        SHARED
                    };
                }
            }
        }
    }
    let mut counts = vec![0; nodes.len()];
    for (differs, owner) in base.differing(turned)?.into_iter().zip(owners) {
        let node = usize::try_from(owner).unwrap_or_default().wrapping_sub(1);
        if let (true, Some(count)) = (differs, counts.get_mut(node)) {
            *count += 1;
        }
    }
    Ok(counts)
}

/// What the judge says of real mail.
#[derive(Default)]
pub(super) struct MailTally {
    pub(super) mails: usize,
    /// Mails that were not drawn in time.
    pub(super) skipped: usize,
    pub(super) uncertain_mails: usize,
    /// Characters of the rendered texts.
    pub(super) chars: usize,
    pub(super) uncertain_chars: usize,
    /// Letters and digits that a person sees.
    pub(super) visible_chars: usize,
    pub(super) lost_chars: usize,
    /// Letters and digits that no person sees.
    pub(super) hidden_chars: usize,
    pub(super) leaked_chars: usize,
    pub(super) losses: Vec<MailMiss>,
    pub(super) leaks: Vec<MailMiss>,
}

/// Texts of one mail that the judge is wrong about.
pub(super) struct MailMiss {
    pub(super) name: String,
    pub(super) chars: usize,
    /// The first of the texts.
    pub(super) text: String,
    pub(super) reasons: String,
}

impl MailTally {
    pub(super) fn add(&mut self, page: &MailPage, truth: &MailTruth) {
        let judgement = Judgement::of(&page.html);
        self.mails += 1;
        self.uncertain_mails += usize::from(judgement.uncertain_chars > 0);
        self.chars += judgement.chars;
        self.uncertain_chars += judgement.uncertain_chars;
        let [text, certain] = [&judgement.text, &judgement.certain].map(|text| letters(text));
        let seen: String = truth
            .of(Truth::Visible)
            .chain(truth.of(Truth::Faint))
            .collect();
        let miss = |chars: usize, first: Option<&str>, misses: &mut Vec<MailMiss>| {
            if let Some(first) = first {
                misses.push(MailMiss {
                    name: page.name.clone(),
                    chars,
                    text: first.chars().take(60).collect(),
                    reasons: judgement.reasons.clone(),
                });
            }
            chars
        };
        let mut rest = text.as_str();
        let (mut lost, mut first_lost) = (0, None);
        for visible in truth
            .texts
            .iter()
            .filter(|text| text.truth == Truth::Visible)
        {
            let wanted = letters(&visible.text);
            self.visible_chars += wanted.chars().count();
            if let Some((_, after)) = rest.split_once(&wanted) {
                rest = after;
            } else if !text.contains(&wanted) {
                let words = visible.text.split_whitespace().map(letters);
                let missing = words.filter(|word| !text.contains(word.as_str()));
                let chars: usize = missing.map(|word| word.chars().count()).sum();
                if chars > 0 {
                    first_lost.get_or_insert(visible.text.as_str());
                }
                lost += chars;
            }
        }
        self.lost_chars += miss(lost, first_lost, &mut self.losses);
        let (mut leaked, mut first_leaked) = (0, None);
        // Pictures often have the title of the page as their alternative text.
        let title = title(&page.html);
        for hidden in truth.of(Truth::Hidden).filter(|text| *text != title) {
            self.hidden_chars += hidden.chars().count();
            // Shorter texts are found by chance.
            if hidden.len() >= 8 && certain.contains(&hidden) && !seen.contains(&hidden) {
                leaked += hidden.chars().count();
                first_leaked.get_or_insert(hidden);
            }
        }
        self.leaked_chars += miss(leaked, first_leaked.as_deref(), &mut self.leaks);
    }
}

impl MailTruth {
    fn of(&self, truth: Truth) -> impl Iterator<Item = String> {
        let texts = self.texts.iter().filter(move |text| text.truth == truth);
        texts.map(|text| letters(&text.text))
    }
}

/// The letters of the page's title, which is not part of the page.
fn title(html: &str) -> String {
    let lower = html.to_ascii_lowercase();
    let begin = lower.find("<title").unwrap_or(lower.len());
    let end = lower.find("</title").unwrap_or(lower.len());
    let title = html.get(begin..end).and_then(|title| title.split_once('>'));
    letters(title.map_or("", |(_, title)| title))
}

/// The letters and digits of a text, in lower case: white space and marks depend on the rendering.
fn letters(text: &str) -> String {
    let lower = text.to_lowercase();
    lower
        .chars()
        .filter(|char| char.is_alphanumeric())
        .collect()
}
