//! The project's own programs, as they were built beside the test.

use std::path::PathBuf;

/// The path of a built program of this workspace, such as `mini-worker`: of the same profile as the test or bench that asks.
///
/// # Panics
/// It was not built; the message says how to.
pub fn program(name: &str) -> PathBuf {
    let own = std::env::current_exe().expect("a running program has a path");
    let mut folder = own.parent().expect("a program lies in a folder");
    if folder.ends_with("deps") {
        folder = folder.parent().expect("deps lies in the profile's folder");
    }
    let path = folder.join(name).with_extension(std::env::consts::EXE_EXTENSION);
    let release = if folder.ends_with("release") { " --release" } else { "" };
    assert!(
        path.exists(),
        "{} is missing: run `cargo build{release} -p mini-worker -p client`",
        path.display()
    );
    path
}

/// Where the model and the recordings lie: `MINIFLEET_HOME`, else `.minifleet` in the repository.
pub fn home() -> PathBuf {
    std::env::var_os("MINIFLEET_HOME")
        .filter(|home| !home.is_empty())
        .map_or_else(|| super::repository().join(".minifleet"), PathBuf::from)
}
