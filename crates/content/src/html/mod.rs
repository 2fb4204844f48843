//! HTML made readable or harmless: streamed, linear in its size, independent of the sender's nesting.
//!
//! Inline styles and attributes decide what is hidden; style sheets are not applied here.

mod link;
mod render;
mod safe;
mod style;
mod walk;

/// HTML beyond this many bytes is not looked at.
const MOST_BYTES: usize = 1024 * 1024;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(crate) struct Rendered {
    pub text: String,
    /// Characters left out because a reader would not see them.
    pub hidden: usize,
    /// Not all of the HTML was rendered.
    pub cut: bool,
}

/// The visible text, about `max_chars` of it at most. Not shielded yet.
pub(crate) fn to_text(html: &str, max_chars: usize) -> Rendered {
    let (render, walked) = walk::walk(start(html), render::Render::new(max_chars));
    Rendered {
        text: render.finish(),
        hidden: walked.hidden,
        cut: walked.cut || html.len() > MOST_BYTES,
    }
}

/// Well-formed HTML without scripts, styles, forms or remote content, shielded, at most `max_chars` long.
pub(crate) fn sanitize(html: &str, max_chars: usize) -> Rendered {
    let mut budget = max_chars;
    // Serializing may add tags that were implied; then there is less room for the rest.
    for _ in 0..3 {
        let (safe, walked) = walk::walk(start(html), safe::Safe::new(budget));
        let cut = walked.cut || html.len() > MOST_BYTES;
        let text = safe.finish();
        if text.chars().count() <= max_chars {
            return Rendered {
                text,
                hidden: walked.hidden,
                cut,
            };
        }
        budget /= 2;
    }
    Rendered {
        cut: true,
        ..Rendered::default()
    }
}

