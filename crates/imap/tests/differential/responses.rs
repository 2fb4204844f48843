//! Every response that imap-codec can write is read by us with the same values.

use std::num::{NonZeroU32, NonZeroU64};

use bytes::Bytes;
use imap::{Data, Fetch, Framer, Leaf, Limits, Response, StatusKind};
use imap_codec::ResponseCodec;
use imap_codec::decode::Decoder;
use imap_codec::encode::Encoder;
use imap_codec::imap_types::IntoStatic;
use imap_codec::imap_types::body::{
    BasicFields, Body, BodyExtension, BodyStructure, Disposition, Language, Location,
    MultiPartExtensionData, SinglePartExtensionData, SpecificFields,
};
use imap_codec::imap_types::core::{
    AString, Atom, IString, Literal, NString, Quoted, QuotedChar, Tag, Vec1,
};
use imap_codec::imap_types::envelope as theirs;
use imap_codec::imap_types::fetch::{MessageDataItem, Part, Section};
use imap_codec::imap_types::flag::{Flag, FlagFetch, FlagNameAttribute};
use imap_codec::imap_types::mailbox::Mailbox;
use imap_codec::imap_types::response::{
    Capability, Code, Data as TheirData, Response as TheirResponse, Status,
};
use imap_codec::imap_types::sequence::SequenceSet as TheirSet;
use imap_codec::imap_types::status::StatusDataItem;
use proptest::prelude::*;

/// Encoded by them, cut and read by us: one response, whole and octet by octet.
fn read(response: TheirResponse<'_>) -> Response {
    let limits = Limits::default();
    let bytes = ResponseCodec::default().encode(&response).dump();
    let mut framer = Framer::new(limits);
    framer.feed(&bytes);
    let frame = framer.next_response().unwrap().unwrap();
    assert_eq!(frame, bytes);
    let mut slow = Framer::new(limits);
    let (last, head) = bytes.split_last().unwrap();
    for octet in head {
        slow.feed(&[*octet]);
        assert_eq!(slow.next_response(), Ok(None));
    }
    slow.feed(&[*last]);
    assert_eq!(slow.next_response(), Ok(Some(frame.clone())));
    Response::parse(&frame, &limits)
}

fn read_data(data: TheirData<'_>) -> Data {
    let shown = format!("{data:?}");
    match read(TheirResponse::Data(data)) {
        Response::Untagged(data) => data,
        other => panic!("{shown} read as {other:?}"),
    }
}

fn read_fetch(items: Vec<MessageDataItem<'_>>) -> Fetch {
    let seq = NonZeroU32::MIN;
    let items = Vec1::try_from(items).unwrap();
    match read_data(TheirData::Fetch { seq, items }) {
        Data::Fetch(fetch) => *fetch,
        other => panic!("no fetch: {other:?}"),
    }
}

fn istring() -> BoxedStrategy<IString<'static>> {
    prop_oneof![
        "[ -~]{0,20}".prop_map(|text| IString::Quoted(Quoted::try_from(text).unwrap())),
        "[\"\\\\(){}\\[\\] NIL]{0,8}"
            .prop_map(|text| IString::Quoted(Quoted::try_from(text).unwrap())),
        prop::collection::vec(1u8.., 0..30)
            .prop_map(|bytes| IString::Literal(Literal::try_from(bytes).unwrap())),
        "(\\)|\\{3\\}\r\n|\r\n|\\* 1 EXISTS\r\n|\"|UID 6 ){0,5}"
            .prop_map(|text| IString::Literal(Literal::try_from(text).unwrap())),
    ]
    .boxed()
}

fn nstring() -> BoxedStrategy<NString<'static>> {
    prop::option::of(istring()).prop_map(NString).boxed()
}

fn octets(text: &IString<'_>) -> Bytes {
    Bytes::copy_from_slice(text.as_ref())
}

fn maybe(text: &NString<'_>) -> Option<Bytes> {
    text.0.as_ref().map(octets)
}

fn lower(text: &IString<'_>) -> String {
    String::from_utf8_lossy(text.as_ref()).to_ascii_lowercase()
}

fn atom() -> BoxedStrategy<Atom<'static>> {
    "[A-Za-z0-9$=+.:/_\\[-]{1,12}"
        .prop_map(|text| Atom::try_from(text).unwrap())
        .boxed()
}

