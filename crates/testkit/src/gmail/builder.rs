//! What a simulated account is from the start, and how it is set up. Serves nobody itself.

use super::place::{Language, Place};
use super::settings::{Deleting, Duplicates, LastLabel, Matching, Settings, Throttle};
use super::store::Store;
use super::{Account, Gmail, PASSWORD, Password, Shared, USER, accept};
use crate::ports::LOOPBACK;
use crate::tls::{Ca, Leaf};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::thread;

/// What an account is from the start.
#[derive(Debug)]
pub struct Builder {
    user: String,
    settings: Settings,
    labels: Vec<String>,
    security: Security,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Security {
    Plain,
    Tls,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            user: USER.to_owned(),
            settings: Settings::default(),
            labels: Vec::new(),
            security: Security::Plain,
        }
    }
}

impl Builder {
    #[must_use]
    pub fn user(mut self, user: &str) -> Self {
        self.user = user.to_owned();
        self
    }

    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.settings.language = language;
        self
    }

    /// Labels that exist though no message has them.
    #[must_use]
    pub fn labels(mut self, names: &[&str]) -> Self {
        self.labels
            .extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Not shown in IMAP: All Mail, for one.
    #[must_use]
    pub fn hide(mut self, place: Place) -> Self {
        self.settings.hidden.insert(place);
        self
    }

    #[must_use]
    pub fn deleting(mut self, deleting: Deleting) -> Self {
        self.settings.deleting = deleting;
        self
    }

    #[must_use]
    pub fn last_label(mut self, last_label: LastLabel) -> Self {
        self.settings.last_label = last_label;
        self
    }

    #[must_use]
    pub fn matching(mut self, matching: Matching) -> Self {
        self.settings.matching = matching;
        self
    }

    #[must_use]
    pub fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.settings.duplicates = duplicates;
        self
    }

    #[must_use]
    pub fn most_connections(mut self, most: usize) -> Self {
        self.settings.most_connections = most;
        self
    }

    /// A capability is not offered; what it stands for is answered as ever.
    #[must_use]
    pub fn without(mut self, capability: &str) -> Self {
        self.settings.lacks.insert(capability.to_owned());
        self
    }

    #[must_use]
    pub fn longest_line(mut self, octets: usize) -> Self {
        self.settings.longest_line = octets;
        self
    }

    /// The moment from which `newer_than:` counts, and at which messages are appended without a date.
    #[must_use]
    pub fn now(mut self, unix_time: u64) -> Self {
        self.settings.now = Some(unix_time);
        self
    }

    /// TLS from the first octet, with a certificate for localhost and 127.0.0.1.
    #[must_use]
    pub fn tls(mut self) -> Self {
        self.security = Security::Tls;
        self
    }

    pub fn start(self) -> Gmail {
        let listener = TcpListener::bind((LOOPBACK, 0)).expect("bind a loopback port");
        let port = listener
            .local_addr()
            .expect("address of a bound socket")
            .port();
        let ca = (self.security == Security::Tls).then(Ca::new);
        let longest_line = self.settings.longest_line;
        let mut store = Store::new(self.settings);
        for label in &self.labels {
            store.create(&Place::label(label));
        }
        let account = Account {
            user: self.user,
            passwords: BTreeMap::from([(PASSWORD.to_owned(), Password::App)]),
            tokens: BTreeMap::new(),
            store,
            throttle: Throttle::default(),
            logged_in: 0,
            most_logged_in: 0,
        };
        let shared = Arc::new(Shared {
            account: Mutex::new(account),
            record: Arc::default(),
            connections: Mutex::default(),
            tls: ca.as_ref().map(server_config),
            longest_line,
        });
        let acceptor = thread::spawn({
            let shared = Arc::clone(&shared);
            move || accept(&listener, &shared)
        });
        Gmail {
            port,
            ca_pem: ca.map(|ca| ca.pem().to_owned()),
            shared,
            acceptor: Some(acceptor),
        }
    }
}

fn server_config(ca: &Ca) -> Arc<ServerConfig> {
    let identity = ca.issue(Leaf::Good);
    let certificate =
        CertificateDer::from_pem_slice(identity.certificate.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("a key");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("TLS versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Arc::new(config.expect("a usable certificate"))
}
