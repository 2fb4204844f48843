//! Dovecot's configuration files for one scratch directory. Decides nothing: the builder did.

use super::Builder;
use super::maildir::Owner;
use super::oauth;
use crate::process::is_root;
use crate::tls::Ca;
use std::fmt::Write as _;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where distributions put the daemon when it is not on an ordinary user's PATH.
const SBIN: &str = "/usr/sbin/dovecot";

pub(super) fn program() -> &'static str {
    if Path::new(SBIN).exists() {
        SBIN
    } else {
        "dovecot"
    }
}

pub(super) fn home(dir: &Path, user: &str) -> PathBuf {
    dir.join("mail").join(user)
}

pub(super) fn make_dir(path: &Path, mode: u32) {
    std::fs::DirBuilder::new()
        .mode(mode)
        .create(path)
        .unwrap_or_else(|e| panic!("cannot make {}: {e}", path.display()));
}

/// Writes dovecot.conf, the users file and the certificates.
pub(super) fn write(builder: &Builder, dir: &Path, ca: &Ca, [port, tls_port]: [u16; 2]) {
    let mail = Owner::of_mail();
    // The login processes (user dovenull) must get at their sockets.
    let mode = if is_root() { 0o755 } else { 0o700 };
    std::fs::set_permissions(dir, PermissionsExt::from_mode(mode))
        .expect("open the scratch directory");
    mail.make_dir(&dir.join("mail"));
    ca.write(dir, builder.leaf);
    let users = builder
        .users
        .iter()
        .fold(String::new(), |mut text, (name, password)| {
            let (uid, gid, home) = (mail.uid, mail.gid, home(dir, name));
            let _ = writeln!(
                text,
                "{name}:{{PLAIN}}{password}:{uid}:{gid}::{}::",
                home.display()
            );
            text
        });
    put(&dir.join("users"), &users);
    if let Some(trust) = &builder.trust {
        put(&dir.join(oauth::FILE), &trust.file());
    }
    put(
        &dir.join("dovecot.conf"),
        &main_file(builder, dir, &mail, port, tls_port),
    );
}

fn put(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap_or_else(|e| panic!("cannot write {}: {e}", path.display()));
}

fn main_file(builder: &Builder, dir: &Path, mail: &Owner, port: u16, tls_port: u16) -> String {
    let dir = dir.display();
    let uid = mail.uid;
    let listen: Vec<String> = builder.listen.iter().map(ToString::to_string).collect();
    let listen = listen.join(", ");
    let max_connections = builder.max_connections;
    let capability = builder
        .capabilities
        .as_ref()
        .map_or(String::new(), |list| format!("imap_capability = {list}"));
    let special_use: String = ["Drafts", "Sent", "Junk", "Trash", "Archive"]
        .iter()
        .map(|name| {
            format!("  mailbox {name} {{\n    special_use = \\{name}\n    auto = create\n  }}\n")
        })
        .collect();
    let unprivileged = if is_root() {
        String::new()
    } else {
        unprivileged()
    };
    let (mechanisms, tokens, no_tokens) = match builder.trust {
        Some(_) => (oauth::MECHANISMS, oauth::passdb(&dir), oauth::NO_TOKENS),
        None => ("", String::new(), ""),
    };
    let anyone = builder.anyone.as_ref().map_or(String::new(), |password| {
        let gid = mail.gid;
        format!(
            "passdb {{\n{no_tokens}  driver = static\n  args = password={password}\n}}\n\
             userdb {{\n  driver = static\n  args = uid={uid} gid={gid} home={dir}/mail/%u\n}}\n"
        )
    });
    let extra = &builder.config;
    format!(
        r#"base_dir = {dir}/run
state_dir = {dir}/run
log_path = {dir}/dovecot.log
instance_name = testkit-{port}
protocols = imap
listen = {listen}
{unprivileged}
first_valid_uid = {uid}
last_valid_uid = {uid}
mail_location = maildir:~/Maildir
mail_plugins = zlib notify
mail_attribute_dict = file:%h/dovecot-attributes
# An index of folders hides those made on disk while a session runs.
mailbox_list_index = no
ssl = yes
ssl_cert = <{dir}/server.pem
ssl_key = <{dir}/server.key
# Over 127.0.0.1 plain text counts as secure all the same, over any other address it does not.
disable_plaintext_auth = yes
auth_mechanisms = plain login{mechanisms}
auth_failure_delay = 0
auth_verbose = yes
{tokens}passdb {{
{no_tokens}  driver = passwd-file
  args = username_format=%u {dir}/users
}}
userdb {{
  driver = passwd-file
  args = username_format=%u {dir}/users
}}
{anyone}namespace inbox {{
  inbox = yes
  separator = /
{special_use}}}
protocol imap {{
  mail_plugins = $mail_plugins imap_zlib
  mail_max_userip_connections = {max_connections}
  imap_metadata = yes
  {capability}
}}
service imap-login {{
  service_count = 0
  process_min_avail = 1
  client_limit = 2000
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service imap {{
  process_limit = 1024
  # The default kills an imap process that selects a very large Maildir.
  vsz_limit = 2G
}}
service anvil {{
  client_limit = 4096
  # Without this, failed logins slow down the later ones from the same address.
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service auth {{
  client_limit = 4096
}}
{extra}"#
    )
}

/// Everything as the user who runs the test.
fn unprivileged() -> String {
    let (user, group) = (id("-un"), id("-gn"));
    format!(
        "default_internal_user = {user}\ndefault_internal_group = {group}\ndefault_login_user = {user}\n\
         service anvil {{\n  chroot =\n}}\nservice imap-login {{\n  chroot =\n}}\nservice stats {{\n  chroot =\n}}"
    )
}

fn id(what: &str) -> String {
    let output = Command::new("id").arg(what).output().expect("run id");
    String::from_utf8(output.stdout)
        .expect("id prints text")
        .trim()
        .to_owned()
}
