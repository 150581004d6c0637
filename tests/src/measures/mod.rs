//! Measures of restored speech against a clean reference.

mod align;
mod si_sdr;
mod snr;

pub use align::{align, delay_between};
pub use si_sdr::si_sdr;
pub use snr::{segmental_snr, snr};

/// Sum of products, in double precision.
fn dot(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum()
}

/// Ten times the decimal logarithm of a ratio of energies.
fn decibels(over: f64, under: f64) -> f64 {
    10.0 * (over / under).log10()
}
