//! Accounts that are logged in to by tokens: what is learnt with a token counts for the change that it was got for.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use mail::{Append, Body, Cx, Effect, Fault, FaultKind, FolderName, MailSource as _, Step};
use secrets::{Grant, Provider, SecretRef, Store, TokenCache, Tokens, Variables};
use sources::imap::{Bearer, ImapSource, Login};
use testkit::oidc::{CLIENT, Endpoint, Fault as Answer, Rotation, Times};
use testkit::{Dovecot, Oidc};

use crate::ground::{Ground, flags};
use crate::settings;

/// A token that somebody put into a variable.
fn tokens(oidc: &Oidc) -> Arc<Tokens> {
    let refresh = oidc.grant("alice").refresh_token;
    let name = concat!("IMAP_MCP", "_SECRET__A__TOKEN");
    let variables = Variables::new([(name.into(), refresh.into())]);
    let grant = Grant {
        account: "a".to_owned(),
        provider: Provider::Custom {
            issuer: oidc.issuer(),
        },
        client_id: Some(CLIENT.to_owned()),
        client_secret: None,
        scope: Some("openid offline_access mail".to_owned()),
        user: "alice".to_owned(),
        refresh_token: SecretRef::parse("secret://a/token", "").unwrap(),
        cache: TokenCache::MemoryOnly,
        ca_file: None,
    };
    Tokens::new(grant, Arc::new(Store::EnvVar(variables)), None)
}

struct Once(Option<Bytes>);

impl Body for Once {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
        let next = self.0.take().unwrap_or_default();
        Box::pin(async { Ok(next) })
    }
}

#[test]
fn a_grant_for_reading_that_is_learnt_with_the_session_of_a_change_refuses_it() {
    let oidc = Oidc::builder().rotation(Rotation::Never).start();
    let server = Dovecot::builder().oauth(&oidc).start();
    let ground = Ground::on(server, "");
    let narrower = Answer::Patch(serde_json::json!({ "scope": "openid mail.readonly" }));
    oidc.fail(Endpoint::Refresh, &narrower, Times::Always);
    let before = (ground.lying("INBOX"), ground.lying("Target"));
    let source = || {
        let mut settings = settings(ground.proxy.port());
        settings.login = Login::Tokens(Bearer::XOAuth2, tokens(&oidc));
        ImapSource::new(crate::account(), settings)
    };
    let cx = Cx::new();
    let mark = Step::Mark {
        subject: ground.subject(1),
        add: flags(&["\\Seen"]),
        remove: flags(&[]),
    };
    let raw = Bytes::from_static(b"Subject: x\r\n\r\nx\r\n");
    let append = Append {
        to: FolderName::new("Target").unwrap(),
        flags: flags(&[]),
        arrived: None,
        size: raw.len() as u64,
    };
    ground.proxy.reset_stats();
    let marked = ground
        .runtime
        .block_on(async { source().apply(&cx, &mark).await });
    let added = ground.runtime.block_on(async {
        let mut body = Once(Some(raw));
        source().append(&cx, &append, &mut body).await
    });
    for broken in [marked.unwrap_err(), added.unwrap_err()] {
        assert_eq!(broken.fault.kind, FaultKind::ReadingOnly);
        assert_eq!(broken.effect, Effect::Nothing);
    }
    // Both got as far as a session, and not further.
    let commands = ground.proxy.commands().join("\n");
    assert_eq!(commands.matches("AUTHENTICATE").count(), 2, "{commands}");
    for word in ["SELECT", "STORE", "APPEND"] {
        assert!(!commands.contains(word), "{commands}");
    }
    assert_eq!((ground.lying("INBOX"), ground.lying("Target")), before);
}
