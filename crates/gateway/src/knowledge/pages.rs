//! Pages that were shown of one folder's searches: what is likely to be shown again to whoever looks for the same.
//!
//! Bounded, with all that they hold on to. They say nothing else, and nothing to anybody who may see something else.

use std::sync::Arc;

use mail::{Anchor, Condition, Level, UidSet};
use policy::{FolderPolicy, Predicate, Rule, Scope};

use crate::criteria::Criteria;
use crate::guarded_mail::Wanted;

const MOST: usize = 32;
/// Octets of all of them, and of the policies that they were shown by: half of what an account may always keep, so that they
/// push out no facts. Two policies with as many rules as there may be.
const MOST_OCTETS: usize = 512 << 10;
/// Of searches that look for no more than so much: each part may be long.
const MOST_PARTS: usize = 1;

#[derive(Default)]
pub(super) struct Pages {
    /// The latest last.
    kept: Vec<Page>,
    /// As it was when one was last noted.
    weight: usize,
}

/// What was looked for, and what was shown of it.
struct Page {
    /// INVARIANT: what one caller was shown says nothing to another who may see something else, not even by how long it takes.
    viewer: Viewer,
    criteria: Criteria,
    below: Option<Anchor>,
    limit: usize,
    uids: UidSet,
}

/// What a caller may see of the folder.
#[derive(Clone)]
enum Viewer {
    Alike(Level),
    /// INVARIANT: pages of equal policies share one.
    Each(Arc<FolderPolicy>),
}

impl Pages {
    /// What was shown of it to whoever looked for the same last.
    pub(super) fn find(&self, scope: Scope<'_>, wanted: &Wanted<'_>) -> Option<&UidSet> {
        let mut pages = self.kept.iter();
        // A policy may be long, and is compared where all else is the same.
        let page = pages.find(|page| page.answers(wanted) && page.viewer.is(scope))?;
        Some(&page.uids)
    }

    pub(super) fn note(&mut self, scope: Scope<'_>, wanted: &Wanted<'_>, uids: UidSet) {
        let criteria = wanted.criteria;
        if criteria.predicates.len() + criteria.conditions.len() > MOST_PARTS {
            return;
        }
        let page = Page {
            viewer: self.viewer(scope),
            criteria: criteria.clone(),
            below: wanted.below,
            limit: wanted.limit,
            uids,
        };
        self.kept
            .retain(|other| !(other.answers(wanted) && other.viewer.is_one_with(&page.viewer)));
        // One that is too heavy for itself pushes out nobody.
        if page.octets() + page.viewer.octets() <= MOST_OCTETS {
            self.kept.push(page);
        }
        self.weight = weigh(&self.kept);
        while self.kept.len() > MOST || self.weight > MOST_OCTETS {
            self.kept.remove(0);
            self.weight = weigh(&self.kept);
        }
    }

    /// Octets that they take.
    pub(super) fn weight(&self) -> usize {
        self.weight
    }

    /// The one that is there already, where there is one.
    fn viewer(&self, scope: Scope<'_>) -> Viewer {
        let mut viewers = self.kept.iter().map(|page| &page.viewer);
        match viewers.find(|viewer| viewer.is(scope)) {
            Some(viewer) => viewer.clone(),
            None => Viewer::of(scope),
        }
    }
}

impl Page {
    fn answers(&self, wanted: &Wanted<'_>) -> bool {
        self.limit == wanted.limit
            && self.below == wanted.below
            && self.criteria == *wanted.criteria
    }

    /// Without its viewer's.
    fn octets(&self) -> usize {
        let predicates = self.criteria.predicates.iter().map(of_predicate);
        let conditions = self.criteria.conditions.iter().map(of_condition);
        size_of::<Self>()
            + size_of_val(self.uids.ranges())
            + predicates.sum::<usize>()
            + conditions.sum::<usize>()
    }
}

impl Viewer {
    fn of(scope: Scope<'_>) -> Self {
        match scope {
            Scope::Alike(level) => Self::Alike(level),
            Scope::Each(folder) => Self::Each(Arc::new(folder.clone())),
        }
    }

    fn is(&self, scope: Scope<'_>) -> bool {
        match (self, scope) {
            (Self::Alike(level), Scope::Alike(other)) => *level == other,
            (Self::Each(folder), Scope::Each(other)) => **folder == *other,
            _ => false,
        }
    }

    /// Of two that pages here have.
    fn is_one_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Alike(level), Self::Alike(other)) => level == other,
            (Self::Each(folder), Self::Each(other)) => Arc::ptr_eq(folder, other),
            _ => false,
        }
    }

    fn octets(&self) -> usize {
        match self {
            Self::Alike(_) => 0,
            Self::Each(folder) => {
                let rules = folder.rules.iter().map(of_rule);
                size_of::<FolderPolicy>() + folder.path.as_str().len() + rules.sum::<usize>()
            }
        }
    }
}

