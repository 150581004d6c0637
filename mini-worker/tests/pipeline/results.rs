//! What a restore leaves behind: files of the right length, a playlist that plays, and nothing else.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::studio::{Studio, decoded, decoded_24};

/// Speech-like: a tone that comes and goes, with noise.
pub fn talk(seconds: u32) -> String {
    format!(
        "-f lavfi -i sine=frequency=220:duration={seconds} -f lavfi -i anoisesrc=amplitude=0.02:duration={seconds}:seed=1 \
         -filter_complex [0]tremolo=f=3:d=0.9[t];[t][1]amix=normalize=0 -ar 44100 -ac 1"
    )
}

#[test]
fn every_output_has_the_length_of_the_recording() {
    let studio = Studio::new();
    let file = studio.make("talk.wav", &talk(13));
    let results = studio.restore(&[file], &[]);
    let result = &results[0];
    assert_eq!(result.code(), "ok", "{result:?}");

    let samples = 13 * 48_000;
    let wav = hound::WavReader::open(result.file("restored.wav")).unwrap();
    assert_eq!((wav.spec().bits_per_sample, wav.spec().sample_rate), (24, 48_000));
    assert_eq!(wav.duration(), samples as u32);
    assert_eq!(decoded(&result.file("restored.flac")).len(), samples);
    let mp3 = decoded(&result.file("restored.mp3")).len();
    assert!(mp3.abs_diff(samples) <= 2_304, "MP3 has whole frames: {mp3}");
    let hls = decoded(&result.file("hls/index.m3u8"));
    assert!(hls.len().abs_diff(samples) <= 2_048, "AAC has whole frames: {}", hls.len());
}

#[test]
fn segments_are_listed_in_order_with_the_lengths_of_the_schedule() {
    let studio = Studio::new();
    let file = studio.make("talk.flac", &talk(20));
    let results = studio.restore(&[file], &["--outputs", "hls"]);
    let result = &results[0];
    let segments = result.value("/segments").as_array().unwrap();
    let seconds: Vec<f64> =
        segments.iter().map(|segment| segment["durationMs"].as_f64().unwrap() / 1000.0).collect();
    let schedule = [1.0, 1.0, 2.0, 2.0, 4.0, 6.0];
    for (found, wanted) in seconds.iter().zip(schedule) {
        assert!((found - wanted).abs() < 0.02, "{seconds:?}");
    }
    assert!((seconds.iter().sum::<f64>() - 20.0).abs() < 0.05, "{seconds:?}");

    let playlist = std::fs::read_to_string(result.file("hls/index.m3u8")).unwrap();
    assert!(playlist.contains("#EXT-X-MAP:URI=\"init.mp4\"") && playlist.ends_with("#EXT-X-ENDLIST\n"));
    for (sequence, segment) in segments.iter().enumerate() {
        assert_eq!(segment["sequence"], sequence);
        let name = format!("seg-{sequence:05}.m4s");
        assert!(playlist.contains(&name), "{playlist}");
        let size = std::fs::metadata(result.file("hls").join(name)).unwrap().len();
        assert_eq!(segment["size"], size);
    }
}

#[test]
fn a_second_run_gives_the_same_bytes_and_replaces_results_only_when_asked() {
    let studio = Studio::new();
    let file = studio.make("talk.wav", &talk(4));
    let first = studio.restore(std::slice::from_ref(&file), &[]);
    let refused = studio.run_restore(std::slice::from_ref(&file), &[]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stdout).contains("--force"));
    let second = studio.restore(&[file], &["--force"]);
    for pointer in ["/outcome/files", "/segments"] {
        assert_eq!(first[0].value(pointer), second[0].value(pointer), "{pointer}");
    }
}

#[test]
fn an_interrupted_run_leaves_no_work_and_no_child_behind() {
    let studio = Studio::new();
    let file = studio.make("long.wav", &talk(600));
    let output = studio.path("restored");
    let mut worker = Command::new(env!("CARGO_BIN_EXE_mini-worker"))
        .arg("restore")
        .arg(&file)
        .arg("-o")
        .arg(&output)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_for(|| output.join("long/hls/seg-00001.m4s").exists() || worker.try_wait().unwrap().is_some());
    assert!(
        worker.try_wait().unwrap().is_none(),
        "it has to be at work still (model missing? cargo run -p mini-worker -- models fetch)"
    );
    let killed = Command::new("kill").args(["-INT", &worker.id().to_string()]).status().unwrap();
    assert!(killed.success());
    let status = worker.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let left: Vec<_> = names(&output).into_iter().filter(|name| name.starts_with('.')).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder can be read");
    entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect()
}

fn wait_for(mut done: impl FnMut() -> bool) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "nothing happened for a minute");
        #[expect(clippy::disallowed_methods, reason = "this test has no runtime")]
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn speech_and_background_add_up_to_the_recording_sample_by_sample() {
    let studio = Studio::new();
    let file = studio.make("talk.wav", &talk(33));
    let results = studio.restore(&[file], &["--outputs", "stems"]);
    let result = &results[0];
    assert_eq!(result.code(), "ok", "{result:?}");
    let read = |name: &str| decoded_24(&result.file("stems").join(name));
    let [speech, background, original] = ["speech", "background", "original"].map(|stem| {
        let whole = read(&format!("{stem}.flac"));
        let chunks = [read(&format!("{stem}-00000.flac")), read(&format!("{stem}-00001.flac"))];
        assert_eq!(chunks[0].len(), 30 * 48_000, "{stem}");
        assert!(chunks.concat() == whole, "{stem}: the chunks are the whole");
        whole
    });
    assert_eq!(original.len(), 33 * 48_000);
    let sums: Vec<i32> =
        speech.iter().zip(&background).map(|(speech, background)| speech + background).collect();
    assert!(sums == original, "exactly");
    let energy = |samples: &[i32]| samples.iter().map(|s| f64::from(*s).powi(2)).sum::<f64>();
    assert!(energy(&background) > 0.0 && energy(&speech) > 0.0);

    let manifest = std::fs::read(result.file("stems").join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    assert_eq!(manifest["frames"], 33 * 48_000);
    assert_eq!(manifest["clippedSamples"], 0);
    assert_eq!(manifest["stems"][1]["name"], "background");
    assert_eq!(manifest["stems"][1]["chunks"].as_array().map(Vec::len), Some(2));
    assert_eq!(manifest["stems"][2]["master"]["name"], "original.flac");
}
