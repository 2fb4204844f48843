//! The body of a request, read whole and within bounds: so large, so slow, and so much of all bodies together.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, StatusCode};
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest request: a draft with what is attached to it.
pub(super) const MOST: usize = 4 << 20;
/// Of all requests that are read or answered at a time.
const IN_ALL: usize = 64 << 20;
/// Nothing may come for so long.
const SILENCE: Duration = Duration::from_secs(10);
/// And it must be here after that.
const WHOLE: Duration = Duration::from_secs(30);
/// What room is counted in.
const UNIT: usize = 4 << 10;

/// Room for bodies.
pub(super) struct Room(Arc<Semaphore>);

/// A body, and the room that it takes until it is dropped.
pub(super) struct Read {
    pub bytes: Bytes,
    pub room: Option<OwnedSemaphorePermit>,
}

impl Room {
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(IN_ALL / UNIT)))
    }

    /// The error is what to answer.
    pub(super) async fn read(
        &self,
        headers: &HeaderMap,
        body: Incoming,
    ) -> Result<Read, StatusCode> {
        let said = headers.get(CONTENT_LENGTH);
        let said = said.and_then(|said| said.to_str().ok()?.parse::<usize>().ok());
        if said.is_some_and(|said| said > MOST) {
            return Err(StatusCode::PAYLOAD_TOO_LARGE);
        }
        let whole = tokio::time::timeout(WHOLE, self.collect(body));
        whole.await.unwrap_or(Err(StatusCode::REQUEST_TIMEOUT))
    }

    async fn collect(&self, mut body: Incoming) -> Result<Read, StatusCode> {
        let mut bytes = BytesMut::new();
        let mut room: Option<OwnedSemaphorePermit> = None;
        loop {
            let frame = tokio::time::timeout(SILENCE, body.frame()).await;
            let frame = match frame.map_err(|_| StatusCode::REQUEST_TIMEOUT)? {
                None => break,
                // Cut off, or framed so that nobody can read it.
                Some(Err(_)) => return Err(StatusCode::BAD_REQUEST),
                Some(Ok(frame)) => frame,
            };
            let Ok(data) = frame.into_data() else {
                continue;
            };
            if bytes.len() + data.len() > MOST {
                return Err(StatusCode::PAYLOAD_TOO_LARGE);
            }
            let needed = (bytes.len() + data.len()).div_ceil(UNIT);
            let more = needed.saturating_sub(room.as_ref().map_or(0, |room| room.num_permits()));
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            if more > 0 {
                let place = Arc::clone(&self.0).acquire_many_owned(more).await;
                let place = place.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
                match &mut room {
                    Some(room) => room.merge(place),
                    None => room = Some(place),
                }
            }
            bytes.extend_from_slice(&data);
        }
        Ok(Read {
            bytes: bytes.freeze(),
            room,
        })
    }
}
