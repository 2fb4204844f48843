//! Ways to hide text by markup: elements, attributes and tricks of the parser that no style is needed for.

/// How one hides a text that stands at `§`.
pub(crate) struct Markup {
    pub(crate) name: &'static str,
    pub(crate) html: &'static str,
    pub(crate) noted: Noted,
}

/// Whether a reader must be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Noted {
    /// Hidden text was there.
    Yes,
    /// Not text of the page at all: a comment, an attribute, code.
    NoText,
}

const fn hides(name: &'static str, html: &'static str) -> Markup {
    Markup {
        name,
        html,
        noted: Noted::Yes,
    }
}

const fn no_text(name: &'static str, html: &'static str) -> Markup {
    Markup {
        name,
        html,
        noted: Noted::NoText,
    }
}

pub(crate) const MARKUP: &[Markup] = &[
    // Attributes that hide.
    hides("hidden", "<div hidden>§</div>"),
    hides("hidden upper case", "<DIV HIDDEN=false>§</DIV>"),
    hides("hidden until found", "<div hidden=until-found>§</div>"),
    hides("popover", "<div popover>§</div>"),
    hides("dialog", "<dialog>§</dialog>"),
    hides("details", "<details><summary></summary>§</details>"),
    hides("details nested", "<details><div><p>§</p></div></details>"),
    // Elements that show no text, or other text.
    no_text("template", "<template>§</template>"),
    no_text("script", "<script>§</script>"),
    no_text("script type", "<script type=text/plain>§</script>"),
    no_text("style element", "<style>/* § */</style>"),
    no_text("style rule", "<style>.x:after{content:'§'}</style>"),
    no_text("title", "<title>§</title>"),
    no_text("iframe fallback", "<iframe src=about:blank>§</iframe>"),
    no_text("iframe srcdoc", "<iframe srcdoc='<p>§</p>'></iframe>"),
    no_text("noframes", "<noframes>§</noframes>"),
    no_text("noembed", "<noembed>§</noembed>"),
    no_text("datalist", "<datalist><option>§</option></datalist>"),
    no_text(
        "other option",
        "<select><option selected><option>§</select>",
    ),
    no_text("video fallback", "<video>§</video>"),
    no_text("audio fallback", "<audio>§</audio>"),
    no_text("canvas fallback", "<canvas>§</canvas>"),
    no_text("meter fallback", "<meter value=1>§</meter>"),
    no_text("progress fallback", "<progress>§</progress>"),
    no_text("svg title", "<svg><title>§</title></svg>"),
    no_text("svg desc", "<svg><desc>§</desc></svg>"),
    no_text("svg metadata", "<svg><metadata>§</metadata></svg>"),
    no_text("svg defs", "<svg><defs><text y=20>§</text></defs></svg>"),
    no_text("svg style", "<svg><style>§</style></svg>"),
    no_text(
        "math annotation",
        "<math><semantics><mi></mi><annotation>§</annotation></semantics></math>",
    ),
    no_text("ruby parenthesis", "<ruby><rp>§</rp></ruby>"),
    no_text("xml island", "<xml><x:y style='display:none'>§</x:y></xml>"),
    // Not elements.
    no_text("comment", "<!-- § -->"),
    no_text("comment, bang end", "<!-- § --!>"),
    no_text("comment, short", "<!--> <!-- § -->"),
    no_text("bogus comment", "<? § ?>"),
    no_text("bogus declaration", "<!foo §>"),
    no_text("end tag comment", "</ §>"),
    no_text("conditional comment", "<!--[if mso]><p>§</p><![endif]-->"),
    no_text(
        "conditional comment, other",
        "<!--[if gte mso 9]><xml>§</xml><![endif]-->",
    ),
    no_text("attribute of an end tag", "<b></b §>"),
    // Attributes that nobody sees.
    no_text("title attribute", "<p title='§'></p>"),
    no_text("aria-label", "<p aria-label='§'></p>"),
    no_text("data attribute", "<p data-note='§'></p>"),
    no_text("link target", "<a href='https://x.example/?q=§'></a>"),
    no_text("hidden input", "<input type=hidden value='§'>"),
    no_text("meta", "<meta name=description content='§'>"),
    no_text("pixel", "<img src=x width=1 height=1 alt='§'>"),
    no_text(
        "pixel by style",
        "<img src=x style='width:1px;height:1px' alt='§'>",
    ),
    no_text("pixel of nothing", "<img src=x width=0 height=0 alt='§'>"),
    no_text("hidden image", "<img src=x style='display:none' alt='§'>"),
    no_text(
        "image behind glass",
        "<div style='opacity:0'><img src=x alt='§'></div>",
    ),
    // Presentational attributes.
    hides("font white", "<font color=white>§</font>"),
    hides("font hex", "<font color=#ffffff>§</font>"),
    hides("font without sign", "<font color=FFFFFF>§</font>"),
    hides(
        "font size and colour",
        "<font size=1 color='#FEFEFE'>§</font>",
    ),
    hides(
        "font on table",
        "<table bgcolor=#222222><tr><td><font color=#222222>§</font></td></tr></table>",
    ),
    hides(
        "font on row",
        "<table><tr bgcolor=red><td><font color=#ff0000>§</font></td></tr></table>",
    ),
    hides(
        "font on cell",
        "<table><tr><td bgcolor='#00F'><font color=blue>§</font></td></tr></table>",
    ),
    hides(
        "white on white cell in dark table",
        "<table bgcolor=black><tr><td bgcolor=white style='color:#fff'>§</td></tr></table>",
    ),
    // Parts of tables.
    hides(
        "row",
        "<table><tr style='display:none'><td>§</td></tr></table>",
    ),
    hides(
        "row collapsed",
        "<table><tr style='visibility:collapse'><td>§</td></tr></table>",
    ),
    hides(
        "body of a table",
        "<table><tbody style='visibility:hidden'><tr><td>§</td></tr></tbody></table>",
    ),
    hides(
        "cell",
        "<table><tr><td style='display:none'>§</td></tr></table>",
    ),
    hides(
        "cell without width",
        "<table style='width:100px;table-layout:fixed'><tr><td style='width:0;padding:0;overflow:hidden;white-space:nowrap'>§</td><td></td></tr></table>",
    ),
    hides(
        "cell in a box without height",
        "<div style='height:0;overflow:hidden'><table><tr><td>§</td></tr></table></div>",
    ),
    hides(
        "lines without height",
        "<div style='overflow:hidden;line-height:0'>§</div>",
    ),
    // Inherited and combined.
    hides(
        "colour from above on a box between",
        "<div style='color:#fff'><div style='background:#fff'><p><b>§</b></p></div></div>",
    ),
    hides(
        "inherit",
        "<div style='color:#fff'><span style='color:inherit'>§</span></div>",
    ),
    hides(
        "opacity multiplied",
        "<div style='opacity:.3'><div style='opacity:.3'><div style='opacity:.3'>§</div></div></div>",
    ),
    hides(
        "size of nothing",
        "<div style='font-size:0'><span style='font-size:100em'>§</span></div>",
    ),
    hides("next to nothing", "<p style='font-size:.01em'>§</p>"),
    hides(
        "percent of nothing",
        "<div style='font-size:0'><span style='font-size:2000%'>§</span></div>",
    ),
    hides(
        "visible child of display none",
        "<div style='display:none'><p style='display:block;visibility:visible'>§</p></div>",
    ),
    hides(
        "opaque child of clear parent",
        "<div style='opacity:0'><p style='opacity:1!important'>§</p></div>",
    ),
    hides(
        "behind its parent",
        "<div style='background:#fff'><div style='position:relative;z-index:-1'>§</div></div>",
    ),
    hides(
        "link by its element",
        "<style>a{color:#fff}</style><a href=https://x.example>§</a>",
    ),
    hides(
        "link pseudo class",
        "<style>a:link{color:#fff}</style><a href=https://x.example>§</a>",
    ),
    hides(
        "anchor that is no link",
        "<div style='color:#fff'><a name=x>§</a></div>",
    ),
    hides(
        "animation that ends",
        "<style>@keyframes gone{to{opacity:0}}</style><p style='animation:gone 0s forwards'>§</p>",
    ),
    hides(
        "animation that stands still",
        "<style>@keyframes gone{from{visibility:hidden}}</style><p style='animation:9s gone paused'>§</p>",
    ),
    hides(
        "second summary",
        "<details><summary></summary><summary>§</summary></details>",
    ),
    hides(
        "display cannot open it",
        "<details style='display:block'><p style='display:block'>§</p></details>",
    ),
    hides(
        "until found, as a block",
        "<p hidden=until-found style='display:block'>§</p>",
    ),
    hides(
        "cell narrower than text",
        "<table><tr><td style='max-width:0;overflow:hidden'>§</td></tr></table>",
    ),
    hides(
        "table as a block",
        "<table style='display:block;height:0;overflow:hidden'><tr><td>§</td></tr></table>",
    ),
    hides(
        "span of nothing",
        "<span style='display:inline-block;height:0;width:0;overflow:hidden'>§</span>",
    ),
    hides(
        "floating span of nothing",
        "<span style='float:left;height:0;overflow:hidden'>§</span>",
    ),
    hides(
        "item of nothing",
        "<div style='display:flex'><span style='width:0;height:0;overflow:hidden'>§</span></div>",
    ),
    hides(
        "padding above",
        "<div style='height:0;padding-top:30px;overflow:hidden'>§</div>",
    ),
    hides(
        "positioned in a box of nothing",
        "<div style='position:relative;height:0;overflow:hidden'><p style='position:absolute'>§</p></div>",
    ),
    hides(
        "background without a box",
        "<div style='background:#000;height:0;color:#fff'>§</div><p></p>",
    ),
    hides(
        "white text on a remote picture",
        "<div style='background:url(https://cdn.example/x.png);color:#fff'>§</div>",
    ),
    // The parser's own ways.
    hides(
        "formatting left open",
        "<div><p><b style='display:none'></p><p>§</p></b></div>",
    ),
    hides(
        "closed by nobody",
        "<div><div style='display:none'><span>§</span></i></b></span></div></div>",
    ),
    hides(
        "entities in style",
        "<div style='display&colon;none'>§</div>",
    ),
    hides("numbers in style", "<div style='&#100;isplay:none'>§</div>"),
    hides(
        "escapes in style",
        "<div style='d\\69splay:\\6eone'>§</div>",
    ),
    hides(
        "comment in style",
        "<div style='/**/display/**/:/**/none'>§</div>",
    ),
    hides(
        "broken style before",
        "<div style='color:;;x{};display:none'>§</div>",
    ),
    hides("quotes and upper case", "<DIV STYLE=DISPLAY:NONE>§</DIV>"),
    hides(
        "attribute twice",
        "<div style='display:none' style='display:block'>§</div>",
    ),
    hides(
        "sheet in comment marks",
        "<style><!-- .cm{display:none} --></style><p class=cm>§</p>",
    ),
    hides(
        "class of many",
        "<style>.q2{display:none}</style><p class='\n q1\tq2 q3'>§</p>",
    ),
    hides(
        "upper case selector",
        "<style>DIV.Up{display:none}</style><div class=Up>§</div>",
    ),
    hides(
        "escaped selector",
        "<style>.\\31 0{display:none}</style><div class=10>§</div>",
    ),
    hides(
        "rule behind a broken one",
        "<style>p{color:red;}} .rb{x} .rb2{display:none}</style><div class=rb2>§</div>",
    ),
    hides(
        "rule behind a charset",
        "<style>@charset 'utf-8'; @import url(x.css); .cs{display:none}</style><div class=cs>§</div>",
    ),
    hides(
        "sheet in a noscript",
        "<noscript><style>.ns{display:none}</style></noscript><div class=ns>§</div>",
    ),
    hides(
        "sheet in a picture",
        "<svg width=1 height=1><style>.sv{display:none}</style></svg><div class=sv>§</div>",
    ),
    hides(
        "sheet in a hidden box",
        "<div hidden><style>.hb{display:none}</style></div><div class=hb>§</div>",
    ),
    hides(
        "sheet without end",
        "<div class=we>§</div><style>.we{display:none</style>",
    ),
];
