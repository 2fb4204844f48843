//! Adding messages: what arrives is what was sent, all of it or nothing, and never much of it in memory.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use jiff::Timestamp;
use mail::{
    Append, Body, Broken, Changed, Cx, Effect, Fault, FaultKind, FolderName, MailSource as _, Stage,
};
use sources::imap::{ImapSource, Roots, Security};
use testkit::{Cut, Dovecot, Fake};

use crate::ground::{ARRIVED, Ground, NAMES, flags, message};
use crate::settings;

/// Pieces one by one, and perhaps a fault behind them.
struct Pieces {
    left: VecDeque<Bytes>,
    fault: Option<FaultKind>,
}

impl Pieces {
    fn of(text: &[u8], size: usize) -> Self {
        Self {
            left: text.chunks(size).map(Bytes::copy_from_slice).collect(),
            fault: None,
        }
    }
}

impl Body for Pieces {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
        let next = match (self.left.pop_front(), self.fault) {
            (Some(piece), _) => Ok(piece),
            (None, Some(kind)) => Err(Fault::new(kind, Stage::Fetch)),
            (None, None) => Ok(Bytes::new()),
        };
        Box::pin(async { next })
    }
}

fn append(to: &str, size: u64) -> Append {
    Append {
        to: FolderName::new(to).unwrap(),
        flags: flags(&["\\Seen", "\\Recent", "work"]),
        arrived: Some(Timestamp::from_second(ARRIVED as i64).unwrap()),
        size,
    }
}

fn add(ground: &Ground, append: &Append, body: &mut dyn Body) -> (Result<Changed, Broken>, u32) {
    let cx = Cx::new();
    let outcome = ground
        .runtime
        .block_on(ground.source.append(&cx, append, body));
    (outcome, cx.round_trips())
}

#[test]
fn what_arrives_is_what_was_sent() {
    for (without, warm) in [("", 1), ("LITERAL+", 2), ("UIDPLUS", 1)] {
        let ground = Ground::without(without);
        for (number, folder) in NAMES.into_iter().enumerate() {
            let raw = message(9).raw;
            let appending = append(folder, raw.len() as u64);
            let (outcome, trips) = add(&ground, &appending, &mut Pieces::of(&raw, 10));
            let changed = outcome.unwrap();
            if number > 0 {
                assert_eq!(trips, warm, "{without}");
            }
            let landed = changed.landed.map(|at| (at.uidvalidity, at.uid.0));
            let want = (without != "UIDPLUS").then(|| (ground.generation(folder), 1));
            assert_eq!(landed, want, "{without}");
            let lying = &ground.lying(folder)[&1];
            assert_eq!(lying.0, ["\\Seen", "work"]);
            assert_eq!(lying.1, "14-Nov-2023 22:13:20 +0000");
            assert_eq!(lying.2, raw);
        }
    }
}

#[test]
fn a_body_of_another_length_leaves_nothing_behind() {
    let raw = message(9).raw;
    let size = raw.len() as u64;
    for without in ["", "LITERAL+"] {
        let ground = Ground::without(without);
        let with_nul = [&raw[..raw.len() - 1], b"\0"].concat();
        for (announced, text, fault, want) in [
            (size + 1, &raw, None, FaultKind::AnotherMessage),
            (size - 1, &raw, None, FaultKind::AnotherMessage),
            (size, &with_nul, None, FaultKind::NotOffered),
            (size + 5, &raw, Some(FaultKind::Lost), FaultKind::Lost),
            (0, &raw, None, FaultKind::Rejected),
        ] {
            for piece in [10, 100_000] {
                let mut body = Pieces::of(text, piece);
                body.fault = fault;
                let broken = add(&ground, &append("Target", announced), &mut body)
                    .0
                    .unwrap_err();
                assert_eq!((broken.fault.kind, broken.effect), (want, Effect::Nothing));
            }
        }
        // The way to the server is good again, and nothing came of what was cut.
        let whole = add(&ground, &append("Target", size), &mut Pieces::of(&raw, 64)).0;
        assert!(whole.is_ok());
        assert_eq!(ground.lying("Target").len(), 1, "{without}");
    }
}