fn start(html: &str) -> &str {
    html.get(..html.floor_char_boundary(MOST_BYTES))
        .unwrap_or(html)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(html: &str, want: &str) {
        assert_eq!(to_text(html, 10_000).text, want, "{html}");
    }

    #[test]
    fn blocks_become_lines() {
        check("a<b>c</b>d <i>e</i>", "acd e");
        check("<div>a</div><div>b</div>", "a\nb");
        check("<p>a</p>\n<p>b  \n c", "a\n\nb c");
        check("a<br>b<br/><br>c", "a\nb\n\nc");
        check("<h1>Title</h1>text<hr>more", "Title\n\ntext\n\nmore");
        check("<div><div><p>a</p></div></div><div>b", "a\n\nb");
        check("<pre>a  b\n  c\n\nd</pre>", "a  b\n  c\n\nd");
        check("a<span> </span>b", "a b");
    }

    #[test]
    fn lists_quotes_and_tables() {
        check(
            "<ul><li>a<li>b<ul><li>c</ul><li>d</ul>e",
            "- a\n- b\n  - c\n- d\n\ne",
        );
        check(
            "<ol start=3><li>a</li><li><p>b</p></li></ol>",
            "3. a\n\n4. b",
        );
        check("a<blockquote>b<p>c</blockquote>d", "a\n\n> b\n>\n> c\n\nd");
        check(
            "<table><tr><th>a</th><th>b</th></tr><tr><td>1<td><td>2</table>x",
            "a | b\n1 | 2\n\nx",
        );
        check(
            "<table><tr><td></td><td><table><tr><td>a</table></table>",
            "a",
        );
    }

    #[test]
    fn links_say_where_they_lead() {
        check(
            "<a href='https://x.example/y'>Click</a> now",
            "Click (x.example) now",
        );
        check("<a href='https://www.x.example'>x.example</a>", "x.example");
        check(
            "<a href='https://evil.example'>bank.example</a>",
            "bank.example (evil.example)",
        );
        check("<a href='mailto:a@b.c'>write</a>", "write");
        check(
            "<a href='https://x.example'><img alt=' Big  deal '></a>",
            "[Big deal] (x.example)",
        );
        check("<a href='https://x.example'><img></a>", "");
    }

    #[test]
    fn entities_are_decoded() {
        check(
            "&eacute;&nbsp;&euro;&#8364;&#x20AC;&#128;&lt;b&gt;",
            "é €€€€<b>",
        );
        check("&amp;lt; &copy 2024 &unknown; &", "&lt; © 2024 &unknown; &");
        check(
            "fish & chips &CounterClockwiseContourIntegral;",
            "fish & chips ∳",
        );
        check("<p style='display&#58;none'>x</p>y", "y");
    }

    #[test]
    fn what_no_reader_sees_is_left_out_and_counted() {
        for (html, want, hidden) in [
            (
                "<title>t</title><style>s</style><script>c</script>a",
                "a",
                0,
            ),
            ("<!-- c -->a<!--[if mso]>m<![endif]-->", "a", 0),
            ("<noscript>n</noscript><template>t</template>a", "a", 0),
            ("<p hidden>secret</p>a", "a", 6),
            (
                "<div style='display:none'>se<b>cr</b>et<br><img alt=x></div>a",
                "a",
                6,
            ),
            ("<p style='display:none'>x<p>a", "a", 1),
            ("<div style='display:none'><span>x</div>a", "a", 1),
            (
                "<td style='font-size:0'>x<p style='font-size:14px'>a</p></td>",
                "a",
                1,
            ),
            (
                "<p style='visibility:hidden'>x<b style='visibility:visible'>a</b></p>",
                "a",
                1,
            ),
            (
                "<a href='http://b.c' style='mso-hide:all'>Button</a>",
                "Button (b.c)",
                0,
            ),
            ("<span style='opacity:0'>two words</span>a", "a", 8),
        ] {
            let found = to_text(html, 1_000);
            assert_eq!(
                (found.text.as_str(), found.hidden),
                (want, hidden),
                "{html}"
            );
        }
    }

    #[test]
    fn sanitized_html_is_harmless() {
        for (html, want) in [
            ("<p class=x onclick=y style='color:red'>a</p>", "<p>a</p>"),
            ("<a href='javascript:x'>a</a>", "<a>a</a>"),
            (
                "<a href=' https://x.y/?a=1&amp;b=2'>a</a>",
                "<a href=\"https://x.y/?a=1&amp;b=2\">a</a>",
            ),
            (
                "<img src=http://t/x.gif alt='\"<b>'>",
                "<img alt=\"&quot;&lt;b&gt;\">",
            ),
            ("<body background=http://t/x><iframe src=x>y</iframe>a", "a"),
            (
                "<link rel=stylesheet href=x><meta http-equiv=refresh>a",
                "a",
            ),
            (
                "<svg><script>x</script><a xlink:href=x>y</a></svg>",
                "<a>y</a>",
            ),
            ("<p>a<b>b</p>c", "<p>a<b>b</b></p>c"),
            (
                "&lt;script&gt;&lt;|im_start|&gt;",
                "&lt; script&gt;&lt; |im_start|&gt;",
            ),
            ("<s>old</s><form><button>go</button></form>", "oldgo"),
            (
                "<table><tr><td colspan=2>a",
                "<table><tbody><tr><td colspan=\"2\">a</td></tr></tbody></table>",
            ),
        ] {
            assert_eq!(sanitize(html, 1_000).text, want, "{html}");
        }
    }

    #[test]
    fn output_is_bounded() {
        let html = "<p>some <b>words</b> here".repeat(1_000);
        for max in [0, 1, 7, 50, 333] {
            let text = to_text(&html, max);
            assert!(text.text.chars().count() <= max, "{max}: {}", text.text);
            assert!(text.cut);
            let safe = sanitize(&html, max);
            assert!(safe.text.chars().count() <= max);
            assert!(safe.cut);
        }
        assert!(!to_text("<p>a", 1_000).cut);
        assert!(!sanitize("<p>a", 1_000).cut);
    }

    #[test]
    fn nesting_beyond_memory_ends_the_walk() {
        let html = format!("before{}", "<b>".repeat(340_000));
        let found = to_text(&html, 1_000);
        assert_eq!((found.text.as_str(), found.cut), ("before", true));
    }

    #[test]
    fn only_the_beginning_of_endless_html_is_read() {
        let html = format!("{}<p>end", "x ".repeat(MOST_BYTES / 2));
        let found = to_text(&html, 10_000_000);
        assert!(found.cut && !found.text.contains("end"));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_fall(html: String, max in 0_usize..100) {
            prop_assert!(to_text(&html, max).text.chars().count() <= max);
            prop_assert!(sanitize(&html, max).text.chars().count() <= max);
        }
    }
}
