//! A message from one account to another, piece by piece: it is never held as a whole.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use mail::{
    Append, Body, Broken, Changed, Cx, Digest, Fault, FaultKind, MailSource, MessageRef, Stage,
    Witness,
};
use sha2::{Digest as _, Sha256};

/// So much travels at a time.
pub(super) const PIECE: u32 = 256 << 10;

/// The octets of a message that lies at a source, digested on the way.
pub(super) struct Relay<'a> {
    source: &'a dyn MailSource,
    cx: &'a Cx,
    at: &'a MessageRef,
    size: u64,
    given: u64,
    /// Read already.
    ahead: Bytes,
    sum: Sha256,
}

impl<'a> Relay<'a> {
    pub(super) fn new(
        source: &'a dyn MailSource,
        cx: &'a Cx,
        at: &'a MessageRef,
        size: u64,
        beginning: Bytes,
    ) -> Self {
        Self {
            source,
            cx,
            at,
            size,
            given: 0,
            ahead: beginning,
            sum: Sha256::new(),
        }
    }

    /// Over everything that was given, once that is all.
    pub(super) fn digest(self) -> Option<Digest> {
        (self.given == self.size).then(|| Digest {
            sha256: self.sum.finalize().into(),
            octets: self.size,
        })
    }

    async fn piece(&mut self) -> Result<Bytes, Fault> {
        let left = self.size - self.given;
        if left == 0 {
            return Ok(Bytes::new());
        }
        let mut piece = std::mem::take(&mut self.ahead);
        if piece.is_empty() {
            let most = u32::try_from(left).unwrap_or(PIECE).min(PIECE);
            piece = self
                .source
                .octets(self.cx, self.at, self.given, most)
                .await?;
        }
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        // QUIRK: sizes are estimates on some servers. What is longer or shorter than announced is not sent on as whole.
        if length == 0 || length > left {
            let said = "the message is not as large as its server says";
            return Err(Fault::saying(FaultKind::Protocol, Stage::Fetch, said));
        }
        self.sum.update(&piece);
        self.given += length;
        Ok(piece)
    }
}

impl Body for Relay<'_> {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
        Box::pin(self.piece())
    }
}

/// Octets that are here.
pub(super) struct Whole(Option<Bytes>);

impl Whole {
    pub(super) fn new(octets: Bytes) -> Self {
        Self(Some(octets))
    }
}

impl Body for Whole {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
        let piece = self.0.take().unwrap_or_default();
        Box::pin(async move { Ok(piece) })
    }
}

/// The digest over all of a message; none if it is gone.
pub(super) async fn digest(
    source: &dyn MailSource,
    cx: &Cx,
    at: &MessageRef,
) -> Result<Option<(Witness, Digest)>, Fault> {
    let seen = match source.read(cx, at, u64::from(PIECE)).await? {
        // It may have come this very moment.
        None => source.look(cx, at, u64::from(PIECE)).await?,
        seen => seen,
    };
    let Some((witness, beginning)) = seen else {
        return Ok(None);
    };
    let size = size(&witness)?;
    if let Some(digest) = witness.digest.filter(|digest| digest.octets == size) {
        return Ok(Some((witness, digest)));
    }
    let mut relay = Relay::new(source, cx, at, size, beginning);
    while !relay.piece().await?.is_empty() {}
    let short = || Fault::new(FaultKind::Protocol, Stage::Confirm);
    let digest = relay.digest().ok_or_else(short)?;
    Ok(Some((witness, digest)))
}

pub(super) fn size(witness: &Witness) -> Result<u64, Fault> {
    let untold = || {
        let said = "the server does not tell the size of the message";
        Fault::saying(FaultKind::Protocol, Stage::Fetch, said)
    };
    witness.size.ok_or_else(untold)
}

/// Takes a message from one source to another; the digest is there when all of it was sent.
pub(super) async fn send(
    mut relay: Relay<'_>,
    to: &dyn MailSource,
    cx: &Cx,
    append: &Append,
) -> (Result<Changed, Broken>, Option<Digest>) {
    let sent = to.append(cx, append, &mut relay).await;
    (sent, relay.digest())
}

pub(super) fn of_bytes(octets: &[u8]) -> Digest {
    Digest {
        sha256: Sha256::digest(octets).into(),
        octets: u64::try_from(octets.len()).unwrap_or(u64::MAX),
    }
}
