//! How much better recordings sound after restoring: DNSMOS P.835 for all, SI-SDR where a clean reference exists.
//!
//! The recordings go through the worker's own command, so what is measured is the whole pipeline: decoding, front end,
//! model, limiter, encoding. `docs/quality.md` tells what the figures say.

mod perceptual;
mod report;
mod restore;

pub use perceptual::{Perceptual, perceptual};
pub use report::{COLUMNS, Report, Row};

use crate::measures::si_sdr;
use crate::recordings::manifest::{Clip, Manifest};
use crate::recordings::{Noisy, RecordingSet, RecordingsError, decode};
use mini_worker::scorer::{ScoreError, Scorer, ScorerModel, Scores};
use mini_worker::storage::{Bundle, BundleError, Home, bundle};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What is measured, and with what.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program `mini-worker`.
    pub mini_worker: PathBuf,
    /// Only the speech that every machine has, and only at 5 dB.
    pub quick: bool,
    /// Distance in seconds between the stretches of 9 s that are scored; a clip of 12 s has stretches at 0, 1 and 2 s.
    pub hop_seconds: usize,
}

impl Options {
    /// The usual measurement.
    pub fn new(mini_worker: impl Into<PathBuf>) -> Self {
        Self { mini_worker: mini_worker.into(), quick: false, hop_seconds: 2 }
    }
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum QualityError {
    /// No recordings.
    #[error(transparent)]
    Recordings(#[from] RecordingsError),
    /// The files of the scorer are not there.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// A recording could not be scored.
    #[error("{path}: {source}", path = path.display())]
    Score {
        /// The recording.
        path: PathBuf,
        /// Why.
        source: ScoreError,
    },
    /// The worker's command failed.
    #[error("{program} restore failed: {said}", program = program.display())]
    Restore {
        /// The program.
        program: PathBuf,
        /// The end of what it said.
        said: String,
    },
    /// A folder for the results could not be made.
    #[error("no folder for the restored recordings: {0}")]
    Folder(#[source] std::io::Error),
}

/// One recording to be measured.
#[derive(Debug, Clone)]
struct Case {
    set: String,
    snr_db: Option<i32>,
    path: PathBuf,
    /// The clean speech, where the mixture holds it unchanged.
    clean: Option<PathBuf>,
}

/// The figures of one recording.
#[derive(Debug, Clone, Copy)]
struct Measured {
    before: Scores,
    after: Scores,
    si_sdr: Option<(f64, f64)>,
}

/// Restores the recordings and measures them before and after. Makes the recordings first when they are missing.
pub fn run(options: &Options) -> Result<Report, QualityError> {
    let set = RecordingSet::ready()?;
    let cases = cases(&set, options.quick)?;
    let folder = tempfile::tempdir().map_err(QualityError::Folder)?;
    let restored = restore::restore_all(&options.mini_worker, &cases, folder.path())?;
    let mut scorer = load_scorer()?;
    let mut rows: BTreeMap<(String, Option<i32>), Vec<Measured>> = BTreeMap::new();
    for (case, restored) in cases.iter().zip(&restored) {
        let measured = Measured {
            before: score(&mut scorer, &case.path, options.hop_seconds)?,
            after: score(&mut scorer, restored, options.hop_seconds)?,
            si_sdr: case
                .clean
                .as_deref()
                .and_then(|clean| ratios(&case.path, restored, clean).transpose())
                .transpose()?,
        };
        rows.entry((case.set.clone(), case.snr_db)).or_default().push(measured);
    }
    Ok(Report::new(
        rows.into_iter().map(|((set, snr_db), measured)| Row::mean(set, snr_db, &measured)).collect(),
    ))
}

/// Mixtures, the clean speech itself, and the demonstration.
fn cases(set: &RecordingSet, quick: bool) -> Result<Vec<Case>, QualityError> {
    let manifest = Manifest::built_in();
    let speech_where = |choose: &dyn Fn(&Clip) -> bool| -> Vec<String> {
        manifest.speech.iter().filter(|clip| choose(clip)).map(|clip| clip.name.clone()).collect()
    };
    let core = speech_where(&|clip| !manifest.package(&clip.package).optional);
    let no_reference = speech_where(&|clip| clip.no_reference);
    let wanted = |speech: &str| !quick || core.iter().any(|name| name == speech);
    let mixture = |noisy: Noisy| Case {
        // In a room the clean speech is not in the mixture unchanged: the ratio would measure the echo.
        clean: (!noisy.noise.contains('-') && !no_reference.contains(&noisy.speech)).then_some(noisy.clean),
        set: noisy.noise,
        snr_db: Some(noisy.snr_db),
        path: noisy.path,
    };
    let noisy = set.noisy()?.into_iter().filter(|noisy| wanted(&noisy.speech));
    let mut cases: Vec<Case> = noisy.filter(|noisy| !quick || noisy.snr_db == 5).map(mixture).collect();
    for name in set.speech()?.iter().filter(|name| wanted(name)) {
        let path = set.clean(name);
        cases.push(Case { set: "clean speech".into(), snr_db: None, path, clean: None });
    }
    let demonstration = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings/demo/inaugural.flac");
    cases.push(Case { set: "demonstration".into(), snr_db: None, path: demonstration, clean: None });
    Ok(cases)
}

/// The estimator of opinions.
///
/// # Errors
/// When its files are not there.
pub fn load_scorer() -> Result<Scorer, QualityError> {
    let home = Home::locate().map_err(RecordingsError::Home)?;
    let model = bundle::scorer(&home)?;
    let runtime = Bundle::open(&home)?.runtime().clone();
    Scorer::load(ScorerModel::dnsmos(model.clone()), &runtime)
        .map_err(|source| QualityError::Score { path: model, source })
}

/// Scores a recording.
///
/// # Errors
/// When it cannot be decoded or scored.
pub fn score(scorer: &mut Scorer, path: &Path, hop_seconds: usize) -> Result<Scores, QualityError> {
    let samples = decode::decode(path, scorer.model().sample_rate)?;
    scorer
        .score(&samples, hop_seconds)
        .map_err(|source| QualityError::Score { path: path.to_owned(), source })
}

/// SI-SDR before and after; `None` where one of the signals is silent.
fn ratios(mixture: &Path, restored: &Path, clean: &Path) -> Result<Option<(f64, f64)>, QualityError> {
    let clean = decode::mono(clean)?;
    let ratio = |path: &Path| -> Result<Option<f64>, QualityError> {
        let samples = decode::mono(path)?;
        let length = samples.len().min(clean.len());
        Ok(si_sdr(&samples[..length], &clean[..length]))
    };
    Ok(ratio(mixture)?.zip(ratio(restored)?))
}
