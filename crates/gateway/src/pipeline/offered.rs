//! Which tools a caller is offered, and what a call of any name means: filters over the one list.

use mail::Level;
use policy::{Capability, Denial, Refused as Denied};

use crate::setup::{Provider, Setup, Standing, Writes};
use crate::tools::{ALL, AnyTool, Use};

/// What the name of a tool means to a caller.
pub(super) enum Lookup {
    /// A tool that it is listed.
    Offered(&'static dyn AnyTool),
    /// A tool of its toolsets that its policy could never allow.
    Withheld(&'static dyn AnyTool, Denial),
    /// A tool that changes mail, while the write gate is closed.
    Gated,
    /// A tool that reads a resource which the caller's toolsets leave out.
    NoResource(&'static dyn AnyTool),
    Unknown,
}

impl Lookup {
    /// The tool, where it is one of the caller's toolsets and may be called.
    pub(super) fn name(&self) -> Option<&'static str> {
        match self {
            Self::Offered(tool) | Self::Withheld(tool, _) => Some(tool.name()),
            Self::Gated | Self::NoResource(_) | Self::Unknown => None,
        }
    }
}

impl Standing {
    pub(super) fn tools(&self, setup: &Setup) -> impl Iterator<Item = &'static dyn AnyTool> {
        let tools = ALL.iter().copied();
        tools.filter(move |tool| matches!(self.find(setup, *tool), Lookup::Offered(_)))
    }

    pub(super) fn tool(&self, setup: &Setup, name: &str) -> Lookup {
        let mut tools = ALL.iter().copied();
        let named = tools.find(|tool| tool.name() == name);
        named.map_or(Lookup::Unknown, |tool| self.find(setup, tool))
    }

    /// INVARIANT: a tool is listed only if the policy could allow it, and the policy shows an
    /// account at its provider.
    fn find(&self, setup: &Setup, tool: &'static dyn AnyTool) -> Lookup {
        if !self.has_set_of(tool) {
            return Lookup::Unknown;
        }
        if !tool.annotations().read_only {
            match self.writes {
                Writes::Allowed => {}
                Writes::Gated => return Lookup::Gated,
                Writes::Never => return Lookup::Unknown,
            }
        }
        match self.denies(setup, tool) {
            Some(denial) => Lookup::Withheld(tool, denial),
            None => Lookup::Offered(tool),
        }
    }

    /// Why the policy could never allow a call of the tool, whatever its arguments are.
    fn denies(&self, setup: &Setup, tool: &dyn AnyTool) -> Option<Denial> {
        let least: Level = tool.least();
        if least > self.policy.ceiling() {
            return Some(Denial::of(Denied::VisibilityBelow(least)));
        }
        let usefulness = tool.usefulness();
        if !usefulness.is_open_to(&self.policy) {
            return Some(Denial {
                missing: self.missing(usefulness),
                ..Denial::of(Denied::CapabilityMissing)
            });
        }
        let provider = tool.provider()?;
        let shown = self.has(setup, provider);
        (!shown).then(|| Denial::of(Denied::NotForProvider))
    }

    /// The one capability that the tool lacks, where it is only one.
    fn missing(&self, usefulness: Use) -> Option<Capability> {
        let given = self.policy.capabilities();
        match usefulness {
            Use::Any([only]) => Some(*only),
            Use::All(all) => all.iter().copied().find(|one| !given.has(*one)),
            Use::Reading | Use::Any(_) | Use::Owner => None,
        }
    }

    fn has_set_of(&self, tool: &dyn AnyTool) -> bool {
        let sets = [Some(tool.toolset()), tool.also()];
        let mut sets = sets.into_iter().flatten();
        sets.any(|set| self.toolsets.contains(&set))
    }

    fn has(&self, setup: &Setup, provider: Provider) -> bool {
        let mut shown = setup.accounts().iter();
        shown.any(|one| one.provider() == provider && self.policy.shows_account(one.id()))
    }
}
