//! The provider as one account sees it: where it is asked, and with what. Found out once, and again after an hour; while
//! nothing can be found out, what was is as good as before.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use secrecy::ExposeSecret as _;
use tokio::sync::OnceCell;

use super::Grant;
use super::answer::{self, Declined, Given};
use super::discovery::{self, Undiscovered};
use super::grant::Provider;
use super::http::{ClientAuth, Endpoint, Http, Reply, Unanswered, basic, encode};
use super::provider::Endpoints;
use super::vault::off_thread;

const REDISCOVERED: Duration = Duration::from_secs(3600);

#[derive(Debug)]
pub(crate) struct Web {
    ca_file: Option<PathBuf>,
    http: OnceCell<Http>,
    endpoints: Mutex<Option<(Instant, Arc<Endpoints>)>>,
}

/// Why the provider did not give a token.
#[derive(Clone, Debug)]
pub(crate) enum Ungiven {
    Unavailable(String),
    Misconfigured(String),
    Declined(Declined),
}

impl Web {
    pub(crate) fn new(ca_file: Option<PathBuf>) -> Self {
        Self {
            ca_file,
            http: OnceCell::new(),
            endpoints: Mutex::new(None),
        }
    }

    pub(crate) async fn endpoints(&self, provider: &Provider) -> Result<Arc<Endpoints>, Ungiven> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        let found = match provider {
            Provider::Custom { issuer } => {
                let http = self.http().await?;
                match discovery::discover(http, issuer).await {
                    Ok(found) => found,
                    Err(Undiscovered::Unavailable(said)) => {
                        let stale = self.remembered().clone();
                        let stale = stale.map(|(_, endpoints)| endpoints);
                        return stale.ok_or(Ungiven::Unavailable(said));
                    }
                    Err(Undiscovered::Unusable(said)) => return Err(Ungiven::Misconfigured(said)),
                }
            }
            known => known.endpoints().ok_or_else(|| {
                let said = "the tenant is not a name or id of a directory: check oauth_tenant";
                Ungiven::Misconfigured(said.to_owned())
            })?,
        };
        let found = Arc::new(found);
        *self.remembered() = Some((Instant::now(), Arc::clone(&found)));
        Ok(found)
    }

    /// Asks for tokens. The client's own fields are added here.
    pub(crate) async fn tokens(
        &self,
        grant: &Grant,
        endpoints: &Endpoints,
        fields: &[(&str, &str)],
    ) -> Result<Given, Ungiven> {
        let reply = self
            .post(grant, endpoints, &endpoints.token, fields)
            .await?;
        answer::read(&reply).map_err(Ungiven::Declined)
    }

    pub(crate) async fn post(
        &self,
        grant: &Grant,
        endpoints: &Endpoints,
        at: &Endpoint,
        fields: &[(&str, &str)],
    ) -> Result<Reply, Ungiven> {
        let client = grant.client_id.as_deref();
        let client = client.ok_or_else(|| Ungiven::Misconfigured(grant.no_client()))?;
        let mut fields = fields.to_vec();
        let mut header = None;
        match (&grant.client_secret, endpoints.client_auth) {
            (Some(secret), ClientAuth::Basic) => header = basic(client, secret.expose_secret()),
            (Some(secret), ClientAuth::Form) => fields.extend([
                ("client_id", client),
                ("client_secret", secret.expose_secret()),
            ]),
            (None, _) => fields.push(("client_id", client)),
        }
        let http = self.http().await?;
        let reply = http.post(at, encode(&fields), header).await;
        reply.map_err(|why: Unanswered| Ungiven::Unavailable(why.say(&at.server())))
    }

    async fn http(&self) -> Result<&Http, Ungiven> {
        let build = || async {
            let ca_file = self.ca_file.clone();
            match off_thread(move || Http::build(ca_file.as_deref())).await {
                Ok(built) => built.map_err(Ungiven::Misconfigured),
                Err(_) => Err(Ungiven::Unavailable("the program is ending".to_owned())),
            }
        };
        self.http.get_or_try_init(build).await
    }

    /// As if it had been found out long ago.
    #[cfg(test)]
    pub(crate) fn age(&self) {
        if let Some((since, _)) = &mut *self.remembered() {
            *since = since.checked_sub(REDISCOVERED).unwrap();
        }
    }

    fn known(&self) -> Option<Arc<Endpoints>> {
        let remembered = self.remembered();
        let (since, endpoints) = remembered.as_ref()?;
        (since.elapsed() < REDISCOVERED).then(|| Arc::clone(endpoints))
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, Option<(Instant, Arc<Endpoints>)>> {
        self.endpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
