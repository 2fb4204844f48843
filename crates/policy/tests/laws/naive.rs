//! The same decisions once more, by a second evaluator: from the words of the specification, over text as it is written,
//! with no regard to speed. It shares no code with the first.

pub(crate) const LEVELS: [&str; 7] = [
    "NONE", "COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY", "FULL",
];

/// Labels in both forms. No other foreign label is used here.
const LABELS: [(&str, &str); 3] = [
    ("müller", "xn--mller-kva"),
    ("bücher", "xn--bcher-kva"),
    ("straße", "xn--strae-oqa"),
];

/// One folder of a policy file.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) mode: &'static str,
    pub(crate) default: &'static str,
    pub(crate) rules: Vec<Clause>,
}

#[derive(Clone, Debug)]
pub(crate) struct Clause {
    pub(crate) matches: Vec<(&'static str, String)>,
    pub(crate) level: &'static str,
}

/// A message as it was written; what is missing could not be read.
#[derive(Clone, Debug)]
pub(crate) struct Letter {
    pub(crate) from: Vec<String>,
    pub(crate) to: Vec<String>,
    pub(crate) cc: Vec<String>,
    /// The lists of recipients were read to their ends.
    pub(crate) recipients_read: bool,
    pub(crate) subject: Option<String>,
    pub(crate) attachment: Option<bool>,
    pub(crate) arrived: Option<i64>,
    pub(crate) size: Option<u64>,
}

pub(crate) fn rank(level: &str) -> usize {
    LEVELS.iter().position(|one| *one == level).unwrap()
}

/// The level of a message in a folder.
pub(crate) fn level(entry: &Entry, letter: &Letter, now: i64) -> usize {
    let mut level = rank(entry.default);
    for rule in &entry.rules {
        let said: Vec<Option<bool>> = rule
            .matches
            .iter()
            .map(|(key, value)| holds(key, value, letter, now))
            .collect();
        if entry.mode == "whitelist" && said.iter().all(|one| *one == Some(true)) {
            level = level.max(rank(rule.level));
        }
        if entry.mode == "blacklist" && !said.contains(&Some(false)) {
            level = level.min(rank(rule.level));
        }
    }
    level
}

/// The entry that decides for a folder: its own path, else the longest prefix, else `*`.
pub(crate) fn entry_for<'a>(
    folder: &str,
    entries: impl Iterator<Item = (&'a String, &'a Entry)> + Clone,
) -> Option<(&'a str, &'a Entry)> {
    let mut exact = entries
        .clone()
        .filter(|(path, _)| spelled(path) == spelled(folder));
    if let Some((path, entry)) = exact.next() {
        return Some((path, entry));
    }
    let mut best: Option<(&str, &Entry)> = None;
    for (path, entry) in entries.filter(|(path, _)| path.ends_with('*')) {
        let (pattern, name) = (spelled(path), root_in_capitals(folder));
        let prefix = &pattern[..pattern.len() - 1];
        let covered = name.starts_with(prefix) && name.len() > prefix.len();
        if covered && best.is_none_or(|(other, _)| path.len() > other.len()) {
            best = Some((path, entry));
        }
    }
    best
}

/// A path in the one form that it has.
pub(crate) fn spelled(path: &str) -> String {
    match path.to_lowercase().as_str() {
        "inbox" => "INBOX".to_owned(),
        _ => root_in_capitals(path),
    }
}

fn root_in_capitals(path: &str) -> String {
    let lower = path.to_lowercase();
    match lower.starts_with("inbox/") || lower.starts_with("inbox.") {
        true => format!("INBOX{}", &path[5..]),
        false => path.to_owned(),
    }
}

/// `None` where the fact is missing.
pub(crate) fn holds(key: &str, value: &str, letter: &Letter, now: i64) -> Option<bool> {
    let number = || value.parse::<u64>().unwrap();
    match key {
        "from" => {
            let from = address(letter.from.first()?)?;
            Some(Some(from) == address(value))
        }
        "from_domain" => {
            let (_, domain) = address(letter.from.first()?)?;
            Some(domain == host(value))
        }
        "to" => some_recipient(letter, |one| Some(one) == address(value).as_ref()),
        "to_contains" => some_recipient(letter, |(local, domain)| {
            let part = plain(value);
            format!("{local}@{domain}").contains(&part)
                || format!("{local}@{}", host_for_people(domain)).contains(&part)
        }),
        "subject_contains" => Some(plain(letter.subject.as_ref()?).contains(&plain(value))),
        "has_attachment" => Some(letter.attachment?.to_string() == value),
        "newer_than" => Some(now - letter.arrived? < seconds(value)),
        "older_than" => Some(now - letter.arrived? > seconds(value)),
        "size_gt" => Some(letter.size? > number()),
        "size_lt" => Some(letter.size? < number()),
        other => panic!("{other} is no predicate"),
    }
}

fn some_recipient(letter: &Letter, fits: impl Fn(&(String, String)) -> bool) -> Option<bool> {
    let mut all_read = letter.recipients_read && letter.to.len() + letter.cc.len() > 0;
    for text in letter.to.iter().chain(&letter.cc) {
        match address(text) {
            Some(one) if fits(&one) => return Some(true),
            Some(_) => {}
            None => all_read = false,
        }
    }
    all_read.then_some(false)
}

/// Its two halves, as they are compared.
fn address(text: &str) -> Option<(String, String)> {
    let at = text.rfind('@')?;
    let (local, domain) = (&text[..at], host(&text[at + 1..]));
    let bad = local.is_empty() || local.contains(' ') || domain.is_empty() || domain.contains("..");
    (!bad).then(|| (plain(local), domain))
}

/// Lower case, no dot at the end, foreign labels in ASCII.
fn host(text: &str) -> String {
    let text = plain(text.strip_suffix('.').unwrap_or(text));
    let labels = text.split('.').map(|label| {
        let known = LABELS.iter().find(|(unicode, _)| *unicode == label);
        known.map_or(label, |(_, ascii)| ascii).to_owned()
    });
    labels.collect::<Vec<_>>().join(".")
}

fn host_for_people(ascii: &str) -> String {
    let foreign = LABELS.iter();
    foreign.fold(ascii.to_owned(), |text, (unicode, ascii)| {
        text.replace(ascii, unicode)
    })
}

/// Composed, in lower case, as far as the letters go that are used here.
fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    for (apart, composed) in [
        ("u\u{308}", "ü"),
        ("U\u{308}", "Ü"),
        ("o\u{308}", "ö"),
        ("e\u{301}", "é"),
    ] {
        text = text.replace(apart, composed);
    }
    text.to_lowercase()
}

fn seconds(text: &str) -> i64 {
    let (number, unit) = text.split_at(text.len() - 1);
    let each = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        "y" => 365 * 24 * 60 * 60,
        other => panic!("{other} is no unit"),
    };
    number.parse::<i64>().unwrap() * each
}
