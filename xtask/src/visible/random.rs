//! Seeded random pages: ordinary mail with style sheets, and the same mixed with techniques that
//! hide or show text.
//! Every run of text has a secret of its own.

use testkit::mailgen::Rng;

use super::sample::{Run, Sample};
use super::techniques::Technique;

/// Selectors for the elements that pages are made of.
const SELECTORS: &[&str] = &[
    ".a",
    ".b",
    ".c",
    ".d",
    ".e",
    "p",
    "div",
    "td",
    "span",
    "a",
    "p.a",
    "td.b",
    "div .c",
    "div > p",
    "p + p",
    "table .d",
    "#x",
    "#y",
    "*",
    "body .e",
    "tr td",
    "p:first-child",
    "p:last-child",
    "td:nth-child(2)",
    "a:link",
    ".a:hover",
    "[class=b]",
    "[align]",
    ".c, .d",
    ":is(.a,.e)",
    ".b:not(.a)",
    "p ~ div",
];

/// Conditions and blocks around a rule; `%` is the rule.
const BLOCKS: &[&str] = &[
    "@media screen{%}",
    "@media print{%}",
    "@media (max-width:480px){%}",
    "@media (min-width:600px){%}",
    "@media only screen and (max-width:600px){%}",
    "@media (prefers-color-scheme:dark){%}",
    "@supports (display:grid){%}",
    "@media (min-width:300px) and (max-width:2000px){%}",
    "@layer base{%}",
    "@media not all{%}",
    "@media (hover:hover){%}",
    "@supports not (display:grid){%}",
    "@media (orientation:portrait){%}",
    "@container (min-width:1px){%}",
    "@layer b{%}",
];

/// Properties with values that ordinary mail uses.
const ORDINARY: &[(&str, &[&str])] = &[
    (
        "color",
        &[
            "#000",
            "#333",
            "#666666",
            "navy",
            "rgb(0,0,0)",
            "#fff",
            "white",
            "inherit",
            "windowtext",
            "#c00",
            "#eee",
        ],
    ),
    (
        "background",
        &[
            "#fff",
            "#f4f4f4",
            "#000",
            "#333",
            "none",
            "transparent",
            "navy",
            "linear-gradient(#000,#222)",
            "url(a.gif)",
        ],
    ),
    (
        "background-color",
        &[
            "#ffffff",
            "#eee",
            "#111",
            "black",
            "transparent",
            "#004080",
            "#333333",
        ],
    ),
    (
        "font-size",
        &[
            "12px", "16px", "0", "1.2em", "small", "10pt", "120%", "24px",
        ],
    ),
    ("line-height", &["1.5", "20px", "100%", "0", "normal"]),
    ("text-align", &["left", "center", "right"]),
    ("padding", &["0", "10px", "5px 20px", "0 0 20px"]),
    ("margin", &["0", "10px", "0 auto", "-5px 0", "20px 0 0"]),
    ("width", &["100%", "600px", "300px", "50%", "auto"]),
    ("height", &["auto", "40px", "100px", "20px", "100%"]),
    ("max-width", &["600px", "100%", "300px"]),
    ("max-height", &["none", "200px", "0"]),
    (
        "display",
        &[
            "block",
            "inline-block",
            "inline",
            "none",
            "table-cell",
            "flex",
        ],
    ),
    ("overflow", &["hidden", "auto", "visible"]),
    ("border", &["0", "1px solid #ccc", "2px solid"]),
    ("float", &["left", "right", "none"]),
    ("position", &["relative", "static"]),
    ("text-decoration", &["none", "underline"]),
    ("text-transform", &["uppercase", "none"]),
    ("letter-spacing", &["normal", "1px"]),
    ("text-indent", &["0", "20px"]),
    ("white-space", &["nowrap", "normal"]),
    ("visibility", &["visible", "hidden"]),
    ("opacity", &["1", ".9", "0", ".5"]),
    ("border-radius", &["4px"]),
    ("box-shadow", &["0 1px 3px #ccc"]),
    ("transition", &["all .2s"]),
    ("vertical-align", &["top", "middle"]),
    ("box-sizing", &["border-box"]),
    ("text-shadow", &["0 1px 0 #fff", "none"]),
];

