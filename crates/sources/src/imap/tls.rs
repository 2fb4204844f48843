//! TLS: which roots are trusted, and what a failed handshake was about.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use mail::FaultKind;
use rustls::client::danger::ServerCertVerifier;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{CertificateError, ClientConfig, Error};

use super::quirks::own_authority::PinningVerifier;

/// The system's roots and, if given, those of a file. Loaded once, when the first connection needs them.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    extra: Vec<CertificateDer<'static>>,
    config: Arc<OnceLock<Result<Arc<ClientConfig>, Error>>>,
}

#[derive(Debug, thiserror::Error)]
pub enum BadRoots {
    #[error("cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("is not a PEM file with certificates")]
    NoPem,
    #[error("holds no certificate")]
    Empty,
    #[error("holds a certificate that cannot be used: {0}")]
    Unusable(Error),
}

impl Roots {
    pub fn system() -> Self {
        Self::default()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.extra == other.extra
    }

    pub fn with_file(path: &Path) -> Result<Self, BadRoots> {
        let pem = std::fs::read(path)?;
        let extra: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let extra = extra.map_err(|_| BadRoots::NoPem)?;
        if extra.is_empty() {
            return Err(BadRoots::Empty);
        }
        let mut store = rustls::RootCertStore::empty();
        for root in &extra {
            store.add(root.clone()).map_err(BadRoots::Unusable)?;
        }
        Ok(Self {
            extra,
            config: Arc::default(),
        })
    }

    /// Reads the roots and wakes the random generator now, on a thread of their own, so that the first connection finds them ready.
    pub fn warm(&self) {
        let roots = self.clone();
        std::thread::spawn(move || {
            if let Ok(config) = roots.config() {
                // The generator's first draw is slow; it is better made now than in the first handshake.
                let _ = config.crypto_provider().secure_random.fill(&mut [0; 32]);
            }
        });
    }

    /// May read files; see [`warm`](Self::warm).
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        self.config.get_or_init(|| build(&self.extra)).clone()
    }
}

fn build(extra: &[CertificateDer<'static>]) -> Result<Arc<ClientConfig>, Error> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let inner = system_verifier(extra, &provider)?;
    let verifier = Arc::new(PinningVerifier::new(inner, extra.to_vec()));
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

/// The system's own verification, with its revocation and its policies.
#[cfg(not(all(unix, not(target_vendor = "apple"))))]
fn system_verifier(
    extra: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    use rustls_platform_verifier::Verifier;
    let extra = extra.iter().cloned();
    Ok(Arc::new(Verifier::new_with_extra_roots(
        extra,
        Arc::clone(provider),
    )?))
}

/// The roots that the system keeps in files.
#[cfg(all(unix, not(target_vendor = "apple")))]
fn system_verifier(
    extra: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, Error> {
    let mut store = rustls::RootCertStore::empty();
    store.add_parsable_certificates(files::system_roots());
    // A container without a certificate store still reaches public servers.
    if store.is_empty() {
        store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    for root in extra {
        store.add(root.clone())?;
    }
    let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(
        Arc::new(store),
        Arc::clone(provider),
    );
    let verifier = verifier.build();
    Ok(verifier.map_err(|error| Error::General(error.to_string()))?)
}

#[cfg(all(unix, not(target_vendor = "apple")))]
mod files {
    //! Where Unix systems keep their roots.

    use std::path::PathBuf;

    use rustls::pki_types::CertificateDer;

    /// One file with all of them. The directories beside it hold the same again, one file each, which takes
    /// ten times as long to read.
    const BUNDLES: [&str; 6] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
        "/etc/ssl/ca-bundle.pem",
        "/etc/ssl/cert.pem",
        "/usr/local/share/certs/ca-root-nss.crt",
        "/opt/etc/ssl/certs/ca-certificates.crt",
    ];

    pub(super) fn system_roots() -> Vec<CertificateDer<'static>> {
        let chosen = |name: &str| std::env::var_os(name).map(PathBuf::from);
        let (file, dir) = (chosen("SSL_CERT_FILE"), chosen("SSL_CERT_DIR"));
        let bundles: Vec<PathBuf> = match (file, dir) {
            (None, None) => BUNDLES.iter().map(PathBuf::from).collect(),
            (Some(file), None) => vec![file],
            // A bundle inside the directory is made from it.
            (Some(file), Some(dir)) if file.parent() == Some(dir.as_path()) => vec![file],
            (_, Some(_)) => Vec::new(),
        };
        for path in bundles.iter().filter(|path| path.exists()) {
            let found = rustls_native_certs::load_certs_from_paths(Some(path), None).certs;
            if !found.is_empty() {
                return found;
            }
        }
        rustls_native_certs::load_native_certs().certs
    }
}

/// What a failed handshake was about.
pub(super) fn kind_of(error: &Error) -> FaultKind {
    match error {
        Error::InvalidCertificate(certificate) => match certificate {
            CertificateError::Expired
            | CertificateError::ExpiredContext { .. }
            | CertificateError::NotValidYet
            | CertificateError::NotValidYetContext { .. } => FaultKind::CertificateExpired,
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                FaultKind::CertificateWrongHost
            }
            _ => FaultKind::CertificateUntrusted,
        },
        _ => FaultKind::TlsFailed,
    }
}
