//! What looks hidden and is not: a reader sees every `§`, so it must never be left out.

/// Name, style sheet, body.
pub(crate) const SHOWN: &[(&str, &str, &str)] = &[
    // The cascade takes the hiding back.
    (
        "later rule",
        ".k{display:none} .k{display:block}",
        "<p class=k>§</p>",
    ),
    (
        "later sheet",
        ".k{display:none}</style><style>.k{display:block}",
        "<p class=k>§</p>",
    ),
    (
        "late sheet",
        ".k{display:none}",
        "<p class=k>§</p><style>.k{display:block}</style>",
    ),
    (
        "higher specificity",
        "#k{display:block} p.k{display:none}",
        "<p class=k id=k>§</p>",
    ),
    (
        "more classes",
        ".a.k{display:block} .k{display:none}",
        "<p class='a k'>§</p>",
    ),
    (
        "inline over sheet",
        ".k{display:none}",
        "<p class=k style='display:block'>§</p>",
    ),
    (
        "important over inline",
        ".k{display:block!important}",
        "<p class=k style='display:none'>§</p>",
    ),
    (
        "important over specific",
        "#k{display:none} .k{display:block !important}",
        "<p class=k id=k>§</p>",
    ),
    (
        "later in one style",
        "",
        "<p style='display:none;display:block'>§</p>",
    ),
    (
        "broken later declaration",
        "",
        "<p style='display:block;display:nonsense'>§</p>",
    ),
    (
        "unlayered over layer",
        "@layer a{#k{display:none}} .k{display:block}",
        "<p class=k id=k>§</p>",
    ),
    (
        "later layer",
        "@layer a, b; @layer b{.k{display:block}} @layer a{#k{display:none}}",
        "<p class=k id=k>§</p>",
    ),
    (
        ":where has no weight",
        "p{display:block} :where(#k){display:none}",
        "<p id=k>§</p>",
    ),
    (
        "initial",
        ".k{color:#fff} p.k{color:initial}",
        "<p class=k>§</p>",
    ),
    (
        "hidden overridden",
        "[hidden]{display:block}",
        "<p hidden>§</p>",
    ),
    (
        "hidden overridden inline",
        "",
        "<p hidden style='display:block'>§</p>",
    ),
    (
        "hidden undone for a span",
        "span{display:inline}",
        "<span hidden>§</span>",
    ),
    // Rules that do not apply.
    (
        "print only",
        "@media print{.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "print sheet",
        "</style><style media=print>.k{display:none}",
        "<p class=k>§</p>",
    ),
    (
        "narrow screens only",
        "@media (max-width:480px){.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "range syntax",
        "@media (width < 600px){.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "device width",
        "@media only screen and (max-device-width:480px){.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "dark mode only",
        "@media (prefers-color-scheme:dark){.k{color:#fff}}",
        "<p class=k>§</p>",
    ),
    (
        "not screen",
        "@media not screen{.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "speech",
        "@media speech, tty{.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "unsupported",
        "@supports (-ms-ime-align:auto){.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "not supported",
        "@supports not (display:block){.k{display:none}}",
        "<p class=k>§</p>",
    ),
    ("other class", ".kk, .K2{display:none}", "<p class=k>§</p>"),
    ("class case", ".K{display:none}", "<p class=k>§</p>"),
    (
        "child, not descendant",
        ".o > .k{display:none}",
        "<div class=o><div><p class=k>§</p></div></div>",
    ),
    (
        "sibling after, not before",
        ".s + .k{display:none}",
        "<p class=k>§</p><p class=s></p>",
    ),
    (
        "hover",
        ".k:hover, a:visited{display:none}",
        "<p class=k>§</p>",
    ),
    (
        "invalid selector drops the list",
        ".k, p::foo-bar, :nonsense(x){display:none}",
        "<p class=k>§</p>",
    ),
    (
        "unknown at-rule",
        "@foo{.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "sheet of another type",
        "</style><style type=text/less>.k{display:none}",
        "<p class=k>§</p>",
    ),
    (
        "rule inside a string",
        ".z:after{content:'} .k{display:none} '}",
        "<p class=k>§</p>",
    ),
    (
        "rule inside a comment",
        "/* .k{display:none} */",
        "<p class=k>§</p>",
    ),
    (
        "only the marker",
        ".k::before, .k::after, .k::marker{display:none}",
        "<p class=k>§</p>",
    ),
    // Values that do not hide.
    ("opacity half", "", "<p style='opacity:.5'>§</p>"),
    ("opacity over one", "", "<p style='opacity:100%'>§</p>"),
    ("invalid opacity", "", "<p style='opacity:0px'>§</p>"),
    (
        "unitless length",
        "",
        "<p style='font-size:1;text-indent:-9999'>§</p>",
    ),
    ("small but readable", "", "<p style='font-size:9px'>§</p>"),
    ("grey", "", "<p style='color:#999'>§</p>"),
    (
        "white on dark",
        "",
        "<div style='background:#222;color:#fff'>§</div>",
    ),
    (
        "white on dark ancestor",
        ".dark{background-color:navy}",
        "<div class=dark><table><tr><td style='color:#fff'>§</td></tr></table></div>",
    ),
    (
        "white on dark attribute",
        "",
        "<table bgcolor=#000080><tr><td><font color=white>§</font></td></tr></table>",
    ),
    (
        "white on a dark body",
        "body{background:#111;color:#eee}",
        "<p>§</p>",
    ),
    (
        "white on dark gradient",
        "",
        "<div style='background:linear-gradient(#004,#400);color:#fff'>§</div>",
    ),
    (
        "white with dark shadow",
        "",
        "<p style='color:#fff;text-shadow:0 0 3px #000'>§</p>",
    ),
    (
        "text cut out of a background",
        "",
        "<p style='background:linear-gradient(red,blue);-webkit-background-clip:text;background-clip:text;color:transparent'>§</p>",
    ),
    ("font without sign is dark", "", "<font color=fff>§</font>"),
    (
        "font of a made-up name",
        "",
        "<font color=chucknorris>§</font>",
    ),
    (
        "link keeps its colour",
        "",
        "<div style='color:#fff'><a href=https://x.example>§</a></div>",
    ),
    (
        "body colour without body background",
        "",
        "<div style='color:#fff'><p style='color:#333'>§</p></div>",
    ),
    (
        "fill over colour",
        "",
        "<p style='color:#fff;-webkit-text-fill-color:#000'>§</p>",
    ),
    (
        "zero height, overflow visible",
        "",
        "<div style='height:0'>§</div><p></p><p></p>",
    ),
    (
        "zero width, overflow visible",
        "",
        "<div style='width:0'>§</div>",
    ),
    (
        "max-height 0, overflow visible",
        "",
        "<div style='max-height:0;line-height:20px'>§</div><p></p><p></p>",
    ),
    (
        "overflow of an inline",
        "",
        "<span style='overflow:hidden;height:0;width:0'>§</span>",
    ),
    (
        "roomy box",
        "",
        "<div style='overflow:hidden;height:40px;width:600px'>§</div>",
    ),
    (
        "clip without position",
        "",
        "<p style='clip:rect(0,0,0,0)'>§</p>",
    ),
    (
        "left without position",
        "",
        "<p style='left:-9999px;top:-9999px'>§</p>",
    ),
    (
        "top of a static box",
        "",
        "<p style='position:static;top:-9999px'>§</p>",
    ),
    (
        "text-indent of an inline",
        "",
        "<p><span style='text-indent:-9999px'>§</span></p>",
    ),
    (
        "transform of an inline",
        "",
        "<p><span style='transform:scale(0)'>§</span></p>",
    ),
    (
        "small shift",
        "",
        "<p style='position:relative;left:-2px;top:1px;transform:translate(3px)'>§</p>",
    ),
    ("line-height 0", "", "<p style='line-height:0'>§</p>"),
    (
        "scaled up",
        "",
        "<p style='transform:scale(1.2);transform-origin:0 0'>§</p>",
    ),
    // Children that come back.
    (
        "visible child",
        "",
        "<div style='visibility:hidden'><p style='visibility:visible'>§</p></div>",
    ),
    (
        "font restored",
        "",
        "<div style='font-size:0'><p style='font-size:10px'>§</p></div>",
    ),
    (
        "font restored in rem",
        "",
        "<div style='font-size:0'><p style='font-size:1rem'>§</p></div>",
    ),
    (
        "font restored by a word",
        "",
        "<div style='font:0/0 a'><p style='font-size:medium;line-height:1.2'>§</p></div>",
    ),
    (
        "colour restored",
        "",
        "<div style='color:transparent'><p style='color:black'>§</p></div>",
    ),
    (
        "indent restored",
        "",
        "<div style='text-indent:-9999px'><p style='text-indent:0'>§</p></div>",
    ),
    ("contents", "", "<div style='display:contents'>§</div>"),
    (
        "out of a box without height",
        "",
        "<div style='height:0;overflow:hidden'><p style='position:absolute'>§</p></div>",
    ),
    // Attributes that hide from machines only.
    ("aria-hidden", "", "<p aria-hidden=true>§</p>"),
    ("presentation", "", "<p role=presentation>§</p>"),
    ("inert", "", "<p inert>§</p>"),
    ("open details", "", "<details open>§</details>"),
    ("summary", "", "<details><summary>§</summary></details>"),
    ("open dialog", "", "<dialog open>§</dialog>"),
    ("Outlook's own", "", "<p style='mso-hide:all'>§</p>"),
    (
        "revealed to all but Outlook",
        "",
        "<![if !mso]><p>§</p><![endif]>",
    ),
    (
        "revealed in comments",
        "",
        "<!--[if !mso]><!--><p>§</p><!--<![endif]-->",
    ),
    ("comment that ends at once", "", "<!--><p>§</p><!-- -->"),
    ("object without data", "", "<object>§</object>"),
    ("unknown element", "", "<o:p>§</o:p><blink></blink>"),
    (
        "marquee",
        "",
        "<marquee scrollamount=0 behavior=slide>§</marquee>",
    ),
    ("button", "", "<button>§</button>"),
    (
        "label and legend",
        "",
        "<fieldset><legend>§</legend></fieldset>",
    ),
    (
        "caption",
        "",
        "<table><caption>§</caption><tr><td></td></tr></table>",
    ),
    ("noscript", "", "<noscript>§</noscript>"),
    (
        "table height",
        "",
        "<table style='height:0;width:0;overflow:hidden'><tr><td>§</td></tr></table>",
    ),
    (
        "cell height",
        "",
        "<table><tr style='height:0;overflow:hidden'><td height=0 style='height:0;overflow:hidden'>§</td></tr></table>",
    ),
    (
        "percent of nothing given",
        "",
        "<div style='max-height:0%;overflow:hidden'>§</div>",
    ),
    (
        "least height wins",
        "",
        "<div style='max-height:0;min-height:30px;overflow:hidden'>§</div>",
    ),
    (
        "least width wins",
        "",
        "<div style='width:0;min-width:300px;overflow:hidden'>§</div>",
    ),
    (
        "room in the padding",
        "",
        "<div style='max-height:0;padding-bottom:30px;overflow:hidden'>§</div>",
    ),
    (
        "far below",
        "",
        "<p style='position:absolute;top:3000px'>§</p>",
    ),
    (
        "left of its box",
        "",
        "<div style='position:relative;margin-left:300px'><p style='position:absolute;left:-100px'>§</p></div>",
    ),
    (
        "centred by hand",
        "",
        "<p style='position:absolute;left:50%;transform:translate(-50%)'>§</p>",
    ),
    ("zoom 0", "", "<p style='zoom:0'>§</p>"),
    ("font without a family", "", "<p style='font:0'>§</p>"),
    ("mark", "", "<p style='color:#fff'><mark>§</mark></p>"),
    (
        "button in white",
        "",
        "<div style='color:#fff'><button>§</button></div>",
    ),
    (
        "background of the words",
        "",
        "<p style='color:#fff'><span style='background:#000'>§</span></p>",
    ),
    (
        "stroke",
        "",
        "<p style='color:#fff;-webkit-text-stroke:1px #000'>§</p>",
    ),
    (
        "hacks of old browsers",
        "",
        "<p style='_display:none;*display:none'>§</p>",
    ),
    ("two displays", "", "<p style='display:none block'>§</p>"),
    (
        "case of variables",
        ":root{--A:none}",
        "<p style='display:var(--a, block)'>§</p>",
    ),
    (
        "variable that is not there",
        "",
        "<p style='color:#fff;color:var(--nope)'>§</p>",
    ),
    (
        "popover shown",
        "",
        "<div popover style='display:block'>§</div>",
    ),
    ("everything unset", "", "<p hidden style='all:unset'>§</p>"),
    ("font size 1", "", "<font size=1>§</font>"),
    (
        "sheet of a made-up medium",
        "</style><style media=bogus>.k{display:none}",
        "<p class=k>§</p>",
    ),
    (
        "sheet in a template",
        "",
        "<template><style>.k{display:none}</style></template><p class=k>§</p>",
    ),
    (
        "wide screens only",
        "@media (min-width:3000px){.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "another mail program",
        ".moz-text-html .k, [data-ogsc] .k, #MessageViewBody .k{display:none}",
        "<p class=k>§</p>",
    ),
    (
        "yahoo",
        "@media screen yahoo{.k{display:none}}",
        "<p class=k>§</p>",
    ),
    (
        "second line of an indent",
        "",
        "<div style='text-indent:-9999px'><br>§</div>",
    ),
    // The parser's own ways.
    (
        "closed by the next paragraph",
        "",
        "<p style='display:none'><p>§",
    ),
    ("closed by a block", "", "<p hidden><div>§</div>"),
    (
        "closed by its parent",
        "",
        "<div><span style='display:none'></div><div>§</div>",
    ),
    (
        "thrown out of a table",
        "",
        "<table style='display:none'>§<tr><td></td></tr></table>",
    ),
    (
        "closed by the cell",
        "",
        "<table><tr><td style='display:none'><td>§</td></tr></table>",
    ),
    (
        "style attribute with entities",
        "",
        "<p style='display&colon;block'>§</p>",
    ),
    (
        "quote lost",
        "",
        "<p style='color:red>x</p><p title='display:none'>§</p>",
    ),
    (
        "style ends the style",
        "",
        "<style>.a{content:'</style>§<p class=a title='}.k{display:none}'></p>",
    ),
];
