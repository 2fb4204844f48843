//! Pages that try to show what is hidden, or to take for ever.

use super::tests::{sanitized, visible};
use super::to_text;

fn numbered(pattern: &str, count: usize) -> String {
    (0..count)
        .map(|number| pattern.replace('§', &number.to_string()))
        .collect()
}

#[test]
fn hostile_pages_end_soon() {
    let rules: String = (0..5_000)
        .map(|n| format!("p ~ .a{n}:has(b) {{ color: red }} [x{n}] {{ opacity: 0 }}"))
        .collect();
    for html in [
        "<p>a<b c=1><b c=2><b c=3><b c=4>".repeat(10_000),
        "<table>".repeat(30_000),
        "<a href=x>".repeat(30_000),
        "<p>x".repeat(200_000),
        "<div/>".repeat(100_000),
        "<rt>".repeat(100_000),
        "</p>".repeat(200_000),
        format!(
            "<style>{rules}</style>{}",
            "<p class=a1><b>x</b></p>".repeat(10_000)
        ),
        format!("<style>{}</style>x", "a{".repeat(100_000)),
        format!("<style>{}</style>x", "@media all{".repeat(50_000)),
        format!("<style>{}</style>x", ":is(".repeat(100_000)),
        format!("<p style='width:{}'>x", "calc(".repeat(100_000)),
        format!("<p style='width:{}'>x", "(".repeat(16_000)),
        format!("<p style='filter:{}'>x", "a(".repeat(100_000)),
        format!("<p style='filter:{}'>x", "([".repeat(100_000)),
        format!(
            "<p style='--a:{};color:var(--a)'>x",
            "var(--a) ".repeat(10_000)
        ),
        format!("<p style='{}'>x", "--a:var(--a)var(--a);".repeat(10_000)),
        format!("<svg>{}", "<g>".repeat(100_000)),
        format!("<style>{}</style>x", numbered("@layer a§;", 60_000)),
        format!("<style>{}</style><p>x", "b,b,b{& & & & & {".repeat(100)),
        format!(
            "<style>{}{}</style>{}",
            numbered("@keyframes k§{to{opacity:0}}", 10_000),
            "b{animation:k1 1s}",
            "<b>x</b>".repeat(20_000)
        ),
        format!(
            "<style>b{{color:{}}}</style>{}",
            "red ".repeat(50_000),
            "<b>x</b>".repeat(50_000)
        ),
        format!(
            "<style>b{{{}}}</style>{}",
            "color:red;".repeat(20_000),
            "<b>x</b>".repeat(50_000)
        ),
        format!(
            "<style>:root{{{}}}b{{--y:1}}</style>{}",
            numbered("--x§:1;", 10_000),
            "<b>x</b>".repeat(50_000)
        ),
        format!(
            "<style>:root{{--a:1 1 1 1;--b:{};--c:{}}}b{{color:{}}}</style>{}",
            "var(--a) ".repeat(50),
            "var(--b) ".repeat(50),
            "var(--c) ".repeat(50),
            "<b>x</b>".repeat(50_000)
        ),
        numbered("<body a§=1>", 60_000),
        format!("<style>b{{{}color:red", "&,&{".repeat(40)) + "</style><b>x</b>",
        format!("<style>b{{{}color:red", ":nth-child(1 of &,&){".repeat(40)) + "</style><b>x</b>",
        format!("<style>b{{{}color:red", ":has(&,&){".repeat(40)) + "</style><b>x</b>",
        format!(
            "<style>{}b{{{}}}</style><b>x</b>",
            "b,".repeat(3_000),
            "&{color:red}".repeat(60_000)
        ),
        format!(
            "<style>{}b{{{}}}</style><b>x</b>",
            "b,".repeat(5_000),
            "@media all{color:red}".repeat(40_000)
        ),
        format!(
            "<style>b c d e i{{color:red}}td:lang(en){{left:0}}{}</style>{}",
            numbered(".k§ td{color:red}", 20),
            "<div><table><tr><td></div>".repeat(38_000)
        ),
        format!(
            "<style>:root{{{}}}</style>{}",
            numbered("--a§:1;", 490),
            numbered("<br style=--y:§>", 15_000)
        ),
        format!(
            "<style>{}</style><p a={}>{}",
            numbered("[a*=aaaaaaaaaaaaaaaaaaaab§ i] b{top:0}", 2_000),
            "a".repeat(400_000),
            "<b>x</b>".repeat(20)
        ),
        format!(
            "<style>{}</style><p class='{}'>x",
            numbered(".z.a§{top:0}", 10_000),
            numbered("a§ ", 10_000)
        ),
        format!(
            "<style>br:nth-child(2n):checked{{top:0}}</style>{}",
            // Debug builds of the selector engine count siblings anew to check its cache.
            "<br>".repeat(5_000)
        ),
    ] {
        let found = to_text(&html, 10_000);
        assert!(found.text.chars().count() <= 10_000);
        sanitized(&html, 10_000);
    }
}

