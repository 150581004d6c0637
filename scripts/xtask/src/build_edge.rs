//! The steps of the edge's build: compile, bind, bundle, copy the assets.

use crate::fingerprint;
use crate::tools::{self, esbuild, installed};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Appended to the bindings as the module that wrangler and workerd load.
const ENTRY: &str = include_str!("entry.js");

/// How to build.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Quick and with debug names, instead of small.
    pub dev: bool,
    /// Build though no input changed.
    pub force: bool,
}

/// The folder of the workspace's `Cargo.toml`.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("this crate lies two folders below the repository")
        .to_path_buf()
}

/// Builds into `edge/build`, which is replaced only when every step succeeded.
///
/// # Errors
/// A tool is missing or fails; the message says what to do.
pub fn run(options: Options) -> Result<()> {
    let root = &repository();
    let profile = if options.dev { "dev" } else { "edge" };
    let output = root.join("edge/build");
    let _one_build_at_a_time = lock(root)?;
    let mark = output.join("fingerprint");
    let wanted = fingerprint::of_inputs(root, profile)?;
    if !options.force && is_complete(&output) && fs::read_to_string(&mark).is_ok_and(|found| found == wanted)
    {
        copy_assets(root, &output.join("assets"))?;
        println!("edge: nothing changed since the last build");
        return Ok(());
    }

    let started = Instant::now();
    let stage = root.join("edge/build.tmp");
    remove_folder(&stage)?;
    fs::create_dir_all(&stage)?;

    println!("edge: compiling to Wasm (a first build compiles the standard library too: some minutes)");
    let wasm = compile(root, profile)?;
    bind(&wasm, &stage, options.dev)?;
    bundle(root, &stage, options.dev)?;
    copy_assets(root, &stage.join("assets"))?;
    fs::write(stage.join("fingerprint"), &wanted)?;

    remove_folder(&output)?;
    fs::rename(&stage, &output).context("cannot move the build into edge/build")?;
    println!(
        "edge: built in {:.0} s: Wasm {}, script {}",
        started.elapsed().as_secs_f64(),
        kilobytes(fs::metadata(output.join("index_bg.wasm"))?.len()),
        kilobytes(fs::metadata(output.join("index.js"))?.len()),
    );
    Ok(())
}

/// Waits until no other build runs in this repository. Dropping the file ends the lock.
fn lock(root: &Path) -> Result<fs::File> {
    let folder = root.join("target");
    fs::create_dir_all(&folder)?;
    let file = fs::File::create(folder.join("build-edge.lock"))?;
    file.lock().context("cannot lock target/build-edge.lock")?;
    Ok(file)
}

fn is_complete(output: &Path) -> bool {
    ["index.js", "index_bg.wasm", "assets"].iter().all(|name| output.join(name).exists())
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

/// Compiles with unwinding panics: a panic then fails one call, and neither hangs the object nor wipes
/// the memory that all its other calls share. That needs the standard library rebuilt (`rust-src`);
/// `RUSTC_BOOTSTRAP` lets the pinned stable toolchain do it.
fn compile(root: &Path, profile: &str) -> Result<PathBuf> {
    let target = "wasm32-unknown-unknown";
    let target_folder =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |folder| root.join(folder));
    tools::run(
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .current_dir(root)
            .args(["build", "--quiet", "--locked", "--package", "edge", "--lib"])
            .args(["--target", target, "--profile", profile, "-Z", "build-std=std,panic_unwind"])
            .arg("--target-dir")
            .arg(&target_folder)
            .env("RUSTC_BOOTSTRAP", "1")
            .env("RUSTFLAGS", "-Cpanic=unwind")
            .env_remove("CARGO_ENCODED_RUSTFLAGS"),
    )
    .context("the edge does not compile; if `std` is what is missing: `rustup component add rust-src`")?;
    let folder = if profile == "dev" { "debug" } else { profile };
    Ok(target_folder.join(target).join(folder).join("edge.wasm"))
}

fn bind(wasm: &Path, stage: &Path, dev: bool) -> Result<()> {
    wasm_bindgen_cli_support::Bindgen::new()
        .input_path(wasm)
        .out_name("index")
        .module(true)?
        .typescript(false)
        .debug(dev)
        .keep_debug(dev)
        .remove_name_section(!dev)
        // `entry.js` re-creates the instance after an abort, which no unwinding can catch.
        .reset_state_function(true)
        .force_enable_abort_handler(true)
        .generate(stage)
        .context("wasm-bindgen cannot bind the module")
}

/// One script out of the bindings, their snippets and `entry.js`.
fn bundle(root: &Path, stage: &Path, dev: bool) -> Result<()> {
    let entry = stage.join("entry.js");
    let bindings = stage.join("bindings.js");
    fs::rename(stage.join("index.js"), &bindings)?;
    fs::write(&entry, ENTRY)?;
    let mut command = Command::new(esbuild(root)?);
    command.current_dir(stage).args([
        "entry.js",
        "--bundle",
        "--format=esm",
        "--external:./index_bg.wasm",
        "--external:cloudflare:*",
        "--outfile=index.js",
        "--log-level=warning",
    ]);
    if !dev {
        command.arg("--minify");
    }
    tools::run(&mut command)?;
    // workerd imports a Wasm file as a module anyway and does not know the source-phase syntax.
    let script = fs::read_to_string(stage.join("index.js"))?.replace("import source ", "import ");
    ensure!(script.contains("index_bg.wasm"), "the bundle does not import the Wasm module");
    fs::write(stage.join("index.js"), script)?;
    fs::remove_file(entry)?;
    fs::remove_file(bindings)?;
    remove_folder(&stage.join("snippets"))
}

/// Files of npm packages that pages load, and their names beside the pages: hls.js, which the listen page plays with where the
/// browser itself plays no HLS, and Swagger UI, which draws the API's description.
const FROM_PACKAGES: [(&str, &str); 3] = [
    ("hls.js/dist/hls.light.min.mjs", "hls.js"),
    ("swagger-ui-dist/swagger-ui-bundle.js", "swagger-ui.js"),
    ("swagger-ui-dist/swagger-ui.css", "swagger-ui.css"),
];

/// The static files of `edge/assets`, the API's description, and what pages load of packages.
fn copy_assets(root: &Path, to: &Path) -> Result<()> {
    copy_folder(&root.join("edge/assets"), to)?;
    copy_changed(&root.join("docs/openapi.json"), &to.join("openapi.json"))?;
    for (from, name) in FROM_PACKAGES {
        copy_changed(&installed(root, &format!("node_modules/{from}"))?, &to.join(name))?;
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot list {}", from.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &to.join(entry.file_name()))?;
        } else {
            copy_changed(&entry.path(), &to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

/// Leaves a file that is the same already untouched: a running server may be reading it.
fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    if fs::read(to).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    fs::write(to, bytes).with_context(|| format!("cannot write {}", to.display()))
}

fn kilobytes(bytes: u64) -> String {
    format!("{} kB", bytes.div_ceil(1000))
}
