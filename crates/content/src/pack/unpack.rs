//! The way back: full texts from packed ones and their markers.

use std::collections::HashMap;

use super::Packed;
use super::marker::{Line, read};

/// Characters of all texts together: markers that stand for markers could else grow without end.
const MOST: usize = 64 * 1024 * 1024;

/// Why packed texts cannot be read. [`super::pack`] makes none that cannot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Broken {
    /// A line begins as a marker and is none.
    Marker,
    /// A marker names lines that are in no text before it.
    Lines,
    TooLong,
}

/// The full texts, in order. `rests` is what the calls that were named gave for those that were cut, from where each was cut;
/// without it, the beginnings that are told.
pub fn unpack(packed: &[Packed], rests: &[&str]) -> Result<Vec<String>, Broken> {
    let mut texts: Vec<String> = Vec::with_capacity(packed.len());
    let mut numbers: HashMap<u32, usize> = HashMap::new();
    let mut sources: Vec<Vec<String>> = Vec::with_capacity(packed.len());
    let mut room = MOST;
    for (place, one) in packed.iter().enumerate() {
        let mut lines: Vec<String> = Vec::new();
        let mut put = |lines: &mut Vec<String>, line: String| {
            room = room.checked_sub(line.len() + 1).ok_or(Broken::TooLong)?;
            lines.push(line);
            Ok(())
        };
        for line in one.text.split('\n') {
            let marker = match read(line) {
                Line::Text(text) => {
                    put(&mut lines, text.to_owned())?;
                    continue;
                }
                Line::Marker(marker) => marker,
                Line::Broken => return Err(Broken::Marker),
            };
            let end = marker.first.checked_add(marker.count);
            let source = numbers
                .get(&marker.number)
                .and_then(|place| sources.get(*place));
            let source = source.and_then(|lines| lines.get(marker.first..end?));
            for line in source.ok_or(Broken::Lines)? {
                for line in marker.manner.apply(line) {
                    put(&mut lines, line)?;
                }
            }
        }
        let text = lines.join("\n") + rests.get(place).copied().unwrap_or_default();
        sources.push(text.split('\n').map(str::to_owned).collect());
        numbers.entry(one.number).or_insert(place);
        texts.push(text);
    }
    Ok(texts)
}
