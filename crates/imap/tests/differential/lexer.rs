//! A strict lexer for commands, for syntax that imap-codec does not know: one line with its literals, and no more.

/// A word of a command, or an argument as the server will see it.
#[derive(Debug, PartialEq, Eq, Clone)]
pub(crate) enum Token {
    Word(String),
    Argument(Vec<u8>),
}

pub(crate) fn word(text: &str) -> Token {
    Token::Word(text.to_owned())
}

pub(crate) fn argument(text: &str) -> Token {
    Token::Argument(text.as_bytes().to_vec())
}

/// The tokens of exactly one command. Panics over anything that RFC 3501 would not take for one.
pub(crate) fn tokens(mut rest: &[u8]) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut depth = 0;
    loop {
        match rest {
            [b'\r', b'\n'] => break,
            [b'\r' | b'\n', ..] => panic!("a line end within: {}", rest.escape_ascii()),
            [] => panic!("no line end"),
            [b' ', after @ ..] => {
                assert!(!after.starts_with(b" "), "two spaces");
                assert!(!after.starts_with(b"\r"), "a space at the end");
                rest = after;
            }
            [b'(', after @ ..] => {
                depth += 1;
                tokens.push(word("("));
                rest = after;
            }
            [b')', after @ ..] => {
                assert!(depth > 0, "closes what is not open");
                depth -= 1;
                tokens.push(word(")"));
                rest = after;
            }
            [b'"', after @ ..] => {
                let (text, after) = quoted(after);
                tokens.push(Token::Argument(text));
                rest = after;
            }
            [b'{', after @ ..] => {
                let (bytes, after) = literal(after);
                tokens.push(Token::Argument(bytes.to_vec()));
                rest = after;
            }
            _ => {
                let end = rest.iter().position(|b| b" ()\"{\r\n".contains(b));
                let (text, after) = rest.split_at(end.unwrap_or(rest.len()));
                assert!(
                    text.iter().all(u8::is_ascii_graphic),
                    "{}",
                    text.escape_ascii()
                );
                tokens.push(word(std::str::from_utf8(text).unwrap()));
                rest = after;
            }
        }
    }
    assert_eq!(depth, 0, "leaves open what it opened");
    tokens
}

fn quoted(mut rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut text = Vec::new();
    loop {
        match rest {
            [b'"', after @ ..] => return (text, after),
            [b'\\', escaped @ (b'"' | b'\\'), after @ ..] => {
                text.push(*escaped);
                rest = after;
            }
            [plain @ b' '..=b'~', after @ ..] if *plain != b'\\' => {
                text.push(*plain);
                rest = after;
            }
            _ => panic!("no quoted string: {}", rest.escape_ascii()),
        }
    }
}

fn literal(rest: &[u8]) -> (&[u8], &[u8]) {
    let close = rest.iter().position(|b| *b == b'}').unwrap();
    let (digits, after) = rest.split_at(close);
    let digits = std::str::from_utf8(digits).unwrap();
    let length: usize = digits.trim_end_matches('+').parse().unwrap();
    let after = after.strip_prefix(b"}\r\n").unwrap();
    let (bytes, after) = after.split_at(length);
    assert!(!bytes.contains(&0), "NUL in a literal");
    (bytes, after)
}
