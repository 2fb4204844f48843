//! The tables of an Envelope Index, as far as a reader of mail meets them. No triggers: nobody but the test writes.

macro_rules! shared {
    () => {
        "CREATE TABLE mailboxes (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE, \
         total_count INTEGER NOT NULL DEFAULT 0, unread_count INTEGER NOT NULL DEFAULT 0, source INTEGER);\
         CREATE TABLE subjects (ROWID INTEGER PRIMARY KEY, subject TEXT COLLATE RTRIM UNIQUE);\
         CREATE TABLE addresses (ROWID INTEGER PRIMARY KEY, address TEXT COLLATE NOCASE, comment TEXT, \
         UNIQUE(address, comment));\
         CREATE TABLE recipients (ROWID INTEGER PRIMARY KEY, message INTEGER NOT NULL, address INTEGER NOT NULL, \
         type INTEGER, position INTEGER, UNIQUE(message, type, position));\
         CREATE TABLE attachments (ROWID INTEGER PRIMARY KEY, message INTEGER, attachment_id TEXT, name TEXT);\
         CREATE TABLE labels (message_id INTEGER NOT NULL, mailbox_id INTEGER NOT NULL, \
         PRIMARY KEY(message_id, mailbox_id));\
         CREATE INDEX labels_mailbox_id_index ON labels(mailbox_id);\
         CREATE TABLE properties (ROWID INTEGER PRIMARY KEY, key TEXT, value TEXT);"
    };
}
macro_rules! common {
    () => {
        concat!(
            shared!(),
            "CREATE TABLE message_references (ROWID INTEGER PRIMARY KEY, message INTEGER NOT NULL, \
             reference INTEGER NOT NULL DEFAULT 0, is_originator INTEGER NOT NULL DEFAULT 0);\
             CREATE INDEX message_references_message ON message_references(message, reference);\
             CREATE INDEX message_references_reference ON message_references(reference, message);\
             CREATE TABLE conversations (conversation_id INTEGER PRIMARY KEY AUTOINCREMENT, flags INTEGER);\
             CREATE INDEX messages_message_id ON messages(message_id, mailbox);\
             CREATE INDEX messages_conversation_id ON messages(conversation_id);\
             CREATE INDEX messages_global_message_id ON messages(global_message_id, mailbox);\
             CREATE INDEX messages_date_received ON messages(date_received);\
             CREATE INDEX messages_mailbox_date_received ON messages(mailbox, date_received);"
        )
    };
}

/// Which tables and columns there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// V10 of late: Message-IDs stand in `message_global_data`.
    Modern,
    /// V10 of before: they stand nowhere but in the messages.
    Older,
    /// V2: neither them nor hashes of them, no column for what is deleted, and accounts named by user and server.
    Ancient,
}

impl Generation {
    pub const ALL: [Self; 3] = [Self::Modern, Self::Older, Self::Ancient];

    pub(super) fn directory(self) -> &'static str {
        match self {
            Self::Modern | Self::Older => "V10",
            Self::Ancient => "V2",
        }
    }
}

pub(super) fn tables(generation: Generation) -> &'static str {
    match generation {
        Generation::Modern => concat!(
            "CREATE TABLE message_global_data (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, message_id INTEGER UNIQUE, \
             download_state INTEGER NOT NULL DEFAULT 0, model_category INTEGER, generated_summary INTEGER, \
             urgent INTEGER, message_id_header TEXT);\
             CREATE TABLE messages (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, message_id INTEGER NOT NULL DEFAULT 0, \
             global_message_id INTEGER NOT NULL, remote_id INTEGER, document_id TEXT, sender INTEGER, \
             subject_prefix TEXT, subject INTEGER NOT NULL, summary INTEGER, date_sent INTEGER, date_received INTEGER, \
             mailbox INTEGER NOT NULL, remote_mailbox INTEGER, flags INTEGER NOT NULL DEFAULT 0, \
             read INTEGER NOT NULL DEFAULT 0, flagged INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0, \
             size INTEGER NOT NULL DEFAULT 0, conversation_id INTEGER NOT NULL DEFAULT 0, date_last_viewed INTEGER, \
             flag_color INTEGER, is_urgent INTEGER NOT NULL DEFAULT 0, color TEXT, type INTEGER);",
            common!()
        ),
        Generation::Older => concat!(
            "CREATE TABLE message_global_data (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, message_id INTEGER UNIQUE, \
             follow_up_start_date INTEGER, download_state INTEGER NOT NULL DEFAULT 0);\
             CREATE TABLE messages (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, message_id INTEGER NOT NULL DEFAULT 0, \
             global_message_id INTEGER NOT NULL, remote_id INTEGER, document_id TEXT, sender INTEGER, \
             subject_prefix TEXT, subject INTEGER NOT NULL, summary INTEGER, date_sent INTEGER, date_received INTEGER, \
             mailbox INTEGER NOT NULL, remote_mailbox INTEGER, flags INTEGER NOT NULL DEFAULT 0, \
             read INTEGER NOT NULL DEFAULT 0, flagged INTEGER NOT NULL DEFAULT 0, deleted INTEGER NOT NULL DEFAULT 0, \
             size INTEGER NOT NULL DEFAULT 0, conversation_id INTEGER NOT NULL DEFAULT 0, color TEXT, type INTEGER);",
            common!()
        ),
        Generation::Ancient => concat!(
            "CREATE TABLE messages (ROWID INTEGER PRIMARY KEY AUTOINCREMENT, document_id BLOB, in_reply_to INTEGER, \
             remote_id INTEGER, sender INTEGER, subject_prefix TEXT, subject INTEGER, date_sent INTEGER, \
             date_received INTEGER, mailbox INTEGER, remote_mailbox INTEGER, flags INTEGER, read INTEGER, \
             flagged INTEGER, size INTEGER, color TEXT, conversation_id INTEGER DEFAULT -1);\
             CREATE INDEX message_mailbox_index ON messages(mailbox, date_received);",
            shared!()
        ),
    }
}

pub(super) const ACCOUNTS: &str = "CREATE TABLE IF NOT EXISTS ZACCOUNT (Z_PK INTEGER PRIMARY KEY, \
    ZACCOUNTDESCRIPTION VARCHAR, ZIDENTIFIER VARCHAR, ZUSERNAME VARCHAR, ZPARENTACCOUNT INTEGER)";
