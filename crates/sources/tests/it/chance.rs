//! Letters tied by chance: the same conversation however a server is asked for it.

use std::collections::HashSet;

use mail::{Effort, HeaderId, Links, Sought};

use crate::mail_room::{EFFORT, Letter, MailRoom, id, sought};

/// Letters as chance writes them: forks, loops, lost ancestors, letters without ids, copies, and ids that hold others.
fn by_chance(room: &MailRoom, count: usize) -> Vec<(String, Links)> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut chance = |most: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % most
    };
    let id = |number: usize| format!("{number}@test.example");
    let folders = ["INBOX", "Sent", "Archive", "Drafts"];
    let mut written = Vec::new();
    for number in 0..count {
        let own = match chance(12) {
            0 => String::new(),
            1 => id(chance(count)),
            _ => id(number),
        };
        // Few, and mostly near, so that there are many conversations.
        let mut named: Vec<String> = Vec::new();
        for _ in 0..[0, 1, 1, 1, 2, 3][chance(6)] {
            let far = chance(20) == 0;
            let base = if far { 0 } else { number - number % 10 };
            let width = if far { count + 50 } else { 10 };
            named.push(id(base + chance(width)));
        }
        let names: Vec<&[u8]> = named.iter().map(String::as_bytes).collect();
        let (references, replies_to) = match chance(3) {
            0 => (&names[..0], names.last().copied().unwrap_or_default()),
            1 => (&names[..], &b""[..]),
            _ => (&names[..], names.first().copied().unwrap_or_default()),
        };
        let letter = Letter {
            id: own.as_bytes(),
            references,
            replies_to,
            says: "",
        };
        let copies = if chance(10) == 0 { 2 } else { 1 };
        for _ in 0..copies {
            let folder = folders[chance(folders.len())];
            room.post(folder, &letter);
            written.push((folder.to_owned(), content::links(&letter.raw())));
        }
    }
    written
}

/// Slowly, and in another way: until nothing more is added.
fn together(written: &[(String, Links)], anchor: &HeaderId) -> Vec<String> {
    let mut ids: HashSet<HeaderId> = [anchor.clone()].into();
    let mut inside = vec![false; written.len()];
    loop {
        let before = inside.clone();
        for ((_, links), inside) in written.iter().zip(&mut inside) {
            if links.all().any(|id| ids.contains(id)) {
                *inside = true;
                ids.extend(links.all().cloned());
            }
        }
        if inside == before {
            break;
        }
    }
    let each = written.iter().zip(inside).filter(|(_, inside)| *inside);
    let mut shown: Vec<String> = each
        .map(|((folder, links), _)| {
            format!(
                "{folder} {links:?} {:?}",
                links.id.as_ref().map(HeaderId::bytes)
            )
        })
        .collect();
    shown.sort();
    shown
}

#[test]
fn conversations_are_the_same_however_they_are_asked_for() {
    for lacking in ["", "SEARCHRES", "SEARCHRES ESEARCH THREAD=REFS"] {
        let room = MailRoom::without(lacking);
        let written = by_chance(&room, 200);
        for number in (0..200).step_by(9) {
            let anchor = id(format!("{number}@test.example"));
            let effort = Effort {
                rounds: 100,
                ..EFFORT
            };
            let asked = Sought {
                ids: vec![anchor.clone()],
                effort,
                ..sought(&[])
            };
            let (found, _) = room.kindred(&asked);
            let mut shown: Vec<String> = found
                .members
                .iter()
                .map(|one| {
                    format!(
                        "{} {:?} {:?}",
                        one.at.folder,
                        one.links,
                        one.links.id.as_ref().map(HeaderId::bytes)
                    )
                })
                .collect();
            shown.sort();
            assert_eq!(shown, together(&written, &anchor), "{lacking} {number}");
            assert!(found.coverage.exhausted);
        }
    }
}
