//! OAuth2: the bootstrap, and a login that may only read.
//!
//! The example's account is at Google, which a test cannot ask. The bootstrap runs against a
//! provider on this machine, named by `oauth_provider` and `oauth_issuer`.

use serde_json::json;
use testkit::Oidc;
use testkit::oidc::CLIENT;

use super::{Ground, data, denied};

#[test]
fn the_bootstrap_stores_a_refresh_token() {
    let ground = Ground::new();
    let oidc = Oidc::start();
    let text = ground.accounts().replace(
        "      oauth_scope: https://mail.google.com/\n",
        &format!(
            "      oauth_scope: openid offline_access mail\n      oauth_provider: custom\n      \
             oauth_issuer: {}\n      oauth_client_id: {CLIENT}\n      user: alice\n",
            oidc.issuer()
        ),
    );
    ground.dir.write("accounts.yaml", &text);
    let secret = ground
        .dir
        .path()
        .join("secrets/accounts/gmail-invoices/refresh_token");
    assert!(!secret.exists());
    // imap-mcp-oauth-bootstrap --account gmail-invoices, but that no browser is opened.
    let mut command = ground.command("imap-mcp-oauth-bootstrap");
    command.args(["--account", "gmail-invoices", "--no-browser"]);
    let mut login = crate::oauth::Login::start(command, ground.dir.path());
    let address = login.address();
    assert!(address.contains("code_challenge_method=S256"), "{address}");
    assert_eq!(oidc.browse(&address).status, 200);
    let printed = login.end();
    assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
    let stored = std::fs::read_to_string(&secret).unwrap();
    let living = oidc.living_refresh_tokens("alice");
    assert!(living.contains(&stored.trim_end().to_owned()), "{living:?}");
}

/// "Scope minimization is enforced: a readonly-scope account refuses write operations regardless
/// of policy." The scope is the one that is configured, so Google is not asked.
#[test]
fn a_readonly_scope_refuses_writes_and_says_which() {
    let ground = Ground::new();
    let scope = "https://www.googleapis.com/auth/gmail.readonly";
    let text = ground.accounts();
    let asked = "oauth_scope: https://mail.google.com/";
    assert!(text.contains(asked));
    ground.dir.write(
        "accounts.yaml",
        &text.replace(asked, &format!("oauth_scope: {scope}")),
    );
    ground.secret(
        "accounts/gmail-invoices/refresh_token",
        "a-refresh-token-from-elsewhere",
    );
    let mut client = ground.invoice_agent();
    let at = json!({ "account": "gmail-invoices", "folder": "Rechnungen", "uid": 1, "seen": true });
    let refused = client.call("mark_seen", at);
    assert_eq!(denied(&refused), "oauth_scope_insufficient");
    assert_eq!(
        data(&refused, "/required_scope"),
        "https://mail.google.com/"
    );
    assert_eq!(data(&refused, "/granted_scope"), scope);
}
