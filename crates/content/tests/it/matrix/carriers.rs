//! Ways for declarations to reach an element: where they stand, and by which selector they apply.

/// How declarations are carried. `§` is the text, `¤` the declarations.
pub(crate) struct Carrier {
    pub(crate) name: &'static str,
    /// Goes into the head.
    sheet: &'static str,
    /// Goes into the body.
    html: &'static str,
}

const fn carrier(name: &'static str, sheet: &'static str, html: &'static str) -> Carrier {
    Carrier { name, sheet, html }
}

/// The two that every field is tried with.
pub(crate) const PLAINEST: [&str; 2] = ["inline", "class"];

pub(crate) const CARRIERS: &[Carrier] = &[
    carrier("inline", "", "<div style=\"¤\">§</div>"),
    carrier(
        "from a grandparent",
        "",
        "<div style=\"¤\"><section><p><b>§</b></p></section></div>",
    ),
    carrier("type", "aside{¤}", "<aside>§</aside>"),
    carrier("class", ".k{¤}", "<div class=k>§</div>"),
    carrier("id", "#k{¤}", "<div id=k>§</div>"),
    carrier("attribute", "[data-k]{¤}", "<div data-k>§</div>"),
    carrier(
        "attribute value",
        "div[data-k$='ey' i]{¤}",
        "<div data-k=KEY>§</div>",
    ),
    carrier(
        "descendant",
        ".outer .k{¤}",
        "<div class=outer><section><div class=k>§</div></section></div>",
    ),
    carrier(
        "child",
        ".outer > .k{¤}",
        "<div class=outer><div class=k>§</div></div>",
    ),
    carrier("next sibling", ".s + div{¤}", "<p class=s></p><div>§</div>"),
    carrier(
        "later sibling",
        ".s ~ .k{¤}",
        "<p class=s></p><p></p><div class=k>§</div>",
    ),
    carrier("any", "#box *{¤}", "<section id=box><div>§</div></section>"),
    carrier("list", "h6, .k, nosuch{¤}", "<div class=k>§</div>"),
    carrier(":not", "div:not(.shown){¤}", "<div>§</div>"),
    carrier(":is", ":is(.k, .l):where(div){¤}", "<div class=k>§</div>"),
    carrier(
        ":nth-child",
        ".outer :nth-child(2n+1){¤}",
        "<div class=outer><div>§</div></div>",
    ),
    carrier(
        ":has",
        "section:has(> .mark) .k{¤}",
        "<section><i class=mark></i><div class=k>§</div></section>",
    ),
    carrier("media", "@media screen{.k{¤}}", "<div class=k>§</div>"),
    carrier(
        "media width",
        "@media only screen and (min-width:300px){.k{¤}}",
        "<div class=k>§</div>",
    ),
    carrier(
        "media all, nested",
        "@media all{@media not print{.k{¤}}}",
        "<div class=k>§</div>",
    ),
    carrier(
        "supports",
        "@supports (display:block){.k{¤}}",
        "<div class=k>§</div>",
    ),
    carrier("layer", "@layer a{.k{¤}}", "<div class=k>§</div>"),
    carrier(
        "nested rule",
        ".outer{color:#222;.k{¤}}",
        "<div class=outer><div class=k>§</div></div>",
    ),
    carrier(
        "nested by sign",
        ".outer{& > .k{¤}}",
        "<div class=outer><div class=k>§</div></div>",
    ),
    carrier(
        "scope",
        "@scope (.outer){.k{¤}}",
        "<div class=outer><div class=k>§</div></div>",
    ),
    carrier(
        "checked box",
        ":checked ~ .k{¤}",
        "<input type=checkbox checked><div class=k>§</div>",
    ),
    carrier(":lang", ":lang(en){¤}", "<div lang=en-GB>§</div>"),
    carrier(
        ":nth-of-type",
        "h5:nth-of-type(1):last-of-type{¤}",
        "<h5>§</h5>",
    ),
    carrier("late sheet", "", "<div class=k>§</div><style>.k{¤}</style>"),
    carrier("escaped selector", ".\\6b{¤}", "<div class=k>§</div>"),
    carrier(
        "behind a comment",
        "/* } */ .k/**/{/*;*/¤}",
        "<div class=k>§</div>",
    ),
    carrier(
        "behind an unknown rule",
        "@foo bar{x{y}} .k{¤}",
        "<div class=k>§</div>",
    ),
    carrier("two sheets", "</style><style>.k{¤}", "<div class=k>§</div>"),
];

/// The declarations by way of custom properties, and with `!important` over an inline style.
pub(crate) const BY_VARIABLE: &str = "variable";
pub(crate) const BY_FALLBACK: &str = "variable's fallback";
pub(crate) const BY_IMPORTANCE: &str = "importance";

/// Style and body for one technique, by each carrier.
pub(crate) fn carried(declarations: &str, text: &str) -> Vec<(&'static str, String, String)> {
    let mut all: Vec<_> = CARRIERS
        .iter()
        .map(|carrier| {
            let quoted = declarations.replace('"', "'");
            let fill = |template: &str| template.replace('¤', &quoted).replace('§', text);
            (carrier.name, fill(carrier.sheet), fill(carrier.html))
        })
        .collect();
    let parts: Vec<(&str, &str)> = declarations
        .split(';')
        .filter_map(|part| part.split_once(':'))
        .map(|(name, value)| (name, value.trim_end_matches("!important")))
        .collect();
    let div = format!("<div class=k>{text}</div>");
    let joined = |write: &dyn Fn(usize, &str, &str) -> String| {
        let written = parts
            .iter()
            .enumerate()
            .map(|(n, (name, value))| write(n, name, value));
        written.collect::<Vec<_>>().join(";")
    };
    let defined = joined(&|n, _, value| format!("--v{n}:{value}"));
    let used = joined(&|n, name, _| format!("{name}:var( --v{n} )"));
    all.push((
        BY_VARIABLE,
        format!(":root{{{defined}}} .k{{{used}}}"),
        div.clone(),
    ));
    let fallback = joined(&|n, name, value| format!("{name}:var(--none{n}, {value})"));
    all.push((BY_FALLBACK, format!(".k{{{fallback}}}"), div.clone()));
    let important = joined(&|_, name, value| format!("{name}:{value} !important"));
    let shown = "display:block;opacity:1;visibility:visible;color:#000;font-size:20px;overflow:visible;\
                 height:auto;position:static;transform:none";
    all.push((
        BY_IMPORTANCE,
        format!(".k{{{important}}}"),
        format!("<div class=k style=\"{shown}\">{text}</div>"),
    ));
    all
}
