//! Why: the closed lists of the contract.

use mail::Level;

/// Why something was allowed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    RuleMatched,
    /// No rule spoke: what holds for the whole folder does. The owner has no other.
    FolderDefaultApplied,
}

impl Reason {
    pub fn name(self) -> &'static str {
        match self {
            Self::RuleMatched => "rule_matched",
            Self::FolderDefaultApplied => "folder_default_applied",
        }
    }
}

/// Why something was refused, as its caller is told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// The account is not this caller's, or there is none of that name.
    AccountHidden,
    /// The folder is not this caller's, or there is none of that name.
    FolderHidden,
    /// The message is not this caller's, or there is none of that number.
    MessageNotVisible,
    /// What is visible of it is less than this.
    VisibilityBelow(Level),
    CapabilityMissing,
    /// A flag that is the server's own business, or another tool's.
    ForbiddenSystemFlag,
    /// The caller would see more of the message where it is to go.
    VisibilityWouldRise,
    /// Nothing is changed where it cannot be written down first.
    TransactionsNotConfigured,
    /// The account's server has no such thing.
    NotForProvider,
    /// What was granted at the account's login lets nothing be changed.
    ScopeInsufficient,
    /// A person has to log in to the account first.
    NeedsRebootstrap,
}

impl Refused {
    pub fn name(self) -> &'static str {
        match self {
            Self::AccountHidden => "account_hidden",
            Self::FolderHidden => "folder_hidden",
            Self::MessageNotVisible => "message_not_visible",
            Self::VisibilityBelow(Level::None) => "visibility_below_NONE",
            Self::VisibilityBelow(Level::Count) => "visibility_below_COUNT",
            Self::VisibilityBelow(Level::Metadata) => "visibility_below_METADATA",
            Self::VisibilityBelow(Level::Envelope) => "visibility_below_ENVELOPE",
            Self::VisibilityBelow(Level::Headers) => "visibility_below_HEADERS",
            Self::VisibilityBelow(Level::Body) => "visibility_below_BODY",
            Self::VisibilityBelow(Level::Full) => "visibility_below_FULL",
            Self::CapabilityMissing => "capability_missing",
            Self::ForbiddenSystemFlag => "forbidden_system_flag",
            Self::VisibilityWouldRise => "visibility_would_rise",
            Self::TransactionsNotConfigured => "transactions_not_configured",
            Self::NotForProvider => "tool_not_applicable_for_provider",
            Self::ScopeInsufficient => "oauth_scope_insufficient",
            Self::NeedsRebootstrap => "needs_rebootstrap",
        }
    }
}

/// What the audit log knows of a message that was not shown, and its caller must not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hidden {
    /// No rule of a whitelist spoke for it.
    SenderNotWhitelisted,
    /// A rule of a blacklist spoke against it.
    SenderBlacklisted,
    /// There is no such thing.
    ObjectAbsent,
}

impl Hidden {
    pub fn name(self) -> &'static str {
        match self {
            Self::SenderNotWhitelisted => "sender_not_whitelisted",
            Self::SenderBlacklisted => "sender_blacklisted",
            Self::ObjectAbsent => "object_absent",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_contract() {
        assert_eq!(Reason::RuleMatched.name(), "rule_matched");
        assert_eq!(
            Reason::FolderDefaultApplied.name(),
            "folder_default_applied"
        );
        let levels = [
            Level::None,
            Level::Count,
            Level::Metadata,
            Level::Envelope,
            Level::Headers,
            Level::Body,
            Level::Full,
        ];
        for level in levels {
            let want = format!("visibility_below_{}", level.name());
            assert_eq!(Refused::VisibilityBelow(level).name(), want);
        }
        for (refused, want) in [
            (Refused::AccountHidden, "account_hidden"),
            (Refused::FolderHidden, "folder_hidden"),
            (Refused::MessageNotVisible, "message_not_visible"),
            (Refused::CapabilityMissing, "capability_missing"),
            (Refused::ForbiddenSystemFlag, "forbidden_system_flag"),
            (Refused::VisibilityWouldRise, "visibility_would_rise"),
            (
                Refused::TransactionsNotConfigured,
                "transactions_not_configured",
            ),
            (Refused::NotForProvider, "tool_not_applicable_for_provider"),
            (Refused::ScopeInsufficient, "oauth_scope_insufficient"),
            (Refused::NeedsRebootstrap, "needs_rebootstrap"),
        ] {
            assert_eq!(refused.name(), want);
        }
        for (hidden, want) in [
            (Hidden::SenderNotWhitelisted, "sender_not_whitelisted"),
            (Hidden::SenderBlacklisted, "sender_blacklisted"),
            (Hidden::ObjectAbsent, "object_absent"),
        ] {
            assert_eq!(hidden.name(), want);
        }
    }
}
