//! Secrets that another program tells: any password manager that has a command line. No shell is involved.

use std::ffi::OsStr;

use secrecy::SecretString;

use super::program::{Input, Program, Stderr, how};
use super::{NoSecret, text};
use crate::SecretRef;

/// Stands where the reference goes.
const REFERENCE: &str = "{ref}";

/// A program and its words. Its first line of output is a secret.
#[derive(PartialEq, Eq, Debug)]
pub struct CommandLine {
    program: Program,
    words: Vec<String>,
}

/// A program that is asked for each secret by its reference, and perhaps another one that keeps them.
#[derive(PartialEq, Eq, Debug)]
pub struct Command {
    read: CommandLine,
    store: Option<CommandLine>,
}

impl CommandLine {
    /// `search` is the value of `PATH`; the program is looked for at once.
    pub fn new(words: &[String], search: Option<&OsStr>) -> Result<Self, NoSecret> {
        let Some((program, words)) = words
            .split_first()
            .filter(|(program, _)| !program.is_empty())
        else {
            return Err(NoSecret::new(
                "there is no program in this command",
                "write the program first, then its words, each for itself",
            ));
        };
        if words.iter().any(|word| word.contains('\0')) {
            return Err(NoSecret::new(
                "a word of this command holds a NUL character",
                "remove it",
            ));
        }
        Ok(Self {
            program: Program::find(program, search)?,
            words: words.to_vec(),
        })
    }

    /// The same, for a store: some word has to say which secret is meant.
    pub fn for_references(words: &[String], search: Option<&OsStr>) -> Result<Self, NoSecret> {
        let mut rest = words.iter().skip(1);
        if !rest.any(|word| word.contains(REFERENCE)) {
            return Err(NoSecret::new(
                "no word of this command says which secret is meant",
                "write {ref} where it goes: such as [pass, show, \"mail/{ref}\"]",
            ));
        }
        Self::new(words, search)
    }

    /// Runs it and waits. The reference stands in the words, if there is one.
    pub fn read(&self, wanted: Option<&SecretRef>) -> Result<SecretString, NoSecret> {
        let words = self.words(wanted);
        let ended = self
            .program
            .run(&words, Input::Nothing, Stderr::Discarded)?;
        let name = self.program.name();
        if !ended.status.success() {
            return Err(self.failed(&how(ended.status)));
        }
        if ended.stdout.is_empty() {
            return Err(NoSecret::new(
                format!("{name} printed nothing"),
                "let it print the secret in its first line",
            ));
        }
        text::first_line(&ended.stdout, &format!("what {name} printed"))
    }

    fn write(&self, which: &SecretRef, line: &[u8]) -> Result<(), NoSecret> {
        let words = self.words(Some(which));
        let ended = self
            .program
            .run(&words, Input::Secret(line), Stderr::Discarded)?;
        match ended.status.success() {
            true => Ok(()),
            false => Err(self.failed(&how(ended.status))),
        }
    }

    /// What it says itself is not told: it may hold anything.
    fn failed(&self, how: &str) -> NoSecret {
        NoSecret::unclear(
            format!("{} {how}", self.program.name()),
            "run it by hand, as the user that runs this program, and see what it says",
        )
    }

    fn words(&self, wanted: Option<&SecretRef>) -> Vec<String> {
        let Some(wanted) = wanted else {
            return self.words.clone();
        };
        let path = wanted.path();
        let words = self.words.iter();
        words.map(|word| word.replace(REFERENCE, &path)).collect()
    }
}

impl Command {
    /// Both lines have been made by [`CommandLine::for_references`].
    pub fn new(read: CommandLine, store: Option<CommandLine>) -> Self {
        Self { read, store }
    }

    /// How secrets are read: the words after the program.
    pub(super) fn words(&self) -> &[String] {
        &self.read.words
    }

    pub(super) fn read(&self, wanted: &SecretRef) -> Result<SecretString, NoSecret> {
        self.read.read(Some(wanted))
    }

    pub(super) fn write(&self, which: &SecretRef, secret: &SecretString) -> Result<(), NoSecret> {
        let line = text::line_of(secret)?;
        self.store()?.write(which, &line)
    }

    /// That it would succeed is not known before it is tried.
    pub(super) fn writable(&self) -> Result<(), NoSecret> {
        self.store().map(|_| ())
    }

