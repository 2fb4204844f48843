//! A private certificate authority and server certificates, good and bad. Makes files, opens no connection.

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use std::path::{Path, PathBuf};

const GOOD_NAMES: [&str; 5] = ["localhost", "imap.test", "127.0.0.1", "127.0.0.2", "::1"];

/// Which certificate a server shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaf {
    /// Signed by the CA for localhost, imap.test, 127.0.0.1, 127.0.0.2 and ::1.
    Good,
    /// Signed by the CA, but for other.test only.
    WrongHost,
    /// As good, but its time is over.
    Expired,
    /// Good names, signed by itself.
    SelfSigned,
    /// Good names, signed by itself and marked as an authority, as mail bridges do.
    OwnAuthority,
    /// The same, but only for `other.test`.
    OwnAuthorityElsewhere,
    /// Its own authority, with good names, and its time is over.
    OwnAuthorityExpired,
}

/// A certificate authority of the test's own.
#[derive(Debug)]
pub struct Ca {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, as PEM text.
#[derive(Clone, Debug)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// Where [`Ca::write`] put things.
#[derive(Clone, Debug)]
pub struct Files {
    pub ca: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Ca {
    #[expect(
        clippy::new_without_default,
        reason = "makes keys: not a default value"
    )]
    pub fn new() -> Self {
        let mut params = params("mailwarden test CA", &[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let key = KeyPair::generate().expect("make a P-256 key");
        let pem = params
            .self_signed(&key)
            .expect("sign the CA certificate")
            .pem();
        Self {
            pem,
            issuer: Issuer::new(params, key),
        }
    }

    /// The trust anchor for the client under test.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    pub fn issue(&self, leaf: Leaf) -> Identity {
        let names: &[&str] = match leaf {
            Leaf::WrongHost | Leaf::OwnAuthorityElsewhere => &["other.test"],
            Leaf::Good
            | Leaf::Expired
            | Leaf::SelfSigned
            | Leaf::OwnAuthority
            | Leaf::OwnAuthorityExpired => &GOOD_NAMES,
        };
        let mut params = params("mailwarden test server", names);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        if matches!(
            leaf,
            Leaf::OwnAuthority | Leaf::OwnAuthorityElsewhere | Leaf::OwnAuthorityExpired
        ) {
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params.key_usages.push(KeyUsagePurpose::KeyCertSign);
        }
        if matches!(leaf, Leaf::Expired | Leaf::OwnAuthorityExpired) {
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().expect("make a P-256 key");
        let signed = match leaf {
            Leaf::SelfSigned
            | Leaf::OwnAuthority
            | Leaf::OwnAuthorityElsewhere
            | Leaf::OwnAuthorityExpired => params.self_signed(&key),
            Leaf::Good | Leaf::WrongHost | Leaf::Expired => params.signed_by(&key, &self.issuer),
        };
        Identity {
            certificate: signed.expect("sign a server certificate").pem(),
            key: key.serialize_pem(),
        }
    }

    /// Writes the CA and one leaf into `dir` as `ca.pem`, `server.pem` and `server.key`.
    pub fn write(&self, dir: &Path, leaf: Leaf) -> Files {
        let identity = self.issue(leaf);
        let put = |name: &str, text: &str| {
            let path = dir.join(name);
            std::fs::write(&path, text)
                .unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
            path
        };
        Files {
            ca: put("ca.pem", &self.pem),
            certificate: put("server.pem", &identity.certificate),
            key: put("server.key", &identity.key),
        }
    }
}

fn params(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|n| (*n).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("valid subject names");
    params.distinguished_name = DistinguishedName::new();
    params
        .distinguished_name
        .push(DnType::CommonName, common_name);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2049, 1, 1);
    params.use_authority_key_identifier_extension = true;
    params
}
