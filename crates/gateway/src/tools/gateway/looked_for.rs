//! What `search` can look for: the predicates of policies, and what a server finds.

use audit::Summary;
use mail::{Condition, Domain, Flag, Folded, MailAddress};
use policy::{Predicate, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::args::{Address, Day, DomainName, Duration, FieldName, Keyword, SearchText};
use crate::criteria::Criteria;

/// All that are given must hold.
#[derive(Clone, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object of criteria")]
pub(crate) struct LookedFor {
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from_domain: Option<DomainName>,
    /// Among To and Cc.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<Address>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to_contains: Option<SearchText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subject_contains: Option<SearchText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    has_attachment: Option<bool>,
    /// Arrived less than this ago: 12h, 30d.
    #[serde(skip_serializing_if = "Option::is_none")]
    newer_than: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    older_than: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_gt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_lt: Option<u64>,
    /// Anywhere in the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<SearchText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<HeaderHolds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seen: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flagged: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    keyword: Option<Keyword>,
    /// Arrived on this day or later.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Day>,
    /// Arrived before this day.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Day>,
    /// Gmail only: as typed into its search box, such as has:attachment label:work.
    #[serde(skip_serializing_if = "Option::is_none")]
    gm_raw: Option<SearchText>,
}

#[derive(Clone, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object with name and contains")]
struct HeaderHolds {
    name: FieldName,
    contains: SearchText,
}

impl LookedFor {
    /// In the order in which they stand above.
    pub(super) fn criteria(&self) -> Criteria {
        let mut criteria = Criteria::default();
        let predicates = [
            self.from
                .as_ref()
                .and_then(|a| MailAddress::parse(&a.0).map(Predicate::From)),
            self.from_domain
                .as_ref()
                .and_then(|d| Domain::new(&d.0).map(Predicate::FromDomain)),
            self.to
                .as_ref()
                .and_then(|a| MailAddress::parse(&a.0).map(Predicate::To)),
            self.to_contains
                .as_ref()
                .map(|text| Predicate::ToContains(Folded::new(&text.0))),
            self.subject_contains
                .as_ref()
                .map(|text| Predicate::SubjectContains(Folded::new(&text.0))),
            self.has_attachment.map(Predicate::HasAttachment),
            self.newer_than
                .as_ref()
                .and_then(|d| Span::parse(&d.0).ok().map(Predicate::NewerThan)),
            self.older_than
                .as_ref()
                .and_then(|d| Span::parse(&d.0).ok().map(Predicate::OlderThan)),
            self.size_gt.map(Predicate::SizeGt),
            self.size_lt.map(Predicate::SizeLt),
        ];
        predicates
            .into_iter()
            .flatten()
            .for_each(|one| criteria.judged(one));
        let header = self.header.as_ref().map(|header| Condition::Header {
            name: header.name.0.clone(),
            holds: header.contains.0.clone(),
        });
        let conditions = [
            self.text
                .as_ref()
                .map(|text| Condition::Text(text.0.clone())),
            header,
            self.seen.map(|wanted| flag("\\Seen", wanted)),
            self.flagged.map(|wanted| flag("\\Flagged", wanted)),
            self.keyword
                .as_ref()
                .map(|name| Condition::Flagged(Flag::new(name.0.clone()))),
            self.since.as_ref().map(|day| Condition::Since(day.0)),
            self.before.as_ref().map(|day| Condition::Before(day.0)),
            self.gm_raw
                .as_ref()
                .map(|words| Condition::StoreSearch(words.0.clone())),
        ];
        conditions
            .into_iter()
            .flatten()
            .for_each(|one| criteria.evaluated(one));
        criteria
    }

    /// Whether only a store with a search of its own can tell.
    pub(super) fn asks_the_store(&self) -> bool {
        self.gm_raw.is_some()
    }

    /// Words as digests, the rest as it is.
    pub(super) fn kept(&self, summary: Summary) -> Summary {
        let words = |text: &Option<SearchText>| text.as_ref().map(|text| text.0.clone());
        summary
            .digest_if("from", self.from.as_ref().map(|a| a.0.clone()))
            .digest_if(
                "from_domain",
                self.from_domain.as_ref().map(|d| d.0.clone()),
            )
            .digest_if("to", self.to.as_ref().map(|a| a.0.clone()))
            .digest_if("to_contains", words(&self.to_contains))
            .digest_if("subject_contains", words(&self.subject_contains))
            .switch_if("has_attachment", self.has_attachment)
            .digest_if("newer_than", self.newer_than.as_ref().map(|d| d.0.clone()))
            .digest_if("older_than", self.older_than.as_ref().map(|d| d.0.clone()))
            .number_if("size_gt", self.size_gt)
            .number_if("size_lt", self.size_lt)
            .digest_if("text", words(&self.text))
            .digest_if(
                "header_name",
                self.header.as_ref().map(|h| h.name.0.clone()),
            )
            .digest_if("header", self.header.as_ref().map(|h| h.contains.0.clone()))
            .switch_if("seen", self.seen)
            .switch_if("flagged", self.flagged)
            .digest_if("keyword", self.keyword.as_ref().map(|k| k.0.clone()))
            .date_if("since", self.since.as_ref().map(|day| day.0))
            .date_if("before", self.before.as_ref().map(|day| day.0))
            .digest_if("gm_raw", words(&self.gm_raw))
    }
}

fn flag(name: &str, wanted: bool) -> Condition {
    let flagged = Condition::Flagged(Flag::new(name));
    match wanted {
        true => flagged,
        false => Condition::Not(Box::new(flagged)),
    }
}