/// Properties with values that hide text, or nearly.
const HOSTILE: &[(&str, &[&str])] = &[
    (
        "display",
        &[
            "none",
            "none!important",
            "contents",
            "revert",
            "var(--d)",
            "bogus",
        ],
    ),
    ("visibility", &["hidden", "collapse", "visible", "inherit"]),
    (
        "opacity",
        &["0", "0%", ".01", "calc(1 - 1)", "var(--o,0)", "1!important"],
    ),
    (
        "color",
        &[
            "#fff",
            "transparent",
            "#fefefe",
            "rgba(0,0,0,0)",
            "hsl(0 0% 100%)",
            "#000",
            "var(--c)",
            "currentcolor",
            "oklch(1 0 0)",
        ],
    ),
    (
        "font-size",
        &["0", "1px", "0!important", ".01em", "1em", "16px"],
    ),
    ("height", &["0", "1px", "0%", "30px"]),
    ("width", &["0", "1px", "0%", "400px"]),
    ("max-height", &["0", "1px", "50px"]),
    ("max-width", &["0", "1px"]),
    (
        "overflow",
        &["hidden", "clip", "visible", "auto", "hidden!important"],
    ),
    ("position", &["absolute", "relative", "fixed", "static"]),
    ("left", &["-9999px", "0", "-50px", "2000px"]),
    ("top", &["-9999px", "300px", "40px", "-20px"]),
    ("margin-left", &["-9999px", "-20px", "1000px"]),
    ("margin-top", &["-60px", "-15px", "50px"]),
    ("text-indent", &["-9999px", "-20px", "500px"]),
    (
        "clip-path",
        &[
            "inset(100%)",
            "inset(0)",
            "circle(0)",
            "none",
            "inset(0 50% 0 0)",
        ],
    ),
    ("clip", &["rect(0,0,0,0)", "auto"]),
    (
        "transform",
        &[
            "scale(0)",
            "translateX(-9999px)",
            "none",
            "rotate(360deg)",
            "scale(.9)",
        ],
    ),
    (
        "background",
        &["#000", "#fff", "linear-gradient(#fff,#fff)", "none"],
    ),
    ("line-height", &["0", "40px"]),
    ("padding-top", &["0", "60px"]),
    ("filter", &["opacity(0)", "none", "invert(1)"]),
    ("z-index", &["-1", "1"]),
    (
        "animation",
        &[
            "hide .01s forwards",
            "show .01s forwards",
            "hide 9s 99s",
            "none",
        ],
    ),
    ("content-visibility", &["hidden", "visible"]),
    ("-webkit-text-fill-color", &["#fff", "#000"]),
    ("mix-blend-mode", &["screen", "normal"]),
    ("float", &["left", "right"]),
    ("--d", &["none", "block"]),
    ("--o", &["1", "0"]),
    ("--c", &["#fff", "#000"]),
];

const KEYFRAMES: &str = "@keyframes hide{to{opacity:0}}@keyframes show{to{opacity:1}}";

/// The page with this number. A third of them is hostile.
pub(super) fn page(seed: u64, number: u64, techniques: &[Technique]) -> Sample {
    let mut maker = Maker {
        rng: Rng::new(seed, number),
        hostile: number.is_multiple_of(3),
        sheet: String::new(),
        runs: Vec::new(),
    };
    Sample {
        name: format!("page {number}"),
        ..maker.page(techniques)
    }
}

struct Maker {
    rng: Rng,
    hostile: bool,
    sheet: String,
    runs: Vec<Run>,
}

impl Maker {
    fn page(&mut self, techniques: &[Technique]) -> Sample {
        for _ in 0..2 + self.rng.below(7) {
            let rule = self.rule();
            self.sheet.push_str(&rule);
        }
        let mut body = String::new();
        for _ in 0..2 + self.rng.below(3) {
            body.push_str(&self.element(0));
        }
        if self.hostile {
            body.push_str(&self.technique(techniques));
            body.push_str(&self.element(1));
        }
        let Self { sheet, runs, .. } = self;
        let controls = "button,input,select,textarea,pre{font-family:monospace}";
        let html = format!(
            "<!DOCTYPE html><html><head><meta charset=utf-8><style>body{{font-family:monospace}}{controls}{KEYFRAMES}\
             {sheet}</style></head><body>{body}</body></html>"
        );
        Sample {
            name: String::new(),
            html,
            runs: std::mem::take(runs),
        }
    }

