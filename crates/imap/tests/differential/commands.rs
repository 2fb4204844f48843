//! Every command that we can build, with hostile arguments, is one command with exactly those arguments.

use imap::InitialResponse;
use imap::command::{Day, Item, Key, ListReturn, Part, SearchReturn};
use imap::{BadArgument, Command, Connection, Limits, Literals, SequenceSet, utf7};
use imap_codec::decode::Decoder;
use imap_codec::imap_types::auth::{AuthMechanism, AuthenticateData};
use imap_codec::imap_types::command::CommandBody;
use imap_codec::imap_types::core::{AString, Charset, IString};
use imap_codec::imap_types::fetch::{
    MacroOrMessageDataItemNames, MessageDataItemName, Part as TheirPart, Section,
};
use imap_codec::imap_types::mailbox::{ListMailbox, Mailbox};
use imap_codec::imap_types::search::SearchKey;
use imap_codec::{AuthenticateDataCodec, CommandCodec};
use proptest::prelude::*;

use crate::lexer::{Token, argument, tokens, word};

const MODES: [Literals; 3] = [Literals::Wait, Literals::Minus, Literals::Plus];

/// The bytes of a command, with the go-ahead given whenever they stop.
fn wire(command: &Command, literals: Literals) -> Vec<u8> {
    let mut connection = Connection::new(Limits::default());
    connection.use_literals(literals);
    connection.push(command);
    let mut all = Vec::new();
    loop {
        let flight = connection.outgoing();
        if flight.is_empty() {
            return all;
        }
        assert!(flight.ends_with(b"\r\n"));
        all.extend_from_slice(&flight);
        connection.feed(b"+ go\r\n");
        assert_eq!(connection.poll(), Ok(None));
    }
}

/// What imap-codec makes of it, and what lies behind.
fn decode<'a>(wire: &'a [u8]) -> (CommandBody<'a>, &'a [u8]) {
    let shown = wire.escape_ascii().to_string();
    let (rest, command) = CommandCodec::default()
        .decode(wire)
        .unwrap_or_else(|error| panic!("{error:?}: {shown}"));
    assert_eq!(command.tag.inner(), "w1");
    (command.body, rest)
}

/// Holds for every command: whichever literals are used, the tokens are these.
fn check_tokens(command: &Command, want: &[Token]) {
    for mode in MODES {
        let got = tokens(&wire(command, mode));
        assert_eq!(got.first(), Some(&word("w1")));
        assert_eq!(got.get(1..).unwrap(), want, "{mode:?}");
    }
}

