//! Runs the worker's command over many recordings.

use super::{Case, QualityError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Restores all recordings into `folder` and gives the results' paths in the same order.
pub(super) fn restore_all(
    program: &Path,
    cases: &[Case],
    folder: &Path,
) -> Result<Vec<PathBuf>, QualityError> {
    let failed = |said: String| QualityError::Restore { program: program.to_owned(), said };
    let output = Command::new(program)
        .args(["restore", "--outputs", "wav", "--json", "-o"])
        .arg(folder)
        .args(cases.iter().map(|case| &case.path))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| {
            failed(format!("it could not be started ({error}); `cargo build -p mini-worker` builds it"))
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<_> = said.lines().filter(|line| !line.trim().is_empty()).collect();
        return Err(failed(lines[lines.len().saturating_sub(6)..].join("\n")));
    }
    cases
        .iter()
        .map(|case| {
            let stem = case.path.file_stem().unwrap_or_default();
            let result = folder.join(stem).join("restored.wav");
            if result.is_file() {
                Ok(result)
            } else {
                Err(failed(format!("{} did not appear", result.display())))
            }
        })
        .collect()
}
