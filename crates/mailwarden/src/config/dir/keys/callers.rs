//! Every key of `callers.yaml`.

use super::super::shape::Need::{Optional, Otherwise, Required};
use super::super::shape::{Keys, Shape, key, text, text_like};
use super::{LIMITS, NAME, SECRET};

const TOOLSETS: &[&str] = &["imap", "threads", "gateway"];
const DIGEST: &str = "^[0-9a-f]{64}$";
const INSTANT: &str =
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})$";

/// `callers.yaml`.
pub(in crate::config::dir) static CALLERS_FILE: Keys = Keys {
    what: "callers.yaml",
    keys: &[
        key(
            "callers",
            Required,
            Shape::List(&Shape::Keys(&CALLER)),
            "Who may connect. An empty list lets nobody in.",
        ),
        key(
            "limits",
            Optional,
            Shape::Keys(&LIMITS),
            "The limits of callers that have none of their own.",
        ),
        key(
            "oauth",
            Optional,
            Shape::Keys(&VOUCHING),
            "Whose access tokens callers of the type oauth bring, over HTTP.",
        ),
    ],
};

static VOUCHING: Keys = Keys {
    what: "the 'oauth' of callers.yaml",
    keys: &[
        key(
            "issuer",
            Required,
            text("https://login.example.com"),
            "Who gives the tokens, exactly as it spells itself in them.",
        ),
        key(
            "resource",
            Required,
            text("https://mail.example.com/mcp"),
            "The address by which clients reach this server; they are told of it.",
        ),
        key(
            "audience",
            Otherwise("the resource"),
            text("https://mail.example.com/mcp"),
            "What the tokens have to name as their audience.",
        ),
        key(
            "jwks_uri",
            Otherwise("what the issuer says of itself"),
            text("https://login.example.com/keys"),
            "Where the issuer's public keys are.",
        ),
        key(
            "ca_file",
            Optional,
            text("ca.pem"),
            "Certificates to trust besides the system's, when the issuer is asked.",
        ),
    ],
};

static CALLER: Keys = Keys {
    what: "a caller",
    keys: &[
        key(
            "id",
            Required,
            text_like("invoice-agent", NAME),
            "The name in the audit log: 1 to 64 letters, digits, '_', '.' or '-'.",
        ),
        key(
            "policy",
            Required,
            text_like("invoice-policy", NAME),
            "The 'name' of a file in policies/.",
        ),
        key(
            "auth",
            Required,
            Shape::Keys(&CALLER_AUTH),
            "How it proves who it is.",
        ),
        key(
            "toolsets",
            Otherwise("gateway"),
            Shape::List(&Shape::Word(TOOLSETS)),
            "Which sets of tools it is offered; its policy holds in all of them.",
        ),
        key(
            "limits",
            Otherwise("those at the top of the file, else none"),
            Shape::Keys(&LIMITS),
            "How much it may use; {} for as much as it likes.",
        ),
    ],
};

pub(in crate::config::dir) static CALLER_AUTH: Keys = Keys {
    what: "the 'auth' of a caller",
    keys: &[
        key(
            "type",
            Required,
            Shape::Word(&["stdio_trusted", "shared_token", "oauth"]),
            "stdio_trusted: whoever starts the program says who it is, by IMAP_MCP_CALLER_ID. shared_token: the caller shows a token, by IMAP_MCP_CALLER_TOKEN or over HTTP. oauth: over HTTP it brings an access token of the issuer below.",
        ),
        key(
            "token_secret_ref",
            Optional,
            text_like("secret://callers/invoice-agent/token", SECRET),
            "Which secret of the secret store is the token; for shared_token.",
        )
        .withheld(),
        key(
            "tokens",
            Optional,
            Shape::List(&Shape::Keys(&CALLER_TOKEN)),
            "In place of token_secret_ref: several tokens, each as good as the others until it expires, so that one can take the place of another; for shared_token.",
        ),
        key(
            "subject",
            Optional,
            text("agent-7"),
            "Whom an access token must speak of (`sub`); for oauth.",
        ),
        key(
            "client_id",
            Optional,
            text("invoice-agent"),
            "To which client it must have been given (`client_id` or `azp`); for oauth. One of the two is needed, and of both, both have to fit.",
        ),
        key(
            "scopes",
            Optional,
            Shape::List(&text("mail.read")),
            "The scopes that it must have, all of them; for oauth.",
        ),
    ],
};

pub(in crate::config::dir) static CALLER_TOKEN: Keys = Keys {
    what: "a token",
    keys: &[
        key(
            "token_secret_ref",
            Optional,
            text_like("secret://callers/invoice-agent/token", SECRET),
            "Which secret of the secret store it is.",
        )
        .withheld(),
        key(
            "sha256",
            Optional,
            text_like(
                "0000000000000000000000000000000000000000000000000000000000000000",
                DIGEST,
            ),
            "In place of token_secret_ref: the SHA-256 of the token, so that the token itself lies nowhere here. `mailwarden config token` makes both. Placeholders and digests of well-known words are refused.",
        )
        .withheld(),
        key(
            "expires",
            Otherwise("never"),
            text_like("2027-01-01T00:00:00Z", INSTANT),
            "From when on it proves nothing: date and time, with Z or an offset.",
        ),
    ],
};
