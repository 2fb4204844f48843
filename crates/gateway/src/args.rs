//! Arguments: types that a wrong value cannot get into, each with the schema that says so.
//!
//! The schema is for the caller's eyes; the check is here, in `Deserialize`.

use std::borrow::Cow;

use jiff::civil::Date;
use ledger::TransactionId;
use mail::{AccountId, BadFolderName, Domain, Flag, FolderName, MailAddress, MessageRef, Section};
use policy::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

/// A whole number within bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Within<const LOW: u32, const HIGH: u32>(pub u32);

impl<'de, const LOW: u32, const HIGH: u32> Deserialize<'de> for Within<LOW, HIGH> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let bounds = || de::Error::custom(format!("must be a whole number from {LOW} to {HIGH}"));
        let value = serde_json::Value::deserialize(from)?;
        // JSON knows no integers: 5.0 is 5.
        let whole = value
            .as_f64()
            .filter(|n| n.fract() == 0.0 && (0.0..=4e9).contains(n));
        let number = value
            .as_u64()
            .or(whole.map(|n| n as u64))
            .ok_or_else(bounds)?;
        match u32::try_from(number) {
            Ok(number) if (LOW..=HIGH).contains(&number) => Ok(Self(number)),
            _ => Err(bounds()),
        }
    }
}

impl<const LOW: u32, const HIGH: u32> Serialize for Within<LOW, HIGH> {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u32(self.0)
    }
}

impl<const LOW: u32, const HIGH: u32> JsonSchema for Within<LOW, HIGH> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Within{LOW}To{HIGH}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": LOW, "maximum": HIGH })
    }
}

