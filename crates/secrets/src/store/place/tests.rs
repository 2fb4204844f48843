//! What is found beneath a directory, what is refused, and what a write leaves behind.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;

use tempfile::TempDir;

use super::*;

/// A store with one secret, beside something that is none of its business.
fn world() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        mode(&home, name, 0o600);
    };
    put("store/a/b/secret", "inside");
    put("store/other/secret", "other");
    put("outside/secret", "canary");
    for name in ["store", "store/a", "store/a/b", "store/other"] {
        mode(&home, name, 0o700);
    }
    home
}

fn mode(home: &TempDir, name: &str, mode: u32) {
    let path = home.path().join(name);
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn place(home: &TempDir) -> Result<Place, NoSecret> {
    Place::open(&home.path().join("store"))
}

fn read(home: &TempDir, names: &[&str], readers: Readers) -> Result<Option<String>, NoSecret> {
    let Some(mut file) = place(home)?.file(names, readers)? else {
        return Ok(None);
    };
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    Ok(Some(text))
}

const SECRET: &[&str] = &["a", "b", "secret"];

#[test]
fn whoever_else_could_have_changed_it_is_told() {
    for (name, bits, nobody, anybody) in [
        ("store/a/b/secret", 0o600, None, None),
        ("store/a/b/secret", 0o400, None, None),
        ("store/a/b/secret", 0o640, Some("read or changed"), None),
        ("store/a/b/secret", 0o604, Some("read or changed"), None),
        ("store/a/b/secret", 0o610, Some("read or changed"), None),
        (
            "store/a/b/secret",
            0o620,
            Some("read or changed"),
            Some("changed by other"),
        ),
        (
            "store/a/b/secret",
            0o602,
            Some("read or changed"),
            Some("changed by other"),
        ),
        ("store/a/b", 0o755, None, None),
        (
            "store/a/b",
            0o770,
            Some("change the directory"),
            Some("change the directory"),
        ),
        (
            "store/a",
            0o702,
            Some("change the directory"),
            Some("change the directory"),
        ),
        ("store", 0o755, None, None),
        (
            "store",
            0o775,
            Some("change the directory"),
            Some("change the directory"),
        ),
        (
            "store",
            0o1777,
            Some("change the directory"),
            Some("change the directory"),
        ),
    ] {
        let home = world();
        mode(&home, name, bits);
        for (readers, want) in [(Readers::Nobody, nobody), (Readers::Anybody, anybody)] {
            match (read(&home, SECRET, readers), want) {
                (Ok(text), None) => assert_eq!(text.as_deref(), Some("inside")),
                (Err(none), Some(says)) => {
                    let shown = home.path().join(name).display().to_string();
                    assert!(none.what.contains(says), "{name} {bits:o}: {none}");
                    assert!(none.hint.ends_with(&shown), "{name} {bits:o}: {none}");
                }
                (got, _) => panic!("{name} {bits:o} {readers:?}: {got:?}"),
            }
        }
    }
}

/// Only root can give files away; elsewhere there is nothing to try.
#[test]
fn what_belongs_to_another_user_is_refused() {
    for name in ["store", "store/a", "store/a/b/secret"] {
        let home = world();
        if chown(home.path().join(name), Some(65_534), None).is_err() {
            assert!(!rustix::process::geteuid().is_root());
            continue;
        }
        let none = read(&home, SECRET, Readers::Anybody).unwrap_err();
        assert!(
            none.what.contains("belongs to another user"),
            "{name}: {none}"
        );
    }
}

#[test]
fn links_lead_nowhere_but_inside() {
    let link = |to: &str| {
        let home = world();
        let from = home.path().join("store/a/b/secret");
        fs::remove_file(&from).unwrap();
        let to = to.replace("HOME", &home.path().display().to_string());
        symlink(to, from).unwrap();
        home
    };
    for (to, want) in [
        ("../../other/secret", Ok(Some("other"))),
        ("./../../a/../other/./secret", Ok(Some("other"))),
        ("HOME/store/other/secret", Ok(Some("other"))),
        ("nowhere", Ok(None)),
        ("../nowhere/secret", Ok(None)),
        ("../../../outside/secret", Err("leads out")),
        ("HOME/outside/secret", Err("leads out")),
        ("HOME/store/../outside/secret", Err("leads out")),
        ("/dev/zero", Err("leads out")),
        ("/", Err("leads out")),
        ("../../../store/other/secret", Err("leads out")),
        ("secret", Err("leads to itself")),
        ("..", Err("not a regular file")),
        ("../../other", Err("not a regular file")),
    ] {
        let home = link(to);
        match (read(&home, SECRET, Readers::Nobody), want) {
            (Ok(text), Ok(want)) => assert_eq!(text.as_deref(), want, "{to}"),
            (Err(none), Err(says)) => assert!(none.what.contains(says), "{to}: {none}"),
            (got, want) => panic!("{to}: {got:?} is not {want:?}"),
        }
    }
    // Of a directory on the way, and of the store itself, which the operator named.
    let home = world();
    symlink("../../outside", home.path().join("store/a/up")).unwrap();
    symlink("b", home.path().join("store/a/same")).unwrap();
    symlink("store", home.path().join("named")).unwrap();
    let none = read(&home, &["a", "up", "secret"], Readers::Nobody).unwrap_err();
    assert!(none.what.contains("leads out"), "{none}");
    let same = read(&home, &["a", "same", "secret"], Readers::Nobody).unwrap();
    assert_eq!(same.as_deref(), Some("inside"));
    let named = Place::open(&home.path().join("named")).unwrap();
    assert!(named.file(SECRET, Readers::Nobody).unwrap().is_some());
}

#[test]
fn what_is_no_file_is_not_opened() {
    let home = world();
    let pipe = home.path().join("store/pipe");
    let made = rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    );
    made.unwrap();
    for names in [&["pipe"][..], &["a"], &["a", "b"]] {
        let none = read(&home, names, Readers::Nobody).unwrap_err();
        assert!(none.what.contains("not a regular file"), "{none}");
        let place = place(&home).unwrap();
        assert_eq!(place.replaceable(names).unwrap_err(), none);
        assert_eq!(place.replace(names, b"x").unwrap_err(), none);
    }
    let none = read(&home, &["a", "b", "secret", "more"], Readers::Nobody).unwrap_err();
    assert!(none.what.contains("is not a directory"), "{none}");
    let none = Place::open(&home.path().join("nowhere")).unwrap_err();
    assert!(none.what.contains("there is no secret store"), "{none}");
    let none = Place::open(&home.path().join("outside/secret")).unwrap_err();
    assert!(none.what.contains("cannot be read"), "{none}");
}

