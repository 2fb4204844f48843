//! Headers between NULs as one conversation: everybody is told once, nobody before whom they answer, and groups hold together.
#![no_main]

use content::thread::{Likeness, Node, Text, conversation, partition};
use libfuzzer_sys::fuzz_target;
use mail::Links;

fuzz_target!(|bytes: &[u8]| {
    let headers: Vec<&[u8]> = bytes.split(|byte| *byte == 0).take(200).collect();
    let links: Vec<Links> = headers.iter().map(|header| content::links(header)).collect();
    let groups = partition(&links);
    assert_eq!(groups.iter().map(Vec::len).sum::<usize>(), links.len());
    let nodes: Vec<Node<'_>> = links
        .iter()
        .map(|links| Node {
            links,
            sent: None,
            arrived: None,
            rank: 0,
            text: Text::Here,
            likeness: Likeness::default(),
        })
        .collect();
    for group in groups {
        let found = conversation(&nodes, group[0]);
        let mut told: Vec<usize> = Vec::new();
        for (place, turn) in found.turns.iter().enumerate() {
            told.push(turn.index);
            told.extend(&turn.copies);
            let above = turn.parent.map(|parent| {
                assert!(parent < place);
                found.turns[parent].depth
            });
            assert_eq!(turn.depth, above.map_or(0, |above| above + 1));
        }
        told.sort_unstable();
        assert_eq!(told, group);
    }
});
