//! Bytes that came from mail or a mail server and have not been made safe yet.
//!
//! There is no `Display`: the only way to a reply, an error text or a log leads through `content`.

use std::fmt;

#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Raw(bytes::Bytes);

impl Raw {
    pub fn new(bytes: impl Into<bytes::Bytes>) -> Self {
        Self(bytes.into())
    }

    pub fn copied(bytes: &[u8]) -> Self {
        Self(bytes::Bytes::copy_from_slice(bytes))
    }

    /// The bytes, for a decoder.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> bytes::Bytes {
        self.0
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // INVARIANT: mail content appears in no log at any level, so neither in Debug output.
        write!(f, "Raw({} bytes)", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_content() {
        let shown = format!("{:?}", Raw::copied(b"secret subject"));
        assert_eq!(shown, "Raw(14 bytes)");
    }
}
