//! Where the built edge and the tools that run it lie.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the crate lies in the repository").to_path_buf()
}

/// Files of this machine that a test of the edge needs. All are made by `npm ci` and `cargo xtask build-edge`.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The folder with `index.js`, `index_bg.wasm` and `assets/`.
    pub edge_build: PathBuf,
    /// The `workerd` program.
    pub workerd: PathBuf,
    /// Miniflare's workers, of which the simulator of R2 is one.
    pub miniflare_workers: PathBuf,
}

impl Installation {
    /// Finds everything.
    ///
    /// # Panics
    /// Something is missing; the message says what to run.
    pub fn find() -> Self {
        let root = repository();
        let needed = |path: PathBuf, command: &str| {
            assert!(path.exists(), "{} is missing: run `{command}` in {}", path.display(), root.display());
            path
        };
        let edge_build = root.join("edge/build");
        needed(edge_build.join("index.js"), "cargo xtask build-edge");
        needed(edge_build.join("index_bg.wasm"), "cargo xtask build-edge");
        let platform = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("macos", "aarch64") => "darwin-arm64",
            ("macos", _) => "darwin-64",
            (_, "aarch64") => "linux-arm64",
            _ => "linux-64",
        };
        let modules = root.join("node_modules");
        Self {
            edge_build,
            workerd: needed(modules.join(format!("@cloudflare/workerd-{platform}/bin/workerd")), "npm ci"),
            miniflare_workers: needed(modules.join("miniflare/dist/src/workers"), "npm ci"),
        }
    }
}
