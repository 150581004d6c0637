//! Which engine runs, on what, and with what numbers: chosen by configuration, checked before anything is loaded.
//!
//! What was asked for is what runs, or an error says what to do. There is no silent fallback: a fleet in which some minis
//! quietly restore on their processors is slow in a way that nobody finds.

use serde::Deserialize;
use std::fmt;

/// The library that runs the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum EngineKind {
    /// ONNX Runtime: on every machine.
    #[default]
    Onnx,
    /// Apple's MLX: the GPU of Apple silicon; on Linux its processor back end, if the program was built with it.
    Mlx,
}

/// What the network runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// The processor.
    Cpu,
    /// CoreML of macOS, under ONNX Runtime: what it cannot compute (recurrent layers) stays on the processor.
    #[value(name = "coreml")]
    CoreMl,
    /// An NVIDIA GPU under ONNX Runtime, with the whole network captured as one graph.
    Cuda,
    /// Apple's GPU under MLX.
    Metal,
}

/// How the network's numbers are held, under MLX. ONNX Runtime has them as published, in 32 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Precision {
    /// 32 bits, as published.
    #[default]
    Float32,
    /// 16 bits: weights and arithmetic.
    Float16,
    /// Weights of the recurrent layers in 8 bits, an experiment.
    Int8,
    /// Weights of the recurrent layers in 4 bits, an experiment.
    Int4,
}

/// A choice of engine, as it was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// The library.
    pub engine: EngineKind,
    /// What it runs on; the engine's usual place when not set.
    pub provider: Option<Provider>,
    /// How numbers are held.
    pub precision: Precision,
}

/// What this program was built with, for this machine.
#[derive(Debug, Clone, Copy)]
struct Build {
    os: &'static str,
    mlx: bool,
}

const THIS_BUILD: Build =
    Build { os: std::env::consts::OS, mlx: cfg!(any(target_os = "macos", feature = "mlx")) };

/// Why a choice cannot be had from this program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// MLX was left out of the build.
    #[error(
        "this program was built without MLX: set engine = \"onnx\", or build it with `scripts/setup-mlx` and the feature `mlx`"
    )]
    NoMlx,
    /// The engine does not know the provider.
    #[error("{engine} has no provider \"{provider}\": it has {has}")]
    NotOfEngine {
        /// The engine.
        engine: EngineKind,
        /// What was asked for.
        provider: Provider,
        /// What there is.
        has: &'static str,
    },
    /// The provider belongs to another operating system.
    #[error("the provider \"{provider}\" is there on {needs} only, and this is {os}: set provider = \"cpu\"")]
    OtherSystem {
        /// What was asked for.
        provider: Provider,
        /// Where it is.
        needs: &'static str,
        /// This system.
        os: &'static str,
    },
    /// Only MLX has other numbers than the published ones.
    #[error(
        "precision = \"{0}\" is for engine = \"mlx\": ONNX Runtime runs the model as published, in float32"
    )]
    PrecisionOfMlx(Precision),
}

impl Selection {
    /// The provider that will run.
    ///
    /// # Errors
    /// [`SelectionError`] when this program cannot have it on this system. Whether the library and the machine have it
    /// shows when the engine is loaded.
    pub fn provider(self) -> Result<Provider, SelectionError> {
        self.provider_in(THIS_BUILD)
    }

    fn provider_in(self, build: Build) -> Result<Provider, SelectionError> {
        let usual = match self.engine {
            EngineKind::Mlx if build.os == "macos" => Provider::Metal,
            EngineKind::Mlx | EngineKind::Onnx => Provider::Cpu,
        };
        let provider = self.provider.unwrap_or(usual);
        let needs = match (self.engine, provider) {
            (EngineKind::Onnx, Provider::Cpu) | (EngineKind::Mlx, Provider::Cpu) => None,
            (EngineKind::Onnx, Provider::CoreMl) | (EngineKind::Mlx, Provider::Metal) => {
                Some(("macos", "macOS"))
            }
            (EngineKind::Onnx, Provider::Cuda) => Some(("linux", "Linux")),
            (engine @ EngineKind::Onnx, Provider::Metal) => {
                return Err(SelectionError::NotOfEngine { engine, provider, has: "cpu, coreml and cuda" });
            }
            (engine @ EngineKind::Mlx, Provider::CoreMl | Provider::Cuda) => {
                return Err(SelectionError::NotOfEngine { engine, provider, has: "cpu and metal" });
            }
        };
        if self.engine == EngineKind::Onnx && self.precision != Precision::Float32 {
            return Err(SelectionError::PrecisionOfMlx(self.precision));
        }
        if self.engine == EngineKind::Mlx && !build.mlx {
            return Err(SelectionError::NoMlx);
        }
        match needs {
            Some((os, needs)) if os != build.os => {
                Err(SelectionError::OtherSystem { provider, needs, os: build.os })
            }
            _ => Ok(provider),
        }
    }
}

