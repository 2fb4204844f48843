//! What belongs together, compared with Dovecot's THREAD=REFS over many thousand messages, every difference explained.

mod letters;
mod refs;

use mail::Links;
use testkit::{Delivery, Dovecot};

use letters::{CHAIN, Kind, Letter, letters};
use refs::{Lost, Sight, refs};

const MESSAGES: usize = 24_000;

type Partition = Vec<Vec<usize>>;

/// The top-level groups of a THREAD response, as places.
fn groups(line: &str) -> Partition {
    let mut found: Partition = Vec::new();
    let mut depth = 0;
    for piece in line.split_inclusive(['(', ')', ' ']) {
        let number = piece.trim_end_matches(['(', ')', ' ']);
        if let Ok(number) = number.parse::<usize>() {
            found.last_mut().unwrap().push(number - 1);
        }
        match piece.chars().last() {
            Some('(') => {
                if depth == 0 {
                    found.push(Vec::new());
                }
                depth += 1;
            }
            Some(')') => depth -= 1,
            _ => {}
        }
    }
    sorted(found)
}

fn sorted(mut partition: Partition) -> Partition {
    for group in &mut partition {
        group.sort_unstable();
    }
    partition.sort();
    partition
}

#[test]
fn the_same_conversations_as_thread_refs() {
    let letters = letters(MESSAGES);
    assert!(letters.len() >= 20_000);
    let links: Vec<Links> = letters
        .iter()
        .map(|letter| content::links(letter.raw.as_bytes()))
        .collect();
    let ours = sorted(content::thread::partition(&links));

    let server = Dovecot::start();
    let mail = letters
        .iter()
        .map(|letter| Delivery::new(letter.raw.as_str()));
    server.deliver_many("alice", "INBOX", mail);
    let mut imap = server.login("alice", "secret");
    imap.command("EXAMINE INBOX");
    let reply = imap.command("THREAD REFS UTF-8 ALL").lines();
    let theirs = reply.iter().find_map(|line| line.strip_prefix("* THREAD "));
    let theirs = groups(theirs.unwrap());
    let count: usize = theirs.iter().map(Vec::len).sum();
    assert_eq!(count, letters.len());

    // What Dovecot does is known to the last message: the steps of RFC 5256, and the links that they leave out.
    // Releases differ in one thing: the longest chain of all tells which this one is.
    let longest = theirs.iter().map(Vec::len).max().unwrap_or_default();
    let (sight, deep) = match longest < CHAIN {
        true => (Sight::AThousand, 1..),
        false => (Sight::Unbounded, 0..),
    };
    let told = refs(&links, sight);
    assert_same(
        "as Dovecot tells",
        &sorted(told.partition.clone()),
        &theirs,
        &letters,
    );
    // And with those links it is what we say. So each difference is one of these kinds, and there is no other.
    let (joined, differences) = told.joined();
    assert_same("with all links", &sorted(joined), &ours, &letters);
    let want = [
        (Lost::Twin, 1..),
        (Lost::Parent, 1..),
        (Lost::Own, 1..),
        (Lost::Loop, 1..),
        (Lost::Deep, deep),
    ];
    eprintln!("links that THREAD=REFS leaves out, by what is lost with them: {differences:?}");
    for (kind, range) in want {
        let found = differences.get(&kind).copied().unwrap_or_default();
        assert!(range.contains(&found), "{kind:?}: {found}");
    }

    // Where nobody writes nonsense there is none: lost messages, forks, cut lists and new subjects are no matter.
    let odd = |group: &&Vec<usize>| {
        group
            .iter()
            .any(|place| letters[*place].kind != Kind::Plain)
    };
    let plain = |partition: &Partition| -> Partition {
        partition
            .iter()
            .filter(|group| !odd(group))
            .cloned()
            .collect()
    };
    let (ours, theirs) = (plain(&ours), plain(&theirs));
    assert_same("without nonsense", &ours, &theirs, &letters);
    assert!(ours.iter().map(Vec::len).sum::<usize>() > MESSAGES / 2);
}

/// Shows the headers of the first groups that differ: the whole would be pages of numbers.
fn assert_same(what: &str, one: &Partition, other: &Partition, letters: &[Letter]) {
    let only = |these: &Partition, those: &Partition| {
        let groups = these.iter().filter(|group| !those.contains(group)).take(3);
        let texts = groups.map(|group| {
            let raws = group
                .iter()
                .take(8)
                .map(|place| format!("{place}: {}", letters[*place].raw));
            raws.collect::<String>()
        });
        texts.collect::<Vec<_>>().join("----\n")
    };
    assert!(
        one == other,
        "{what}: {} and {} groups\nonly one side:\n{}\nonly the other:\n{}",
        one.len(),
        other.len(),
        only(one, other),
        only(other, one)
    );
}