    fn rule(&mut self) -> String {
        let selector = self.rng.pick(SELECTORS);
        let count = 1 + self.rng.below(3);
        let declarations = self.declarations(count);
        let rule = format!("{selector}{{{declarations}}}");
        if self.rng.percent(25) {
            self.rng.pick(BLOCKS).replace('%', &rule)
        } else {
            rule
        }
    }

    fn declarations(&mut self, count: u64) -> String {
        let declarations = (0..count).map(|_| {
            let hostile = self.rng.percent(if self.hostile { 50 } else { 5 });
            let (name, values) = self.rng.pick(if hostile { HOSTILE } else { ORDINARY });
            let value = self.rng.pick(values);
            // Common hiding values would otherwise leave few pages with anything to see.
            let hides = matches!(*value, "none" | "0" | "hidden") && self.rng.percent(50);
            if hides {
                String::new()
            } else {
                format!("{name}:{value};")
            }
        });
        declarations.collect()
    }

    fn element(&mut self, depth: u64) -> String {
        let tag = *self.rng.pick(&[
            "div", "p", "div", "table", "span", "a", "b", "center", "font", "ul", "h3", "td",
        ]);
        let attributes = self.attributes();
        let inside = self.content(depth);
        match tag {
            "table" | "td" => {
                let (cell, second) = (self.attributes(), self.attributes());
                let text = self.text();
                format!(
                    "<table{attributes}><tr><td{cell}>{inside}</td><td{second}>{text}</td></tr></table>"
                )
            }
            "ul" => format!("<ul{attributes}><li>{inside}</ul>"),
            "a" => format!("<a href=https://a.example/{attributes}>{inside}</a>"),
            "p" | "h3" if inside.contains("<div") || inside.contains("<table") => {
                format!("<div{attributes}>{inside}</div>")
            }
            tag => format!("<{tag}{attributes}>{inside}</{tag}>"),
        }
    }

    fn content(&mut self, depth: u64) -> String {
        if depth >= 3 {
            return self.text();
        }
        match self.rng.below(5) {
            0 => format!("{} {}", self.text(), self.element(depth + 1)),
            1 => format!("{}{}", self.element(depth + 1), self.element(depth + 1)),
            2 => self.element(depth + 1),
            _ => self.text(),
        }
    }

    fn attributes(&mut self) -> String {
        let mut attributes = String::new();
        if self.rng.percent(60) {
            attributes.push_str(&format!(
                " class={}",
                self.rng
                    .pick(&["a", "b", "c", "d", "e", "\"a b\"", "\"c e\""])
            ));
        }
        if self.rng.percent(8) {
            attributes.push_str(&format!(" id={}", self.rng.pick(&["x", "y"])));
        }
        if self.rng.percent(35) {
            let count = 1 + self.rng.below(3);
            attributes.push_str(&format!(" style=\"{}\"", self.declarations(count)));
        }
        if self.rng.percent(10) {
            let legacy = [
                "bgcolor=#000000",
                "bgcolor=white",
                "align=center",
                "width=300",
                "color=#ffffff",
                "height=30",
                "hidden",
            ];
            attributes.push_str(&format!(" {}", self.rng.pick(&legacy)));
        }
        attributes
    }

    /// A technique with a secret as its text, inside of an ordinary element or beside others.
    fn technique(&mut self, techniques: &[Technique]) -> String {
        let technique = self.rng.pick(techniques);
        let text = self.text();
        let attributes = self.attributes();
        self.sheet.push_str(&technique.sheet);
        let body = technique.body.replace('§', &text);
        if self.rng.percent(50) {
            format!("<div{attributes}>{body}</div>")
        } else {
            body
        }
    }

    /// One or two words that no other run has.
    fn text(&mut self) -> String {
        let mut word = |letters: u64| -> String {
            let letter = |rng: &mut Rng, nth: u64| {
                let from = if nth.is_multiple_of(2) {
                    b"bdfgklmprstvz".as_slice()
                } else {
                    b"aeiou"
                };
                char::from(*rng.pick(from))
            };
            (0..letters).map(|nth| letter(&mut self.rng, nth)).collect()
        };
        let secret = format!("{} {}", word(8), word(6));
        self.runs.push(Run::new(secret.clone()));
        secret
    }
}