#[test]
fn a_write_replaces_all_of_it_and_leaves_nothing_else() {
    let home = world();
    let place = place(&home).unwrap();
    symlink("../other/secret", home.path().join("store/a/link")).unwrap();
    for (names, lies) in [
        (SECRET, "store/a/b/secret"),
        (&["new"], "store/new"),
        (&["x", "y", "z"], "store/x/y/z"),
        // What is linked to is what is meant.
        (&["a", "link"], "store/other/secret"),
    ] {
        place.replaceable(names).unwrap();
        place.replace(names, b"newer").unwrap();
        let path = home.path().join(lies);
        assert_eq!(fs::read(&path).unwrap(), b"newer");
        let about = fs::symlink_metadata(&path).unwrap();
        assert_eq!(about.permissions().mode() & 0o7777, 0o600, "{lies}");
        let read = read(&home, names, Readers::Nobody).unwrap();
        assert_eq!(read.as_deref(), Some("newer"));
        let left = fs::read_dir(path.parent().unwrap()).unwrap();
        let hidden = left.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().starts_with('.')
        });
        assert_eq!(hidden.count(), 0, "{lies}");
    }
    for made in ["store/x", "store/x/y"] {
        let about = fs::metadata(home.path().join(made)).unwrap();
        assert_eq!(about.permissions().mode() & 0o7777, 0o700, "{made}");
    }
    assert_eq!(
        fs::read(home.path().join("outside/secret")).unwrap(),
        b"canary"
    );
}

