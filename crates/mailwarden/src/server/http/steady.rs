//! A connection whose other end has to keep reading: one that lets us wait is given up. It knows nothing of HTTP.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Anything that bytes go over.
pub(super) trait Link: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Link for T {}

pub(super) struct Steady {
    inner: Box<dyn Link>,
    longest: Duration,
    /// While something waits to be written: until when.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Steady {
    /// `longest` is how long nothing of what we write may be taken.
    pub(super) fn new(inner: Box<dyn Link>, longest: Duration) -> Self {
        Self {
            inner,
            longest,
            waiting: None,
        }
    }

    fn watched<T>(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if polled.is_ready() {
            self.waiting = None;
            return polled;
        }
        let longest = self.longest;
        let waiting = self
            .waiting
            .get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + longest)));
        match waiting.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl AsyncRead for Steady {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Steady {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watched(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.watched(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_flush(cx);
        self.watched(cx, polled)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watched(cx, polled)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    #[tokio::test]
    async fn who_does_not_read_is_given_up_and_who_reads_is_not() {
        let (ours, _theirs) = tokio::io::duplex(16);
        let mut deaf = Steady::new(Box::new(ours), Duration::from_millis(20));
        let failed = deaf.write_all(&[0; 64]).await.unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);

        let (ours, mut theirs) = tokio::io::duplex(16);
        let reading = tokio::spawn(async move {
            let mut read = 0;
            while read < 64 {
                read += theirs.read(&mut [0; 5]).await.unwrap();
            }
        });
        let mut slow = Steady::new(Box::new(ours), Duration::from_secs(60));
        slow.write_all(&[0; 64]).await.unwrap();
        reading.await.unwrap();
        assert!(slow.waiting.is_none());
    }
}
