//! The crash matrix over clients that move a message by hand: a careful one passes every cell, and careless ones are
//! caught. So the matrix can fail.

use std::io;
use testkit::crash::{Cell, End, Ends, Expected, Fault, Places, Recorded, Said, Spot, Table};
use testkit::proxy::{Blow, Boundary, Refusal};
use testkit::world::{self, Found};
use testkit::{Delivery, Dovecot, FaultProxy, Flag, RawImap, Seed, Seeds, World};

const GENERATION: u32 = 7;

/// How a client goes about a move without MOVE.
type Hand = fn(&mut RawImap) -> io::Result<Said>;

/// Looks at every answer before it goes on.
fn careful(imap: &mut RawImap) -> io::Result<Said> {
    for command in [
        "SELECT INBOX",
        "UID COPY 1 Target",
        "UID STORE 1 +FLAGS.SILENT (\\Deleted)",
        "UID EXPUNGE 1",
    ] {
        if !imap.attempt(command)?.is_ok() {
            return Ok(Said::Unknown);
        }
    }
    Ok(Said::Done)
}

/// Takes every answer for a yes.
fn blind(imap: &mut RawImap) -> io::Result<Said> {
    imap.attempt("SELECT INBOX")?;
    imap.attempt("UID COPY 1 Target")?;
    imap.attempt("UID STORE 1 +FLAGS.SILENT (\\Deleted)")?;
    imap.attempt("UID EXPUNGE 1")?;
    Ok(Said::Done)
}

struct Ground {
    server: Dovecot,
}

/// A mailbox of its own, as it was before.
struct Plot {
    user: String,
    before: World,
    ends: Ends,
    proxy: FaultProxy,
}

impl Ground {
    fn new() -> Self {
        let server = Dovecot::builder()
            .anyone("secret")
            .config("mail_fsync = never")
            .start();
        Self { server }
    }

    fn plot(&self, user: &str) -> Plot {
        self.server.create_user(user);
        self.server.create_folder(user, "Target");
        let seed = |uid, text: &str| Seed {
            uid,
            delivery: Delivery::new(format!("Subject: {text}\r\n\r\n{text}\r\n"))
                .at(1_780_275_661)
                .flags(&[Flag::Seen]),
            keywords: vec!["project"],
        };
        let seeds = Seeds {
            uidvalidity: GENERATION,
            keywords: &["project"],
            messages: &[seed(1, "one"), seed(2, "two")],
        };
        self.server.seed(user, "INBOX", &seeds);
        let before = self.look(user);
        let item = self.folder(user, "INBOX").remove(0).item;
        let done = before.without(&item).with(item.lying_in("home", "Target"));
        Plot {
            user: user.to_owned(),
            ends: Ends {
                undone_too: None,
                undone: before.clone(),
                done: Expected::Exactly(done),
            },
            before,
            proxy: FaultProxy::to(self.server.port()),
        }
    }

    fn look(&self, user: &str) -> World {
        World::read(&mut [("home", self.server.login(user, "secret"))])
    }

    fn folder(&self, user: &str, folder: &str) -> Vec<Found> {
        world::list(&mut self.server.login(user, "secret"), "home", folder)
    }

    /// Goes on where a client stopped: forward if the copy is there, else nothing was done.
    fn recover(&self, plot: &Plot) -> Recorded {
        // Before, there was nothing in it.
        let copied = !self.folder(&plot.user, "Target").is_empty();
        if !copied {
            return Recorded::Ended(End::Undone);
        }
        let mut imap = self.server.login(&plot.user, "secret");
        imap.command("SELECT INBOX");
        imap.command("UID STORE 1 +FLAGS.SILENT (\\Deleted)");
        imap.command("UID EXPUNGE 1");
        Recorded::Ended(End::Done)
    }

    fn run(&self, hand: Hand, plot: &Plot) -> io::Result<Said> {
        let mut imap = RawImap::connect(plot.proxy.port());
        imap.login(&plot.user, "secret");
        plot.proxy.reset_stats();
        hand(&mut imap)
    }

