//! The limit on lines that fail at random and on lines that fail under load, in seconds of a clock that costs no time.
//!
//! The line is the one of the bench `aimd`: 5 MB/s, 0.3 s to 0.5 s for each upload of 150 kB; a third each of the failures
//! are refused, break off, or get no answer until the worker gives up.

use super::{Aimd, Stamp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const BYTE_SECONDS: f64 = 150_000.0 / 5.0e6;
const ROUND_TRIP: f64 = 0.03;
const NO_ANSWER: f64 = 10.6;

#[derive(Clone, Copy)]
struct Line {
    /// Share of uploads that fails whatever runs.
    at_random: f64,
    /// Uploads at once that it carries. Beyond that as large a share of them fails as is too much.
    carries: usize,
}

/// Which limit is tried.
enum Tried {
    Fixed(usize),
    Adaptive(Aimd),
}

impl Tried {
    fn limit(&self) -> usize {
        match self {
            Self::Fixed(limit) => *limit,
            Self::Adaptive(aimd) => aimd.limit(),
        }
    }

    fn stamp(&self) -> Stamp {
        match self {
            Self::Fixed(_) => Stamp(0),
            Self::Adaptive(aimd) => aimd.stamp(),
        }
    }
}

/// SplitMix64 (Steele, Lea and Flood, 2014), as a number from 0 to 1.
fn chance(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Seconds until so many uploads are stored.
fn seconds(line: Line, mut tried: Tried, uploads: usize, mut seed: u64) -> f64 {
    let (mut now, mut line_free_at, mut left) = (0.0_f64, 0.0_f64, uploads);
    let mut running: BinaryHeap<Reverse<(u64, bool, u64)>> = BinaryHeap::new();
    while left > 0 {
        while running.len() < tried.limit().min(left) {
            let together = running.len() + 1;
            let too_many = together.saturating_sub(line.carries) as f64 / together as f64;
            let bad = chance(&mut seed) < line.at_random || chance(&mut seed) < too_many;
            let kind = if bad { chance(&mut seed) * 3.0 } else { 3.0 };
            let sent =
                line_free_at.max(now) + if (1.0..2.0).contains(&kind) { 0.5 } else { 1.0 } * BYTE_SECONDS;
            line_free_at = sent;
            let end = match kind {
                ..1.0 => sent + ROUND_TRIP,
                1.0..2.0 => sent,
                2.0..3.0 => sent + NO_ANSWER,
                _ => sent + ROUND_TRIP + 0.3 + 0.2 * chance(&mut seed),
            };
            running.push(Reverse(((end * 1e6) as u64, !bad, tried.stamp().0)));
        }
        let together = running.len();
        let Some(Reverse((at, good, began))) = running.pop() else {
            unreachable!("the least limit is above 0")
        };
        now = at as f64 / 1e6;
        left -= usize::from(good);
        if let Tried::Adaptive(aimd) = &mut tried {
            if good { aimd.succeeded(Stamp(began), together) } else { aimd.failed(Stamp(began)) }
        }
    }
    now
}

/// Uploads per second with the adaptive limit, and with fixed ones of 2, 8 and 16: each over many rows of chance.
fn compare(at_random: f64, carries: usize, uploads: usize) -> (f64, [f64; 3]) {
    let line = Line { at_random, carries };
    let rate = |tried: fn() -> Tried| {
        let total: f64 = (1..=40).map(|seed| seconds(line, tried(), uploads, seed * 7_919)).sum();
        40.0 * uploads as f64 / total
    };
    let fixed = [rate(|| Tried::Fixed(2)), rate(|| Tried::Fixed(8)), rate(|| Tried::Fixed(16))];
    (rate(|| Tried::Adaptive(Aimd::default())), fixed)
}

#[test]
fn where_failures_come_by_chance_it_is_hardly_slower_than_the_best_fixed_limit() {
    for uploads in [120, 1_000] {
        for at_random in [0.0, 0.04, 0.15] {
            let (adaptive, fixed) = compare(at_random, usize::MAX, uploads);
            let best = fixed.into_iter().fold(0.0, f64::max);
            println!("{uploads} uploads, {at_random}: {adaptive:.1}/s, fixed {fixed:.1?}");
            assert!(adaptive >= 0.9 * best, "{uploads} uploads, {at_random}: {adaptive} of {fixed:?}");
        }
    }
}

#[test]
fn where_failures_come_from_too_many_uploads_it_is_far_faster_than_too_many() {
    for (at_random, carries) in [(0.0, 3), (0.0, 6), (0.04, 6), (0.15, 6)] {
        for uploads in [120, 1_000] {
            let (adaptive, fixed) = compare(at_random, carries, uploads);
            println!("{uploads} uploads, {at_random}, carries {carries}: {adaptive:.1}/s, fixed {fixed:.1?}");
            assert!(adaptive >= 1.4 * fixed[2], "{at_random}, {carries}: {adaptive} of {fixed:?}");
        }
    }
}
