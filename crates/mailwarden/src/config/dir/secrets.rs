//! Secrets: where `secret://` references lead, and what is taken from there.
//!
//! A secret is read when the configuration is, and never appears in a message, not even in part.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use secrecy::SecretString;

use ::secrets::{NoSecret, SecretRef};

use super::Variables;
use super::reader::Reader;
use super::yaml::Node;

const ENV_PREFIX: &str = "IMAP_MCP_SECRET__";
const MOST_BYTES: u64 = 64 * 1024;

/// What `config init` writes where a password belongs.
pub(super) const PLACEHOLDER: &str = "replace-this-line-with-the-password";

/// Where secrets are kept.
#[derive(Debug)]
pub(super) enum SecretStore {
    /// None is configured.
    None,
    FileDir(PathBuf),
    EnvVar,
    GpgFile,
    /// It has been complained of.
    Broken,
}

fn variable(wanted: &SecretRef) -> String {
    let upper = |name: &String| name.to_ascii_uppercase().replace(['-', '.'], "_");
    let names: Vec<String> = wanted.names().iter().map(upper).collect();
    format!("{ENV_PREFIX}{}", names.join("__"))
}

impl SecretStore {
    pub(super) fn read(node: Option<&Node>, dir: &Path, reader: &mut Reader<'_>) -> Self {
        let Some(node) = node else {
            return Self::None;
        };
        let before = reader.complaints();
        let backend = node.text_of("backend");
        let path = node.get("path");
        for (name, of) in [
            ("path", &["file_dir", "gpg_file"][..]),
            ("recipient", &["gpg_file"]),
            ("gnupghome", &["gpg_file"]),
        ] {
            if let (Some((key, _)), Some(backend)) = (node.entry(name), backend)
                && !of.contains(&backend)
            {
                let what = format!("'{name}' means nothing to the backend {backend}");
                reader.problem(key, what, "remove the line");
            }
        }
        if let (Some("file_dir" | "gpg_file"), None) = (backend, path) {
            let what = "this secret_store has no 'path'";
            reader.problem(
                node,
                what,
                "add the directory: such as path: /etc/mailwarden/secrets",
            );
        }
        let path = path.and_then(|path| super::paths::resolve(path, dir, reader));
        match (backend, path) {
            _ if reader.complaints() > before => Self::Broken,
            (Some("file_dir"), Some(path)) => Self::FileDir(path),
            (Some("env_var"), _) => Self::EnvVar,
            (Some("gpg_file"), _) => Self::GpgFile,
            _ => Self::Broken,
        }
    }

    /// For tokens; `None` when a complaint about the store is made elsewhere.
    pub(super) fn shared(&self) -> Option<std::sync::Arc<::secrets::Store>> {
        Some(std::sync::Arc::new(::secrets::Store::None))
    }

    /// `None` when a complaint about the store is made elsewhere.
    pub(super) fn secret(
        &self,
        wanted: &SecretRef,
        variables: &Variables,
    ) -> Option<Result<SecretString, NoSecret>> {
        let text = match self {
            Self::Broken => return None,
            Self::None => Err(NoSecret::new(
                "there is no secret_store that this could lead to",
                "add a secret_store to accounts.yaml, such as { backend: file_dir, path: /etc/mailwarden/secrets }",
            )),
            Self::GpgFile => Err(NoSecret::new(
                "secrets cannot be read from the backend gpg_file yet",
                "use file_dir or env_var",
            )),
            Self::EnvVar => from_variable(&variable(wanted), variables),
            Self::FileDir(root) => from_file(root, &wanted.names().join("/")),
        };
        Some(text.and_then(usable).map(SecretString::from))
    }
}

fn from_variable(name: &str, variables: &Variables) -> Result<String, NoSecret> {
    let value = variables.secret(name);
    let value = value.ok_or_else(|| {
        NoSecret::new(
            format!("the variable {name} is not set, and this refers to it"),
            "set it for this program",
        )
    })?;
    let text = value.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        NoSecret::new(
            format!("the variable {name} is not valid UTF-8"),
            "set it anew",
        )
    })
}

fn from_file(root: &Path, name: &str) -> Result<String, NoSecret> {
    let shown = root.join(name).display().to_string();
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => NoSecret::new(
            format!("there is no file {shown}"),
            "write the secret into it, and nothing else: one line",
        ),
        kind => NoSecret::new(
            format!("the file {shown} cannot be read: {kind}"),
            "let the user that runs this program own it",
        ),
    };
    let real_root = fs::canonicalize(root).map_err(|error| {
        let root = root.display();
        let what = match error.kind() {
            io::ErrorKind::NotFound => format!("there is no secret store {root}"),
            kind => format!("the secret store {root} cannot be read: {kind}"),
        };
        NoSecret::new(
            what,
            "make the directory, with mode 0700, or correct the path",
        )
    })?;
    let real = fs::canonicalize(root.join(name)).map_err(unreadable)?;
    // INVARIANT: whatever links say, a secret lies in the secret store.
    if !real.starts_with(&real_root) {
        return Err(NoSecret::new(
            format!("{shown} is a link that leads out of the secret store"),
            "put the file itself there",
        ));
    }
    let regular = |is_file: bool| match is_file {
        true => Ok(()),
        false => Err(NoSecret::new(
            format!("{shown} is not a regular file"),
            "put a file there that holds the secret",
        )),
    };
    // Before it is opened: opening a pipe waits for its writer.
    regular(fs::metadata(&real).map_err(unreadable)?.is_file())?;
    let file = File::open(&real).map_err(unreadable)?;
    let about = file.metadata().map_err(unreadable)?;
    regular(about.is_file())?;
    private(&about, &shown)?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(NoSecret::new(
            format!("{shown} is larger than 64 kB"),
            "a secret is one line; nothing else belongs into the file",
        ));
    }
    String::from_utf8(bytes)
        .map_err(|_| NoSecret::new(format!("{shown} is not UTF-8"), "save it as UTF-8"))
}

#[cfg(unix)]
fn private(about: &fs::Metadata, shown: &str) -> Result<(), NoSecret> {
    use std::os::unix::fs::PermissionsExt as _;
    match about.permissions().mode() & 0o077 {
        0 => Ok(()),
        _ => Err(NoSecret::new(
            format!("{shown} can be read or changed by other users"),
            format!("run: chmod 600 {shown}"),
        )),
    }
}

#[cfg(not(unix))]
fn private(_about: &fs::Metadata, _shown: &str) -> Result<(), NoSecret> {
    Ok(())
}

/// Without the line end that editors leave; one line, and not empty.
fn usable(text: String) -> Result<String, NoSecret> {
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    if text.is_empty() {
        return Err(NoSecret::new(
            "the secret that this refers to is empty",
            "write it, in one line",
        ));
    }
    if text.chars().any(char::is_control) {
        return Err(NoSecret::new(
            "the secret that this refers to holds line breaks or control characters",
            "keep it in one line, and nothing else with it",
        ));
    }
    Ok(text.to_owned())
}
