//! A secret store that does as it is told: holds, refuses, fails.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use secrecy::{ExposeSecret as _, SecretString};

use crate::NoSecret;

#[derive(Debug)]
pub(crate) struct Imagined {
    held: Mutex<Option<SecretString>>,
    mood: Mutex<Mood>,
    reads: AtomicUsize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mood {
    Fine,
    /// As variables of the environment are.
    ReadOnly,
    /// A disk that is full: it said that it could be written.
    Full,
    Unreadable,
    /// A program of somebody else that fails half-way: what was there is gone.
    Losing,
    /// The same, and something that is no token is there instead.
    Mangling,
    /// It fails, and has kept the secret all the same.
    Grumbling,
    /// It keeps the secret where nobody reads it.
    Elsewhere,
    /// It holds another one whenever it is asked.
    Restless,
}

impl Imagined {
    pub(crate) fn holding(token: Option<&str>) -> std::sync::Arc<Self> {
        std::sync::Arc::new(Self {
            held: Mutex::new(token.map(Into::into)),
            mood: Mutex::new(Mood::Fine),
            reads: AtomicUsize::new(0),
        })
    }

    pub(crate) fn be(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    pub(crate) fn put(&self, token: &str) {
        *self.held.lock().unwrap() = Some(token.into());
    }

    pub(crate) fn held(&self) -> Option<String> {
        let held = self.held.lock().unwrap();
        held.as_ref().map(|it| it.expose_secret().to_owned())
    }

    pub(crate) fn read(&self) -> Result<SecretString, NoSecret> {
        if *self.mood.lock().unwrap() == Mood::Unreadable {
            return Err(NoSecret::new("the store cannot be read", "mend it"));
        }
        let number = self.reads.fetch_add(1, Ordering::SeqCst);
        if *self.mood.lock().unwrap() == Mood::Restless {
            return Ok(format!("refresh-secret-read-{number}").into());
        }
        let held = self.held.lock().unwrap().clone();
        held.ok_or_else(|| NoSecret::absent("there is no such secret", "log in"))
    }

    pub(crate) fn write(&self, secret: &SecretString) -> Result<(), NoSecret> {
        self.writable()?;
        let fails = |held: Option<SecretString>| {
            *self.held.lock().unwrap() = held;
            Err(NoSecret::new("store_command ended with status 1", "try it"))
        };
        match *self.mood.lock().unwrap() {
            Mood::Full => return Err(NoSecret::new("the disk is full", "make room")),
            Mood::Losing => return fails(None),
            Mood::Mangling => return fails(Some("half a".into())),
            Mood::Grumbling => return fails(Some(secret.clone())),
            Mood::Elsewhere => return Ok(()),
            Mood::Fine | Mood::ReadOnly | Mood::Unreadable | Mood::Restless => {}
        }
        *self.held.lock().unwrap() = Some(secret.clone());
        Ok(())
    }

    pub(crate) fn writable(&self) -> Result<(), NoSecret> {
        match *self.mood.lock().unwrap() {
            Mood::ReadOnly => Err(NoSecret::new("this store is read only", "use file_dir")),
            _ => Ok(()),
        }
    }
}
