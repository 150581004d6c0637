//! The scales of ITU-T P.835.

use std::ops::{Add, Div, Sub};

/// Mean opinion scores of ITU-T P.835, from 1 (bad) to 5 (excellent); the estimate reaches about 4.3 at most.
#[derive(Debug, Clone, Copy, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Scores {
    /// The recording as a whole (OVRL).
    pub overall: f64,
    /// The speech: is it free of distortion (SIG)?
    pub signal: f64,
    /// The background: does it not disturb (BAK)?
    pub background: f64,
}

impl Scores {
    fn combine(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            overall: f(self.overall, other.overall),
            signal: f(self.signal, other.signal),
            background: f(self.background, other.background),
        }
    }
}

impl Add for Scores {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.combine(other, |a, b| a + b)
    }
}

impl Sub for Scores {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.combine(other, |a, b| a - b)
    }
}

impl Div<f64> for Scores {
    type Output = Self;
    fn div(self, by: f64) -> Self {
        self.combine(Self::default(), |a, _| a / by)
    }
}
