//! What has to be known of a network that scores speech without a reference, beside its file.

use std::path::PathBuf;

/// A polynomial of second degree, highest power first: `[a, b, c]` makes `a x² + b x + c` of a number.
pub type Polynomial = [f64; 3];

/// A network with one input, mono samples of shape `[1, stretch]`, and one output, a number for each scale.
#[derive(Debug, Clone, PartialEq)]
pub struct ScorerModel {
    /// What scores are told to come from.
    pub name: String,
    /// The ONNX file.
    pub path: PathBuf,
    /// Samples per second of what it hears.
    pub sample_rate: u32,
    /// Samples that it hears at once.
    pub stretch: usize,
    /// What makes mean opinion scores (1 to 5) of its numbers, in their order.
    pub calibration: Vec<Polynomial>,
    /// Which of them is the recording as a whole.
    pub overall: usize,
}

impl ScorerModel {
    /// DNSMOS P.835, `sig_bak_ovr.onnx`: hears 9.01 s at 16 kHz; speech, background, the whole. The polynomials are those of
    /// the authors' reference program for impersonal scores.
    pub fn dnsmos(path: PathBuf) -> Self {
        Self {
            name: "dnsmos-p835".to_owned(),
            path,
            sample_rate: 16_000,
            stretch: 144_160,
            calibration: vec![
                [-0.08397278, 1.22083953, 0.0052439],
                [-0.13166888, 1.60915514, -0.39604546],
                [-0.06766283, 1.11546468, 0.04602535],
            ],
            overall: 2,
        }
    }

    /// The network's numbers on the scales.
    pub(super) fn calibrated(&self, raw: &[f32]) -> Option<Vec<f64>> {
        let polynomial = |([a, b, c], &x): (&Polynomial, &f32)| {
            let x = f64::from(x);
            a * x * x + b * x + c
        };
        (raw.len() == self.calibration.len())
            .then(|| self.calibration.iter().zip(raw).map(polynomial).collect())
    }
}
