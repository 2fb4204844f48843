//! What the receiving server found out about a sender: Authentication-Results (RFC 8601).
//!
//! Anybody can write such a header. Only the one of the server that took the mail in counts: the
//! one with its configured name, else one above every `Received`, where no other server writes.
//! Without either the topmost is shown as not verified. Nothing is verified here.

use std::fmt;

use crate::changes::Changes;
use crate::header::{fields, unfolded};
use crate::shield::{self, Shape};

/// Bytes read of one header, results in it, and headers of one server.
const MOST_BYTES: usize = 16 * 1024;
const MOST_RESULTS: usize = 100;
const MOST_HEADERS: usize = 20;

/// INVARIANT: every string in here has passed the shield and is bounded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Authentication {
    /// Who says so; Exchange does not name itself.
    pub server: Option<String>,
    pub spf: Option<Verdict>,
    pub dkim: Option<Verdict>,
    pub dmarc: Option<Verdict>,
    pub trust: Trust,
}

/// Why a header is believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trust {
    /// It carries the configured name of the receiving server, as no other does.
    Configured,
    /// It stands above every `Received`, so that the last server wrote it.
    Position,
    /// No name is configured, and the place proves nothing.
    Unverified,
    /// Another header claims to be from the same server, or from the last one: it could be forged.
    Contested,
}

/// One method's result, and the domain it is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Verdict {
    /// A word of RFC 8601, or `unknown`.
    pub result: &'static str,
    pub domain: Option<String>,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.domain {
            Some(domain) => write!(f, "{} ({domain})", self.result),
            None => f.write_str(self.result),
        }
    }
}

/// The results of the server `authserv_id`, or of whichever wrote the topmost header.
///
/// What stands above the first `Received` was written by the last server alone, so that its headers there count
/// together. Below, where some servers write theirs, only the topmost counts, and a second one of that name says
/// that the server lets forged ones in.
pub(crate) fn authentication(
    header: &[u8],
    authserv_id: Option<&str>,
    changes: &mut Changes,
) -> Option<Authentication> {
    let mut server: Option<String> = authserv_id.map(str::to_owned);
    let mut results: Vec<Result> = Vec::new();
    let mut above = true;
    let mut used = 0;
    let mut ignored = 0;
    let mut certain = false;
    let mut other_above = false;
    for field in fields(header) {
        above &= !field.is("Received");
        if !field.is("Authentication-Results") {
            continue;
        }
        let value = unfolded(field.value.get(..MOST_BYTES).unwrap_or(field.value));
        let said = Said::read(&String::from_utf8_lossy(&value));
        let own = server.get_or_insert_with(|| said.server.clone());
        if !said.server.eq_ignore_ascii_case(own) {
            other_above |= above;
            continue;
        }
        if above && used < MOST_HEADERS || used == 0 {
            // Above the first `Received` nobody else can write.
            certain |= above;
            used += 1;
            results.extend(said.results);
        } else {
            ignored += 1;
        }
    }
    if used == 0 {
        return None;
    }
    let mut verdict = |method| verdict(&results, method, changes);
    let server = server.filter(|name| !name.is_empty());
    Some(Authentication {
        spf: verdict("spf"),
        dkim: verdict("dkim"),
        dmarc: verdict("dmarc"),
        server: server.map(|name| shield::bounded(&name, Shape::Line, 253, changes)),
        trust: match authserv_id {
            Some(_) if certain || ignored == 0 => Trust::Configured,
            None if ignored == 0 && !other_above => match certain && !above {
                true => Trust::Position,
                false => Trust::Unverified,
            },
            _ => Trust::Contested,
        },
    })
}

/// The first result of a method; of several signatures one that passes.
fn verdict(results: &[Result], method: &str, changes: &mut Changes) -> Option<Verdict> {
    let mut own = results.iter().filter(|one| one.method == method);
    let first = own.next()?;
    let passed = own.find(|one| method == "dkim" && one.word() == "pass" && first.word() != "pass");
    let one = passed.unwrap_or(first);
    let domain = one.domain.as_deref();
    Some(Verdict {
        result: one.word(),
        domain: domain.map(|text| shield::bounded(text, Shape::Line, 253, changes)),
    })
}

/// One header as it is written.
#[derive(Default)]
struct Said {
    server: String,
    results: Vec<Result>,
}

/// In lower case, the domain aside.
struct Result {
    method: String,
    result: String,
    domain: Option<String>,
}

impl Result {
    /// RFC 8601 section 2.7.
    fn word(&self) -> &'static str {
        const WORDS: [&str; 8] = [
            "pass",
            "fail",
            "softfail",
            "neutral",
            "none",
            "temperror",
            "permerror",
            "policy",
        ];
        let known = WORDS.iter().find(|word| **word == self.result);
        known.copied().unwrap_or("unknown")
    }
}

