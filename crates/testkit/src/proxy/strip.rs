//! Extensions taken away from a server: announcement, commands, response codes. Works on first lines; bodies pass.

/// How an extension shows in a command: by its name (`prefix`, whole words), by something it contains, or both.
struct Use {
    capability: &'static str,
    prefix: &'static str,
    contains: &'static str,
}

const fn named(capability: &'static str, prefix: &'static str) -> Use {
    Use {
        capability,
        prefix,
        contains: "",
    }
}

const fn within(capability: &'static str, prefix: &'static str, contains: &'static str) -> Use {
    Use {
        capability,
        prefix,
        contains,
    }
}

/// `UID` before a command name is not part of these prefixes; it is cut off first, UID EXPUNGE aside.
const USES: &[Use] = &[
    named("ACL", "GETACL"),
    named("ACL", "MYRIGHTS"),
    named("ACL", "SETACL"),
    within("BINARY", "FETCH", "BINARY"),
    named("COMPRESS=DEFLATE", "COMPRESS"),
    within("CONDSTORE", "", "CHANGEDSINCE"),
    within("CONDSTORE", "", "MODSEQ"),
    within("CONDSTORE", "", "(CONDSTORE"),
    within("CREATE-SPECIAL-USE", "CREATE", "(USE "),
    named("ENABLE", "ENABLE"),
    within("ESEARCH", "SEARCH", "SEARCH RETURN"),
    named("ID", "ID"),
    named("IDLE", "IDLE"),
    within("LIST-EXTENDED", "LIST", "LIST ("),
    within("LIST-EXTENDED", "LIST", " RETURN ("),
    within("LIST-STATUS", "LIST", "STATUS ("),
    within("LITERAL+", "", "+}"),
    named("METADATA", "GETMETADATA"),
    named("METADATA", "SETMETADATA"),
    named("MOVE", "MOVE"),
    named("NAMESPACE", "NAMESPACE"),
    named("NOTIFY", "NOTIFY"),
    within("OBJECTID", "", "EMAILID"),
    within("OBJECTID", "", "MAILBOXID"),
    within("OBJECTID", "", "THREADID"),
    within("PREVIEW", "FETCH", "PREVIEW"),
    within("QRESYNC", "", "QRESYNC"),
    named("QUOTA", "GETQUOTA"),
    named("QUOTA", "GETQUOTAROOT"),
    named("QUOTA", "SETQUOTA"),
    within("SAVEDATE", "FETCH", "SAVEDATE"),
    within("SEARCHRES", "SEARCH", "(SAVE"),
    within("SEARCHRES", "COPY", "COPY $"),
    within("SEARCHRES", "FETCH", "FETCH $"),
    within("SEARCHRES", "MOVE", "MOVE $"),
    within("SEARCHRES", "STORE", "STORE $"),
    within("SEARCHRES", "UID EXPUNGE", "EXPUNGE $"),
    named("SORT", "SORT"),
    within("SPECIAL-USE", "LIST", "SPECIAL-USE"),
    named("STARTTLS", "STARTTLS"),
    within("STATUS=SIZE", "STATUS", "SIZE"),
    within("STATUS=SIZE", "LIST", " SIZE"),
    within("THREAD=REFS", "SEARCH", "INTHREAD"),
    named("UIDPLUS", "UID EXPUNGE"),
    named("UNSELECT", "UNSELECT"),
    within("WITHIN", "SEARCH", "OLDER "),
    within("WITHIN", "SEARCH", "YOUNGER "),
];

const CODES: &[(&str, &str)] = &[
    ("CONDSTORE", "HIGHESTMODSEQ"),
    ("CONDSTORE", "MODIFIED"),
    ("CONDSTORE", "NOMODSEQ"),
    ("OBJECTID", "MAILBOXID"),
    ("UIDPLUS", "APPENDUID"),
    ("UIDPLUS", "COPYUID"),
    ("UIDPLUS", "UIDNOTSTICKY"),
];

const SPECIAL_USE: [&str; 8] = [
    "\\ALL",
    "\\ARCHIVE",
    "\\DRAFTS",
    "\\FLAGGED",
    "\\IMPORTANT",
    "\\JUNK",
    "\\SENT",
    "\\TRASH",
];

#[derive(Clone, Debug)]
pub(super) struct Strip(Vec<String>);

impl Strip {
    pub(super) fn new(capabilities: &str) -> Self {
        let mut names: Vec<_> = capabilities
            .split_whitespace()
            .map(str::to_uppercase)
            .collect();
        names.extend(["COMPRESS=DEFLATE", "STARTTLS"].map(str::to_owned));
        Self(names)
    }

