//! The way from the demo to one's own mail.

use std::path::Path;

use super::page::Page;

pub(super) fn show(page: &Page, program: &Path) {
    let screen = page.screen;
    let program = shell_word(&program.to_string_lossy());
    screen.line("");
    screen.line(screen.bold("Connect your own mail"));
    for line in [
        "1  Say where it is (take an app password where your provider has them):",
        "     export MAIL_IMAP_DEFAULT_HOST=imap.example.com",
        "     export MAIL_IMAP_DEFAULT_USER=you@example.com",
        "     export MAIL_IMAP_DEFAULT_PASS=app-password",
        "2  See whether it works:",
        &format!("     {program} check"),
        "3  Give it to Claude Code, in the same shell:",
        "     claude mcp add mailwarden \\",
        "       --env MAIL_IMAP_DEFAULT_HOST=\"$MAIL_IMAP_DEFAULT_HOST\" \\",
        "       --env MAIL_IMAP_DEFAULT_USER=\"$MAIL_IMAP_DEFAULT_USER\" \\",
        "       --env MAIL_IMAP_DEFAULT_PASS=\"$MAIL_IMAP_DEFAULT_PASS\" \\",
        &format!("       -- {program} stdio"),
        "   Claude Desktop, Cursor, VS Code and others: see \"Connect your client\" in README.md.",
    ] {
        screen.line(line);
    }
}

/// As a shell takes it for one word.
fn shell_word(text: &str) -> String {
    let plain = |char: char| char.is_alphanumeric() || "/._-+:@%,".contains(char);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word() {
        for (path, want) in [
            ("/usr/bin/mailwarden", "/usr/bin/mailwarden"),
            ("/home/zoë/bin/x", "/home/zoë/bin/x"),
            ("/my apps/x", "'/my apps/x'"),
            ("/it's/x", r"'/it'\''s/x'"),
            ("/$HOME/x", "'/$HOME/x'"),
        ] {
            assert_eq!(shell_word(path), want);
        }
    }
}
