//! Random policies, and a judgement of its own that knows nothing of the product's.

use mail::{Domain, Folded, Level, MailAddress};
use policy::{
    Capabilities, Capability, FolderPattern, FolderPolicy, Mode, Place, Policy, Predicate, Rule,
    Span,
};
use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::letter::Facts;

/// A predicate: its name, how a policy writes it, and what it means.
type Test = (&'static str, &'static str, &'static str);

const TESTS: [Test; 30] = [
    ("from", "anna@good.example", "anna@good.example"),
    ("from", "MAL@Evil.example.", "mal@evil.example"),
    ("from", "j@müller.example", "j@xn--mller-kva.example"),
    ("from_domain", "good.example", "good.example"),
    ("from_domain", "GOOD.example.", "good.example"),
    ("from_domain", "evil.example", "evil.example"),
    ("from_domain", "Müller.example", "xn--mller-kva.example"),
    (
        "from_domain",
        "xn--mller-kva.example",
        "xn--mller-kva.example",
    ),
    ("from_domain", "sub.good.example", "sub.good.example"),
    ("to", "team@corp.example", "team@corp.example"),
    ("to", "X@Other.example", "x@other.example"),
    ("to", "b@bücher.example", "b@xn--bcher-kva.example"),
    ("to_contains", "team", "team"),
    ("to_contains", "OTHER", "other"),
    ("to_contains", "bücher", "bücher"),
    ("to_contains", "xn--", "xn--"),
    ("subject_contains", "rechnung", "rechnung"),
    ("subject_contains", "Geheim", "geheim"),
    ("subject_contains", "ÜBER", "über"),
    ("subject_contains", "u\u{308}ber", "über"),
    ("has_attachment", "true", "true"),
    ("has_attachment", "false", "false"),
    ("newer_than", "30d", "30"),
    ("newer_than", "1y", "365"),
    ("newer_than", "168h", "7"),
    ("older_than", "30d", "30"),
    ("older_than", "20w", "140"),
    ("size_gt", "2000", "2000"),
    ("size_gt", "8000", "8000"),
    ("size_lt", "2500", "2500"),
];

/// What a policy says of a folder.
#[derive(Clone, Debug)]
pub(super) struct FolderRules {
    pub(super) path: String,
    mode: Mode,
    pub(super) default: Level,
    can: Vec<Capability>,
    rules: Vec<(Vec<Test>, Level)>,
}

impl FolderRules {
    pub(super) fn random(path: &str, dice: &mut Dice) -> Self {
        let mode = match dice.once_in(2) {
            true => Mode::Whitelist,
            false => Mode::Blacklist,
        };
        let default = match mode {
            Mode::Whitelist => Level::None,
            Mode::Blacklist => Level::ALL[1 + dice.roll(6)],
        };
        let rules = (0..dice.roll(6)).map(|_| {
            let mut tests: Vec<Test> = vec![*dice.pick(&TESTS)];
            let second = *dice.pick(&TESTS);
            if dice.once_in(2) && second.0 != tests[0].0 {
                tests.push(second);
            }
            let level = match mode {
                Mode::Whitelist => Level::ALL[1 + dice.roll(6)],
                Mode::Blacklist => Level::ALL[dice.roll(6)],
            };
            (tests, level)
        });
        let mut folder = Self {
            path: path.to_owned(),
            mode,
            default,
            rules: rules.collect(),
            can: Vec::new(),
        };
        if dice.once_in(4) {
            folder.can.push(Capability::AcceptIncoming);
        }
        if dice.once_in(3) {
            folder.can.push(Capability::MoveOut);
        }
        folder.mend();
        folder
    }

    /// Nothing of it is there for anybody.
    pub(super) fn dark(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            mode: Mode::Whitelist,
            default: Level::None,
            can: Vec::new(),
            rules: Vec::new(),
        }
    }

    /// Shows all that the caller puts there.
    pub(super) fn of_the_caller(path: &str) -> Self {
        Self {
            mode: Mode::Blacklist,
            default: Level::Full,
            can: vec![Capability::AcceptIncoming, Capability::DraftAppend],
            ..Self::dark(path)
        }
    }

    /// Takes mail in and shows it by its subject or sender.
    pub(super) fn by_subject(path: &str, dice: &mut Dice) -> Self {
        let tests = || {
            TESTS
                .into_iter()
                .filter(|test| test.0.starts_with("subject"))
        };
        let senders = || TESTS.into_iter().filter(|test| test.0.starts_with("from"));
        let chosen: Vec<Test> = match dice.once_in(2) {
            true => tests().collect(),
            false => senders().collect(),
        };
        let level = Level::ALL[2 + dice.roll(5)];
        let mut folder = Self {
            can: vec![Capability::AcceptIncoming],
            rules: chosen.into_iter().map(|test| (vec![test], level)).collect(),
            ..Self::dark(path)
        };
        folder.mend();
        folder
    }

    /// Takes away what a configuration may not say.
    fn mend(&mut self) {
        let account = mail::AccountId::new("any").unwrap();
        while let Err(flaws) = Policy::new("any", vec![(account.clone(), vec![self.product()])]) {
            match flaws[0].place {
                Place::Rule(_, _, rule) => drop(self.rules.remove(rule)),
                _ => panic!("{flaws:?}"),
            }
        }
    }

    fn product(&self) -> FolderPolicy {
        FolderPolicy {
            path: FolderPattern::parse(&self.path).unwrap(),
            mode: self.mode,
            default: self.default,
            rules: self
                .rules
                .iter()
                .map(|(tests, level)| Rule {
                    predicates: tests.iter().map(predicate).collect(),
                    level: *level,
                })
                .collect(),
            capabilities: self.can.iter().copied().collect::<Capabilities>(),
        }
    }

    pub(super) fn is_visible(&self) -> bool {
        !self.can.is_empty() || self.most() >= Level::Count
    }

    /// The most that a message can have.
    pub(super) fn most(&self) -> Level {
        let grants = self.rules.iter().map(|(_, level)| *level);
        match self.mode {
            Mode::Whitelist => grants.fold(self.default, Level::max),
            Mode::Blacklist => self.default,
        }
    }

    pub(super) fn written(&self) -> Value {
        let word = match self.mode {
            Mode::Whitelist => "grant",
            Mode::Blacklist => "cap",
        };
        let rules = self.rules.iter().map(|(tests, level)| {
            let tests: Map<String, Value> = tests
                .iter()
                .map(|(name, written, _)| ((*name).to_owned(), value(name, written)))
                .collect();
            json!({ "match": tests, word: level.name() })
        });
        let mut folder = json!({
            "path": self.path,
            "mode": match self.mode { Mode::Whitelist => "whitelist", Mode::Blacklist => "blacklist" },
            "default": self.default.name(),
            "rules": rules.collect::<Vec<_>>(),
        });
        for capability in &self.can {
            folder[capability.name()] = json!(true);
        }
        folder
    }

    /// Grants need every test to be met, caps none of them to be missed.
    pub(super) fn judge(&self, facts: &Facts<'_>) -> Level {
        let mut level = self.default;
        for (tests, said) in &self.rules {
            let mut answers = tests.iter().map(|test| holds(test, facts));
            match self.mode {
                Mode::Whitelist if answers.all(|one| one == Some(true)) => level = level.max(*said),
                Mode::Blacklist if answers.all(|one| one != Some(false)) => {
                    level = level.min(*said)
                }
                _ => {}
            }
        }
        level
    }
}

