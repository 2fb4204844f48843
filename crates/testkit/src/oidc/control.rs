//! What a test may ask of the running server beside the protocol: to fail, to wait, to forget, and what was asked of it.

use super::{Endpoint, Fault, Oidc, Point, Rotation, Times};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// One request that the server had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served {
    /// None for pages of the browser's way that nobody else asks for.
    pub endpoint: Option<Endpoint>,
    pub client: Option<String>,
    /// What the server itself made of it: `ok`, an OAuth2 error or a status; none while it has not, or where a fault
    /// answered in its place.
    pub outcome: Option<String>,
    /// The status that was sent: none while nothing was, 0 where the connection was cut.
    pub status: Option<u16>,
}

/// A device that waits for somebody to enter its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    pub user_code: String,
    /// `verification_uri_complete` (RFC 8628 section 3.2).
    pub uri: String,
}

/// Requests that arrive at a point wait there until this is dropped.
#[derive(Debug)]
pub struct Hold<'a> {
    oidc: &'a Oidc,
    id: u64,
}

impl Oidc {
    /// Has requests of this kind fail, after the faults that were asked for earlier.
    pub fn fail(&self, at: Endpoint, fault: &Fault, times: Times) {
        self.control("fault", &fault.wire(at, times));
    }

    /// No fault any more.
    pub fn mend(&self) {
        self.control("mend", &json!({}));
    }

    /// Stops every request of this kind at that point: at [`Point::Answer`] of a refresh the token is rotated, and the
    /// client does not know.
    pub fn hold(&self, at: Endpoint, point: Point) -> Hold<'_> {
        let id = self.holds.fetch_add(1, Ordering::Relaxed);
        self.control(
            "hold",
            &json!({ "id": id, "at": at.word(), "when": point.word() }),
        );
        Hold { oidc: self, id }
    }

    /// All requests so far, in the order of their arrival.
    pub fn served(&self) -> Vec<Served> {
        let word = |value: &Value| value.as_str().map(str::to_owned);
        list(self.control("journal", &json!({})), |entry| Served {
            endpoint: entry["endpoint"].as_str().and_then(Endpoint::from_word),
            client: word(&entry["client"]),
            outcome: word(&entry["outcome"]),
            status: entry["status"]
                .as_u64()
                .and_then(|status| status.try_into().ok()),
        })
    }

    /// How many requests of this kind there were, however they came out.
    pub fn count(&self, at: Endpoint) -> usize {
        let served = self.served().into_iter();
        served.filter(|served| served.endpoint == Some(at)).count()
    }

    /// How many of this kind came out so: `ok`, `invalid_grant`…
    pub fn count_of(&self, at: Endpoint, outcome: &str) -> usize {
        let wanted = |served: &Served| {
            served.endpoint == Some(at) && served.outcome.as_deref() == Some(outcome)
        };
        self.served().iter().filter(|served| wanted(served)).count()
    }

    /// Waits until so many requests of this kind, counted from the start, have been answered.
    pub fn await_answered(&self, at: Endpoint, count: usize) {
        self.control("answered", &json!({ "at": at.word(), "count": count }));
    }

    /// Every token, code, verifier and client secret that went in or out: what must be seen nowhere else.
    pub fn secrets(&self) -> Vec<String> {
        list(self.control("secrets", &json!({})), text)
    }

    /// Refresh tokens of this user that would be taken now.
    pub fn living_refresh_tokens(&self, user: &str) -> Vec<String> {
        list(self.control("living", &json!({ "user": user })), text)
    }

    /// Takes away all that this user granted, as on a provider's page of connected programs; how many grants that were.
    pub fn revoke(&self, user: &str) -> u64 {
        let grants = self.control("revoke", &json!({ "user": user }));
        grants.as_u64().expect("a number of grants")
    }

    /// Signs with another key from now on, and takes the old one out of [`Oidc::keys_dir`]. A Dovecot that has seen the
    /// old key remembers it until [`crate::Dovecot::forget_keys`].
    pub fn replace_key(&self) {
        self.control("replace_key", &json!({}));
    }

    /// For tokens given from now on; below a client's margin they are as good as expired.
    pub fn set_access_lifetime(&self, lifetime: Duration) {
        self.set(json!({ "accessSeconds": lifetime.as_secs() }));
    }

    /// Tokens given from now on are for this audience.
    pub fn set_audience(&self, audience: &str) {
        self.set(json!({ "audience": audience }));
    }

    pub fn set_rotation(&self, rotation: Rotation) {
        self.set(json!({ "rotation": rotation.word() }));
    }

    /// Access tokens given from now on have expired already, though the answer promises otherwise: a mail server refuses
    /// what the client thinks fresh.
    pub fn give_stale_tokens(&self) {
        self.set(json!({ "stillborn": true }));
    }

    pub fn give_fresh_tokens(&self) {
        self.set(json!({ "stillborn": false }));
    }

    /// Who sits before the browser when no login hint says it.
    pub fn set_person(&self, user: &str) {
        self.set(json!({ "person": user }));
    }

    /// How many seconds a device is told to wait between polls; 1 unless set.
    pub fn set_device_interval(&self, seconds: u32) {
        self.set(json!({ "interval": seconds }));
    }

    /// Devices that asked for a code, in order, once there are `least` of them.
    pub fn devices(&self, least: usize) -> Vec<Device> {
        let devices = self.control("devices", &json!({ "least": least }));
        list(devices, |device| Device {
            user_code: text(&device["user_code"]),
            uri: text(&device["uri"]),
        })
    }

    /// Every device code is too old from now on.
    pub fn expire_devices(&self) {
        self.control("expire_devices", &json!({}));
    }

    fn set(&self, settings: Value) {
        self.control("settings", &settings);
    }

    fn control(&self, verb: &str, argument: &Value) -> Value {
        let url = format!("{}/testkit/{verb}", self.issuer());
        let answer = self
            .http
            .send("POST", &url, &[], argument.to_string().as_bytes())
            .unwrap_or_else(|e| panic!("cannot ask for {verb}: {e}; its log:\n{}", self.log()));
        assert_eq!(answer.status, 200, "{verb}: {}", answer.text());
        answer.json()
    }
}

impl Hold<'_> {
    /// Waits until so many requests stand here, or have stood.
    pub fn await_arrivals(&self, count: usize) {
        let argument = json!({ "id": self.id, "count": count });
        self.oidc.control("arrivals", &argument);
    }

    /// Lets all of them go on, as dropping does.
    pub fn release(self) {}
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        let url = format!("{}/testkit/release", self.oidc.issuer());
        let argument = json!({ "id": self.id }).to_string();
        // Not `control`, which panics: this may run because something did.
        let _ = self.oidc.http.send("POST", &url, &[], argument.as_bytes());
    }
}

fn list<T>(value: Value, item: impl Fn(&Value) -> T) -> Vec<T> {
    let values = value.as_array().expect("a list");
    values.iter().map(item).collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}
