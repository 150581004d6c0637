//! Recordings of real speech in noise, from the home folder.

use mini_worker::storage::Home;

/// The command that makes them.
const REMEDY: &str = "cargo run -p conformance --bin recordings";

/// A mono recording at 48 kHz.
pub struct Recording {
    /// File name.
    pub name: String,
    /// In full-scale units.
    pub samples: Vec<f32>,
}

/// As many of the recordings with noise as wanted, spread over the list. Fails saying how to get them when there are fewer than three.
pub fn recordings(wanted: usize) -> Vec<Recording> {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    let folder = home.root().join("recordings/noisy");
    let mut paths: Vec<_> = std::fs::read_dir(&folder)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wav"));
    paths.sort();
    assert!(
        paths.len() >= 3,
        "{} holds {} recordings, not 3 or more. Run `{REMEDY}`.",
        folder.display(),
        paths.len()
    );
    let step = (paths.len() / wanted.max(1)).max(1);
    paths
        .iter()
        .step_by(step)
        .take(wanted)
        .map(|path| {
            let mut reader = hound::WavReader::open(path)
                .unwrap_or_else(|error| panic!("{}: {error}. Run `{REMEDY}`.", path.display()));
            let spec = reader.spec();
            assert_eq!((spec.sample_rate, spec.channels), (48_000, 1), "{}", path.display());
            let samples = reader.samples::<f32>().collect::<Result<_, _>>();
            let samples =
                samples.unwrap_or_else(|error| panic!("{}: {error}. Run `{REMEDY}`.", path.display()));
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            Recording { name, samples }
        })
        .collect()
}
