//! Chance that can be repeated.

/// Of one world.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64, world: u64) -> Self {
        Self(seed.wrapping_mul(0x2545_f491_4f6c_dd1d) ^ world.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than `sides`.
    pub(super) fn roll(&mut self, sides: usize) -> usize {
        usize::try_from(self.next() % sides as u64).unwrap()
    }

    pub(super) fn once_in(&mut self, times: usize) -> bool {
        self.roll(times) == 0
    }

    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.roll(from.len())]
    }

    pub(super) fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            list.swap(last, self.roll(last + 1));
        }
    }

    /// A word that stands nowhere else.
    pub(super) fn word(&mut self) -> String {
        let letters = (0..9).map(|_| char::from(b'a' + self.roll(26) as u8));
        letters.collect()
    }
}
