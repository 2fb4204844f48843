//! The table of behaviours, which is one for both: each in a file by itself, and all on one server, each in a database of its own.

use crate::support::{Ground, server};
use crate::{keys, leases, mailboxes, notes, pace, shared};

macro_rules! table {
    ($($module:ident::$name:ident,)+) => {
        mod in_a_file {
            use super::*;
            $(
                #[tokio::test]
                async fn $name() {
                    $module::$name(&Ground::file()).await;
                }
            )+
        }

        #[tokio::test]
        async fn on_a_server() {
            let server = server();
            $(
                println!("{}", stringify!($module::$name));
                $module::$name(&Ground::on(&server)).await;
            )+
        }
    };
}

table! {
    keys::the_same_key_is_the_same_request_or_a_conflict,
    keys::of_many_equal_requests_at_once_one_is_new,
    keys::what_is_forgotten_can_be_asked_for_again,
    notes::an_outcome_belongs_to_the_step_that_waits_for_it,
    notes::what_fails_does_not_spoil_what_it_shares_a_commit_with,
    notes::what_is_being_undone_is_undone_once,
    notes::lists_are_of_whom_and_what_was_asked_for_the_newest_first,
    notes::what_is_not_at_its_end_is_counted,
    notes::what_others_put_into_a_folder_is_known,
    notes::a_key_that_is_given_back_can_be_taken_by_another_request,
    leases::who_has_the_lease_writes_and_nobody_else,
    leases::a_claim_that_is_over_writes_nothing_and_gives_nothing_back,
    leases::what_waits_for_a_person_can_be_opened_again_and_what_is_over_cannot,
    leases::a_person_decides_only_what_is_left_to_one,
    leases::who_lives_keeps_its_lease_however_long_it_slept,
    leases::of_many_who_claim_one_gets_it,
    mailboxes::what_is_in_another_mailbox_is_not_due_here,
    mailboxes::nothing_is_anybodys_twice,
    mailboxes::what_its_store_has_a_name_for_may_come_to_lie_where_it_lay,
    mailboxes::one_change_at_a_time_takes_a_message_away,
    pace::one_draws_from_all_or_none_and_may_come_to_owe,
    pace::of_many_at_once_no_more_are_granted_than_there_is,
    shared::a_key_is_made_once_and_is_the_same_for_all,
    shared::a_record_is_replaced_wholly_and_its_stamp_tells,
    shared::who_has_lost_the_lock_replaces_nothing,
    shared::one_has_a_lock_until_it_drops_it,
}
