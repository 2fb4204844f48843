//! An issuer that answers when the test says so, and those who ask it.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// The key of RFC 8037, appendix A.2.
const SET: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"one","use":"sig","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

async fn issuer() -> (TcpListener, Arc<Keys>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let keys = Keys::new(&Issuer {
        jwks_uri: Some(format!("{address}/keys")),
        issuer: address,
        audience: "https://mail.example/mcp".to_owned(),
        ca_file: None,
    });
    (listener, Arc::new(keys))
}

async fn asked(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = [0; 4096];
    assert!(stream.read(&mut head).await.unwrap() > 0);
    stream
}

async fn answer(mut stream: TcpStream, status: &str, body: &str) {
    let length = body.len();
    let text =
        format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}");
    stream.write_all(text.as_bytes()).await.unwrap();
}

/// Else anybody could keep the keys away, with a token of any key's name and a connection that is cut.
#[tokio::test]
async fn who_hangs_up_during_a_fetch_ends_it_for_nobody() {
    let (listener, keys) = issuer().await;
    let stranger = tokio::spawn({
        let keys = Arc::clone(&keys);
        async move { keys.find("unknown").await.map(|key| key.is_some()) }
    });
    let stream = asked(&listener).await;
    stranger.abort();
    assert!(stranger.await.unwrap_err().is_cancelled());
    let next = tokio::spawn({
        let keys = Arc::clone(&keys);
        async move { keys.find("one").await.map(|key| key.is_some()) }
    });
    answer(stream, "200 OK", SET).await;
    assert_eq!(next.await.unwrap(), Ok(true));
}

/// A key that nobody could tell us of is not one that there is not.
#[tokio::test]
async fn an_issuer_that_is_away_is_told_from_a_key_that_it_has_not() {
    let (listener, keys) = issuer().await;
    let (found, ()) = tokio::join!(keys.find("one"), async {
        answer(asked(&listener).await, "503 Service Unavailable", "").await;
    });
    assert!(matches!(found, Err(Unvouched::Unavailable)));
    // Nor is it asked again at once.
    assert!(matches!(
        keys.find("one").await,
        Err(Unvouched::Unavailable)
    ));
    let (listener, keys) = issuer().await;
    let (found, ()) = tokio::join!(keys.find("two"), async {
        answer(asked(&listener).await, "200 OK", SET).await;
    });
    assert!(matches!(found, Ok(None)));
}
