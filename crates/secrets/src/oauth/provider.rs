//! What is known of the providers: addresses, scopes, how a client is had, and what each does in its own way.
//!
//! No client id is built in: one that is shared by everybody can be blocked for everybody.

use super::discovery;
use super::grant::{Grant, Provider};
use super::http::{ClientAuth, Endpoint};
use super::scope;

/// What a person visits, and where it leads back to.
pub(crate) const CALLBACK_PATH: &str = "/callback";
/// Yahoo takes no other: see [`Redirect::Registered`].
pub(crate) const YAHOO_REDIRECT: &str = "https://localhost/callback";

/// Where a provider is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Endpoints {
    pub authorize: Endpoint,
    pub token: Endpoint,
    pub device: Option<Endpoint>,
    pub issuer: Issuer,
    pub client_auth: ClientAuth,
}

/// Who says `iss` in an answer that came by the browser (RFC 9207). Another one is an attack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Issuer {
    /// Compared where it is said.
    Named(String),
    /// It said that it always says it.
    Demanded(String),
    /// Microsoft says the tenant of whoever logged in, which `common` does not know.
    MicrosoftTenant,
}

impl Issuer {
    pub(crate) fn accepts(&self, said: Option<&str>) -> bool {
        match (self, said) {
            (Self::Named(issuer) | Self::Demanded(issuer), Some(said)) => issuer == said,
            (Self::Demanded(_), None) => false,
            (Self::MicrosoftTenant, Some(said)) => said
                .strip_prefix("https://login.microsoftonline.com/")
                .and_then(|rest| rest.strip_suffix("/v2.0"))
                .is_some_and(is_tenant),
            (_, None) => true,
        }
    }
}

/// Where the browser is sent when it has an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Redirect {
    /// `http://127.0.0.1:PORT/callback` (RFC 8252, section 7.3).
    Loopback,
    /// QUIRK: Microsoft registers no addresses with 127.0.0.1, and takes any port of localhost, without a path.
    Localhost,
    /// QUIRK: Yahoo takes https alone, exactly as registered, port and all: a random port cannot be had.
    Registered(&'static str),
}

/// How a person logs in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Way {
    /// A browser on this machine.
    Browser,
    /// A code, typed in on any other machine (RFC 8628).
    Device,
    /// A browser anywhere; the address it ends at is pasted.
    Paste,
}

impl Grant {
    /// What is asked for.
    pub fn scope(&self) -> String {
        match &self.scope {
            Some(scope) => scope.clone(),
            None => self.provider.scope().to_owned(),
        }
    }

    /// The scope with which mail can be changed, where it is known.
    pub fn required_scope(&self) -> Option<String> {
        match (&self.provider, &self.scope) {
            (Provider::Custom { .. }, asked) => {
                asked.clone().filter(|asked| !scope::is_read_only(asked))
            }
            (known, _) => Some(known.scope().to_owned()),
        }
    }

    /// Who gives the tokens, and to which client. None without a client.
    pub(crate) fn given(&self) -> Option<String> {
        let client = self.client_id.as_ref()?;
        Some(format!("{} {client}", self.provider.identity()))
    }

    /// What to do about the missing client id.
    pub fn no_client(&self) -> String {
        let account = &self.account;
        let how = self.provider.client_words();
        format!(
            "account {account} has no OAuth client id: set oauth_client_id in its auth section, or IMAP_MCP_OAUTH_CLIENT_ID for all accounts; {how}"
        )
    }
}

impl Provider {
    /// None where it is no tenant's name, or one that leads elsewhere.
    pub fn microsoft(tenant: &str) -> Option<Self> {
        let tenant = tenant.to_owned();
        is_tenant(&tenant).then_some(Self::Microsoft { tenant })
    }

    /// None where the issuer is no address that tokens may be asked for below.
    pub fn custom(issuer: &str) -> Option<Self> {
        // Parsers of addresses forgive these, and mean something else then.
        let plain = issuer
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\');
        let issuer = issuer.to_owned();
        let good = plain && discovery::addresses(&issuer).is_ok();
        good.then_some(Self::Custom { issuer })
    }

    /// What people call it.
    pub fn name(&self) -> &str {
        match self {
            Self::Google => "Google",
            Self::Microsoft { .. } => "Microsoft",
            Self::Fastmail => "Fastmail",
            Self::Yahoo => "Yahoo",
            Self::Custom { issuer } => issuer,
        }
    }