    fn store(&self) -> Result<&CommandLine, NoSecret> {
        self.store.as_ref().ok_or_else(|| {
            NoSecret::new(
                "this secret store can be read only: it has no store_command",
                "add one, which is given the secret on its standard input: such as store_command: [pass, insert, --multiline, --force, \"mail/{ref}\"]",
            )
        })
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret as _;

    use super::*;
    use crate::store::tests::{SEARCH, reference, words};

    fn line(all: &[&str]) -> Result<CommandLine, NoSecret> {
        CommandLine::for_references(&words(all), Some(OsStr::new(SEARCH)))
    }

    fn shell(script: &str) -> CommandLine {
        line(&["sh", "-c", script, "{ref}"]).unwrap()
    }

    #[test]
    fn the_first_line_is_the_secret() {
        for (script, want) in [
            ("echo hunter2", "hunter2"),
            ("printf hunter2", "hunter2"),
            ("printf 'hunter2\\r\\n'", "hunter2"),
            ("printf 'hunter2\\nlogin: anna\\n'", "hunter2"),
            ("echo hunter2; echo noise >&2", "hunter2"),
            // `$0` is the word after the script: nothing of it was read by a shell before.
            ("echo \"$0\"", "accounts/work/password"),
            ("cat; echo 'nothing to read'", "nothing to read"),
        ] {
            let read = shell(script).read(Some(&reference()));
            assert_eq!(read.unwrap().expose_secret(), want, "{script}");
        }
        let echo = line(&["printf", "%s", "mail/{ref};$(id) {ref}"]).unwrap();
        assert_eq!(
            echo.read(Some(&reference())).unwrap().expose_secret(),
            "mail/accounts/work/password;$(id) accounts/work/password"
        );
    }

    #[test]
    fn each_failure_is_told_without_what_was_said() {
        for (script, says) in [
            ("echo canary; exit 3", "sh ended with status 3"),
            ("echo canary >&2; exit 1", "sh ended with status 1"),
            ("echo canary; kill -9 $$", "sh was ended by a signal"),
            ("true", "sh printed nothing"),
            ("echo; echo canary", "is empty"),
            ("printf 'canary\\377'", "is not UTF-8"),
            ("printf 'canary\\033[1m'", "control characters"),
            ("yes canary", "sh printed more than 64 kB"),
        ] {
            let none = shell(script).read(Some(&reference())).unwrap_err();
            let said = none.to_string();
            assert!(said.contains(says), "{script}: {said}");
            assert!(!said.contains("canary") && !said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn what_is_no_command_is_told_before_it_is_needed() {
        for (all, says) in [
            (&[][..], "no word of this command"),
            (&["pass"], "no word of this command"),
            (&["{ref}"], "no word of this command"),
            (&["", "{ref}"], "no program in this command"),
            (&["no-such-program-4711", "{ref}"], "nothing in PATH"),
            (&["/no/such/program", "{ref}"], "has this path"),
            (&["/etc/passwd", "{ref}"], "has this path"),
            (&["/tmp", "{ref}"], "has this path"),
            (&["./sh", "{ref}"], "does not begin at the root"),
            (&["bin/sh", "{ref}"], "does not begin at the root"),
            (&["sh", "{ref}\0"], "NUL"),
        ] {
            let said = line(all).unwrap_err().to_string();
            assert!(said.contains(says), "{all:?}: {said}");
        }
        assert!(CommandLine::new(&words(&["sh"]), Some(OsStr::new(SEARCH))).is_ok());
        assert!(CommandLine::new(&words(&["sh"]), None).is_err());
    }

    #[test]
    fn a_secret_is_kept_by_its_standard_input_alone() {
        let home = tempfile::tempdir().unwrap();
        let kept = home.path().join("kept");
        let script = format!(
            "cat > {0}; tr '\\0' ' ' < /proc/$$/cmdline > {0}.words",
            kept.display()
        );
        let store = Command::new(shell("echo x"), Some(shell(&script)));
        store.writable().unwrap();
        let secret = SecretString::from("canary-4711");
        store.write(&reference(), &secret).unwrap();
        assert_eq!(std::fs::read_to_string(&kept).unwrap(), "canary-4711\n");
        if let Ok(words) = std::fs::read_to_string(home.path().join("kept.words")) {
            assert!(!words.contains("canary"), "{words}");
        }
        for (script, says) in [
            ("exit 4", "ended with status 4"),
            ("cat > /dev/null; exit 5", "ended with status 5"),
        ] {
            let store = Command::new(shell("echo x"), Some(shell(script)));
            let said = store.write(&reference(), &secret).unwrap_err().to_string();
            assert!(said.contains(says) && !said.contains("canary"), "{said}");
        }
        let store = Command::new(shell("echo x"), None);
        let said = store.writable().unwrap_err().to_string();
        assert!(said.contains("no store_command"), "{said}");
        assert_eq!(
            store.write(&reference(), &secret).unwrap_err().to_string(),
            said
        );
    }
}
