//! The certificate that clients see, from two files that may change while we serve.

use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Larger files hold something else.
const LARGEST: u64 = 1 << 20;
/// How often the files are looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Both in PEM: the certificate with what leads up to its authority, and its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Files {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// What is in force, and where it came from.
pub(super) struct Tls {
    files: Files,
    config: RwLock<Arc<ServerConfig>>,
}

/// What tells a file from what it was.
type Seen = [Option<(SystemTime, u64)>; 2];

impl Tls {
    pub(super) fn read(files: Files) -> anyhow::Result<Self> {
        let config = RwLock::new(Arc::new(files.read()?));
        Ok(Self { files, config })
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        let config = self.config.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&config))
    }

    /// Never ends: reads the files again when they are others, and when the process is told to read again. A pair that
    /// does not fit together changes nothing.
    pub(super) async fn keep_fresh(&self, mut told: tokio::sync::watch::Receiver<u64>) {
        let mut seen = self.seen().await;
        loop {
            let demanded = tokio::select! {
                () = tokio::time::sleep(LOOK) => false,
                Ok(()) = told.changed() => true,
            };
            let now = self.seen().await;
            if now == seen && !demanded {
                continue;
            }
            let files = self.files.clone();
            let read = tokio::task::spawn_blocking(move || files.read()).await;
            match read {
                Ok(Ok(config)) => {
                    *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
                    if now != seen {
                        crate::logs::notice("the certificate was read again and is in force");
                    }
                }
                Ok(Err(error)) => crate::complain(&format!(
                    "the certificate was read again and is refused; the one before stays in force: {error:#}"
                )),
                Err(_) => {}
            }
            seen = now;
        }
    }

    /// A disk may take its time, and everybody else with it.
    async fn seen(&self) -> Seen {
        let files = self.files.clone();
        let seen = tokio::task::spawn_blocking(move || files.seen()).await;
        seen.unwrap_or_default()
    }
}

impl Files {
    fn read(&self) -> anyhow::Result<ServerConfig> {
        let chain: Vec<CertificateDer<'static>> =
            CertificateDer::pem_slice_iter(&bytes(&self.certificate)?)
                .collect::<Result<_, _>>()
                .with_context(|| format!("{} is no PEM file", self.certificate.display()))?;
        anyhow::ensure!(
            !chain.is_empty(),
            "{} holds no certificate in PEM",
            self.certificate.display()
        );
        let key = PrivateKeyDer::from_pem_slice(&bytes(&self.key)?)
            .with_context(|| format!("{} holds no private key in PEM", self.key.display()))?;
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let mut config = builder
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .with_context(|| {
                format!(
                    "{} and {} do not fit together",
                    self.certificate.display(),
                    self.key.display()
                )
            })?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }

    fn seen(&self) -> Seen {
        let of = |about: Metadata| Some((about.modified().ok()?, about.len()));
        [&self.certificate, &self.key].map(|path| path.metadata().ok().and_then(of))
    }
}

fn bytes(path: &Path) -> anyhow::Result<Vec<u8>> {
    use std::io::Read as _;
    let file = std::fs::File::open(path);
    let file = file.with_context(|| format!("{} cannot be read", path.display()))?;
    let mut bytes = Vec::new();
    let read = file.take(LARGEST + 1).read_to_end(&mut bytes);
    let read = read.with_context(|| format!("{} cannot be read", path.display()))?;
    // Cut short it would be another certificate, or none.
    anyhow::ensure!(
        u64::try_from(read).is_ok_and(|read| read <= LARGEST),
        "{} is larger than 1 MiB, and holds something else",
        path.display()
    );
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_too_large_is_refused_and_not_cut() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("tls.crt");
        let length = usize::try_from(LARGEST).unwrap();
        std::fs::write(&path, vec![b'\n'; length]).unwrap();
        assert_eq!(bytes(&path).unwrap().len(), length);
        std::fs::write(&path, vec![b'\n'; length + 1]).unwrap();
        assert!(bytes(&path).is_err());
    }
}
