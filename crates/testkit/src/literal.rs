//! The announcement of a literal at the end of a line (RFC 3501 section 4.3, RFC 7888). Reads no literal itself.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Literal {
    pub(crate) size: usize,
    pub(crate) sending: Sending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    /// `{n+}`: the bytes follow at once.
    Immediate,
    /// `{n}`: a client waits for the server's consent; a server does not wait.
    Synchronising,
}

/// What `line`, with or without its line break, announces.
pub(crate) fn announced(line: &[u8]) -> Option<Literal> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let inner = line
        .strip_suffix(b"\r")
        .unwrap_or(line)
        .strip_suffix(b"}")?;
    let open = inner.iter().rposition(|byte| *byte == b'{')?;
    let text = std::str::from_utf8(&inner[open + 1..]).ok()?;
    let (digits, sending) = match text.strip_suffix(['+', '-']) {
        Some(digits) => (digits, Sending::Immediate),
        None => (text, Sending::Synchronising),
    };
    Some(Literal {
        size: digits.parse().ok()?,
        sending,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_announced_at_the_end_of_a_line_only() {
        let literal = |size, sending| Some(Literal { size, sending });
        assert_eq!(
            announced(b"* 1 FETCH (BODY[] {12}\r\n"),
            literal(12, Sending::Synchronising)
        );
        assert_eq!(
            announced(b"a APPEND x {12+}"),
            literal(12, Sending::Immediate)
        );
        assert_eq!(announced(b"* OK {12} is not one\r\n"), None);
        assert_eq!(announced(b"* OK {x}\r\n"), None);
    }
}
