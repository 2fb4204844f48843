//! By https: who is trusted, and who is not.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

use super::provider::answer;
use crate::oauth::http::{Endpoint, Http, Unanswered};

/// A server that says yes to everybody, and the certificate (PEM) that one has to trust for it.
async fn server() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(
        tokio_rustls::rustls::crypto::aws_lc_rs::default_provider(),
    ));
    let config = config
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer(200, "", "{}").as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    });
    (format!("https://localhost:{port}/"), made.cert.pem())
}

#[tokio::test]
async fn a_ca_file_is_trusted_beside_the_systems_roots_and_nobody_else_is() {
    let (address, pem) = server().await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("ca.pem");
    std::fs::write(&path, &pem).unwrap();
    let at = Endpoint::parse(&address).unwrap();
    let trusting = Http::build(Some(&path)).unwrap();
    assert_eq!(trusting.get(&at).await.unwrap().status, 200);

    let (elsewhere, _) = server().await;
    let elsewhere = Endpoint::parse(&elsewhere).unwrap();
    let fault = trusting.get(&elsewhere).await.unwrap_err();
    assert!(matches!(fault, Unanswered::Unreachable { .. }), "{fault:?}");
    // The right certificate under another name.
    let misnamed = Endpoint::parse(&address.replace("localhost", "127.0.0.1")).unwrap();
    let fault = trusting.get(&misnamed).await.unwrap_err();
    assert!(matches!(fault, Unanswered::Unreachable { .. }), "{fault:?}");
}
