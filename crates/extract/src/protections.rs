//! What holds the child in, as far as this system has it.

use std::fmt;

/// One thing that keeps the child from doing harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protection {
    pub name: String,
    pub state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    InForce,
    /// And why.
    Missing(String),
}

/// What a child put in force, and what children that tried could not do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protections {
    /// As the child says.
    pub applied: Vec<Protection>,
    /// As it was tried: to open a file, to make a socket, to start a program.
    pub proven: Vec<Protection>,
}

impl Protections {
    /// Nothing can get out of the child: neither into files nor to other machines nor into programs.
    pub fn is_sealed(&self) -> bool {
        self.proven.iter().all(Protection::is_in_force)
    }

    pub fn missing(&self) -> impl Iterator<Item = &Protection> {
        let all = self.applied.iter().chain(&self.proven);
        all.filter(|one| !one.is_in_force())
    }
}

impl Protection {
    pub fn is_in_force(&self) -> bool {
        self.state == State::InForce
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.state {
            State::InForce => f.write_str(&self.name),
            State::Missing(why) => write!(f, "{} ({why})", self.name),
        }
    }
}
