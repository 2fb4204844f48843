//! How many calls this machine has breath for: more when calls wait and no thread waits for a processor; fewer while threads
//! do, and few for the sake of callers who ask for little beside others who ask for much. Arithmetic alone.

use std::time::Duration;

/// What the threads of this process have had of the processors since it began: how long they ran, and how long they could
/// have run and had to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Strain {
    pub ran: Duration,
    pub waited: Duration,
}

/// Who has run less than this since the last look has nothing to wait for.
const IDLE: Duration = Duration::from_millis(5);
/// Of a hundred parts of the time in which a thread could run, those it may wait.
const TOO_LONG: u128 = 25;
const SHORT: u128 = 12;
/// So long a task that could go on may wait for a thread.
const LATE: Duration = Duration::from_millis(1);
const PROMPT: Duration = Duration::from_micros(250);

/// The number of places, and what it was found by.
#[derive(Clone, Debug)]
pub(crate) struct Breath {
    /// However much it strains the machine, while somebody is held up by it.
    least: usize,
    /// And while nobody is: fewer would end no call sooner, and each would cost more.
    usual: usize,
    most: usize,
    places: usize,
    before: Option<Strain>,
}

/// Who waits for a place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Queue {
    Empty,
    /// Callers who all ask for more than there is.
    Waits,
    /// The same, and others came meanwhile who had nothing else under way: they wait for what the first make of the machine.
    HoldsUp,
}

impl Breath {
    pub(crate) fn new(least: usize, places: usize, most: usize) -> Self {
        Self {
            least,
            usual: places,
            most,
            places,
            before: None,
        }
    }

    /// How many places there shall be from now on. `lag` is how long it takes until a task that could go on does.
    pub(crate) fn draw(&mut self, strain: Strain, lag: Duration, queue: Queue) -> usize {
        let Some(before) = self.before.replace(strain) else {
            return self.places;
        };
        let ran = strain.ran.saturating_sub(before.ran);
        let waited = strain.waited.saturating_sub(before.waited);
        let wanted = ran + waited;
        let share = match wanted < IDLE {
            true => 0,
            false => waited.as_nanos() * 100 / wanted.as_nanos(),
        };
        let step = (self.places / 4).max(1);
        // Whoever is held up is so from the first moment of a rush on.
        let (floor, fewer) = match queue {
            Queue::HoldsUp => (self.least, self.places.div_ceil(2)),
            Queue::Empty | Queue::Waits => (self.usual, step),
        };
        let strained = share > TOO_LONG || lag > LATE;
        let easy = share < SHORT && lag < PROMPT;
        self.places = match () {
            () if strained && self.places > floor => self.places.saturating_sub(fewer).max(floor),
            () if self.places < floor => (self.places + step).min(floor),
            () if easy && queue != Queue::Empty => (self.places + step).min(self.most),
            () => self.places,
        };
        self.places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks so often, at threads that wait for so many parts of a hundred.
    fn after(breath: &mut Breath, looks: u32, share: u32, queue: Queue) -> usize {
        let mut strain = breath.before.unwrap_or_default();
        for _ in 0..looks {
            strain.ran += Duration::from_millis(1) * (100 - share);
            strain.waited += Duration::from_millis(1) * share;
            breath.draw(strain, Duration::ZERO, queue);
        }
        breath.places
    }

    #[test]
    fn where_tasks_wait_for_threads_there_are_fewer_places_too() {
        let mut breath = Breath::new(4, 16, 256);
        for _ in 0..30 {
            breath.draw(Strain::default(), 2 * LATE, Queue::HoldsUp);
        }
        assert_eq!(breath.places, 4);
        for _ in 0..30 {
            breath.draw(Strain::default(), LATE, Queue::HoldsUp);
        }
        assert_eq!(breath.places, 4);
        for _ in 0..30 {
            breath.draw(Strain::default(), Duration::ZERO, Queue::Waits);
        }
        assert_eq!(breath.places, 256);
    }

    #[test]
    fn a_machine_out_of_breath_has_fewer_places_and_gets_them_back() {
        let mut breath = Breath::new(4, 16, 256);
        assert_eq!(after(&mut breath, 30, 80, Queue::HoldsUp), 4);
        assert_eq!(after(&mut breath, 30, 20, Queue::HoldsUp), 4);
        assert_eq!(after(&mut breath, 30, 5, Queue::HoldsUp), 256);
    }

    #[test]
    fn a_rush_that_holds_somebody_up_is_over_in_a_few_looks() {
        let mut breath = Breath::new(2, 16, 256);
        assert_eq!(after(&mut breath, 4, 80, Queue::HoldsUp), 2);
    }

    #[test]
    fn places_are_few_only_where_somebody_is_held_up() {
        let mut breath = Breath::new(4, 16, 256);
        assert_eq!(after(&mut breath, 30, 0, Queue::Waits), 256);
        assert_eq!(after(&mut breath, 30, 80, Queue::Waits), 16);
        assert_eq!(after(&mut breath, 30, 80, Queue::HoldsUp), 4);
        assert_eq!(after(&mut breath, 30, 80, Queue::Waits), 16);
        assert_eq!(after(&mut breath, 30, 80, Queue::Empty), 16);
    }

    #[test]
    fn nothing_grows_that_nobody_waits_for() {
        let mut breath = Breath::new(4, 16, 256);
        assert_eq!(after(&mut breath, 30, 0, Queue::Empty), 16);
    }

    #[test]
    fn a_moment_of_waiting_of_threads_that_do_nothing_is_no_strain() {
        let mut breath = Breath::new(4, 16, 256);
        breath.draw(Strain::default(), Duration::ZERO, Queue::Waits);
        let strain = Strain {
            ran: Duration::from_micros(10),
            waited: Duration::from_millis(2),
        };
        assert_eq!(breath.draw(strain, Duration::ZERO, Queue::Waits), 20);
    }
}
