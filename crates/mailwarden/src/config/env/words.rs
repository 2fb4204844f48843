//! A command in one variable, split into its words as a POSIX shell splits them. What would take a shell to understand is refused.
//!
//! Blanks separate; single quotes keep all that is between them; in double quotes a backslash keeps `"`, `\`, `$` and a backtick;
//! elsewhere a backslash keeps whatever follows.

/// What means something to a shell that it does not mean here.
const OF_A_SHELL: &str = "|&;<>()$`";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Quote {
    Single,
    Double,
}

/// INVARIANT: no word is in a complaint; a secret may stand there by mistake.
pub(super) fn of(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    // `None` between words.
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut rest = text.chars();
    while let Some(char) = rest.next() {
        match (quote, char) {
            (Some(Quote::Single), '\'') | (Some(Quote::Double), '"') => quote = None,
            (Some(Quote::Single), char) => word.get_or_insert_default().push(char),
            (Some(Quote::Double), '\\') => {
                let word = word.get_or_insert_default();
                match rest.next() {
                    Some(kept @ ('"' | '\\' | '$' | '`')) => word.push(kept),
                    Some(other) => word.extend(['\\', other]),
                    None => return Err(open()),
                }
            }
            (Some(Quote::Double), '$' | '`') => return Err(shell(char)),
            (Some(Quote::Double), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(match char {
                    '"' => Quote::Double,
                    _ => Quote::Single,
                });
                word.get_or_insert_default();
            }
            (None, '\\') => match rest.next() {
                Some(kept) => word.get_or_insert_default().push(kept),
                None => return Err(open()),
            },
            (None, '\0') => return Err("contains a NUL character".to_owned()),
            (None, char) if char.is_whitespace() => words.extend(word.take()),
            (None, char) if OF_A_SHELL.contains(char) => return Err(shell(char)),
            (None, '~') if word.is_none() => return Err(shell(char)),
            (None, char) => word.get_or_insert_default().push(char),
        }
    }
    if quote.is_some() {
        return Err(open());
    }
    words.extend(word);
    Ok(words)
}

fn open() -> String {
    "ends inside quotes or after a backslash; close them".to_owned()
}

fn shell(char: char) -> String {
    format!(
        "holds an unquoted {char}, which means something to a shell, and none reads it; put it into single quotes, or the command into a script"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_splits_them() {
        for (text, want) in [
            ("pass show mail", &["pass", "show", "mail"][..]),
            ("  pass\tshow\n mail ", &["pass", "show", "mail"]),
            ("", &[]),
            ("a '' \"\"", &["a", "", ""]),
            ("'a b' \"c d\" e\\ f", &["a b", "c d", "e f"]),
            ("a'b'\"c\"d", &["abcd"]),
            ("'$HOME `id` \\n'", &["$HOME `id` \\n"]),
            (r#""\$x \" \\ \n""#, &[r#"$x " \ \n"#]),
            ("op://vault/item?x=1#y", &["op://vault/item?x=1#y"]),
            ("a~b", &["a~b"]),
            ("ümlaut 'ß ß'", &["ümlaut", "ß ß"]),
        ] {
            assert_eq!(of(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn what_takes_a_shell_is_refused() {
        for (text, says) in [
            ("pass show mail | head -1", "unquoted |"),
            ("echo $PASS", "unquoted $"),
            ("echo \"$PASS\"", "unquoted $"),
            ("echo `id`", "unquoted `"),
            ("a; b", "unquoted ;"),
            ("a && b", "unquoted &"),
            ("cat < file", "unquoted <"),
            ("~/bin/pass", "unquoted ~"),
            ("'open", "ends inside quotes"),
            ("\"open", "ends inside quotes"),
            ("open\\", "ends inside quotes"),
            ("\"open\\", "ends inside quotes"),
            ("a\0b", "NUL"),
        ] {
            let said = of(text).unwrap_err();
            assert!(said.contains(says), "{text}: {said}");
        }
    }
}
