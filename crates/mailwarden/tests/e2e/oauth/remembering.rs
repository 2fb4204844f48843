//! What of a token is on disk, and what a restart costs.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use super::House;
use super::house::assert_works;

/// The file in which the state of the account lies.
fn remembered(house: &House) -> Value {
    let kept = house.kept();
    let mut files = kept
        .iter()
        .filter(|(path, _)| path.starts_with(house.state()));
    let (_, bytes) = files.next().expect("a file of state");
    assert!(files.next().is_none());
    serde_json::from_slice(bytes).unwrap()
}

/// Nothing that was ever secret can be read beside the store, by anybody but its owner.
fn assert_sealed(house: &House) {
    let secrets = house.oidc.secrets();
    for entry in std::fs::read_dir(house.state()).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        for secret in &secrets {
            assert!(!text.contains(secret), "{}", path.display());
        }
    }
    let mode = std::fs::metadata(house.state()).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o700);
}

#[test]
fn persisted_tokens_outlive_a_restart() {
    let house = House::new();
    house.configure(&json!({ "token_cache": "persist_all" }));
    house.log_in();
    for _ in 0..3 {
        assert_works(&mut house.client());
        assert_sealed(&house);
    }
    assert_eq!(house.check().code, 0);
    assert_eq!(house.refreshes(), 0);
    assert!(remembered(&house)["access"].is_object());

    // Who is told to keep nothing forgets what was kept before.
    house.configure(&json!({ "token_cache": "memory_only" }));
    assert_works(&mut house.client());
    assert_eq!(house.refreshes(), 1);
    assert!(remembered(&house)["access"].is_null());
    house.configure(&json!({ "token_cache": "persist_all" }));
    for _ in 0..2 {
        assert_works(&mut house.client());
    }
    assert_eq!(house.refreshes(), 2);
    assert_sealed(&house);
}

#[test]
fn a_persisted_token_is_of_no_use_without_the_store_it_came_with() {
    let house = House::new();
    house.configure(&json!({ "token_cache": "persist_all" }));
    house.log_in();
    // Somebody puts another refresh token into the store: by hand, and a good one.
    let granted = house.oidc.grant("alice");
    house.dir.secret(
        "secrets/accounts/work/refresh_token",
        &granted.refresh_token,
    );
    assert_works(&mut house.client());
    assert_eq!(house.refreshes(), 1);
    house.assert_stored();
}

#[test]
fn tokens_in_memory_are_nowhere_else() {
    let house = House::new();
    house.log_in();
    for restart in 1..=3 {
        assert_works(&mut house.client());
        assert_eq!(house.refreshes(), restart);
        assert!(remembered(&house)["access"].is_null());
        assert_sealed(&house);
    }
    // A refresh token of our own lies in the store, and nowhere else.
    let stored = house.stored();
    let holding = house.kept().into_iter().filter(|(_, bytes)| {
        let text = String::from_utf8_lossy(bytes);
        text.contains(&stored)
    });
    assert_eq!(holding.count(), 1);
}

#[test]
fn a_store_that_does_not_take_a_new_token_is_told_of() {
    let house = House::new();
    let place = house.dir.path().join("secrets");
    let store = |keeping: &Value| {
        json!({
            "backend": "command", "command": ["cat", place.join("{ref}")], "store_command": keeping,
        })
    };
    house.configure_with(&store(&json!(["false", "{ref}"])), &json!({}));
    let granted = house.oidc.grant("alice");
    house.dir.secret(
        "secrets/accounts/work/refresh_token",
        &granted.refresh_token,
    );
    for _ in 0..2 {
        let check = house.check();
        assert_eq!(check.code, 0, "{}{}", check.stdout, check.stderr);
        let concern = "warning account work: the secret store should take new refresh tokens";
        assert!(check.stdout.contains(concern), "{}", check.stdout);
        let warning = "did not take the new refresh token";
        assert!(check.stderr.contains(warning), "{}", check.stderr);
        assert!(
            check.stderr.contains("false ended with"),
            "{}",
            check.stderr
        );
    }
    let records = house.dir.home.records();
    let refreshed = records
        .iter()
        .filter(|it| it.text("event") == "token_refreshed");
    let rotations: Vec<_> = refreshed.map(|it| it.text("rotation")).collect();
    assert_eq!(rotations, ["sealed", "sealed"]);

    // Mended, the store takes it, and there is nothing to tell any more.
    let copy = "cat > \"$0\"";
    let keep = json!(["sh", "-c", copy, place.join("{ref}")]);
    house.configure_with(&store(&keep), &json!({}));
    let check = house.check();
    assert_eq!(check.code, 0, "{}{}", check.stdout, check.stderr);
    assert!(!check.stdout.contains("secret store"), "{}", check.stdout);
    house.assert_stored();
}