impl Selection {
    /// What this program can run on this system without anything that has to be installed first, the usual one first.
    pub fn of_this_build() -> Vec<Self> {
        let onnx = |provider| Self { provider: Some(provider), ..Self::default() };
        let mlx = |precision| Self { engine: EngineKind::Mlx, provider: None, precision };
        [onnx(Provider::Cpu), onnx(Provider::CoreMl), mlx(Precision::Float32), mlx(Precision::Float16)]
            .into_iter()
            .filter(|selection| selection.provider().is_ok())
            .collect()
    }
}

impl Provider {
    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Self::Cpu => "CPU",
            Self::CoreMl => "CoreML",
            Self::Cuda => "CUDA",
            Self::Metal => "Metal",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Cpu => "cpu",
            Self::CoreMl => "coreml",
            Self::Cuda => "cuda",
            Self::Metal => "metal",
        })
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Onnx => "onnx",
            Self::Mlx => "mlx",
        })
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Float32 => "float32",
            Self::Float16 => "float16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAC: Build = Build { os: "macos", mlx: true };
    const LINUX: Build = Build { os: "linux", mlx: false };
    const LINUX_WITH_MLX: Build = Build { os: "linux", mlx: true };

    fn choose(engine: EngineKind, provider: Option<Provider>, build: Build) -> Result<Provider, String> {
        let selection = Selection { engine, provider, precision: Precision::Float32 };
        selection.provider_in(build).map_err(|error| error.to_string())
    }

    #[test]
    fn each_engine_has_its_usual_place_and_every_machine_runs_without_a_choice() {
        use EngineKind::{Mlx, Onnx};
        for build in [MAC, LINUX, LINUX_WITH_MLX] {
            assert_eq!(Selection::default().provider_in(build), Ok(Provider::Cpu));
            assert_eq!(choose(Onnx, None, build), Ok(Provider::Cpu));
        }
        assert_eq!(choose(Mlx, None, MAC), Ok(Provider::Metal));
        assert_eq!(choose(Mlx, Some(Provider::Cpu), MAC), Ok(Provider::Cpu));
        assert_eq!(choose(Mlx, None, LINUX_WITH_MLX), Ok(Provider::Cpu));
        assert_eq!(choose(Onnx, Some(Provider::CoreMl), MAC), Ok(Provider::CoreMl));
        assert_eq!(choose(Onnx, Some(Provider::Cuda), LINUX), Ok(Provider::Cuda));
    }

    #[test]
    fn what_this_program_cannot_give_is_refused_with_what_to_do_and_never_replaced() {
        use EngineKind::{Mlx, Onnx};
        let refused = |engine, provider, build, words: &str| {
            let error = choose(engine, provider, build).unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        refused(Mlx, None, LINUX, "built without MLX: set engine = \"onnx\"");
        refused(Mlx, Some(Provider::Metal), LINUX_WITH_MLX, "\"metal\" is there on macOS only");
        refused(
            Onnx,
            Some(Provider::CoreMl),
            LINUX,
            "on macOS only, and this is linux: set provider = \"cpu\"",
        );
        refused(Onnx, Some(Provider::Cuda), MAC, "on Linux only");
        refused(
            Onnx,
            Some(Provider::Metal),
            MAC,
            "onnx has no provider \"metal\": it has cpu, coreml and cuda",
        );
        refused(Mlx, Some(Provider::Cuda), MAC, "mlx has no provider \"cuda\": it has cpu and metal");
        let selection = Selection { precision: Precision::Float16, ..Selection::default() };
        assert_eq!(
            selection.provider_in(MAC),
            Err(SelectionError::PrecisionOfMlx(Precision::Float16)),
            "ONNX Runtime has one precision"
        );
    }
}
