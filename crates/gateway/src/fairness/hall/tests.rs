//! Any crowd, let in by turns: laws, with a clock that is turned by hand.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

const MODEST: &str = "modest";

fn bounds(places: usize) -> Bounds {
    Bounds {
        places,
        spare: 0,
        queue: 32,
        patience: Duration::from_secs(2),
    }
}

/// What happens next, in a crowd of some callers.
#[derive(Clone, Debug)]
enum Happens {
    Comes(usize),
    /// One of those under way is over.
    Ends(usize),
    /// One of them is done, and not over.
    Parts(usize),
    /// And now it is.
    Parted(usize),
    /// One of those who wait goes.
    Leaves(usize),
}

fn happenings(callers: usize) -> impl Strategy<Value = Vec<(Happens, u64)>> {
    let one = prop_oneof![
        4 => (0..callers).prop_map(Happens::Comes),
        2 => any::<usize>().prop_map(Happens::Ends),
        2 => any::<usize>().prop_map(Happens::Parts),
        2 => any::<usize>().prop_map(Happens::Parted),
        1 => any::<usize>().prop_map(Happens::Leaves),
    ];
    proptest::collection::vec((one, 0u64..5_000), 1..400)
}

/// A hall, and what is known of it from outside.
struct Crowd {
    hall: Hall,
    now: Instant,
    inside: Vec<String>,
    parting: Vec<String>,
    waiting: Vec<(Ticket, String)>,
}

impl Crowd {
    fn new(places: usize) -> Self {
        Self {
            hall: Hall::new(bounds(places)),
            now: Instant::now(),
            inside: Vec::new(),
            parting: Vec::new(),
            waiting: Vec::new(),
        }
    }

    /// What happens, and who is let in by it.
    fn happens(&mut self, happens: &Happens) -> Vec<String> {
        match happens {
            Happens::Comes(who) => {
                let name = format!("c{who}");
                match self.comes(&name) {
                    Arrival::Enters => vec![name],
                    Arrival::Waits(_) | Arrival::TurnedAway(_) => Vec::new(),
                }
            }
            Happens::Ends(which) => self.ends(*which),
            Happens::Parts(which) => self.parts(*which),
            Happens::Parted(which) => {
                self.parted(*which);
                Vec::new()
            }
            Happens::Leaves(which) => self.leaves(*which),
        }
    }

    fn comes(&mut self, caller: &str) -> Arrival {
        let arrival = self.hall.arrive(caller);
        match arrival {
            Arrival::Enters => self.inside.push(caller.to_owned()),
            Arrival::Waits(ticket) => self.waiting.push((ticket, caller.to_owned())),
            Arrival::TurnedAway(_) => {}
        }
        arrival
    }

    /// Who was let in.
    fn ends(&mut self, which: usize) -> Vec<String> {
        if self.inside.is_empty() {
            return Vec::new();
        }
        let caller = self.inside.swap_remove(which % self.inside.len());
        let entered = self.hall.end(&caller, self.now);
        self.let_in(entered)
    }

    /// Who was let in.
    fn parts(&mut self, which: usize) -> Vec<String> {
        if self.inside.is_empty() {
            return Vec::new();
        }
        let caller = self.inside.swap_remove(which % self.inside.len());
        let entered = self.hall.part(&caller, self.now);
        self.parting.push(caller);
        self.let_in(entered)
    }

    fn parted(&mut self, which: usize) {
        if !self.parting.is_empty() {
            let caller = self.parting.swap_remove(which % self.parting.len());
            self.hall.parted(&caller, self.now);
        }
    }

    fn let_in(&mut self, entered: Vec<Ticket>) -> Vec<String> {
        let mut names = Vec::new();
        for ticket in entered {
            let at = self.waiting.iter().position(|(one, _)| *one == ticket);
            let (_, name) = self.waiting.remove(at.expect("only who waits is let in"));
            self.inside.push(name.clone());
            names.push(name);
        }
        names
    }

    /// Who was let in.
    fn leaves(&mut self, which: usize) -> Vec<String> {
        if self.waiting.is_empty() {
            return Vec::new();
        }
        let (ticket, caller) = self.waiting.remove(which % self.waiting.len());
        let entered = self.hall.leave(&caller, ticket, self.now);
        self.let_in(entered.expect("it waited"))
    }

    /// Whether it has one call here, has not had another since it came, and nothing else is known of it.
    fn is_alone(&self, caller: &str) -> bool {
        let guest = self.hall.callers.get(caller);
        guest.is_some_and(|guest| guest.company() == Company::Alone)
    }

    fn of(&self, caller: &str) -> usize {
        self.inside.iter().filter(|name| *name == caller).count()
    }
}

