//! The examples of `docs/secrets.md`: each store is used as it stands there, in a directory where its secrets are.

use super::{Keys, run, script, with_programs, world};

const MANUAL: &str = include_str!("../../../../../docs/secrets.md");

#[test]
fn the_examples_of_the_manual_work() {
    let keys = Keys::new();
    let blocks = MANUAL.split("```yaml\n").skip(1);
    let stores: Vec<&str> = blocks
        .filter_map(|block| Some(block.split_once("```")?.0))
        .collect();
    for backend in ["file_dir", "env_var", "gpg_file", "keyring", "command"] {
        let line = format!("backend: {backend}\n");
        assert!(
            stores.iter().any(|store| store.contains(&line)),
            "{backend}"
        );
    }
    for store in stores {
        let placed = store
            .replace("/etc/mailwarden/gnupg", &keys.path().display().to_string())
            .replace("/etc/mailwarden/", "");
        let directory = world(1, &placed);
        directory.secret("secrets/accounts/work/password", "secret");
        keys.encrypt(
            "secret",
            &directory.path().join("secrets/accounts/work/password.gpg"),
        );
        script(&directory, "secret-tool", "printf secret");
        script(
            &directory,
            "pass",
            "[ \"$1 $2\" = 'show mail/accounts/work/password' ] && echo secret",
        );
        script(
            &directory,
            "op",
            "[ \"$2\" = op://Private/mailwarden/accounts/work/password ] && echo secret",
        );
        let mut command = with_programs(&directory);
        command.env("IMAP_MCP_SECRET__ACCOUNTS__WORK__PASSWORD", "secret");
        let (code, said) = run(command, &["config", "check"], directory.path());
        assert_eq!(code, Some(0), "{store}: {said}");
    }
}
