//! The tools of the `imap` set.

mod copy_message;
mod delete_message;
mod get_message;
mod get_message_raw;
mod list_accounts;
mod list_mailboxes;
mod move_message;
mod search_messages;
mod transferred;
mod undo_transaction;
mod update_message_flags;
mod verify_account;

pub(crate) use copy_message::CopyMessage;
pub(crate) use delete_message::DeleteMessage;
pub(crate) use get_message::GetMessage;
pub(crate) use get_message_raw::GetMessageRaw;
pub(crate) use list_accounts::ListAccounts;
pub(crate) use list_mailboxes::ListMailboxes;
pub(crate) use move_message::MoveMessage;
pub(crate) use search_messages::SearchMessages;
pub(crate) use undo_transaction::UndoTransaction;
pub(crate) use update_message_flags::UpdateMessageFlags;
pub(crate) use verify_account::VerifyAccount;
