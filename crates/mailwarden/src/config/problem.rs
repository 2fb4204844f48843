//! What is wrong with a configuration: where, what, and what to do. Never a secret, and never the line of one.

use std::fmt;

/// Everything that is wrong, each by its place.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub(crate) struct Problems(pub Vec<Problem>);

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub place: Place,
    /// What it is and what to do about it.
    pub what: String,
    pub excerpt: Option<Excerpt>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// No single one.
    Whole,
    /// An environment variable.
    Variable(String),
    /// An option of the command line.
    Option(&'static str),
    /// A file of the configuration directory, as a whole.
    File(String),
    /// A place in such a file; both counted from 1.
    Position {
        file: String,
        line: usize,
        column: usize,
    },
}

/// What the command line says by an option, else the environment by a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Setting {
    pub option: &'static str,
    pub variable: &'static str,
}

/// Which of the two said it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Said {
    ByOption,
    ByVariable,
}

impl Said {
    /// An option goes before a variable.
    pub(crate) fn of<T>(option: Option<&T>) -> Self {
        match option {
            Some(_) => Self::ByOption,
            None => Self::ByVariable,
        }
    }
}

/// The offending text as it stands in its line, up to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub line: String,
    /// Characters before it.
    pub before: usize,
    /// Characters of it.
    pub width: usize,
}

/// More are counted and not shown.
const MOST_SHOWN: usize = 100;
/// The audit log holds this many, each up to so many characters.
const MOST_RECORDED: usize = 20;
const RECORDED_CHARS: usize = 300;

impl Problems {
    /// What is wrong by name, `file:line` or variable, without a word about values.
    pub(crate) fn variables(&self) -> Vec<String> {
        let name = |problem: &Problem| match &problem.place {
            Place::Whole => None,
            Place::Variable(name) => Some(name.clone()),
            Place::Option(name) => Some((*name).to_owned()),
            Place::File(file) => Some(file.clone()),
            Place::Position { file, line, .. } => Some(format!("{file}:{line}")),
        };
        let plain = |name: &String| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:".contains(&byte);
            name.len() <= 128 && name.bytes().all(fits)
        };
        let names = self.0.iter().filter_map(name).filter(plain);
        let mut names: Vec<String> = names.take(MOST_SHOWN).collect();
        names.dedup();
        names
    }
}

impl Problems {
    /// The record of a configuration that is refused.
    pub(crate) fn event(&self) -> audit::Event {
        audit::Event::config_refused(self.variables(), &self.for_audit())
    }

    /// What is wrong, for the audit log: as on stderr, without the lines of the files.
    fn for_audit(&self) -> String {
        let shown = self.0.iter().take(MOST_RECORDED);
        let mut lines: Vec<String> = shown.map(Problem::without_excerpt).collect();
        match self.0.len().saturating_sub(MOST_RECORDED) {
            0 => {}
            more => lines.push(format!("and {more} more")),
        }
        lines.join("; ")
    }
}

impl Problem {
    fn without_excerpt(&self) -> String {
        let bare = Self {
            excerpt: None,
            ..self.clone()
        };
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        let text = bare.to_string();
        text.chars().take(RECORDED_CHARS).map(printable).collect()
    }

    pub(crate) fn variable(name: &str, what: impl Into<String>) -> Self {
        Self {
            place: Place::Variable(name.to_owned()),
            what: what.into(),
            excerpt: None,
        }
    }

    /// By the name under which it was said.
    pub(crate) fn setting(setting: Setting, said: Said, what: impl Into<String>) -> Self {
        Self {
            place: match said {
                Said::ByOption => Place::Option(setting.option),
                Said::ByVariable => Place::Variable(setting.variable.to_owned()),
            },
            what: what.into(),
            excerpt: None,
        }
    }

    pub(crate) fn whole(what: impl Into<String>) -> Self {
        Self {
            place: Place::Whole,
            what: what.into(),
            excerpt: None,
        }
    }

    pub(crate) fn file(file: &str, what: impl Into<String>) -> Self {
        Self {
            place: Place::File(file.to_owned()),
            what: what.into(),
            excerpt: None,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Whole => {}
            Place::Variable(name) => write!(f, "{name} ")?,
            Place::Option(name) => write!(f, "{name} ")?,
            Place::File(file) => write!(f, "{file}: ")?,
            Place::Position { file, line, column } => write!(f, "{file}:{line}:{column}: ")?,
        }
        f.write_str(&self.what)?;
        let Some(excerpt) = &self.excerpt else {
            return Ok(());
        };
        let (before, carets) = (" ".repeat(excerpt.before), "^".repeat(excerpt.width));
        write!(f, "\n    | {}\n    | {before}{carets}", excerpt.line)
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().take(MOST_SHOWN).enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        match self.0.len().saturating_sub(MOST_SHOWN) {
            0 => Ok(()),
            more => write!(f, "\n… and {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_audit_log_is_told_places_and_no_values() {
        let position = |file: &str, line| Problem {
            place: Place::Position {
                file: file.to_owned(),
                line,
                column: 3,
            },
            what: "the value hunter2 is wrong".to_owned(),
            excerpt: None,
        };
        let problems = Problems(vec![
            Problem::variable("MAIL_IMAP_DEFAULT_PORT", "must be a number"),
            Problem::whole("hunter2"),
            position("policies/a.yaml", 4),
            position("policies/a.yaml", 4),
            position("policies/a b\n.yaml", 4),
            Problem::file("callers.yaml", "is missing"),
        ]);
        assert_eq!(
            problems.variables(),
            [
                "MAIL_IMAP_DEFAULT_PORT",
                "policies/a.yaml:4",
                "callers.yaml"
            ]
        );
    }
}
