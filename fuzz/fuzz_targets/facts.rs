//! Any bytes as a header: what a policy is told of it is bounded, and every line of recipients is one address.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use mail::{MailAddress, Summary, Uid};

fuzz_target!(|raw: &[u8]| {
    let outline = content::outline(raw);
    for envelope in [
        content::envelope(outline.header()),
        content::envelope_of_beginning(outline.header()),
    ] {
        let summary = Summary {
            uid: Uid(1),
            order: 0,
            flags: None,
            arrived: None,
            size: None,
            envelope: Some(envelope),
            structure: Some(Arc::new(outline.structure.clone())),
            text: None,
        };
        let facts = content::facts(&summary);
        assert!(facts.recipients.len() <= 2_000);
        let lines = facts.recipient_lines();
        assert_eq!(lines.lines().count(), facts.recipients.len());
        let again = lines.lines().filter_map(MailAddress::parse);
        assert!(again.eq(facts.recipients.iter().cloned()));
        let from = facts.from.as_ref().map(MailAddress::as_str);
        assert_eq!(from.and_then(MailAddress::parse), facts.from);
    }
});