#[test]
fn nothing_is_written_where_others_could_change_it() {
    let home = world();
    mode(&home, "store/a", 0o770);
    symlink("../../outside/new", home.path().join("store/other/new")).unwrap();
    let place = place(&home).unwrap();
    for names in [SECRET, &["other", "new"]] {
        let none = place.replaceable(names).unwrap_err();
        assert_eq!(place.replace(names, b"x").unwrap_err(), none);
    }
    assert!(!home.path().join("outside/new").exists());
    assert_eq!(
        fs::read(home.path().join("store/a/b/secret")).unwrap(),
        b"inside"
    );
}

/// While somebody exchanges a directory for a link as fast as they can, nothing from outside is ever read.
#[test]
fn nobody_can_put_a_link_in_the_way() {
    let home = world();
    let (real, parked) = (
        home.path().join("store/a"),
        home.path().join("store/parked"),
    );
    fs::create_dir_all(home.path().join("outside/b")).unwrap();
    fs::write(home.path().join("outside/b/secret"), "canary").unwrap();
    mode(&home, "outside/b/secret", 0o600);
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                fs::rename(&real, &parked).unwrap();
                symlink("../outside", &real).unwrap();
                fs::remove_file(&real).unwrap();
                fs::rename(&parked, &real).unwrap();
            }
        });
        for _ in 0..3_000 {
            if let Ok(Some(text)) = read(&home, SECRET, Readers::Nobody) {
                assert_eq!(text, "inside");
            }
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_file_named_by_itself_is_as_private() {
    let home = world();
    let path = home.path().join("store/a/b/secret");
    assert!(file(&path, Readers::Nobody).is_ok());
    symlink(&path, home.path().join("link")).unwrap();
    assert!(file(&home.path().join("link"), Readers::Nobody).is_ok());
    for (name, bits, says) in [
        ("store/a/b/secret", 0o644, "read or changed"),
        ("store/a/b", 0o777, "change the directory"),
    ] {
        mode(&home, name, bits);
        let none = file(&path, Readers::Nobody).unwrap_err();
        assert!(none.what.contains(says), "{none}");
        mode(&home, name, if bits == 0o644 { 0o600 } else { 0o700 });
    }
    for (path, says) in [
        (Path::new("/no/such/file"), "there is no file"),
        (Path::new("/"), "not a regular file"),
        (home.path().join("store").as_path(), "not a regular file"),
    ] {
        let none = file(path, Readers::Nobody).unwrap_err();
        assert!(none.what.contains(says), "{none}");
    }
}

/// Nobody is told to take away what the others of the machine need.
#[test]
fn a_directory_that_is_for_all_is_left_as_it_is() {
    for (bits, hint) in [
        (0o777, "chmod go-w"),
        (0o770, "chmod go-w"),
        (0o1777, "keep secrets in a directory of your own"),
    ] {
        let home = world();
        mode(&home, "store", bits);
        let said = place(&home).unwrap_err().to_string();
        assert!(said.contains(hint), "{said}");
        assert_eq!(said.contains("chmod"), hint.contains("chmod"), "{said}");
    }
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("secret");
    fs::write(&path, "x").unwrap();
    fs::set_permissions(home.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    let said = file(&path, Readers::Nobody).unwrap_err().to_string();
    assert!(said.contains("in a directory of your own"), "{said}");
}

#[test]
fn what_a_crash_left_of_a_secret_goes_with_its_next_write() {
    let home = world();
    let store = place(&home).unwrap();
    let names = || -> Vec<String> {
        let entries = fs::read_dir(home.path().join("store/a/b")).unwrap();
        let mut names: Vec<String> = entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    let left = |of: &str, random: &str| {
        let name = format!("{}{random}.new", super::unix::new_of(of.as_ref()));
        fs::write(home.path().join("store/a/b").join(&name), "canary").unwrap();
        name
    };
    left("secret", "0123456789abcdef");
    left("secret", "0");
    // Somebody else may be at it.
    let other = left("other", "0123456789abcdef");
    store.replace(SECRET, b"new\n").unwrap();
    assert_eq!(names(), [other, "secret".to_owned()]);
}
