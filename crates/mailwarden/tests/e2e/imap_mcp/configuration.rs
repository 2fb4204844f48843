//! `accounts.yaml`, `callers.yaml` and `policies/*.yaml`: the example files, the fields and their
//! defaults, and the secret stores.

use serde_json::{Value, json};

use super::{ACCOUNTS, Ground, INVOICE_POLICY, Row, allowed, check_all, data, denied};

/// The default that the schema of a file gives a field.
fn default_of(ground: &Ground, file: &str, pointer: &str) -> Value {
    let mut command = ground.command("imap-mcp");
    let output = command.args(["config", "schema", file]).output().unwrap();
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    let default = schema.pointer(&format!("{pointer}/default"));
    default
        .unwrap_or_else(|| panic!("no default at {pointer}: {schema:#}"))
        .clone()
}

/// `accounts.yaml` with a change, and what `config check` says of it.
fn checked(ground: &Ground, from: &str, to: &str) -> (i32, String) {
    let text = ground.accounts();
    assert!(text.contains(from), "{from}: {text}");
    ground
        .dir
        .write("accounts.yaml", &text.replacen(from, to, 1));
    let printed = ground.check();
    ground.dir.write("accounts.yaml", &text);
    (printed.code, printed.stdout + &printed.stderr)
}

/// The policy with a change, and what `config check` says of it.
fn judged(ground: &Ground, from: &str, to: &str) -> (i32, String) {
    assert!(INVOICE_POLICY.contains(from), "{from}");
    let text = INVOICE_POLICY.replacen(from, to, 1);
    ground.dir.write("policies/invoice-agent.yaml", &text);
    let printed = ground.check();
    ground
        .dir
        .write("policies/invoice-agent.yaml", INVOICE_POLICY);
    (printed.code, printed.stdout + &printed.stderr)
}

fn accepted((code, said): (i32, String)) {
    assert_eq!(code, 0, "{said}");
}

fn refused((code, said): (i32, String), why: &str) {
    assert_eq!(code, 2, "{said}");
    assert!(said.contains(why), "{why}: {said}");
}