proptest! {
    /// Never more than there are places, no place is lost, and none is empty while somebody waits who has nothing.
    #[test]
    fn places_are_all_used_and_none_is_used_twice(
        places in 1usize..12,
        spare in 0usize..6,
        happenings in happenings(6),
    ) {
        let mut crowd = Crowd::new(places);
        crowd.hall.bounds.spare = spare;
        for (happens, after) in happenings {
            crowd.now += Duration::from_millis(after);
            crowd.happens(&happens);
            let taken = crowd.hall.taken;
            prop_assert!(taken.usual <= places && taken.spare <= spare);
            prop_assert_eq!(crowd.hall.under_way(), crowd.inside.len());
            prop_assert_eq!(crowd.hall.parting(), crowd.parting.len());
            prop_assert_eq!(crowd.hall.waiting(), crowd.waiting.len());
            let poor = crowd.waiting.iter().any(|(_, name)| crowd.of(name) == 0);
            prop_assert!(!poor || taken.usual == places, "a place is free and somebody with none waits");
            let alone = crowd.waiting.iter().any(|(_, name)| crowd.is_alone(name));
            prop_assert!(!alone || taken.spare == spare, "one is kept for somebody who waits");
        }
        while !crowd.inside.is_empty() {
            crowd.now += Duration::from_millis(1);
            crowd.ends(0);
        }
        while !crowd.parting.is_empty() {
            crowd.parted(0);
        }
        prop_assert!(crowd.waiting.is_empty(), "all who wait get their turn");
        prop_assert!(crowd.hall.is_empty());
    }

    /// Whatever the others do: while one with nothing under way waits, each of them is let in once at most.
    #[test]
    fn one_call_at_a_time_waits_at_most_one_turn(
        places in 1usize..12,
        spare in 0usize..6,
        before in happenings(6),
        after in happenings(6),
    ) {
        let mut crowd = Crowd::new(places);
        crowd.hall.bounds.spare = spare;
        // Nobody is sent away for being slow here: that is another law.
        crowd.hall.bounds.patience = Duration::MAX;
        for (happens, _) in before {
            crowd.happens(&happens);
        }
        let waits = match crowd.comes(MODEST) {
            Arrival::Enters => return Ok(()),
            Arrival::TurnedAway(_) => return Err(TestCaseError::fail("it was sent away")),
            Arrival::Waits(ticket) => ticket,
        };
        let mut let_in: HashMap<String, usize> = HashMap::new();
        for (happens, _) in after {
            let entered = match happens {
                // Should it be the modest one that goes, there is nothing to see.
                Happens::Leaves(_) => Vec::new(),
                happens => crowd.happens(&happens),
            };
            for name in entered {
                if name == MODEST {
                    return Ok(());
                }
                *let_in.entry(name).or_default() += 1;
            }
            prop_assert!(let_in.values().all(|times| *times <= 1), "{let_in:?}");
        }
        let still = crowd.waiting.iter().any(|(ticket, _)| *ticket == waits);
        prop_assert!(still);
    }
}

/// Each of those who come is new: they find places that the greedy are not given.
#[test]
fn who_has_nothing_under_way_finds_a_place_beside_the_greedy() {
    let mut crowd = Crowd::new(4);
    crowd.hall.bounds.spare = 3;
    for _ in 0..8 {
        crowd.comes("a");
        crowd.comes("b");
    }
    assert_eq!(crowd.inside.len(), 4);
    for who in ["c", "d", "e"] {
        assert_eq!(crowd.comes(who), Arrival::Enters);
        assert!(matches!(crowd.comes(who), Arrival::Waits(_)));
    }
    assert!(matches!(crowd.comes("f"), Arrival::Waits(_)));
    // One of the greedy is done: it is the turn of who has nothing.
    assert_eq!(crowd.ends(0), ["f"]);
}

#[test]
fn the_greedy_get_no_place_of_those_who_ask_for_little() {
    let greedy = ["a", "b", "c", "d", "e"];
    let mut crowd = Crowd::new(2);
    crowd.hall.bounds.spare = 8;
    for _ in 0..20 {
        greedy.iter().for_each(|who| {
            crowd.comes(who);
        });
    }
    // Each came once with nothing else; from then on two are under way, whoever has nothing for a moment.
    assert_eq!(crowd.inside.len(), 5);
    for _ in 0..12 {
        crowd.ends(0);
        assert_eq!(crowd.comes("modest"), Arrival::Enters);
        let own = crowd.inside.iter().position(|who| who == "modest");
        crowd.ends(own.unwrap());
    }
    assert_eq!(crowd.inside.len(), 2);
}

