//! Tokens that are good, and all the ways to forge one.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use jsonwebtoken::{EncodingKey, Header, encode};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519};
use serde_json::{Value, json};

use super::super::{Issuer, keys};
use super::*;

struct Signer {
    pair: KeyPair,
    kid: &'static str,
    algorithm: Algorithm,
}

impl Signer {
    fn new(kid: &'static str, algorithm: Algorithm) -> Self {
        let kind = match algorithm {
            Algorithm::EdDSA => &PKCS_ED25519,
            _ => &PKCS_ECDSA_P256_SHA256,
        };
        let pair = KeyPair::generate_for(kind).unwrap();
        Self {
            pair,
            kid,
            algorithm,
        }
    }

    fn jwk(&self) -> Value {
        let raw = self.pair.public_key_raw();
        match self.algorithm {
            Algorithm::EdDSA => json!({
                "kty": "OKP", "crv": "Ed25519", "kid": self.kid, "use": "sig", "x": BASE64.encode(raw),
            }),
            _ => json!({
                "kty": "EC", "crv": "P-256", "kid": self.kid, "alg": "ES256",
                "x": BASE64.encode(&raw[1..33]), "y": BASE64.encode(&raw[33..]),
            }),
        }
    }

    fn sign(&self, header: impl FnOnce(&mut Header), claims: &Value) -> String {
        let der = self.pair.serialize_der();
        let key = match self.algorithm {
            Algorithm::EdDSA => EncodingKey::from_ed_der(&der),
            _ => EncodingKey::from_ec_der(&der),
        };
        let mut head = Header::new(self.algorithm);
        head.kid = Some(self.kid.to_owned());
        head.typ = Some("at+jwt".to_owned());
        header(&mut head);
        encode(&head, claims, &key).unwrap()
    }
}

fn now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn issuer() -> Issuer {
    Issuer {
        issuer: "https://id.example".to_owned(),
        audience: "https://mail.example/mcp".to_owned(),
        jwks_uri: None,
        ca_file: None,
    }
}

fn claims() -> Value {
    json!({
        "iss": "https://id.example", "aud": ["other", "https://mail.example/mcp"], "sub": "agent-7",
        "client_id": "c1", "exp": now() + 60, "iat": now(), "scope": "mail mail.read",
    })
}

fn changed(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
        value => claims[name] = value,
    }
    claims
}

/// As a verifier that has just these keys.
fn judge(token: &str, set: &[Value]) -> Result<Claims, Refused> {
    let body = json!({ "keys": set }).to_string();
    let keys = keys::read(body.as_bytes()).unwrap();
    let head = Head::read(token)?;
    let key = keys
        .iter()
        .find(|key| key.kid() == head.kid)
        .ok_or(Refused)?;
    read(token, &head, key, &issuer())
}

#[test]
fn a_good_token_says_whom_it_speaks_of() {
    for algorithm in [Algorithm::ES256, Algorithm::EdDSA] {
        let signer = Signer::new("k1", algorithm);
        let set = [signer.jwk()];
        let told = judge(&signer.sign(|_| {}, &claims()), &set).unwrap();
        assert_eq!(told.sub.as_deref(), Some("agent-7"));
        assert_eq!(told.client_id.as_deref(), Some("c1"));
        assert_eq!(told.scopes(), ["mail", "mail.read"]);
        let scp = changed("scp", json!(["a", "b"]));
        let told = judge(
            &signer.sign(|head| head.typ = Some("JWT".to_owned()), &scp),
            &set,
        );
        assert_eq!(told.unwrap().scopes(), ["mail", "mail.read", "a", "b"]);
        assert!(
            judge(
                &signer.sign(
                    |head| head.typ = None,
                    &changed("aud", json!("https://mail.example/mcp"))
                ),
                &set
            )
            .is_ok()
        );
        // Clocks differ a little.
        assert!(
            judge(
                &signer.sign(|_| {}, &changed("exp", json!(now() - 10))),
                &set
            )
            .is_ok()
        );
    }
}

#[test]
fn claims_that_do_not_fit_are_refused() {
    let signer = Signer::new("k1", Algorithm::ES256);
    let set = [signer.jwk()];
    for (name, value) in [
        ("iss", json!("https://evil.example")),
        ("iss", json!("https://id.example/")),
        ("iss", json!(["https://id.example"])),
        ("iss", Value::Null),
        ("aud", json!("https://mail.example")),
        ("aud", json!("https://mail.example/mcp/")),
        ("aud", json!([])),
        ("aud", Value::Null),
        ("exp", json!(now() - 120)),
        ("exp", json!("never")),
        ("exp", Value::Null),
        ("nbf", json!(now() + 120)),
        ("iat", json!(now() + 120)),
        ("scope", json!({ "mail": true })),
    ] {
        let token = signer.sign(|_| {}, &changed(name, value.clone()));
        assert!(judge(&token, &set).is_err(), "{name}: {value}");
    }
}

