//! The browser as a judge: what it calls seen must be plain to anyone.

use testkit::Chromium;

#[test]
fn words_are_judged_one_by_one() {
    // Where there is no browser, nobody asks it: its recorded answers stand beside the pages they are about.
    let Some(chromium) = Chromium::find() else {
        return;
    };
    let pages = [
        "<p>one <b>t</b>wo<p style='display:none'>three<p>four",
        "<style>.x{opacity:.01}</style>a<i class=x>b</i><script>document.body.append('c')</script>d",
        "<div style='width:0;overflow:hidden'>gone</div><table><tr><td>l<td>r</table>",
        "</script><p>still here",
    ];
    let seen = chromium.look(&pages);
    let texts: Vec<&str> = seen.iter().map(|page| page.text.as_str()).collect();
    assert_eq!(texts, ["one two\nfour", "a d", "l r", "still here"]);
    assert_eq!(seen[1].unseen, [("opacity".to_owned(), "b".to_owned())]);
}