#[test]
fn places_come_and_go() {
    let mut crowd = Crowd::new(4);
    for who in 0..8 {
        crowd.comes(&format!("c{who}"));
    }
    assert_eq!(crowd.hall.make_room(6).len(), 2);
    assert!(crowd.hall.make_room(1).is_empty());
    assert_eq!(crowd.hall.under_way(), 6);
    assert!(
        crowd.ends(0).is_empty(),
        "there are more than places already"
    );
}

/// It is only asked, and nobody waits for the answer.
#[test]
fn whom_the_door_is_closed_to_is_known_beforehand() {
    let mut crowd = Crowd::new(1);
    assert_eq!(crowd.hall.is_closed_to("a"), None);
    for _ in 0..33 {
        assert_eq!(crowd.hall.is_closed_to("a"), None);
        crowd.comes("a");
    }
    assert_eq!(crowd.hall.is_closed_to("a"), Some(Duration::ZERO));
    assert_eq!(crowd.hall.is_closed_to(MODEST), None);
    assert!(matches!(crowd.comes("a"), Arrival::TurnedAway(_)));
}

/// Calls that never end: however many callers make them, one more finds a place, as long as there are fewer of them
/// than a quarter of the places.
#[test]
fn however_slow_the_greedy_are_a_modest_caller_finds_a_place() {
    for greedy in 1..=16 {
        let mut crowd = Crowd::new(64);
        for round in 0..64 {
            for who in 0..greedy {
                crowd.comes(&format!("g{who}-of-{greedy}"));
                crowd.now += Duration::from_millis(round);
            }
        }
        assert_eq!(crowd.comes(MODEST), Arrival::Enters, "{greedy} greedy ones");
    }
}

#[test]
fn alone_one_gets_three_quarters() {
    for (places, alone) in [(1, 1), (4, 3), (8, 6), (256, 192)] {
        let mut crowd = Crowd::new(places);
        while crowd.comes("a") == Arrival::Enters {}
        assert_eq!(crowd.inside.len(), alone, "of {places}");
    }
}

#[test]
fn a_queue_is_no_longer_than_it_may_be_and_only_its_own_caller_is_sent_away() {
    let mut crowd = Crowd::new(4);
    let arrivals: Vec<Arrival> = (0..60).map(|_| crowd.comes("greedy")).collect();
    let count = |is: fn(&Arrival) -> bool| arrivals.iter().filter(|one| is(one)).count();
    assert_eq!(count(|one| *one == Arrival::Enters), 3);
    assert_eq!(count(|one| matches!(one, Arrival::Waits(_))), 32);
    assert_eq!(count(|one| matches!(one, Arrival::TurnedAway(_))), 25);
    assert_eq!(crowd.comes(MODEST), Arrival::Enters);
}

/// A place is free every 300 ms: six turns fit into the patience, a seventh does not.
#[test]
fn who_cannot_be_served_in_time_is_told_at_once() {
    let mut crowd = Crowd::new(1);
    crowd.comes("a");
    crowd.comes("a");
    for _ in 0..64 {
        crowd.now += Duration::from_millis(300);
        crowd.ends(0);
        crowd.comes("a");
    }
    assert_eq!(crowd.hall.pulse.known(), Some(Duration::from_millis(300)));
    let told: Vec<Arrival> = (0..6).map(|_| crowd.comes("a")).collect();
    let waits = |one: &Arrival| matches!(one, Arrival::Waits(_));
    assert!(told[..5].iter().all(waits), "{told:?}");
    assert_eq!(told[5], Arrival::TurnedAway(Duration::from_millis(2_100)));
    // Another one is served before most of these.
    assert!(waits(&crowd.comes(MODEST)));
}

/// Calls took ten seconds each, and everybody was sent away. Later they are quick again.
#[test]
fn a_slow_hour_is_not_held_against_those_who_come_later() {
    let mut crowd = Crowd::new(1);
    crowd.comes("a");
    crowd.comes("a");
    for _ in 0..3 {
        crowd.now += Duration::from_secs(10);
        crowd.comes("a");
        crowd.ends(0);
    }
    let sent_away = |one: Arrival| matches!(one, Arrival::TurnedAway(_));
    while !crowd.waiting.is_empty() {
        crowd.leaves(0);
    }
    assert!(sent_away(crowd.comes("a")) && sent_away(crowd.comes(MODEST)));
    // Nobody waits, so nothing is measured; what is under way ends all the same.
    crowd.ends(0);
    assert_eq!(crowd.comes("a"), Arrival::Enters);
    assert!(matches!(crowd.comes(MODEST), Arrival::Waits(_)));
}