#[test]
fn what_does_not_count_undoes_nothing() {
    for html in [
        "<p style='visibility:hidden;visibility:visible x'>secret",
        "<p style='display:none;display:block inline'>secret",
        "<p style='display:none;display:block 5'>secret",
        "<p style='font-size:0;font-size:medium x'>secret",
        "<p style='position:absolute;left:-9999px;position:static x'>secret",
        "<p style='height:0;overflow:hidden;overflow:visible visible x'>secret",
        "<p style='clip-path:inset(50%);clip-path:bogus'>secret",
        "<p style='transform:scale(0);transform:bogus'>secret",
        "<p style='filter:opacity(0);filter:bogus'>secret",
        "<p style='scale:0;scale:bogus'>secret",
        "<p style='margin-left:-9999px;margin:0 bogus'>secret",
        "<p style='color:white;background:bogus black 1 2 3'>secret",
        "<p style='color:white;text-shadow:bogus black'>secret",
        "<p style='content-visibility:hidden;content-visibility:visible x'>secret",
        "<p style='text-indent:-9999px;text-indent:0 bogus'>secret",
        "<p style='letter-spacing:-1em;letter-spacing:normal x'>secret",
        "<p style='text-indent:calc(1px - 9999px)'>secret",
        "<p style='font:calc(30px - 30px) serif'>secret",
        "<p style='position:absolute;left:calc(-infinity * 1px)'>secret",
        "<p style='font-size:calc(0px * pi)'>secret",
        "<p style='margin-left:calc(-1px*pow(100,2))'>secret",
        "<p style='margin-left:env(x,-9999px)'>secret",
        "<p style='clip-path:inset(env(x,50%))'>secret",
        "<p style='transform:scale(1,sin(0))'>secret",
        "<p style='color:white;background-color:rgb(from black r g b)'>secret",
        "<p data-l=-9999 style='position:absolute;left:attr(data-l px)'>secret",
        "<style>.x{display:none}@scope (.no){.x{display:block}}</style><p class=x>secret",
        "<style>.x{display:none}@container (width>1px){.x{display:block}}</style><p class=x>secret",
        "<style>.x{display:none}@supports (made-up:1px){.x{display:block}}</style><p class=x>secret",
        "<style>.x{display:none}@media not (foo:bar){.x{display:block}}</style><p class=x>secret",
        "<style>.x{display:none}@media (width:900px){.x{display:block}}</style><p class=x>secret",
        "<style>.x{display:none}@media (orientation:portrait){.x{display:block}}</style><p class=x>secret",
        "<style>.x{display:none}</style><p class=x style='display:revert-layer'>secret",
        "<dialog style='display:revert'>secret</dialog>",
        "<style>@layer a{.x{display:none}@layer c{.x{display:block}}}</style><p class=x>secret",
        "<style>.x{opacity:0;animation:a 1s}@keyframes a{to{opacity:1}}</style><p class=x>secret",
        "<p style='background:black;all:unset;color:white'>secret",
        "<p style='--x:initial;display:var(--x,none)'>secret",
        "<p style='display:var(--x,/*var(*/none)'>secret",
        "<style>input:optional ~ .x{display:none}</style><input><p class=x>secret",
        "<style>.x{display:none}p:enabled{display:block!important}</style><p class=x>secret",
        "<style>:-webkit-any(.x){display:none}</style><p class=x>secret",
        "<style>.x{display:none}.x,::bogus{display:block!important}</style><p class=x>secret",
        "<style>.x::first-line{font-size:0}</style><p class=x>secret",
        "<style>.x{display:none}</style><style>@namespace url(http://www.w3.org/2000/svg);.x{display:block!important}</style><p class=x>secret",
        "<body link=#fff><a href=https://x.example>secret</a>",
        "<p style='background:#fff;background-clip:text;color:transparent'>secret",
        "<p style='width:0;background:black;color:white'>secret",
        "<p style='color:white;-webkit-text-stroke:0 black'>secret",
        "<p style='color:AccentColorText'>secret",
        "<p style='transform:matrix(50,0,0,.001,0,0)'>secret",
        "<p style='rotate:1 0 0 90deg'>secret",
        "<math><annotation-xml encoding=text/html><p>secret</annotation-xml></math>",
        "<math><mphantom><mi>secret</mi></mphantom></math>",
        "<img width=1px height=1px alt=secret>",
        "<p style='contain:strict;contain:bogus'>secret",
        "<p style='transform:scale(0);transform:scale(1,2,3)'>secret",
        "<p style='transform:scale(0);transform:none none'>secret",
        "<p style='clip-path:inset(50%);clip-path:none none'>secret",
        "<p style='scale:0;scale:1,1'>secret",
        "<p style='filter:opacity(0);filter:none none'>secret",
        "<p style='margin-left:-9999px;margin-left:0deg'>secret",
        "<p style='font-size:0;font:bogus 16px serif'>secret",
        "<p style='font-size:0;font:16px serif 5'>secret",
        "<p style='font-size-adjust:0;font-size-adjust:bogus'>secret",
        "<p style='color:white;text-shadow:5px black'>secret",
        "<p style='content:url(x);content:bogus'>secret",
        "<style>@keyframes k{to{opacity:0}}</style><p style='animation:k 0s forwards;animation:5'>secret",
        "<div style='display:grid;grid-template-rows:0;grid-template-rows:bogus'><p>secret</div>",
        "<p style='filter:invert(1)'>secret",
        "<p style='color:white;background:linear-gradient(#000,#000);background-size:0'>secret",
        "<p style='color:white;text-shadow:9999px 0 black'>secret",
        "<p style='color-scheme:dark;color:Canvas'>secret",
        "<link rel=stylesheet href='data:text/css,.x%7Bdisplay:none%7D'><p class=x>secret",
        "<p style='inset-inline:-9999px auto;position:absolute'>secret",
        "<p style='margin-inline:-9999px 0'>secret",
    ] {
        let found = visible(html);
        assert!(!found.contains("secret"), "{html}: {found}");
    }
    let many = numbered("c§ ", 80);
    let html = format!("<style>.x{{display:none}}</style><p class='{many} x'>secret");
    assert_eq!(visible(&html), "");
    let deep = format!(
        "{}<style>{}secret</style>",
        "<div>".repeat(300),
        "</div>".repeat(100)
    );
    assert_eq!(visible(&deep), "");
}
