//! ESTOI and PESQ, by the well-kept Python packages `pystoi` and `pesq` in an environment of their own.

use mini_worker::storage::Home;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is installed; a change makes a new environment.
const PACKAGES: [&str; 4] = ["pesq==0.0.4", "pystoi==0.4.1", "numpy==2.4.6", "scipy==1.17.1"];

const PROGRAM: &str = include_str!("perceptual.py");

/// Extended short-time objective intelligibility (0 to 1) and wide-band PESQ (P.862.2, 1.04 to 4.64).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Perceptual {
    /// ESTOI (Jensen and Taal, 2016).
    pub estoi: f64,
    /// Wide-band PESQ.
    pub pesq: f64,
}

/// Measures pairs of restored recording and reference, both 48 kHz WAV that [`crate::recordings::wav`] wrote and of one length.
/// The packages are installed at the first use.
///
/// # Errors
/// In words, when Python or a package is missing or fails.
pub fn perceptual(home: &Home, pairs: &[(PathBuf, PathBuf)]) -> Result<Vec<Perceptual>, String> {
    let python = environment(home)?;
    let mut child = Command::new(&python)
        .args(["-c", PROGRAM])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{}: {error}", python.display()))?;
    let mut stdin = child.stdin.take().ok_or("no standard input")?;
    let lines: String = pairs.iter().map(|(a, b)| format!("{}\t{}\n", a.display(), b.display())).collect();
    // A thread: the answers of the first pairs fill the other pipe before the last pairs are read.
    let writer = std::thread::spawn(move || stdin.write_all(lines.as_bytes()));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    let written = writer.join().map_err(|_| "the pairs could not be handed over")?;
    if !output.status.success() || written.is_err() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let parse = |line: &str| {
        let (estoi, pesq) = line.split_once('\t')?;
        Some(Perceptual { estoi: estoi.parse().ok()?, pesq: pesq.parse().ok()? })
    };
    let found: Option<Vec<_>> = text.lines().map(parse).collect();
    found.filter(|found| found.len() == pairs.len()).ok_or_else(|| format!("unexpected answer: {text}"))
}

/// The Python of an environment with the packages.
fn environment(home: &Home) -> Result<PathBuf, String> {
    let name = PACKAGES.map(|package| package.replace("==", "-")).join("_");
    let folder = home.root().join("measures").join(name);
    let python = folder.join("bin/python");
    let ready = folder.join("ready");
    if ready.is_file() {
        return Ok(python);
    }
    eprintln!("installing {} for this measurement", PACKAGES.join(", "));
    run(Command::new("python3").args(["-m", "venv"]).arg(&folder))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet"]).args(PACKAGES))?;
    std::fs::write(&ready, "").map_err(|error| format!("{}: {error}", Path::display(&ready)))?;
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)))
    }
}
