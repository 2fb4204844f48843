//! Where a link leads: its host, and whether it may stay in sanitized HTML.

/// The host of an `http`, `https` or scheme-less web address, in lower case.
pub(super) fn host(url: &str) -> Option<String> {
    // What browsers do before they read a URL.
    let url: String = url
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .take(2_000)
        .collect();
    let url = url.trim().replace('\\', "/");
    let rest = match url.split_once(':') {
        Some((scheme, rest)) if is_web(scheme) => rest.trim_start_matches('/'),
        _ => url.strip_prefix("//")?,
    };
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let host = host.split(':').next()?.trim_end_matches('.');
    let fits = !host.is_empty() && host.len() <= 253 && !host.contains(char::is_whitespace);
    fits.then(|| host.to_lowercase())
}

/// Whether a link's text already names the host it leads to, and no other.
pub(super) fn names(text: &str, target: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', ',']);
    let named = host(text).or_else(|| host(&format!("http://{text}")));
    let bare = |host: &str| host.strip_prefix("www.").unwrap_or(host).to_owned();
    named.is_some_and(|named| bare(&named) == bare(target))
}

/// `http`, `https` and `mailto` only.
pub(super) fn is_safe(url: &str) -> bool {
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