#[test]
fn refusals_are_told_apart() {
    let quota = Dovecot::builder()
        .config(
            "protocol imap {\n mail_plugins = zlib notify imap_zlib quota imap_quota\n}\n\
             plugin {\n quota = maildir:user\n quota_rule = *:storage=100K\n quota_max_mail_size = 50K\n}\n",
        )
        .start();
    let ground = Ground::on(quota, "");
    let text = |size: usize| {
        let head = b"Subject: x\r\n\r\n".to_vec();
        let rest = b"0123456789abcdefghijklmnopqrstuvwxyz01\r\n"
            .iter()
            .copied()
            .cycle();
        let mut all: Vec<u8> = head.into_iter().chain(rest).take(size - 2).collect();
        all.extend(b"\r\n");
        all
    };
    for (folder, size, want) in [
        ("Nowhere", 1_000, Some(FaultKind::NoSuchTarget)),
        ("Target", 40_000, None),
        ("Target", 40_000, None),
        ("Target", 40_000, Some(FaultKind::OverQuota)),
        ("Target", 2_000_000, Some(FaultKind::TooLarge)),
    ] {
        let raw = text(size);
        let outcome = add(
            &ground,
            &append(folder, size as u64),
            &mut Pieces::of(&raw, 4_096),
        )
        .0;
        let kinds = outcome
            .err()
            .map(|broken| (broken.fault.kind, broken.effect));
        assert_eq!(
            kinds,
            want.map(|kind| (kind, Effect::Nothing)),
            "{folder} {size}"
        );
    }
    assert_eq!(ground.lying("Target").len(), 2);
}

#[test]
fn a_refused_message_is_not_sent_to_its_end() {
    for (capabilities, size) in [("IMAP4rev1", 100u64), ("IMAP4rev1 LITERAL+", 5 << 20)] {
        let fake = Fake::script(move |s| {
            s.log_in(capabilities);
            loop {
                let line = String::from_utf8(s.line()).unwrap();
                let tag = line.split(' ').next().unwrap().to_owned();
                let answer = match line.contains("APPEND") {
                    true => format!("{tag} NO [TOOBIG] no\r\n"),
                    false => format!("{tag} OK\r\n"),
                };
                s.send(answer.as_bytes());
            }
        });
        let source = ImapSource::new(crate::account(), settings(fake.port()));
        let mut body = Pieces::of(&vec![b'x'; size as usize], 1_000);
        let all = body.left.len();
        let (cx, appending) = (Cx::new(), append("Target", size));
        let outcome = crate::runtime().block_on(source.append(&cx, &appending, &mut body));
        let broken = outcome.unwrap_err();
        assert_eq!(
            (broken.fault.kind, broken.effect),
            (FaultKind::TooLarge, Effect::Nothing)
        );
        assert_eq!(body.left.len(), all);
    }
}

#[test]
fn a_refusal_in_the_middle_is_heard() {
    // The server stops reading after its NO, so that whoever only writes would wait for ever.
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let fake = Fake::script(move |s| {
        s.log_in("IMAP4rev1 LITERAL+");
        loop {
            let line = String::from_utf8(s.line()).unwrap();
            let tag = line.split(' ').next().unwrap().to_owned();
            if line.contains("APPEND") {
                s.send(b"+ go\r\n");
                s.line();
                s.send(format!("{tag} NO [OVERQUOTA] full\r\n").as_bytes());
                s.line();
                let _ = gate.lock().unwrap().recv();
                s.close();
            }
            s.send(format!("{tag} OK\r\n").as_bytes());
        }
    });
    let source = ImapSource::new(crate::account(), settings(fake.port()));
    let pieces = Arc::new(AtomicU64::new(0));
    let size = 200 << 20;
    let mut body = Generated::new(size, Arc::clone(&pieces));
    let (cx, appending) = (Cx::new(), append("Target", size));
    let outcome = crate::runtime().block_on(source.append(&cx, &appending, &mut body));
    drop(open);
    let broken = outcome.unwrap_err();
    assert_eq!(
        (broken.fault.kind, broken.effect),
        (FaultKind::OverQuota, Effect::Nothing)
    );
    assert!(pieces.load(Ordering::Relaxed) < size / PIECE as u64);
}

const PIECE: usize = 64 << 10;

/// Octets that are made when they are asked for; each piece knows whether the one before it is gone.
struct Generated {
    left: u64,
    pulled: Arc<AtomicU64>,
    last: Option<Bytes>,
}

impl Generated {
    fn new(size: u64, pulled: Arc<AtomicU64>) -> Self {
        Self {
            left: size,
            pulled,
            last: None,
        }
    }
}

