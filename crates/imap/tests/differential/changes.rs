//! Every command that changes mail, with hostile arguments, does that to those messages and to nothing else.

use imap::command::{FlagName, Stored, Which};
use imap::{BadArgument, Command, Connection, Limits, Literals, SequenceSet};
use imap_codec::CommandCodec;
use imap_codec::decode::Decoder;
use imap_codec::imap_types::command::CommandBody;
use imap_codec::imap_types::extensions::binary::LiteralOrLiteral8;
use imap_codec::imap_types::flag::{StoreResponse, StoreType};
use proptest::prelude::*;

use crate::commands::{check, has_nul, hostile, is_mailbox, set};

/// A command with a message on board, as the server gets it.
fn append_wire(command: &Command, literals: Literals, message: &[u8]) -> Vec<u8> {
    let mut connection = Connection::new(Limits::default());
    connection.use_literals(literals);
    connection.push(command);
    let mut all = Vec::new();
    loop {
        all.extend_from_slice(&connection.outgoing());
        if connection.owes().is_some() {
            all.extend_from_slice(message);
            let octets = u64::try_from(message.len()).unwrap();
            assert_eq!(connection.streamed(octets), Ok(()));
            all.extend_from_slice(&connection.outgoing());
            return all;
        }
        connection.feed(b"+ go\r\n");
        assert_eq!(connection.poll(), Ok(None));
    }
}

fn same_set(ours: &SequenceSet, theirs: &impl ToString) -> bool {
    ours.to_string() == theirs.to_string()
}

fn spelled(set: &imap_codec::imap_types::sequence::SequenceSet) -> String {
    use imap_codec::imap_types::sequence::{SeqOrUid, Sequence};
    let number = |one: &SeqOrUid| match one {
        SeqOrUid::Value(value) => value.to_string(),
        SeqOrUid::Asterisk => "*".to_owned(),
    };
    let each = set.0.as_ref().iter().map(|one| match one {
        Sequence::Single(one) => number(one),
        Sequence::Range(first, last) => format!("{}:{}", number(first), number(last)),
    });
    each.collect::<Vec<_>>().join(",")
}

proptest! {
    #[test]
    fn folders_and_messages_are_those_that_were_named(name in hostile(), uids in set()) {
        let which = Which::Uids(uids.clone());
        let commands = [
            Command::select(&name),
            Command::status(&name),
            Command::uid_copy(&which, &name),
            Command::uid_move(&which, &name),
        ];
        for command in commands {
            if has_nul(&[&name]) {
                prop_assert_eq!(command, Err(BadArgument));
                continue;
            }
            check(&command.unwrap(), |body| match body {
                CommandBody::Select { mailbox, .. } | CommandBody::Status { mailbox, .. } => {
                    is_mailbox(mailbox, &name)
                }
                CommandBody::Copy { sequence_set, mailbox, uid: true }
                | CommandBody::Move { sequence_set, mailbox, uid: true } => {
                    is_mailbox(mailbox, &name) && same_set(&uids, &spelled(sequence_set))
                }
                _ => false,
            });
        }
        check(&Command::uid_expunge(&which).unwrap(), |body| {
            matches!(body, CommandBody::ExpungeUid { sequence_set } if same_set(&uids, &spelled(sequence_set)))
        });
    }

    #[test]
    fn flags_are_those_that_were_named(names in prop::collection::vec(hostile(), 1..5), uids in set()) {
        let flags: Vec<FlagName> = names.iter().filter_map(|name| FlagName::new(name).ok()).collect();
        let which = Which::Uids(uids);
        for (stored, want) in [(Stored::Added, StoreType::Add), (Stored::Removed, StoreType::Remove)] {
            let command = Command::uid_store(&which, stored, &flags).unwrap();
            check(&command, |body| match body {
                CommandBody::Store { kind, response: StoreResponse::Answer, flags: got, uid: true, .. } => {
                    let same = got.iter().zip(&flags);
                    let same = same.filter(|(got, flag)| got.to_string().eq_ignore_ascii_case(&flag.to_string()));
                    *kind == want && got.len() == flags.len() && same.count() == flags.len()
                }
                _ => false,
            });
        }
    }

    #[test]
    fn messages_are_what_they_are(name in "[a-zA-Z \"ü&]{1,20}", octets in prop::collection::vec(1u8.., 1..200), date in 0i64..253_402_300_799) {
        let flags = [FlagName::new("\\Seen").unwrap()];
        let size = u64::try_from(octets.len()).unwrap();
        let command = Command::append(&name, &flags, Some(date), size).unwrap();
        for literals in [Literals::Wait, Literals::Minus, Literals::Plus] {
            let wire = append_wire(&command, literals, &octets);
            let (rest, got) = CommandCodec::default().decode(&wire).unwrap();
            prop_assert!(rest.is_empty());
            match got.body {
                CommandBody::Append { mailbox, flags, date: Some(at), message: LiteralOrLiteral8::Literal(message) } => {
                    prop_assert!(is_mailbox(&mailbox, &name));
                    prop_assert_eq!(flags.len(), 1);
                    prop_assert_eq!(at.as_ref().timestamp(), date);
                    prop_assert_eq!(message.data(), &octets);
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}
