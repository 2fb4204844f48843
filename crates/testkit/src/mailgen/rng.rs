//! Deterministic numbers (SplitMix64). Not random in any other sense.

#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A stream of its own for each pair.
    pub fn new(seed: u64, number: u64) -> Self {
        let mut rng = Self(seed);
        rng.0 = rng.next() ^ number.wrapping_mul(0xA24B_AED4_963E_E407);
        rng.next();
        rng
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// From 0 to `limit`, exclusive.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    pub fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }

    /// From 0 to `limit`, exclusive, and mostly small: `n` is about as likely as half of `2n` (Zipf's law).
    pub(super) fn zipf(&mut self, limit: usize) -> usize {
        let unit = (self.next() >> 11) as f64 / (1u64 << 53) as f64;
        (((limit as f64 + 1.0).powf(unit)) as usize)
            .saturating_sub(1)
            .min(limit - 1)
    }

    pub(super) fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut out: Vec<u8> = (0..count.div_ceil(8))
            .flat_map(|_| self.next().to_le_bytes())
            .collect();
        out.truncate(count);
        out
    }
}
