//! Looks into a recording before it is decoded: is it media, where is its audio, how long is it?

use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::AsyncReadExt;

use super::error::{DownloadError, FileError, JobError, MAX_CHANNELS, ProbeError};
use super::program::MediaPrograms;
use crate::inference::SAMPLE_RATE;

/// Longest time for looking.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Most bytes of ffprobe's answer that are read. A file with a thousand tracks says no more than that.
const MAX_ANSWER_BYTES: u64 = 1024 * 1024;

/// What is restored of a recording.
#[derive(Debug, Clone, PartialEq)]
pub struct AudioTrack {
    /// ffmpeg's number of the stream.
    pub index: u32,
    /// 1 to [`MAX_CHANNELS`].
    pub channels: usize,
    /// ffmpeg's name of the arrangement of the channels, when it is known.
    pub layout: Option<String>,
    /// Length as the container tells it, which may be wrong.
    pub seconds: Option<f64>,
}

impl AudioTrack {
    /// Expected samples of each channel after decoding.
    pub fn expected_samples(&self) -> Option<u64> {
        self.seconds.map(|seconds| (seconds * f64::from(SAMPLE_RATE)) as u64)
    }
}

#[derive(Debug, Deserialize)]
struct Answer {
    #[serde(default)]
    streams: Vec<Stream>,
    #[serde(default)]
    format: Format,
}

#[derive(Debug, Default, Deserialize)]
struct Format {
    duration: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Stream {
    index: u32,
    #[serde(default)]
    codec_type: String,
    #[serde(default)]
    channels: u32,
    channel_layout: Option<String>,
    duration: Option<String>,
    #[serde(default)]
    disposition: Disposition,
}

#[derive(Debug, Default, Deserialize)]
struct Disposition {
    #[serde(default)]
    default: u8,
}

/// Examines the file `source` in the job's folder.
///
/// # Errors
/// When it is not something to restore.
pub async fn probe(
    programs: &MediaPrograms,
    folder: &Path,
    max_minutes: u32,
) -> Result<AudioTrack, JobError> {
    let size =
        tokio::fs::metadata(folder.join("source")).await.map_err(FileError::doing("read the upload"))?.len();
    if size == 0 {
        return Err(DownloadError::Empty.into());
    }
    let mut program = programs
        .ffprobe(folder, "probe.log")
        .args(["-of", "json", "-show_entries"])
        .args(["stream=index,codec_type,channels,channel_layout,duration:stream_disposition=default:format=duration"])
        .untrusted_input("source")
        .with_stdout()
        .start()?;
    let mut stdout = program.stdout().expect("standard output was asked for").take(MAX_ANSWER_BYTES);
    let mut text = Vec::new();
    let asking = async {
        stdout.read_to_end(&mut text).await.map_err(FileError::doing("read the answer of ffprobe"))?;
        program.wait().await
    };
    let succeeded = tokio::time::timeout(TIMEOUT, asking)
        .await
        .map_err(|_| ProbeError::TimedOut(TIMEOUT.as_secs()))??;
    let answer: Option<Answer> = serde_json::from_slice(&text).ok().filter(|_| succeeded);
    match answer {
        Some(answer) => Ok(choose(answer, max_minutes)?),
        None => Err(ProbeError::NotMedia(program.last_words()).into()),
    }
}

/// The default audio track, or else the first.
fn choose(answer: Answer, max_minutes: u32) -> Result<AudioTrack, ProbeError> {
    let audio: Vec<&Stream> = answer.streams.iter().filter(|stream| stream.codec_type == "audio").collect();
    let chosen = audio.iter().find(|stream| stream.disposition.default == 1).or(audio.first());
    let Some(stream) = chosen else {
        let mut others: Vec<&str> = answer.streams.iter().map(|stream| stream.codec_type.as_str()).collect();
        others.dedup();
        return Err(match others[..] {
            [] => ProbeError::NotMedia("there is no track in it".into()),
            _ => ProbeError::NoAudio(others.join(", ")),
        });
    };
    if stream.channels > MAX_CHANNELS {
        return Err(ProbeError::TooManyChannels(stream.channels));
    }
    let channels = match usize::try_from(stream.channels) {
        Ok(0) | Err(_) => return Err(ProbeError::NoChannels),
        Ok(channels) => channels,
    };
    let number = |text: &Option<String>| text.as_ref().and_then(|t| t.parse::<f64>().ok());
    let seconds = number(&stream.duration)
        .or(number(&answer.format.duration))
        .filter(|seconds| seconds.is_finite() && *seconds > 0.0);
    if let Some(minutes) = seconds.map(|s| s / 60.0).filter(|minutes| *minutes > f64::from(max_minutes)) {
        return Err(ProbeError::TooLong { minutes, limit: max_minutes });
    }
    let layout = stream.channel_layout.clone().filter(|layout| is_plain(layout));
    Ok(AudioTrack { index: stream.index, channels, layout, seconds })
}

/// Whether a layout's name can stand in a filter's arguments.
fn is_plain(layout: &str) -> bool {
    let plain = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'(' | b')');
    layout != "unknown" && !layout.is_empty() && layout.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choose_from(json: &str) -> Result<AudioTrack, ProbeError> {
        choose(serde_json::from_str(json).unwrap(), 240)
    }

    #[test]
    fn the_default_audio_track_is_taken_even_when_it_is_not_the_first() {
        let track = choose_from(
            r#"{"streams":[{"index":0,"codec_type":"video"},{"index":1,"codec_type":"audio","channels":6,"channel_layout":"5.1(side)"},
                {"index":2,"codec_type":"audio","channels":2,"channel_layout":"stereo","duration":"N/A","disposition":{"default":1}}],
                "format":{"duration":"12.5"}}"#,
        )
        .unwrap();
        let layout = Some("stereo".to_owned());
        assert_eq!(track, AudioTrack { index: 2, channels: 2, layout, seconds: Some(12.5) });
        assert_eq!(track.expected_samples(), Some(600_000));
    }

    #[test]
    fn what_cannot_be_restored_is_told_by_kind() {
        let video = r#"{"streams":[{"index":0,"codec_type":"video"}]}"#;
        assert!(matches!(choose_from(video), Err(ProbeError::NoAudio(what)) if what == "video"));
        assert!(matches!(choose_from("{}"), Err(ProbeError::NotMedia(_))));
        let audio = |rest: &str| format!(r#"{{"streams":[{{"index":0,"codec_type":"audio",{rest}}}]}}"#);
        assert!(matches!(choose_from(&audio(r#""channels":0"#)), Err(ProbeError::NoChannels)));
        assert!(matches!(choose_from(&audio(r#""channels":16"#)), Err(ProbeError::TooManyChannels(16))));
        let long = audio(r#""channels":1,"duration":"99999""#);
        assert!(matches!(choose_from(&long), Err(ProbeError::TooLong { limit: 240, .. })));
    }

    #[test]
    fn a_layout_that_is_no_plain_name_is_not_passed_on() {
        for bad in ["unknown", "", "stereo,volume=0", "5.1;x", "a:b"] {
            assert!(!is_plain(bad), "{bad}");
        }
        assert!(is_plain("5.1(side)") && is_plain("stereo"));
    }
}