/// However many come alone, and however often.
#[test]
fn whoever_has_several_calls_gets_on_beside_those_who_have_one() {
    let mut crowd = Crowd::new(2);
    crowd.hall.bounds.spare = 4;
    let singles: Vec<String> = (0..12).map(|who| format!("s{who}")).collect();
    singles.iter().for_each(|who| {
        crowd.comes(who);
    });
    for _ in 0..4 {
        crowd.comes("several");
    }
    for turn in 0..40 {
        let who = crowd.inside[turn % crowd.inside.len()].clone();
        crowd.ends(turn % crowd.inside.len());
        if who != "several" {
            crowd.comes(&who);
        }
    }
    let left = crowd.waiting.iter().filter(|(_, who)| who == "several");
    assert_eq!(left.count(), 0, "all of them were let in");
}

#[test]
fn one_beat_that_took_long_sends_nobody_away() {
    let mut crowd = Crowd::new(4);
    let callers: Vec<String> = (0..50).map(|who| format!("c{who}")).collect();
    let comes = |crowd: &mut Crowd| {
        let each = callers.iter().cycle().take(300);
        each.map(|who| crowd.comes(who)).collect::<Vec<_>>()
    };
    comes(&mut crowd);
    // The first connect and open; after them 600 calls a second end, but for one moment.
    let beats = [80; 10].into_iter().chain([2; 200]).chain([150, 2]);
    for beat in beats {
        crowd.now += Duration::from_millis(beat);
        let sent_away = |one: &Arrival| matches!(one, Arrival::TurnedAway(_));
        let who = crowd.inside[0].clone();
        crowd.ends(0);
        assert!(!sent_away(&crowd.comes(&who)), "after {beat} ms");
    }
}

/// By these it is known that somebody is held up.
#[test]
fn who_has_no_more_than_one_call_here_for_a_while_asks_for_little() {
    let mut crowd = Crowd::new(2);
    crowd.hall.bounds.spare = 2;
    let ends = |crowd: &mut Crowd, who: &str| {
        let at = crowd.inside.iter().position(|one| one == who);
        crowd.ends(at.unwrap());
    };
    let later = |crowd: &mut Crowd, after: Duration| {
        crowd.now += after;
        crowd.hall.take_modest(crowd.now)
    };
    crowd.comes(MODEST);
    assert!(!later(&mut crowd, A_WHILE), "it is still here");
    ends(&mut crowd, MODEST);
    assert!(!later(&mut crowd, A_WHILE / 2), "others may follow");
    crowd.comes(MODEST);
    ends(&mut crowd, MODEST);
    assert!(later(&mut crowd, A_WHILE / 2));
    assert!(!later(&mut crowd, A_WHILE), "nobody came since");
}

/// As when many connections of one caller are opened one after the other.
#[test]
fn the_first_of_many_calls_says_nothing_though_it_ends_before_the_next_comes() {
    let mut crowd = Crowd::new(2);
    crowd.comes("greedy");
    crowd.ends(0);
    crowd.now += A_WHILE / 2;
    for _ in 0..9 {
        crowd.comes("greedy");
    }
    while !crowd.inside.is_empty() {
        crowd.now += A_WHILE;
        crowd.ends(0);
        assert!(!crowd.hall.take_modest(crowd.now));
    }
    crowd.now += A_WHILE;
    assert!(!crowd.hall.take_modest(crowd.now));
}

/// On one connection, as fast as it is answered: it takes what there is, though never two places at a time.
#[test]
fn who_asks_again_as_soon_as_it_is_answered_asks_for_much() {
    for (calls, modest) in [(1, true), (FEW, true), (FEW + 1, false), (500, false)] {
        let mut crowd = Crowd::new(2);
        for _ in 0..calls {
            crowd.comes(MODEST);
            crowd.ends(0);
        }
        crowd.now += A_WHILE;
        assert_eq!(crowd.hall.take_modest(crowd.now), modest, "{calls}");
    }
}

#[test]
fn who_was_here_last_night_is_not_spared_now() {
    let mut crowd = Crowd::new(2);
    crowd.comes(MODEST);
    crowd.ends(0);
    crowd.now += A_WHILE + OF_LATE;
    assert!(!crowd.hall.take_modest(crowd.now));
    assert!(crowd.hall.alone.is_empty());
}

/// What is done and not yet recorded is still its caller's.
#[test]
fn whoever_has_others_on_their_way_out_is_not_alone() {
    let mut crowd = Crowd::new(1);
    crowd.hall.bounds.spare = 4;
    crowd.comes("greedy");
    for _ in 0..3 {
        assert!(matches!(
            crowd.comes("several"),
            Arrival::Enters | Arrival::Waits(_)
        ));
    }
    // The first had a place that is kept for those who ask for little; nobody knew better.
    assert_eq!(crowd.inside, ["greedy", "several"]);
    assert!(
        crowd.parts(1).is_empty(),
        "the others wait for a place of all"
    );
    crowd.parted(0);
    assert_eq!(crowd.inside, ["greedy"]);
    assert_eq!(crowd.comes(MODEST), Arrival::Enters);
}