/// A string type with a check and a schema.
macro_rules! text_argument {
    ($(#[$doc:meta])* $name:ident($inner:ty), $read:expr, $schema:tt) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub(crate) struct $name(pub $inner);

        impl $name {
            /// What is spelled wrong is none.
            fn read(text: String) -> Result<$inner, String> {
                let read: fn(String) -> Result<$inner, String> = $read;
                read(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let serde_json::Value::String(text) = serde_json::Value::deserialize(from)? else {
                    return Err(de::Error::custom("must be a string"));
                };
                Self::read(text).map(Self).map_err(de::Error::custom)
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    };
}

text_argument!(
    /// `account_id`, `default` when left out.
    Account(AccountId),
    |text| AccountId::new(text)
        .map_err(|_| "must be 1 to 64 letters, digits, '_' or '-'".to_owned()),
    { "type": "string", "pattern": "^[A-Za-z0-9_-]{1,64}$" }
);

text_argument!(
    /// `mailbox`: a decoded folder name.
    Mailbox(FolderName),
    |text| FolderName::new(text).map_err(|bad| match bad {
        BadFolderName::Length => "must be 1 to 256 characters long".to_owned(),
        BadFolderName::Control => "must not contain control characters".to_owned(),
    }),
    { "type": "string", "minLength": 1, "maxLength": 256 }
);

text_argument!(
    /// `message_id`, as a search returned it.
    MessageId(MessageRef),
    |text| MessageRef::parse(&text).map_err(|bad| bad.to_string()),
    { "type": "string" }
);

text_argument!(
    /// Search text: 1 to 256 characters, none of them control characters.
    SearchText(String),
    |text| match text.chars().count() {
        1..=256 if text.chars().any(char::is_control) => {
            Err("must not contain control characters".to_owned())
        }
        1..=256 => Ok(text),
        _ => Err("must be 1 to 256 characters long".to_owned()),
    },
    { "type": "string", "minLength": 1, "maxLength": 256 }
);

text_argument!(
    /// `YYYY-MM-DD`.
    Day(Date),
    |text| match text.parse::<Date>() {
        Ok(date) if text.len() == 10 && date.year() >= 1 => Ok(date),
        _ => Err("must be a date like 2026-01-31".to_owned()),
    },
    { "type": "string", "format": "date" }
);

text_argument!(
    /// An opaque cursor. It carries its criteria: the longest that there can be have room.
    Cursor(String),
    |text| match text.len() {
        1..=16_384 => Ok(text),
        _ => Err("must be a next_cursor from an earlier page".to_owned()),
    },
    { "type": "string" }
);

text_argument!(
    /// A mail address.
    Address(String),
    |text| match MailAddress::parse(&text) {
        Some(_) => Ok(text),
        None => Err("must be a mail address such as alice@example.com".to_owned()),
    },
    { "type": "string", "maxLength": 320 }
);

text_argument!(
    /// A domain, in Unicode or as A-labels.
    DomainName(String),
    |text| match Domain::new(&text) {
        Some(_) => Ok(text),
        None => Err("must be a domain such as example.com".to_owned()),
    },
    { "type": "string", "maxLength": 253 }
);

text_argument!(
    /// `30d`.
    Duration(String),
    |text| Span::parse(&text).map(|_| text).map_err(|bad| bad.to_string()),
    { "type": "string", "pattern": "^[0-9]+[smhdwy]$" }
);

text_argument!(
    /// A header field's name.
    FieldName(String),
    |text| {
        let good = |byte: u8| byte.is_ascii_graphic() && byte != b':';
        match (1..=76).contains(&text.len()) && text.bytes().all(good) {
            true => Ok(text),
            false => Err("must be the name of a header field such as List-Id".to_owned()),
        }
    },
    { "type": "string", "maxLength": 76 }
);

/// What keeps a text from being an atom (RFC 3501 section 9) that servers take for a flag.
fn keyword_flaw(text: &str) -> Option<&'static str> {
    match text.chars().count() {
        0 => Some("and not empty"),
        65.. => Some("of at most 64 characters"),
        _ if !text.is_ascii() => Some("of ASCII characters only"),
        _ if text.contains(|c: char| !c.is_ascii_graphic() || "(){%*\"\\]".contains(c)) => {
            Some("without spaces and without any of ( ) { ] % * \" \\")
        }
        _ => None,
    }
}

text_argument!(
    /// A keyword that a message may carry; system flags have criteria of their own.
    Keyword(String),
    |text| match keyword_flaw(&text) {
        None => Ok(text),
        Some(why) => Err(format!("must be a keyword such as $Forwarded, {why}")),
    },
    { "type": "string", "maxLength": 64 }
);

text_argument!(
    /// A flag that a message can carry: a system flag with its backslash, or a keyword.
    FlagName(Flag),
    |text| match keyword_flaw(text.strip_prefix('\\').unwrap_or(&text)) {
        None => Ok(Flag::new(text)),
        Some(why) => Err(format!("must be a flag such as \\Flagged or $Forwarded, {why}")),
    },
    { "type": "string", "maxLength": 65 }
);

text_argument!(
    /// A caller's own name for a request, so that it can be made again and is done once.
    IdempotencyKey(String),
    |text| match (1..=128).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(text),
        false => Err("must be 1 to 128 letters, digits or signs without spaces".to_owned()),
    },
    {
        "type": "string",
        "minLength": 1,
        "maxLength": 128,
        "description": "Your name for this call: under it, it is done once."
    }
);

text_argument!(
    /// One line of words of the caller's own.
    Line(String),
    |text| match text.chars().count() {
        0..=500 if text.chars().any(char::is_control) => Err("must be one line".to_owned()),
        0..=500 => Ok(text),
        _ => Err("must be at most 500 characters long".to_owned()),
    },
    { "type": "string", "maxLength": 500 }
);

text_argument!(
    /// What a message says.
    Letter(String),
    |text| match text.chars().count() {
        0..=100_000 if text.contains('\0') => Err("must not contain NUL characters".to_owned()),
        0..=100_000 => Ok(text),
        _ => Err("must be at most 100000 characters long".to_owned()),
    },
    { "type": "string", "maxLength": 100_000 }
);

text_argument!(
    /// A whole message (RFC 5322).
    Rfc822(content::WholeMessage),
    |text| content::WholeMessage::parse(&text).map_err(|bad| bad.to_string()),
    { "type": "string" }
);

text_argument!(
    /// A Message-ID, with its brackets or without.
    HeaderId(String),
    |text| {
        let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let id = inner.unwrap_or(&text);
        let good = |byte: u8| byte.is_ascii_graphic() && !b"<>".contains(&byte);
        match (3..=500).contains(&id.len()) && id.contains('@') && id.bytes().all(good) {
            true => Ok(id.to_owned()),
            false => Err("must be a Message-ID such as <abc@example.com>".to_owned()),
        }
    },
    { "type": "string", "maxLength": 502 }
);

text_argument!(
    /// The Message-ID that a message calls itself by, with its brackets or without; whatever senders make of one.
    OwnName(mail::HeaderId),
    |text| match mail::MessageRef::parse(&text) {
        Ok(_) => Err(
            "must be the Message-ID of a message's header, and this is an id of the tools that read by folder; they show the header too"
                .to_owned(),
        ),
        Err(_) => mail::HeaderId::new(text.as_bytes()).ok_or_else(|| {
        "must be a Message-ID such as <abc@example.com>: one, at most 998 characters, without control characters or further brackets".to_owned()
    })},
    { "type": "string", "minLength": 1, "maxLength": 1000 }
);

/// A list; what is none is told in words of ours.
fn listed<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
    otherwise: &str,
) -> Result<Vec<T>, D::Error> {
    Vec::deserialize(from).map_err(|bad: D::Error| {
        match bad.to_string().contains(", expected a sequence") {
            true => de::Error::custom(otherwise),
            false => bad,
        }
    })
}

/// Up to a hundred mail addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Addresses(pub Vec<Address>);

impl<'de> Deserialize<'de> for Addresses {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let each: Vec<Address> = listed(from, "must be a list of mail addresses")?;
        match each.len() {
            0..=100 => Ok(Self(each)),
            _ => Err(de::Error::custom("must be at most 100 addresses")),
        }
    }
}

