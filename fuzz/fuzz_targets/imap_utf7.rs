//! Mailbox names: decoding and encoding are each other's inverse, and one mailbox has one spelling.

#![no_main]

use imap::utf7;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Some(name) = utf7::decode(bytes) {
        assert_eq!(utf7::encode(&name).as_bytes(), bytes);
    }
    if let Ok(name) = std::str::from_utf8(bytes) {
        let wire = utf7::encode(name);
        assert!(wire.bytes().all(|octet| (b' '..=b'~').contains(&octet)));
        assert_eq!(utf7::decode(wire.as_bytes()).as_deref(), Some(name));
    }
});
