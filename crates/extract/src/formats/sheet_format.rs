//! Number formats of Excel, as far as they say whether a value is shown at all (ECMA-376 part 1,
//! 18.8.31).

use mail::HidingReason;

use super::colour::{BLACK, Colours, Rgb, WHITE};
use super::sheet_style::Value;
use super::verdict::Verdict;

/// What a format does to a value.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct FormatResult {
    pub(super) verdict: Verdict,
    /// The colour that it gives the text, over that of the font.
    pub(super) colour: Option<Colours>,
}

pub(super) fn shown(code: &str, value: Value) -> FormatResult {
    let sections: Vec<Section> = split(code).iter().map(|text| Section::read(text)).collect();
    if sections.iter().any(|section| section.has_condition) {
        return of_any(&sections);
    }
    let count = sections.len();
    let at = match value {
        // Text has a section of its own or is shown as it is; a sole section may name its place.
        Value::Text if count >= 4 => 3,
        Value::Text if count == 1 && sections.iter().any(|one| one.shows_text) => 0,
        Value::Text => return FormatResult::default(),
        Value::Number(number) if number < 0.0 && count >= 2 => 1,
        Value::Number(number) if number == 0.0 && count >= 3 => 2,
        Value::Number(_) => 0,
        Value::Other => return of_any(&sections),
    };
    let Some(section) = sections.get(at) else {
        return FormatResult::default();
    };
    let shows = match value {
        Value::Text => section.shows_text,
        _ => section.shows_number || section.shows_text,
    };
    // A format without a word is no format.
    let is_blank = count == 1 && code.trim().is_empty();
    FormatResult {
        verdict: match shows || is_blank {
            true => Verdict::Visible,
            false => Verdict::Hidden(HidingReason::NumberFormat),
        },
        colour: section.colour.clone(),
    }
}

/// Any of the sections may hold.
fn of_any(sections: &[Section]) -> FormatResult {
    let shows = |section: &Section| section.shows_number || section.shows_text;
    let mut colours: Option<Colours> = None;
    for colour in sections
        .iter()
        .filter_map(|section| section.colour.as_ref())
    {
        match &mut colours {
            Some(all) => all.add_all(colour),
            None => {
                let mut all = Colours::one(BLACK);
                all.add_all(colour);
                colours = Some(all);
            }
        }
    }
    FormatResult {
        verdict: match sections.iter().all(shows) {
            true => Verdict::Visible,
            false => Verdict::Uncertain(HidingReason::NumberFormat),
        },
        colour: colours,
    }
}

fn split(code: &str) -> Vec<String> {
    let mut sections = vec![String::new()];
    let mut quoted = false;
    let mut escaped = false;
    for char in code.chars() {
        let ends = char == ';' && !quoted && !escaped;
        if char == '"' && !escaped {
            quoted = !quoted;
        }
        escaped = !escaped && !quoted && matches!(char, '\\' | '_' | '*');
        match sections.last_mut() {
            Some(section) if !ends => section.push(char),
            _ => sections.push(String::new()),
        }
    }
    sections
}

#[derive(Default)]
struct Section {
    shows_number: bool,
    shows_text: bool,
    has_condition: bool,
    colour: Option<Colours>,
}

impl Section {
    fn read(text: &str) -> Self {
        let mut section = Self::default();
        let mut plain = String::new();
        let mut chars = text.chars();
        while let Some(char) = chars.next() {
            match char {
                // The next character is literal, as wide as, or repeated.
                '\\' | '_' | '*' => {
                    chars.next();
                }
                '"' => {
                    chars.by_ref().find(|char| *char == '"');
                }
                '[' => {
                    let inside: String = chars.by_ref().take_while(|char| *char != ']').collect();
                    section.bracket(&inside);
                }
                char => plain.push(char.to_ascii_lowercase()),
            }
        }
        section.shows_text = plain.contains('@') || plain.contains("general");
        section.shows_number |= plain.contains("general")
            || plain.chars().any(|char| {
                matches!(
                    char,
                    '0' | '#' | '?' | 'd' | 'm' | 'y' | 'h' | 's' | 'e' | 'g' | 'b'
                )
            });
        section
    }

    fn bracket(&mut self, inside: &str) {
        const NAMES: [(&str, Rgb); 8] = [
            ("black", BLACK),
            ("white", WHITE),
            ("red", Rgb(255, 0, 0)),
            ("green", Rgb(0, 255, 0)),
            ("blue", Rgb(0, 0, 255)),
            ("yellow", Rgb(255, 255, 0)),
            ("cyan", Rgb(0, 255, 255)),
            ("magenta", Rgb(255, 0, 255)),
        ];
        let lower = inside.trim().to_ascii_lowercase();
        if let Some((_, colour)) = NAMES.iter().find(|(name, _)| *name == lower) {
            self.colour = Some(Colours::one(*colour));
        } else if lower.starts_with("color") {
            self.colour = Some(match lower.trim_start_matches("color").trim().parse() {
                Ok(number @ 1..=56_usize) => super::sheet_style::indexed(number + 7),
                _ => Colours::any(),
            });
        } else if lower.starts_with(['<', '>', '=']) {
            self.has_condition = true;
        } else if lower.chars().all(|char| matches!(char, 'h' | 'm' | 's')) && !lower.is_empty() {
            self.shows_number = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_number_formats_hide_the_cell() {
        const HIDDEN: Verdict = Verdict::Hidden(HidingReason::NumberFormat);
        const UNSURE: Verdict = Verdict::Uncertain(HidingReason::NumberFormat);
        for (code, value, verdict) in [
            (";;;", Value::Text, HIDDEN),
            (";;;", Value::Number(1.0), HIDDEN),
            (";;", Value::Text, Verdict::Visible),
            (";;", Value::Number(-1.0), HIDDEN),
            ("0;-0;", Value::Number(0.0), HIDDEN),
            ("0;-0;;@", Value::Number(3.0), Verdict::Visible),
            ("0;-0;;@", Value::Text, Verdict::Visible),
            ("0;0;0;\"none\"", Value::Text, HIDDEN),
            ("\"x;y\"", Value::Number(1.0), HIDDEN),
            ("General", Value::Text, Verdict::Visible),
            ("General", Value::Number(1.0), Verdict::Visible),
            ("", Value::Number(1.0), Verdict::Visible),
            ("dd/mm/yyyy", Value::Number(1.0), Verdict::Visible),
            ("[h]:mm", Value::Number(1.0), Verdict::Visible),
            (
                "#,##0.00 \"EUR\";[Red]-#,##0.00 \"EUR\"",
                Value::Number(-1.0),
                Verdict::Visible,
            ),
            (
                "_-* #,##0.00_-;-* #,##0.00_-;_-* \"-\"??_-;_-@_-",
                Value::Number(0.0),
                Verdict::Visible,
            ),
            ("[>5]0;;", Value::Number(7.0), UNSURE),
            (";;;", Value::Other, UNSURE),
            ("_(* ;_(* ;_(* ;_(* ", Value::Text, HIDDEN),
        ] {
            assert_eq!(shown(code, value).verdict, verdict, "{code} {value:?}");
        }
        assert_eq!(
            shown("[White]0", Value::Number(1.0)).colour,
            Some(Colours::one(WHITE))
        );
        assert_eq!(
            shown("[Color 2]0", Value::Number(1.0)).colour,
            Some(Colours::one(WHITE))
        );
    }
}