    /// Whether a command line (with its tag) needs something that was taken away.
    pub(super) fn refuses(&self, line: &str) -> bool {
        let line = line.trim_end().to_uppercase();
        let Some((_, command)) = line.split_once(' ') else {
            return false;
        };
        let bare = command.strip_prefix("UID ").unwrap_or(command);
        let begins = |prefix: &str| {
            [command, bare].iter().any(|text| {
                text.strip_prefix(prefix)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
            })
        };
        USES.iter().any(|usage| {
            self.has(usage.capability)
                && (usage.prefix.is_empty() || begins(usage.prefix))
                && command.contains(usage.contains)
        })
    }

    /// A server's line as one without the extensions would send it.
    pub(super) fn rewrite(&self, line: &str) -> String {
        let mut line = self.rewrite_capabilities(line);
        for (capability, code) in CODES {
            if self.has(capability) {
                line = without_code(&line, code);
            }
        }
        if self.has("SPECIAL-USE") && (line.starts_with("* LIST (") || line.starts_with("* LSUB ("))
        {
            line = without_special_use(&line);
        }
        line
    }

    fn has(&self, capability: &str) -> bool {
        self.0.iter().any(|name| name == capability)
    }

    fn rewrite_capabilities(&self, line: &str) -> String {
        let upper = line.to_ascii_uppercase();
        let (start, end) = if upper.starts_with("* CAPABILITY ") {
            (13, line.trim_end().len())
        } else if let Some(at) = upper.find("[CAPABILITY ") {
            (
                at + 12,
                line[at..].find(']').map_or(line.len(), |end| at + end),
            )
        } else {
            return line.to_owned();
        };
        let kept: Vec<_> = line[start..end]
            .split(' ')
            .filter(|name| !self.has(&name.to_uppercase()))
            .collect();
        format!("{}{}{}", &line[..start], kept.join(" "), &line[end..])
    }
}

fn without_code(line: &str, code: &str) -> String {
    let Some(at) = line.to_ascii_uppercase().find(&format!("[{code}")) else {
        return line.to_owned();
    };
    let Some(end) = line[at..].find(']') else {
        return line.to_owned();
    };
    format!(
        "{}{}",
        &line[..at],
        line[at + end + 1..].trim_start_matches(' ')
    )
}

fn without_special_use(line: &str) -> String {
    let Some((before, rest)) = line.split_once('(') else {
        return line.to_owned();
    };
    let Some((attributes, after)) = rest.split_once(')') else {
        return line.to_owned();
    };
    let kept: Vec<_> = attributes
        .split(' ')
        .filter(|name| !SPECIAL_USE.contains(&name.to_uppercase().as_str()))
        .collect();
    format!("{before}({}){after}", kept.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_of_missing_extensions_are_refused() {
        let strip = Strip::new("MOVE UIDPLUS ID CONDSTORE SEARCHRES");
        for line in [
            "a MOVE 1 x",
            "a uid move 1 x",
            "a UID EXPUNGE 1",
            "a ID NIL",
            "a FETCH 1 (FLAGS) (CHANGEDSINCE 3)",
            "a UID SEARCH RETURN (SAVE COUNT) UID 3",
            "a UID STORE $ +FLAGS (x)",
            "a UID FETCH $ (UID)",
        ] {
            assert!(strip.refuses(line), "{line}");
        }
        for line in [
            "a IDLE",
            "a EXPUNGE",
            "a UID COPY 1 MOVE",
            "a NOOP",
            "DONE",
            "a SORT (DATE) UTF-8 ALL",
            "a UID STORE 1 +FLAGS ($Work $Play)",
        ] {
            assert!(!strip.refuses(line), "{line}");
        }
    }

    #[test]
    fn answers_lose_what_is_missing() {
        let strip = Strip::new("MOVE UIDPLUS SPECIAL-USE");
        let cases = [
            (
                "* CAPABILITY IMAP4rev1 MOVE IDLE UIDPLUS\r\n",
                "* CAPABILITY IMAP4rev1 IDLE\r\n",
            ),
            (
                "a OK [CAPABILITY IMAP4rev1 UIDPLUS MOVE] Logged in\r\n",
                "a OK [CAPABILITY IMAP4rev1] Logged in\r\n",
            ),
            ("a OK [COPYUID 1 2 3] done\r\n", "a OK done\r\n"),
            (
                "* LIST (\\HasNoChildren \\Sent) \"/\" Sent\r\n",
                "* LIST (\\HasNoChildren) \"/\" Sent\r\n",
            ),
            (
                "* OK [HIGHESTMODSEQ 1] Highest\r\n",
                "* OK [HIGHESTMODSEQ 1] Highest\r\n",
            ),
        ];
        for (line, expected) in cases {
            assert_eq!(strip.rewrite(line), expected);
        }
    }
}
