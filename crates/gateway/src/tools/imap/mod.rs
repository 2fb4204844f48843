//! The tools of the `imap` set.

mod get_message;
mod get_message_raw;
mod list_accounts;
mod list_mailboxes;
mod search_messages;
mod verify_account;

pub(crate) use get_message::GetMessage;
pub(crate) use get_message_raw::GetMessageRaw;
pub(crate) use list_accounts::ListAccounts;
pub(crate) use list_mailboxes::ListMailboxes;
pub(crate) use search_messages::SearchMessages;
pub(crate) use verify_account::VerifyAccount;
