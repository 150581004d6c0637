//! Splits a recording into speech and what the model took away, in whole numbers of 24 bits. Pure.
//!
//! Speech and background are rounded so that their sum is the rounded original, sample by sample and exactly. That is
//! impossible only where the difference of two samples does not fit into 24 bits: louder than full scale, which restored
//! speech is not, unless a recording is clipped and the model turns its sign around. Such samples are clipped and counted.

use crate::job::timeline::SAMPLE_BYTES;

/// Largest and smallest sample.
const MOST: i32 = (1 << 23) - 1;
const LEAST: i32 = -(1 << 23);

/// Interleaved samples of 24 bits, each in the upper part of 32 bits, little endian.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Split {
    /// What was restored.
    pub speech: Vec<u8>,
    /// What the model removed.
    pub background: Vec<u8>,
    /// The recording as it was.
    pub original: Vec<u8>,
    /// Samples of the background that did not fit.
    pub clipped: u64,
}

/// Splits interleaved 32-bit floats; both have the same samples in the same order.
pub fn split(original: &[u8], restored: &[u8]) -> Split {
    let mut split = Split::default();
    for part in [&mut split.speech, &mut split.background, &mut split.original] {
        part.reserve(original.len());
    }
    let (original, restored) =
        (original.as_chunks::<SAMPLE_BYTES>().0, restored.as_chunks::<SAMPLE_BYTES>().0);
    for (original, restored) in original.iter().zip(restored) {
        let original = quantised(f32::from_le_bytes(*original));
        let speech = quantised(f32::from_le_bytes(*restored));
        let background = (original - speech).clamp(LEAST, MOST);
        split.clipped += u64::from(background != original - speech);
        split.speech.extend(in_upper_part(speech));
        split.background.extend(in_upper_part(background));
        split.original.extend(in_upper_part(original));
    }
    split
}

/// A sample of full scale 1 in 24 bits. What is no number is silence.
fn quantised(sample: f32) -> i32 {
    let scaled = (f64::from(sample) * f64::from(1 << 23)).round();
    (scaled.clamp(f64::from(LEAST), f64::from(MOST))) as i32
}

fn in_upper_part(sample: i32) -> [u8; SAMPLE_BYTES] {
    (sample << 8).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bytes(samples: &[f32]) -> Vec<u8> {
        samples.iter().flat_map(|sample| sample.to_le_bytes()).collect()
    }

    fn samples(bytes: &[u8]) -> Vec<i32> {
        bytes.as_chunks::<SAMPLE_BYTES>().0.iter().map(|sample| i32::from_le_bytes(*sample) >> 8).collect()
    }

    #[test]
    fn full_scale_nonsense_and_what_does_not_fit_are_bounded_and_counted() {
        let split = split(&bytes(&[1.0, -1.5, f32::NAN, 1.0]), &bytes(&[0.0, 0.0, 0.5, -0.5]));
        assert_eq!(samples(&split.original), [MOST, LEAST, 0, MOST]);
        assert_eq!(samples(&split.speech), [0, 0, 1 << 22, -(1 << 22)]);
        assert_eq!(samples(&split.background), [MOST, LEAST, -(1 << 22), MOST]);
        assert_eq!(split.clipped, 1);
    }

    proptest! {
        #[test]
        fn speech_and_background_add_up_to_the_recording_exactly(
            pairs in prop::collection::vec((-1.0_f32..1.0, -0.7_f32..0.7), 1..200),
        ) {
            let (original, speech): (Vec<f32>, Vec<f32>) =
                pairs.into_iter().map(|(original, speech)| (original * 0.3, speech)).unzip();
            let split = split(&bytes(&original), &bytes(&speech));
            prop_assert_eq!(split.clipped, 0);
            let sums: Vec<i32> =
                samples(&split.speech).iter().zip(samples(&split.background)).map(|(a, b)| a + b).collect();
            prop_assert_eq!(&sums, &samples(&split.original));
            for (float, whole) in original.iter().zip(sums) {
                prop_assert!((f64::from(*float) * 8_388_608.0 - f64::from(whole)).abs() <= 0.5);
            }
        }
    }
}
