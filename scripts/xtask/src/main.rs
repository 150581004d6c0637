//! `cargo xtask build-edge`: turns the `edge` crate into what wrangler and workerd load.
//!
//! Everything that the build needs is pinned in `Cargo.lock` and `package-lock.json`: no tool is
//! installed or downloaded on the way.

mod build_edge;
mod fingerprint;
mod tools;
#[cfg(test)]
mod wrangler_config;

use anyhow::{Result, bail};
use build_edge::Options;

const USAGE: &str = "\
usage: cargo xtask build-edge [--dev] [--force]

Builds the edge into edge/build: index.js and index_bg.wasm (the Worker), assets/ (the static files).
Does nothing when no input changed since the last build.

  --dev     quick to build, with debug names, not optimised (also: MINIFLEET_EDGE_DEV=1)
  --force   build even when no input changed
  --help    this text";

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some((command, flags)) = arguments.split_first() else { bail!("{USAGE}") };
    if command == "--help" || command == "-h" || flags.iter().any(|flag| flag == "--help") {
        println!("{USAGE}");
        return Ok(());
    }
    if command != "build-edge" {
        bail!("unknown command {command}\n{USAGE}");
    }
    let mut options = Options {
        dev: std::env::var_os("MINIFLEET_EDGE_DEV").is_some_and(|value| value == "1"),
        force: false,
    };
    for flag in flags {
        match flag.as_str() {
            "--dev" => options.dev = true,
            "--force" => options.force = true,
            other => bail!("unknown option {other}\n{USAGE}"),
        }
    }
    build_edge::run(options)
}