impl Serialize for Addresses {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(to)
    }
}

impl JsonSchema for Addresses {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string", "maxLength": 320 }, "maxItems": 100 })
    }
}

text_argument!(
    /// What a change is called.
    Transaction(TransactionId),
    |text| TransactionId::parse(&text)
        .ok_or_else(|| "must be the name of a change as its answer tells it, such as tx_…".to_owned()),
    { "type": "string" }
);

/// One to twenty flags.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Flags(pub Vec<Flag>);

impl<'de> Deserialize<'de> for Flags {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let flags: Vec<FlagName> = listed(from, "must be a list of 1 to 20 flags")?;
        match flags.len() {
            1..=20 => Ok(Self(flags.into_iter().map(|flag| flag.0).collect())),
            _ => Err(de::Error::custom("must be 1 to 20 flags")),
        }
    }
}

impl Serialize for Flags {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.0.iter().map(Flag::as_str))
    }
}

impl JsonSchema for Flags {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Flags".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "array", "items": { "type": "string", "maxLength": 65 }, "minItems": 1, "maxItems": 20 })
    }
}

/// Nothing but `true`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Yes;

impl<'de> Deserialize<'de> for Yes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(from)? {
            serde_json::Value::Bool(true) => Ok(Self),
            _ => Err(de::Error::custom("must be true, and nothing else")),
        }
    }
}

impl Serialize for Yes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bool(true)
    }
}

impl JsonSchema for Yes {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Yes".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean", "const": true })
    }
}

text_argument!(
    /// The number of a part, as a list of attachments shows it.
    PartId(Section),
    |text| Section::parse(&text)
        .filter(|_| text.len() <= 64)
        .ok_or_else(|| "must be a part_id such as 2 or 2.1".to_owned()),
    { "type": "string", "pattern": "^[0-9]+([.][0-9]+)*$" }
);

/// A part of a message, by its number or by the name of its file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum PartName {
    Number(Section),
    File(String),
}

impl<'de> Deserialize<'de> for PartName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let serde_json::Value::String(text) = serde_json::Value::deserialize(from)? else {
            return Err(de::Error::custom("must be a string"));
        };
        if let Ok(number) = PartId::read(text.clone()) {
            return Ok(Self::Number(number));
        }
        match text.chars().count() {
            1..=1_000 if !text.chars().any(char::is_control) => Ok(Self::File(text)),
            _ => Err(de::Error::custom("must be a part_id such as 2 or 2.1")),
        }
    }
}

impl Serialize for PartName {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Number(number) => to.collect_str(number),
            Self::File(name) => to.serialize_str(name),
        }
    }
}

/// Only the number is listed.
impl JsonSchema for PartName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        PartId::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        PartId::json_schema(generator)
    }
}