/// None: it cannot be told.
fn holds((name, _, meant): &Test, facts: &Facts<'_>) -> Option<bool> {
    let among = |fits: &dyn Fn(&(&str, &str)) -> bool| match facts.recipients.iter().any(fits) {
        true => Some(true),
        false => facts.all_recipients.then_some(false),
    };
    let number = || meant.parse::<u64>().unwrap();
    match *name {
        "from" => facts.from.map(|from| from == *meant),
        "from_domain" => facts.from.map(|from| from.ends_with(&format!("@{meant}"))),
        "to" => among(&|(wire, _)| wire == meant),
        "to_contains" => among(&|(wire, read)| wire.contains(meant) || read.contains(meant)),
        "subject_contains" => facts.subject.map(|subject| subject.contains(meant)),
        "has_attachment" => Some(facts.has_attachment.to_string() == *meant),
        "newer_than" => Some(facts.age < number() * 86_400),
        "older_than" => Some(facts.age > number() * 86_400),
        "size_gt" => Some(facts.size > number()),
        "size_lt" => Some(facts.size < number()),
        _ => unreachable!("{name}"),
    }
}

fn predicate((name, written, _): &Test) -> Predicate {
    match *name {
        "from" => Predicate::From(MailAddress::parse(written).unwrap()),
        "from_domain" => Predicate::FromDomain(Domain::new(written).unwrap()),
        "to" => Predicate::To(MailAddress::parse(written).unwrap()),
        "to_contains" => Predicate::ToContains(Folded::new(written)),
        "subject_contains" => Predicate::SubjectContains(Folded::new(written)),
        "has_attachment" => Predicate::HasAttachment(*written == "true"),
        "newer_than" => Predicate::NewerThan(Span::parse(written).unwrap()),
        "older_than" => Predicate::OlderThan(Span::parse(written).unwrap()),
        "size_gt" => Predicate::SizeGt(written.parse().unwrap()),
        "size_lt" => Predicate::SizeLt(written.parse().unwrap()),
        _ => unreachable!("{name}"),
    }
}

fn value(name: &str, written: &str) -> Value {
    match name {
        "has_attachment" => json!(written == "true"),
        "size_gt" | "size_lt" => json!(written.parse::<u64>().unwrap()),
        _ => json!(written),
    }
}

/// A criterion of a search, written as in a policy.
pub(super) fn criterion(dice: &mut Dice) -> (&'static str, Value) {
    let (name, written, _) = *dice.pick(&TESTS);
    (name, value(name, written))
}