fn envelope() -> BoxedStrategy<theirs::Envelope<'static>> {
    let address =
        (nstring(), nstring(), nstring(), nstring()).prop_map(|(name, adl, mailbox, host)| {
            theirs::Address {
                name,
                adl,
                mailbox,
                host,
            }
        });
    let people = || prop::collection::vec(address.clone(), 0..3);
    (
        (nstring(), nstring(), nstring(), nstring()),
        (people(), people(), people(), people(), people(), people()),
    )
        .prop_map(
            |((date, subject, in_reply_to, message_id), (from, sender, reply_to, to, cc, bcc))| {
                theirs::Envelope {
                    date,
                    subject,
                    from,
                    sender,
                    reply_to,
                    to,
                    cc,
                    bcc,
                    in_reply_to,
                    message_id,
                }
            },
        )
        .boxed()
}

type Parameters = Vec<(IString<'static>, IString<'static>)>;

fn parameters() -> BoxedStrategy<Parameters> {
    prop::collection::vec((istring(), istring()), 0..3).boxed()
}

fn disposition() -> BoxedStrategy<Option<Disposition<'static>>> {
    let extension = prop_oneof![
        nstring().prop_map(BodyExtension::NString),
        any::<u32>().prop_map(BodyExtension::Number),
        nstring().prop_map(|text| BodyExtension::List(Vec1::from(BodyExtension::NString(text)))),
    ];
    let location =
        (nstring(), prop::collection::vec(extension, 0..3)).prop_map(|(location, extensions)| {
            Location {
                location,
                extensions,
            }
        });
    let language = (
        prop::collection::vec(istring(), 0..3),
        prop::option::of(location),
    )
        .prop_map(|(language, tail)| Language { language, tail });
    let name = prop_oneof![Just("attachment"), Just("INLINE"), Just("x-odd")]
        .prop_map(|name| IString::try_from(name).unwrap());
    let disposition = prop::option::of((prop_oneof![name, istring()], parameters()));
    prop::option::of(
        (disposition, prop::option::of(language))
            .prop_map(|(disposition, tail)| Disposition { disposition, tail }),
    )
    .boxed()
}

fn basic() -> BoxedStrategy<BasicFields<'static>> {
    (parameters(), nstring(), nstring(), istring(), any::<u32>())
        .prop_map(
            |(parameter_list, id, description, content_transfer_encoding, size)| BasicFields {
                parameter_list,
                id,
                description,
                content_transfer_encoding,
                size,
            },
        )
        .boxed()
}

fn single(
    specific: impl Strategy<Value = SpecificFields<'static>> + 'static,
) -> BoxedStrategy<BodyStructure<'static>> {
    let extension = prop::option::of(
        (nstring(), disposition()).prop_map(|(md5, tail)| SinglePartExtensionData { md5, tail }),
    );
    (basic(), specific, extension)
        .prop_map(|(basic, specific, extension_data)| BodyStructure::Single {
            body: Body { basic, specific },
            extension_data,
        })
        .boxed()
}

