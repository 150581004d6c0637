//! `--compare`: scores and pictures of a recording before and after, on a page to listen and look at.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use tokio::process::Command;

use crate::scorer::{Scorer, ScorerModel, Scores};
use crate::storage::{Bundle, Home, bundle};

/// Seconds from the middle of a recording that are scored.
const SCORED_SECONDS: f64 = 30.0;

/// Distance between scored stretches, seconds.
const HOP_SECONDS: usize = 2;

/// Spectrograms show frequencies up to this, Hz, and levels down to 100 dB below full scale. Their height is a power of two and
/// the rate does the cutting: ffmpeg takes minutes for any other height, and for its own option `stop`.
const HIGHEST_FREQUENCY: u32 = 12_000;

/// Files of a comparison, in the folder `compare` of a recording's results.
pub const FILES: [&str; 3] = ["original.png", "restored.png", "index.html"];

/// Compares recordings with what was made of them.
pub struct Comparer {
    ffmpeg: PathBuf,
    scorer: Scorer,
}

/// What was found.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Estimated opinions of the recording, 1 to 5.
    pub before: Scores,
    /// Of the restored speech.
    pub after: Scores,
    /// The page.
    pub page: PathBuf,
}

impl Comparer {
    /// Loads the scorer.
    ///
    /// # Errors
    /// When its files are missing.
    pub fn open(ffmpeg: &Path, home: &Home) -> Result<Self> {
        let model = bundle::scorer(home)
            .context("--compare needs the quality model; `mini-worker models fetch` brings it")?;
        let runtime = Bundle::open(home)?.runtime().clone();
        Ok(Self { ffmpeg: ffmpeg.to_owned(), scorer: Scorer::load(ScorerModel::dnsmos(model), &runtime)? })
    }

    /// Compares a recording of so many seconds with the results in `target`, and writes the page there.
    ///
    /// # Errors
    /// When there is neither WAV nor FLAC in it, or a program or the scorer fails.
    pub async fn compare(&mut self, original: &Path, target: &Path, seconds: f64) -> Result<Comparison> {
        let results = ["restored.wav", "restored.flac"];
        let Some(restored) = results.into_iter().find(|name| target.join(name).is_file()) else {
            bail!("--compare needs wav or flac among the outputs");
        };
        let folder = target.join("compare");
        std::fs::create_dir_all(&folder)
            .with_context(|| format!("cannot make the folder {}", folder.display()))?;
        let original = std::path::absolute(original)?;
        let before = self.score(&original, seconds).await?;
        let after = self.score(&target.join(restored), seconds).await?;
        self.picture(&original, &folder.join("original.png")).await?;
        self.picture(&target.join(restored), &folder.join("restored.png")).await?;
        let page = folder.join("index.html");
        let text = page_text(&original, restored, &before, &after);
        std::fs::write(&page, text).with_context(|| format!("cannot write {}", page.display()))?;
        Ok(Comparison { before, after, page })
    }

    async fn score(&mut self, recording: &Path, seconds: f64) -> Result<Scores> {
        let start = ((seconds - SCORED_SECONDS) / 2.0).max(0.0);
        let rate = self.scorer.model().sample_rate.to_string();
        let output = self
            .run(
                recording,
                &["-ss", &format!("{start:.3}"), "-t", &SCORED_SECONDS.to_string()],
                &["-vn", "-ac", "1", "-ar", &rate, "-f", "f32le", "pipe:1"],
            )
            .await?;
        let samples: Vec<f32> =
            output.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        // Some seconds of work; between two recordings nothing else waits for this thread.
        Ok(self.scorer.score(&samples, HOP_SECONDS)?)
    }

    async fn picture(&self, recording: &Path, picture: &Path) -> Result<()> {
        let filter = format!(
            "aformat=channel_layouts=mono,aresample={},showspectrumpic=s=1024x512:scale=log:drange=100:limit=0",
            2 * HIGHEST_FREQUENCY
        );
        let picture = picture.display().to_string();
        let filters = ["-vn", "-lavfi", &filter, "-frames:v", "1", "-update", "1", "-y", &picture];
        self.run(recording, &[], &filters).await.map(|_| ())
    }

    async fn run(&self, recording: &Path, before: &[&str], after: &[&str]) -> Result<Vec<u8>> {
        let output = Command::new(&self.ffmpeg)
            .args(["-hide_banner", "-nostdin", "-v", "error"])
            .args(before)
            .arg("-i")
            .arg(recording)
            .args(after)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .with_context(|| format!("{} could not be started", self.ffmpeg.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!(
                "ffmpeg failed on {}: {}",
                recording.display(),
                said.lines().last().unwrap_or("no message")
            );
        }
        Ok(output.stdout)
    }
}

fn page_text(original: &Path, restored: &str, before: &Scores, after: &Scores) -> String {
    let name = escaped(&original.file_name().unwrap_or_default().to_string_lossy());
    let source = escaped(&original.to_string_lossy());
    let mut rows = String::new();
    for (scale, before, after) in [
        ("whole (OVRL)", before.overall, after.overall),
        ("speech (SIG)", before.signal, after.signal),
        ("background (BAK)", before.background, after.background),
    ] {
        let gain = after - before;
        // Writing to a string does not fail.
        writeln!(rows, "<tr><td>{scale}<td>{before:.2}<td>{after:.2}<td>{gain:+.2}").unwrap_or_default();
    }
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{name}: before and after</title>\n\
         <style>body{{font:16px system-ui;max-width:70rem;margin:2rem auto;padding:0 1rem}}td,th{{padding:.2rem 1rem .2rem 0;text-align:left}}img,audio{{width:100%}}</style>\n\
         <h1>{name}</h1>\n\
         <table><tr><th>estimated opinion, 1 to 5<th>before<th>after<th>gain\n{rows}</table>\n\
         <p>DNSMOS P.835 of the middle 30 s. Pictures: time to the right, 0 to 12 kHz upwards, brighter is louder.</p>\n\
         <h2>Before</h2>\n<audio controls src=\"file://{source}\"></audio>\n<img src=\"original.png\" alt=\"spectrogram of the recording\">\n\
         <h2>After</h2>\n<audio controls src=\"../{restored}\"></audio>\n<img src=\"restored.png\" alt=\"spectrogram of the restored speech\">\n"
    )
}

/// Text that cannot be taken for HTML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_holds_the_figures_and_no_name_becomes_html() {
        let scores = |overall| Scores { overall, signal: 3.0, background: 2.0 };
        let text = page_text(Path::new("/a/<b>&\".wav"), "restored.wav", &scores(2.0), &scores(3.25));
        assert!(text.contains("<td>2.00<td>3.25<td>+1.25"), "{text}");
        assert!(text.contains("&lt;b&gt;&amp;&quot;.wav") && !text.contains("<b>"), "{text}");
        assert!(text.contains("../restored.wav"));
    }
}
