//! The automatic person's browser: keeps cookies, follows redirects, submits the one form there is. Runs no script.

use super::{Device, Oidc};
use crate::http::{Http, form};
use std::collections::BTreeMap;

/// Redirects of one walk; a login takes about six.
const STEPS: usize = 20;

/// What the person sees in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub url: String,
    pub status: u16,
    pub body: String,
}

struct Browser<'a> {
    http: &'a Http,
    origin: String,
    // QUIRK: paths of cookies are not looked at; of one name, one walk has one.
    cookies: BTreeMap<String, String>,
}

impl Oidc {
    /// Opens an authorization URL, logs in, agrees, and goes where the server sends the browser: to the client's listener.
    pub fn browse(&self, url: &str) -> Page {
        let redirect = match self.authorize(url) {
            Ok(redirect) => redirect,
            Err(page) => return page,
        };
        let answer = self
            .http
            .get(&redirect)
            .unwrap_or_else(|e| panic!("nobody listens at {redirect}: {e}"));
        Page {
            url: redirect,
            status: answer.status,
            body: answer.text(),
        }
    }

    /// As [`Oidc::browse`], but stops before the redirect and says where it goes. An error is the page that the server
    /// showed instead.
    pub fn authorize(&self, url: &str) -> Result<String, Page> {
        self.browser().walk(url)
    }

    /// Enters a device's code and agrees as `user`, or refuses as `deny`. Returns the last page.
    pub fn approve(&self, device: &Device, user: &str) -> Page {
        self.set_person(user);
        let mut browser = self.browser();
        let page = browser
            .walk(&device.uri)
            .expect_err("the page that asks for a code");
        let (_, rest) = page
            .body
            .split_once("name=\"xsrf\" value=\"")
            .expect("a form with a token against forged requests");
        let xsrf = rest.split('"').next().unwrap_or_default();
        let fields = [
            ("xsrf", xsrf),
            ("user_code", device.user_code.as_str()),
            ("confirm", "yes"),
        ];
        let url = format!("{}/device", self.issuer());
        browser
            .submit(&url, &fields)
            .expect_err("a page that says how it came out")
    }

    fn browser(&self) -> Browser<'_> {
        Browser {
            http: self.http(),
            origin: self.issuer(),
            cookies: BTreeMap::new(),
        }
    }
}

impl Browser<'_> {
    /// To the first URL that is not the server's, or the page on which the walk ends.
    fn walk(&mut self, url: &str) -> Result<String, Page> {
        self.follow("GET", url, &[])
    }

    fn submit(&mut self, url: &str, fields: &[(&str, &str)]) -> Result<String, Page> {
        self.follow("POST", url, form(fields).as_bytes())
    }

    fn follow(&mut self, method: &str, url: &str, body: &[u8]) -> Result<String, Page> {
        let (mut method, mut url, mut body) = (method, url.to_owned(), body);
        for _ in 0..STEPS {
            if !url.starts_with(&format!("{}/", self.origin)) {
                return Ok(url);
            }
            let cookies: Vec<String> = self
                .cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let cookies = cookies.join("; ");
            let mut headers = vec![("Cookie", cookies.as_str()), ("Accept", "text/html")];
            if method == "POST" {
                headers.push(("Content-Type", "application/x-www-form-urlencoded"));
            }
            let answer = self
                .http
                .send(method, &url, &headers, body)
                .unwrap_or_else(|e| panic!("no answer from {url}: {e}"));
            self.keep_cookies(&answer.headers);
            match answer.header("location") {
                Some(location) if (300..400).contains(&answer.status) => {
                    url = if location.starts_with('/') {
                        format!("{}{location}", self.origin)
                    } else {
                        location.to_owned()
                    };
                    (method, body) = ("GET", &[]);
                }
                _ => {
                    let (status, body) = (answer.status, answer.text());
                    return Err(Page { url, status, body });
                }
            }
        }
        panic!("the walk does not end; it is at {url}");
    }

    fn keep_cookies(&mut self, headers: &[(String, String)]) {
        let set = headers
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
            .filter_map(|(_, value)| value.split(';').next()?.split_once('='));
        for (name, value) in set {
            if value.is_empty() {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }
}