    /// Enough for IMAP. Evidence: Google's page on IMAP and XOAUTH2; Microsoft's page on IMAP with OAuth; what
    /// Thunderbird asks of Fastmail and Yahoo.
    fn scope(&self) -> &'static str {
        match self {
            Self::Google => "https://mail.google.com/",
            Self::Microsoft { .. } => {
                "https://outlook.office.com/IMAP.AccessAsUser.All offline_access"
            }
            Self::Fastmail => "https://www.fastmail.com/dev/protocol-imap",
            Self::Yahoo => "mail-w",
            Self::Custom { .. } => "openid offline_access",
        }
    }

    /// For what is remembered of a login.
    fn identity(&self) -> String {
        match self {
            Self::Google => "google".to_owned(),
            Self::Microsoft { tenant } => format!("microsoft/{tenant}"),
            Self::Fastmail => "fastmail".to_owned(),
            Self::Yahoo => "yahoo".to_owned(),
            Self::Custom { issuer } => format!("custom/{issuer}"),
        }
    }

    /// None where they have to be discovered, or where the tenant is none.
    pub(crate) fn endpoints(&self) -> Option<Endpoints> {
        let fixed = |authorize: &str, token: &str, device: Option<&str>, issuer: Issuer| {
            Some(Endpoints {
                authorize: Endpoint::parse(authorize)?,
                token: Endpoint::parse(token)?,
                device: device.and_then(Endpoint::parse),
                issuer,
                client_auth: ClientAuth::Form,
            })
        };
        let named = |issuer: &str| Issuer::Named(issuer.to_owned());
        match self {
            // It has a device flow, but not for mail.
            Self::Google => fixed(
                "https://accounts.google.com/o/oauth2/v2/auth",
                "https://oauth2.googleapis.com/token",
                None,
                named("https://accounts.google.com"),
            ),
            Self::Microsoft { tenant } => {
                let at = |what: &str| {
                    format!("https://login.microsoftonline.com/{tenant}/oauth2/v2.0/{what}")
                };
                if !is_tenant(tenant) {
                    return None;
                }
                fixed(
                    &at("authorize"),
                    &at("token"),
                    Some(&at("devicecode")),
                    Issuer::MicrosoftTenant,
                )
            }
            // QUIRK: codes, too, are exchanged at an address that is called refresh.
            Self::Fastmail => fixed(
                "https://api.fastmail.com/oauth/authorize",
                "https://api.fastmail.com/oauth/refresh",
                None,
                named("https://api.fastmail.com"),
            ),
            Self::Yahoo => fixed(
                "https://api.login.yahoo.com/oauth2/request_auth",
                "https://api.login.yahoo.com/oauth2/get_token",
                None,
                named("https://api.login.yahoo.com"),
            ),
            Self::Custom { .. } => None,
        }
    }

    pub(crate) fn redirect(&self) -> Redirect {
        match self {
            Self::Microsoft { .. } => Redirect::Localhost,
            Self::Yahoo => Redirect::Registered(YAHOO_REDIRECT),
            Self::Google | Self::Fastmail | Self::Custom { .. } => Redirect::Loopback,
        }
    }

    /// What the authorization request needs beside the usual.
    pub(crate) fn extras(&self, scope: &str) -> &'static [(&'static str, &'static str)] {
        let offline = scope
            .split_ascii_whitespace()
            .any(|it| it == "offline_access");
        match self {
            // Without them there is no refresh token, or only the first time.
            Self::Google => &[("access_type", "offline"), ("prompt", "consent")],
            // OpenID Connect Core, section 11: offline access needs consent.
            Self::Custom { .. } if offline => &[("prompt", "consent")],
            _ => &[],
        }
    }

    /// Whether one can log in there like that, or what to do instead.
    pub(crate) fn offers(&self, way: Way) -> Result<(), String> {
        match (self, way) {
            (Self::Google, Way::Device) => Err(
                "Google's device flow does not give access to mail: log in without --device on a machine with a browser, or with --paste".to_owned(),
            ),
            (Self::Fastmail, Way::Device) => Err(
                "Fastmail has no device flow: log in without --device on a machine with a browser, or with --paste".to_owned(),
            ),
            (Self::Yahoo, Way::Device) => {
                Err("Yahoo has no device flow: log in with --paste".to_owned())
            }
            (Self::Yahoo, Way::Browser) => Err(format!(
                "Yahoo sends a browser back to https addresses alone, not to a listener on this machine: register {YAHOO_REDIRECT} as redirect URI and log in with --paste"
            )),
            _ => Ok(()),
        }
    }

    fn client_words(&self) -> &'static str {
        match self {
            Self::Google => {
                "create an OAuth client of type \"Desktop app\" in the Google Cloud console (APIs & Services, Credentials), with the Gmail API enabled; it also gives a client secret"
            }
            Self::Microsoft { .. } => {
                "register an application in Microsoft Entra (App registrations) with the platform \"Mobile and desktop applications\", the redirect URI http://localhost and the delegated permission IMAP.AccessAsUser.All, and allow public client flows for --device"
            }
            Self::Fastmail => {
                "ask Fastmail for a client (fastmail.com/for-developers/oauth) with the redirect URI http://127.0.0.1/callback, or use an app password instead of OAuth"
            }
            Self::Yahoo => {
                "create an app at developer.yahoo.com with the redirect URI https://localhost/callback and mail access, which Yahoo grants on request; or use an app password instead of OAuth"
            }
            Self::Custom { .. } => {
                "register a public (native) client with the redirect URI http://127.0.0.1/callback at the issuer"
            }
        }
    }
}

