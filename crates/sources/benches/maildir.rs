//! How fast a message is found by its Message-ID among 180,000 files, and a folder listed: beside bare reading, in one run.
//!
//! `cargo bench -p sources --bench maildir` writes `docs/maildir-speed.md`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise, and prints"
)]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use mail::{
    AccountId, Cx, Effort, FolderName, HeaderId, Kindred, MailSource as _, Query, Search, Snippets,
    Sought, Structure, Within,
};
use sources::maildir::Maildir;

const REPORT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/maildir-speed.md");
const MESSAGES: usize = 180_000;
const THREAD: usize = 50;
const LOOKUPS: usize = 400;
const THREADS: usize = 40;
/// Messages of the mbox file, and how long each is.
const BOXED: usize = 25_000;
const BOXED_TEXT: usize = 20_000;
/// Files of the folder that is listed, how long each is, and how many stand on a page.
const LISTED: usize = 20_000;
const LISTED_TEXT: usize = 20_000;
const PAGE: usize = 100;
/// A file that was written a moment ago is looked at again.
const REST: Duration = Duration::from_secs(3);

fn main() {
    // `cargo test --all-targets` runs this file too, and without the word.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("nothing measured: run by `cargo bench`");
        return;
    }
    // In memory where that is possible: what is measured is warm, and 180,000 files are made sooner.
    let memory = Path::new("/dev/shm");
    let dir = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    let dir = dir.unwrap();
    let root = dir.path().join("mail");
    fill(&root);
    std::thread::sleep(REST);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    let mut rows = Rows::default();
    let bare = scan(&root, MESSAGES / 2);
    rows.one("bare scan of headers up to the middle", bare);
    runtime.block_on(maildir(&root, &dir.path().join("state"), bare, &mut rows));
    runtime.block_on(mbox(dir.path(), &mut rows));
    runtime.block_on(listing(&dir.path().join("listed"), &mut rows));
    let report = format!(
        "# Maildir, measured\n\nWritten by `cargo bench -p sources --bench maildir`. Read the ratios: the times are those of one \
         machine.\n\n{MESSAGES} messages in two folders, in conversations of {THREAD}; {LOOKUPS} ids at random. The bare scan \
         opens one file after the other and reads up to 4 kB of it, until it comes to the one that is sought. The mbox file holds \
         {BOXED} messages of {BOXED_TEXT} octets. The folder that is listed has {LISTED} files of {LISTED_TEXT} octets; a page \
         of it shows {PAGE}, and with each its size on the wire, which takes the whole file to tell.\n\n| what | time |\n|---|---:|\n{}",
        rows.0
    );
    println!("{report}");
    fs::write(REPORT, report).unwrap();
}

#[derive(Default)]
struct Rows(String);

impl Rows {
    fn one(&mut self, what: &str, took: Duration) {
        self.said(what, &shown(took));
    }

    fn said(&mut self, what: &str, said: &str) {
        writeln!(self.0, "| {what} | {said} |").unwrap();
    }

    fn many(&mut self, what: &str, mut times: Vec<Duration>) -> Duration {
        times.sort();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        self.one(&format!("{what}, half of them within"), at(0.5));
        self.one(&format!("{what}, 95 % within"), at(0.95));
        at(0.95)
    }
}

fn shown(took: Duration) -> String {
    format!("{:.2} ms", took.as_secs_f64() * 1_000.0)
}

