//! A bridge on this machine: a certificate that is its own authority, and folders that are made anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use mail::{Cx, FaultKind, MailSource as _, MessageRef, Query, Snippets, Uid, UidSet, UidValidity};
use sources::imap::{ImapSource, Roots, Security};
use testkit::tls::Ca;
use testkit::{Dovecot, Fake, Leaf};

use super::{find, run, search, source};
use crate::{account, inbox, settings};

#[test]
fn the_very_certificate_that_was_exported_is_trusted_and_no_other() {
    for leaf in [Leaf::SelfSigned, Leaf::OwnAuthority] {
        let server = Dovecot::builder().cert(leaf).start();
        let exported = server.ca_path().with_file_name("server.pem");
        // Another bridge's, for the same names.
        let elsewhere = tempfile::tempdir().unwrap();
        let other = Ca::new().write(elsewhere.path(), leaf).certificate;
        for (roots, want) in [
            (Roots::with_file(&exported).unwrap(), None),
            (
                Roots::with_file(&other).unwrap(),
                Some(FaultKind::CertificateUntrusted),
            ),
            (Roots::system(), Some(FaultKind::CertificateUntrusted)),
        ] {
            for (port, security) in [
                (server.port(), Security::StartTls),
                (server.tls_port(), Security::Implicit),
            ] {
                let mut settings = settings(port);
                settings.security = security;
                settings.roots = roots.clone();
                let source = ImapSource::new(account(), settings);
                let outcome = run(source.verify(&Cx::new()));
                let kind = outcome.err().map(|fault| fault.kind);
                assert_eq!(kind, want, "{leaf:?} {security:?}");
            }
        }
    }
}

#[test]
fn a_certificate_of_its_own_is_trusted_within_its_dates() {
    let server = Dovecot::builder().cert(Leaf::OwnAuthorityExpired).start();
    let exported = server.ca_path().with_file_name("server.pem");
    let mut settings = settings(server.port());
    settings.security = Security::StartTls;
    settings.roots = Roots::with_file(&exported).unwrap();
    let source = ImapSource::new(account(), settings);
    let fault = run(source.verify(&Cx::new())).unwrap_err();
    assert_eq!(fault.kind, FaultKind::CertificateExpired);
}

#[test]
fn what_was_known_of_a_folder_that_was_made_anew_is_a_conflict() {
    let generation = Arc::new(AtomicU32::new(7));
    let told = Arc::clone(&generation);
    let fake = Fake::script(move |session| {
        session.log_in("IMAP4rev1 ID IDLE MOVE STARTTLS UIDPLUS UNSELECT");
        loop {
            let command = session.command();
            if command.mentions("EXAMINE") {
                let generation = told.load(Ordering::Relaxed);
                session.untagged("20 EXISTS");
                session.untagged(&format!("OK [UIDVALIDITY {generation}] ok"));
                session.ok();
            } else if command.mentions("FETCH") {
                for n in 11..=20 {
                    session.untagged(&format!("{n} FETCH (UID {n} FLAGS ())"));
                }
                session.ok();
            } else {
                session.ok();
            }
        }
    });
    let source = source(&fake);
    let mut search = search(Query::default());
    let page = find(&source, &search).unwrap();
    // The bridge rebuilds its cache: its sessions end, and the folder has another generation.
    generation.store(8, Ordering::Relaxed);
    let fresh = super::source(&fake);
    search.below = page.next;
    assert_eq!(find(&fresh, &search).unwrap_err().kind, FaultKind::Conflict);
    let at = MessageRef {
        source: mail::SourceKind::Imap,
        account: account(),
        folder: inbox(),
        uidvalidity: UidValidity(7),
        uid: Uid(11),
    };
    let raw = run(fresh.raw(&Cx::new(), &at, 1 << 20));
    assert_eq!(raw.err().map(|fault| fault.kind), Some(FaultKind::Conflict));
    let uids = UidSet::range(Uid(11), Uid(12));
    let described = run(fresh.summaries(
        &Cx::new(),
        &inbox(),
        UidValidity(7),
        &uids,
        Snippets::Without,
    ));
    assert_eq!(described.unwrap_err().kind, FaultKind::Conflict);
}
