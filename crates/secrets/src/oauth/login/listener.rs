//! A listener for one answer: on this machine alone, for a few minutes, deaf to everybody else.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use super::super::provider::{CALLBACK_PATH, Redirect};
use super::LoginFault;
use super::page::Page;
use super::request::{self, Here, LONGEST_HEAD, Unwanted};
use super::returned::{Expected, NotOurs, Returned};

/// A browser sends its request at once.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const MOST_AT_ONCE: usize = 32;
const MOST_STRANGERS: u32 = 20;
const MOST_REQUESTS: u32 = 1000;

/// It listens from the moment it exists: before any browser is sent here.
#[derive(Debug)]
pub(super) struct Listener {
    first: TcpListener,
    /// `localhost` may be either.
    second: Option<TcpListener>,
    here: Here,
}

/// The answer, and how many others came before it.
#[derive(Debug)]
pub(super) struct Heard {
    pub returned: Returned,
    pub strangers: u32,
}

enum Visit {
    Answer(Result<Returned, NotOurs>),
    Unwanted(Unwanted),
}

impl Listener {
    pub(super) async fn bind(redirect: Redirect) -> std::io::Result<Self> {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let port = first.local_addr()?.port();
        let (name, path, second) = match redirect {
            Redirect::Localhost => {
                let second = TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await;
                ("localhost", "/", second.ok())
            }
            Redirect::Loopback | Redirect::Registered(_) => ("127.0.0.1", CALLBACK_PATH, None),
        };
        Ok(Self {
            first,
            second,
            here: Here {
                authority: format!("{name}:{port}"),
                path,
            },
        })
    }

    /// What the provider is told. Microsoft's has no path, and comes back with a slash.
    pub(super) fn redirect(&self) -> String {
        let path = self.here.path.trim_end_matches('/');
        format!("http://{}{path}", self.here.authority)
    }

    /// Who asks for something else, or does not know the state, is sent away; the genuine answer may still come.
    pub(super) async fn hear(self, expected: Expected) -> Result<Heard, LoginFault> {
        let expected = Arc::new(expected);
        let here = Arc::new(self.here);
        let (sender, mut visits) = mpsc::channel(MOST_AT_ONCE);
        let mut visitors = JoinSet::new();
        let (mut strangers, mut requests) = (0u32, 0u32);
        loop {
            let full = visitors.len() >= MOST_AT_ONCE;
            tokio::select! {
                biased;
                Some(visit) = visits.recv() => match visit {
                    Visit::Answer(Ok(returned)) => return Ok(Heard { returned, strangers }),
                    Visit::Answer(Err(NotOurs::Issuer)) => return Err(LoginFault::OtherIssuer),
                    Visit::Answer(Err(_)) | Visit::Unwanted(Unwanted::Host) => {
                        strangers += 1;
                        if strangers >= MOST_STRANGERS {
                            return Err(LoginFault::Attacked);
                        }
                    }
                    Visit::Unwanted(_) => {}
                },
                Some(_) = visitors.join_next() => {}
                accepted = accept(&self.first, self.second.as_ref()), if !full => {
                    let Some(stream) = accepted else { continue };
                    requests += 1;
                    if requests > MOST_REQUESTS {
                        return Err(LoginFault::Attacked);
                    }
                    let (here, expected) = (Arc::clone(&here), Arc::clone(&expected));
                    let sender = sender.clone();
                    visitors.spawn(async move {
                        let visit = tokio::time::timeout(REQUEST_LIMIT, receive(stream, &here, &expected));
                        if let Ok(Some(visit)) = visit.await {
                            // Whoever listened may have heard the answer already.
                            let _ = sender.send(visit).await;
                        }
                    });
                }
            }
        }
    }
}

/// None where a visitor has gone again: the next one is waited for.
async fn accept(first: &TcpListener, second: Option<&TcpListener>) -> Option<TcpStream> {
    let accepted = match second {
        None => first.accept().await,
        Some(second) => tokio::select! {
            accepted = first.accept() => accepted,
            accepted = second.accept() => accepted,
        },
    };
    match accepted {
        Ok((stream, _)) => Some(stream),
        Err(_) => {
            // Out of descriptors, most likely; asking again at once would only burn the processor.
            tokio::time::sleep(Duration::from_millis(100)).await;
            None
        }
    }
}

