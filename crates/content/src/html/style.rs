//! What an inline style says about being seen.

/// The properties that matter here, as far as a style sets them.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Style {
    /// The element and everything in it is gone, whatever its children say.
    pub gone: bool,
    /// Inherited, and children may take it back: invisible, or letters of no size.
    pub invisible: Option<bool>,
    pub tiny: Option<bool>,
}

/// Reads a `style` attribute whose entities are decoded. `name` is the element's.
pub(super) fn read(name: &str, style: &str) -> Style {
    let style = plain(style);
    let mut found = Style::default();
    let mut flat = false;
    let mut clipped = false;
    for declaration in style.split(';') {
        let Some((property, value)) = declaration.split_once(':') else {
            continue;
        };
        let value = value.split('!').next().unwrap_or_default().trim();
        match property.trim() {
            "display" => found.gone |= value == "none",
            "visibility" => found.invisible = Some(matches!(value, "hidden" | "collapse")),
            "opacity" => found.gone |= number(value).is_some_and(|n| n < 0.02),
            "font-size" => found.tiny = tiny(value).or(found.tiny),
            "max-height" | "max-width" => found.gone |= number(value) == Some(0.0),
            "height" | "width" => flat |= number(value) == Some(0.0),
            "overflow" | "overflow-x" | "overflow-y" => clipped |= value == "hidden",
            // QUIRK: links carry it to show a button to everyone but Outlook, which draws its own.
            "mso-hide" => found.gone |= value == "all" && name != "a",
            _ => {}
        }
    }
    found.gone |= flat && clipped;
    found
}

/// `None` for sizes relative to the parent's.
fn tiny(value: &str) -> Option<bool> {
    let size = number(value)?;
    if size == 0.0 {
        return Some(true);
    }
    match value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.') {
        "px" | "pt" | "" => Some(size < 2.0),
        "em" | "%" | "ex" | "ch" => None,
        _ => Some(false),
    }
}

fn number(value: &str) -> Option<f32> {
    let digits: String = value
        .chars()
        .take(16)
        .take_while(|c| c.is_ascii_digit() || matches!(c, '.' | '-' | '+'))
        .collect();
    let number: f32 = digits.parse().ok()?;
    Some(if value.ends_with('%') {
        number / 100.0
    } else {
        number
    })
}

/// Lower case, comments gone, escapes undone.
fn plain(style: &str) -> String {
    let mut out = String::with_capacity(style.len());
    let mut chars = style.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '/' if chars.peek() == Some(&'*') => {
                chars.next();
                let mut last = ' ';
                for inner in chars.by_ref() {
                    if last == '*' && inner == '/' {
                        break;
                    }
                    last = inner;
                }
            }
            '\\' => {
                let mut code = 0;
                let mut digits = 0;
                while digits < 6
                    && let Some(digit) = chars.peek().and_then(|c| c.to_digit(16))
                {
                    code = code * 16 + digit;
                    digits += 1;
                    chars.next();
                }
                if digits > 0 {
                    chars.next_if(char::is_ascii_whitespace);
                    out.extend(char::from_u32(code).map(|c| c.to_ascii_lowercase()));
                }
            }
            _ => out.push(char.to_ascii_lowercase()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gone() {
        for style in [
            "display:none",
            "DISPLAY : None !important",
            "color:red;display:none;",
            "display:/* x */none",
            "di\\73play:n\\6f ne",
            "opacity:0",
            "opacity: .0",
            "opacity:0%",
            "max-height:0px",
            "height:0;overflow:hidden",
            "mso-hide:all",
        ] {
            assert!(read("div", style).gone, "{style}");
        }
    }

    #[test]
    fn not_gone() {
        for style in [
            "",
            ";:;",
            "display:block",
            "opacity:0.5",
            "opacity:1",
            "max-height:100px",
            "height:0",
            "line-height:0",
            "font-size:0",
            "background:url(display:none)",
        ] {
            assert!(!read("div", style).gone, "{style}");
        }
        assert!(!read("a", "mso-hide:all").gone);
    }

    #[test]
    fn inherited_and_taken_back() {
        for (style, want) in [
            ("font-size:0", Some(true)),
            ("font-size:1px", Some(true)),
            ("font-size:0em", Some(true)),
            ("font-size:14px", Some(false)),
            ("font-size:medium", None),
            ("font-size:120%", None),
        ] {
            assert_eq!(read("td", style).tiny, want, "{style}");
        }
        assert_eq!(read("p", "visibility:hidden").invisible, Some(true));
        assert_eq!(read("p", "visibility:visible").invisible, Some(false));
    }
}