/// Viewers once, however many pages each has.
fn weigh(pages: &[Page]) -> usize {
    let mut viewers: Vec<&Viewer> = Vec::new();
    for page in pages {
        if !viewers.iter().any(|one| one.is_one_with(&page.viewer)) {
            viewers.push(&page.viewer);
        }
    }
    let viewers = viewers.into_iter().map(Viewer::octets);
    viewers.chain(pages.iter().map(Page::octets)).sum()
}

fn of_rule(rule: &Rule) -> usize {
    let predicates = rule.predicates.iter().map(of_predicate);
    size_of::<Rule>() + predicates.sum::<usize>()
}

fn of_predicate(predicate: &Predicate) -> usize {
    let text = match predicate {
        Predicate::From(address) | Predicate::To(address) => address.as_str(),
        Predicate::FromDomain(domain) => domain.as_str(),
        Predicate::ToContains(part) | Predicate::SubjectContains(part) => part.as_str(),
        Predicate::HasAttachment(_)
        | Predicate::NewerThan(_)
        | Predicate::OlderThan(_)
        | Predicate::SizeGt(_)
        | Predicate::SizeLt(_) => "",
    };
    size_of::<Predicate>() + text.len()
}

fn of_condition(condition: &Condition) -> usize {
    let held = match condition {
        Condition::All(each) | Condition::Any(each) => each.iter().map(of_condition).sum(),
        Condition::Not(inner) => of_condition(inner),
        Condition::From(text)
        | Condition::To(text)
        | Condition::Cc(text)
        | Condition::Subject(text)
        | Condition::Text(text)
        | Condition::StoreSearch(text) => text.len(),
        Condition::Header { name, holds } => name.len() + holds.len(),
        Condition::Flagged(flag) => flag.as_str().len(),
        Condition::Larger(_)
        | Condition::Smaller(_)
        | Condition::Since(_)
        | Condition::Before(_) => 0,
    };
    size_of::<Condition>() + held
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use mail::{MailAddress, Snippets, Uid, UidValidity};
    use policy::{Capabilities, Capability, FolderPattern, Mode};

    fn subject(word: &str) -> Criteria {
        let mut criteria = Criteria::default();
        criteria.evaluated(Condition::Subject(word.to_owned()));
        criteria
    }

    /// Whoever may see everything.
    pub(in crate::knowledge) const ALL: Scope<'static> = Scope::Alike(Level::Full);

    pub(in crate::knowledge) fn wanted(criteria: &Criteria) -> Wanted<'_> {
        Wanted {
            criteria,
            below: None,
            limit: 20,
            snippets: Snippets::Without,
        }
    }

    pub(in crate::knowledge) fn page(uid: usize) -> UidSet {
        let uid = Uid(u32::try_from(uid).unwrap());
        UidSet::range(uid, uid)
    }

    #[test]
    fn what_was_shown_last_of_a_search_is_likely_for_the_same_search_alone() {
        let mut pages = Pages::default();
        let (plain, other) = (Criteria::default(), subject("a"));
        let below = |uid: u32| {
            Some(Anchor {
                uidvalidity: UidValidity(7),
                order: 0,
                uid: Uid(uid),
            })
        };
        let questions = [
            wanted(&plain),
            wanted(&other),
            Wanted {
                limit: 21,
                ..wanted(&plain)
            },
            Wanted {
                below: below(9),
                ..wanted(&plain)
            },
            Wanted {
                below: below(8),
                ..wanted(&plain)
            },
        ];
        for (number, question) in (1..).zip(&questions) {
            assert_eq!(pages.find(ALL, question), None);
            pages.note(ALL, question, page(number));
        }
        for (number, question) in (1..).zip(&questions) {
            assert_eq!(pages.find(ALL, question), Some(&page(number)));
        }
        // The latest is what counts, and it is kept once.
        pages.note(ALL, &questions[0], page(70));
        pages.note(ALL, &questions[0], page(71));
        assert_eq!(pages.find(ALL, &questions[0]), Some(&page(71)));
        assert_eq!(pages.find(ALL, &questions[1]), Some(&page(2)));
        assert_eq!(pages.kept.len(), questions.len());
    }

    #[test]
    fn few_pages_are_kept_and_the_oldest_goes_first() {
        let mut pages = Pages::default();
        let each: Vec<Criteria> = (0..2 * MOST)
            .map(|number| subject(&number.to_string()))
            .collect();
        let light = pages.weight();
        for (number, criteria) in (1..).zip(&each) {
            pages.note(ALL, &wanted(criteria), page(number));
            // Whoever is asked again is not old.
            pages.note(ALL, &wanted(&each[0]), page(number));
            assert!(pages.kept.len() <= MOST);
        }
        assert_eq!(pages.find(ALL, &wanted(&each[0])), Some(&page(2 * MOST)));
        let kept = each
            .iter()
            .skip(1)
            .map(|one| pages.find(ALL, &wanted(one)).is_some());
        let kept: Vec<bool> = kept.collect();
        let (gone, left) = kept.split_at(MOST);
        assert!(!gone.contains(&true) && !left.contains(&false), "{kept:?}");
        assert!(pages.weight() > light + MOST * size_of::<UidSet>());
    }

    /// One who sees what comes from so many.
    pub(in crate::knowledge) fn friend_of(many: usize) -> FolderPolicy {
        let rule = |number: usize| Rule {
            predicates: vec![Predicate::From(address(number))],
            level: Level::Body,
        };
        FolderPolicy {
            path: FolderPattern::parse("INBOX").unwrap(),
            mode: Mode::Whitelist,
            default: Level::None,
            rules: (0..many).map(rule).collect(),
            capabilities: Capabilities::NONE,
        }
    }

    fn address(number: usize) -> MailAddress {
        MailAddress::parse(&format!("somebody.{number:05}@kettenwerk.example")).unwrap()
    }

    /// As many as a folder may have.
    pub(in crate::knowledge) const MOST_RULES: usize = 2_000;

    #[test]
    fn what_one_caller_was_shown_says_nothing_to_another_who_may_see_something_else() {
        let base = || friend_of(3);
        let with = |change: fn(&mut FolderPolicy)| {
            let mut other = base();
            change(&mut other);
            other
        };
        let policies = [
            base(),
            friend_of(2),
            friend_of(0),
            with(|one| one.path = FolderPattern::parse("Other").unwrap()),
            with(|one| one.mode = Mode::Blacklist),
            with(|one| one.default = Level::Count),
            with(|one| one.rules[2].level = Level::Full),
            with(|one| one.rules[2].predicates = vec![Predicate::To(address(2))]),
            with(|one| one.rules[2].predicates = vec![Predicate::From(address(3))]),
            with(|one| one.rules.swap(0, 2)),
            with(|one| one.capabilities = Capabilities::NONE.with(Capability::MarkSeen)),
        ];
        let alike = [Level::Full, Level::Body, Level::None].map(Scope::Alike);
        let scopes: Vec<Scope<'_>> = policies.iter().map(Scope::Each).chain(alike).collect();
        let criteria = Criteria::default();
        let mut pages = Pages::default();
        for (number, scope) in (1..).zip(&scopes) {
            assert_eq!(pages.find(*scope, &wanted(&criteria)), None, "{scope:?}");
            pages.note(*scope, &wanted(&criteria), page(number));
        }
        for (number, scope) in (1..).zip(&scopes) {
            let found = pages.find(*scope, &wanted(&criteria));
            assert_eq!(found, Some(&page(number)), "{scope:?}");
        }
        // Who may see the same is the same, however often the policy was read.
        pages.note(Scope::Each(&base()), &wanted(&criteria), page(70));
        let found = pages.find(Scope::Each(&policies[0]), &wanted(&criteria));
        assert_eq!(found, Some(&page(70)));
        assert_eq!(pages.kept.len(), scopes.len());
    }

    #[test]
    fn a_policy_is_kept_and_counted_once_however_many_pages_it_has() {
        let rule = size_of::<Rule>() + size_of::<Predicate>() + address(0).as_str().len();
        let mut pages = Pages::default();
        for number in 0..MOST {
            let criteria = subject(&number.to_string());
            let policy = friend_of(MOST_RULES);
            pages.note(Scope::Each(&policy), &wanted(&criteria), page(1));
        }
        assert_eq!(pages.kept.len(), MOST);
        let [first, .., last] = pages.kept.as_slice() else {
            panic!("all fit");
        };
        assert!(first.viewer.is_one_with(&last.viewer));
        let light = MOST * (size_of::<Page>() + 256);
        let weight = pages.weight();
        assert!(weight >= MOST_RULES * rule + MOST * size_of::<Page>());
        assert!(weight <= MOST_RULES * rule + light, "{weight}");
    }

    #[test]
    fn all_that_pages_hold_on_to_stays_within_a_bound() {
        let (small, long) = (Criteria::default(), subject(&"x".repeat(MOST_OCTETS)));
        let mut pages = Pages::default();
        let policies: Vec<FolderPolicy> =
            (0..10).map(|less| friend_of(MOST_RULES - less)).collect();
        for policy in &policies {
            pages.note(Scope::Each(policy), &wanted(&small), page(1));
            assert!(pages.weight() <= MOST_OCTETS);
            assert_eq!(pages.weight(), weigh(&pages.kept));
        }
        let kept: Vec<bool> = policies
            .iter()
            .map(|one| pages.find(Scope::Each(one), &wanted(&small)).is_some())
            .collect();
        assert!(kept.ends_with(&[false, true, true]), "the latest: {kept:?}");
        // One that is too heavy for itself pushes out nobody.
        let before = pages.kept.len();
        let endless = friend_of(10 * MOST_RULES);
        for (scope, criteria) in [(Scope::Each(&endless), &small), (ALL, &long)] {
            pages.note(scope, &wanted(criteria), page(1));
            assert_eq!(pages.find(scope, &wanted(criteria)), None);
            assert_eq!(pages.kept.len(), before);
        }
    }
}
