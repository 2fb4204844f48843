//! `cargo xtask`: checks that the tree keeps its rules, and documents that are made from the code.

mod conformance;
mod corpora;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod crash;
mod docs;
#[cfg(target_os = "linux")]
mod load;
mod mutants;
mod otel;
#[cfg(target_os = "linux")]
mod replicas;
mod tidy;
mod tree;
mod visible;

use std::io::{self, Write as _};
use std::process::ExitCode;

use tree::Tree;

const HELP: &str = "\
cargo xtask tidy           check file headers and lengths, import directions, leftovers, links
cargo xtask docs           write docs/tools.md and docs/config.md from the code
cargo xtask docs --check   fail when they are not what the code says
cargo xtask crash          kill a worker and the program at every step and at random, 1,000 times each; then --writes and --oauth (minutes)
cargo xtask crash --short  the worker alone, a few times
cargo xtask crash --writes changes to mail alone: every fault at every boundary, and 2,000 changes at random (minutes)
cargo xtask crash --writes --only NAME   the cell of this name, such as 'copy/NO/UID COPY#1', or all that hold it
cargo xtask crash --oauth  refreshes and logins alone: killed, torn or failed at every system call that matters (minutes)
cargo xtask crash --oauth --only NAME    the cell of this name, such as 'refresh/EIO/3 write .new', or all that hold it
cargo xtask otel           lint and test the program with the feature otel (minutes)
cargo xtask load           500 clients over HTTP at 200 accounts for a minute (--minutes N); best run as cargo run --release -p xtask -- load
cargo xtask load --saturate  as many calls as there can be, beside bare IMAP connections; --overload, --reload; --only TOOL; --write for docs/load.md
cargo xtask replicas       two processes on PostgreSQL for five minutes (--minutes N, --seconds N), one killed every 20 s; --write for docs/replicas-under-fire.md
cargo xtask mutants        change crates/policy in small ways, and write docs/policy-mutants.md (ten minutes)
cargo xtask mutants --from DIR   write it from the output of a run that is over
cargo xtask conformance    build with fixtures, run the official MCP conformance suite, and write docs/conformance.md (minutes)
cargo xtask corpora          view all sample messages, and write docs/corpora.md
cargo xtask corpora --check  fail when one panics, takes too much memory, or reads otherwise than expected
cargo xtask corpora --also DIR  tell the same of the messages in a folder, and write nothing
cargo xtask visible        compare the judge of `html` with Chromium on techniques, random pages and real mail, write docs/visible.md
cargo xtask visible --techniques, --random N or --mail   only a part of it; docs/visible.md stays
cargo xtask visible --file PATH   the techniques of another list ({name, sheet, body}, § for the text); docs/visible.md stays
cargo xtask visible --recorded    judge again what the last whole run drew
";

/// Counts the heap that a message takes. The system's allocator does the work.
#[global_allocator]
static HEAP: peak_alloc::PeakAlloc = corpora::HEAP;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let outcome = match words.as_slice() {
        ["tidy"] => Tree::read().and_then(|tree| tidy::run(&tree)),
        ["docs"] => docs::write(),
        ["docs", "--check"] => docs::check(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash"] => crash::long(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash", "--short"] => crash::short(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash", "--writes"] => crash::writes(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash", "--writes", "--only", name] => crash::writes_only(name),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash", "--oauth"] => crash::oauth(),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash", "--oauth", "--only", name] => crash::oauth_only(name),
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        ["crash-worker", words @ ..] => crash::work(words),
        ["otel"] => otel::check(),
        #[cfg(target_os = "linux")]
        ["load", words @ ..] => load::run(words),
        #[cfg(target_os = "linux")]
        ["replicas", words @ ..] => replicas::run(words),
        ["mutants"] => mutants::write(),
        ["mutants", "--from", folder] => mutants::write_from(folder.as_ref()),
        ["conformance"] => conformance::write(),
        ["corpora"] => corpora::write(),
        ["corpora", "--check"] => corpora::check(),
        ["corpora", "--also", folder] => corpora::also(folder),
        ["visible", words @ ..] => visible::run(words),
        _ => {
            say(HELP.trim_end());
            return ExitCode::from(u8::from(!words.is_empty()) * 2);
        }
    };
    match outcome {
        Ok(good) => {
            say(&good);
            ExitCode::SUCCESS
        }
        Err(bad) => {
            eprintln!("{bad}");
            ExitCode::FAILURE
        }
    }
}

fn say(text: &str) {
    // A reader that went away is no reason to fail.
    let _ = writeln!(io::stdout(), "{text}");
}
