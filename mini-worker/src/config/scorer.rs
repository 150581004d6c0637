//! The table `[scorer]`: whether completed jobs are scored, and by which network.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::scorer::{Polynomial, ScorerModel};

/// Who scores completed jobs.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ScorerConfig {
    /// Nobody.
    Off,
    /// DNSMOS P.835 of the model bundle.
    #[default]
    BuiltIn,
    /// A network of the operator's.
    Own(ScorerModel),
}

/// The table as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ScorerTable {
    enabled: Option<bool>,
    model: Option<PathBuf>,
    name: Option<String>,
    sample_rate: Option<u32>,
    window_samples: Option<usize>,
    calibration: Option<Vec<Polynomial>>,
    overall: Option<usize>,
}

impl ScorerTable {
    /// What it says; paths are relative to `base`.
    pub(super) fn checked(self, base: &Path) -> Result<ScorerConfig, String> {
        let Self { enabled, model, name, sample_rate, window_samples, calibration, overall } = self;
        let described = name.is_some()
            || sample_rate.is_some()
            || window_samples.is_some()
            || calibration.is_some()
            || overall.is_some();
        let Some(model) = model else {
            if described {
                return Err("[scorer] describes a network without naming its file: set `model`".to_owned());
            }
            return Ok(if enabled == Some(false) { ScorerConfig::Off } else { ScorerConfig::BuiltIn });
        };
        let path = base.join(model);
        let sample_rate =
            sample_rate.ok_or("[scorer] needs `sample_rate`, samples per second of what `model` hears")?;
        let stretch =
            window_samples.ok_or("[scorer] needs `window_samples`, the length of the input of `model`")?;
        if !(8_000..=96_000).contains(&sample_rate) || !(1..=60 * 96_000).contains(&stretch) {
            return Err(
                "[scorer] `sample_rate` is 8000 to 96000, and `window_samples` at most a minute".to_owned()
            );
        }
        let calibration = calibration.unwrap_or_else(|| vec![[0.0, 1.0, 0.0]]);
        let overall = overall.unwrap_or_default();
        if overall >= calibration.len() {
            return Err(format!(
                "[scorer] `overall` is {overall}, but `calibration` has {} rows, one for each number that `model` gives",
                calibration.len()
            ));
        }
        let name =
            name.unwrap_or_else(|| path.file_stem().unwrap_or_default().to_string_lossy().into_owned());
        let model = ScorerModel { name, path, sample_rate, stretch, calibration, overall };
        Ok(if enabled == Some(false) { ScorerConfig::Off } else { ScorerConfig::Own(model) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<ScorerConfig, String> {
        toml::from_str::<ScorerTable>(text).map_err(|e| e.to_string())?.checked(Path::new("/etc/minifleet"))
    }

    #[test]
    fn the_built_in_scorer_is_there_unless_it_is_turned_off() {
        assert_eq!(read(""), Ok(ScorerConfig::BuiltIn));
        assert_eq!(read("enabled = true"), Ok(ScorerConfig::BuiltIn));
        assert_eq!(read("enabled = false"), Ok(ScorerConfig::Off));
    }

    #[test]
    fn a_network_of_ones_own_is_described_and_gaps_in_the_description_are_named() {
        let all = "model = \"mos.onnx\"\nsample_rate = 16000\nwindow_samples = 160000";
        let Ok(ScorerConfig::Own(model)) = read(all) else { panic!("it is described") };
        assert_eq!(
            (model.name.as_str(), model.path.as_path()),
            ("mos", Path::new("/etc/minifleet/mos.onnx"))
        );
        assert_eq!((model.calibration, model.overall), (vec![[0.0, 1.0, 0.0]], 0));
        for (text, named) in [
            ("model = \"mos.onnx\"", "sample_rate"),
            ("model = \"mos.onnx\"\nsample_rate = 16000", "window_samples"),
            ("sample_rate = 16000", "model"),
            (&format!("{all}\noverall = 1"), "calibration"),
            (&format!("{all}\nhop = 1"), "hop"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(named), "{text}: {error}");
        }
    }
}
