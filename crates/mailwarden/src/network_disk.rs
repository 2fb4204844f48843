//! Whether a path lies on a disk of this machine: locks, shared memory and syncs do not hold over a network as they do here.
//!
//! Linux says what is mounted. Elsewhere nothing is known, and nothing is claimed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// File systems whose files are kept by another machine, as the kernel calls them.
const NETWORK: [&str; 20] = [
    "nfs",
    "nfs4",
    "cifs",
    "smb3",
    "smbfs",
    "afs",
    "ceph",
    "lustre",
    "glusterfs",
    "9p",
    "coda",
    "ncpfs",
    "orangefs",
    "beegfs",
    "gpfs",
    "davfs",
    "gfs2",
    "ocfs2",
    "panfs",
    "vboxsf",
];
/// And those that a program serves.
const NETWORK_FUSE: [&str; 16] = [
    "sshfs",
    "glusterfs",
    "ceph",
    "ceph-fuse",
    "s3fs",
    "rclone",
    "gcsfuse",
    "goofys",
    "davfs2",
    "juicefs",
    "mfs",
    "moosefs",
    "smbnetfs",
    "curlftpfs",
    "blobfuse2",
    "geesefs",
];

/// Complains of a path that state must not lie on, with the way out. One that is not there yet lies where it would be made.
pub(crate) fn refuse(path: &Path) -> Result<(), String> {
    let Ok(mounts) = std::fs::read("/proc/self/mountinfo") else {
        return Ok(());
    };
    match kind_of(&existing(path), &mounts) {
        Some(kind) if is_network(&kind) => Err(format!(
            "{} lies on a network file system ({kind}), where locks and syncs do not hold as state needs them; give a directory on \
             a disk of this machine (MAILWARDEN_STATE_DIR, wal.path, audit.directory), and share a ledger by PostgreSQL (docs/replicas.md)",
            path.display()
        )),
        _ => Ok(()),
    }
}

/// Without links, as far as it is there.
fn existing(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for part in path.ancestors() {
        if let Ok(real) = part.canonicalize() {
            let rest = path.strip_prefix(part).unwrap_or(Path::new(""));
            return real.join(rest);
        }
    }
    path
}

fn is_network(kind: &str) -> bool {
    match kind.strip_prefix("fuse.") {
        Some(served) => NETWORK_FUSE.contains(&served),
        None => NETWORK.contains(&kind),
    }
}

/// The file system of the innermost mount above a path; of two at one place the later one, which hides the other. See proc(5).
fn kind_of(path: &Path, mounts: &[u8]) -> Option<String> {
    let mut found: Option<(usize, String)> = None;
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        let (Some(point), Some(kind)) = (
            fields.nth(4).map(unescaped),
            fields.skip_while(|field| *field != b"-").nth(1),
        ) else {
            continue;
        };
        let depth = point.components().count();
        if path.starts_with(&point) && found.as_ref().is_none_or(|(deepest, _)| depth >= *deepest) {
            found = Some((depth, String::from_utf8_lossy(kind).into_owned()));
        }
    }
    found.map(|(_, kind)| kind)
}

/// Blanks and the like stand there as a backslash and three octal digits.
fn unescaped(field: &[u8]) -> PathBuf {
    let mut octets = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let escaped = tail
            .get(..3)
            .filter(|_| *first == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped {
            Some(octet) => {
                octets.push(octet);
                rest = tail.get(3..).unwrap_or_default();
            }
            None => {
                octets.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(path_of(octets))
}

#[cfg(unix)]
fn path_of(octets: Vec<u8>) -> OsString {
    use std::os::unix::ffi::OsStringExt as _;
    OsString::from_vec(octets)
}

#[cfg(not(unix))]
fn path_of(octets: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&octets).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As kernels write it: an ordinary machine, a container, and shares of all kinds.
    const MOUNTS: &str = r"22 28 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
28 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro
30 28 0:26 / /tmp rw,nosuid,nodev shared:5 - tmpfs tmpfs rw,size=8G
97 28 0:52 / /home rw,relatime shared:50 - nfs4 filer:/export/home rw,vers=4.2,rsize=1048576,hard,proto=tcp,addr=10.0.0.2
98 97 0:53 / /home/me/local rw,relatime shared:51 - xfs /dev/sdb1 rw
120 28 0:60 / /mnt/win rw,relatime - cifs //server/share rw,vers=3.1.1,username=x
121 28 0:61 / /mnt/with\040blank\134s rw,relatime - fuse.sshfs me@host: rw,user_id=0
122 28 0:62 / /mnt/union rw,relatime - fuse.mergerfs a:b rw,user_id=0
123 28 0:63 / /mnt/ceph rw - ceph 10.0.0.1:6789:/ rw,name=admin
124 28 0:64 / /mnt/lustre rw - lustre mgs@tcp:/fs rw
125 28 0:65 / /mnt/gluster rw - fuse.glusterfs host:/vol rw
126 28 0:66 / /mnt/host rw,relatime - 9p hostshare rw,trans=virtio,version=9p2000.L
127 28 0:67 / /mnt/hidden rw - nfs old:/ rw
128 127 0:68 / /mnt/hidden rw - btrfs /dev/sdc rw
129 28 0:69 / /mnt/bucket rw master:4 propagate_from:2 - fuse.s3fs s3fs rw
130 28 0:70 / /var/lib/docker/overlay2/x/merged rw - overlay overlay rw,lowerdir=a
131 28 0:71 / /afs rw - afs none rw
nonsense
";

    #[test]
    fn what_another_machine_keeps_is_known_by_what_is_mounted() {
        for (path, kind, network) in [
            ("/var/lib/mailwarden", "ext4", false),
            ("/tmp/x", "tmpfs", false),
            ("/home/me/.local/state/mailwarden", "nfs4", true),
            ("/home/me/local/state", "xfs", false),
            ("/home/me/localstate", "nfs4", true),
            ("/homework", "ext4", false),
            ("/mnt/win/state", "cifs", true),
            ("/mnt/with blank\\s/state", "fuse.sshfs", true),
            ("/mnt/union/state", "fuse.mergerfs", false),
            ("/mnt/ceph", "ceph", true),
            ("/mnt/lustre/a/b", "lustre", true),
            ("/mnt/gluster/a", "fuse.glusterfs", true),
            ("/mnt/host/a", "9p", true),
            ("/mnt/hidden/a", "btrfs", false),
            ("/mnt/bucket/a", "fuse.s3fs", true),
            ("/var/lib/docker/overlay2/x/merged/state", "overlay", false),
            ("/afs/cell/user", "afs", true),
        ] {
            let found = kind_of(Path::new(path), MOUNTS.as_bytes());
            assert_eq!(found.as_deref(), Some(kind), "{path}");
            assert_eq!(is_network(kind), network, "{kind}");
        }
        assert_eq!(kind_of(Path::new("/x"), b""), None);
    }

    #[test]
    fn a_path_that_is_not_there_lies_where_it_would_be_made() {
        let dir = tempfile::tempdir().unwrap();
        let real = dir.path().canonicalize().unwrap();
        assert_eq!(existing(&dir.path().join("a/b")), real.join("a/b"));
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(&real, real.join("link")).unwrap();
            assert_eq!(existing(&real.join("link/c")), real.join("c"));
        }
        assert_eq!(refuse(&dir.path().join("a/b")), Ok(()));
    }
}
