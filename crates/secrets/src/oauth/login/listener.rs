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
use super::door::{Behind, Door};
use super::page::{self, Page};
use super::request::{self, Here, LONGEST_HEAD, Unwanted, Wanted};
use super::returned::{Expected, NotOurs, Returned};
use super::{Company, LoginFault};

/// A browser sends its request at once.
const REQUEST_LIMIT: Duration = Duration::from_secs(10);
const MOST_AT_ONCE: usize = 32;
/// Who comes more often than any browser does keeps us from listening.
const MOST_REQUESTS: u32 = 1000;
/// So often another port is tried.
const PORTS: usize = 16;

/// It listens from the moment it exists: before any browser is sent here.
#[derive(Debug)]
pub(super) struct Listener {
    first: TcpListener,
    /// `localhost` may be either.
    second: Option<TcpListener>,
    here: Here,
}

/// The answer, and who else came before it.
#[derive(Debug)]
pub(super) struct Heard {
    pub returned: Returned,
    pub company: Company,
}

enum Visit {
    Answer(Result<Returned, NotOurs>),
    /// Somebody was sent on to the provider.
    SentOn,
    Late,
    Unwanted(Unwanted),
}

/// What visitors are asked about.
struct Ear {
    here: Here,
    expected: Expected,
    door: Door,
}

impl Listener {
    pub(super) async fn bind(redirect: Redirect) -> std::io::Result<Self> {
        let (name, path, (first, second)) = match redirect {
            Redirect::Localhost => ("localhost", "/", both().await?),
            Redirect::Loopback | Redirect::Registered(_) => {
                let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
                ("127.0.0.1", CALLBACK_PATH, (first, None))
            }
        };
        let port = first.local_addr()?.port();
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

    /// What a program that opens browsers is told.
    pub(super) fn address_of(&self, door: &Door) -> String {
        format!("http://{}{}", self.here.authority, door.path())
    }

    /// Who asks for something else, or does not know the state, is sent away and counted; the genuine answer may still
    /// come, however many others do.
    pub(super) async fn hear(self, expected: Expected, door: Door) -> Result<Heard, LoginFault> {
        let ear = Arc::new(Ear {
            here: self.here,
            expected,
            door,
        });
        let (sender, mut visits) = mpsc::channel(MOST_AT_ONCE);
        let mut visitors = JoinSet::new();
        let mut company = Company::default();
        let mut requests = 0u32;
        loop {
            let full = visitors.len() >= MOST_AT_ONCE;
            tokio::select! {
                biased;
                Some(visit) = visits.recv() => match visit {
                    Visit::Answer(Ok(returned)) => return Ok(Heard { returned, company }),
                    Visit::Answer(Err(NotOurs::Issuer)) => return Err(LoginFault::OtherIssuer),
                    Visit::Answer(Err(_)) | Visit::Unwanted(Unwanted::Host) => company.strangers += 1,
                    Visit::Late => company.late += 1,
                    Visit::SentOn | Visit::Unwanted(_) => {}
                },
                Some(_) = visitors.join_next() => {}
                accepted = accept(&self.first, self.second.as_ref()), if !full => {
                    let Some(stream) = accepted else { continue };
                    requests += 1;
                    if requests > MOST_REQUESTS {
                        return Err(LoginFault::Attacked);
                    }
                    let ear = Arc::clone(&ear);
                    let sender = sender.clone();
                    visitors.spawn(async move {
                        let visit = tokio::time::timeout(REQUEST_LIMIT, receive(stream, &ear));
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

/// One port under both addresses that `localhost` may mean. Where the system has but one of them, that has to do; where
/// somebody else has the other, a browser would be sent there, so it has to be another port.
async fn both() -> std::io::Result<(TcpListener, Option<TcpListener>)> {
    let mut last = std::io::ErrorKind::AddrInUse.into();
    for _ in 0..PORTS {
        let first = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        match second(first.local_addr()?.port()).await {
            Ok(second) => return Ok((first, second)),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn second(port: u16) -> std::io::Result<Option<TcpListener>> {
    match TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await {
        Ok(second) => Ok(Some(second)),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Err(error),
        Err(_) => Ok(None),
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

async fn receive(mut stream: TcpStream, ear: &Ear) -> Option<Visit> {
    let head = read_head(&mut stream).await?;
    let visit = match std::str::from_utf8(&head) {
        Err(_) => Visit::Unwanted(Unwanted::Malformed),
        Ok(head) => match request::read(head, &ear.here, ear.door.path()) {
            Ok(Wanted::Answer(query)) => Visit::Answer(ear.expected.read(query)),
            Ok(Wanted::Door) => match ear.door.open() {
                Behind::Nothing => Visit::Late,
                Behind::Address(address) => {
                    let _ = stream.write_all(page::onward(&address).as_bytes()).await;
                    let _ = stream.shutdown().await;
                    return Some(Visit::SentOn);
                }
            },
            Err(why) => Visit::Unwanted(why),
        },
    };
    let page = match &visit {
        Visit::SentOn => return Some(visit),
        Visit::Late => Page::Late,
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

    fn door() -> Door {
        let beyond = "https://id.example/authorize?state=s3cret".to_owned();
        Door::new(&"w0rd".into(), beyond)
    }

    #[tokio::test]
    async fn a_door_leads_on_once_and_who_comes_later_is_counted() {
        let listener = Listener::bind(Redirect::Loopback).await.unwrap();
        let authority = listener.here.authority.clone();
        let told = listener.address_of(&door());
        assert_eq!(told, format!("http://{authority}/w0rd"));
        assert!(!format!("{:?}", door()).contains("s3cret"));
        let hearing = tokio::spawn(listener.hear(expected(), door()));
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n");
        let evil = "GET /w0rd HTTP/1.1\r\nHost: evil.example\r\n\r\n";
        for (request, status, led_on) in [
            (evil.to_owned(), "400", false),
            (get("/other"), "404", false),
            (get("/w0rd"), "302", true),
            (get("/w0rd"), "410", false),
            (get("/w0rd"), "410", false),
        ] {
            let page = ask(&authority, request.as_bytes()).await;
            assert_eq!(page.split(' ').nth(1), Some(status), "{page}");
            assert!(page.contains("Cache-Control: no-store"), "{page}");
            assert_eq!(page.contains("state=s3cret"), led_on, "{page}");
        }
        ask(&authority, get("/callback?code=a&state=s3cret").as_bytes()).await;
        let company = hearing.await.unwrap().unwrap().company;
        let expected = Company {
            strangers: 1,
            late: 2,
        };
        assert_eq!(company, expected);
    }

    #[tokio::test]
    async fn a_port_whose_other_half_is_somebody_elses_is_not_taken() {
        let Ok(taken) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).await else {
            return;
        };
        let port = taken.local_addr().unwrap().port();
        assert!(second(port).await.is_err());
        let (first, second) = both().await.unwrap();
        let port = first.local_addr().unwrap().port();
        assert_eq!(second.unwrap().local_addr().unwrap().port(), port);
    }

    #[tokio::test]
    async fn microsoft_comes_back_to_localhost_without_a_path() {
        let listener = Listener::bind(Redirect::Localhost).await.unwrap();
        let authority = listener.here.authority.clone();
        assert_eq!(listener.redirect(), format!("http://{authority}"));
        assert!(authority.starts_with("localhost:"));
        let hearing = tokio::spawn(listener.hear(expected(), door()));
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
        let hearing = tokio::spawn(listener.hear(expected(), door()));
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
        assert_eq!(hearing.await.unwrap().unwrap().company, Company::default());
        drop((silent, halved));
    }
}
