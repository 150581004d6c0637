//! The bundle: the files that the worker needs, present and right.

use super::bundle_check::{CheckedFile, FileState, check_component, check_conversion};
use super::bundle_manifest::{Component, Conversion, Group, Manifest, host_platform};
use super::home::{Home, HomeError};
use std::path::PathBuf;

/// Paths to files whose hashes were right when the bundle was opened.
#[derive(Debug, Clone)]
pub struct Bundle {
    home: Home,
    revision: String,
    encoder: PathBuf,
    erb_decoder: PathBuf,
    df_decoder: PathBuf,
    model_config: PathBuf,
    runtime: PathBuf,
}

/// Why the bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// There is no home folder.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// A file is not as it has to be.
    #[error("{path} is {state}. Run `{remedy}`.", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        state: FileState,
        /// The command that repairs it.
        remedy: &'static str,
    },
    /// Nothing in the manifest is for this machine.
    #[error(
        "{component} is not available for {platform}; the worker runs on linux-x86_64, linux-aarch64 and macos-aarch64"
    )]
    UnsupportedPlatform {
        /// What is missing.
        component: &'static str,
        /// This machine.
        platform: String,
    },
}

/// The converted weights for MLX, verified.
#[derive(Debug, Clone)]
pub struct MlxWeights {
    /// In 32 bits.
    pub floats: PathBuf,
    /// In 16 bits.
    pub halves: PathBuf,
}

/// The command that brings, makes or repairs the files of a group.
pub fn remedy(group: Group) -> &'static str {
    match group {
        Group::Reference => "mini-worker models fetch --with reference",
        Group::Converted => "mini-worker models convert",
        Group::Model | Group::Runtime | Group::Scorer => "mini-worker models fetch",
    }
}

impl Bundle {
    /// Finds the model and its runtime below the home folder and verifies their hashes (some 40 MB, 0.1 s).
    pub fn open(home: &Home) -> Result<Self, BundleError> {
        let (revision, model) = find(home, "deepfilternet3", Group::Model)?;
        let (_, runtime) = find(home, "onnxruntime", Group::Runtime)?;
        Ok(Self {
            home: home.clone(),
            revision,
            encoder: model.join("enc.onnx"),
            erb_decoder: model.join("erb_dec.onnx"),
            df_decoder: model.join("df_dec.onnx"),
            model_config: model.join("config.ini"),
            runtime: runtime.join(runtime_file()),
        })
    }

    /// The revision of the model, for reports and for the scheduler.
    pub fn revision(&self) -> &str {
        &self.revision
    }

    /// The home folder that the bundle was opened from.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// DeepFilterNet3's encoder, as published.
    pub fn encoder(&self) -> &PathBuf {
        &self.encoder
    }

    /// DeepFilterNet3's decoder of band gains, as published.
    pub fn erb_decoder(&self) -> &PathBuf {
        &self.erb_decoder
    }

    /// DeepFilterNet3's decoder of filter coefficients, as published.
    pub fn df_decoder(&self) -> &PathBuf {
        &self.df_decoder
    }

    /// DeepFilterNet3's parameters of training, as published.
    pub fn model_config(&self) -> &PathBuf {
        &self.model_config
    }

    /// The weights for MLX, which `models convert` makes of the published ones, after a check of their hashes.
    pub fn mlx_weights(&self) -> Result<MlxWeights, BundleError> {
        let conversion = mlx_conversion();
        require(check_conversion(&self.home, conversion), remedy(Group::Converted))?;
        let folder = self.home.root().join(&conversion.folder);
        Ok(MlxWeights {
            floats: folder.join("float32.safetensors"),
            halves: folder.join("float16.safetensors"),
        })
    }

    /// Where engines keep what they compile of this revision, once for each build of the system.
    pub fn compiled(&self) -> PathBuf {
        let system = rustix::system::uname();
        let build: String =
            system.version().to_string_lossy().chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        self.home.root().join("compiled").join(&self.revision).join(build)
    }

    /// The same bundle with another library of ONNX Runtime, such as one built for CUDA. Its hash is not known.
    pub fn with_runtime(self, runtime: PathBuf) -> Self {
        Self { runtime, ..self }
    }

    /// The library of ONNX Runtime.
    pub fn runtime(&self) -> &PathBuf {
        &self.runtime
    }
}

/// The estimator of quality (DNSMOS P.835), verified.
pub fn scorer(home: &Home) -> Result<PathBuf, BundleError> {
    find(home, "dnsmos", Group::Scorer).map(|(_, folder)| folder.join("sig_bak_ovr.onnx"))
}

/// The authors' own runtime and the model's archive for it, verified: for the parity test.
pub fn reference(home: &Home) -> Result<(PathBuf, PathBuf), BundleError> {
    find(home, "libdeepfilter", Group::Reference)
        .map(|(_, folder)| (folder.join("libdeepfilter.so"), folder.join("DeepFilterNet3_onnx.tar.gz")))
}

fn runtime_file() -> &'static str {
    if cfg!(target_os = "macos") { "libonnxruntime.1.31.1.dylib" } else { "libonnxruntime.so.1.31.1" }
}

/// The revision and the folder of a component for this machine, after a check of every file.
fn find(home: &Home, name: &'static str, group: Group) -> Result<(String, PathBuf), BundleError> {
    let platform = host_platform();
    let component = Manifest::built_in()
        .select(&platform, &[group])
        .into_iter()
        .find(|component| component.name == name)
        .ok_or(BundleError::UnsupportedPlatform { component: name, platform: platform.clone() })?;
    require_right(home, component)?;
    Ok((component.revision.clone(), home.root().join(&component.folder)))
}

/// The conversion for MLX in the manifest.
pub fn mlx_conversion() -> &'static Conversion {
    let conversions = &Manifest::built_in().conversions;
    conversions
        .iter()
        .find(|c| c.name == "deepfilternet3-mlx")
        .expect("the manifest is compiled in, and a test finds it")
}

fn require_right(home: &Home, component: &Component) -> Result<(), BundleError> {
    require(check_component(home, component), remedy(component.group))
}

fn require(files: Vec<CheckedFile<'_>>, remedy: &'static str) -> Result<(), BundleError> {
    match files.into_iter().find(|file| !file.state.is_right()) {
        None => Ok(()),
        Some(file) => Err(BundleError::Damaged { path: file.path, state: file.state, remedy }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_home_names_the_first_missing_file_and_the_command_that_brings_it() {
        let folder = tempfile::tempdir().unwrap();
        let error = Bundle::open(&Home::at(folder.path())).unwrap_err().to_string();
        assert!(error.contains("enc.onnx is missing. Run `mini-worker models fetch`."), "{error}");
        let error = reference(&Home::at(folder.path())).unwrap_err().to_string();
        assert!(
            error.contains("models fetch --with reference") || error.contains("not available"),
            "{error}"
        );
    }

    #[test]
    fn the_named_files_are_in_the_manifest() {
        let listed = |group, name: &str| {
            Manifest::built_in()
                .select(&host_platform(), &[group])
                .into_iter()
                .any(|c| c.files.iter().any(|f| f.name == name))
        };
        for name in ["enc.onnx", "erb_dec.onnx", "df_dec.onnx", "config.ini"] {
            assert!(listed(Group::Model, name), "{name}");
        }
        assert!(listed(Group::Runtime, runtime_file()));
        assert!(listed(Group::Scorer, "sig_bak_ovr.onnx"));
        let converted: Vec<_> = mlx_conversion().expected().map(|file| file.name).collect();
        assert_eq!(converted, ["float32.safetensors", "float16.safetensors"]);
    }
}