async fn maildir(root: &Path, state: &Path, bare: Duration, rows: &mut Rows) {
    let open = || {
        let account = AccountId::new("bench").unwrap();
        Maildir::open(account, root.to_owned()).with_index(state.to_owned())
    };
    let (source, cx) = (open(), Cx::new());
    let begun = Instant::now();
    one(&source.locate(&cx, &sought(7)).await.unwrap());
    let took = begun.elapsed();
    rows.one("the index is made", took);
    let rate = MESSAGES as f64 / took.as_secs_f64();
    rows.said("messages in a second, then", &format!("{rate:.0}"));
    std::thread::sleep(REST);
    for _ in 0..2 {
        one(&source.locate(&cx, &sought(7)).await.unwrap());
        std::thread::sleep(Duration::from_millis(200));
    }
    let mut times = [const { Vec::new() }; 3];
    for number in random(LOOKUPS) {
        let begun = Instant::now();
        let found = source.locate(&cx, &sought(number)).await.unwrap();
        let at = one(&found);
        times[0].push(begun.elapsed());
        source.file(&cx, at).await.unwrap().unwrap();
        times[1].push(begun.elapsed());
        let choose = |_: &Structure| Vec::new();
        source.message(&cx, at, &choose).await.unwrap();
        times[2].push(begun.elapsed());
    }
    let [located, with_path, read] = times;
    let slow = rows.many("located", located);
    rows.many("located, and its path", with_path);
    rows.many("located, its path, and read", read);
    let ratio = bare.as_secs_f64() / slow.as_secs_f64();
    rows.said("times faster than the bare scan", &format!("{ratio:.0}"));
    let mut times = Vec::new();
    for number in random(THREADS) {
        let begun = Instant::now();
        let found = source.kindred(&cx, &sought(number)).await.unwrap();
        let wanted: Vec<_> = found.members.iter().map(|one| one.at.clone()).collect();
        assert_eq!(wanted.len(), THREAD);
        let all = source.messages(&cx, &wanted, &|_: &Structure| Vec::new());
        all.await.unwrap();
        times.push(begun.elapsed());
    }
    rows.many("a conversation, and all of its messages read", times);
    drop(source);
    let again = open();
    let begun = Instant::now();
    one(&again.locate(&cx, &sought(9)).await.unwrap());
    rows.one("located by a new process", begun.elapsed());
    let path = root.join(format!("cur/{}.M1.new:2,", 1_500_000_000));
    fs::write(path, letter(MESSAGES)).unwrap();
    let begun = Instant::now();
    one(&again.locate(&cx, &sought(MESSAGES)).await.unwrap());
    rows.one("located a moment after it came", begun.elapsed());
}

async fn mbox(dir: &Path, rows: &mut Rows) {
    let path = dir.join("box");
    let mut file = BufWriter::new(File::create(&path).unwrap());
    let line = format!("{}\n", "x".repeat(72));
    let text = line.repeat(BOXED_TEXT / line.len());
    for number in 0..BOXED {
        let letter = letter(number);
        write!(file, "From a@b Mon Nov  3 10:12:30 2025\n{letter}{text}\n").unwrap();
    }
    file.flush().unwrap();
    drop(file);
    std::thread::sleep(REST);
    let source = Maildir::open(AccountId::new("box").unwrap(), path.clone());
    let cx = Cx::new();
    let begun = Instant::now();
    fs::read(&path).map(|octets| octets.len()).unwrap();
    rows.one("the mbox file, read bare", begun.elapsed());
    let begun = Instant::now();
    source.folders(&cx).await.unwrap();
    rows.one("the mbox file, cut into messages", begun.elapsed());
    let begun = Instant::now();
    one(&source.locate(&cx, &sought(7)).await.unwrap());
    rows.one("its index is made", begun.elapsed());
    one(&source.locate(&cx, &sought(7)).await.unwrap());
    let mut times = Vec::new();
    for number in random(LOOKUPS).into_iter().map(|number| number % BOXED) {
        let begun = Instant::now();
        let found = source.locate(&cx, &sought(number)).await.unwrap();
        let at = one(&found);
        source
            .message(&cx, at, &|_: &Structure| Vec::new())
            .await
            .unwrap();
        times.push(begun.elapsed());
    }
    rows.many("located in the mbox file, and read", times);
}

