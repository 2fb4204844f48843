//! Single values, typed as YAML 1.2 types them: nothing is guessed into another type.

use std::collections::BTreeSet;

use super::shape::{Shape, Shown};
use super::yaml::{Node, Quoted, Value};

/// A scalar as it was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scalar<'a> {
    pub text: &'a str,
    quoted: Quoted,
}

/// What a scalar is, without having been told what it should be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Empty,
    Boolean,
    /// Decimal.
    Whole,
    OtherNumber,
    Text,
}

/// Longer text is no value of a configuration.
const MOST_CHARS: usize = 1_024;

impl<'a> Scalar<'a> {
    pub(super) fn of(node: &'a Node) -> Option<Self> {
        match &node.value {
            Value::Scalar { text, quoted } => Some(Self {
                text,
                quoted: *quoted,
            }),
            _ => None,
        }
    }

    /// Nothing was written, or `null`.
    pub(super) fn is_empty(node: &Node) -> bool {
        Scalar::of(node).is_some_and(|scalar| scalar.kind() == Kind::Empty)
    }

    /// YAML 1.2, core schema.
    fn kind(self) -> Kind {
        if self.quoted == Quoted::Yes {
            return Kind::Text;
        }
        match self.text {
            "" | "~" | "null" | "Null" | "NULL" => return Kind::Empty,
            "true" | "True" | "TRUE" | "false" | "False" | "FALSE" => return Kind::Boolean,
            _ => {}
        }
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let unsigned = self.text.strip_prefix(['-', '+']).unwrap_or(self.text);
        if digits(unsigned) {
            return Kind::Whole;
        }
        let prefixed = |prefix: &str, radix: u32| {
            let rest = self.text.strip_prefix(prefix);
            rest.is_some_and(|rest| !rest.is_empty() && rest.chars().all(|c| c.is_digit(radix)))
        };
        let float = matches!(
            unsigned,
            ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN"
        ) || (unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && unsigned.parse::<f64>().is_ok());
        match prefixed("0x", 16) || prefixed("0o", 8) || float {
            true => Kind::OtherNumber,
            false => Kind::Text,
        }
    }
}

impl Node {
    /// A key and its value. The first one, if it stands twice.
    pub(super) fn entry(&self, name: &str) -> Option<&(Node, Node)> {
        let is_it = |key: &Node| Scalar::of(key).is_some_and(|scalar| scalar.text == name);
        self.pairs().iter().find(|(key, _)| is_it(key))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Node> {
        self.entry(name).map(|(_, value)| value)
    }

    /// The text of a key, if it is text that can be used.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.get(name)?.text()
    }

    pub(super) fn pairs(&self) -> &[(Node, Node)] {
        match &self.value {
            Value::Map(pairs) => pairs,
            _ => &[],
        }
    }

    /// Names, keys and values, without those that stand there a second time.
    pub(super) fn named_pairs(&self) -> impl Iterator<Item = (&str, &Node, &Node)> {
        let mut seen = BTreeSet::new();
        self.pairs().iter().filter_map(move |(key, value)| {
            let name = Scalar::of(key)?.text;
            seen.insert(name).then_some((name, key, value))
        })
    }

    pub(super) fn items(&self) -> &[Node] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    /// Text, if it is text that can be used.
    pub(super) fn text(&self) -> Option<&str> {
        let scalar = Scalar::of(self)?;
        let fits = scalar.kind() == Kind::Text && flaw_of_text(scalar.text).is_none();
        fits.then_some(scalar.text)
    }

    pub(super) fn whole(&self) -> Option<u64> {
        let scalar = Scalar::of(self)?;
        (scalar.kind() == Kind::Whole).then(|| scalar.text.parse().ok())?
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        let scalar = Scalar::of(self)?;
        let is_boolean = scalar.kind() == Kind::Boolean;
        is_boolean.then(|| scalar.text.eq_ignore_ascii_case("true"))
    }
}

/// Why a node is not a single value of this shape, and what to do.
pub(super) fn misfit(
    name: &str,
    node: &Node,
    shape: Shape,
    shown: Shown,
) -> Option<(String, String)> {
    let Some(scalar) = Scalar::of(node) else {
        if matches!(node.value, Value::Refused) {
            return None;
        }
        let what = format!(
            "'{name}' must be {}, found {}",
            wanted(shape),
            describe(node)
        );
        return Some((
            what,
            format!("write one value, as in {}", example(name, shape)),
        ));
    };
    let kind = scalar.kind();
    if kind == Kind::Empty {
        let hint = format!("write {}, or remove the line", example(name, shape));
        return Some((format!("'{name}' has no value"), hint));
    }
    let hint = match shape {
        Shape::Text { such_as, .. } => text_hint(name, such_as, scalar, kind, shown)?,
        Shape::Duration { .. } => duration_hint(scalar, kind)?,
        Shape::Word(words) => word_hint(scalar, words)?,
        Shape::Whole { such_as, low, high } => {
            let hint = whole_hint(scalar, kind, low, high)?;
            hint.map_or_else(
                || format!("write digits, as in '{name}: {such_as}'"),
                str::to_owned,
            )
        }
        Shape::Boolean => boolean_hint(scalar, kind)?,
        Shape::Keys(_) | Shape::Named(_) | Shape::List(_) => return None,
    };
    let found = match (shown, kind) {
        (Shown::Never, _) => String::new(),
        (Shown::Yes, Kind::Text) if scalar.quoted == Quoted::Yes => {
            format!(", found the text {}", quote(scalar.text))
        }
        (Shown::Yes, Kind::Text) => format!(", found {}", quote(scalar.text)),
        (Shown::Yes, _) => format!(", found {}", plain(scalar.text)),
    };
    Some((format!("'{name}' must be {}{found}", wanted(shape)), hint))
}