    /// All cells of a client, each in a mailbox of its own.
    fn matrix(&self, name: &str, hand: Hand) -> Table {
        let plot = self.plot(name);
        self.run(hand, &plot).expect("a run without faults");
        let places = Places {
            commands: vec![("home".to_owned(), Boundary::of(&plot.proxy.commands()))],
            ..Places::default()
        };
        let mut table = Table::default();
        let cells = places.cells(name);
        // A stall would last as long as the patience of a bare client.
        let stalls = [Blow::StallBefore, Blow::StallAfter].map(Fault::Blow);
        let cells = cells.iter().filter(|cell| !stalls.contains(&cell.fault));
        for (number, cell) in cells.enumerate() {
            let plot = self.plot(&format!("{name}{number}"));
            table.note(cell, self.strike(cell, hand, &plot));
        }
        table
    }

    fn strike(&self, cell: &Cell, hand: Hand, plot: &Plot) -> Result<End, String> {
        let (Fault::Blow(blow), Spot::Command { at, .. }) = (cell.fault, &cell.spot) else {
            return Err("no blow at a command".to_owned());
        };
        let strike = plot.proxy.strike(blow, at);
        let said = self.run(hand, plot).unwrap_or(Said::Unknown);
        assert!(strike.has_landed(), "{cell} never came");
        plot.proxy.await_idle();
        let recorded = match said {
            Said::Done => Recorded::Ended(End::Done),
            _ => self.recover(plot),
        };
        plot.ends.judge(&self.look(&plot.user), &recorded, &said)
    }
}

#[test]
fn a_careful_client_passes_and_a_blind_one_is_caught() {
    let ground = Ground::new();
    let careful = ground.matrix("careful", careful);
    eprintln!("{careful}");
    // SELECT, COPY, STORE and EXPUNGE under five blows each.
    assert_eq!(careful.run(), 4 * 5);
    assert_eq!(careful.failures(), []);

    let blind = ground.matrix("blind", blind);
    let failed: Vec<_> = blind
        .failures()
        .iter()
        .map(|(cell, _)| cell.as_str())
        .collect();
    for lost in ["blind/NO/UID COPY#1", "blind/BAD/UID COPY#1"] {
        assert!(failed.contains(&lost), "{blind}");
    }
    for left in ["blind/NO/UID EXPUNGE#1", "blind/NO/UID STORE#1"] {
        assert!(failed.contains(&left), "{blind}");
    }
}

#[test]
fn a_client_that_repeats_what_it_did_not_hear_of_is_caught() {
    let ground = Ground::new();
    let plot = ground.plot("eager");
    let copy = Boundary {
        verb: "UID COPY".to_owned(),
        nth: 1,
    };
    plot.proxy.strike(Blow::CutAfter, &copy);
    assert!(ground.run(careful, &plot).is_err());
    // The same again, without looking.
    assert_eq!(ground.run(careful, &plot).unwrap(), Said::Done);
    let recorded = Recorded::Ended(End::Done);
    let verdict = plot
        .ends
        .judge(&ground.look("eager"), &recorded, &Said::Done);
    let why = verdict.expect_err("two copies");
    assert!(why.contains("no declared end"), "{why}");
    assert_eq!(plot.before.len(), 2);
}

#[test]
fn refusals_come_in_their_turn_and_the_server_never_sees_the_command() {
    let ground = Ground::new();
    let plot = ground.plot("turns");
    for (refusal, word) in [(Refusal::No, "NO"), (Refusal::Bad, "BAD")] {
        plot.proxy
            .refuse_command(refusal, |line| line.contains("UID STORE"));
        let mut imap = RawImap::connect(plot.proxy.port());
        imap.login("turns", "secret");
        // A literal belongs to the command that it is refused with.
        let tag = imap.send(&["SELECT INBOX", "UID STORE 1 +FLAGS (a)", "NOOP"]);
        let lines = imap.read_until(&tag).lines().join("\n");
        let (selected, rest) = lines
            .split_once("[READ-WRITE]")
            .expect("a SELECT before it");
        assert!(!selected.contains("on purpose"), "{lines}");
        assert!(
            rest.contains(&format!("{word} Refused on purpose")),
            "{lines}"
        );
    }
    plot.proxy
        .refuse_command(Refusal::Bye, |line| line.contains("NOOP"));
    let mut imap = RawImap::connect(plot.proxy.port());
    imap.login("turns", "secret");
    imap.command("SELECT INBOX");
    let tag = imap.send(&["NOOP", "UID STORE 1 +FLAGS (a)"]);
    assert!(String::from_utf8_lossy(&imap.read_response()).starts_with("* BYE"));
    assert!(!tag.is_empty());
    drop(imap);
    plot.proxy.await_idle();
    assert_eq!(
        ground.look("turns"),
        plot.before,
        "nothing behind a BYE is done"
    );
}