async fn listing(root: &Path, rows: &mut Rows) {
    let cur = root.join("cur");
    fs::create_dir_all(&cur).unwrap();
    let line = format!("{}\n", "x".repeat(72));
    let text = line.repeat(LISTED_TEXT / line.len());
    let path = |number| cur.join(format!("{}.M{number}P1.bench:2,S", 1_500_000_000 + number));
    for number in 0..LISTED {
        fs::write(path(number), letter(number) + &text).unwrap();
    }
    std::thread::sleep(REST);
    let begun = Instant::now();
    let octets: usize = (0..LISTED)
        .map(|number| fs::read(path(number)).unwrap().len())
        .sum();
    assert!(octets > LISTED * LISTED_TEXT);
    let bare = begun.elapsed();
    rows.one("the files of the folder, read bare", bare);
    let source = Maildir::open(AccountId::new("listed").unwrap(), root.to_owned());
    let mut again = Duration::ZERO;
    for what in [
        "the folder, listed page by page",
        "the folder, listed again",
    ] {
        let begun = Instant::now();
        pages(&source).await;
        again = begun.elapsed();
        rows.one(what, again);
    }
    let ratio = bare.as_secs_f64() / again.as_secs_f64();
    rows.said(
        "times faster than to read the files",
        &format!("{ratio:.1}"),
    );
}

async fn pages(source: &Maildir) {
    let mut wanted = Search {
        folder: FolderName::new("INBOX").unwrap(),
        query: Query::default(),
        below: None,
        limit: PAGE,
        snippets: Snippets::Without,
        most_matches: 0,
    };
    let mut seen = 0;
    loop {
        let page = source.search(&Cx::new(), &wanted).await.unwrap();
        assert!(page.summaries.iter().all(|one| one.size.is_some()));
        seen += page.summaries.len();
        wanted.below = page.next;
        if page.next.is_none() {
            break;
        }
    }
    assert_eq!(seen, LISTED);
}

fn one(found: &Kindred) -> &mail::MessageRef {
    assert_eq!(found.members.len(), 1);
    &found.members[0].at
}

fn sought(number: usize) -> Sought {
    Sought {
        ids: vec![HeaderId::new(id(number).as_bytes()).unwrap()],
        within: Within::All,
        effort: Effort {
            folders: 100,
            rounds: 100,
            messages: 1_000,
        },
    }
}

fn id(number: usize) -> String {
    format!("m{number}.{}@bench.example", number * 7_919)
}

/// The same on each run.
fn random(count: usize) -> Vec<usize> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % MESSAGES as u64).unwrap()
    };
    (0..count).map(|_| next()).collect()
}

fn letter(number: usize) -> String {
    let first = number - number % THREAD;
    let names: Vec<String> = (first..number)
        .map(|one| format!("<{}>", id(one)))
        .collect();
    // As many as programs write: the first, and the last few.
    let kept = names.len().min(10);
    let names = names
        .get(names.len() - kept..)
        .unwrap_or_default()
        .join("\n ");
    let references = match names.is_empty() {
        true => String::new(),
        false => format!("References: {names}\n"),
    };
    format!(
        "Received: from mx.bench.example by bench.example; Mon, 3 Nov 2025 10:12:30 +0000\nFrom: Alice <alice@bench.example>\n\
         To: bob@bench.example\nSubject: Capacity {first}\nDate: Mon, 3 Nov 2025 10:12:30 +0000\nMessage-ID: <{}>\n\
         {references}Content-Type: text/plain; charset=utf-8\n\nNumber {number} of them.\n",
        id(number)
    )
}

fn fill(root: &Path) {
    for folder in ["cur", "new", ".Sent/cur", ".Sent/new"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for number in 0..MESSAGES {
        let folder = if number % 3 == 0 { ".Sent/cur" } else { "cur" };
        let name = format!("{folder}/{}.M{number}P1.bench:2,S", 1_500_000_000 + number);
        fs::write(root.join(name), letter(number)).unwrap();
    }
}

/// As `grep` would: no index, one file after the other.
fn scan(root: &Path, files: usize) -> Duration {
    let begun = Instant::now();
    let mut seen = 0;
    let mut buffer = vec![0; 4_096];
    for folder in ["cur", ".Sent/cur"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let mut file = File::open(entry.unwrap().path()).unwrap();
            let read = file.read(&mut buffer).unwrap();
            let header = buffer.get(..read).unwrap_or_default();
            assert!(!header.windows(12).any(|part| part == b"Message-ID:X"));
            seen += 1;
            if seen == files {
                return begun.elapsed();
            }
        }
    }
    begun.elapsed()
}
