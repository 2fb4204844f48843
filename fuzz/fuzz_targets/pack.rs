//! Texts between NULs, the first byte a budget: packed and made full again they are the same, whatever they quote, and no packed
//! text makes reading fall.
#![no_main]

use content::pack::{Packed, Part, Room, pack, unpack};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (budget, rest) = bytes.split_first().unwrap_or((&0, bytes));
    let input = String::from_utf8_lossy(rest);
    let texts: Vec<&str> = input.split('\0').take(50).collect();
    let parts: Vec<Part<'_>> = (1..)
        .zip(&texts)
        .map(|(number, text)| Part {
            number,
            text,
            uncertain: &[],
            end: content::pack::End::Here,
        })
        .collect();
    let whole = pack(&parts, Room::All);
    assert_eq!(unpack(&whole, &[]).expect("packed by ourselves"), texts);

    let most = usize::from(*budget) * 16;
    let fitted = pack(&parts, Room::Chars(most));
    let shown = fitted.iter().map(|one| one.text.chars().count());
    assert!(shown.sum::<usize>() <= most);
    let rests: Vec<String> = fitted
        .iter()
        .zip(&texts)
        .map(|(one, full)| {
            let told = one.cut.map_or(usize::MAX, |cut| cut.shown_chars);
            full.chars().skip(told).collect()
        })
        .collect();
    let rests: Vec<&str> = rests.iter().map(String::as_str).collect();
    assert_eq!(unpack(&fitted, &rests).expect("packed by ourselves"), texts);

    // What nobody packed is refused or read, and ends.
    let foreign: Vec<Packed> = parts
        .iter()
        .map(|part| Packed {
            number: part.number,
            text: part.text.to_owned(),
            cut: None,
        })
        .collect();
    let _ = unpack(&foreign, &[]);
});
