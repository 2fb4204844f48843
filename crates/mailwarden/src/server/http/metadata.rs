//! What this server says of itself as a resource of OAuth (RFC 9728), and how it asks for a token (RFC 6750). It verifies none.

use axum::http::{Method, StatusCode, Uri};
use serde_json::json;

use super::answers::{self, Answer};
use super::roster::Vouched;

/// Below the address, and where clients look for that of `/mcp` (RFC 9728, section 3.1).
pub(super) const BELOW: &str = "/.well-known/oauth-protected-resource";
pub(super) const OF_MCP: &str = "/.well-known/oauth-protected-resource/mcp";

/// Anybody may know.
pub(super) fn answer(method: &Method, vouched: Option<&Vouched>) -> Answer {
    match vouched {
        None => answers::not_found(),
        Some(_) if method != Method::GET => answers::method_not_allowed("GET"),
        Some(vouched) => answers::json(
            StatusCode::OK,
            &json!({
                "resource": vouched.resource,
                "authorization_servers": [vouched.issuer],
                "bearer_methods_supported": ["header"],
                "scopes_supported": vouched.scopes(),
                "resource_name": "mailwarden",
            }),
        ),
    }
}

/// Why somebody has to come again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask<'a> {
    NoToken,
    InvalidToken,
    Scopes(&'a [String]),
}

pub(super) fn challenge(vouched: Option<&Vouched>, ask: Ask<'_>) -> Answer {
    let Some(place) = vouched.and_then(|vouched| place(&vouched.resource)) else {
        return answers::challenge(StatusCode::UNAUTHORIZED, "Bearer");
    };
    let place = format!("resource_metadata=\"{place}\"");
    match ask {
        Ask::NoToken => answers::challenge(StatusCode::UNAUTHORIZED, &format!("Bearer {place}")),
        Ask::InvalidToken => answers::challenge(
            StatusCode::UNAUTHORIZED,
            &format!("Bearer error=\"invalid_token\", {place}"),
        ),
        Ask::Scopes(scopes) => answers::challenge(
            StatusCode::FORBIDDEN,
            &format!(
                "Bearer error=\"insufficient_scope\", scope=\"{}\", {place}",
                scopes.join(" ")
            ),
        ),
    }
}

/// Where the metadata of a resource is: between its host and its path.
fn place(resource: &str) -> Option<String> {
    let uri: Uri = resource.parse().ok()?;
    let path = match uri.path() {
        "/" => "",
        path => path.trim_end_matches('/'),
    };
    Some(format!(
        "{}://{}{}{path}",
        uri.scheme_str()?,
        uri.authority()?,
        BELOW
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_stands_between_host_and_path() {
        for (resource, want) in [
            (
                "https://a.example/mcp",
                "https://a.example/.well-known/oauth-protected-resource/mcp",
            ),
            (
                "https://a.example:8443",
                "https://a.example:8443/.well-known/oauth-protected-resource",
            ),
            (
                "https://a.example/x/mcp/",
                "https://a.example/.well-known/oauth-protected-resource/x/mcp",
            ),
        ] {
            assert_eq!(place(resource).as_deref(), Some(want));
        }
    }
}
