//! Chance that can be repeated: one seed for a run, one number for each case.

/// Of one case.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64, case: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ case.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `sides`.
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        let sides = u64::try_from(sides).unwrap();
        usize::try_from(self.next() % sides).unwrap()
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: usize) -> bool {
        self.roll(times) == 0
    }

    pub(crate) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.roll(from.len())]
    }

    pub(crate) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.roll(last + 1));
        }
    }
}

/// What became of a case that broke no law.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    Held,
    /// The law had nothing to say of it.
    Vacant,
}

/// Runs a law so often, each time with dice of its own, and tells which case broke it. One case in ten must be a real one.
#[expect(
    clippy::disallowed_methods,
    reason = "a run can be made longer, shorter or another one"
)]
pub(crate) fn run(usual: u64, law: impl Fn(&mut Dice) -> Result<Case, String>) {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let seed = number("POLICY_SEED").unwrap_or(1);
    let cases = number("POLICY_CASES").unwrap_or(usual);
    let mut held = 0_u64;
    for case in 0..cases {
        match law(&mut Dice::new(seed, case)) {
            Ok(Case::Held) => held += 1,
            Ok(Case::Vacant) => {}
            Err(broken) => panic!("case {case} of POLICY_SEED={seed}: {broken}"),
        }
    }
    assert!(held * 10 >= cases, "{held} of {cases} cases said anything");
}
