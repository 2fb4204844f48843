//! Which tools a caller is offered: filters over the one list.

use crate::setup::{Provider, Setup, Standing, Writes};
use crate::tools::{ALL, AnyTool};

impl Standing {
    pub(super) fn tools(&self, setup: &Setup) -> impl Iterator<Item = &'static dyn AnyTool> {
        let tools = ALL.iter().copied();
        tools.filter(move |tool| self.offers(setup, *tool))
    }

    pub(super) fn tool(&self, setup: &Setup, name: &str) -> Option<&'static dyn AnyTool> {
        let mut tools = ALL.iter().copied();
        let named = tools.find(|tool| tool.name() == name);
        named.filter(|tool| self.offers(setup, *tool))
    }

    /// INVARIANT: a tool that the policy could never allow is none, nor is one for providers that it shows none of.
    fn offers(&self, setup: &Setup, tool: &dyn AnyTool) -> bool {
        self.has_set_of(tool)
            && tool.least() <= self.policy.ceiling()
            && (tool.annotations().read_only || self.writes == Writes::Allowed)
            && tool.usefulness().is_open_to(&self.policy)
            && tool
                .provider()
                .is_none_or(|provider| self.has(setup, provider))
    }

    fn has_set_of(&self, tool: &dyn AnyTool) -> bool {
        let sets = [Some(tool.toolset()), tool.also()];
        let mut sets = sets.into_iter().flatten();
        sets.any(|set| self.toolsets.contains(&set))
    }

    /// A tool that would be there if changes were allowed.
    pub(super) fn is_gated(&self, name: &str) -> bool {
        let mut tools = ALL.iter().filter(|tool| self.has_set_of(**tool));
        let known = tools.any(|tool| tool.name() == name && !tool.annotations().read_only);
        known && self.writes == Writes::Gated
    }

    fn has(&self, setup: &Setup, provider: Provider) -> bool {
        let mut shown = setup.accounts().iter();
        shown.any(|one| one.provider() == provider && self.policy.shows_account(one.id()))
    }
}