/// A name or a number of a directory; nothing that could lead elsewhere.
fn is_tenant(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-.".contains(&byte);
    !text.is_empty() && text.len() <= 128 && text.bytes().all(plain) && !text.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn microsoft(tenant: &str) -> Provider {
        Provider::Microsoft {
            tenant: tenant.to_owned(),
        }
    }

    #[test]
    fn every_known_provider_is_asked_by_https() {
        let known = [
            Provider::Google,
            microsoft("common"),
            Provider::Fastmail,
            Provider::Yahoo,
        ];
        for provider in known {
            let it = provider.endpoints().unwrap();
            for endpoint in [Some(it.authorize), Some(it.token), it.device]
                .into_iter()
                .flatten()
            {
                assert!(endpoint.is_https(), "{endpoint:?}");
            }
        }
    }

    #[test]
    fn a_change_needs_the_scope_that_the_provider_is_known_for() {
        let custom = Provider::Custom {
            issuer: "https://issuer.example".to_owned(),
        };
        for (provider, asked, needed) in [
            (
                Provider::Google,
                Some("gmail.readonly"),
                Some("https://mail.google.com/"),
            ),
            (Provider::Yahoo, Some("mail-r"), Some("mail-w")),
            (custom.clone(), Some("mail.readonly"), None),
            (custom.clone(), Some("mail"), Some("mail")),
            (custom, None, None),
        ] {
            let grant = Grant {
                provider,
                scope: asked.map(str::to_owned),
                ..super::super::tests::grant("http://127.0.0.1:1")
            };
            assert_eq!(grant.required_scope().as_deref(), needed, "{asked:?}");
        }
    }

    #[test]
    fn a_tenant_leads_nowhere_else() {
        let known = microsoft("contoso.onmicrosoft.com").endpoints().unwrap();
        let address = "https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token";
        assert_eq!(known.token.url().as_str(), address);
        for tenant in ["", "a/b", "..", "a?b", "a#b", "a@b", "ä", "a b"] {
            assert_eq!(microsoft(tenant).endpoints(), None, "{tenant}");
        }
    }

    #[test]
    fn only_addresses_that_secrets_may_go_to_are_issuers() {
        for (issuer, good) in [
            ("https://login.example.com", true),
            ("https://login.example.com/realms/mail/", true),
            ("http://127.0.0.1:8080", true),
            ("http://localhost:8080/x", true),
            ("http://[::1]:8080", true),
            ("http://login.example.com", false),
            ("http://localhost.example.com", false),
            ("https://login.example.com?x", false),
            ("https://login.example.com#x", false),
            ("https://user@login.example.com", false),
            ("https:\\\\login.example.com", false),
            (" https://login.example.com", false),
            ("https://", false),
            ("ftp://login.example.com", false),
            ("login.example.com", false),
            ("", false),
        ] {
            assert_eq!(Provider::custom(issuer).is_some(), good, "{issuer}");
        }
        assert!(Provider::microsoft("contoso.onmicrosoft.com").is_some());
        assert_eq!(Provider::microsoft(".."), None);
    }

    #[test]
    fn an_issuer_is_compared_wherever_it_is_said() {
        let named = Issuer::Named("https://a".to_owned());
        let demanded = Issuer::Demanded("https://a".to_owned());
        let tenant = Issuer::MicrosoftTenant;
        let cases = [
            (&named, None, true),
            (&named, Some("https://a"), true),
            (&named, Some("https://a/"), false),
            (&named, Some("https://b"), false),
            (&demanded, None, false),
            (&demanded, Some("https://a"), true),
            (&demanded, Some(""), false),
            (&tenant, None, true),
            (
                &tenant,
                Some("https://login.microsoftonline.com/9188040d/v2.0"),
                true,
            ),
            (
                &tenant,
                Some("https://login.microsoftonline.com/a/b/v2.0"),
                false,
            ),
            (&tenant, Some("https://evil.example/9188040d/v2.0"), false),
        ];
        for (issuer, said, accepted) in cases {
            assert_eq!(issuer.accepts(said), accepted, "{issuer:?} {said:?}");
        }
    }

    #[test]
    fn ways_that_a_provider_does_not_have_are_refused_with_words() {
        for (provider, way) in [
            (Provider::Google, Way::Device),
            (Provider::Fastmail, Way::Device),
            (Provider::Yahoo, Way::Device),
            (Provider::Yahoo, Way::Browser),
        ] {
            let words = provider.offers(way).unwrap_err();
            assert!(words.contains("--paste"), "{words}");
        }
        assert_eq!(microsoft("common").offers(Way::Device), Ok(()));
        assert_eq!(Provider::Yahoo.offers(Way::Paste), Ok(()));
    }
}