fn text_hint(
    name: &str,
    such_as: &str,
    scalar: Scalar<'_>,
    kind: Kind,
    shown: Shown,
) -> Option<String> {
    match (kind, shown) {
        (Kind::Text, _) => flaw_of_text(scalar.text).map(str::to_owned),
        (_, Shown::Never) => Some(format!("write it as in '{name}: {such_as}'")),
        (_, Shown::Yes) => Some(format!(
            "write it as in '{name}: {such_as}', or in quotes if this is what you mean"
        )),
    }
}

fn duration_hint(scalar: Scalar<'_>, kind: Kind) -> Option<String> {
    match kind {
        Kind::Text => flaw_of_text(scalar.text).map(str::to_owned),
        Kind::Whole if !scalar.text.starts_with(['-', '+']) && scalar.text.len() < 8 => {
            let number = scalar.text;
            Some(format!("add a unit: {number}d are {number} days"))
        }
        _ => Some("write a whole number and a unit, such as 30d or 12h".to_owned()),
    }
}

fn flaw_of_text(text: &str) -> Option<&'static str> {
    if text.trim().is_empty() {
        return Some("write something, or remove the line");
    }
    if text.chars().any(char::is_control) {
        return Some("write it in one line, without control characters");
    }
    if text.chars().count() > MOST_CHARS {
        return Some("write no more than 1024 characters");
    }
    None
}

fn word_hint(scalar: Scalar<'_>, words: &[&str]) -> Option<String> {
    if words.contains(&scalar.text) {
        return None;
    }
    let same = words
        .iter()
        .find(|word| word.eq_ignore_ascii_case(scalar.text));
    Some(match same {
        Some(word) => format!("write it as {word}, letter for letter"),
        None => match super::reader::nearest(scalar.text, words.iter().copied()) {
            Some(word) => format!("did you mean {word}?"),
            None => "write one of these".to_owned(),
        },
    })
}

/// `Some(None)` when there is nothing special about it.
fn whole_hint(scalar: Scalar<'_>, kind: Kind, low: u64, high: u64) -> Option<Option<&'static str>> {
    Some(match kind {
        Kind::Whole => match scalar.text.parse::<u64>() {
            Ok(number) if (low..=high).contains(&number) => return None,
            _ => Some("write a number within this range"),
        },
        Kind::Text if scalar.text.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some("write it without quotes")
        }
        Kind::OtherNumber => Some("write decimal digits without a point"),
        _ => None,
    })
}

fn boolean_hint(scalar: Scalar<'_>, kind: Kind) -> Option<String> {
    if kind == Kind::Boolean {
        return None;
    }
    Some(match scalar.text.to_ascii_lowercase().as_str() {
        "true" | "false" => "write it without quotes".to_owned(),
        "yes" | "on" | "y" | "1" => "write true".to_owned(),
        "no" | "off" | "n" | "0" => "write false".to_owned(),
        _ => "write true or false".to_owned(),
    })
}

fn wanted(shape: Shape) -> String {
    match shape {
        Shape::Text { .. } => "one line of text".to_owned(),
        Shape::Duration { such_as } => format!("a duration such as {such_as}"),
        Shape::Word([one, other]) => format!("{one} or {other}"),
        Shape::Word(words) => format!("one of {}", words.join(", ")),
        Shape::Whole { low, high, .. } => format!("a whole number from {low} to {high}"),
        Shape::Boolean => "true or false".to_owned(),
        Shape::Keys(_) | Shape::Named(_) => "a mapping".to_owned(),
        Shape::List(_) => "a list".to_owned(),
    }
}

fn example(name: &str, shape: Shape) -> String {
    match shape {
        Shape::Text { such_as, .. } | Shape::Duration { such_as } => format!("'{name}: {such_as}'"),
        Shape::Word(words) => format!("'{name}: {}'", words.first().unwrap_or(&"")),
        Shape::Whole { such_as, .. } => format!("'{name}: {such_as}'"),
        Shape::Boolean => format!("'{name}: true'"),
        Shape::Keys(_) | Shape::Named(_) | Shape::List(_) => format!("'{name}:'"),
    }
}

/// What a node is, without a word of what it says.
pub(super) fn describe(node: &Node) -> &'static str {
    match &node.value {
        Value::List(_) => "a list",
        Value::Map(_) => "a mapping",
        Value::Scalar { .. } => "a single value",
        Value::Refused => "something else",
    }
}

/// Safe to print, and not long.
pub(super) fn quote(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}

/// A name from outside, for a message.
pub(super) fn plain(text: &str) -> String {
    let quoted = quote(text);
    quoted.trim_matches('"').to_owned()
}
