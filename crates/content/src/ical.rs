//! iCalendar lines (RFC 5545 section 3.1): unfolded, split into name, parameters and value, within bounds.
//!
//! A flat list: components are lines that begin and end, and nothing here recurses into them.

/// Characters of a calendar that are looked at.
const MOST_CHARS: usize = 256 * 1024;
const MOST_LINES: usize = 4_000;
const MOST_LINE: usize = 8 * 1024;
const MOST_PARAMETERS: usize = 16;

/// One content line.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Line {
    /// Upper case.
    pub name: String,
    /// Names in upper case, quotes off.
    parameters: Vec<(String, String)>,
    /// Still escaped.
    pub value: String,
}

pub(crate) struct Lines {
    pub lines: Vec<Line>,
    /// There were more than are looked at.
    pub cut: bool,
}

impl Line {
    pub(crate) fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The value as text: `\n`, `\,`, `\;` and `\\` undone (section 3.3.11).
    pub(crate) fn text(&self) -> String {
        let mut out = String::with_capacity(self.value.len());
        let mut chars = self.value.chars();
        while let Some(char) = chars.next() {
            match char {
                '\\' => match chars.next() {
                    Some('n' | 'N') => out.push('\n'),
                    Some(other) => out.push(other),
                    None => {}
                },
                _ => out.push(char),
            }
        }
        out
    }
}

pub(crate) fn lines(text: &str) -> Lines {
    let near = text
        .get(..text.floor_char_boundary(MOST_CHARS))
        .unwrap_or(text);
    let mut unfolded: Vec<String> = Vec::new();
    let mut cut = near.len() < text.len();
    for line in near.split('\n') {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if let (Some(more), Some(open)) = (line.strip_prefix([' ', '\t']), unfolded.last_mut()) {
            if open.len() + more.len() <= MOST_LINE {
                open.push_str(more);
            } else {
                cut = true;
            }
        } else if unfolded.len() >= MOST_LINES {
            cut = true;
            break;
        } else if !line.trim().is_empty() {
            let most = line.floor_char_boundary(MOST_LINE);
            cut |= most < line.len();
            unfolded.push(line.get(..most).unwrap_or(line).to_owned());
        }
    }
    Lines {
        lines: unfolded.iter().filter_map(|line| parse(line)).collect(),
        cut,
    }
}

fn parse(line: &str) -> Option<Line> {
    let end = line.find([':', ';'])?;
    let (name, mut rest) = line.split_at_checked(end)?;
    let mut parameters = Vec::new();
    while let Some(parameter) = rest.strip_prefix(';') {
        let end = unquoted(parameter, [':', ';'])?;
        let (one, after) = parameter.split_at_checked(end)?;
        if let Some((key, value)) = one.split_once('=')
            && parameters.len() < MOST_PARAMETERS
        {
            let value = value.trim_matches('"').to_owned();
            parameters.push((key.trim().to_ascii_uppercase(), value));
        }
        rest = after;
    }
    let name = name.trim().to_ascii_uppercase();
    // A group prefix (`item1.SUMMARY`) says nothing.
    let name = name.rsplit('.').next().unwrap_or_default().to_owned();
    Some(Line {
        name,
        parameters,
        value: rest.strip_prefix(':')?.to_owned(),
    })
}

/// The first of `ends` outside double quotes.
fn unquoted(text: &str, ends: [char; 2]) -> Option<usize> {
    let mut quoted = false;
    text.char_indices().find_map(|(at, char)| {
        quoted ^= char == '"';
        (!quoted && ends.contains(&char)).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_unfold_and_split() {
        let found = lines(
            "summary;LANGUAGE=en;X=\"a;b:c\":Team\\, sy\r\n nc\\nnow\r\n\r\nno value\r\nDTSTART:2026\n",
        );
        assert!(!found.cut);
        assert_eq!(found.lines.len(), 2);
        assert_eq!(found.lines[0].name, "SUMMARY");
        assert_eq!(found.lines[0].parameter("X"), Some("a;b:c"));
        assert_eq!(found.lines[0].text(), "Team, sync\nnow");
        assert_eq!(found.lines[1].value, "2026");
    }

    #[test]
    fn lines_are_bounded() {
        for text in [
            "A:b\n".repeat(100_000),
            format!("A:{}", "b\n ".repeat(100_000)),
            format!("A{}:x", ";b=\"".repeat(50_000)),
            ";".repeat(200_000),
        ] {
            let found = lines(&text);
            assert!(found.lines.len() <= MOST_LINES);
            assert!(found.lines.iter().all(|line| line.value.len() <= MOST_LINE));
        }
        assert!(lines(&"A:b\n".repeat(100_000)).cut);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fall(text in "[A-Z;:=\"\\\\\\r\\n .,ä]{0,200}") {
            for line in lines(&text).lines {
                line.text();
            }
        }
    }
}