fn structure() -> BoxedStrategy<BodyStructure<'static>> {
    let word = || "[A-Za-z0-9.+-]{1,12}".prop_map(|text| IString::try_from(text).unwrap());
    let kind = prop_oneof![
        Just("image"),
        Just("APPLICATION"),
        Just("message"),
        Just("x-y")
    ]
    .prop_map(|kind| IString::try_from(kind).unwrap());
    let text = (word(), any::<u32>()).prop_map(|(subtype, number_of_lines)| SpecificFields::Text {
        subtype,
        number_of_lines,
    });
    let other =
        (kind, word()).prop_map(|(r#type, subtype)| SpecificFields::Basic { r#type, subtype });
    let leaf = prop_oneof![single(text), single(other)].boxed();
    leaf.prop_recursive(4, 16, 3, move |inner| {
        let message = (envelope(), inner.clone(), any::<u32>()).prop_map(
            |(envelope, body_structure, number_of_lines)| SpecificFields::Message {
                envelope: Box::new(envelope),
                body_structure: Box::new(body_structure),
                number_of_lines,
            },
        );
        let extension = prop::option::of((parameters(), disposition()).prop_map(
            |(parameter_list, tail)| MultiPartExtensionData {
                parameter_list,
                tail,
            },
        ));
        let multi = (prop::collection::vec(inner, 1..4), word(), extension).prop_map(
            |(bodies, subtype, extension_data)| BodyStructure::Multi {
                bodies: Vec1::try_from(bodies).unwrap(),
                subtype,
                extension_data,
            },
        );
        prop_oneof![1 => single(message), 3 => multi]
    })
    .boxed()
}

/// The leaves that we should find, `group` aside.
fn leaves(one: &BodyStructure<'_>, path: &[u32], within: Option<&str>, out: &mut Vec<Leaf>) {
    match one {
        BodyStructure::Single {
            body,
            extension_data,
        } => {
            let mime_type = match &body.specific {
                SpecificFields::Basic { r#type, subtype } => {
                    format!("{}/{}", lower(r#type), lower(subtype))
                }
                SpecificFields::Message { .. } => "message/rfc822".to_owned(),
                SpecificFields::Text { subtype, .. } => format!("text/{}", lower(subtype)),
            };
            let named = |list: &[(IString<'_>, IString<'_>)]| {
                let pairs = list.iter();
                pairs
                    .map(|(name, value)| (lower(name), octets(value)))
                    .collect()
            };
            let tail = extension_data.as_ref().and_then(|data| data.tail.as_ref());
            let disposition = tail.and_then(|tail| tail.disposition.as_ref());
            out.push(Leaf {
                section: if path.is_empty() {
                    vec![1]
                } else {
                    path.to_vec()
                },
                mime_type,
                within: within.map(str::to_owned),
                parameters: named(&body.basic.parameter_list),
                id: maybe(&body.basic.id),
                encoding: lower(&body.basic.content_transfer_encoding),
                octets: body.basic.size.into(),
                disposition: disposition.map(|(name, _)| lower(name)),
                disposition_parameters: disposition.map_or(Vec::new(), |(_, list)| named(list)),
            });
        }
        BodyStructure::Multi {
            bodies, subtype, ..
        } => {
            for (body, number) in bodies.as_ref().iter().zip(1u32..) {
                let path: Vec<u32> = path.iter().copied().chain([number]).collect();
                leaves(body, &path, Some(&lower(subtype)), out);
            }
        }
    }
}

fn internal_date() -> BoxedStrategy<MessageDataItem<'static>> {
    let zone = prop_oneof![Just("+0000"), Just("-0700"), Just("+0545"), Just("+1400")];
    (1u8..=28, 0usize..12, 1900u16..2200, 0u8..24, 0u8..60, zone).prop_map(
        |(day, month, year, hour, minute, zone)| {
            let months = [
                "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
            ];
            let month = months.get(month).unwrap();
            let line = format!(
                "* 1 FETCH (INTERNALDATE \"{day:2}-{month}-{year} {hour:02}:{minute:02}:07 {zone}\")\r\n"
            );
            let (_, response) = ResponseCodec::default().decode(line.as_bytes()).unwrap();
            match response.into_static() {
                TheirResponse::Data(TheirData::Fetch { items, .. }) => {
                    items.into_inner().pop().unwrap()
                }
                other => panic!("{other:?}"),
            }
        },
    )
    .boxed()
}

fn flag() -> BoxedStrategy<Flag<'static>> {
    prop_oneof![
        Just(Flag::Seen),
        Just(Flag::Deleted),
        atom().prop_map(Flag::keyword)
    ]
    .boxed()
}

fn section() -> BoxedStrategy<(Option<Section<'static>>, String)> {
    let path = prop::collection::vec(1u32..30, 1..4);
    let part = |path: &[u32]| {
        let path: Vec<NonZeroU32> = path.iter().map(|n| NonZeroU32::new(*n).unwrap()).collect();
        Part(Vec1::try_from(path).unwrap())
    };
    let named = |path: &[u32]| {
        path.iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(".")
    };
    prop_oneof![
        Just((None, String::new())),
        Just((Some(Section::Header(None)), "HEADER".to_owned())),
        Just((Some(Section::Text(None)), "TEXT".to_owned())),
        path.clone()
            .prop_map(move |path| (Some(Section::Part(part(&path))), named(&path))),
        path.prop_map(move |path| (
            Some(Section::Mime(part(&path))),
            format!("{}.MIME", named(&path))
        )),
        // Quoted by them where it must be; we take the quotes off.
        prop::collection::vec("[A-Za-z-]{1,9}", 1..4).prop_map(|names| {
            let fields: Vec<AString<'_>> = names
                .iter()
                .cloned()
                .map(|n| AString::try_from(n).unwrap())
                .collect();
            let name = format!("HEADER.FIELDS ({})", names.join(" ").to_ascii_uppercase());
            (
                Some(Section::HeaderFields(None, Vec1::try_from(fields).unwrap())),
                name,
            )
        }),
    ]
    .boxed()
}

fn mailbox() -> BoxedStrategy<Mailbox<'static>> {
    prop_oneof![
        Just("INBOX".to_owned()),
        Just("nil".to_owned()),
        "[ -~]{1,20}",
        "[a-z\"\\\\(){}\r\n]{1,9}",
    ]
    .prop_map(|name| Mailbox::try_from(name).unwrap())
    .boxed()
}

