//! A receipt for one record.
