//! Servers that show one certificate which is signed by itself and marked as an authority: no path through a root accepts it.
//!
//! Who: bridges on the same machine. Proton Bridge makes such a certificate for 127.0.0.1, wants `STARTTLS` on port 1143, and
//! makes another one on some updates (reported for the bridge itself, mbsync, velo). Known by: the verifier's verdict. Done: the
//! very certificate that the operator put into `ca_file` or `MAIL_IMAP_CA_CERT_PATH` is trusted, for its own names and within
//! its dates; any other is not, and nothing is ever trusted for being on this machine. Told: `certificate_untrusted`, with how
//! to export it.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

/// Verifies as usual, and additionally trusts a server certificate that the operator put into the file itself.
#[derive(Debug)]
pub(in crate::imap) struct PinningVerifier {
    inner: Arc<dyn ServerCertVerifier>,
    pinned: Vec<CertificateDer<'static>>,
}

impl PinningVerifier {
    pub(in crate::imap) fn new(
        inner: Arc<dyn ServerCertVerifier>,
        pinned: Vec<CertificateDer<'static>>,
    ) -> Self {
        Self { inner, pinned }
    }
}

impl ServerCertVerifier for PinningVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verdict = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match &verdict {
            // Its dates have been checked by then; its name is checked here.
            Err(Error::InvalidCertificate(CertificateError::Other(why)))
                if format!("{why:?}").contains("CaUsedAsEndEntity")
                    && self.pinned.iter().any(|pin| pin == end_entity) =>
            {
                let certificate = ParsedCertificate::try_from(end_entity)?;
                rustls::client::verify_server_name(&certificate, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            _ => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}