impl Said {
    fn read(value: &str) -> Self {
        let mut scan = Scan { rest: value };
        let mut said = Self::default();
        let mut pairs = scan.statement();
        // QUIRK: Exchange leaves its name out and begins with the first result.
        if pairs.first().is_none_or(|pair| pair.value.is_none()) {
            said.server = pairs
                .into_iter()
                .next()
                .map(|pair| pair.name)
                .unwrap_or_default();
            pairs = Vec::new();
        }
        loop {
            said.results.extend(Result::read(pairs));
            if said.results.len() >= MOST_RESULTS || !scan.next_statement() {
                return said;
            }
            pairs = scan.statement();
        }
    }
}

impl Result {
    fn read(pairs: Vec<Pair>) -> Option<Self> {
        let mut pairs = pairs.into_iter();
        let (method, result) = pairs
            .next()
            .and_then(|pair| Some((pair.name, pair.value?)))?;
        // A method may carry its version: `dkim/1`.
        let method = method
            .split('/')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase();
        let about: &[&str] = match method.as_str() {
            "dkim" => &["header.d", "header.i"],
            "spf" => &["smtp.mailfrom", "smtp.mail", "smtp.helo"],
            "dmarc" => &["header.from"],
            _ => return None,
        };
        let rest: Vec<Pair> = pairs.collect();
        let value = |name: &&str| {
            let pair = rest
                .iter()
                .find(|pair| pair.name.eq_ignore_ascii_case(name))?;
            let value = pair.value.as_deref()?;
            let domain = value.rsplit('@').next().unwrap_or(value);
            (!domain.is_empty()).then(|| domain.to_owned())
        };
        Some(Self {
            method,
            result: result.to_ascii_lowercase(),
            domain: about.iter().find_map(value),
        })
    }
}

/// `name` or `name=value`.
struct Pair {
    name: String,
    value: Option<String>,
}

/// Reads on, comments left out and quotes undone. Linear: nothing is read twice.
struct Scan<'a> {
    rest: &'a str,
}

