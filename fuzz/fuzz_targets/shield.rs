//! Any text, by every way out that takes a string: nothing invisible and no control token in it, and shielded once is shielded.
#![no_main]

use content::Changes;
use libfuzzer_sys::fuzz_target;
use mail::{Address, Raw, TextPrefix};

fuzz_target!(|bytes: &[u8]| {
    let mut changes = Changes::default();
    let raw = Raw::copied(bytes);
    let text = String::from_utf8_lossy(bytes);
    let address = Address {
        name: Some(raw.clone()),
        mailbox: Some(raw.clone()),
        host: Some(raw.clone()),
    };
    let prefix = TextPrefix {
        header: Default::default(),
        text: bytes.to_vec().into(),
        truncated: false,
        structure: None,
    };
    let mut shown = vec![
        content::name(&text, &mut changes),
        content::said(bytes, &mut changes),
        content::header_text(&raw, &mut changes),
        content::filename(&raw, &mut changes),
    ];
    shown.extend(content::addresses(&[address], &mut changes));
    shown.extend(content::snippet(&prefix, 300).map(|found| found.text));
    for one in shown {
        assert!(one.chars().all(is_seen), "{one:?}");
        for token in ["[inst]", "<<sys>>", "<|im_end|>", "<start_of_turn>"] {
            assert!(!one.to_ascii_lowercase().contains(token), "{one:?}");
        }
        let mut again = Changes::default();
        let same = content::name(&one, &mut again);
        assert!(again.is_empty(), "{one:?}");
        // Longer than a name is only a list of addresses.
        assert!(same == one || same.ends_with('…'), "{one:?}");
    }
});

/// By a list of its own. Joiners, emoji selectors and the tags of flags do something in their places.
fn is_seen(char: char) -> bool {
    !char.is_control()
        && !matches!(
            u32::from(char),
            0xAD | 0x34F | 0x61C | 0x115F | 0x1160 | 0x3164 | 0xFEFF | 0xFFA0 | 0x2800
                | 0x180B..=0x180F
                | 0x200B | 0x200E | 0x200F
                | 0x2028..=0x202E
                | 0x2060..=0x206F
                | 0xE000..=0xF8FF
                | 0xFE00..=0xFE0D
                | 0xFFF0..=0xFFFB
                | 0xE0000..=0xE001F
                | 0xE0080..=0xE0FFF
                | 0xF0000..=0x10FFFF
        )
}