impl Body for Generated {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
        let size = self.left.min(PIECE as u64);
        self.left -= size;
        // Who asks for the next one has let go of the last, the final piece aside, which is held until the end is certain.
        if let Some(last) = self.last.take() {
            assert!(last.is_unique() || self.left == 0);
        }
        if size == 0 {
            return Box::pin(async { Ok(Bytes::new()) });
        }
        self.pulled.fetch_add(1, Ordering::Relaxed);
        let line = b"a line of a message that goes on and on and on, until it ends at last somewhere far away\r\n";
        let mut piece: Vec<u8> = line
            .iter()
            .copied()
            .cycle()
            .take(size as usize - 2)
            .collect();
        piece.extend(b"\r\n");
        let piece = Bytes::from(piece);
        self.last = Some(piece.clone());
        Box::pin(async { Ok(piece) })
    }
}

#[test]
fn fifty_megabytes_pass_through() {
    let ground = Ground::new();
    let size = 50 << 20;
    let pulled = Arc::new(AtomicU64::new(0));
    let mut body = Generated::new(size, Arc::clone(&pulled));
    let (outcome, _) = add(&ground, &append("Target", size), &mut body);
    let landed = outcome.unwrap().landed.unwrap();
    assert_eq!(pulled.load(Ordering::Relaxed), size / PIECE as u64);
    let at = ground.at("Target", landed.uid.0);
    let (cx, source) = (Cx::new(), &ground.source);
    let (witness, shown) = ground
        .runtime
        .block_on(source.look(&cx, &at, u64::MAX))
        .unwrap()
        .unwrap();
    assert_eq!(
        (witness.size, witness.digest.unwrap().octets),
        (Some(size), size)
    );
    assert!(shown.len() <= 2 << 20);
}

#[test]
fn a_lost_answer_is_unknown_and_a_lost_half_is_nothing() {
    let raw = message(9).raw;
    let appending = append("Target", raw.len() as u64);
    for cut in [Cut::Reset, Cut::Close] {
        let ground = Ground::new();
        ground.proxy.cut_reply(cut, |line| line.contains("APPEND"));
        let broken = add(&ground, &appending, &mut Pieces::of(&raw, 9))
            .0
            .unwrap_err();
        assert_eq!(broken.effect, Effect::Unknown, "{cut:?}");
        assert_eq!(ground.lying("Target").len(), 1);
    }
    let fake = Fake::script(|s| {
        s.log_in("IMAP4rev1");
        loop {
            let line = String::from_utf8(s.line()).unwrap();
            if line.contains("APPEND") {
                s.send(b"+ go\r\n");
                s.line();
                s.reset();
            }
            let tag = line.split(' ').next().unwrap().to_owned();
            s.send(format!("{tag} OK\r\n").as_bytes());
        }
    });
    let source = ImapSource::new(crate::account(), settings(fake.port()));
    let size = 100 << 20;
    let mut body = Generated::new(size, Arc::default());
    let (cx, appending) = (Cx::new(), append("Target", size));
    let broken = crate::runtime()
        .block_on(source.append(&cx, &appending, &mut body))
        .unwrap_err();
    assert_eq!(
        (broken.fault.kind, broken.effect),
        (FaultKind::Lost, Effect::Nothing)
    );
}

#[test]
fn a_body_that_stalls_is_given_up() {
    struct Stalls;
    impl Body for Stalls {
        fn next(&mut self) -> Pin<Box<dyn Future<Output = Result<Bytes, Fault>> + Send + '_>> {
            Box::pin(std::future::pending())
        }
    }
    let server = Dovecot::start();
    let mut settings = settings(server.port());
    settings.timeouts.append = std::time::Duration::from_millis(100);
    let source = ImapSource::new(crate::account(), settings);
    let (cx, appending) = (Cx::new(), append("INBOX", 10));
    let broken = crate::runtime()
        .block_on(source.append(&cx, &appending, &mut Stalls))
        .unwrap_err();
    assert_eq!(
        (broken.fault.kind, broken.effect),
        (FaultKind::TimedOut, Effect::Nothing)
    );
}

#[test]
fn an_encrypted_stream_carries_it_as_well() {
    let server = Dovecot::start();
    let mut settings = settings(server.tls_port());
    settings.host = "localhost".to_owned();
    settings.security = Security::Implicit;
    settings.roots = Roots::with_file(&server.ca_path()).unwrap();
    let source = ImapSource::new(crate::account(), settings);
    let size = 3 << 20;
    let mut body = Generated::new(size, Arc::default());
    let (cx, appending) = (Cx::new(), append("INBOX", size));
    let changed = crate::runtime()
        .block_on(source.append(&cx, &appending, &mut body))
        .unwrap();
    assert_eq!(changed.landed.unwrap().uid.0, 1);
}
