//! The tree as data: files and crates, read once, so that every rule is a function that a test can call.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What goes wrong here ends the run with one line.
pub(crate) type Outcome<T> = Result<T, String>;

#[derive(Default)]
pub(crate) struct Tree {
    pub files: Vec<File>,
    pub crates: Vec<Crate>,
    /// Every path there is, directories included, for links to point at.
    pub paths: Vec<String>,
}

pub(crate) struct File {
    /// From the root, with `/`.
    pub path: String,
    pub text: String,
}

/// A crate of the workspace.
pub(crate) struct Crate {
    pub name: String,
    pub uses: Vec<Use>,
}

/// One line of a crate's dependencies.
pub(crate) struct Use {
    pub name: String,
    pub kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It ships.
    Product,
    /// Tests and benches only.
    Dev,
}

/// One broken rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    pub path: String,
    /// 0 when it is about the whole file.
    pub line: usize,
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

impl Tree {
    pub(crate) fn read() -> Outcome<Self> {
        let root = root();
        let mut tree = Self {
            crates: crates(&root)?,
            ..Self::default()
        };
        tree.walk(&root, &root)?;
        tree.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    pub(crate) fn rust(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }

    pub(crate) fn markdown(&self) -> impl Iterator<Item = &File> {
        self.files.iter().filter(|file| file.path.ends_with(".md"))
    }

    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    fn walk(&mut self, root: &Path, dir: &Path) -> Outcome<()> {
        let entries = fs::read_dir(dir).map_err(|error| at(dir, &error))?;
        for entry in entries {
            let path = entry.map_err(|error| at(dir, &error))?.path();
            let relative = relative(root, &path);
            if is_foreign(&relative) {
                continue;
            }
            self.paths.push(relative.clone());
            if path.is_dir() {
                self.walk(root, &path)?;
            } else if is_read(&relative) {
                let text = fs::read_to_string(&path).map_err(|error| at(&path, &error))?;
                self.files.push(File {
                    path: relative,
                    text,
                });
            }
        }
        Ok(())
    }
}

impl File {
    /// Lines with their numbers, counted from 1.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        self.text
            .lines()
            .zip(1..)
            .map(|(line, number)| (number, line))
    }

    pub(crate) fn problem(&self, line: usize, what: impl Into<String>) -> Problem {
        Problem {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

pub(crate) fn at(path: &Path, error: &dyn fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

fn relative(root: &Path, path: &Path) -> String {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.to_string_lossy().replace('\\', "/")
}

/// Not ours to judge: build output, corpora, version control.
fn is_foreign(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name == "target" || name == ".git" || matches!(path, "fuzz/corpus" | "fuzz/artifacts")
}

fn is_read(path: &str) -> bool {
    [".rs", ".md", "Cargo.toml", "clippy.toml"]
        .iter()
        .any(|end| path.ends_with(end))
}

/// The crates of the workspace as cargo understands their manifests.
fn crates(root: &Path) -> Outcome<Vec<Crate>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata: {}", said.trim_end()));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = metadata.get("packages").and_then(Value::as_array);
    Ok(packages.into_iter().flatten().map(package).collect())
}

fn package(package: &Value) -> Crate {
    let uses = package.get("dependencies").and_then(Value::as_array);
    Crate {
        name: text(package, "name"),
        uses: uses.into_iter().flatten().map(dependency).collect(),
    }
}

fn dependency(dependency: &Value) -> Use {
    Use {
        name: text(dependency, "name"),
        kind: match text(dependency, "kind").as_str() {
            "dev" => Kind::Dev,
            _ => Kind::Product,
        },
    }
}

fn text(value: &Value, key: &str) -> String {
    let text = value.get(key).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn file(path: &str, text: &str) -> File {
        File {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// A tree of these files alone.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        Tree {
            files: files.iter().map(|(path, text)| file(path, text)).collect(),
            paths: files.iter().map(|(path, _)| (*path).to_owned()).collect(),
            ..Tree::default()
        }
    }

    /// `"gateway: mail, dev testkit"`.
    pub(crate) fn krate(line: &str) -> Crate {
        let (name, uses) = line.split_once(':').unwrap();
        let uses = uses
            .split(',')
            .map(str::trim)
            .filter(|use_| !use_.is_empty());
        Crate {
            name: name.to_owned(),
            uses: uses
                .map(|use_| match use_.strip_prefix("dev ") {
                    Some(name) => (name, Kind::Dev),
                    None => (use_, Kind::Product),
                })
                .map(|(name, kind)| Use {
                    name: name.to_owned(),
                    kind,
                })
                .collect(),
        }
    }

    #[test]
    fn the_real_tree_is_read() {
        let tree = Tree::read().unwrap();
        assert!(tree.file("xtask/src/tree.rs").is_some());
        assert!(tree.file("crates/mail/clippy.toml").is_some());
        assert!(tree.paths.iter().any(|path| path == "crates/mail/src"));
        assert!(tree.paths.iter().all(|path| !path.contains("target/")));
        let gateway = tree
            .crates
            .iter()
            .find(|one| one.name == "gateway")
            .unwrap();
        assert!(
            gateway
                .uses
                .iter()
                .any(|use_| use_.name == "mail" && use_.kind == Kind::Product)
        );
    }
}
