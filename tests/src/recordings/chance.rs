//! Numbers that look random and are the same on every machine.

/// SplitMix64 (Steele, Lea and Flood, 2014).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// A generator whose sequence depends on nothing but `name`.
    pub fn named(name: &str) -> Self {
        // FNV-1a, 64 bits.
        Self(
            name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            }),
        )
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A whole number below `limit`; 0 when `limit` is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.bits() % limit as u64) as usize }
    }

    /// Roughly normal with mean 0 and variance 1: a sum of twelve uniform numbers.
    pub fn normal(&mut self) -> f32 {
        let sum: f64 = (0..12).map(|_| (self.bits() >> 11) as f64 / (1u64 << 53) as f64).sum();
        (sum - 6.0) as f32
    }
}
