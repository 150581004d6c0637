//! Streaming is no other restore: the bytes are those of one that does one step after the other.

use conformance::harness::{Edge, Keys, PATIENCE, WorkerSetup, media};
use conformance::reference_run::restore_whole;
use serde_json::json;

#[test]
fn what_is_published_while_it_is_restored_has_the_bytes_of_a_restore_without_streaming() {
    let edge = Edge::start();
    let _worker = WorkerSetup::new("mini-1").environment("test", &edge.origin()).start_connected(&edge);
    let api = edge.api(Keys::ACME);
    let folder = tempfile::tempdir().unwrap();
    for (channels, rate, seconds) in [(1, "44100", "23.7"), (2, "48000", "9.1")] {
        let recording = folder.path().join(format!("{channels}.flac"));
        let (talk, path) = (super::long("60s"), recording.to_str().unwrap());
        let shape = ["-t", seconds, "-ar", rate, "-ac", &channels.to_string()];
        media::ffmpeg(&[&["-i", talk.to_str().unwrap()], &shape[..], &[path]].concat());
        let reference = restore_whole(&recording, channels);

        let upload = api.upload("talk.flac", &std::fs::read(&recording).unwrap());
        let outputs = ["hls", "wav", "flac", "mp3"];
        let job = api.post("/v1/jobs", &json!({ "uploadId": upload, "outputs": outputs })).expect(201).json();
        let id = job["jobId"].as_str().unwrap();
        api.wait_for_within(id, "completed", PATIENCE * 4);
        let get = |path: &str| api.get(&format!("/v1/jobs/{id}/{path}")).expect(200).body;
        // Not assert_eq: nobody reads megabytes.
        assert!(get("files/restored.wav") == reference.wav, "WAV of {channels} channels");
        assert!(get("files/restored.flac") == reference.flac, "FLAC of {channels} channels");
        assert!(get("files/restored.mp3") == reference.mp3, "MP3 of {channels} channels");
        let playlist = api.playlist(id).expect(200).text();
        let init = playlist.split('"').find(|text| text.ends_with(".mp4")).unwrap();
        let segments = playlist.lines().filter(|line| line.ends_with(".m4s"));
        let hls: Vec<u8> =
            [init].into_iter().chain(segments).flat_map(|name| get(&format!("hls/{name}"))).collect();
        assert!(
            hls == reference.hls,
            "HLS of {channels} channels: {} and {}",
            hls.len(),
            reference.hls.len()
        );
    }
}