const FILES: &[Row<Ground>] = &[
    Row(
        "The server reads its configuration from a directory of YAML files pointed to by IMAP_MCP_CONFIG_DIR.",
        |ground| {
            let printed = ground.check();
            assert_eq!(printed.code, 0, "{}{}", printed.stdout, printed.stderr);
            for word in [
                "company-mail",
                "gmail-invoices",
                "invoice-agent",
                "overview-bot",
                "90 days plain, 275 compressed, deleted after 365",
            ] {
                assert!(printed.stdout.contains(word), "{word}: {}", printed.stdout);
            }
        },
    ),
    Row(
        "id | yes | Unique identifier referenced in policies",
        |ground| {
            refused(
                checked(ground, "  - id: company-mail\n", "  - id: gmail-invoices\n"),
                "gmail-invoices",
            );
        },
    ),
    Row(
        "provider | no | imap-standard | imap-standard, google, or google-mock",
        |ground| {
            let default = default_of(
                ground,
                "accounts",
                "/properties/accounts/items/properties/provider",
            );
            assert_eq!(default, "imap-standard");
            accepted(checked(
                ground,
                "    provider: imap-standard      # or \"google\" for Gmail\n",
                "",
            ));
            for provider in ["imap-standard", "google", "google-mock"] {
                accepted(checked(
                    ground,
                    "provider: imap-standard ",
                    &format!("provider: {provider} "),
                ));
            }
            refused(
                checked(ground, "provider: imap-standard ", "provider: exchange "),
                "provider",
            );
        },
    ),
    Row("host | no | 127.0.0.1 | IMAP server hostname", |ground| {
        let default = default_of(
            ground,
            "accounts",
            "/properties/accounts/items/properties/host",
        );
        assert_eq!(default, "127.0.0.1");
        accepted(checked(ground, "    host: 127.0.0.1\n", ""));
    }),
    Row("port | no | 143 | IMAP port (993 for IMAPS)", |ground| {
        let default = default_of(
            ground,
            "accounts",
            "/properties/accounts/items/properties/port",
        );
        assert_eq!(default, 143);
        let ours = format!("    port: {}\n", ground.server.tls_port());
        let (code, said) = checked(ground, &ours, "");
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("143"), "{said}");
    }),
    Row("auth.type | yes | password or xoauth2", |ground| {
        refused(
            checked(
                ground,
                "      type: password             # or \"xoauth2\"\n",
                "",
            ),
            "type",
        );
        refused(
            checked(ground, "type: password ", "type: kerberos "),
            "type",
        );
    }),
    Row(
        "auth.secret_ref | yes | Reference to the secret store",
        |ground| {
            refused(
                checked(
                    ground,
                    "      secret_ref: secret://accounts/company-mail/password\n",
                    "",
                ),
                "secret_ref",
            );
        },
    ),
    Row(
        "auth.oauth_scope | no | OAuth2 scope for xoauth2 accounts",
        |ground| {
            accepted(checked(
                ground,
                "      oauth_scope: https://mail.google.com/\n",
                "",
            ));
        },
    ),
    Row(
        "token_cache | no | memory_only | memory_only (access tokens in RAM only) or persist_all (also persisted)",
        |ground| {
            let default = default_of(
                ground,
                "accounts",
                "/properties/accounts/items/properties/token_cache",
            );
            assert_eq!(default, "memory_only");
            accepted(checked(ground, "    token_cache: persist_all\n", ""));
            refused(
                checked(ground, "token_cache: persist_all", "token_cache: forever"),
                "token_cache",
            );
        },
    ),
    Row(
        "hot_days: 90, warm_days: 275, delete_after_days: 365",
        |ground| {
            for (name, days) in [("hot_days", 90), ("warm_days", 275)] {
                let at = format!("/properties/audit/properties/{name}");
                assert_eq!(default_of(ground, "accounts", &at), days);
                assert!(ACCOUNTS.contains(&format!("{name}: {days}")));
            }
            let last = "  delete_after_days: 365         # total age before deletion\n";
            let (code, said) = checked(ground, last, "");
            assert_eq!(code, 0, "{said}");
            assert!(said.contains("deleted after 365"), "{said}");
        },
    ),
    Row(
        "backend: file_dir # or \"env_var\" or \"gpg_file\"",
        |ground| {
            refused(
                checked(ground, "backend: file_dir", "backend: vault"),
                "backend",
            );
        },
    ),
    Row(
        "gpg_file | Per-file GPG decryption using the operator's key | path, recipient, gnupghome",
        |ground| {
            let keys =
                "backend: gpg_file\n  recipient: test@example.com\n  gnupghome: /nonexistent";
            let (code, said) = checked(
                ground,
                "backend: file_dir              # or \"env_var\" or \"gpg_file\"",
                keys,
            );
            // The fields are known; that there are no keys is another matter.
            assert_ne!(code, 0, "{said}");
            assert!(
                !said.contains("unknown") && !said.contains("there is no key"),
                "{said}"
            );
        },
    ),
    Row("path | yes; mode | yes; default | yes", |ground| {
        for (field, line) in [
            (
                "path",
                "    - path: INBOX/Invoices\n      mode: whitelist\n",
            ),
            ("mode", "      mode: whitelist\n"),
            ("default", "      default: NONE\n"),
        ] {
            let without = match field {
                "path" => "    - mode: whitelist\n",
                _ => "",
            };
            refused(judged(ground, line, without), field);
        }
    }),
    Row(
        "rules | no | [] ; mark_seen, mark_tagged, move_out, accept_incoming, draft_append | no | false",
        |ground| {
            accepted(judged(ground, "      rules: []\n", ""));
            accepted(judged(ground, "      accept_incoming: true\n", ""));
            for capability in [
                "mark_seen",
                "mark_tagged",
                "move_out",
                "accept_incoming",
                "draft_append",
            ] {
                let words = format!("      accept_incoming: true\n      {capability}: ");
                if capability != "accept_incoming" {
                    accepted(judged(
                        ground,
                        "      accept_incoming: true\n",
                        &format!("{words}true\n"),
                    ));
                    refused(
                        judged(
                            ground,
                            "      accept_incoming: true\n",
                            &format!("{words}maybe\n"),
                        ),
                        capability,
                    );
                }
            }
        },
    ),
    Row(
        "In whitelist mode, rules use grant: <level>. In blacklist mode, rules use cap: <level>. Mixing both in one folder is a parse-time error.",
        |ground| {
            refused(judged(ground, "grant: FULL", "cap: FULL"), "grant");
            refused(
                judged(ground, "grant: FULL", "grant: FULL\n          cap: NONE"),
                "cap",
            );
            refused(
                judged(
                    ground,
                    "mode: whitelist\n      default: NONE\n      mark_seen",
                    "mode: blacklist\n      default: FULL\n      mark_seen",
                ),
                "cap",
            );
            refused(judged(ground, "mode: whitelist", "mode: graylist"), "mode");
        },
    ),
    Row(
        "NONE < COUNT < METADATA < ENVELOPE < HEADERS < BODY < FULL",
        |ground| {
            for level in ["COUNT", "METADATA", "ENVELOPE", "HEADERS", "BODY", "FULL"] {
                accepted(judged(ground, "grant: FULL", &format!("grant: {level}")));
            }
            refused(judged(ground, "grant: FULL", "grant: EVERYTHING"), "grant");
        },
    ),
    Row("Rules use a closed set of predicates.", |ground| {
        for predicate in [
            "from: alice@example.com",
            "from_domain: obi.de",
            "to: billing@company.com",
            "to_contains: team",
            "subject_contains: rechnung",
            "has_attachment: true",
            "newer_than: 30d",
            "older_than: 90d",
            "size_gt: 10000",
            "size_lt: 1500",
        ] {
            accepted(judged(ground, "from_domain: amazon.de", predicate));
        }
        refused(
            judged(ground, "from_domain: amazon.de", "sender_mood: bad"),
            "sender_mood",
        );
    }),
];

