//! A message on its way to a server, piece by piece: never more of it here than two pieces, and never another length
//! than was announced.

use std::time::Duration;

use bytes::{Buf as _, Bytes};
use mail::{Body, Cx, Fault, FaultKind};
use tokio::time::timeout;

pub(super) struct Cargo<'a> {
    body: &'a mut dyn Body,
    size: u64,
    /// What is to be written next.
    piece: Bytes,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Untouched,
    UnderWay,
    /// The octets that make it whole may have been written.
    Complete,
}

impl<'a> Cargo<'a> {
    pub(super) fn new(body: &'a mut dyn Body, size: u64) -> Self {
        Self {
            body,
            size,
            piece: Bytes::new(),
            state: State::Untouched,
        }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Nothing was taken of it: it can still be sent from its beginning.
    pub(super) fn is_untouched(&self) -> bool {
        self.state == State::Untouched
    }

    /// The server may have all of it.
    pub(super) fn is_complete(&self) -> bool {
        self.state == State::Complete
    }

    /// What is to be written now, where so many octets are still to come.
    ///
    /// INVARIANT: the last octets are handed out only when it is certain that the message ends with them. Whoever does
    /// not get them does not get a message.
    pub(super) async fn piece(
        &mut self,
        cx: &Cx,
        owed: u64,
        patience: Duration,
    ) -> Result<Bytes, Fault> {
        if self.piece.is_empty() {
            self.state = State::UnderWay;
            // An empty rest still holds the piece that it is the end of.
            self.piece = Bytes::new();
            self.piece = self.pull(cx, patience).await?;
        }
        let here = u64::try_from(self.piece.len()).unwrap_or(u64::MAX);
        if here == 0 {
            return Err(another(cx, "the message ended too early"));
        }
        if here == owed && self.state != State::Complete {
            let rest = self.pull(cx, patience).await?;
            if !rest.is_empty() {
                return Err(another(cx, "the message is longer than was announced"));
            }
            self.state = State::Complete;
        }
        if here > owed {
            return Err(another(cx, "the message is longer than was announced"));
        }
        Ok(self.piece.clone())
    }

    pub(super) fn unload(&mut self, octets: u64) {
        let octets = usize::try_from(octets).unwrap_or(usize::MAX);
        self.piece.advance(octets.min(self.piece.len()));
    }

    async fn pull(&mut self, cx: &Cx, patience: Duration) -> Result<Bytes, Fault> {
        let next = timeout(patience, self.body.next()).await;
        let piece = next.unwrap_or_else(|_| Err(Fault::new(FaultKind::TimedOut, cx.stage())))?;
        // Servers store something else in its place (RFC 3501 section 9: CHAR8 is not NUL).
        if piece.contains(&0) {
            let said = "the message holds a NUL character, which IMAP does not carry";
            return Err(Fault::saying(FaultKind::NotOffered, cx.stage(), said));
        }
        Ok(piece)
    }
}

fn another(cx: &Cx, said: &str) -> Fault {
    Fault::saying(FaultKind::AnotherMessage, cx.stage(), said)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::pin::Pin;

    struct Pieces(VecDeque<&'static str>);

    impl Body for Pieces {
        fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
            let next = self.0.pop_front().unwrap_or_default();
            Box::pin(async move { Ok(Bytes::from_static(next.as_bytes())) })
        }
    }

    /// What is handed out, two octets written at a time, and whether the server may have it all.
    async fn unload(pieces: &[&'static str], size: u64) -> (String, bool, Option<FaultKind>) {
        let mut body = Pieces(pieces.iter().copied().collect());
        let mut cargo = Cargo::new(&mut body, size);
        let (cx, mut sent, mut owed) = (Cx::new(), String::new(), size);
        assert!(cargo.is_untouched());
        while owed > 0 {
            let piece = match cargo.piece(&cx, owed, Duration::from_secs(5)).await {
                Ok(piece) => piece,
                Err(fault) => return (sent, cargo.is_complete(), Some(fault.kind)),
            };
            let written = piece.slice(..piece.len().min(2));
            sent.push_str(std::str::from_utf8(&written).unwrap());
            cargo.unload(written.len() as u64);
            owed -= written.len() as u64;
        }
        (sent, cargo.is_complete(), None)
    }

    #[tokio::test]
    async fn a_message_goes_whole_or_not_to_its_end() {
        use FaultKind::{AnotherMessage, NotOffered};
        for (pieces, size, sent, complete, fault) in [
            (&["abc", "de"][..], 5, "abcde", true, None),
            (&["abcde"], 5, "abcde", true, None),
            (&["abc"], 5, "abc", false, Some(AnotherMessage)),
            (&[], 5, "", false, Some(AnotherMessage)),
            (&["abc", "def"], 5, "abc", false, Some(AnotherMessage)),
            (&["abc", "de", "f"], 5, "abc", false, Some(AnotherMessage)),
            (&["abcdef"], 5, "", false, Some(AnotherMessage)),
            (&["abc", "d\0"], 5, "abc", false, Some(NotOffered)),
        ] {
            let got = unload(pieces, size).await;
            assert_eq!(got, (sent.to_owned(), complete, fault), "{pieces:?}");
        }
    }
}