/// What stands in a cursor, or in the proposal to call again.
macro_rules! written_as {
    ($($name:ident),+) => {$(
        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.collect_str(&self.0)
            }
        }
    )+};
}

written_as!(
    Line,
    Letter,
    HeaderId,
    Account,
    MessageId,
    IdempotencyKey,
    Transaction,
    Cursor,
    Mailbox,
    PartId,
    Address,
    DomainName,
    Duration,
    FieldName,
    Keyword,
    SearchText,
    Day
);

impl Serialize for Rfc822 {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.0.text())
    }
}

impl Default for Account {
    fn default() -> Self {
        #[expect(
            clippy::expect_used,
            reason = "the literal fits the pattern; a test says so"
        )]
        Self(AccountId::new("default").expect("a valid account id"))
    }
}

/// The account in a message id must be the one that is asked.
pub(crate) fn same_account(
    account: Option<&Account>,
    at: &MessageRef,
) -> Result<(), crate::Refusal> {
    match account {
        // Left out, the id speaks for itself.
        None => Ok(()),
        Some(account) if account.0 == at.account => Ok(()),
        Some(_) => Err(crate::Refusal::argument(
            "message_id",
            "message_id belongs to another account than account_id; pass the account_id it was found in",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<T: de::DeserializeOwned>(json: &str) -> Result<T, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_valid() {
        assert_eq!(Account::default().0.as_str(), "default");
    }

    #[test]
    fn numbers_keep_their_bounds() {
        assert_eq!(read::<Within<1, 50>>("50"), Ok(Within(50)));
        for bad in [
            "0",
            "51",
            "-1",
            "1.5",
            "\"7\"",
            "true",
            "99999999999",
            "null",
        ] {
            let message = read::<Within<1, 50>>(bad).unwrap_err();
            assert!(
                message.contains("whole number from 1 to 50"),
                "{bad}: {message}"
            );
        }
    }

    #[test]
    fn dates_are_days_that_exist() {
        assert!(read::<Day>("\"2024-02-29\"").is_ok());
        for bad in [
            "\"2023-02-29\"",
            "\"2026-1-1\"",
            "\"20260101\"",
            "\"2026-01-01T00:00\"",
            "5",
        ] {
            assert!(read::<Day>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn search_text_holds_no_control_characters() {
        assert!(read::<SearchText>("\"Rüben \\\"BODY\\\" {5}\"").is_ok());
        for bad in [
            "\"\"",
            "\"a\\r\\nb\"",
            "\"a\\u0000\"",
            "\"a\\tb\"",
            "\"\\u007f\"",
        ] {
            assert!(read::<SearchText>(bad).is_err(), "{bad}");
        }
        assert!(read::<SearchText>(&format!("\"{}\"", "x".repeat(257))).is_err());
        assert!(read::<SearchText>(&format!("\"{}\"", "ü".repeat(256))).is_ok());
    }

    #[test]
    fn what_is_wrong_with_an_argument_is_said_without_its_name() {
        let long = format!("[\"{}\"]", "x".repeat(65));
        let flaw = |json: &str| read::<Flags>(json).err().unwrap_or_default();
        for (json, want) in [
            ("[\"\"]", "not empty"),
            ("[\"a]\"]", "without any of ( ) { ]"),
            ("[\"a b\"]", "without spaces"),
            ("[\"\\\\\"]", "not empty"),
            ("[\"\\\\Seen\\\\\"]", "without any of"),
            ("[\"grün\"]", "of ASCII characters only"),
            (long.as_str(), "at most 64 characters"),
            ("\"x\"", "must be a list of 1 to 20 flags"),
            ("[]", "must be 1 to 20 flags"),
            ("[7]", "must be a string"),
        ] {
            assert!(flaw(json).contains(want), "{json}: {}", flaw(json));
        }
        for flaw in [
            read::<Mailbox>("\"\"").unwrap_err(),
            read::<Account>("\"a b\"").unwrap_err(),
            read::<Transaction>("\"7\"").unwrap_err(),
            read::<Addresses>("\"a@b.example\"").unwrap_err(),
        ] {
            assert!(flaw.starts_with("must be "), "{flaw}");
            assert!(!flaw.contains("_id") && !flaw.contains("mailbox"), "{flaw}");
        }
    }
}
