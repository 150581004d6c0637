//! DeepFilterNet3's parameters, as its authors trained it (`config.ini` of the model, section `[df]` and
//! `[deepfilternet]`).

use crate::inference::engine::EngineError;

/// Window of the short-time Fourier transform, samples (20 ms): `fft_size`.
pub const WINDOW: usize = 960;

/// Step from frame to frame, samples (10 ms): `hop_size`.
pub const HOP: usize = 480;

/// Frequencies of a frame.
pub const BINS: usize = WINDOW / 2 + 1;

/// Bands of the coarse gains: `nb_erb`.
pub const BANDS: usize = 32;

/// A band has at least this many frequencies: `min_nb_erb_freqs`.
pub const MIN_BAND_BINS: usize = 2;

/// Frequencies that are filtered finely, from 0 Hz on (up to 4.8 kHz): `nb_df`.
pub const FILTERED_BINS: usize = 96;

/// Frames that the fine filter combines: `df_order`.
pub const FILTER_FRAMES: usize = 5;

/// Frames that the model sees ahead of the one it restores: `df_lookahead` (equal to `conv_lookahead`).
pub const LOOKAHEAD_FRAMES: usize = 2;

/// Width of each recurrent layer's state: `emb_hidden_dim` and `df_hidden_dim`.
pub const HIDDEN: usize = 256;

/// Channels of the encoder's convolutions: `conv_ch`.
pub const CONV_CHANNELS: usize = 64;

/// Frames before a window that the encoder's first convolutions see: `conv_kernel_inp`'s 3 frames less one.
pub const FEATURE_CONTEXT: usize = 2;

/// Frames before a window that the decoder's convolution over time sees: `df_pathway_kernel_size_t` less one.
pub const PATHWAY_CONTEXT: usize = 4;

/// Samples by which the output lags: half a window for the transform, and the frames seen ahead.
pub const DELAY: usize = (WINDOW - HOP) + LOOKAHEAD_FRAMES * HOP;

/// What `config.ini` has to say for this program to be right.
const EXPECTED: [(&str, &str, usize); 15] = [
    ("df", "sr", crate::inference::SAMPLE_RATE as usize),
    ("df", "fft_size", WINDOW),
    ("df", "hop_size", HOP),
    ("df", "nb_erb", BANDS),
    ("df", "min_nb_erb_freqs", MIN_BAND_BINS),
    ("df", "nb_df", FILTERED_BINS),
    ("df", "df_order", FILTER_FRAMES),
    ("df", "df_lookahead", LOOKAHEAD_FRAMES),
    // Seconds; the smoothing factor of the features follows from it (see `features`).
    ("df", "norm_tau", 1),
    ("deepfilternet", "conv_lookahead", LOOKAHEAD_FRAMES),
    ("deepfilternet", "emb_hidden_dim", HIDDEN),
    ("deepfilternet", "df_hidden_dim", HIDDEN),
    ("deepfilternet", "conv_ch", CONV_CHANNELS),
    ("deepfilternet", "df_pathway_kernel_size_t", PATHWAY_CONTEXT + 1),
    ("deepfilternet", "df_n_iter", 1),
];

/// Compares the model's own `config.ini` with what this program is made for.
pub fn check(config: &str) -> Result<(), EngineError> {
    let mut section = "";
    let mut found = std::collections::BTreeMap::new();
    for line in config.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name;
        } else if let Some((key, value)) = line.split_once('=') {
            found.insert((section, key.trim()), value.trim());
        }
    }
    for (section, key, expected) in EXPECTED {
        let value = found.get(&(section, key)).copied();
        if value != Some(expected.to_string().as_str()) {
            return Err(EngineError::UnexpectedModel {
                what: "config.ini".to_owned(),
                reason: format!("[{section}] {key} is {}, not {expected}", value.unwrap_or("absent")),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> String {
        let lines = EXPECTED.iter().map(|(section, key, value)| format!("[{section}]\n{key} = {value}\n"));
        lines.collect()
    }

    #[test]
    fn a_model_trained_otherwise_is_refused_by_the_name_of_what_differs() {
        check(&config()).unwrap();
        let error = check(&config().replace("nb_df = 96", "nb_df = 64")).unwrap_err();
        assert!(error.to_string().contains("[df] nb_df is 64, not 96"), "{error}");
        let error = check("").unwrap_err();
        assert!(error.to_string().contains("[df] sr is absent, not 48000"), "{error}");
    }

    #[test]
    fn the_delay_is_three_hops() {
        assert_eq!(DELAY, 1_440);
    }
}
