//! Where a link leads: its host, and whether it may stay in sanitized HTML.

use std::borrow::Cow;

/// The host of a longer address stands in its beginning.
const MAX_URL_BYTES: usize = 2_000;

/// The host of an `http`, `https` or scheme-less web address, in lower case.
pub(crate) fn host(url: &str) -> Option<String> {
    let url = plain(url);
    let url = url.trim();
    let rest = match url.split_once(':') {
        Some((scheme, rest)) if is_web(scheme) => rest.trim_start_matches('/'),
        _ => url.strip_prefix("//")?,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    let fits = !host.is_empty() && host.len() <= 253 && !host.contains(char::is_whitespace);
    fits.then(|| {
        if host.is_ascii() {
            host.to_ascii_lowercase()
        } else {
            host.to_lowercase()
        }
    })
}

/// As browsers read a URL: without line breaks, and with slashes alone.
fn plain(url: &str) -> Cow<'_, str> {
    let start = url
        .get(..url.floor_char_boundary(MAX_URL_BYTES))
        .unwrap_or(url);
    if !start
        .bytes()
        .any(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b'\\'))
    {
        return Cow::Borrowed(start);
    }
    let kept = start
        .chars()
        .filter(|char| !matches!(char, '\t' | '\n' | '\r'));
    Cow::Owned(
        kept.map(|char| if char == '\\' { '/' } else { char })
            .collect(),
    )
}

/// Whether a link's text already names the host it leads to, and no other.
pub(crate) fn names(text: &str, target: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', ',']);
    let named = host(text).or_else(|| host(&format!("http://{text}")));
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    named.is_some_and(|named| bare(&named) == bare(target))
}

/// The host that a link's text names, when it is another one than the link leads to.
pub(crate) fn other_host(text: &str, target: &str) -> Option<String> {
    if !text.contains('.') {
        return None;
    }
    let text = text.trim();
    let single = !text.is_empty() && !text.contains(char::is_whitespace);
    let named = host(text).or_else(|| single.then(|| host(&format!("http://{text}")))?)?;
    let (name, top) = named.rsplit_once('.')?;
    let plausible = !name.is_empty()
        && (2..=24).contains(&top.len())
        && top.chars().all(char::is_alphabetic)
        && !text.contains('@')
        && !is_file(top);
    (plausible && !is_same_site(&named, target)).then_some(named)
}

/// Under one name that is bought: its last two labels, or three where two are a country's.
fn is_same_site(one: &str, two: &str) -> bool {
    fn site(host: &str) -> &str {
        const SHARED: [&str; 8] = ["co", "com", "net", "org", "gov", "ac", "edu", "or"];
        let mut starts = host.rmatch_indices('.').map(|(at, _)| at + 1);
        let (last, second, third) = (starts.next(), starts.next(), starts.next());
        let label = |from: Option<usize>, to: Option<usize>| {
            host.get(from.unwrap_or(0)..to.map_or(host.len(), |to| to - 1))
                .unwrap_or_default()
        };
        let country = label(last, None).len() == 2 && SHARED.contains(&label(second, last));
        let from = if country { third } else { second };
        host.get(from.unwrap_or(0)..).unwrap_or(host)
    }
    site(one) == site(two)
}

/// Names of files look like hosts.
fn is_file(extension: &str) -> bool {
    const KNOWN: [&str; 24] = [
        "pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "txt", "csv", "jpg", "jpeg", "png",
        "gif", "htm", "html", "ics", "js", "json", "xml", "css", "md", "exe", "mp3", "php",
    ];
    KNOWN.contains(&extension)
}

/// `http`, `https` and `mailto` only.
pub(crate) fn is_safe(url: &str) -> bool {
    let scheme = url.trim().split(':').next().unwrap_or_default();
    url.contains(':') && (is_web(scheme) || scheme.eq_ignore_ascii_case("mailto"))
}

fn is_web(scheme: &str) -> bool {
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts() {
        for (url, want) in [
            ("https://Example.com/a?b#c", Some("example.com")),
            ("http://good.com@evil.com:80/x", Some("evil.com")),
            ("https:\\\\evil.com\\x", Some("evil.com")),
            ("ht\ntps://e\nvil.com", Some("evil.com")),
            ("https:evil.com", Some("evil.com")),
            ("//evil.com/x", Some("evil.com")),
            ("mailto:a@b.c", None),
            ("javascript:alert(1)", None),
            ("#top", None),
            ("/local", None),
            ("", None),
        ] {
            assert_eq!(host(url).as_deref(), want, "{url}");
        }
    }

    #[test]
    fn text_that_names_the_host() {
        for text in ["example.com", "https://www.example.com/x", "Example.com."] {
            assert!(names(text, "www.example.com"), "{text}");
        }
        for text in ["click here", "notexample.com", "example.com@evil.com", ""] {
            assert!(!names(text, "example.com"), "{text}");
        }
    }

    #[test]
    fn text_that_names_another_host() {
        for (text, target, want) in [
            ("bank.example", "evil.example", Some("bank.example")),
            (
                "https://bank.example/login",
                "evil.example",
                Some("bank.example"),
            ),
            ("www.bank.example", "bank.example", None),
            ("bank.example", "links.bank.example", None),
            ("click here", "evil.example", None),
            ("plan.pdf", "files.example", None),
            ("a@bank.example", "evil.example", None),
            ("v1.2", "evil.example", None),
            ("Node.js", "evil.example", None),
            ("shop.bank.example", "links.bank.example", None),
            ("news.bank.co.uk", "links.bank.co.uk", None),
            ("bank.co.uk", "evil.co.uk", Some("bank.co.uk")),
        ] {
            assert_eq!(other_host(text, target).as_deref(), want, "{text}");
        }
    }

    #[test]
    fn safe_schemes() {
        for url in ["https://a", "HTTP://a", "mailto:a@b"] {
            assert!(is_safe(url), "{url}");
        }
        for url in [
            "javascript:x",
            "data:text/html,x",
            "a",
            "cid:x",
            " vbscript:x",
            "java\nscript:x",
        ] {
            assert!(!is_safe(url), "{url}");
        }
    }
}
