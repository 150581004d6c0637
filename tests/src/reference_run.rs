//! A restore without any streaming: the whole recording is decoded, restored in one window for each channel, and encoded, one
//! step after the other, everything in memory. What the worker publishes while it is still decoding has to be the same bytes.

use crate::harness::media;
use mini_worker::{
    inference::{channel::Channel, engine::Engine, onnx::OnnxEngine},
    storage::{Bundle, Home},
};
use shared_protocol::Sampler;
use std::path::Path;

const RATE: &str = "48000";

/// What keeps times and versions out of files.
const EXACT: [&str; 6] = ["-map_metadata", "-1", "-fflags", "+bitexact", "-flags:a", "+bitexact"];

/// The files of one restore.
#[derive(Debug)]
pub struct ReferenceRun {
    /// `restored.wav`.
    pub wav: Vec<u8>,
    /// `restored.flac`.
    pub flac: Vec<u8>,
    /// `restored.mp3`.
    pub mp3: Vec<u8>,
    /// The init segment and all segments in one piece.
    pub hls: Vec<u8>,
}

/// Restores a recording of one channel or two.
///
/// # Panics
/// There is no model, ffmpeg is not installed or fails, or the model does.
pub fn restore_whole(recording: &Path, channels: usize) -> ReferenceRun {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let source = recording.to_str().expect("recordings are named in UTF-8");
    let (layout, bit_rate) = if channels == 1 { ("mono", "128k") } else { ("stereo", "192k") };
    let soxr = String::from_utf8_lossy(&media::ffmpeg(&["-version"])).contains("--enable-libsoxr");
    let resampler = if soxr { ":resampler=soxr" } else { "" };
    let filters = format!("aresample={RATE}{resampler},aformat=channel_layouts={layout}");
    let decoded = media::ffmpeg(&["-i", source, "-vn", "-af", &filters, "-f", "f32le", "-"]);
    std::fs::write(path("restored.f32"), restore(&decoded, channels)).expect("the folder can be written");

    let channels = channels.to_string();
    let encoded = |arguments: &[&str], name: &str| {
        let raw = path("restored.f32");
        let input = ["-f", "f32le", "-ar", RATE, "-ac", &channels, "-channel_layout", layout, "-i", &raw];
        media::ffmpeg(&[&input[..], &EXACT, arguments, &["-ac", &channels, &path(name)]].concat());
        std::fs::read(path(name)).expect("ffmpeg wrote it")
    };
    let flags = "+empty_moov+default_base_moof+delay_moov";
    ReferenceRun {
        wav: encoded(&["-c:a", "pcm_s24le", "-rf64", "auto", "-f", "wav"], "restored.wav"),
        flac: encoded(&["-c:a", "flac", "-sample_fmt", "s32", "-bits_per_raw_sample", "24"], "restored.flac"),
        mp3: encoded(&["-c:a", "libmp3lame", "-q:a", "2"], "restored.mp3"),
        hls: without_index(encoded(
            &["-c:a", "aac", "-b:a", bit_rate, "-f", "mp4", "-movflags", flags, "-frag_duration", "1000000"],
            "hls.mp4",
        )),
    }
}

/// Cuts the index of fragments off (`mfra`), which has no place among segments. Its last four bytes are its size (ISO/IEC
/// 14496-12, 8.8.11).
fn without_index(mut file: Vec<u8>) -> Vec<u8> {
    let size = file.last_chunk::<4>().map_or(0, |bytes| u32::from_be_bytes(*bytes)) as usize;
    let index = file.len().saturating_sub(size);
    assert!(file[index..].get(4..8) == Some(b"mfra"), "ffmpeg writes an index at the end");
    file.truncate(index);
    file
}

/// Interleaved samples in, restored samples out.
fn restore(decoded: &[u8], channels: usize) -> Vec<u8> {
    let home = Home::locate().unwrap_or_else(|error| panic!("{error}"));
    let bundle = Bundle::open(&home).unwrap_or_else(|error| panic!("{error}"));
    let mut engine = OnnxEngine::load(&bundle, 1).unwrap_or_else(|error| panic!("{error}"));
    let samples: Vec<f32> =
        decoded.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    let mut restored = vec![0.0_f32; samples.len()];
    for channel in 0..channels {
        let own: Vec<f32> = samples.iter().skip(channel).step_by(channels).copied().collect();
        for (place, sample) in restore_channel(&mut engine, own).into_iter().enumerate() {
            restored[place * channels + channel] = sample;
        }
    }
    restored.iter().flat_map(|sample| sample.to_le_bytes()).collect()
}

fn restore_channel(engine: &mut impl Engine, samples: Vec<f32>) -> Vec<f32> {
    let mut channel = Channel::open(engine, Sampler::Flash, true);
    let mut restored = channel.restore(engine, samples).unwrap_or_else(|error| panic!("{error}"));
    restored.extend(channel.finish(engine).unwrap_or_else(|error| panic!("{error}")));
    restored
}
