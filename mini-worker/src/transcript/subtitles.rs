//! Transcripts as subtitles: WebVTT and SRT. Of both only the lines with times count.

use super::TranscriptError;

/// The times of all cues.
pub(super) fn spans(text: &str) -> Result<Vec<(f64, f64)>, TranscriptError> {
    let is_webvtt = text.starts_with("WEBVTT");
    let mut spans = Vec::new();
    let mut in_note = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            in_note = false;
        } else if line == "NOTE" || line.starts_with("NOTE ") {
            in_note = true;
        }
        let Some((start, rest)) = line.split_once("-->").filter(|_| !in_note) else { continue };
        // Behind the end WebVTT has settings.
        let end = rest.split_whitespace().next().unwrap_or_default();
        spans.push((time(start.trim())?, time(end)?));
    }
    if spans.is_empty() && !is_webvtt {
        return Err(TranscriptError::Form("there is no line with `-->`".to_owned()));
    }
    Ok(spans)
}

/// `[hours:]minutes:seconds.thousandths` in seconds; SRT has a comma for the point.
fn time(text: &str) -> Result<f64, TranscriptError> {
    let wrong =
        || TranscriptError::Content(format!("says {text:?} for a time, which is not like 00:01:02.500"));
    let mut parts: Vec<&str> = text.split(':').collect();
    let seconds = parts.pop().unwrap_or_default().replace(',', ".");
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !seconds.split('.').all(plain) || seconds.matches('.').count() > 1 || !(1..=2).contains(&parts.len()) {
        return Err(wrong());
    }
    let seconds: f64 = seconds.parse().map_err(|_| wrong())?;
    let mut whole = 0.0;
    for part in parts.iter().filter(|part| plain(part)) {
        whole = whole * 60.0 + part.parse::<f64>().map_err(|_| wrong())?;
    }
    if seconds >= 60.0 || !parts.iter().all(|part| plain(part)) {
        return Err(wrong());
    }
    Ok(whole * 60.0 + seconds)
}
