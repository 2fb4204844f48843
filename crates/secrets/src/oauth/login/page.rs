//! The small pages that a browser is shown. Nothing of a request is on them, and nothing in them runs.

use zeroize::Zeroizing;

/// What a browser is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Page {
    /// The provider's answer is here; whether it is good shows in the program.
    Heard,
    Refused,
    /// Not the answer to our question.
    Stranger,
    /// Somebody has gone through the door before.
    Late,
    NotFound,
    OnlyGet,
}

impl Page {
    pub(super) fn response(self) -> String {
        let (status, title, text) = match self {
            Self::Heard => (
                "200 OK",
                "Back to mailwarden",
                "mailwarden has the answer and says where it was started whether the login is complete. This window can be closed.",
            ),
            Self::Refused => (
                "200 OK",
                "Not logged in",
                "Access was not granted, and nothing has changed. This window can be closed.",
            ),
            Self::Stranger => (
                "400 Bad Request",
                "Not this login",
                "This is not the answer to the login that mailwarden is waiting for.",
            ),
            Self::Late => (
                "410 Gone",
                "Used already",
                "This address has led somebody to the provider already. If that was not you, start the login again.",
            ),
            Self::NotFound => ("404 Not Found", "Nothing here", "There is nothing here."),
            Self::OnlyGet => (
                "405 Method Not Allowed",
                "Nothing here",
                "There is nothing here.",
            ),
        };
        let body = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><h1>{title}</h1><p>{text}</p></html>\n"
        );
        let length = body.len();
        let allow = if self == Self::OnlyGet {
            "Allow: GET\r\n"
        } else {
            ""
        };
        format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n{allow}Connection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\r\n{body}"
        )
    }
}

/// The way through the door. The address goes to the browser alone and is kept nowhere.
pub(super) fn onward(address: &str) -> Zeroizing<String> {
    // It has been through a parser of addresses: no line can end in it.
    Zeroizing::new(format!(
        "HTTP/1.1 302 Found\r\nLocation: {address}\r\nContent-Length: 0\r\nConnection: close\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\r\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_plain_and_are_kept_nowhere() {
        let all = [
            Page::Heard,
            Page::Refused,
            Page::Stranger,
            Page::Late,
            Page::NotFound,
            Page::OnlyGet,
        ];
        for page in all {
            let text = page.response();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            assert!(head.contains(&format!("Content-Length: {}", body.len())));
            for field in ["Referrer-Policy: no-referrer", "Cache-Control: no-store"] {
                assert!(head.contains(field), "{page:?}");
            }
            assert!(
                !body.contains("<script") && !body.contains("http"),
                "{page:?}"
            );
        }
    }
}
