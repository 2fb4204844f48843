//! The tools of the `gateway` set: mail by account, folder and uid, as far as a policy goes, and what it says.

mod answer;
mod describe_policy;
mod fetch_attachment;
mod fetch_body;
mod fetch_envelope;
mod fetch_headers;
mod folder_stats;
mod get_caller_identity;
mod list_accounts;
mod list_folders;
mod list_labels;
mod looked_for;
mod part_resource;
mod search;
mod visibility;
mod which;

pub(crate) use describe_policy::DescribePolicy;
pub(crate) use fetch_attachment::FetchAttachment;
pub(crate) use fetch_body::FetchBody;
pub(crate) use fetch_envelope::FetchEnvelope;
pub(crate) use fetch_headers::FetchHeaders;
pub(crate) use folder_stats::FolderStats;
pub(crate) use get_caller_identity::GetCallerIdentity;
pub(crate) use list_accounts::ListAccounts;
pub(crate) use list_folders::ListFolders;
pub(crate) use list_labels::ListLabels;
pub(crate) use part_resource::PartResource;
pub(crate) use search::Search;
