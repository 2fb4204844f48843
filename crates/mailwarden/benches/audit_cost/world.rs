//! One Dovecot with mail, and two gateways to it that differ in their log alone.

use std::sync::Arc;

use audit::{Log, Settings};
use gateway::{
    Account, Asking, Call, Caller, CursorKey, Gateway, Outcome, Provider, Setup, Toolset,
};
use mail::{AccountId, Cx};
use secrecy::SecretString;
use serde_json::{Map, Value, json};
use sources::imap::{self, ImapSource, Roots, Security, Timeouts};
use testkit::{Dovecot, Mailgen};

const MESSAGES: u64 = 500;

pub(crate) struct World {
    pub state: tempfile::TempDir,
    /// The log is on disk.
    pub kept: Gateway,
    /// The log keeps nothing.
    pub discarded: Gateway,
    message_id: String,
    _dovecot: Dovecot,
}

/// What is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Case {
    Read,
    Search,
    Accounts,
}

impl Case {
    pub(crate) const ALL: [Self; 3] = [Self::Read, Self::Search, Self::Accounts];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Read => "`imap_get_message`",
            Self::Search => "`imap_search_messages`, 10 of 500",
            Self::Accounts => "`imap_list_accounts`, which asks no server",
        }
    }
}

impl World {
    pub(crate) async fn build() -> Self {
        let dovecot = Dovecot::builder().max_connections(100).start();
        dovecot.deliver_many("alice", "INBOX", Mailgen::new(1).messages(MESSAGES));
        // Beside the build, where the disk is a disk.
        let state = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a state directory");
        let log = Log::open(Settings::new(Some(state.path().join("audit"))));
        let mut world = Self {
            kept: gateway(&dovecot, log),
            discarded: gateway(&dovecot, Log::discard()),
            state,
            message_id: String::new(),
            _dovecot: dovecot,
        };
        let page = call(
            &world.kept,
            "imap_search_messages",
            json!({ "mailbox": "INBOX" }),
        )
        .await;
        let id = page
            .pointer("/data/messages/0/message_id")
            .and_then(Value::as_str);
        world.message_id = id.expect("a message").to_owned();
        world
    }

    pub(crate) async fn call(&self, gateway: &Gateway, case: Case) {
        let (tool, arguments) = match case {
            Case::Read => ("imap_get_message", json!({ "message_id": self.message_id })),
            Case::Search => (
                "imap_search_messages",
                json!({ "mailbox": "INBOX", "limit": 10 }),
            ),
            Case::Accounts => ("imap_list_accounts", json!({})),
        };
        let reply = call(gateway, tool, arguments).await;
        assert_eq!(reply["success"], true, "{reply}");
    }
}

fn gateway(dovecot: &Dovecot, log: Log) -> Gateway {
    let settings = imap::Settings {
        host: "localhost".to_owned(),
        port: dovecot.tls_port(),
        security: Security::Implicit,
        user: "alice".to_owned(),
        login: sources::imap::Login::Password(SecretString::from("secret")),
        roots: Roots::with_file(&dovecot.ca_path()).expect("a certificate"),
        timeouts: Timeouts::default(),
        max_connections: 4,
        authserv_id: None,
    };
    let id = AccountId::new("default").expect("an account");
    let source = Arc::new(ImapSource::new(id.clone(), settings));
    let account = Account::new(id, source, Provider::Standard);
    let setup = Setup::owner(vec![account], vec![Toolset::Imap]);
    Gateway::new(setup, CursorKey::new([7; 32]), log)
}

async fn call(gateway: &Gateway, tool: &str, arguments: Value) -> Value {
    let Value::Object(arguments) = arguments else {
        return Value::Object(Map::new());
    };
    let call = Call {
        caller: &Caller::owner("bench"),
        tool,
        arguments,
        asking: Asking::Cannot,
        cx: &Cx::new(),
    };
    match gateway.call(call).await {
        Outcome::Answered(answered) => answered.structured,
        Outcome::Refused(refused) => refused.as_answer().structured,
    }
}