impl Scan<'_> {
    /// Up to the next semicolon, which stays.
    fn statement(&mut self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        loop {
            self.skip_gaps();
            if self.rest.is_empty() || self.rest.starts_with(';') {
                return pairs;
            }
            let name = self.word(&['=', ';']);
            self.skip_gaps();
            let value = self.rest.strip_prefix('=').map(|rest| {
                self.rest = rest;
                self.skip_gaps();
                self.word(&[';'])
            });
            pairs.push(Pair { name, value });
        }
    }

    fn next_statement(&mut self) -> bool {
        let more = self.rest.strip_prefix(';');
        self.rest = more.unwrap_or_default();
        more.is_some()
    }

    /// Up to a blank, a comment or one of `ends`.
    fn word(&mut self, ends: &[char]) -> String {
        let mut out = String::new();
        let mut quoted = false;
        let mut chars = self.rest.chars();
        loop {
            let here = chars.as_str();
            let Some(char) = chars.next() else {
                self.rest = "";
                return out;
            };
            match char {
                '\\' if quoted => out.extend(chars.next()),
                '"' => quoted = !quoted,
                _ if quoted => out.push(char),
                _ if char.is_whitespace() || char == '(' || ends.contains(&char) => {
                    self.rest = here;
                    return out;
                }
                _ => out.push(char),
            }
        }
    }

    /// Blanks and comments, which nest. One that does not end takes the rest with it.
    fn skip_gaps(&mut self) {
        let mut depth = 0_usize;
        let mut chars = self.rest.chars();
        loop {
            let here = chars.as_str();
            match chars.next() {
                Some('\\') if depth > 0 => {
                    chars.next();
                }
                Some('(') => depth += 1,
                Some(')') if depth > 0 => depth -= 1,
                Some(char) if depth > 0 || char.is_whitespace() => {}
                _ => {
                    self.rest = here;
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(header: &str, id: Option<&str>) -> Option<Authentication> {
        authentication(header.as_bytes(), id, &mut Changes::default())
    }

    /// Server and results on one line.
    fn line(header: &str, id: Option<&str>) -> String {
        let Some(found) = read(header, id) else {
            return "nothing".to_owned();
        };
        let word = |verdict: Option<Verdict>| verdict.map_or("-".to_owned(), |v| v.to_string());
        let (spf, dkim, dmarc) = (word(found.spf), word(found.dkim), word(found.dmarc));
        format!(
            "{}: {spf}, {dkim}, {dmarc}",
            found.server.unwrap_or_default()
        )
    }

    #[test]
    fn headers_in_the_wild() {
        for (value, want) in [
            (
                "mx.google.com;\r\n dkim=pass header.i=@example.com header.s=s header.b=ab=cd;\r\n spf=pass (google.com: domain of a@b.example designates 1.2.3.4 as permitted; sender) smtp.mailfrom=a@b.example;\r\n dmarc=pass (p=REJECT sp=NONE dis=NONE) header.from=example.com",
                "mx.google.com: pass (b.example), pass (example.com), pass (example.com)",
            ),
            (
                "spf=fail (sender IP is 1.2.3.4) smtp.mailfrom=x.example; dkim=none (message not signed) header.d=none;dmarc=fail action=none header.from=x.example;",
                ": fail (x.example), none (none), fail (x.example)",
            ),
            ("example.org 1; none", "example.org: -, -, -"),
            (
                "mx.example; dkim=fail reason=\"bad; dkim=pass\" header.d=a.example; dkim=pass header.d=b.example",
                "mx.example: -, pass (b.example), -",
            ),
            (
                "mx.example; dkim/1 = PASS (ok (really)) header.d = \"a.example\"",
                "mx.example: -, pass (a.example), -",
            ),
            (
                "mx.example; spf=hardfail; dmarc=bestguesspass",
                "mx.example: unknown, -, unknown",
            ),
            (
                "mx.example; spf=pass (x\\); dkim=pass) smtp.helo=h.example",
                "mx.example: pass (h.example), -, -",
            ),
            ("mx.example (unended; spf=pass", "mx.example: -, -, -"),
            (
                "mx.example; iprev=pass; auth=pass; ;; spf=none",
                "mx.example: none, -, -",
            ),
            ("", ": -, -, -"),
        ] {
            let header = format!("Authentication-Results: {value}\r\n");
            assert_eq!(line(&header, None), want, "{value}");
        }
    }

    #[test]
    fn only_the_receiving_server_counts() {
        let forged = "Authentication-Results: mx.example; spf=pass; dmarc=pass\r\n";
        let other = "Authentication-Results: relay.example; dkim=pass\r\n";
        let real = "Authentication-Results: MX.example; spf=fail\r\n";
        let second = "Authentication-Results: mx.example; dkim=none\r\n";
        let hop = "Received: from there\r\n";
        for (header, id, want) in [
            (
                format!("{real}{hop}{forged}"),
                Some("mx.example"),
                "mx.example: fail, -, -",
            ),
            (
                format!("{real}{second}{hop}{forged}"),
                Some("mx.example"),
                "mx.example: fail, none, -",
            ),
            (
                format!("{other}{hop}{real}"),
                Some("mx.example"),
                "mx.example: fail, -, -",
            ),
            (other.to_owned(), Some("mx.example"), "nothing"),
            (
                format!("{other}{forged}"),
                None,
                "relay.example: -, pass, -",
            ),
            (
                format!("{hop}{hop}{forged}"),
                None,
                "mx.example: pass, -, pass",
            ),
            (hop.to_owned(), None, "nothing"),
        ] {
            assert_eq!(line(&header, id), want, "{header}");
        }
        let id = Some("mx.EXAMPLE");
        for (header, id, want) in [
            (real.to_owned(), id, Trust::Configured),
            (real.to_owned(), None, Trust::Unverified),
            (format!("{hop}{forged}"), None, Trust::Unverified),
            (format!("{real}{hop}"), None, Trust::Position),
            (format!("{real}{second}{hop}{other}"), None, Trust::Position),
            (format!("{real}{hop}{forged}"), None, Trust::Contested),
            (format!("{real}{hop}{forged}"), id, Trust::Configured),
            (format!("{other}{real}{hop}"), None, Trust::Contested),
            (format!("{hop}{real}{hop}{forged}"), id, Trust::Contested),
        ] {
            assert_eq!(read(&header, id).unwrap().trust, want, "{header}");
        }
    }

    #[test]
    fn what_it_says_is_shielded() {
        let mut changes = Changes::default();
        let header = "Authentication-Results: \"<|x|>\"; dkim=pass header.d=\"[a](b)\u{202E}\"\r\n";
        let found = authentication(header.as_bytes(), None, &mut changes).unwrap();
        assert_eq!(found.server.as_deref(), Some("< |x|>"));
        assert_eq!(found.dkim.unwrap().domain.as_deref(), Some("[a](b)"));
        assert_eq!((changes.invisible, changes.markers), (1, 1));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_fall(value: Vec<u8>, near in "[a;= ()\"\\\\./@]{0,60}(spf|dkim)?=pass") {
            let header = [b"Authentication-Results: ", value.as_slice()].concat();
            authentication(&header, None, &mut Changes::default());
            let near = format!("Authentication-Results: {near}");
            authentication(near.as_bytes(), Some("a"), &mut Changes::default());
        }
    }
}