pub(crate) fn check(command: &Command, want: impl Fn(&CommandBody<'_>) -> bool) {
    for mode in MODES {
        let bytes = wire(command, mode);
        tokens(&bytes);
        let (body, rest) = decode(&bytes);
        assert!(rest.is_empty(), "left over: {}", rest.escape_ascii());
        assert!(want(&body), "{body:?}");
    }
}

fn astring(bytes: &[u8]) -> impl Fn(&AString<'_>) -> bool + '_ {
    move |got| got.as_ref() == bytes
}

fn istring<'a>(got: &'a IString<'_>) -> &'a [u8] {
    match got {
        IString::Quoted(text) => text.inner().as_bytes(),
        IString::Literal(literal) => literal.data(),
    }
}

pub(crate) fn is_mailbox(got: &Mailbox<'_>, name: &str) -> bool {
    match got {
        Mailbox::Inbox => name.eq_ignore_ascii_case("INBOX"),
        Mailbox::Other(other) => utf7::decode(other.inner().as_ref()).as_deref() == Some(name),
    }
}

/// Text as an enemy, or a user, would write it.
pub(crate) fn hostile() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[\"\\\\{}()\\[\\]*%+~&\r\n\t a-zA-Z0-9üé日📦]{0,40}",
        2 => any::<String>(),
        1 => "(\" |\\\\|\\\\\"|\\{5\\}\r\n|\r\nw2 DELETE INBOX\r\n|\\{0\\+\\}|\x7f|\x01){0,6}",
        1 => ("[ -~]", 995usize..1_005).prop_map(|(text, times)| text.repeat(times)),
        1 => ("[a\"\\\\ü]", 2_040usize..4_100).prop_map(|(text, times)| text.repeat(times)),
    ]
}

pub(crate) fn has_nul(texts: &[&str]) -> bool {
    texts.iter().any(|text| text.contains('\0'))
}

pub(crate) fn set() -> impl Strategy<Value = SequenceSet> {
    prop::collection::vec(1u32.., 1..30).prop_map(SequenceSet::of)
}

#[derive(Debug, Clone)]
enum OwnKey {
    All,
    Text(String),
    From(String),
    To(String),
    Cc(String),
    Subject(String),
    Header(&'static str, String),
    Larger(u32),
    Smaller(u32),
    Flag(&'static str),
    Since(Day),
    Before(Day),
    Uid(SequenceSet),
    Not(Box<OwnKey>),
    Each(Vec<OwnKey>),
    Any(Vec<OwnKey>),
}

/// Flags, the key of each, and the key of its absence.
const FLAGS: [(&str, &str, &str); 6] = [
    ("\\Seen", "SEEN", "UNSEEN"),
    ("\\flagged", "FLAGGED", "UNFLAGGED"),
    ("\\ANSWERED", "ANSWERED", "UNANSWERED"),
    ("\\Draft", "DRAFT", "UNDRAFT"),
    ("\\Deleted", "DELETED", "UNDELETED"),
    ("$Work[1", "KEYWORD $Work[1", "UNKEYWORD $Work[1"),
];

impl OwnKey {
    fn key(&self) -> Key<'_> {
        match self {
            Self::All => Key::All,
            Self::Text(text) => Key::Text(text),
            Self::From(text) => Key::From(text),
            Self::To(text) => Key::To(text),
            Self::Cc(text) => Key::Cc(text),
            Self::Subject(text) => Key::Subject(text),
            Self::Header(name, holds) => Key::Header { name, holds },
            Self::Larger(octets) => Key::Larger(*octets),
            Self::Smaller(octets) => Key::Smaller(*octets),
            Self::Flag(flag) => Key::Flag(flag),
            Self::Not(key) => Key::Not(Box::new(key.key())),
            Self::Each(keys) => Key::Each(keys.iter().map(Self::key).collect()),
            Self::Any(keys) => Key::Any(keys.iter().map(Self::key).collect()),
            Self::Since(day) => Key::Since(*day),
            Self::Before(day) => Key::Before(*day),
            Self::Uid(set) => Key::Uid(set.clone()),
        }
    }

    /// All text that it holds.
    fn text(&self) -> String {
        match self {
            Self::Text(text)
            | Self::From(text)
            | Self::To(text)
            | Self::Cc(text)
            | Self::Subject(text)
            | Self::Header(_, text) => text.clone(),
            Self::Not(key) => key.text(),
            Self::Each(keys) | Self::Any(keys) => keys.iter().map(Self::text).collect(),
            _ => String::new(),
        }
    }

    /// The key that is written for no message at all.
    fn is_nothing(got: &SearchKey<'_>) -> bool {
        *got == SearchKey::Not(Box::new(SearchKey::All))
    }

    fn is_any(keys: &[Self], got: &SearchKey<'_>) -> bool {
        match (keys, got) {
            ([], got) => Self::is_nothing(got),
            ([only], got) => only.is(got),
            (many, SearchKey::Or(a, b)) => {
                let (left, right) = many.split_at(many.len() / 2);
                Self::is_any(left, a) && Self::is_any(right, b)
            }
            _ => false,
        }
    }

    fn is(&self, got: &SearchKey<'_>) -> bool {
        let text = self.text();
        let text = astring(text.as_bytes());
        match (self, got) {
            (Self::All, SearchKey::All) => true,
            (Self::Flag(_), _) => tokens_of(got) == self.tokens(),
            (Self::Not(key), _) if matches!(**key, Self::Flag(_)) => {
                tokens_of(got) == self.tokens()
            }
            (Self::Not(key), SearchKey::Not(got)) => key.is(got),
            (Self::Each(keys), got) => match (keys.as_slice(), got) {
                ([], got) => *got == SearchKey::All,
                ([only], got) => only.is(got),
                (many, SearchKey::And(got)) => {
                    many.len() == got.as_ref().len()
                        && many.iter().zip(got.as_ref()).all(|(key, got)| key.is(got))
                }
                _ => false,
            },
            (Self::Any(keys), got) => Self::is_any(keys, got),
            (Self::Header(name, _), SearchKey::Header(field, got)) => {
                astring(name.as_bytes())(field) && text(got)
            }
            (Self::Larger(octets), SearchKey::Larger(got))
            | (Self::Smaller(octets), SearchKey::Smaller(got)) => octets == got,
            (Self::Cc(_), SearchKey::Cc(got)) => text(got),
            (Self::Text(_), SearchKey::Text(got))
            | (Self::From(_), SearchKey::From(got))
            | (Self::To(_), SearchKey::To(got))
            | (Self::Subject(_), SearchKey::Subject(got)) => text(got),
            (Self::Since(day), SearchKey::Since(got))
            | (Self::Before(day), SearchKey::Before(got)) => {
                let want = format!("{:04}-{:02}-{:02}", day.year, day.month, day.day);
                got.as_ref().to_string() == want
            }
            (Self::Uid(set), SearchKey::Uid(got)) => is_set(got, set),
            _ => false,
        }
    }

    fn tokens(&self) -> Vec<Token> {
        let day = |name: &str, day: &Day| {
            let months = [
                "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
            ];
            let month = months.get(usize::from(day.month) - 1).unwrap();
            vec![
                word(name),
                word(&format!("{}-{month}-{:04}", day.day, day.year)),
            ]
        };
        match self {
            Self::All => vec![word("ALL")],
            Self::Text(text) => vec![word("TEXT"), argument(text)],
            Self::From(text) => vec![word("FROM"), argument(text)],
            Self::To(text) => vec![word("TO"), argument(text)],
            Self::Subject(text) => vec![word("SUBJECT"), argument(text)],
            Self::Cc(text) => vec![word("CC"), argument(text)],
            Self::Header(name, text) => vec![word("HEADER"), argument(name), argument(text)],
            Self::Larger(octets) => vec![word("LARGER"), word(&octets.to_string())],
            Self::Smaller(octets) => vec![word("SMALLER"), word(&octets.to_string())],
            Self::Flag(flag) => {
                let (_, set, _) = FLAGS.iter().find(|(name, ..)| name == flag).unwrap();
                set.split(' ').map(word).collect()
            }
            Self::Not(key) => match key.as_ref() {
                Self::Flag(flag) => {
                    let (_, _, unset) = FLAGS.iter().find(|(name, ..)| name == flag).unwrap();
                    unset.split(' ').map(word).collect()
                }
                key => [vec![word("NOT")], key.tokens()].concat(),
            },
            Self::Each(keys) => match keys.as_slice() {
                [] => vec![word("ALL")],
                [only] => only.tokens(),
                many => {
                    let inner = many.iter().flat_map(Self::tokens).collect();
                    [vec![word("(")], inner, vec![word(")")]].concat()
                }
            },
            Self::Any(keys) => match keys.as_slice() {
                [] => vec![word("NOT"), word("ALL")],
                [only] => only.tokens(),
                many => {
                    let (left, right) = many.split_at(many.len() / 2);
                    let half = |keys: &[Self]| Self::Any(keys.to_vec()).tokens();
                    [vec![word("OR")], half(left), half(right)].concat()
                }
            },
            Self::Since(one) => day("SINCE", one),
            Self::Before(one) => day("BEFORE", one),
            Self::Uid(set) => vec![word("UID"), word(&set.to_string())],
        }
    }
}

/// A key of a flag, as imap-codec spells it again.
fn tokens_of(key: &SearchKey<'_>) -> Vec<Token> {
    let spelled = match key {
        SearchKey::Keyword(atom) => format!("KEYWORD {}", atom.as_ref()),
        SearchKey::Unkeyword(atom) => format!("UNKEYWORD {}", atom.as_ref()),
        other => format!("{other:?}").to_uppercase(),
    };
    spelled.split(' ').map(word).collect()
}

fn is_set(got: &imap_codec::imap_types::sequence::SequenceSet, want: &SequenceSet) -> bool {
    let want = want.to_string();
    imap_codec::imap_types::sequence::SequenceSet::try_from(want.as_str()).as_ref() == Ok(got)
}

fn keys() -> impl Strategy<Value = Vec<OwnKey>> {
    let day = || {
        (1u16..=9999, 1u8..=12, 1u8..=28).prop_map(|(year, month, day)| Day { year, month, day })
    };
    let key = prop_oneof![
        Just(OwnKey::All),
        hostile().prop_map(OwnKey::Text),
        hostile().prop_map(OwnKey::From),
        hostile().prop_map(OwnKey::To),
        hostile().prop_map(OwnKey::Cc),
        hostile().prop_map(OwnKey::Subject),
        (
            prop::sample::select(&["List-Id", "X\"{5}\\", "("][..]),
            hostile()
        )
            .prop_map(|(name, holds)| OwnKey::Header(name, holds)),
        any::<u32>().prop_map(OwnKey::Larger),
        any::<u32>().prop_map(OwnKey::Smaller),
        prop::sample::select(&FLAGS[..]).prop_map(|(flag, ..)| OwnKey::Flag(flag)),
        day().prop_map(OwnKey::Since),
        day().prop_map(OwnKey::Before),
        set().prop_map(OwnKey::Uid),
    ];
    let key = key.prop_recursive(2, 16, 4, |key| {
        prop_oneof![
            key.clone().prop_map(|key| OwnKey::Not(Box::new(key))),
            prop::collection::vec(key.clone(), 0..4).prop_map(OwnKey::Each),
            prop::collection::vec(key, 0..5).prop_map(OwnKey::Any),
        ]
    });
    prop::collection::vec(key, 0..6)
}

fn items() -> impl Strategy<Value = Vec<Item>> {
    let part = prop_oneof![
        Just(Part::Whole),
        Just(Part::Header),
        Just(Part::HeaderFields(&["CONTENT-TYPE", "LIST-ID"])),
        Just(Part::Text),
        prop::collection::vec(1u32.., 1..5).prop_map(Part::Section),
    ];
    let item = prop_oneof![
        Just(Item::Flags),
        Just(Item::InternalDate),
        Just(Item::Size),
        Just(Item::BodyStructure),
        (part, prop::option::of(any::<u32>())).prop_map(|(part, octets)| Item::Peek(part, octets)),
    ];
    prop::collection::vec(item, 0..6)
}

fn is_item(want: &Item, got: &MessageDataItemName<'_>) -> bool {
    match (want, got) {
        (Item::Flags, MessageDataItemName::Flags)
        | (Item::InternalDate, MessageDataItemName::InternalDate)
        | (Item::Size, MessageDataItemName::Rfc822Size)
        | (Item::BodyStructure, MessageDataItemName::BodyStructure) => true,
        (
            Item::Peek(part, octets),
            MessageDataItemName::BodyExt {
                section,
                partial,
                peek: true,
            },
        ) => {
            let got = partial.map(|(origin, length)| (origin, length.get()));
            is_part(part, section.as_ref()) && got == octets.map(|octets| (0, octets.max(1)))
        }
        _ => false,
    }
}

fn is_part(want: &Part, got: Option<&Section<'_>>) -> bool {
    match (want, got) {
        (Part::Whole, None)
        | (Part::Header, Some(Section::Header(None)))
        | (Part::Text, Some(Section::Text(None))) => true,
        (Part::HeaderFields(fields), Some(Section::HeaderFields(None, got))) => got
            .as_ref()
            .iter()
            .map(AsRef::as_ref)
            .eq(fields.iter().map(|field| field.as_bytes())),
        (Part::Section(path), Some(Section::Part(TheirPart(got)))) => got
            .as_ref()
            .iter()
            .map(|number| number.get())
            .eq(path.iter().copied()),
        _ => false,
    }
}

#[test]
fn commands_without_arguments() {
    check(&Command::capability(), |body| {
        *body == CommandBody::Capability
    });
    check(&Command::noop(), |body| *body == CommandBody::Noop);
    check(&Command::logout(), |body| *body == CommandBody::Logout);
    check(&Command::starttls(), |body| *body == CommandBody::StartTLS);
    check(
        &Command::list_all(ListReturn::default()),
        |body| matches!(body, CommandBody::List { reference, mailbox_wildcard: ListMailbox::String(got) } if is_mailbox(reference, "") && istring(got) == b"*"),
    );
}

#[test]
fn lists_with_return_options() {
    for special_use in [false, true] {
        for status in [false, true] {
            let list = Command::list_all(ListReturn {
                special_use,
                status,
            });
            tokens(&wire(&list, Literals::Wait));
        }
    }
}

proptest! {
    #[test]
    fn logins(user in hostile(), password in hostile()) {
        let command = Command::login(&user, &password);
        if has_nul(&[&user, &password]) {
            prop_assert_eq!(command, Err(BadArgument));
            return Ok(());
        }
        let command = command.unwrap();
        check_tokens(&command, &[word("LOGIN"), argument(&user), argument(&password)]);
        check(&command, |body| match body {
            CommandBody::Login { username, password: secret } => {
                astring(user.as_bytes())(username) && astring(password.as_bytes())(secret.declassify())
            }
            _ => false,
        });
    }

    #[test]
    fn plain_authentication(user in hostile(), password in hostile()) {
        let now = Command::authenticate_plain(&user, &password, InitialResponse::InCommand);
        let later = Command::authenticate_plain(&user, &password, InitialResponse::AfterContinuation);
        if has_nul(&[&user, &password]) {
            prop_assert_eq!(now, Err(BadArgument));
            prop_assert_eq!(later, Err(BadArgument));
            return Ok(());
        }
        let want = format!("\0{user}\0{password}").into_bytes();
        check(&now.unwrap(), |body| match body {
            CommandBody::Authenticate { mechanism: AuthMechanism::Plain, initial_response: Some(got) } => {
                **got.declassify() == want
            }
            _ => false,
        });
        let bytes = wire(&later.unwrap(), Literals::Wait);
        let (body, rest) = decode(&bytes);
        let waits = matches!(body, CommandBody::Authenticate { mechanism: AuthMechanism::Plain, initial_response: None });
        prop_assert!(waits);
        let (rest, data) = AuthenticateDataCodec::default().decode(rest).unwrap();
        prop_assert!(rest.is_empty());
        let AuthenticateData::Continue(got) = data else { panic!("cancelled") };
        prop_assert_eq!(&**got.declassify(), want.as_slice());
    }

    #[test]
    fn identities(fields in prop::collection::vec((hostile(), hostile()), 0..4)) {
        let pairs: Vec<(&str, &str)> = fields.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect();
        let command = Command::id(&pairs);
        if pairs.iter().any(|(a, b)| has_nul(&[a, b])) {
            prop_assert_eq!(command, Err(BadArgument));
            return Ok(());
        }
        check(&command.unwrap(), |body| match body {
            CommandBody::Id { parameters } => {
                let got = parameters.iter().flatten().map(|(name, value)| {
                    let value = value.0.as_ref().map(istring).unwrap();
                    (istring(name), value)
                });
                got.eq(pairs.iter().map(|(a, b)| (a.as_bytes(), b.as_bytes())))
            }
            _ => false,
        });
    }

    #[test]
    fn mailboxes(name in hostile()) {
        let examine = Command::examine(&name);
        if has_nul(&[&name]) {
            prop_assert_eq!(examine, Err(BadArgument));
            return Ok(());
        }
        let examine = examine.unwrap();
        check_tokens(&examine, &[word("EXAMINE"), argument(&utf7::encode(&name))]);
        check(&examine, |body| matches!(body, CommandBody::Examine { mailbox, .. } if is_mailbox(mailbox, &name)));
    }

    #[test]
    fn plain_searches(keys in keys()) {
        let ours: Vec<Key<'_>> = keys.iter().map(OwnKey::key).collect();
        let command = Command::uid_search(SearchReturn::Plain, &ours);
        if keys.iter().any(|key| has_nul(&[&key.text()])) {
            prop_assert_eq!(command, Err(BadArgument));
            return Ok(());
        }
        check(&command.unwrap(), |body| match body {
            CommandBody::Search { charset, criteria, uid: true } => {
                let foreign = keys.iter().any(|key| !key.text().is_ascii());
                let utf8 = Charset::try_from("UTF-8").unwrap();
                let all = [OwnKey::All];
                let want = if keys.is_empty() { &all[..] } else { &keys };
                *charset == foreign.then_some(utf8)
                    && criteria.as_ref().len() == want.len()
                    && want.iter().zip(criteria.as_ref()).all(|(want, got)| want.is(got))
            }
            _ => false,
        });
    }

    #[test]
    fn searches_with_return_options(keys in keys(), newest in any::<u32>()) {
        let ours: Vec<Key<'_>> = keys.iter().map(OwnKey::key).collect();
        let foreign = keys.iter().any(|key| !key.text().is_ascii());
        for (returns, options) in [
            (SearchReturn::CountAll, "COUNT ALL".to_owned()),
            (SearchReturn::Count, "COUNT".to_owned()),
            (SearchReturn::Newest(newest), format!("COUNT PARTIAL -1:-{}", newest.max(1))),
        ] {
            let command = Command::uid_search(returns, &ours);
            if keys.iter().any(|key| has_nul(&[&key.text()])) {
                prop_assert_eq!(command, Err(BadArgument));
                return Ok(());
            }
            let mut want = vec![word("UID"), word("SEARCH"), word("RETURN"), word("(")];
            want.extend(options.split(' ').map(word));
            want.push(word(")"));
            if foreign {
                want.extend([word("CHARSET"), word("UTF-8")]);
            }
            want.extend(keys.iter().flat_map(OwnKey::tokens));
            if keys.is_empty() {
                want.push(word("ALL"));
            }
            check_tokens(&command.unwrap(), &want);
        }
    }

    #[test]
    fn fetches(numbers in set(), items in items()) {
        for (command, by_uid) in [
            (Command::uid_fetch(&numbers, &items), true),
            (Command::fetch(&numbers, &items), false),
        ] {
            check(&command, |body| match body {
                CommandBody::Fetch { sequence_set, macro_or_item_names: MacroOrMessageDataItemNames::MessageDataItemNames(names), uid, modifiers } => {
                    let [MessageDataItemName::Uid, rest @ ..] = names.as_slice() else { return false };
                    *uid == by_uid
                        && modifiers.is_empty()
                        && is_set(sequence_set, &numbers)
                        && rest.len() == items.len()
                        && items.iter().zip(rest).all(|(want, got)| is_item(want, got))
                }
                _ => false,
            });
        }
    }
}

/// What the types allow and the grammar does not is still sent as a command that a server can read.
#[test]
fn arguments_at_the_edge_of_the_grammar() {
    let none = SequenceSet::default();
    let keys = [Key::Uid(none), Key::Any(vec![])];
    let command = Command::uid_search(SearchReturn::Plain, &keys).unwrap();
    check(&command, |body| match body {
        CommandBody::Search { criteria, .. } => {
            criteria.as_ref().len() == 2 && criteria.as_ref().iter().all(OwnKey::is_nothing)
        }
        _ => false,
    });
    for day in [0, 31, 255] {
        let day = Day {
            year: u16::MAX,
            month: 0,
            day,
        };
        let command = Command::uid_search(SearchReturn::Plain, &[Key::Since(day)]).unwrap();
        check(&command, |body| matches!(body, CommandBody::Search { .. }));
    }
}
