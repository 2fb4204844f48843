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
    let mut placed = false;
    let mut away = false;
    let (mut ink, mut paper) = (None, None);
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
            "position" => placed |= matches!(value, "absolute" | "fixed" | "relative"),
            "left" | "top" | "right" | "bottom" => {
                away |= number(value).is_some_and(|n| n.abs() >= 900.0);
            }
            "text-indent" | "margin-left" | "margin-top" => {
                found.gone |= number(value).is_some_and(|n| n <= -900.0);
            }
            "clip" => found.gone |= value.starts_with("rect(0") && !value.contains("auto"),
            "transform" => found.gone |= value.contains("scale(0)") || value.contains("scale(0,"),
            "color" => ink = colour(value),
            "background" | "background-color" => paper = colour(value),
            // QUIRK: links carry it to show a button to everyone but Outlook, which draws its own.
            "mso-hide" => found.gone |= value == "all" && name != "a",
            _ => {}
        }
    }
    found.gone |= flat && clipped;
    found.gone |= placed && away;
    found.gone |= ink == Some(Colour::Transparent);
    found.gone |= matches!((ink, paper), (Some(ink), Some(paper)) if ink.is_like(paper));
    found
}

/// A colour, as far as it is written plainly.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Colour {
    Transparent,
    Rgb([i32; 3]),
}

impl Colour {
    /// Too close for an eye.
    fn is_like(self, other: Self) -> bool {
        match (self, other) {
            (Self::Rgb(one), Self::Rgb(two)) => one
                .iter()
                .zip(two)
                .all(|(one, two)| (one - two).abs() <= 16),
            _ => false,
        }
    }
}

fn colour(value: &str) -> Option<Colour> {
    let value = value.trim();
    if let Some(hex) = value.strip_prefix('#') {
        let digits: Option<Vec<i32>> = hex
            .chars()
            .map(|c| i32::try_from(c.to_digit(16)?).ok())
            .collect();
        return match digits?.as_slice() {
            [r, g, b] => Some(Colour::Rgb([r * 17, g * 17, b * 17])),
            [r1, r2, g1, g2, b1, b2] => {
                Some(Colour::Rgb([r1 * 16 + r2, g1 * 16 + g2, b1 * 16 + b2]))
            }
            _ => None,
        };
    }
    let inside = value
        .strip_prefix("rgba(")
        .or_else(|| value.strip_prefix("rgb("));
    if let Some(inside) = inside {
        let parts: Vec<f32> = inside
            .split([',', ' ', '/', ')'])
            .filter_map(number)
            .collect();
        return match parts.as_slice() {
            [_, _, _, alpha, ..] if *alpha < 0.02 => Some(Colour::Transparent),
            [r, g, b, ..] => Some(Colour::Rgb([r, g, b].map(|part| part.round() as i32))),
            _ => None,
        };
    }
    match value {
        "transparent" => Some(Colour::Transparent),
        "white" => Some(Colour::Rgb([255; 3])),
        "black" => Some(Colour::Rgb([0; 3])),
        _ => None,
    }
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
            "position:absolute;left:-9999px",
            "text-indent:-9999px",
            "clip:rect(0,0,0,0)",
            "transform:scale(0)",
            "color:transparent",
            "color:rgba(0,0,0,0)",
            "color:#fff;background:#ffffff",
            "background-color:#000001;color:black",
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
            "position:absolute;left:10px",
            "margin-left:-20px",
            "text-indent:-2em",
            "clip:auto",
            "transform:scale(1)",
            "color:#fff;background:#003366",
            "color:white",
            "background:transparent",
            "color:rgba(0,0,0,0.87);background-color:rgb(255,255,255)",
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