async fn receive(mut stream: TcpStream, here: &Here, expected: &Expected) -> Option<Visit> {
    let head = read_head(&mut stream).await?;
    let visit = match std::str::from_utf8(&head) {
        Err(_) => Visit::Unwanted(Unwanted::Malformed),
        Ok(head) => match request::read(head, here) {
            Ok(query) => Visit::Answer(expected.read(query)),
            Err(why) => Visit::Unwanted(why),
        },
    };
    let page = match &visit {
        Visit::Answer(Ok(Returned::Code(_))) => Page::Heard,
        Visit::Answer(Ok(Returned::Refused(_))) => Page::Refused,
        Visit::Answer(Err(_)) | Visit::Unwanted(Unwanted::Host | Unwanted::Malformed) => {
            Page::Stranger
        }
        Visit::Unwanted(Unwanted::Path) => Page::NotFound,
        Visit::Unwanted(Unwanted::Method) => Page::OnlyGet,
    };
    // The answer counts, whether or not its bringer waits for the page.
    let _ = stream.write_all(page.response().as_bytes()).await;
    let _ = stream.shutdown().await;
    Some(visit)
}

/// None where it never ends. It holds the code, so it is zeroized.
async fn read_head(stream: &mut TcpStream) -> Option<Zeroizing<Vec<u8>>> {
    let mut head = Zeroizing::new(vec![0; LONGEST_HEAD]);
    let mut length = 0;
    loop {
        let room = head.get_mut(length..)?;
        let read = stream.read(room).await.ok()?;
        if read == 0 {
            return None;
        }
        // The end may lie across what was read before.
        let from = length.saturating_sub(3);
        length += read;
        let end = b"\r\n\r\n";
        if head
            .get(from..length)?
            .windows(end.len())
            .any(|it| it == end)
        {
            head.truncate(length);
            return Some(head);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::provider::Issuer;
    use super::*;

    async fn ask(authority: &str, octets: &[u8]) -> String {
        let mut stream = TcpStream::connect(authority).await.unwrap();
        // It may be closed before all is sent.
        let _ = stream.write_all(octets).await;
        let _ = stream.shutdown().await;
        let mut page = Vec::new();
        let _ = stream.read_to_end(&mut page).await;
        String::from_utf8(page).unwrap()
    }

    fn expected() -> Expected {
        Expected {
            state: "s3cret".into(),
            issuer: Issuer::MicrosoftTenant,
        }
    }

    #[tokio::test]
    async fn microsoft_comes_back_to_localhost_without_a_path() {
        let listener = Listener::bind(Redirect::Localhost).await.unwrap();
        let authority = listener.here.authority.clone();
        assert_eq!(listener.redirect(), format!("http://{authority}"));
        assert!(authority.starts_with("localhost:"));
        let hearing = tokio::spawn(listener.hear(expected()));
        let request = format!("GET /?code=a&state=s3cret HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let page = ask(&authority, request.as_bytes()).await;
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        let heard = hearing.await.unwrap().unwrap();
        assert!(matches!(heard.returned, Returned::Code(_)));
    }

    #[tokio::test]
    async fn endless_halved_and_silent_requests_hold_up_nobody() {
        let listener = Listener::bind(Redirect::Loopback).await.unwrap();
        let authority = listener.here.authority.clone();
        let hearing = tokio::spawn(listener.hear(expected()));
        let silent = TcpStream::connect(&authority).await.unwrap();
        let mut halved = TcpStream::connect(&authority).await.unwrap();
        halved.write_all(b"GET /callback?code=").await.unwrap();
        for octets in [
            vec![b'x'; LONGEST_HEAD * 4],
            b"GET".to_vec(),
            vec![0xff; 64],
        ] {
            assert_eq!(ask(&authority, &octets).await, "");
        }
        let request =
            format!("GET /callback?code=a&state=s3cret HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let page = ask(&authority, request.as_bytes()).await;
        assert!(page.starts_with("HTTP/1.1 200"), "{page}");
        assert_eq!(hearing.await.unwrap().unwrap().strangers, 0);
        drop((silent, halved));
    }
}
