//! Servers that take command lines of some thousand octets only.

use mail::{Condition, Cx, MailSource as _, Snippets, Uid, UidSet, UidValidity};
use testkit::Fake;

use super::{run, source};
use crate::inbox;

/// Answers lines that are too long as Exchange does; finds message `n` by the word `<n>`.
fn exchange(capabilities: &'static str) -> Fake {
    Fake::script(move |session| {
        session.log_in(capabilities);
        loop {
            let command = session.command();
            let text = command.text();
            let longest = text.lines().map(str::len).max().unwrap_or(0);
            if longest > 8_192 {
                session.bad("Command Error. 10");
            } else if command.mentions("EXAMINE") {
                session.examined(5_000);
            } else if command.mentions("SEARCH") {
                let found = text.split('<').skip(1);
                let found: Vec<&str> = found.filter_map(|rest| rest.split('>').next()).collect();
                let count = found.len();
                let line = match command.mentions("RETURN") {
                    true if count == 0 => "ESEARCH (TAG \"{tag}\") UID COUNT 0".to_owned(),
                    true => {
                        let all = found.join(",");
                        format!("ESEARCH (TAG \"{{tag}}\") UID COUNT {count} ALL {all}")
                    }
                    false => format!("SEARCH {}", found.join(" ")),
                };
                session.reply(&format!("* {line}\r\n{{tag}} OK\r\n"));
            } else if command.mentions("FETCH") {
                let set = text.split(' ').nth(3).unwrap_or_default();
                for uid in set.split(',') {
                    session.untagged(&format!("1 FETCH (UID {uid} FLAGS ())"));
                }
                session.ok();
            } else {
                session.ok();
            }
        }
    })
}

#[test]
fn a_search_for_one_of_many_is_cut() {
    for capabilities in ["IMAP4rev1 LITERAL+", "IMAP4rev1 ESEARCH LITERAL+"] {
        let fake = exchange(capabilities);
        let source = source(&fake);
        let word = |n: u32| Condition::From(format!("somebody<{n}>@example.org"));
        let many = Condition::Any((1..=1_000).map(word).collect());
        let tests = [many, word(4_711)];
        let sifted = run(source.sift(&Cx::new(), &inbox(), &tests));
        let sets = sifted.unwrap().sets;
        assert_eq!(sets[0], UidSet::range(Uid(1), Uid(1_000)), "{capabilities}");
        assert_eq!(sets[1], UidSet::range(Uid(4_711), Uid(4_711)));
    }
}

#[test]
fn many_messages_are_described_in_several_commands() {
    let fake = exchange("IMAP4rev1");
    let source = source(&fake);
    let uids: UidSet = (0..5_000).map(|n| Uid(1_000_000_000 + 2 * n)).collect();
    let described = run(source.summaries(
        &Cx::new(),
        &inbox(),
        UidValidity(7),
        &uids,
        Snippets::Without,
    ));
    assert_eq!(described.unwrap().len(), 5_000);
}
