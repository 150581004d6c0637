//! The simulation's random numbers: xoshiro256++ (Blackman and Vigna, 2019), its state filled by SplitMix64 from one
//! `u64`. Written out here because a seed has to mean the same run for ever, whatever a crate's next release does.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random([u64; 4]);

impl Random {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let mut z = state;
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^ (z >> 31)
        };
        Self([next(), next(), next(), next()])
    }

    /// The next number.
    pub fn draw(&mut self) -> u64 {
        let [a, b, c, d] = self.0;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let mut s = [a, b, c ^ a, d ^ b];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= b << 17;
        s[3] = s[3].rotate_left(45);
        self.0 = s;
        result
    }

    /// Uniform from 0 to below `bound`; 0 when there is no room. The bias of a remainder is below 2^-40 for the bounds used.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.draw() % bound }
    }

    /// Uniform, both ends included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low) + 1)
    }

    /// True in so many of a thousand cases.
    pub fn chance(&mut self, per_thousand: u32) -> bool {
        per_thousand > 0 && self.below(1_000) < u64::from(per_thousand)
    }

    /// An index into something of that length.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Mostly short, now and then long: uniform up to a ceiling that is itself drawn between `low` and `high` on a
    /// logarithmic scale.
    pub fn skewed(&mut self, low: u64, high: u64) -> u64 {
        let doublings = 64 - (high / low.max(1)).leading_zeros();
        let ceiling = (low << self.below(u64::from(doublings) + 1)).min(high);
        self.between(low.min(ceiling), ceiling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_means_the_same_stream_for_ever() {
        let mut random = Random::new(1);
        let first: Vec<u64> = (0..3).map(|_| random.draw()).collect();
        assert_eq!(first, [0xCFC5_D07F_6F03_C29B, 0xBF42_4132_963F_E08D, 0x19A3_7D57_57AA_F520]);
    }
}
