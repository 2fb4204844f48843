//! A real Secret Service: GNOME Keyring on a bus of its own.

use std::process::Command;

use testkit::Dovecot;

use super::{run, world};

/// Unlocks a keyring that is new, puts the password into it, and runs what follows.
const SESSION: &str = "\
printf x | gnome-keyring-daemon --unlock --components=secrets >/dev/null 2>&1 || exit 99
printf secret | secret-tool store --label=test service mailwarden username accounts/work/password || exit 98
exec \"$@\"";

#[test]
fn a_real_keyring_is_asked() {
    let server = Dovecot::start();
    let directory = world(server.port(), "secret_store: { backend: keyring }\n");
    let home = directory.path().join("bin");
    let session = |words: &[&str]| {
        let program = directory.program();
        let mut command = Command::new("dbus-run-session");
        command.args(["--", "sh", "-c", SESSION, "sh"]);
        command.arg(program.get_program());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        for name in ["HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"] {
            command.env(name, &home);
        }
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        run(command, words, directory.path())
    };
    let (code, said) = session(&["check"]);
    assert_eq!(code, Some(0), "{said}");
    let file = directory.path().join("accounts.yaml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, text.replace("work/password", "other/password")).unwrap();
    let (code, said) = session(&["config", "check"]);
    assert_eq!(code, Some(2), "{said}");
    let says = "the keyring gives no entry with service mailwarden and username accounts/other/password: it has none, or it is locked; unlock it, or, if there is none, add it: secret-tool store";
    assert!(said.contains(says), "{said}");
}

/// Without a session there is nobody to ask.
#[test]
fn without_a_bus_that_is_told() {
    let directory = world(1, "secret_store: { backend: keyring }\n");
    let mut command = directory.program();
    command.env("DBUS_SESSION_BUS_ADDRESS", "unix:path=/no/such/bus");
    let (code, said) = run(command, &["config", "check"], directory.path());
    assert_eq!(code, Some(2), "{said}");
    let says =
        "the keyring could not be asked: secret-tool ended with status 1; it needs a session bus";
    assert!(said.contains(says), "{said}");
}
