//! Conversations as people and programs have them: forks, lost messages, cut lists, new subjects; and such as nobody should.

use testkit::mailgen::Rng;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Its references are true, as far as they go.
    Plain,
    /// True too, and a longer row of answers than Dovecot follows.
    Deep,
    /// Some of its references are nonsense.
    Odd,
}

#[derive(Clone, Debug)]
pub(super) struct Letter {
    pub(super) kind: Kind,
    pub(super) raw: String,
}

/// The longest conversation.
pub(super) const CHAIN: usize = 2_000;

/// At least so many, mixed up as they would lie in a folder.
pub(super) fn letters(count: usize) -> Vec<Letter> {
    let mut all = chain(CHAIN);
    for number in 0.. {
        if all.len() >= count {
            break;
        }
        let mut rng = Rng::new(7, number);
        let mut some = match rng.percent(70) {
            true => tree(&mut rng, number),
            false => oddity(&mut rng, number),
        };
        all.append(&mut some);
    }
    // Mostly in order, as mail comes in.
    let mut rng = Rng::new(8, 0);
    for some in all.chunks_mut(60) {
        rng.shuffle(some);
    }
    all
}

fn letter(
    kind: Kind,
    id: Option<&str>,
    references: &[String],
    replied: &[String],
    subject: &str,
) -> Letter {
    let list = |name: &str, ids: &[String]| match ids {
        [] => String::new(),
        ids => format!(
            "{name}: {}\r\n",
            ids.iter()
                .map(|id| format!("<{id}>"))
                .collect::<Vec<_>>()
                .join("\r\n ")
        ),
    };
    let id = id.map_or(String::new(), |id| format!("Message-ID: <{id}>\r\n"));
    let (references, replied) = (list("References", references), list("In-Reply-To", replied));
    Letter {
        kind,
        raw: format!(
            "From: a@x.example\r\nSubject: {subject}\r\n{id}{references}{replied}\r\nHello\r\n"
        ),
    }
}

/// Each answers the one before, and names only the last few.
fn chain(length: usize) -> Vec<Letter> {
    let id = |n: usize| format!("{n}@chain.example");
    let one = |n: usize| {
        let references: Vec<String> = (n.saturating_sub(5)..n).map(id).collect();
        letter(Kind::Deep, Some(&id(n)), &references, &[], "Re: chain")
    };
    (0..length).map(one).collect()
}

/// A conversation with true references.
fn tree(rng: &mut Rng, number: u64) -> Vec<Letter> {
    let id = |n: usize| format!("{n}.{number}@tree.example");
    let mut paths: Vec<Vec<String>> = Vec::new();
    let mut found = Vec::new();
    for n in 0..=rng.below(24) as usize {
        let path = match paths.len() {
            0 => Vec::new(),
            _ => {
                let parent = rng.below(paths.len() as u64) as usize;
                [paths[parent].as_slice(), &[id(parent)]].concat()
            }
        };
        let near = path.last().cloned().into_iter().collect::<Vec<_>>();
        let (references, replied) = match rng.below(10) {
            0 | 1 => (Vec::new(), near),
            // The root and the last few, as many programs shorten it.
            2 | 3 if path.len() > 4 => ([&path[..1], &path[path.len() - 3..]].concat(), near),
            4 => (path.clone(), Vec::new()),
            _ => (path.clone(), near),
        };
        paths.push(path);
        // Somebody's mail is always somewhere else.
        let lost = rng.percent(12) && n > 0;
        if !lost {
            let subject = match rng.below(8) {
                0 => format!("renamed {n}"),
                // Strangers with the same subject.
                1 => "Invoice".to_owned(),
                _ => format!("Re: {number}"),
            };
            found.push(letter(
                Kind::Plain,
                Some(&id(n)),
                &references,
                &replied,
                &subject,
            ));
        }
    }
    found
}

/// A few messages that lie, repeat themselves, or go round.
fn oddity(rng: &mut Rng, number: u64) -> Vec<Letter> {
    let id = |name: &str| format!("{name}.{number}@odd.example");
    let ids = |names: &str| names.split_whitespace().map(id).collect::<Vec<_>>();
    let odd = |own: &str, references: &str| {
        let own = Some(id(own)).filter(|_| own != "_");
        letter(Kind::Odd, own.as_deref(), &ids(references), &[], "odd")
    };
    match rng.below(12) {
        0 => vec![odd("a", ""), odd("a", ""), odd("b", "a")],
        1 => vec![odd("a", ""), odd("b", "a"), odd("b", "a"), odd("c", "a b")],
        2 => vec![odd("a", ""), odd("b", "a"), odd("b", "x"), odd("c", "b")],
        3 => vec![odd("a", "b"), odd("b", "a")],
        4 => vec![odd("a", "c"), odd("b", "a"), odd("c", "b"), odd("d", "c")],
        5 => vec![odd("a", "a"), odd("b", "b a")],
        6 => vec![odd("z", ""), odd("p", "x y"), odd("q", "z y")],
        7 => vec![odd("a", ""), odd("c", "a b"), odd("b", "")],
        8 => vec![odd("a", ""), odd("c", "a b"), odd("b", "c")],
        9 => vec![odd("_", "a"), odd("_", ""), odd("_", "a"), odd("a", "")],
        10 => {
            let mut names = ["a", "b", "c", "d", "e"];
            let mut found = Vec::new();
            for _ in 0..6 {
                rng.shuffle(&mut names);
                let few = rng.below(5) as usize;
                found.push(odd(names[4], &names[..few].join(" ")));
            }
            found
        }
        _ => {
            let both = letter(Kind::Odd, Some(&id("c")), &[], &ids("a b"), "odd");
            vec![odd("a", ""), odd("b", ""), both]
        }
    }
}