fn mailbox_name(mailbox: &Mailbox<'_>) -> Vec<u8> {
    match mailbox {
        Mailbox::Inbox => b"INBOX".to_vec(),
        Mailbox::Other(other) => other.inner().as_ref().to_vec(),
    }
}

fn numbers() -> BoxedStrategy<Vec<NonZeroU32>> {
    prop::collection::vec((1u32..).prop_map(|n| NonZeroU32::new(n).unwrap()), 0..40).boxed()
}

fn set_of(numbers: &[NonZeroU32]) -> imap::SequenceSet {
    imap::SequenceSet::of(numbers.iter().map(|n| n.get()))
}

proptest! {
    #[test]
    fn structures(want in structure(), extended in any::<bool>()) {
        let mut expected = Vec::new();
        leaves(&want, &[], None, &mut expected);
        let item = if extended { MessageDataItem::BodyStructure } else { MessageDataItem::Body };
        let found = read_fetch(vec![item(want)]).structure.unwrap();
        prop_assert_eq!(found.leaves, expected);
        prop_assert!(!found.cut);
    }

    #[test]
    fn fetches(
        (uid, size, modseq) in (1u32.., any::<u32>(), 1u64..),
        flags in prop::collection::vec(flag(), 0..5),
        date in internal_date(),
        sections in prop::collection::vec((section(), prop::option::of(any::<u32>()), nstring()), 0..4),
        envelope in envelope(),
        structure in structure(),
        turn in any::<prop::sample::Index>(),
    ) {
        let mut items = vec![
            MessageDataItem::Uid(NonZeroU32::new(uid).unwrap()),
            MessageDataItem::Flags(flags.iter().cloned().map(FlagFetch::Flag).collect()),
            MessageDataItem::Rfc822Size(size),
            MessageDataItem::ModSeq(NonZeroU64::new(modseq).unwrap()),
            date.clone(),
            MessageDataItem::Envelope(envelope.clone()),
            MessageDataItem::BodyStructure(structure),
            MessageDataItem::Rfc822Text(NString(None)),
        ];
        items.extend(sections.iter().map(|((section, _), origin, data)| MessageDataItem::BodyExt {
            section: section.clone(),
            origin: *origin,
            data: data.clone(),
        }));
        let turn = turn.index(items.len());
        items.rotate_left(turn);
        let fetch = read_fetch(items);
        prop_assert_eq!(fetch.uid, Some(uid));
        prop_assert_eq!(fetch.size, Some(size.into()));
        prop_assert_eq!(fetch.modseq, Some(modseq));
        let MessageDataItem::InternalDate(date) = date else { panic!("no date") };
        prop_assert_eq!(fetch.internal_date, Some(date.as_ref().timestamp()));
        prop_assert_eq!(fetch.flags, Some(flags.iter().map(ToString::to_string).collect()));
        prop_assert!(fetch.structure.is_some());
        let mut other = fetch.other;
        other.sort();
        prop_assert_eq!(other, ["ENVELOPE", "RFC822.TEXT"]);
        let mut got: Vec<_> = fetch.sections.into_iter().map(|s| (s.section, s.origin, s.data)).collect();
        let mut want: Vec<_> = sections.iter().map(|((_, name), origin, data)| (name.clone(), *origin, maybe(data))).collect();
        got.sort();
        want.sort();
        prop_assert_eq!(got, want);
    }

    #[test]
    fn lists(
        attributes in prop::collection::vec(atom(), 0..4),
        delimiter in prop::option::of("[ -~]"),
        mailbox in mailbox(),
    ) {
        let delimiter = delimiter.and_then(|text| text.chars().next());
        let items: Vec<FlagNameAttribute<'_>> = attributes.into_iter().map(FlagNameAttribute::from).collect();
        let data = read_data(TheirData::List {
            items: items.clone(),
            delimiter: delimiter.map(|c| QuotedChar::try_from(c).unwrap()),
            mailbox: mailbox.clone(),
        });
        let Data::List(list) = data else { panic!("no list: {data:?}") };
        prop_assert_eq!(list.attributes, items.iter().map(ToString::to_string).collect::<Vec<_>>());
        prop_assert_eq!(list.delimiter, delimiter);
        prop_assert_eq!(list.name, mailbox_name(&mailbox));
    }

    #[test]
    fn mailbox_statuses(mailbox in mailbox(), (messages, unseen, next, validity) in (any::<u32>(), any::<u32>(), 1u32.., 1u32..), storage in any::<u64>()) {
        let items = vec![
            StatusDataItem::DeletedStorage(storage),
            StatusDataItem::Messages(messages),
            StatusDataItem::HighestModSeq(storage),
            StatusDataItem::Unseen(unseen),
            StatusDataItem::UidNext(NonZeroU32::new(next).unwrap()),
            StatusDataItem::UidValidity(NonZeroU32::new(validity).unwrap()),
        ];
        let data = read_data(TheirData::Status { mailbox: mailbox.clone(), items: items.into() });
        let Data::MailboxStatus(status) = data else { panic!("no status: {data:?}") };
        prop_assert_eq!(status.name, mailbox_name(&mailbox));
        prop_assert_eq!(status.messages, Some(messages.into()));
        prop_assert_eq!(status.unseen, Some(unseen.into()));
        prop_assert_eq!(status.uidnext, Some(next.into()));
        prop_assert_eq!(status.uidvalidity, Some(validity.into()));
    }

    #[test]
    fn searches(numbers in numbers(), modseq in prop::option::of(1u64..)) {
        let modseq = modseq.and_then(NonZeroU64::new);
        let data = read_data(TheirData::Search(numbers.clone(), modseq));
        prop_assert_eq!(data, Data::Search(set_of(&numbers)));
    }

    #[test]
    fn vanished(numbers in numbers(), earlier in any::<bool>()) {
        let Ok(known_uids) = TheirSet::try_from(numbers.clone()) else { return Ok(()) };
        let data = read_data(TheirData::Vanished { earlier, known_uids });
        prop_assert_eq!(data, Data::Vanished(set_of(&numbers)));
    }

    #[test]
    fn capabilities(atoms in prop::collection::vec(atom(), 1..9)) {
        let names: Vec<Capability<'_>> = atoms.into_iter().map(Capability::from).collect();
        let want: Vec<String> = names.iter().map(|name| name.to_string().to_ascii_uppercase()).collect();
        let data = read_data(TheirData::Capability(Vec1::try_from(names.clone()).unwrap()));
        let Data::Capability(got) = data else { panic!("no capabilities: {data:?}") };
        prop_assert_eq!(got.names(), &want);
        let code = Code::Capability(Vec1::try_from(names).unwrap());
        let status = Status::ok(None, Some(code), "ready").unwrap();
        let Response::Untagged(Data::Status(status)) = read(TheirResponse::Status(status)) else { panic!("no status") };
        prop_assert_eq!(status.code.unwrap().capabilities(), Some(got));
    }

    #[test]
    fn sizes(number in any::<u32>()) {
        prop_assert_eq!(read_data(TheirData::Exists(number)), Data::Exists(number));
        if let Some(number) = NonZeroU32::new(number) {
            prop_assert_eq!(read_data(TheirData::Expunge(number)), Data::Expunge(number.get()));
        }
    }

    #[test]
    fn statuses(tag in prop::option::of("[a-z0-9]{1,6}"), number in 1u32.., text in "[ -Z^-~]{1,40}|[a-z]{1,5} \\{[0-9]{1,3}\\}", kind in 0..3) {
        let number = NonZeroU32::new(number).unwrap();
        for (code, want) in [
            (None, None),
            (Some(Code::ReadOnly), Some(("READ-ONLY", String::new()))),
            (Some(Code::UidNext(number)), Some(("UIDNEXT", number.to_string()))),
            (Some(Code::AppendUid { uid_validity: number, uid: number }), Some(("APPENDUID", format!("{number} {number}")))),
        ] {
            let theirs = tag.as_ref().map(|tag| Tag::try_from(tag.as_str()).unwrap());
            let (status, kind) = match kind {
                0 => (Status::ok(theirs, code, text.as_str()), StatusKind::Ok),
                1 => (Status::no(theirs, code, text.as_str()), StatusKind::No),
                _ => (Status::bad(theirs, code, text.as_str()), StatusKind::Bad),
            };
            let (got_tag, got) = match read(TheirResponse::Status(status.unwrap())) {
                Response::Tagged(tag, status) => (Some(tag), status),
                Response::Untagged(Data::Status(status)) => (None, status),
                other => panic!("{other:?}"),
            };
            prop_assert_eq!(got_tag, tag.clone().map(Bytes::from));
            prop_assert_eq!(got.kind, kind);
            prop_assert_eq!(got.code.map(|c| (c.name, c.arguments)), want.map(|(n, a)| (n.to_owned(), Bytes::from(a))));
            prop_assert_eq!(got.text.trim_ascii(), text.as_bytes().trim_ascii());
        }
    }
}
