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
    /// Missing fields are absent; a list that is too short costs only its missing end.
    pub(crate) fn read(frame: &Bytes, value: &Value<'_>) -> Option<Self> {
        let fields = value.list()?;
        let string = |index: usize| fields.get(index).and_then(|field| field.owned(frame));
        let people = |index: usize| {
            let list = fields.get(index).and_then(Value::list).unwrap_or_default();
            list.iter()
                .filter_map(|one| Address::read(frame, one))
                .collect()
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
    fn read(frame: &Bytes, value: &Value<'_>) -> Option<Self> {
        let fields = value.list()?;
        let string = |index: usize| fields.get(index).and_then(|field| field.owned(frame));
        Some(Self {
            name: string(0),
            mailbox: string(2),
            host: string(3),
        })
    }
}
