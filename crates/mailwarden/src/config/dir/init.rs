//! `config init`: a directory to begin with. It works as it is written, apart from the password.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::schema;
use super::secrets::PLACEHOLDER;

/// What is written as it stands.
const FILES: [(&str, &str); 4] = [
    ("accounts.yaml", include_str!("example/accounts.yaml")),
    ("callers.yaml", include_str!("example/callers.yaml")),
    (
        "policies/invoices.yaml",
        include_str!("example/policies/invoices.yaml"),
    ),
    (
        "policies/overview.yaml",
        include_str!("example/policies/overview.yaml"),
    ),
];

const DIRECTORIES: [&str; 9] = [
    "policies",
    "schema",
    "secrets",
    "secrets/accounts",
    "secrets/accounts/company-mail",
    "secrets/callers",
    "secrets/callers/invoice-agent",
    "maildir",
    "maildir/cur",
];

/// Where the password of the example belongs, and a caller's token is.
pub(crate) const PASSWORD: &str = "secrets/accounts/company-mail/password";
const TOKEN: &str = "secrets/callers/invoice-agent/token";

/// Writes the example into `dir`, which must be empty or not there. What was written, in order.
pub(in crate::config) fn init(dir: &Path) -> io::Result<Vec<PathBuf>> {
    if fs::read_dir(dir).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            format!(
                "{} is not empty, and nothing is overwritten; name another directory",
                dir.display()
            ),
        ));
    }
    make_directory(dir)?;
    for name in DIRECTORIES {
        make_directory(&dir.join(name))?;
    }
    for name in ["maildir/new", "maildir/tmp"] {
        make_directory(&dir.join(name))?;
    }
    let mut written = Vec::new();
    let mut write = |name: &str, text: &str| {
        let path = dir.join(name);
        write_new(&path, text)?;
        written.push(path);
        io::Result::Ok(())
    };
    for (name, text) in FILES {
        write(name, text)?;
    }
    for schema in &schema::FILES {
        write(&format!("schema/{}", schema.file), &schema.text())?;
    }
    write(PASSWORD, &format!("{PLACEHOLDER}\n"))?;
    write(TOKEN, &format!("{}\n", token()?))?;
    Ok(written)
}

fn token() -> io::Result<String> {
    let mut bytes = [0u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// For the owner alone: the configuration says who may read what, and where secrets are.
fn make_directory(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?.write_all(text.as_bytes())
}