const STORES: &[Row<Ground>] = &[
    Row(
        "Secret references use the format secret://path/segments. For file_dir, this resolves to {path}/path/segments.",
        |ground| {
            let place = ground
                .dir
                .path()
                .join("secrets/accounts/company-mail/password");
            assert_eq!(std::fs::read_to_string(&place).unwrap(), "secret");
            let mut client = ground.stdio("overview-bot", &[]);
            allowed(&client.call("list_folders", json!({ "account_id": "company-mail" })));
            refused(
                checked(
                    ground,
                    "secret://accounts/company-mail",
                    "file://accounts/company-mail",
                ),
                "secret:// reference",
            );
        },
    ),
    Row(
        "For env_var, secret://callers/invoice-agent/token becomes the environment variable IMAP_MCP_SECRET__CALLERS__INVOICE_AGENT__TOKEN.",
        |ground| {
            env_var_store(ground);
            let password = "IMAP_MCP_SECRET__ACCOUNTS__COMPANY_MAIL__PASSWORD";
            let token = "IMAP_MCP_SECRET__CALLERS__INVOICE_AGENT__TOKEN";
            let refresh = "IMAP_MCP_SECRET__ACCOUNTS__GMAIL_INVOICES__REFRESH_TOKEN";
            let mut client = ground.stdio(
                "invoice-agent",
                &[
                    (password, "secret"),
                    (token, super::TOKEN),
                    (refresh, "a-refresh-token"),
                    ("IMAP_MCP_CALLER_TOKEN", super::TOKEN),
                ],
            );
            let found = client.call(
                "search",
                json!({ "account_id": "company-mail", "folder": super::FOLDER }),
            );
            allowed(&found);
            assert_eq!(data(&found, "/matched_visible"), 2);
        },
    ),
    Row(
        "Read-only — OAuth bootstrap refuses to start against this backend.",
        |ground| {
            env_var_store(ground);
            let mut command = ground.command("imap-mcp-oauth-bootstrap");
            command.args(["--account", "gmail-invoices", "--no-browser"]);
            for (name, value) in [
                ("ACCOUNTS__COMPANY_MAIL__PASSWORD", "secret"),
                ("CALLERS__INVOICE_AGENT__TOKEN", super::TOKEN),
            ] {
                command.env(format!("IMAP_MCP_SECRET__{name}"), value);
            }
            let output = command.output().unwrap();
            assert_eq!(output.status.code(), Some(1));
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(said.contains("environment"), "{said}");
        },
    ),
];

fn env_var_store(ground: &Ground) {
    let text = ground.accounts();
    let (before, rest) = text.split_once("  backend: file_dir").unwrap();
    let (_, after) = rest.split_once("\n\n").unwrap();
    let text = format!("{before}  backend: env_var\n\n{after}");
    ground.dir.write("accounts.yaml", &text);
}

#[test]
fn the_example_files_and_every_field_are_read() {
    check_all(FILES, &mut Ground::new());
}

#[test]
fn secret_stores_resolve_references_as_described() {
    check_all(STORES, &mut Ground::new());
}

/// The second account of the example is hidden from a caller whose policy does not name it.
#[test]
fn accounts_that_a_policy_leaves_out_are_hidden() {
    let ground = Ground::new();
    let mut client = ground.stdio("overview-bot", &[]);
    let listed = client.call("list_accounts", json!({}));
    allowed(&listed);
    assert_eq!(data(&listed, "/accounts/0/account_id"), "company-mail");
    assert_eq!(data(&listed, "/hidden_accounts_count"), 1);
    let refused = client.call("list_folders", json!({ "account_id": "gmail-invoices" }));
    assert_eq!(denied(&refused), "account_hidden");
}
