//! At the most verbose level, nothing secret is logged: by us, or by the libraries beneath.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_subscriber::fmt::MakeWriter;

use super::provider::{Provider, Rotates};
use super::store::{Imagined, Mood};
use super::{grant, tokens};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn nothing_secret_is_logged_at_any_level() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_ansi(false)
        .with_writer(log.clone())
        .finish();
    // For the whole process: work that is done on other threads is heard as well.
    tracing::subscriber::set_global_default(subscriber).unwrap();

    let provider = Provider::start(Some("refresh-secret-1")).await;
    provider.set(|it| it.rotates = Rotates::Always);
    let store = Imagined::holding(Some("refresh-secret-1"));
    let dir = tempfile::tempdir().unwrap();
    let mut grant = grant(&provider.issuer);
    grant.client_secret = Some("client-secret-1".into());
    let tokens = tokens(grant, &store, dir.path());
    let first = tokens.access().await.unwrap();
    store.be(Mood::Full);
    tokens.instead_of(&first).await.unwrap();
    provider.set(|it| it.current = None);
    tokens.core().memory().access = None;
    tokens.access().await.unwrap_err();
    store.be(Mood::Unreadable);
    tokens.look().await;

    let said = log.0.lock().unwrap().clone();
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("kept beside it, sealed"), "{said}");
    let secrets = [
        "refresh-secret-1",
        "refresh-secret-2",
        "access-secret-1",
        "client-secret-1",
    ];
    let forms: Vec<String> = secrets.iter().flat_map(|it| forms(it)).collect();
    let shown = said.lines().find(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("-secret-") || forms.iter().any(|form| line.contains(&form.to_lowercase()))
    });
    assert_eq!(shown, None);
}

/// What a secret looks like where it is spelled otherwise: in part, since what stands around it changes the ends.
fn forms(secret: &str) -> Vec<String> {
    use base64::Engine as _;
    let hex = |prefix: &str| -> String {
        let bytes = secret.bytes().map(|byte| format!("{prefix}{byte:02x}"));
        bytes.collect()
    };
    // Wherever it begins among three octets, what is in the middle is the same.
    let base64 = (0..3).map(|shift| {
        let shifted = format!("{}{secret}", "x".repeat(shift));
        let encoded = base64::engine::general_purpose::STANDARD_NO_PAD.encode(shifted);
        let inner = encoded.len() - 2;
        encoded.get(4..inner).unwrap().to_owned()
    });
    let bytes: Vec<String> = secret.bytes().map(|byte| byte.to_string()).collect();
    base64
        .chain([hex(""), hex("\\x"), hex("%"), bytes.join(", ")])
        .chain(["%2Dsecret%2D".to_owned(), secret.chars().rev().collect()])
        .collect()
}
