//! The body of an answer, and what has to stay as long as it is being sent.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::combinators::BoxBody;

/// Whoever answers may end it before it is done: a stream that nobody may listen to any more.
pub(super) struct Told {
    inner: BoxBody<Bytes, Infallible>,
    until: Option<Pin<Box<dyn Future<Output = ()> + Send + Sync>>>,
    _held: Box<dyn Send + Sync>,
}

impl Told {
    /// `held` is dropped when the last of it is sent, or nobody wants it any more.
    pub(super) fn new(inner: BoxBody<Bytes, Infallible>, held: impl Send + Sync + 'static) -> Self {
        Self {
            inner,
            until: None,
            _held: Box::new(held),
        }
    }

    /// Ends in order when `until` does.
    pub(super) fn until(mut self, until: impl Future<Output = ()> + Send + Sync + 'static) -> Self {
        self.until = Some(Box::pin(until));
        self
    }
}

impl Body for Told {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if let Some(until) = &mut self.until
            && until.as_mut().poll(cx).is_ready()
        {
            self.until = Some(Box::pin(std::future::ready(())));
            return Poll::Ready(None);
        }
        Pin::new(&mut self.inner).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.until {
            Some(_) => SizeHint::default(),
            None => self.inner.size_hint(),
        }
    }
}
