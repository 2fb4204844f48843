//! A secret store that does as it is told: holds, refuses, fails.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use secrecy::{ExposeSecret as _, SecretString};

use crate::NoSecret;
use crate::oauth::looks::Cost;

#[derive(Debug)]
pub(crate) struct Imagined {
    held: Mutex<Option<SecretString>>,
    mood: Mutex<Mood>,
    /// How often it was read, and what that costs.
    reads: AtomicUsize,
    cost: Mutex<Cost>,
    /// Whoever reads waits for it.
    gate: Mutex<Option<Arc<Barrier>>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mood {
    Fine,
    /// As variables of the environment are.
    ReadOnly,
    /// A disk that is full: it said that it could be written.
    Full,
    Unreadable,
    /// A person does not answer.
    Hanging,
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
            cost: Mutex::new(Cost::Little),
            gate: Mutex::default(),
        })
    }

    pub(crate) fn be(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }

    /// It runs a program, and who reads waits for this.
    pub(crate) fn run_programs(&self, gate: Option<Arc<Barrier>>) {
        *self.cost.lock().unwrap() = Cost::Program;
        *self.gate.lock().unwrap() = gate;
    }

    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    pub(crate) fn cost(&self) -> Cost {
        *self.cost.lock().unwrap()
    }

    pub(crate) fn put(&self, token: &str) {
        *self.held.lock().unwrap() = Some(token.into());
    }

    pub(crate) fn held(&self) -> Option<String> {
        let held = self.held.lock().unwrap();
        held.as_ref().map(|it| it.expose_secret().to_owned())
    }

    pub(crate) fn read(&self) -> Result<SecretString, NoSecret> {
        let number = self.reads.fetch_add(1, Ordering::SeqCst);
        let gate = self.gate.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.wait();
        }
        match *self.mood.lock().unwrap() {
            Mood::Unreadable => return Err(NoSecret::new("the store cannot be read", "mend it")),
            Mood::Hanging => return Err(NoSecret::timed_out("it took too long", "unlock it")),
            Mood::Restless => return Ok(format!("refresh-secret-read-{number}").into()),
            _ => {}
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
            Mood::Fine | Mood::ReadOnly | Mood::Unreadable | Mood::Hanging | Mood::Restless => {}
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
