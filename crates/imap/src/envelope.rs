//! The typed view of `ENVELOPE` (RFC 3501 section 7.4.2). Strings stay as the server sent them.

use bytes::Bytes;

use crate::Value;

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Envelope {
    pub date: Option<Bytes>,
    pub subject: Option<Bytes>,
    pub from: Vec<Address>,
    pub sender: Vec<Address>,
    pub reply_to: Vec<Address>,
    pub to: Vec<Address>,
    pub cc: Vec<Address>,
    pub bcc: Vec<Address>,
    pub in_reply_to: Option<Bytes>,
    pub message_id: Option<Bytes>,
}

#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Address {
    pub name: Option<Bytes>,
    pub mailbox: Option<Bytes>,
    pub host: Option<Bytes>,
}

impl Envelope {
    pub(crate) fn stored_values(&self) -> usize {
        let lists = [
            &self.from,
            &self.sender,
            &self.reply_to,
            &self.to,
            &self.cc,
            &self.bcc,
        ];
        6 + lists.iter().map(|list| 2 * list.len()).sum::<usize>()
    }

    /// Missing fields are absent; a list that is too short costs only its missing end. An address that cannot be read,
    /// or a list of them, stands as [`Address::unreadable`]: whoever needs all of them sees that one is missing.
    pub(crate) fn read(frame: &Bytes, value: &Value<'_>) -> Option<Self> {
        let fields = value.list()?;
        let string = |index: usize| fields.get(index).and_then(|field| field.owned(frame));
        let people = |index: usize| match fields.get(index) {
            // QUIRK: an empty string for an empty list.
            Some(none) if none.is_nil() || none.string() == Some(b"") => Vec::new(),
            Some(Value::List(list)) => list.iter().map(|one| Address::read(frame, one)).collect(),
            _ => vec![Address::unreadable()],
        };
        Some(Self {
            date: string(0),
            subject: string(1),
            from: people(2),
            sender: people(3),
            reply_to: people(4),
            to: people(5),
            cc: people(6),
            bcc: people(7),
            in_reply_to: string(8),
            message_id: string(9),
        })
    }
}

impl Address {
    /// One that was there and could not be read: no mailbox, and a host that is empty, unlike that of a group's mark.
    fn unreadable() -> Self {
        Self {
            host: Some(Bytes::new()),
            ..Self::default()
        }
    }

    fn read(frame: &Bytes, value: &Value<'_>) -> Self {
        let Value::List(fields) = value else {
            return Self::unreadable();
        };
        // Else it could be taken for a group's mark, which has no host.
        let whole = |index: usize| {
            let field = fields.get(index);
            field.is_some_and(|field| field.is_nil() || field.string().is_some())
        };
        if !whole(2) || !whole(3) {
            return Self::unreadable();
        }
        let string = |index: usize| fields.get(index).and_then(|field| field.owned(frame));
        Self {
            name: string(0),
            mailbox: string(2),
            host: string(3),
        }
    }
}