#[test]
fn forged_tokens_are_refused() {
    let signer = Signer::new("k1", Algorithm::ES256);
    let other = Signer::new("k1", Algorithm::ES256);
    let edwards = Signer::new("k1", Algorithm::EdDSA);
    let set = [signer.jwk()];
    let good = signer.sign(|_| {}, &claims());
    assert!(judge(&good, &set).is_ok());
    let public = json!(set[0]["x"]).to_string();
    let shared = EncodingKey::from_secret(public.as_bytes());
    let mut head = Header::new(Algorithm::HS256);
    head.kid = Some("k1".to_owned());
    let with_shared = encode(&head, &claims(), &shared).unwrap();
    let part = |value: Value| BASE64.encode(value.to_string());
    let unsigned = |alg: &str| {
        format!(
            "{}.{}.",
            part(json!({ "alg": alg, "kid": "k1" })),
            part(claims())
        )
    };
    let parts: Vec<&str> = good.split('.').collect();
    let swapped = part(changed("sub", json!("root")));
    let mut embedded = signer.jwk();
    embedded["kid"] = json!("k2");
    let forged = [
        (
            "another key of the same name",
            other.sign(|_| {}, &claims()),
        ),
        ("another kind of key", edwards.sign(|_| {}, &claims())),
        ("a shared secret made of the public key", with_shared),
        ("no signature", unsigned("none")),
        ("no signature, spelled otherwise", unsigned("None")),
        ("no signature at all", unsigned("ES256")),
        (
            "claims of somebody else",
            format!("{}.{swapped}.{}", parts[0], parts[2]),
        ),
        (
            "a name that there is not",
            signer.sign(|head| head.kid = Some("k2".to_owned()), &claims()),
        ),
        (
            "a path in place of a name",
            signer.sign(
                |head| head.kid = Some("../../dev/null".to_owned()),
                &claims(),
            ),
        ),
        (
            "a statement in place of a name",
            signer.sign(|head| head.kid = Some("k1' OR 1=1".to_owned()), &claims()),
        ),
        ("no name", signer.sign(|head| head.kid = None, &claims())),
        (
            "an identity token's type",
            signer.sign(|head| head.typ = Some("dpop+jwt".to_owned()), &claims()),
        ),
        ("a token in a token", signer.sign(|_| {}, &json!(good))),
        ("five parts", format!("{good}.{}.{}", parts[1], parts[2])),
        ("two parts", format!("{}.{}", parts[0], parts[1])),
        ("nothing", String::new()),
        ("dots", "..".to_owned()),
        (
            "a long name",
            signer.sign(|head| head.kid = Some("k".repeat(1000)), &claims()),
        ),
    ];
    for (what, token) in forged {
        assert_eq!(judge(&token, &set).map(|_| ()), Err(Refused), "{what}");
    }
    // A key that the token brings along is nobody's.
    let own = format!(
        "{}.{}.{}",
        part(
            json!({ "alg": "ES256", "kid": "k2", "jwk": embedded, "jku": "https://evil.example/keys" })
        ),
        parts[1],
        parts[2]
    );
    assert!(judge(&own, &set).is_err());
    // What has to be understood and is not.
    let critical = format!(
        "{}.{}.{}",
        part(json!({ "alg": "ES256", "kid": "k1", "crit": ["x"], "x": 1 })),
        parts[1],
        parts[2]
    );
    assert_eq!(Head::read(&critical), Err(Refused));
}

#[test]
fn keys_that_are_not_for_signatures_are_left_out() {
    let signer = Signer::new("k1", Algorithm::ES256);
    let usable = |change: &dyn Fn(&mut Value)| {
        let mut jwk = signer.jwk();
        change(&mut jwk);
        keys::read(json!({ "keys": [jwk] }).to_string().as_bytes()).map(|keys| keys.len())
    };
    assert_eq!(usable(&|_| {}), Some(1));
    assert_eq!(usable(&|jwk| jwk["use"] = json!("enc")), Some(0));
    assert_eq!(
        usable(&|jwk| drop(jwk.as_object_mut().unwrap().remove("kid"))),
        Some(0)
    );
    assert_eq!(
        usable(&|jwk| *jwk = json!({ "kty": "oct", "kid": "k1", "k": "c2VjcmV0" })),
        Some(0)
    );
    assert_eq!(
        usable(&|jwk| *jwk = json!({ "kty": "new", "kid": "k1" })),
        Some(0)
    );
    assert!(keys::read(b"<html>").is_none());
    // For another algorithm than it says, a key is not used.
    let token = signer.sign(|_| {}, &claims());
    let mut jwk = signer.jwk();
    jwk["alg"] = json!("ES384");
    assert!(judge(&token, &[jwk]).is_err());
}
